"""The paper's experiments as data: conditions, length, number of runs, and the published values beside them.

Each table or figure is one TOML file in `paper/`. A score there is `[mean, standard deviation]` over runs, or `[mean]`
where the paper prints no more.
"""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from repertory.errors import UsageError, unknown

TASK_OF_THE_RUN = "of the run"


class Published(NamedTuple):
    """A score as the paper prints it."""

    mean: float
    deviation: float | None = None
    """Standard deviation over runs."""


@dataclass(frozen=True)
class Condition:
    """One line of a table: what each of its runs is lived with."""

    name: str
    learner: str
    policies: int
    selector: str
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Changes to the settings of `learner`, `selector` and `domain`."""
    lifetime: Published | None = None
    final: Published | None = None


class Comparison(NamedTuple):
    """A p-value of the paper."""

    conditions: tuple[str, str]
    score: str
    p: float


class Range(NamedTuple):
    """What the paper gives as a range, for the conditions that match one of some patterns."""

    metric: str
    conditions: tuple[str, ...]
    range: tuple[float, float]
    note: str = ""


class PublishedCapacity(NamedTuple):
    """Empirical task capacity at a tolerance, or the number of policies it amounts to; and its integral."""

    tolerance: float
    capacity: float | None = None
    integrated: float | None = None
    policies: int | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper."""

    name: str
    title: str
    domain: str
    runs: int
    blocks: int
    block_steps: int
    conditions: Mapping[str, Condition]
    task: str | None = None
    """`TASK_OF_THE_RUN` if run n is lived on task n alone."""
    final: str = "last 10 blocks"
    comparisons: tuple[Comparison, ...] = ()
    capacity: Mapping[str, PublishedCapacity] = field(default_factory=dict)
    """By learner."""
    ranges: tuple[Range, ...] = ()
    days_per_run: tuple[float, ...] = ()
    """On the wall, as the paper prints them: a number, or from the one to the other."""

    def select(self, patterns: Sequence[str]) -> list[Condition]:
        """The conditions whose names match one of the patterns (`AdaptiveDQN9P`, `Unadaptive*`); all if none."""
        if not patterns:
            return list(self.conditions.values())
        for pattern in patterns:
            if not fnmatch.filter(self.conditions, pattern):
                raise unknown(f"condition of {self.name}", pattern, self.conditions)
        matches = [name for name in self.conditions if any(fnmatch.fnmatchcase(name, p) for p in patterns)]
        return [self.conditions[name] for name in matches]


@cache
def experiment_names() -> tuple[str, ...]:
    files = resources.files("repertory.experiments").joinpath("paper").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


@cache
def experiment(name: str) -> Experiment:
    """An experiment of the paper by name."""
    if name not in experiment_names():
        raise unknown("experiment", name, experiment_names())
    file = resources.files("repertory.experiments").joinpath("paper", f"{name}.toml")
    return read_experiment(name, tomllib.loads(file.read_text()))


def read_experiment(name: str, content: Mapping[str, Any]) -> Experiment:
    """From the content of a file; whatever has no place in an experiment fails."""
    rest = dict(content)
    defaults = rest.pop("defaults", {})
    conditions = {key: _read_condition(key, {**defaults, **value}) for key, value in rest.pop("conditions").items()}
    comparisons = tuple(
        Comparison(tuple(entry.pop("conditions")), **entry) for entry in map(dict, rest.pop("comparisons", []))
    )
    for comparison in comparisons:
        for condition in comparison.conditions:
            if condition not in conditions:
                raise UsageError(f"experiment {name} compares {condition}, which it does not have")
    ranges = tuple(
        Range(entry.pop("metric"), tuple(entry.pop("conditions")), tuple(entry.pop("range")), **entry)
        for entry in map(dict, rest.pop("ranges", []))
    )
    days = tuple(rest.pop("days_per_run", ()))
    capacity = {learner: PublishedCapacity(**entry) for learner, entry in rest.pop("capacity", {}).items()}
    return Experiment(
        name=name,
        conditions=conditions,
        comparisons=comparisons,
        ranges=ranges,
        capacity=capacity,
        days_per_run=days,
        **rest,
    )


def _read_condition(name: str, entry: Mapping[str, Any]) -> Condition:
    scores = {key: Published(*entry[key]) for key in ("lifetime", "final") if key in entry}
    return Condition(**{**entry, "name": name, **scores})
