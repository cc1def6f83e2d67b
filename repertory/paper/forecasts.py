"""Recommendations to compare with the answer of full-length runs, as `forecasts.toml` has them."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from repertory import catalogue
from repertory.domains.domain import Domain
from repertory.domains.vary import vary
from repertory.learners.protocol import MakeLearner

RECOMMEND = "recommend"
"""What all of them together are called among experiments."""


@dataclass(frozen=True)
class Forecast:
    """What a recommendation is asked, and where the answer is."""

    name: str
    domain: str
    learner: str
    profile: str
    blocks: int | None = None
    block_steps: int | None = None
    answer: str | None = None
    """The sweep whose unadaptive runs tell."""
    groups: tuple[int, ...] | None = None
    """How many tasks, one after another, each true group has, where the tasks were made so: one policy for each."""
    vary: Mapping[str, Any] | None = None
    """What varies, where `domain` is an environment and not one of the catalogue's."""
    settings: Mapping[str, Any] | None = None
    """Of the learner, where they are not the profile's."""
    steps: int | None = None
    """To use at most, where as many as a planned life has would be more than a tenth of what all sizes take."""
    above_random: bool = False
    """Whether the answer's scores count from random play's, as where they may be below 0."""

    @property
    def tasks(self) -> Domain:
        """Made when asked for."""
        return catalogue.domain(self.domain, self.profile) if self.vary is None else vary(self.domain, **self.vary)

    @property
    def n_tasks(self) -> int:
        """Told without making them, which may need packages that a reader of results does not have."""
        if self.vary is None:
            return self.tasks.n_tasks
        return math.prod(len(values) for values in self.vary.values() if isinstance(values, list))

    @property
    def known(self) -> int | None:
        """The answer, where the tasks were made so."""
        return None if self.groups is None else len(self.groups)

    @property
    def true_groups(self) -> list[list[int]] | None:
        if self.groups is None:
            return None
        ends = list(itertools.accumulate(self.groups))
        return [list(range(end - size, end)) for size, end in zip(self.groups, ends, strict=True)]

    @property
    def make_learner(self) -> MakeLearner:
        learner: MakeLearner = catalogue.build("learner", self.learner, self.profile, self.settings or {}, self.domain)
        return learner

    @property
    def life(self) -> int:
        """Steps of a full-length run."""
        blocks, block_steps = (0, 0) if self.vary is not None else catalogue.lengths(self.domain)
        return (self.blocks or blocks) * (self.block_steps or block_steps)


@cache
def forecasts() -> tuple[Forecast, ...]:
    content = tomllib.loads(resources.files("repertory.paper").joinpath("forecasts.toml").read_text())
    return tuple(Forecast(name, **_frozen(row)) for name, row in content.items())


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"groups": tuple(row["groups"])} if "groups" in row else row
