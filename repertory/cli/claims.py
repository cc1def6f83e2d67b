"""`repertory claims`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.cli.screen import print_problems
from repertory.report.claims import judge, print_claims, read_all_results


def claims_in_console(path: Path, console: Console) -> None:
    results = read_all_results(path)
    for found in results:
        print_problems(console, found)
    finished = sum(run.is_done for found in results for run in found.runs)
    sweeps = sum(found.sweep is not None for found in results)
    console.print(f"in {path}: {sweeps} sweep(s), {finished} finished run(s)\n", soft_wrap=True)
    print_claims(console, judge(results))
