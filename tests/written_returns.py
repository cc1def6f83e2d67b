"""A library that splits in a world where what each policy earns is written in the test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import gymnasium
import numpy as np

from repertory.agents.protocol import AgentSetup, Episode, Situation
from repertory.agents.splitting import Splitting, SplittingLibrary

TASKS = 14
VISIT = 18
"""Episodes: in a first visit, 2 for who knows nothing, 2 to look and 10 to practise leave 4, after which a contest is
not over yet."""

Earns = Callable[[int, int, int], float]
"""What (the policy at a place, on a task, in a visit of that task) earns."""


class Blank:
    """A policy that is a state and nothing else."""

    forgot = 0
    loaded = 0
    learning_starts = 0

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None:
        self.loaded += 1

    def forget_experiences(self) -> None:
        self.forgot += 1


def library(policies: int = 2, **settings: Any) -> SplittingLibrary:
    space = gymnasium.spaces.Discrete(2)
    setup = AgentSetup(
        space, space, TASKS, policies, lambda _place: Blank(), None, np.random.default_rng(0), tasks=range(TASKS)
    )  # type: ignore[arg-type]
    return Splitting(**settings)(setup)


def told(agent: SplittingLibrary, earns: Earns, tasks: Iterable[int]) -> list[tuple[int, dict[str, Any]]]:
    """What the library tells in a life of visits to these tasks, each with the number of the visit."""
    rng = np.random.default_rng(1)
    events = []
    visits_of: dict[int, int] = {}
    for visit, task in enumerate(tasks):
        visits_of[task] = visits_of.get(task, 0) + 1
        for _ in range(VISIT):
            place = agent.choose(Situation(task), rng)
            assert isinstance(place, int)
            earned = earns(place, task, visits_of[task]) if place in agent.alive else 0.0
            agent.ended(Situation(task), Episode(place, earned, 100))
        events += [(visit, event) for event in agent.news()]
    return events


def rounds(n: int) -> list[int]:
    """All tasks, the last one first, n times."""
    return [task for _ in range(n) for task in range(TASKS - 1, -1, -1)]


def kinds(events: list[tuple[int, dict[str, Any]]]) -> list[str]:
    return [event["event"] for _visit, event in events if event["event"] != "moves"]
