"""`repertory report`: one self-contained page, every figure as SVG and PNG, every table as CSV and LaTeX."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from repertory.errors import UsageError
from repertory.paper.memory_simulation import GrowingLibrary, memory_figure, memory_table
from repertory.paths import check_new_folder, staged
from repertory.report import paper_figures
from repertory.report.page_data import page_data
from repertory.report.tables import write_table
from repertory.sweeps.results import Results

PAGE = "index.html"
MEMORY_RUNS = 10
"""Of the memory simulation; its curves hardly change with more."""


def write_report(results: Results, out: Path, extras: dict[str, Any] | None = None) -> Path:
    """Write the page, figures and tables; `extras` are further sections (claims, pictures). Returns the page's path.

    They are all written, the page last, or none is.
    """
    check_new_folder(out)
    if not results.runs:
        damaged = f" that can be read ({results.problems[0]})" if results.problems else " with a block"
        raise UsageError(f"{results.path} holds no run{damaged}; next: repertory reproduce NAME --out {results.path}")
    data = page_data(results) | (extras or {})
    with staged(out, last=PAGE) as scratch:
        figures, table_folder = scratch / "figures", scratch / "tables"
        figures.mkdir()
        table_folder.mkdir()
        if results.experiment is not None:
            memory_figure(figures / "memory.svg", GrowingLibrary(runs=MEMORY_RUNS))
            memory_figure(figures / "memory.png", GrowingLibrary(runs=MEMORY_RUNS))
            data["memory"] = _as_source((figures / "memory.svg").read_bytes(), "image/svg+xml")
        paper_figures.write_all(data, figures)
        for name, frame in tables(results, data):
            write_table(frame, table_folder / paper_figures.safe(name))
        (scratch / PAGE).write_text(render(data), encoding="utf-8")
    return out / PAGE


def tables(results: Results, data: dict[str, Any]) -> Iterator[tuple[str, pd.DataFrame]]:
    yield "conditions", pd.DataFrame(data["conditions"])
    yield "libraries", pd.DataFrame(data["libraries"])
    yield "time", pd.DataFrame(data["time"])
    yield "capacity", pd.DataFrame(data["capacity"]).drop(columns=["tolerances", "capacities"], errors="ignore")
    for learner, pairs in data["significance"].items():
        yield f"significance-{learner}", pd.DataFrame(pairs)
    for kind in ("forgetting", "transfer"):
        rows = [
            pd.DataFrame(entry[kind]).assign(condition=entry["condition"]) for entry in data["learning"]["conditions"]
        ]
        if rows:
            yield kind, pd.concat(rows)[["condition", "bin", "mean", "error", "count"]]
    if data.get("claims"):
        yield "claims", pd.DataFrame(data["claims"])
    if results.experiment is not None:
        yield "memory", memory_table(GrowingLibrary(runs=MEMORY_RUNS))


def render(data: dict[str, Any], live_every: float | None = None) -> str:
    """The page with its data, style and scripts inside; with `live_every`, it asks for new data so often."""
    page = _static("page.html")
    if live_every is not None:
        page = page.replace('<html lang="en">', f'<html lang="en" data-live="{live_every:g}">')
    parts = {
        "/*STYLE*/": _static("page.css"),
        "/*DATA*/": embedded_json(data),
        "/*PLOTLY*/": _plotly(),
        "/*SCRIPT*/": _static("page.js"),
    }
    before, after = page, ""
    # From the last to the first, and never into what was put in already: data may hold anything, a marker too.
    for marker, content in reversed(parts.items()):
        before, _marker, rest = before.partition(marker)
        after = content + rest + after
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


def _as_source(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
