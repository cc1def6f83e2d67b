"""`repertory report`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.analysis.controls import learning_metrics
from repertory.cli.screen import print_problems
from repertory.errors import UsageError
from repertory.report.domains import by_domain
from repertory.report.page import check_place, check_runs, write_report
from repertory.sweeps.results import read_results
from repertory.wording import counted


def report_in_console(path: Path, out: Path, compute_missing: bool, with_figures: bool, console: Console) -> None:
    check_place(out)
    results = read_results(path)
    check_runs(results)
    if compute_missing:
        for part in by_domain(results):
            for condition in part.results.by_condition:
                console.print(
                    f"{condition}: running the one-to-one runs that it is compared with, where they are missing",
                    soft_wrap=True,
                )
                try:
                    learning_metrics(part.results, condition, compute_missing=True)
                except UsageError as reason:  # such as tasks whose code is not here
                    console.print(f"not run: {reason}", soft_wrap=True)
        results = read_results(path)
    page = write_report(results, out, with_figures)
    print_problems(console, results)
    beside = "tables and figures are" if with_figures else "its tables are"
    console.print(f"{page} shows {counted(len(results.runs), 'run')}; {beside} beside it", soft_wrap=True)
