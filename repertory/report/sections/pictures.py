"""Policies at work."""

from __future__ import annotations

from repertory.errors import RunStopped, UsageError
from repertory.report.animation import data_uri, embedded_animation, is_on_white
from repertory.report.section import Picture, Section
from repertory.report.watching import open_performance
from repertory.sweeps.results import Results

SHOWN = 4


def section(results: Results) -> Section | None:
    """The best policy of each learner's largest library that has a checkpoint."""
    found: dict[str, Picture] = {}
    notes: dict[str, str] = {}
    for runs in sorted(results.by_condition.values(), key=lambda runs: -int(runs[0].settings["policies"])):
        learner = str(runs[0].settings["learner"]["name"])
        if learner in found or len(found) == SHOWN:
            continue
        try:
            performance = open_performance(runs[0].path)
            animation = embedded_animation(performance)
        except (UsageError, RunStopped) as reason:  # no checkpoint, or tasks that cannot be played or drawn here
            notes.setdefault(learner, f"No picture of {runs[0].condition}: {reason}.")
            continue
        task = f"task {performance.task}, {performance.task_name}"
        caption = f"{runs[0].condition}: policy {performance.policy} on {task}"
        found[learner] = Picture(data_uri(animation), caption, is_on_white(animation))
    without = [note for learner, note in notes.items() if learner not in found]
    if not found and not without:
        return None
    return Section("pictures", "Policies at work", notes=without[:SHOWN], pictures=list(found.values()))
