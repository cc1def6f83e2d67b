"""`repertory report` in front of a person: claims judged, policies pictured, page written."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from repertory.experiments.results import read_results
from repertory.report.page import write_report


def report_in_console(path: Path, out: Path, console: Console) -> None:
    results = read_results(path)
    page = write_report(results, out)
    console.print(f"{page} shows {len(results.runs)} runs; figures and tables are beside it", soft_wrap=True)
