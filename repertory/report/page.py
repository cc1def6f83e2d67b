"""`repertory report`: one self-contained page, every table as CSV and LaTeX, on request every figure as SVG and PNG."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from repertory.errors import UsageError
from repertory.paths import check_new_folder, staged
from repertory.report import escaping, table
from repertory.report.chart import Chart
from repertory.report.chart_digest import shows
from repertory.report.section import Section, safe
from repertory.report.sections import all_sections
from repertory.report.sections.overview import headline
from repertory.report.to_plotly import to_plotly
from repertory.sweeps.results import Results

PAGE, FIGURES, TABLES = "index.html", "figures", "tables"


def write_report(results: Results, out: Path, with_figures: bool = False) -> Path:
    """Write the page, tables and figures: all of them, the page last, or none. Returns the page's path.

    Files of figures take twice the time of all else; one of the very same chart that is there is not drawn again.
    """
    check_new_folder(out)
    if not results.runs:
        damaged = f" that can be read ({results.problems[0]})" if results.problems else " with a block"
        raise UsageError(f"{results.path} holds no run{damaged}; next: repertory reproduce NAME --out {results.path}")
    sections = all_sections(results)
    with staged(out, last=PAGE) as scratch:
        (scratch / TABLES).mkdir()
        for each in sections:
            for made in (*each.tables, *each.file_tables):
                table.write_table(made, scratch / TABLES, safe(made.name))
        if with_figures:
            write_figures([chart for each in sections for chart in each.charts], scratch / FIGURES, out / FIGURES)
        page = render(page_content(results, sections))
        (scratch / PAGE).write_text(page, encoding="utf-8", errors="backslashreplace")
    return out / PAGE


def write_figures(charts: Sequence[Chart], folder: Path, earlier: Path) -> None:
    """SVG and PNG of every chart but those that `earlier` has already."""
    folder.mkdir()
    for chart in charts:
        if not (earlier / f"{chart.name}.svg").exists() or not shows(earlier / f"{chart.name}.png", chart):
            from repertory.report.to_matplotlib import write_figure  # slow to import, and often not needed

            write_figure(chart, folder)


# ------------------------------------------------------------------------------------------------------------- HTML


def page_content(results: Results, sections: Sequence[Section]) -> dict[str, Any]:
    """What changes from page to page: HTML for its places, and a Plotly figure for each chart."""
    name = results.path.resolve().name
    return {
        "name": name,
        "title": name if results.experiment is None else results.experiment.title,
        "summary": "".join(f"<p>{escaping.to_html(sentence)}</p>" for sentence in headline(results)),
        "contents": "\n".join(f'<a href="#{each.name}">{escaping.to_html(each.title)}</a>' for each in sections),
        "sections": "\n".join(section_html(each) for each in sections),
        "charts": {chart.name: to_plotly(chart) for each in sections for chart in each.charts},
    }


def section_html(section: Section) -> str:
    parts = [f"<h2>{escaping.to_html(section.title)}</h2>"]
    parts += [f"<p>{escaping.to_html(section.intro)}</p>"] if section.intro else []
    parts += [table.to_html(each) for each in section.tables]
    parts += [_charts_html(section)] if section.charts else []
    if section.pictures:
        shown = (_figure_html(f'<img src="{p.source}" alt="" loading="lazy">', p.caption) for p in section.pictures)
        parts.append(f'<div class="pictures">{"".join(shown)}</div>')
    parts += [f'<p class="note">{escaping.to_html(note)}</p>' for note in section.notes]
    parts += [f"<p><code>{escaping.to_html(section.command)}</code></p>"] if section.command else []
    parts += [
        f"<details><summary>{escaping.to_html(detail.title)}</summary><pre>{escaping.to_html(detail.text)}</pre></details>"
        for detail in section.details
    ]
    return f'<section id="{section.name}">\n' + "\n".join(parts) + "\n</section>"


def _charts_html(section: Section) -> str:
    if section.first_choice is None:
        places = "".join(_figure_html(_plot(chart.name, chart.name), chart.caption) for chart in section.charts)
        return f'<div class="charts">{places}</div>'
    first = section.charts[section.first_choice]
    options = "".join(
        f'<option value="{html.escape(chart.name)}"{" selected" if chart is first else ""}>'
        f"{escaping.to_html(chart.label)}</option>"
        for chart in section.charts
    )
    place = f"{section.name}-plot"
    select = f'<select data-plot="{place}" aria-label="{escaping.to_html(section.title)}">{options}</select>'
    return f'{select}<div class="charts">{_figure_html(_plot(place, first.name), "")}</div>'


def _plot(place: str, chart: str) -> str:
    return f'<div class="plot" id="{html.escape(place)}" data-chart="{html.escape(chart)}"></div>'


def _figure_html(content: str, caption: str) -> str:
    shown = f"<figcaption>{escaping.to_html(caption)}</figcaption>" if caption else ""
    return f"<figure>{content}{shown}</figure>"


def render(content: dict[str, Any], live_every: float | None = None) -> str:
    """The page with its style and scripts inside; with `live_every`, it asks for new content so often."""
    page = _static("page.html")
    if live_every is not None:
        page = page.replace('<html lang="en">', f'<html lang="en" data-live="{live_every:g}">')
    parts = {
        "<!--NAME-->": escaping.to_html(content["name"]),
        "/*STYLE*/": _static("page.css"),
        "<!--TITLE-->": escaping.to_html(content["title"]),
        "<!--SUMMARY-->": content["summary"],
        "<!--CONTENTS-->": content["contents"],
        "<!--SECTIONS-->": content["sections"],
        "/*CHARTS*/": embedded_json(content["charts"]),
        "/*PLOTLY*/": _plotly(),
        "/*SCRIPT*/": _static("page.js"),
    }
    before, after = page, ""
    # From the last to the first, and never into what was put in already: a name may hold anything, a marker too.
    for marker, text in reversed(parts.items()):
        before, _marker, rest = before.partition(marker)
        after = text + rest + after
    return before + after


def embedded_json(data: Any) -> str:
    """JSON that no name in it can end the script element with."""
    return (
        json.dumps(data, allow_nan=False)
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


@cache
def _static(name: str) -> str:
    return resources.files("repertory.report").joinpath("static", name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return get_plotlyjs().replace("</script", "<\\/script")
