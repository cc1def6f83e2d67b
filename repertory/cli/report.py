"""`repertory report` in front of a person: claims judged, policies pictured, page written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from repertory.analysis.controls import learning_metrics
from repertory.cli.screen import print_problems
from repertory.errors import RunStopped, UsageError
from repertory.paths import check_new_folder, existing_folder
from repertory.report.animation import data_uri, embedded_animation
from repertory.report.claims import claims_frame, judge
from repertory.report.domains import by_domain
from repertory.report.page import write_report
from repertory.report.watching import open_performance
from repertory.sweeps.results import Results, read_results

SHOWN_PICTURES = 4


def report_in_console(path: Path, out: Path, compute_missing: bool, console: Console) -> None:
    check_new_folder(out)
    results = read_results(existing_folder(path))
    if compute_missing:
        for part in by_domain(results):
            for condition in part.results.by_condition:
                console.print(
                    f"{condition}: running the one-to-one runs it is measured against, if missing", soft_wrap=True
                )
                try:
                    learning_metrics(part.results, condition, compute_missing=True)
                except UsageError as reason:  # such as tasks whose code is not here
                    console.print(f"not run: {reason}", soft_wrap=True)
        results = read_results(path)
    page = write_report(results, out, {"claims": claims_data(results), **pictures_data(results)})
    print_problems(console, results)
    console.print(f"{page} shows {len(results.runs)} runs; figures and tables are beside it", soft_wrap=True)


def pictures_data(results: Results) -> dict[str, Any]:
    """A few policies at work: the best one of each learner's largest library that has a checkpoint."""
    found: dict[str, dict[str, str]] = {}
    notes: dict[str, str] = {}
    for runs in sorted(results.by_condition.values(), key=lambda runs: -int(runs[0].settings["policies"])):
        learner = str(runs[0].settings["learner"]["name"])
        if learner in found or len(found) == SHOWN_PICTURES:
            continue
        try:
            performance = open_performance(runs[0].path)
            picture = data_uri(embedded_animation(performance))
        except (UsageError, RunStopped) as reason:  # no checkpoint, or tasks that cannot be played or drawn here
            notes.setdefault(learner, f"No picture of {runs[0].condition}: {reason}.")
            continue
        caption = (
            f"{runs[0].condition}: policy {performance.policy} on task {performance.task}, {performance.task_name}"
        )
        found[learner] = {"source": picture, "caption": caption}
    without = [note for learner, note in notes.items() if learner not in found]
    return {"pictures": list(found.values()), "picture_notes": without[:SHOWN_PICTURES]}


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
