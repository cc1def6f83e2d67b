"""The smallest number of policies within tolerance, from runs at hand, or from a pilot as the paper would have it.

A pilot compares libraries of several sizes over short lives. It is blind to tasks in conflict, and to what happens to a
learner later: `recommend` looks at both. It is kept to be compared with.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repertory import catalogue
from repertory.analysis.capacity import CapacityEstimate, capacity_curve, check_tolerance, estimate_capacity
from repertory.analysis.controls import scores_by_policies
from repertory.analysis.policy_memory import check_memory, parse_memory, policy_memory
from repertory.core.metrics import lifetime_score
from repertory.domains.domain import Domain
from repertory.errors import UsageError, check_count
from repertory.learners.protocol import MakeLearner
from repertory.runs.folder import RunFolder, differences, plain
from repertory.runs.live import live_spec
from repertory.runs.spec import RunSpec, run_spec
from repertory.selectors.protocol import MakeSelector
from repertory.sweeps.results import Results, read_results

PILOT_BLOCKS_PER_TASK = 10
PILOT_BLOCK_STEPS = 20_000
"""A third of the paper's: each task comes ten times and gets 200,000 steps, enough for its learners to learn."""
PILOT_RUNS, MOST_RUNS = 2, 1000


@dataclass(frozen=True)
class PilotAnswer:
    """How many policies to buy, and what that was decided from."""

    policies: int
    within_tolerance: bool
    """False if what is within tolerance does not fit into memory; `policies` is then the most that fits."""
    tolerance: float
    confidence: float | None
    """Share of resampled pilots in which this number is within tolerance; None if there is one run of each only."""
    memory: int | None
    """Of the library in bytes, replay memories included; None for learners that cannot tell theirs."""
    table: pd.DataFrame
    """A row per number of policies: runs, score, relative (to a policy per task), within, confidence, memory."""
    estimate: CapacityEstimate

    def __str__(self) -> str:
        sure = "" if self.confidence is None else f" (confidence {self.confidence:.0%})"
        size = "memory unknown" if self.memory is None else f"{self.memory / 1e6:.1f} MB"
        if self.within_tolerance:
            return f"{self.policies} policies are within {self.tolerance:.0%} of one per task{sure}: {size}"
        lost = 1 - self.estimate.curve.scores[self.policies] / self.estimate.curve.scores[self.estimate.curve.reference]
        return (
            f"{self.policies} policies are the best that fits into memory ({size}); they lose {lost:.0%} against one "
            f"per task, more than the {self.tolerance:.0%} allowed"
        )


def candidates(n_tasks: int) -> list[int]:
    """The numbers of policies that the paper compares: 1, 2, 4, a third, a half, and one for each task."""
    return sorted({n for n in (1, 2, 4, round(n_tasks / 3), -(-n_tasks // 2), n_tasks) if 1 <= n <= n_tasks})


def pilot_policies(
    domain: Domain | str,
    learner: MakeLearner | str,
    tolerance: float = 0.05,
    *,
    memory: int | str | None = None,
    results: str | Path | None = None,
    policies: Sequence[int] | None = None,
    blocks: int | None = None,
    block_steps: int | None = None,
    runs: int = PILOT_RUNS,
    selector: MakeSelector | str = "fixed-partition",
    seed: int = 0,
    profile: str = "text",
    out: str | Path | None = None,
    live: Callable[[Sequence[tuple[RunSpec, Path | None]]], list[pd.DataFrame]] | None = None,
) -> PilotAnswer:
    """The smallest number of policies whose lifetime score is within `tolerance` of a policy per task.

    Decided from a pilot: lifetimes with each number in `policies` (the paper's choice if not given), `runs` of each, of
    `blocks` blocks of `block_steps` steps. Selection is unadaptive, as in the paper's definition of capacity; where
    tasks conflict, an adaptive `selector` may do with fewer policies. With `out`, the pilot's runs are kept there and
    need not be run again; those with a policy per task come first, and the rest only if there is a score above 0 to
    take shares of. With `results`, nothing is run: the unadaptive runs in that folder decide. `memory` is the most
    that the library may take, in bytes or as `"200MB"`.
    """
    check_tolerance(tolerance)
    check_count("runs", runs, 1, MOST_RUNS)
    memory = parse_memory(memory) if isinstance(memory, str) else memory
    first = run_spec(domain, learner, 1, selector, seed=seed, profile=profile)
    policy_bytes = policy_memory(first)
    n_tasks = first.domain.n_tasks
    if results is not None:
        scores = _scores_at_hand(read_results(Path(results)), first)
        check_memory(memory, policy_bytes, min(scores))
    else:
        numbers = sorted(set(policies)) if policies is not None else candidates(n_tasks)
        if not numbers or numbers[0] < 1 or numbers[-1] > n_tasks:
            raise UsageError(f"policies are {list(numbers)}; valid: numbers from 1 to {n_tasks}")
        check_memory(memory, policy_bytes, numbers[0])
        numbers = sorted({*numbers, n_tasks})  # what the others are measured against
        length = (
            PILOT_BLOCKS_PER_TASK * n_tasks if blocks is None else blocks,
            PILOT_BLOCK_STEPS if block_steps is None else block_steps,
        )
        specs = pilot(first, numbers, runs, *length, None if out is None else Path(out))
        scores = _pilot_scores(specs, live or live_in_turn, first.domain.score)
    return decide(estimate_capacity(scores, n_tasks), tolerance, policy_bytes, memory)


def pilot(
    first: RunSpec, numbers: Sequence[int], runs: int, blocks: int, block_steps: int, out: Path | None
) -> list[tuple[RunSpec, Path | None]]:
    """The specs of a pilot and the folder of each."""
    specs = []
    for run in range(runs):
        for count in numbers:
            spec = run_spec(
                first.domain,
                first.learner,
                count,
                first.selector if count < first.domain.n_tasks else "one-to-one",
                blocks=blocks,
                block_steps=block_steps,
                run=run,
                seed=first.seed,
                profile=first.profile,
            )
            specs.append((spec, None if out is None else out / f"{count}P" / f"run-{run:02d}"))
    return specs


def live_in_turn(specs: Sequence[tuple[RunSpec, Path | None]]) -> list[pd.DataFrame]:
    """Live specs one after another, but for those that are finished in their folders."""
    blocks = []
    for spec, path in specs:
        if path is not None and RunFolder(path).holds_finished(spec.to_json()):
            blocks.append(RunFolder(path).read_blocks())
        else:
            blocks.append(live_spec(spec, path).blocks)
    return blocks


def _pilot_scores(
    specs: Sequence[tuple[RunSpec, Path | None]],
    live: Callable[[Sequence[tuple[RunSpec, Path | None]]], list[pd.DataFrame]],
    score: str,
) -> dict[int, Any]:
    """Lifetime scores by number of policies; runs with the most, which the others are measured by, come first."""
    most = max(spec.policies for spec, _path in specs)
    scores: dict[int, list[float]] = {}
    for is_reference in (True, False):
        own = [(spec, path) for spec, path in specs if (spec.policies == most) == is_reference]
        for (spec, _path), blocks in zip(own, live(own) if own else [], strict=True):
            scores.setdefault(spec.policies, []).append(lifetime_score(blocks, score))
        capacity_curve({most: float(np.mean(scores[most]))}, most)  # refuses a score that nothing can be a share of
    return {count: np.array(values) for count, values in scores.items()}


def _scores_at_hand(results: Results, first: RunSpec) -> dict[int, Any]:
    learner, n_tasks = catalogue.name_of(first.learner), first.domain.n_tasks
    scores = scores_by_policies(results, learner)
    if not scores:
        raise UsageError(f"{results.path} has no finished unadaptive runs of {learner}; next: leave out --results")
    asked = plain(first.to_json())["domain"]
    others = [run for run in results.runs if run.settings["learner"]["name"] == learner]
    for difference in itertools.islice(differences(others[0].settings["domain"], asked, "domain"), 1):
        raise UsageError(f"{results.path} has runs on another domain ({difference}); next: give results of this one")
    if n_tasks not in scores:
        raise UsageError(
            f"{results.path} has no run of {learner} with a policy for each of the {n_tasks} tasks, which the others "
            "are measured against; next: make one with --selector one-to-one"
        )
    return scores


def decide(estimate: CapacityEstimate, tolerance: float, policy_bytes: int | None, memory: int | None) -> PilotAnswer:
    curve = estimate.curve
    rows = []
    for count, score in sorted(curve.scores.items()):
        relative = score / curve.scores[curve.reference]
        rows.append(
            {
                "policies": count,
                "runs": estimate.runs[count],
                "score": score,
                "relative": relative,
                "within": relative >= 1 - tolerance,
                "confidence": estimate.confidence(count, tolerance),
                "memory": None if policy_bytes is None else count * policy_bytes,
            }
        )
    table = pd.DataFrame(rows)
    chosen = curve.policies(tolerance)
    fits = memory is None or policy_bytes is None or chosen * policy_bytes <= memory
    if not fits:
        check_memory(memory, policy_bytes, min(curve.scores))
        affordable = table.loc[table["memory"] <= memory]
        chosen = int(affordable.sort_values(["score", "policies"])["policies"].iloc[-1])
    return PilotAnswer(
        policies=chosen,
        within_tolerance=fits or bool(table.set_index("policies").loc[chosen, "within"]),
        tolerance=tolerance,
        confidence=estimate.confidence(chosen, tolerance),
        memory=None if policy_bytes is None else chosen * policy_bytes,
        table=table,
        estimate=estimate,
    )
