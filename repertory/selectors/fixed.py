"""Selectors that never change which policy plays a task: the paper's unadaptive conditions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError, shown
from repertory.number_ranges import parse_numbers
from repertory.selectors.protocol import Arrays, State
from repertory.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class FixedPartition(Settings):
    """Unadaptive: a partition of the tasks over the policies, random with sizes differing by at most one, or given."""

    groups: str | None = setting(
        None, "The tasks of each policy, such as '0-26 / 27-40,42 / 41' for three; none: a random partition."
    )

    def __call__(self, n_tasks: int, n_policies: int, rng: np.random.Generator) -> FixedSelector:
        if self.groups is not None:
            return FixedSelector(_policy_of_task(self.groups, n_tasks, n_policies))
        policies = np.arange(n_tasks) % n_policies
        return FixedSelector(rng.permutation(policies))


def _policy_of_task(text: str, n_tasks: int, n_policies: int) -> NDArray[np.int64]:
    groups = [parse_numbers(group, "a group in groups", "task") for group in text.split("/")]
    if len(groups) != n_policies:
        raise UsageError(f"groups is '{text}', for {len(groups)} policies; valid: {n_policies} groups, between slashes")
    named = Counter(task for group in groups for task in group)
    for fault, tasks in (
        ("tasks that do not exist", [task for task in named if task >= n_tasks]),
        ("no policy for tasks", [task for task in range(n_tasks) if task not in named]),
        ("several policies for tasks", [task for task in named if named[task] > 1]),
    ):
        if tasks:
            raise UsageError(f"groups is '{text}', with {fault} {shown(tasks)}; valid: each of 0 to {n_tasks - 1} once")
    policy_of_task = np.zeros(n_tasks, np.int64)
    for policy, group in enumerate(groups):
        policy_of_task[group] = policy
    return policy_of_task


@dataclass(frozen=True, kw_only=True)
class OneToOne(Settings):
    """Policy i for task i."""

    def __call__(self, n_tasks: int, n_policies: int, rng: np.random.Generator) -> FixedSelector:
        if n_policies != n_tasks:
            raise UsageError(
                f"one-to-one selection with {n_policies} policies and {n_tasks} tasks; valid: --policies {n_tasks}"
            )
        return FixedSelector(np.arange(n_tasks))


class FixedSelector(Arrays):
    """A policy per task, for good."""

    def __init__(self, policy_of_task: NDArray[np.int64]) -> None:
        self.policy_of_task = policy_of_task

    def select(self, task: int, rng: np.random.Generator) -> int:
        return int(self.policy_of_task[task])

    def update(self, task: int, policy: int, total_reward: float, steps: int) -> None:
        """Nothing to learn."""

    def arrays(self) -> State:
        return {"policy_of_task": self.policy_of_task}
