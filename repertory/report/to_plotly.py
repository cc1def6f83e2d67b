"""A chart as a Plotly figure in JSON: what the page shows.

Colours of text and grid are the page's, which has a light and a dark theme; see `static/page.js`.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

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
    plain,
    short,
    tick_places,
)

MARKERS = {"up": "triangle-up", "down": "triangle-down", "dash": "line-ew"}
"""Where Plotly has other names."""
GAP, WIDE_GAP = 0.05, 0.09
"""Between panels, as shares of the whole: beside each other with and without a common axis."""
PHONE, PAGE = 300, 1000
"""Pixels across that a chart has at least."""
LEGEND_LINE, LEGEND_LETTER, LEGEND_SYMBOL = 20, 8, 60
"""Pixels that a line of a legend is high, and that a letter and what is before the name are wide."""
PANEL, TITLE, AXIS = 330, 34, 60
"""Pixels that a panel, a title above it and the labels below it take."""


def to_plotly(chart: Chart) -> dict[str, Any]:
    """`data` and `layout` of the figure; in `narrow`, the layout for a narrow screen: panels below each other."""
    named: set[str] = set()
    data = []
    for number, panel in enumerate(chart.panels, start=1):
        for mark in panel.marks:
            trace = _trace(mark, named)
            if trace is not None:
                data.append({**trace, "xaxis": _axis("x", number), "yaxis": _axis("y", number)})
    return plain({"data": data, "layout": _layout(chart, named, False), "narrow": _layout(chart, named, True)})


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
    hover: dict[str, Any] = {"hoverinfo": "x+y+name"}
    if series.hover is not None:
        hover = {"hoverinfo": "text", "hovertext": [_lines(text) for text in series.hover]}
    error = {} if series.error is None else {"error_y": _error(series)}
    if series.kind == BARS:
        return {"type": "bar", "x": series.x, "y": series.y, "marker": {"color": series.colour}, **hover, **error}
    mode = {POINTS: "markers", BOTH: "lines+markers"}.get(series.kind, "lines")
    line: dict[str, Any] = {"color": series.colour, "width": series.width, "dash": series.dash}
    if series.kind == STEPS:
        line["shape"] = "hv"
    symbol = MARKERS.get(series.marker, series.marker)
    marker: dict[str, Any] = {"color": series.colour, "size": series.size, "symbol": symbol}
    if symbol == "line-ew":
        marker["line"] = {"color": series.colour, "width": 2}
    return {
        "type": "scatter",
        "x": series.x,
        "y": series.y,
        "mode": mode,
        "line": line,
        "marker": marker,
        "opacity": series.opacity,
        **hover,
        **error,
    }


def _lines(text: str) -> str:
    return html.escape(text, quote=False).replace("\n", "<br>")


def _error(series: Series) -> dict[str, Any]:
    lengths = np.nan_to_num(np.array(series.error, float))
    return {"type": "data", "array": lengths, "thickness": 1, "width": 0, "color": series.colour}


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
    shape = (len(chart.panels), 1) if is_narrow else (len(chart.rows), max(len(row) for row in chart.rows))
    legend_height = 0
    layout: dict[str, Any] = {"showlegend": bool(named), "hovermode": "closest", "barmode": "group"}
    if is_narrow or chart.legend == "below":
        longest = max((len(short(name)) for name in named), default=1)
        columns = max(1, (PHONE if is_narrow else PAGE) // (LEGEND_LETTER * longest + LEGEND_SYMBOL))
        legend_height = LEGEND_LINE * -(-len(named) // columns) + 10
        layout["legend"] = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0}
    layout["legend"] = {**layout.get("legend", {}), "itemwidth": 40, "groupclick": "togglegroup"}
    height = _height(chart, shape[0])
    layout["height"] = height + legend_height
    top = TITLE + 6 if chart.title or chart.rows[0][0].title else 14
    layout["margin"] = {"t": top, "r": 12, "b": AXIS - 4 + legend_height, "l": 60}
    if chart.title:
        layout["title"] = {"text": shown(chart.title), "font": {"size": 14}, "x": 0.01, "xanchor": "left"}
    layout["annotations"] = []
    layout["shapes"] = []
    panels = _alone(chart) if is_narrow else chart.panels
    for number, (panel, place) in enumerate(zip(panels, _places(chart, shape), strict=True), start=1):
        _add_panel(layout, panel, number, place, chart, is_narrow)
    return layout


def _alone(chart: Chart) -> list[Panel]:
    """The panels, each with the titles that it has from its row and its column."""
    return [
        replace(panel, title=panel.title or above.title, y=replace(panel.y, title=panel.y.title or row[0].y.title))
        for row in chart.rows
        for panel, above in zip(row, chart.rows[0], strict=True)
    ]


def _height(chart: Chart, rows: int) -> int:
    """In pixels; heatmaps are as high as their rows ask for."""
    heatmap = chart.panels[0].heatmap
    if heatmap is not None:
        labels = 90 if chart.panels[0].x.slant else 0
        return int(min(900, max(220, 19 * len(heatmap.values) + 110))) + labels
    return rows * (PANEL if rows > 1 else PANEL + 90)


def _places(chart: Chart, shape: tuple[int, int]) -> Iterator[tuple[int, int, list[float], list[float]]]:
    """Row, column and the domains of both axes of each panel, from the top left on."""
    rows, columns = shape
    across = GAP if columns > 1 and _is_shared(chart) else WIDE_GAP
    down = 0.36 / rows if rows > 1 else 0
    width, height = (1 - across * (columns - 1)) / columns, (1 - down * (rows - 1)) / rows
    for index in range(len(chart.panels)):
        row, column = divmod(index, columns)
        left, bottom = column * (width + across), (rows - 1 - row) * (height + down)
        yield row, column, [left, min(1.0, left + width)], [bottom, min(1.0, bottom + height)]


def _is_shared(chart: Chart) -> bool:
    return len(chart.panels) > 1


def _add_panel(
    layout: dict[str, Any],
    panel: Panel,
    number: int,
    place: tuple[int, int, list[float], list[float]],
    chart: Chart,
    is_narrow: bool,
) -> None:
    row, column, across, up = place
    is_map = panel.heatmap is not None
    x_axis = _axis_layout(panel.x, across, _axis("y", number))
    y_axis = _axis_layout(panel.y, up, _axis("x", number))
    if is_map:
        y_axis["autorange"] = "reversed"
        x_axis["showgrid"] = y_axis["showgrid"] = False
    elif not is_narrow and _is_shared(chart):
        columns = max(len(r) for r in chart.rows)
        if column:
            y_axis |= {"matches": _axis("y", row * columns + 1), "showticklabels": False}
        if row < len(chart.rows) - 1:
            x_axis |= {"showticklabels": False, "title": {"text": ""}}
        if row:
            x_axis |= {"matches": _axis("x", column + 1)}
    layout[f"xaxis{'' if number == 1 else number}"] = x_axis
    layout[f"yaxis{'' if number == 1 else number}"] = y_axis
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
        made["type"] = "log"
    if axis.low is not None and axis.high is not None:
        made["range"] = [axis.low, axis.high]
    elif axis.low == 0:
        made["rangemode"] = "tozero"
    return made


def _title(text: str, across: Sequence[float], up: Sequence[float]) -> dict[str, Any]:
    return {
        "text": shown(text),
        "x": sum(across) / 2,
        "y": up[1],
        "xref": "paper",
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 13},
    }


def _rule(rule: Rule, number: int) -> dict[str, Any]:
    along, across = ("y", "x") if rule.is_vertical else ("x", "y")
    return {
        "type": "line",
        "layer": "below",
        "line": {"color": "#8a8f98", "width": 1, "dash": "dot"},
        f"{along}ref": f"{_axis(along, number)} domain",
        f"{across}ref": _axis(across, number),
        f"{along}0": 0,
        f"{along}1": 1,
        f"{across}0": rule.at,
        f"{across}1": rule.at,
    }
