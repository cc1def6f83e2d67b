"""`repertory report`: one self-contained page, every table as CSV and LaTeX, on request every figure as SVG and PNG."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from repertory.errors import UsageError
from repertory.paths import check_new_file, check_new_folder, staged
from repertory.report import escaping, table
from repertory.report.chart import Chart
from repertory.report.chart_digest import shows
from repertory.report.page_html import chapters_html, contents_html, summary_html
from repertory.report.section import safe
from repertory.report.sections import Chapter, chapters
from repertory.report.to_plotly import to_plotly
from repertory.sweeps.results import Results

PAGE, FIGURES, TABLES = "index.html", "figures", "tables"


def check_place(out: Path) -> None:
    """Fail if a report cannot be written there: before any work."""
    check_new_folder(out)
    check_new_file(out / PAGE)
    for folder in (TABLES, FIGURES):
        check_new_folder(out / folder)


def check_runs(results: Results) -> None:
    """Fail if there is nothing to report on."""
    if not results.runs:
        damaged = f" that can be read ({results.problems[0]})" if results.problems else " with a block"
        raise UsageError(f"{results.path} holds no run{damaged}; next: repertory reproduce NAME --out {results.path}")


def write_report(results: Results, out: Path, with_figures: bool = False) -> Path:
    """Write the page, tables and figures: all of them, the page last, or none. Returns the page's path.

    Files of figures take twice the time of all else; one of the very same chart that is there is not drawn again.
    """
    check_place(out)
    check_runs(results)
    found = chapters(results)
    with staged(out, last=PAGE) as scratch:
        (scratch / TABLES).mkdir()
        for section in (section for chapter in found for section in chapter.sections):
            for made in (*section.tables, *section.file_tables):
                table.write_table(made, scratch / TABLES, safe(made.name))
        if with_figures:
            write_figures(_charts(found), scratch / FIGURES, out / FIGURES)
        beside = "Beside this page: its tables as CSV and LaTeX" + (
            ", its figures as SVG and PNG." * with_figures or "."
        )
        page = render(page_content(results, found, beside))
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


def page_content(results: Results, chapters: Sequence[Chapter], beside: str = "") -> dict[str, Any]:
    """What changes from page to page: HTML for its places, and a Plotly figure for each chart.

    `beside` says which files are where the page is.
    """
    name = results.path.resolve().name
    return {
        "name": name,
        "title": name if results.experiment is None else results.experiment.title,
        "summary": summary_html(results, chapters),
        "contents": contents_html(chapters),
        "sections": chapters_html(chapters),
        "beside": beside,
        "charts": {chart.name: to_plotly(chart) for chart in _charts(chapters)},
    }


def _charts(chapters: Sequence[Chapter]) -> list[Chart]:
    return [chart for chapter in chapters for section in chapter.sections for chart in section.charts]


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
        "<!--BESIDE-->": content["beside"],
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
        json.dumps(data, allow_nan=False, separators=(",", ":"))
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


@cache
def _static(name: str) -> str:
    return resources.files("repertory.report").joinpath("static", name).read_text(encoding="utf-8")


def _plotly() -> str:
    """Plotly's own bundle of what charts with two axes need, a third of the whole; its licence is beside it."""
    return _static("plotly-cartesian.min.js").replace("</script", "<\\/script")
