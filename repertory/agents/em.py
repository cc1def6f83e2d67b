"""EM task clustering: each task goes to the policy that did best on it when all were tried (Ackermann et al., 2021).

J. Ackermann, O. Richter and R. Wattenhofer, *Unsupervised Task Clustering for Multi-Task Reinforcement Learning*, ECML
PKDD 2021. There, every policy is now and then evaluated on every task, and trains as long as any other, on the tasks
that it is best on, or on all if on none. Here nature decides which task comes when: it is evaluated when it comes, and
whoever trains, trains on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.agents.library import OwnArrays, SavedInParts, policies_to_compare
from repertory.agents.protocol import AgentSetup, Episode, Frozen, Situation
from repertory.settings import Settings, setting

NOBODY = -1
"""In place of a task's policy, or of a task."""


@dataclass(frozen=True, kw_only=True)
class EMClustering(Settings):
    """EM task clustering: when a task comes, all policies play it without learning, and the best one goes on with it.

    A policy that is the best on no task so far has all of them: it plays, and learns from, one in as many episodes as
    there are policies. Of equals, the first is best.
    """

    evaluation_episodes: int = setting(3, "Episodes that each policy plays to be evaluated on a task.", at_least=1)
    every: int = setting(1, "Visits of a task (blocks of it in a row) from one evaluation to the next.", at_least=1)

    def __call__(self, setup: AgentSetup) -> EMAgent:
        return EMAgent(self, *policies_to_compare(setup, "EM task clustering"))


class Memory(NamedTuple):
    """What decides who plays next, besides the policies."""

    policy_of_task: NDArray[np.int64]
    """By the last evaluation that was finished; nobody before the first."""
    totals: NDArray[np.float64]
    """(task, policy): the sum of returns in the task's last evaluation."""
    played: NDArray[np.int64]
    """Episodes of the task's last evaluation. One that the end of a visit cuts short goes on in the next."""
    visits: NDArray[np.int64]
    """Of each task."""
    task: NDArray[np.int64]
    """The one that came last, as the only element."""


class EMAgent(SavedInParts):
    """Policies, and which of them each task belongs to."""

    def __init__(self, settings: EMClustering, policies: list[Any], n_tasks: int) -> None:
        self.policies = policies
        self._settings = settings
        self._all_episodes = len(policies) * settings.evaluation_episodes
        self._memory = Memory(
            policy_of_task=np.full(n_tasks, NOBODY),
            totals=np.zeros((n_tasks, len(policies))),
            played=np.zeros(n_tasks, np.int64),
            visits=np.zeros(n_tasks, np.int64),
            task=np.full(1, NOBODY),
        )

    @property
    def policy_of_task(self) -> NDArray[np.int64]:
        """The policy of each task; -1 for tasks that have none yet."""
        return self._memory.policy_of_task

    def choose(self, situation: Situation, rng: np.random.Generator) -> int | Frozen:
        task = situation.task
        assert task is not None
        if task != self._memory.task[0]:
            self._begin_visit(task)
        if self._is_evaluated(task):
            drawn = int(rng.integers(len(self.policies)))
            return int(self.policy_of_task[task]) if drawn in self.policy_of_task else drawn
        return Frozen(int(self._memory.played[task]) // self._settings.evaluation_episodes)

    def _begin_visit(self, task: int) -> None:
        memory = self._memory
        if memory.visits[task] % self._settings.every == 0 and self._is_evaluated(task):
            memory.totals[task] = memory.played[task] = 0
        memory.visits[task] += 1
        memory.task[0] = task

    def _is_evaluated(self, task: int) -> bool:
        return bool(self._memory.played[task] == self._all_episodes)

    def ended(self, situation: Situation, episode: Episode) -> None:
        task, memory = situation.task, self._memory
        assert task is not None
        if self._is_evaluated(task):
            return
        memory.totals[task, episode.policy] += episode.total_reward
        memory.played[task] += 1
        if self._is_evaluated(task):
            memory.policy_of_task[task] = memory.totals[task].argmax()

    def parts(self) -> dict[str, Any]:
        return {"em": OwnArrays(self._memory._asdict()), **super().parts()}
