"""Tasks of which it is known how many policies they need: a test bed for agents and selectors."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from repertory.domains.domain import Domain
from repertory.errors import UsageError, shown


class Ring(gymnasium.Env[np.int64, np.int64]):
    """Once round a ring of states, each of which must be left by the right one of its actions.

    The right action of state s is `s + group` modulo the number of actions: it pays 1 and leads to the next state.
    After as many steps as there are states, the episode is over. Any other action pays nothing and ends it at once.
    """

    def __init__(self, group: int, start: int, states: int, actions: int) -> None:
        self._group, self._start, self._states, self._actions = group, start, states, actions
        self._state = self._steps = 0
        self.observation_space = gymnasium.spaces.Discrete(states)
        self.action_space = gymnasium.spaces.Discrete(actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        super().reset(seed=seed)
        self._state, self._steps = self._start, 0
        return np.int64(self._state), {}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        if int(action) != (self._state + self._group) % self._actions:
            return np.int64(self._state), 0.0, True, False, {}
        self._state = (self._state + 1) % self._states
        self._steps += 1
        return np.int64(self._state), 1.0, self._steps == self._states, False, {}


def grouped_tasks(groups: int, tasks_per_group: int = 2, states: int = 5) -> Domain:
    """A domain whose tasks form groups: one policy is best for all tasks of a group, and none for tasks of two.

    Task t is of group `t // tasks_per_group`; `settings["groups"]` lists the group of every task. A policy for each
    group earns `states` on all tasks. The first action is right for one group and ends the episode in all others, so
    fewer policies earn a smaller part, on average over the tasks: at most n / groups of it, with n of them. A table
    learns its group in a hundred episodes.
    """
    for name, value, largest in (
        ("groups", groups, 256),
        ("states", states, 1000),
        ("tasks_per_group", tasks_per_group, states),
    ):
        if not isinstance(value, int) or not 1 <= value <= largest:
            raise UsageError(f"{name} is {shown(value)}; valid: a whole number from 1 to {largest}")
    places = [(group, start) for group in range(groups) for start in range(tasks_per_group)]
    return Domain(
        name="grouped-tasks",
        task_names=tuple(f"group {group}, from state {start}" for group, start in places),
        make_env=lambda task: Ring(*places[task], states=states, actions=max(2, groups)),
        settings={"groups": [group for group, _start in places], "states": states},
    )
