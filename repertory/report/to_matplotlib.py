"""A chart as a matplotlib figure: for SVG and PNG files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from matplotlib.ticker import LogLocator
from matplotlib.transforms import Affine2D
from PIL import Image, PngImagePlugin

from repertory.report.chart import (
    BARS,
    BOTH,
    POINTS,
    STEPS,
    Axis,
    Band,
    Chart,
    Heatmap,
    Panel,
    Rule,
    Series,
    short,
    tick_places,
)
from repertory.report.chart_digest import DIGEST, digest

FEW_POWERS = 3
"""Of ten, over which a logarithmic axis has ticks at twos and fives too."""
MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "up": "^",
    "down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
    "dash": "_",
}
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
DPI, SMALL_DPI, SMALL_COLOURS = 150, 110, 128
BLANK = "#e6e6e6"
DETERMINISTIC: Any = {"svg.hashsalt": "repertory"}


def to_matplotlib(chart: Chart, dpi: int = DPI) -> Figure:
    figure = Figure(figsize=chart.size, dpi=dpi, layout="constrained")
    columns = max(len(row) for row in chart.rows)
    is_shared = len(chart.panels) > 1
    shared: Any = {"sharex": "col", "sharey": "row"} if is_shared else {}
    grid = figure.subplots(len(chart.rows), columns, squeeze=False, **shared)
    drawn = list(zip(grid.flat, chart.panels, strict=False))  # the last row may have fewer
    for axes, panel in drawn:
        _draw_panel(figure, axes, panel)
    empty = grid.flat[len(drawn) :]
    for axes in empty:
        axes.set_visible(False)
    for axes, panel in drawn:  # only now do axes that share a range know how far the marks reach
        _dress(axes, axes.xaxis, panel.x, axes.set_xlim, axes.set_xscale)
        _dress(axes, axes.yaxis, panel.y, axes.set_ylim, axes.set_yscale)
        if is_shared:
            axes.label_outer()
    for axes, panel in drawn[len(drawn) - columns : len(drawn) - columns + len(empty)]:  # with nothing below them
        axes.tick_params(labelbottom=True)
        axes.xaxis.set_label_text(shown(panel.x.title))
        axes.xaxis.label.set_visible(True)
    if chart.title:
        figure.suptitle(shown(chart.title), fontsize=10)
    _add_legend(figure, chart, grid)
    return figure


def shown(text: str) -> str:
    """No mathematics: a dollar sign in a name is a dollar sign. Nor what no font or SVG file has, nor too much."""
    return short(text).replace("$", r"\$")


# ----------------------------------------------------------------------------------------------------------- panels


def _draw_panel(figure: Figure, axes: Any, panel: Panel) -> None:
    bars = [mark for mark in panel.marks if isinstance(mark, Series) and mark.kind == BARS]
    for mark in panel.marks:
        if isinstance(mark, Heatmap):
            _draw_heatmap(figure, axes, mark)
        elif isinstance(mark, Band):
            axes.fill_between(mark.x, mark.low, mark.high, color=mark.colour, alpha=0.15, linewidth=0)
        elif isinstance(mark, Rule):
            (axes.axvline if mark.is_vertical else axes.axhline)(mark.at, color="#777777", linestyle=":", linewidth=1)
        elif mark.kind == BARS:
            width = 0.8 / len(bars)
            places = np.asarray(mark.x, float) + (bars.index(mark) - (len(bars) - 1) / 2) * width
            axes.bar(places, mark.y, width=0.9 * width, color=mark.colour, label=_label(mark))
        else:
            _draw_series(axes, mark)
    if panel.heatmap is None:
        axes.grid(alpha=0.25, axis="both" if panel.x.labels is None else "y")
        axes.spines[["top", "right"]].set_visible(False)
    if panel.title:
        axes.set_title(shown(panel.title), fontsize=10)


def _label(series: Series) -> str:
    return shown(series.name) if series.in_legend else "_"


def _draw_series(axes: Any, series: Series) -> None:
    x, y = np.asarray(series.x, float), np.asarray(series.y, float)
    style: dict[str, Any] = {"color": series.colour, "alpha": series.opacity, "label": _label(series)}
    has_line, has_points = series.kind != POINTS, series.kind in (POINTS, BOTH)
    style |= {"linestyle": DASHES[series.dash] if has_line else "none", "linewidth": series.width}
    if has_points:
        style |= {"marker": MARKERS[series.marker], "markersize": series.size}
    if series.marker == "dash":
        style["markeredgewidth"] = 1.6
    if series.kind == STEPS:
        style["drawstyle"] = "steps-post"
    if has_line and series.dash == "solid":
        style["solid_capstyle"] = "butt"
    if series.error is None:
        axes.plot(x, y, **style)
    else:
        axes.errorbar(x, y, np.nan_to_num(np.asarray(series.error, float)), elinewidth=0.9, **style)
    for at, text, side in zip(zip(x, y, strict=True), series.labels or [], series.label_sides, strict=False):
        away, edge = (6, "left") if side == "right" else (-6, "right")
        axes.annotate(shown(text), at, (away, 0), textcoords="offset points", ha=edge, va="center", fontsize=7)


def _draw_heatmap(figure: Figure, axes: Any, heatmap: Heatmap) -> None:
    values = np.asarray(heatmap.values, float)
    name = heatmap.colours + ("_r" if heatmap.is_reversed else "")
    colours = mpl.colormaps[name].with_extremes(bad=BLANK)
    masked = np.ma.masked_invalid(values)
    # The few cells get their colours, not the many pixels.
    quick = {"interpolation": "nearest", "interpolation_stage": "rgba"}
    image = axes.imshow(masked, aspect="auto", cmap=colours, vmin=heatmap.low, vmax=heatmap.high, **quick)
    if heatmap.text is not None:
        _write_cells(axes, heatmap.text, image.norm(values))
    figure.colorbar(image, ax=axes, label=shown(heatmap.label))


def _write_cells(axes: Any, text: Sequence[Sequence[str]], shades: Any) -> None:
    """Text in the cells, as markers: a text of matplotlib's own for each cell takes ten times as long."""
    places: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row, line in enumerate(text):
        for column, cell in enumerate(line):
            if cell:
                ink = "white" if shades[row, column] < 0.6 else "black"
                places.setdefault((cell, ink), []).append((column, row))
    for (cell, ink), found in places.items():
        outline = TextPath((0, 0), shown(cell), size=6)
        box = outline.get_extents()
        centred = outline.transformed(Affine2D().translate(-(box.x0 + box.width / 2), -(box.y0 + box.height / 2)))
        # A marker is scaled so that its farthest point is half its size away.
        size = 2 * float(np.abs(centred.vertices).max(initial=0.1))
        axes.plot(
            *zip(*found, strict=True), color=ink, marker=centred, markersize=size, linestyle="none", markeredgewidth=0
        )


def _dress(axes: Any, axis: Any, described: Axis, limit: Any, scale: Any) -> None:
    if described.is_logarithmic:
        scale("log")
        axis.set_major_locator(_powers(*axis.get_view_interval()))
        axis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    places: Mapping[float, str] | None = tick_places(described)
    if places is not None:
        turned = {"rotation": described.slant, "ha": "right", "rotation_mode": "anchor"} if described.slant else {}
        axis.set_ticks(list(places), [shown(text) for text in places.values()], fontsize=8, **turned)
    if described.low is not None:
        limit(described.low, None)
    if described.high is not None:
        limit(None, described.high)
    if described.title:
        axis.set_label_text(shown(described.title))


def _powers(low: float, high: float) -> LogLocator:
    """Ticks of a logarithmic axis: twos and fives as well, as a range within one power of ten must have some. Over many
    powers, of which not every one has a tick, matplotlib would show none then."""
    return LogLocator(subs=(1, 2, 5) if low > 0 and math.log10(high / low) < FEW_POWERS else (1,))


def _add_legend(figure: Figure, chart: Chart, grid: Any) -> None:
    handles: dict[str, Any] = {}
    for axes in grid.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if not handles:
        return
    if chart.legend == "inside":
        grid[0, 0].legend(handles.values(), handles.keys(), frameon=False)
    elif chart.legend == "below":
        columns = min(4, len(handles))
        place: Any = {"loc": "outside lower center", "ncols": columns, "handlelength": 3}
        figure.legend(handles.values(), handles.keys(), frameon=False, fontsize=9, **place)
    else:
        figure.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False, fontsize=8)


# ------------------------------------------------------------------------------------------------------------ files


def write_figure(chart: Chart, folder: Path, endings: tuple[str, ...] = ("svg", "png")) -> None:
    """NAME.svg and NAME.png."""
    figure = _laid_out(chart, DPI)
    # By the canvases themselves: `savefig` draws everything once more before each file.
    with mpl.rc_context(DETERMINISTIC):
        if "png" in endings:
            # Two thirds of the time for a twentieth more bytes.
            quick = {"compress_level": 3}
            file = folder / f"{chart.name}.png"
            FigureCanvasAgg(figure).print_png(file, metadata={DIGEST: digest(chart)}, pil_kwargs=quick)
        if "svg" in endings:
            FigureCanvasSVG(figure).print_svg(folder / f"{chart.name}.svg", metadata={"Date": None})


def write_small(chart: Chart, path: Path) -> None:
    """A PNG of few colours, for a repository to keep."""
    canvas = FigureCanvasAgg(_laid_out(chart, SMALL_DPI))
    canvas.draw()
    about = PngImagePlugin.PngInfo()
    about.add_text(DIGEST, digest(chart))
    drawn = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    drawn.quantize(SMALL_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True, pnginfo=about)


def _laid_out(chart: Chart, dpi: int) -> Figure:
    """With its layout found once for all files, at the resolution of the PNG."""
    figure = to_matplotlib(chart, dpi)
    layout = figure.get_layout_engine()
    assert layout is not None
    layout.execute(figure)
    figure.set_layout_engine("none")
    return figure
