"""`repertory report` in front of a person: claims judged, policies pictured, page written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from repertory.experiments.results import Results, read_results
from repertory.report.claims import claims_frame, judge
from repertory.report.page import write_report


def report_in_console(path: Path, out: Path, console: Console) -> None:
    results = read_results(path)
    page = write_report(results, out, {"claims": claims_data(results)})
    console.print(f"{page} shows {len(results.runs)} runs; figures and tables are beside it", soft_wrap=True)


def claims_data(results: Results) -> list[dict[str, Any]]:
    """The claims that this experiment has a part in, judged by its runs alone."""
    if results.experiment is None:
        return []
    name = results.experiment.name
    own = [
        judgement
        for judgement in judge([results])
        if any(reference.experiment == name for reference in judgement.claim.references)
    ]
    return [{str(key): value for key, value in row.items()} for row in claims_frame(own).to_dict("records")]
