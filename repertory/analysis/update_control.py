"""What a smaller library loses, apart from what its learner loses by itself.

Empirical capacity compares N policies with one for each of K tasks. But N policies share the same life, so each has K/N
times as many updates as a policy of its own task has had: a learner that does not stay sound for so many would look as
if it had run out of capacity. The control is one policy alone on one task, with as many updates as a policy of the
library has had. Since nothing tells a learner how long its life will be, one long run of it is the control of every N:
its first blocks / N blocks.

    sharing       the library's score less that of a policy per task: what sharing policies is worth in all
    interference  the control's score less the library's: what the company of other tasks costs
    ageing        the control's fall, from its best tenth to its last: what updates alone cost

All are shares of the score with a policy per task, over the tasks that there is a control of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.analysis.controls import runs_by_policies
from repertory.sweeps.results import Results, Run, read_results
from repertory.sweeps.sweep import FILE_NAME, default_folder

TENTHS = 10
CONTROL = "ageing"
"""The experiment that has the paper's learners alone on each task."""


class CapacityParts(NamedTuple):
    """Of the libraries of one size."""

    policies: int
    library: float
    """Mean lifetime score of the tasks that there is a control of."""
    control: float
    ageing: float
    interference: float
    sharing: float
    tasks: int
    """That there is a control of."""
    diverged: int
    """Runs of the library whose values passed what is possible, of `runs`."""
    runs: int

    @property
    def is_ageing(self) -> bool:
        """Whether what the library loses is rather the learner's fault than that of other tasks."""
        return self.sharing < 0 and self.ageing > max(self.interference, -self.sharing / 2)


def parts_warning(parts: CapacityParts) -> str:
    """What to know before the number is taken for a capacity; empty if nothing."""
    if parts.is_ageing:
        return (
            f"a policy alone on one task falls by {parts.ageing:.0%} of the score of a policy per task, in as many "
            "updates, so this loss says more about the learner than about its capacity; next: --profile sound"
        )
    if parts.diverged:
        return f"values diverged in {parts.diverged} of {parts.runs} runs, so what is lost here may not be capacity"
    return ""


def controls_for(results: Results) -> Results:
    """Where the runs of single tasks are: in the same folder, or in that of `CONTROL` beside it."""
    if results.sweep is None or any(isinstance(run.settings["task"], int) for run in results.runs):
        return results
    beside = results.path.resolve().parent / default_folder(CONTROL, results.sweep.profile).name
    return read_results(beside) if (beside / FILE_NAME).exists() else results


def capacity_parts(results: Results, controls: Results, learner: str) -> list[CapacityParts]:
    """For each number of policies, the most last; none without a policy per task, or without controls."""
    libraries = runs_by_policies(results, learner)
    if not libraries or max(libraries) < len(next(iter(libraries.values()))[0].settings["task_names"]):
        return []
    curves = control_curves(controls, libraries[max(libraries)][0])
    if not curves:
        return []
    reference = libraries[max(libraries)]
    return [_parts(count, runs, curves, reference) for count, runs in sorted(libraries.items())]


def control_curves(controls: Results, library: Run) -> dict[int, NDArray[np.float64]]:
    """By task, the block scores of finished runs of that task alone with the library's learner; means over runs."""
    found: dict[int, list[NDArray[np.float64]]] = {}
    same = ("domain", "learner", "block_steps")
    for run in (run for runs in controls.by_condition.values() for run in runs):
        task = run.settings["task"]
        if isinstance(task, int) and all(run.settings[key] == library.settings[key] for key in same):
            found.setdefault(task, []).append(run.scores.to_numpy(float))
    shortest = {task: min(map(len, curves)) for task, curves in found.items()}
    return {task: np.mean([curve[: shortest[task]] for curve in curves], axis=0) for task, curves in found.items()}


def _score_on(runs: Sequence[Run], tasks: Mapping[int, object]) -> float:
    """Mean over tasks of their mean score, so that a task that came more often does not count for more."""
    by_task = [run.scores.groupby(run.blocks["task"]).mean() for run in runs]
    return float(np.mean([scores[scores.index.isin(list(tasks))].mean() for scores in by_task]))


def _parts(
    count: int, runs: Sequence[Run], curves: Mapping[int, NDArray[np.float64]], one_to_one: Sequence[Run]
) -> CapacityParts:
    blocks = max(1, round(len(runs[0].blocks) / count))
    long_enough = {task: curve[:blocks] for task, curve in curves.items() if len(curve) >= blocks}
    diverged = sum(run.divergence is not None for run in runs)
    if not long_enough:
        nan = float("nan")
        return CapacityParts(count, nan, nan, nan, nan, nan, 0, diverged, len(runs))
    library, reference = _score_on(runs, long_enough), _score_on(one_to_one, long_enough)
    mean_curve = np.mean(list(long_enough.values()), axis=0)
    tenths = [float(part.mean()) for part in np.array_split(mean_curve, min(TENTHS, blocks))]
    control = float(mean_curve.mean())
    return CapacityParts(
        policies=count,
        library=library,
        control=control,
        ageing=(max(tenths) - tenths[-1]) / reference,
        interference=(control - library) / reference,
        sharing=(library - reference) / reference,
        tasks=len(long_enough),
        diverged=diverged,
        runs=len(runs),
    )
