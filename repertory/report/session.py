"""`repertory report` in front of a person: claims judged, policies pictured, page written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from repertory.errors import UsageError
from repertory.experiments.references import learning_metrics
from repertory.experiments.results import Results, read_results
from repertory.report.animation import data_uri, embedded_animation
from repertory.report.claims import claims_frame, judge
from repertory.report.page import write_report
from repertory.report.watching import open_performance

SHOWN_PICTURES = 4


def report_in_console(path: Path, out: Path, compute_missing: bool, console: Console) -> None:
    results = read_results(path)
    if compute_missing:
        for condition in results.by_condition:
            console.print(f"{condition}: living the one-to-one runs it is measured against, if missing", soft_wrap=True)
            learning_metrics(results, condition, compute_missing=True)
        results = read_results(path)
    page = write_report(results, out, {"claims": claims_data(results), "pictures": pictures_data(results)})
    for problem in results.problems:
        console.print(f"left out: {problem}", soft_wrap=True)
    console.print(f"{page} shows {len(results.runs)} runs; figures and tables are beside it", soft_wrap=True)


def pictures_data(results: Results) -> list[dict[str, str]]:
    """A few policies at work: the best one of each learner's largest library that has a checkpoint."""
    found: dict[str, dict[str, str]] = {}
    for runs in sorted(results.by_condition.values(), key=lambda runs: -int(runs[0].settings["policies"])):
        learner = str(runs[0].settings["learner"]["name"])
        if learner in found or len(found) == SHOWN_PICTURES:
            continue
        try:
            performance = open_performance(runs[0].path)
            picture = data_uri(embedded_animation(performance))
        except UsageError:  # no checkpoint, or tasks that cannot be drawn
            continue
        caption = (
            f"{runs[0].condition}: policy {performance.policy} on task {performance.task}, {performance.task_name}"
        )
        found[learner] = {"source": picture, "caption": caption}
    return list(found.values())


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
