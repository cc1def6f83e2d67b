"""`repertory figure` and `repertory list figures`: the tables and figures of the paper, from results."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.cli.screen import print_problems
from repertory.paths import check_new_folder, staged
from repertory.report.claims import read_all_results
from repertory.report.figures import FIGURES, figure, standing
from repertory.report.table import Table, name_column, to_console

ONLY_THERE = "a drawing, in the paper only"


def figure_in_console(name: str, results: Path, profile: str | None, out: Path, console: Console) -> None:
    from repertory.report.figure_files import write_files  # matplotlib takes a while

    wanted = figure(name)
    check_new_folder(out)
    sweeps = read_all_results(results) if wanted.needs else []
    for found in sweeps:
        print_problems(console, found)
    held = standing(wanted, sweeps, profile)
    content = held.content()
    with staged(out) as scratch:
        written = write_files(wanted, content, held.caption(), scratch)
    for table in content.tables:
        console.print(to_console(table))
    console.print(f"{held.caption()} Written to {out}: {', '.join(written)}", soft_wrap=True)
    if held.missing:
        console.print(f"missing: {held.missing_text()}; next:", soft_wrap=True)
        for command in held.commands():
            console.print(command, soft_wrap=True)


def list_figures(folder: Path | None, console: Console) -> None:
    """Every one with its command, and what the results lack of it; all, where there are none yet."""
    results = Path("results") if folder is None else folder
    sweeps = read_all_results(results) if folder is not None or results.is_dir() else []
    rows = []
    for each in FIGURES:
        held = standing(each, sweeps)
        rows.append(
            {
                "name": each.name,
                "kind": "table" if each.is_table else "figure",
                "what": each.title,
                "missing": ONLY_THERE if each.make is None else held.missing_text() or "nothing",
            }
        )
    columns = [name_column("repertory figure", "name"), *map(name_column, ("kind", "what", "missing"))]
    console.print(to_console(Table("figures", columns, rows)))
    console.print(
        f"missing: what has no finished run in {results}; 'repertory figure NAME' prints the commands for it",
        soft_wrap=True,
        style="dim",
    )
