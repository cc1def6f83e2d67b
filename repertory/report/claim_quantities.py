"""What claims of the paper are about: quantities of conditions, from the runs at hand.

`Evidence` holds the runs that may be compared with each other; a quantity (`QUANTITIES`) is a function of it and of a
condition, and comes with its interval over runs: by bootstrap (`repertory.analysis.resampling`), or, for the mean score
of few runs of the profile `released`, by the standard deviation that the paper prints of such runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.analysis.balanced import balanced_scores, drop_to_last, tenth_of_block, tenths_of_halves
from repertory.analysis.controls import UNADAPTIVE, one_to_one_runs, random_scores_of, run_key
from repertory.analysis.resampling import Estimate, estimate, from_spread
from repertory.core import metrics
from repertory.errors import UsageError
from repertory.paper.experiments import experiment
from repertory.runs.summary import run_spread
from repertory.sweeps.results import Results, Run

ENOUGH_RUNS = 6
"""From so many runs on their own spread tells more than one that the paper prints; what is asked for where more are."""


class Reference(NamedTuple):
    """A condition of an experiment."""

    experiment: str
    condition: str


class NotYet(Exception):
    """The runs at hand do not decide; those with the numbers wanted would."""

    def __init__(self, figures: str, wanted: Mapping[Reference, Iterable[int]]) -> None:
        super().__init__(figures)
        self.wanted = {reference: tuple(numbers) for reference, numbers in wanted.items()}


class Measured(NamedTuple):
    """What the runs of a condition come to, before it is a mean over them."""

    runs: Sequence[Run]
    """That entered."""
    rows: Any
    """A number of each run, or several."""
    combine: Callable[[Any], Any] | None = None
    """What makes one number of the means of several."""


class Quantified(NamedTuple):
    """A quantity of a condition, and how many runs entered it."""

    estimate: Estimate
    runs: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """All sweeps of one profile and one length, by experiment: what may be compared."""

    profile: str = "text"
    scale: float = 1.0
    blocks: int | None = None
    """Of all experiments; each has its own number if none."""
    folders: Mapping[str, Results] = field(default_factory=dict)
    taken: frozenset[Path] = frozenset()
    """Folders that hold a sweep, of this length or another."""
    known: dict[tuple[str, Reference], Quantified] = field(default_factory=dict)
    """Quantities computed so far."""

    @property
    def is_full_length(self) -> bool:
        """Whether lifetimes are as long as the paper's."""
        return self.scale == 1 and self.blocks is None

    def runs(self, reference: Reference) -> list[Run]:
        """The finished ones."""
        results = self.folders.get(reference.experiment)
        return [] if results is None else results.by_condition.get(reference.condition, [])

    def scores(self, reference: Reference, quantity: str) -> NDArray[np.float64]:
        """Lifetime or final score of each run."""
        return self.folders[reference.experiment].scores(reference.condition, SCORES[quantity])

    def quantified(self, quantity: str, reference: Reference) -> Quantified:
        """A quantity of a condition, over all its runs."""
        key = (quantity, reference)
        if key not in self.known:
            measured = QUANTITIES[quantity](self, reference)
            keys = [run_key(run) for run in measured.runs]
            found = estimate(measured.rows, keys, measured.combine)
            deviation = self._published_deviation(quantity, reference)
            if deviation is not None:
                found = from_spread(found.value, deviation, len(measured.runs), reference)
            self.known[key] = Quantified(found, len(measured.runs))
        return self.known[key]

    def estimate(self, quantity: str, reference: Reference) -> Estimate:
        return self.quantified(quantity, reference).estimate

    def _published_deviation(self, quantity: str, reference: Reference) -> float | None:
        """Of runs, where there are few and the paper prints the spread of those of the same code and length."""
        enough = len(self.runs(reference)) >= ENOUGH_RUNS
        if self.profile != "released" or not self.is_full_length or quantity not in SCORES or enough:
            return None
        published = getattr(experiment(reference.experiment).conditions[reference.condition], SCORES[quantity])
        if published is None or not published.deviation:
            return None
        return float(published.deviation)


# ---------------------------------------------------------------------------------------------- quantities

Quantity = Callable[[Evidence, Reference], Measured]


def _scores(quantity: str) -> Quantity:
    return lambda evidence, reference: Measured(evidence.runs(reference), evidence.scores(reference, quantity))


def _of_each(measure: Callable[[Run], Any], combine: Callable[[Any], Any] | None = None) -> Quantity:
    """What is measured of every run by itself."""

    def quantity(evidence: Evidence, reference: Reference) -> Measured:
        runs = evidence.runs(reference)
        return Measured(runs, [measure(run) for run in runs], combine)

    return quantity


def _balanced(run: Run) -> NDArray[np.float64]:
    return balanced_scores(run.scores.to_numpy(float), run.blocks["task"].to_numpy())


def _first_tenth(run: Run) -> float:
    return _ends(run)[0]


def _rise(run: Run) -> float:
    first, last = _ends(run)
    return last - first


def _ends(run: Run) -> tuple[float, float]:
    """The balanced score over the first tenth of the life and over the last."""
    scores = _balanced(run)
    tenths = tenth_of_block(len(scores))
    return float(scores[tenths == tenths[0]].mean()), float(scores[tenths == tenths[-1]].mean())


def _halves(run: Run) -> NDArray[np.float64]:
    return tenths_of_halves(run.scores.to_numpy(float), run.blocks["task"].to_numpy()).ravel()


def _time_to_learn(evidence: Evidence, reference: Reference) -> Measured:
    """By the mean over runs of the balanced score over a tenth of the life, for every such tenth."""
    runs = evidence.runs(reference)
    scores = [_balanced(run) for run in runs]
    shortest = min(map(len, scores))
    window = max(1, shortest // 10)
    curves = [np.lib.stride_tricks.sliding_window_view(one[:shortest], window).mean(axis=1) for one in scores]
    return Measured(runs, curves, _share_until_learned)


def _share_until_learned(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    best = curves.max(axis=1, keepdims=True)
    reached: NDArray[np.float64] = np.argmax(curves >= best - 0.1 * np.abs(best), axis=1) / max(1, curves.shape[1] - 1)
    return reached


def _ratio(ratios_of: Callable[..., pd.DataFrame], column: str, least: int, most: float = math.inf) -> Quantity:
    """Mean forgetting or transfer ratio, over all runs that have a one-to-one run beside them."""

    def quantity(evidence: Evidence, reference: Reference) -> Measured:
        runs, twin = evidence.runs(reference), one_to_one_of(reference)
        twins = one_to_one_runs(evidence.folders[twin.experiment], str(runs[0].settings["learner"]["name"]))
        paired = [run for run in runs if run.number in twins]
        if not paired:
            numbers = [run.number for run in runs]
            raise NotYet(f"needs runs of {twin.condition} with the numbers of {reference.condition}'s", {twin: numbers})
        random = random_scores_of(runs[0])
        entered, rows = [], []
        for run in paired:
            ratios = ratios_of(run.blocks, twins[run.number].blocks, random, run.score_kind)
            counted = ratios.loc[ratios[column].between(least, most), "ratio"]
            if not counted.empty:
                entered.append(run)
                rows.append((float(counted.sum()), float(len(counted))))
        if not rows:
            raise UsageError(f"no block of {reference.condition} is after {least} {column} ones; next: more --blocks")
        return Measured(entered, rows, lambda means: means[:, 0] / means[:, 1])

    return quantity


def _alternation(run: Run) -> float:
    """How much of a block is played by others than the policy that plays most of it; mean over blocks."""
    episodes = run.blocks.filter(regex=r"^policy_\d+$").to_numpy(float)
    return float((1 - episodes.max(axis=1) / episodes.sum(axis=1)).mean())


SCORES = {"lifetime score": "lifetime", "final score": "final"}
"""Quantities that each run has one of."""
FORGETTING = {
    f"forgetting ratio after {name if math.isfinite(last) else f'{first} or more'}": _ratio(
        metrics.forgetting_ratios, "interfering", first, last
    )
    for name, first, last in metrics.BINS
}
"""By the paper's bins of interfering blocks."""
AGAINST_ONE_TO_ONE = (*FORGETTING, "transfer ratio")
"""Quantities that need the run with a policy for each task as well."""
QUANTITIES: Mapping[str, Quantity] = {
    "lifetime score": _scores("lifetime score"),
    "final score": _scores("final score"),
    "score over the first tenth": _of_each(_first_tenth),
    "drop from the best tenth to the last": _of_each(_halves, drop_to_last),
    "rise from the first tenth to the last": _of_each(_rise),
    "share of the life until 90% of the best": _time_to_learn,
    **FORGETTING,
    "transfer ratio": _ratio(metrics.transfer_ratios, "prior", 1),
    "policy spread": _of_each(lambda run: run_spread(run.path)),
    "share of a block played by other than its main policy": _of_each(_alternation),
}
"""Of all runs of a condition. Tenths of a life are compared by scores balanced over tasks
(`repertory.analysis.balanced`); the paper's final score is of the last ten blocks."""


def one_to_one_of(reference: Reference) -> Reference:
    """The unadaptive condition of the same learner with the most policies.

    That of the domain's main experiment, which has the domain's name, where an experiment has a single number only.
    """
    own = experiment(reference.experiment)
    learner = own.conditions[reference.condition].learner
    for found in (own, experiment(own.domain)):
        fixed = [c for c in found.conditions.values() if c.learner == learner and c.selector in UNADAPTIVE]
        largest = max(fixed, key=lambda condition: condition.policies)
        if largest.policies > own.conditions[reference.condition].policies or found.name == own.domain:
            return Reference(found.name, largest.name)
    raise AssertionError("the domain's main experiment is the last resort")
