"""Selectors that never change which policy plays a task: the paper's unadaptive conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.selectors.protocol import ArraySelector, State
from repertory.settings import Settings


@dataclass(frozen=True, kw_only=True)
class FixedPartition(Settings):
    """Unadaptive: a random partition of the tasks over the policies, sizes differing by at most one."""

    def __call__(self, n_tasks: int, n_policies: int, rng: np.random.Generator) -> FixedSelector:
        policies = np.arange(n_tasks) % n_policies
        return FixedSelector(rng.permutation(policies))


@dataclass(frozen=True, kw_only=True)
class OneToOne(Settings):
    """Policy i for task i."""

    def __call__(self, n_tasks: int, n_policies: int, rng: np.random.Generator) -> FixedSelector:
        if n_policies != n_tasks:
            raise UsageError(
                f"one-to-one selection with {n_policies} policies and {n_tasks} tasks; valid: --policies {n_tasks}"
            )
        return FixedSelector(np.arange(n_tasks))


class FixedSelector(ArraySelector):
    """A policy per task, for good."""

    def __init__(self, policy_of_task: NDArray[np.int64]) -> None:
        self.policy_of_task = policy_of_task

    def select(self, task: int, rng: np.random.Generator) -> int:
        return int(self.policy_of_task[task])

    def update(self, task: int, policy: int, total_reward: float, steps: int) -> None:
        """Nothing to learn."""

    def arrays(self) -> State:
        return {"policy_of_task": self.policy_of_task}
