"""`repertory bench`: progress, one table, and files to compare with later."""

from __future__ import annotations

import datetime
import json
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console

import repertory
from repertory.benchmarks.chart import bench_chart
from repertory.benchmarks.machine import describe_machine, machine_lines
from repertory.benchmarks.result import Result, Row, run_row
from repertory.benchmarks.rows import ROWS, chosen
from repertory.errors import UsageError
from repertory.paths import check_new_folder, staged, write_whole
from repertory.report.table import Table, column, name_column, to_console
from repertory.report.to_matplotlib import write_figure

FORMAT = 1
"""Of bench.json; one more when a key changes its meaning."""


def bench_in_console(
    only: str | None, out: Path, repeats: int, console: Console, rows: Sequence[Row] = ROWS
) -> list[Result]:
    """Measure rows, show them, and write bench.json, bench.png and bench.svg to `out`."""
    if repeats < 1:
        raise UsageError(f"--repeats is {repeats}; valid: at least 1")
    selected = chosen(only, rows)
    check_new_folder(out)  # before minutes are spent on measuring
    machine = describe_machine()
    for line in machine_lines(machine):
        console.print(line, style="dim", soft_wrap=True)
    results: list[Result] = []
    for number, row in enumerate(selected, start=1):
        with _progress(console, f"{number} of {len(selected)}: {row.name}"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="stable_baselines3|sb3_contrib")
            results.append(run_row(row, repeats))
        _write(out / "bench.json", results, machine, repeats)  # after each, so that Ctrl-C loses one row at most
    console.print()
    console.print(to_console(table_of(results)))
    for line in _remarks(results):
        console.print(line, style="dim", soft_wrap=True)
    with staged(out) as scratch:
        write_figure(bench_chart(results, machine["cpu"]), scratch)
    console.print(f"saved in {out / 'bench.json'}, .png and .svg", soft_wrap=True)
    return results


def _progress(console: Console, text: str) -> AbstractContextManager[Any]:
    if console.is_terminal:
        return console.status(text)
    console.print(text, soft_wrap=True)
    return nullcontext()


def _write(path: Path, results: Sequence[Result], machine: dict[str, Any], repeats: int) -> None:
    content = {
        "format": FORMAT,
        "repertory": repertory.__version__,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "repeats": repeats,
        "machine": machine,
        "rows": [result.as_dict() for result in results],
    }
    write_whole(path, (json.dumps(content, indent=2) + "\n").encode())


def table_of(results: Sequence[Result]) -> Table:
    columns = [name_column("what", "name"), *map(column, ("ours", "other", "measured", "target")), name_column("met")]
    return Table("bench", columns, [result.texts() for result in results])


def _remarks(results: Sequence[Result]) -> list[str]:
    """Why a row has no figure and what to do about it, and notes on other rows."""
    lines = []
    for result in results:
        if result.missing is not None:
            lines.append(f"{result.row.name}: not measured: {result.missing}")
        elif result.measured is not None and result.measured.note:
            lines.append(f"{result.row.name}: {result.measured.note}")
    return lines
