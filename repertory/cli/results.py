"""`repertory results`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.cli.screen import print_problems
from repertory.report.claims import read_all_results
from repertory.report.results_file import FIGURES, read_pages, write_results


def results_in_console(root: Path, out: Path, console: Console) -> None:
    sweeps = read_all_results(root)
    for results in sweeps:
        print_problems(console, results)
    written = write_results(root, out, read_pages(root, sweeps))
    console.print(f"{out} written, and {len(written) - 1} figures in {root / FIGURES}", soft_wrap=True)
