"""A chart as a Plotly figure in JSON: what the page shows.

Colours of text and grid are the page's, which has a light and a dark theme; see `static/page.js`.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from repertory.errors import one_line
from repertory.report.chart import (
    BARS,
    BOTH,
    GREY,
    POINTS,
    STEPS,
    Axis,
    Band,
    Chart,
    Heatmap,
    Panel,
    Rule,
    Series,
    plain,
    short,
    tick_places,
)

MARKERS = {"up": "triangle-up", "down": "triangle-down", "dash": "line-ew"}
"""Where Plotly has other names."""
GAP = 0.05
"""Between panels beside each other, as a share of the whole."""
PHONE, PAGE = 300, 1000
"""Pixels across that a chart has at least."""
LEGEND_LINE, LEGEND_LETTER, LEGEND_SYMBOL = 20, 8, 60
"""Pixels that a line of a legend is high, and that a letter and what is before the name are wide."""
PHONE_LABELS, PHONE_LETTERS = 7, 54
"""On a phone: how many labels an axis has room for, and letters a line of a chart's title."""
DIGITS = 5
PANEL, SMALL_PANEL, TITLE, TITLE_LINE, PANEL_TITLE, AXIS = 330, 170, 26, 16, 20, 60
"""Pixels that a panel, one of many, the title of a chart, each further line of it, the title of a panel, and the labels
below take."""


def to_plotly(chart: Chart) -> dict[str, Any]:
    """`data` and `layout` of the figure; in `narrow`, the layout for a narrow screen: panels below each other."""
    named: set[str] = set()
    data = []
    for number, panel in enumerate(chart.panels, start=1):
        for mark in panel.marks:
            trace = _trace(mark, named)
            if trace is not None:
                data.append({**trace, "xaxis": _axis("x", number), "yaxis": _axis("y", number)})
    return _brief(plain({"data": data, "layout": _layout(chart, named, False), "narrow": _layout(chart, named, True)}))


def _brief(value: Any) -> Any:
    """Numbers to as many digits as a screen could ever show: half of the bytes of a page's charts."""
    if isinstance(value, dict):
        return {key: _brief(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_brief(entry) for entry in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def shown(text: str) -> str:
    """A name, shown as it is: Plotly reads a little markup."""
    return html.escape(short(text), quote=False)


def _axis(letter: str, number: int) -> str:
    return letter if number == 1 else f"{letter}{number}"


# ------------------------------------------------------------------------------------------------------------ marks


def _trace(mark: Any, named: set[str]) -> dict[str, Any] | None:
    """A name is in the legend once, however many panels have it; `named` are those that are."""
    if isinstance(mark, Heatmap):
        return _heatmap(mark)
    if isinstance(mark, Rule):
        return None  # a shape of the layout
    in_legend = isinstance(mark, Series) and mark.in_legend and mark.name not in named
    named |= {mark.name} if in_legend else set()
    shared = {"name": shown(mark.name), "legendgroup": mark.name, "showlegend": in_legend}
    return (_band(mark) if isinstance(mark, Band) else _series(mark)) | shared


def _series(series: Series) -> dict[str, Any]:
    made: dict[str, Any] = {"x": series.x, "y": series.y, "hoverinfo": "x+y+name"}
    if series.hover is not None and not any(series.hover):
        made["hoverinfo"] = "skip"
    elif series.hover is not None:
        made |= {"hoverinfo": "text", "hovertext": [_lines(text) for text in series.hover]}
    if series.error is not None:
        lengths = np.nan_to_num(np.array(series.error, float))
        made["error_y"] = {"type": "data", "array": lengths, "thickness": 1, "width": 0, "color": series.colour}
    if series.kind == BARS:
        return made | {"type": "bar", "marker": {"color": series.colour}}
    mode = {POINTS: "markers", BOTH: "lines+markers"}.get(series.kind, "lines")
    line: dict[str, Any] = {"color": series.colour, "width": series.width, "dash": series.dash}
    if series.kind == STEPS:
        line["shape"] = "hv"
    if series.labels is not None:
        mode = f"{mode}+text"
        made |= {
            "text": [shown(text) for text in series.labels],
            "textposition": [f"middle {side}" for side in series.label_sides],
        }
    symbol = MARKERS.get(series.marker, series.marker)
    marker: dict[str, Any] = {"color": series.colour, "size": series.size, "symbol": symbol}
    if symbol == "line-ew":
        marker["line"] = {"color": series.colour, "width": 2}
    return made | {"type": "scatter", "mode": mode, "line": line, "marker": marker, "opacity": series.opacity}


def _lines(text: str) -> str:
    return html.escape(text, quote=False).replace("\n", "<br>")


def _band(band: Band) -> dict[str, Any]:
    """A closed line, there along the upper edge and back along the lower one."""
    return {
        "type": "scatter",
        "x": np.concatenate([band.x, np.flip(band.x)]),
        "y": np.concatenate([band.high, np.flip(band.low)]),
        "mode": "lines",
        "fill": "toself",
        "opacity": 0.18,
        "fillcolor": band.colour,
        "line": {"width": 0, "color": band.colour},
        "hoverinfo": "skip",
    }


def _heatmap(heatmap: Heatmap) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "heatmap",
        "z": heatmap.values,
        "zmin": heatmap.low,
        "zmax": heatmap.high,
        "colorscale": heatmap.colours.capitalize(),
        "reversescale": heatmap.is_reversed,
        "colorbar": {"title": {"text": shown(heatmap.label), "side": "right"}, "thickness": 12},
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
    }
    if heatmap.text is not None:
        made |= {"text": heatmap.text, "texttemplate": "%{text}"}
    if heatmap.hover is not None:
        made |= {"hovertext": [[_lines(text) for text in row] for row in heatmap.hover], "hoverinfo": "text"}
    return made


# ----------------------------------------------------------------------------------------------------------- layout


def _layout(chart: Chart, named: set[str], is_narrow: bool) -> dict[str, Any]:
    columns = max(len(row) for row in chart.rows)
    if is_narrow:
        columns = min(columns, 2) if chart.are_small else 1
    panels = _alone(chart) if is_narrow else chart.panels
    rows = -(-len(panels) // columns)
    legend: dict[str, Any] = {"itemwidth": 40, "groupclick": "togglegroup"}
    legend_height = 0
    if is_narrow or chart.legend == "below":
        longest = max((len(short(name)) for name in named), default=1)
        beside = max(1, (PHONE if is_narrow else PAGE) // (LEGEND_LETTER * longest + LEGEND_SYMBOL))
        legend_height = LEGEND_LINE * -(-len(named) // beside) + 10
        legend |= {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0}
    title = textwrap.wrap(one_line(chart.title), PHONE_LETTERS if is_narrow else 2 * PHONE_LETTERS)[:2]
    top = 14 + TITLE * bool(title) + TITLE_LINE * (len(title) - 1) * bool(title) + PANEL_TITLE * bool(panels[0].title)
    height, gap = _heights(chart, rows, columns, is_narrow)
    layout: dict[str, Any] = {
        "showlegend": bool(named),
        "hovermode": "closest",
        "barmode": "group",
        "legend": legend,
        "height": top + rows * height + (rows - 1) * gap + AXIS + legend_height,
        "margin": {"t": top, "r": 12, "b": AXIS - 4 + legend_height, "l": 60},
        "annotations": [],
        "shapes": [],
    }
    if title:
        at = {"x": 0.01, "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 10}}
        layout["title"] = {
            "text": "<br>".join(html.escape(line, quote=False) for line in title),
            "font": {"size": 12 if is_narrow else 14},
            **at,
        }
    share = gap / (rows * height + (rows - 1) * gap)
    for index, panel in enumerate(panels):
        is_bottom = index + columns >= len(panels)
        shape = (rows, columns)
        _add_panel(layout, _brief_axes(panel, columns) if is_narrow else panel, index, shape, share, is_bottom)
    if is_narrow:
        _make_room(layout)
    return layout


def _make_room(layout: dict[str, Any]) -> None:
    """Smaller titles of panels, for a phone."""
    for title in layout["annotations"]:
        title["font"] = {"size": 11}


def _heights(chart: Chart, rows: int, columns: int, is_narrow: bool) -> tuple[int, int]:
    """Pixels of a panel, and between one and the next below it; heatmaps are as high as their rows ask for."""
    heatmap = chart.panels[0].heatmap
    height = PANEL
    if heatmap is not None:
        labels = 90 if chart.panels[0].x.slant and not is_narrow else 0
        height = int(min(840, max(160, 19 * len(heatmap.values) + 40))) + labels
    elif chart.are_small:
        height = SMALL_PANEL
    elif rows > 1:
        height = PANEL * 3 // 4
    return height, 12 + PANEL_TITLE + (0 if columns > 1 else AXIS)


def _brief_axes(panel: Panel, columns: int) -> Panel:
    """With the shorter labels of axes that have some, and as many below as there is room for."""
    x = _brief_axis(panel.x)
    if x.is_logarithmic and tick_places(x) is None:
        x = replace(x, ticks=_powers_of_ten(panel))
    if x.labels is not None:
        every = -(-len(x.labels) * columns // PHONE_LABELS)
        x = replace(x, labels=[text if place % every == 0 else "" for place, text in enumerate(x.labels)])
    return replace(panel, x=x, y=_brief_axis(panel.y))


def _powers_of_ten(panel: Panel) -> dict[float, str] | None:
    """Those between the points of a panel, if they are two or more."""
    places = [float(x) for mark in panel.marks if isinstance(mark, Series) for x in mark.x]
    found = np.log10([place for place in places if place > 0])
    if not found.size or math.floor(found.max()) - math.ceil(found.min()) < 1:
        return None
    return {10.0**power: f"{10.0**power:g}" for power in range(math.ceil(found.min()), math.floor(found.max()) + 1)}


def _brief_axis(axis: Axis) -> Axis:
    return axis if axis.brief is None else replace(axis, labels=axis.brief, slant=0)


def _alone(chart: Chart) -> list[Panel]:
    """The panels, each with the titles that it has from its row and its column."""
    return [
        replace(panel, title=panel.title or above.title, y=replace(panel.y, title=panel.y.title or row[0].y.title))
        for row in chart.rows
        for panel, above in zip(row, chart.rows[0], strict=False)  # the last row may have fewer
    ]


def _place(index: int, count: int, gap: float) -> list[float]:
    """Where the one of some panels beside each other begins and ends, as shares of the whole."""
    length = (1 - gap * (count - 1)) / count
    start = index * (length + gap)
    return [start, min(1.0, start + length)]


def _add_panel(
    layout: dict[str, Any], panel: Panel, index: int, shape: tuple[int, int], gap: float, is_bottom: bool
) -> None:
    """Panels of a row have the same range of y, those of a column the same range of x, if columns are several."""
    rows, columns = shape
    (row, column), number = divmod(index, columns), index + 1
    across = _place(column, columns, GAP if columns > 1 else 0)
    up = _place(rows - 1 - row, rows, gap if rows > 1 else 0)
    x_axis = _axis_layout(panel.x, across, _axis("y", number))
    y_axis = _axis_layout(panel.y, up, _axis("x", number))
    if panel.heatmap is not None:
        y_axis["autorange"] = "reversed"
        x_axis["showgrid"] = y_axis["showgrid"] = False
    elif columns > 1:
        if column:
            y_axis |= {"matches": _axis("y", row * columns + 1), "showticklabels": False, "title": {"text": ""}}
        if not is_bottom:
            x_axis |= {"showticklabels": False, "title": {"text": ""}}
        if row:
            x_axis |= {"matches": _axis("x", column + 1)}
    layout |= {_axis("xaxis", number): x_axis, _axis("yaxis", number): y_axis}
    if panel.title:
        layout["annotations"].append(_title(panel.title, across, up))
    layout["shapes"] += [_rule(mark, number) for mark in panel.marks if isinstance(mark, Rule)]


def _axis_layout(axis: Axis, domain: Sequence[float], anchor: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "title": {"text": shown(axis.title), "standoff": 8},
        "domain": domain,
        "anchor": anchor,
        "automargin": True,
        "hoverformat": ".4g",
        "zeroline": False,
    }
    places = tick_places(axis)
    if places is not None:
        names = [shown(text) for text in places.values()]
        made |= {"tickvals": list(places), "ticktext": names, **({"tickangle": -axis.slant} if axis.slant else {})}
    if axis.is_logarithmic:
        made |= {"type": "log", "tickformat": "~g"}
        if places is None:
            made["dtick"] = "D2"  # at 1, 2, 5, 10, ...
    if axis.low is not None and axis.high is not None:
        made["range"] = [math.log10(end) if axis.is_logarithmic else end for end in (axis.low, axis.high)]
    elif axis.low == 0:
        made |= {"rangemode": "tozero", "autorange": True}  # said, since Plotly forgets it of axes that match
    return made


def _title(text: str, across: Sequence[float], up: Sequence[float]) -> dict[str, Any]:
    place = {"x": sum(across) / 2, "y": up[1], "xref": "paper", "yref": "paper"}
    place |= {"xanchor": "center", "yanchor": "bottom"}  # else the title of a panel at the side begins at its middle
    return {"text": shown(text), "showarrow": False, "font": {"size": 13}, **place}


def _rule(rule: Rule, number: int) -> dict[str, Any]:
    along, across = ("y", "x") if rule.is_vertical else ("x", "y")
    axes = {f"{along}ref": f"{_axis(along, number)} domain", f"{across}ref": _axis(across, number)}
    ends = {f"{along}0": 0, f"{along}1": 1, f"{across}0": rule.at, f"{across}1": rule.at}
    return {"type": "line", "layer": "below", "line": {"color": GREY, "width": 1, "dash": "dot"}, **axes, **ends}
