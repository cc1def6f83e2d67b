"""Bayesian policy reuse: which of the known tasks this is, and so which policy plays, follows from returns alone.

B. Rosman, M. Hawasly and S. Ramamoorthy, *Bayesian policy reuse*, Machine Learning 104, 2016. Policies are trained on
some tasks and tried on all of these: the performance models. Then tasks come that nobody names. After every episode,
the belief in each known task is multiplied by how likely the return is under its model, and the next policy is the one
that most probably does better than the best on average.

BPR+ (P. Hernandez-Leal and others, *Identifying and tracking switching, non-stationary opponents*, 2016) is not told
either when the task changes: no belief falls so low that it could not come back. If no model explains the returns of
some episodes, a new policy is learned, and its task becomes a known one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from repertory.agents.growing import GrowingAgent
from repertory.agents.library import OwnArrays, policies_to_compare
from repertory.agents.protocol import AgentSetup, Choice, Episode, Frozen, Situation
from repertory.errors import UsageError
from repertory.settings import Settings, setting

NO_TASK = -1
SMALLEST_SPREAD = 0.05
"""Of a performance model, as a share of the range of all: returns that are always the same prove nothing for sure."""
UNEXPLAINED = 3.0
"""A return so many standard deviations from a model's mean is not explained by it."""


@dataclass(frozen=True, kw_only=True)
class BPR(Settings):
    """Bayesian policy reuse over policies that were each trained on a task; with `learns_new`, BPR+."""

    plans_by_blocks: ClassVar[bool] = True
    """What it does depends on how long the life is: one that is over cannot go on."""

    training_share: float = setting(
        0.5,
        "Share of the blocks in which policies are trained, a task for each, before tasks come unnamed.",
        above=0,
        below=1,
    )
    model_episodes: int = setting(10, "Episodes by which a policy's returns on a known task are measured.", at_least=2)
    learns_new: bool = setting(False, "Whether it is BPR+, which learns new policies and is not told of new tasks.")
    known: int = setting(2, "With learns_new, the tasks that are known from the start.", at_least=1)
    belief_floor: float = setting(0.01, "With learns_new, no belief falls below this.", above=0, below=0.5)
    unexplained_episodes: int = setting(
        5, "With learns_new, a new policy is learned after so many episodes that no model explains.", at_least=1
    )

    def __call__(self, setup: AgentSetup) -> BPRAgent:
        return BPRAgent(self, setup)


class Memory(NamedTuple):
    """What decides who plays next, besides the policies. Known task i is the one that policy i was trained on."""

    sources: NDArray[np.int64]
    """Which task that is."""
    means: NDArray[np.float64]
    """(known task, policy): of returns."""
    spreads: NDArray[np.float64]
    """Their standard deviations."""
    belief: NDArray[np.float64]
    """In each known task."""
    consistent: NDArray[np.int64]
    """Episodes since the last return that was strange under the model of each known task."""
    numbers: NDArray[np.int64]
    """Blocks that have begun, known tasks with a model, the last task, episodes since one of the known tasks explained
    the last ones, and whether a new policy is being learned."""


BLOCKS, MODELS, LAST_TASK, STRANGE, IS_LEARNING = range(5)


class BPRAgent(GrowingAgent):
    """Policies, what they earn on the tasks of each other, and which of these tasks it probably is."""

    def __init__(self, settings: BPR, setup: AgentSetup) -> None:
        super().__init__(setup.new_policy)
        policies, _n_tasks = policies_to_compare(setup, "BPR")
        self.settings, self._tasks, self._returns = settings, list(setup.tasks), setup.returns
        self._most, self._known = setup.policies, settings.known if settings.learns_new else setup.policies
        self._training_blocks = int(settings.training_share * setup.blocks + 1e-9)
        most = min(self._training_blocks, len(self._tasks), self._most)
        if self._known > most:
            raise UsageError(
                f"BPR with {self._known} known tasks, {self._training_blocks} blocks to train in (training_share), "
                f"{len(self._tasks)} tasks and {self._most} policies; valid: at most {most} known tasks"
            )
        self.policies = policies[: self._known]
        sources = setup.rng.permutation(self._tasks)[: self._known]
        self._memory = Memory(
            sources=np.concatenate([sources, np.full(self._most - self._known, NO_TASK)]).astype(np.int64),
            means=np.zeros((self._most, self._most)),
            spreads=np.ones((self._most, self._most)),
            belief=np.zeros(self._most),
            consistent=np.zeros(self._most, np.int64),
            numbers=np.array([0, 0, NO_TASK, 0, 0]),
        )

    @property
    def belief(self) -> NDArray[np.float64]:
        """In each of the known tasks."""
        return self._memory.belief[: self._memory.numbers[MODELS]]

    # ---- training

    def next_task(self, rng: np.random.Generator) -> int | None:
        numbers = self._memory.numbers
        block = int(numbers[BLOCKS])
        numbers[BLOCKS] += 1
        if block < self._training_blocks:
            return int(self._memory.sources[block * self._known // self._training_blocks])
        if numbers[MODELS] == 0:
            for policy in range(self._known):
                self._measure(policy)
        return None

    def _measure(self, known: int) -> None:
        """The models of one more known task, and of its policy on the others."""
        assert self._returns is not None
        memory = self._memory
        pairs = {(known, other) for other in range(known + 1)} | {(other, known) for other in range(known)}
        for task, policy in sorted(pairs):
            source = int(memory.sources[task])
            returns = self._returns(self.policies[policy], source, self.settings.model_episodes)
            memory.means[task, policy], memory.spreads[task, policy] = np.mean(returns), np.std(returns, ddof=1)
        memory.numbers[MODELS] = known + 1
        memory.belief[: known + 1] = 1 / (known + 1)

    def _models(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and standard deviations, (known task, policy)."""
        count = int(self._memory.numbers[MODELS])
        means = self._memory.means[:count, :count]
        least = SMALLEST_SPREAD * float(np.ptp(means)) or 1e-6
        return means, np.maximum(self._memory.spreads[:count, :count], least)

    # ---- an episode

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        assert situation.task is not None
        memory, numbers = self._memory, self._memory.numbers
        block = int(numbers[BLOCKS]) - 1
        if block < self._training_blocks:
            return block * self._known // self._training_blocks
        if situation.task != numbers[LAST_TASK]:
            if numbers[IS_LEARNING]:
                self._finish_learning()
            elif not self.settings.learns_new:
                memory.belief[: numbers[MODELS]] = 1 / numbers[MODELS]
            numbers[LAST_TASK] = situation.task
        return len(self.policies) - 1 if numbers[IS_LEARNING] else Frozen(best_policy(self.belief, *self._models()))

    def ended(self, situation: Situation, episode: Episode) -> None:
        numbers = self._memory.numbers
        if numbers[BLOCKS] <= self._training_blocks or numbers[IS_LEARNING]:
            return
        means, spreads = (model[:, episode.policy] for model in self._models())
        floor = self.settings.belief_floor if self.settings.learns_new else 0.0
        self.belief[:] = updated(self.belief, episode.total_reward, means, spreads, floor)
        if self.settings.learns_new and self._is_unknown(np.abs(episode.total_reward - means) / spreads):
            self._learn_new(situation)

    def _is_unknown(self, distances: NDArray[np.float64]) -> bool:
        """Whether no known task explains the last episodes, all of them together, and has not for as many more: right
        after a change to a known one, that one has had no time to. `distances` are those of the return from the mean
        of each model, in standard deviations."""
        numbers, many = self._memory.numbers, self.settings.unexplained_episodes
        consistent = self._memory.consistent[: distances.size]
        consistent[:] = np.where(distances > UNEXPLAINED, 0, consistent + 1)
        numbers[STRANGE] = numbers[STRANGE] + 1 if (consistent < many).all() else 0
        return bool(numbers[STRANGE] >= many)

    def _learn_new(self, situation: Situation) -> None:
        numbers = self._memory.numbers
        if len(self.policies) < self._most:
            assert situation.task is not None
            self.policies = [*self.policies, self._new_policy(len(self.policies))]
            self._memory.sources[len(self.policies) - 1] = situation.task
            numbers[IS_LEARNING], numbers[STRANGE] = True, 0
            told = {"policy": len(self.policies) - 1, "task": situation.task}
            self._news.tell("kept", **told, why="no model explains the returns")

    def _finish_learning(self) -> None:
        """The task that was learned is over, and becomes a known one."""
        self._memory.numbers[IS_LEARNING] = False
        self._measure(len(self.policies) - 1)

    # ---- saving

    def parts(self) -> dict[str, Any]:
        return {"bpr": OwnArrays(self._memory._asdict()), **super().parts()}


def best_policy(belief: NDArray[np.float64], means: NDArray[np.float64], spreads: NDArray[np.float64]) -> int:
    """The one most likely to earn more than the best does on average (the paper's expected improvement)."""
    best_on_average = (belief @ means).max()
    return int((belief @ ndtr((means - best_on_average) / spreads)).argmax())


def updated(
    belief: NDArray[np.float64],
    total_reward: float,
    means: NDArray[np.float64],
    spreads: NDArray[np.float64],
    floor: float = 0.0,
) -> NDArray[np.float64]:
    """Bayes' rule with Gaussian models of one policy's returns on each known task; then no belief below the floor."""
    with np.errstate(divide="ignore"):
        logs = np.log(belief) - 0.5 * ((total_reward - means) / spreads) ** 2 - np.log(spreads)
    posterior = np.exp(logs - logs.max())
    posterior = np.maximum(posterior / posterior.sum(), floor)
    floored: NDArray[np.float64] = posterior / posterior.sum()
    return floored
