"""What claims of the paper are about: quantities of conditions, from the runs at hand.

`Evidence` holds the runs that may be compared with each other; a quantity (`QUANTITIES`) is a function of it and of a
condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.analysis.controls import UNADAPTIVE, one_to_one_runs, random_scores_of
from repertory.core import metrics
from repertory.errors import UsageError
from repertory.paper.experiments import experiment
from repertory.runs.summary import run_spread
from repertory.sweeps.results import Results, Run


class Reference(NamedTuple):
    """A condition of an experiment."""

    experiment: str
    condition: str


class NotYet(Exception):
    """The runs at hand do not decide; those with the numbers wanted would."""

    def __init__(self, figures: str, wanted: Mapping[Reference, Iterable[int]]) -> None:
        super().__init__(figures)
        self.wanted = {reference: tuple(numbers) for reference, numbers in wanted.items()}


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
    known: dict[tuple[str, Reference], float] = field(default_factory=dict)
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

    def value(self, quantity: str, reference: Reference) -> float:
        """A quantity of a condition, over all its runs."""
        key = (quantity, reference)
        if key not in self.known:
            self.known[key] = QUANTITIES[quantity](self, reference)
        return self.known[key]


# ---------------------------------------------------------------------------------------------- quantities


def _curve(evidence: Evidence, reference: Reference) -> NDArray[np.float64]:
    """The mean score over a tenth of the life, for every such tenth; means over runs."""
    runs = [run.scores.to_numpy(float) for run in evidence.runs(reference)]
    shortest = min(map(len, runs))
    mean = np.mean([scores[:shortest] for scores in runs], axis=0)
    return np.lib.stride_tricks.sliding_window_view(mean, max(1, shortest // 10)).mean(axis=1)


def _drop(evidence: Evidence, reference: Reference) -> float:
    curve = _curve(evidence, reference)
    best = float(curve.max())
    return 0.0 if best == 0 else (best - float(curve[-1])) / abs(best)


def _rise(evidence: Evidence, reference: Reference) -> float:
    curve = _curve(evidence, reference)
    return float(curve[-1] - curve[0])


def _time_to_learn(evidence: Evidence, reference: Reference) -> float:
    curve = _curve(evidence, reference)
    best = float(curve.max())
    return float(np.argmax(curve >= best - 0.1 * abs(best))) / max(1, len(curve) - 1)


def _ratio(
    evidence: Evidence, reference: Reference, ratios_of: Callable[..., pd.DataFrame], column: str, least: int
) -> float:
    """Mean forgetting or transfer ratio, over all runs that have a one-to-one run beside them."""
    runs, results = evidence.runs(reference), evidence.folders[reference.experiment]
    twins = one_to_one_runs(results, str(runs[0].settings["learner"]["name"]))
    pairs = [(run, twins[run.number]) for run in runs if run.number in twins]
    if not pairs:
        twin = one_to_one_of(reference)
        numbers = [run.number for run in runs]
        raise NotYet(f"needs runs of {twin.condition} with the numbers of {reference.condition}'s", {twin: numbers})
    random = random_scores_of(runs[0])
    ratios = pd.concat([ratios_of(run.blocks, twin.blocks, random, run.score_kind) for run, twin in pairs])
    counted = ratios.loc[ratios[column] >= least, "ratio"]
    if counted.empty:
        raise UsageError(f"no block of {reference.condition} comes after {least} {column} ones; next: more --blocks")
    return float(counted.mean())


def _forgetting(evidence: Evidence, reference: Reference) -> float:
    return _ratio(evidence, reference, metrics.forgetting_ratios, "interfering", 30)  # the paper's last bin


def _transfer(evidence: Evidence, reference: Reference) -> float:
    return _ratio(evidence, reference, metrics.transfer_ratios, "prior", 1)


def _spread(evidence: Evidence, reference: Reference) -> float:
    """Of the first two runs alone, for it takes seconds to open the policies of each."""
    return float(np.mean([run_spread(run.path) for run in evidence.runs(reference)[:2]]))


SCORES = {"lifetime score": "lifetime", "final score": "final"}
"""Quantities that each run has one of."""
AGAINST_ONE_TO_ONE = ("forgetting ratio after 30 or more", "transfer ratio")
"""Quantities that need the run with a policy for each task as well."""
QUANTITIES: Mapping[str, Callable[[Evidence, Reference], float]] = {
    "lifetime score": lambda evidence, reference: float(evidence.scores(reference, "lifetime score").mean()),
    "final score": lambda evidence, reference: float(evidence.scores(reference, "final score").mean()),
    "score over the first tenth": lambda evidence, reference: float(_curve(evidence, reference)[0]),
    "drop from the best tenth to the last": _drop,
    "rise from the first tenth to the last": _rise,
    "share of the life until 90% of the best": _time_to_learn,
    "forgetting ratio after 30 or more": _forgetting,
    "transfer ratio": _transfer,
    "policy spread in two runs": _spread,
}
"""Of all runs of a condition. The tenths are of the lifetime; the paper's final score is of the last ten blocks."""


def one_to_one_of(reference: Reference) -> Reference:
    """The unadaptive condition of the same learner with the most policies."""
    conditions = experiment(reference.experiment).conditions
    learner = conditions[reference.condition].learner
    fixed = [c for c in conditions.values() if c.learner == learner and c.selector in UNADAPTIVE]
    return Reference(reference.experiment, max(fixed, key=lambda condition: condition.policies).name)
