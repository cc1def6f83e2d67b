"""PRQ-learning and PLPR: each task gets a new policy, which past ones help to learn, and few of which are kept.

F. Fernandez and M. Veloso, *Probabilistic policy reuse in a reinforcement learning agent*, AAMAS 2006. While a task is
there, every episode is played either by the new policy alone or with one of the library (`Reusing`), whichever has
earned more so far (PRQ-learning). Then the new policy is kept if none of the library was nearly as good (PLPR, policy
library through policy reuse).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.agents.growing import GrowingAgent
from repertory.agents.library import OwnArrays, number_of_tasks
from repertory.agents.protocol import AgentSetup, Choice, Episode, Frozen, Reusing, Situation
from repertory.errors import UsageError
from repertory.settings import Settings, setting

NO_TASK = -1
NEGLIGIBLE = 1e-3
"""Rewards that count less than this in a gain are left out."""


@dataclass(frozen=True, kw_only=True)
class PLPR(Settings):
    """A library that keeps a policy of a new task if no past one was good enough; `policies` is the most it may keep.

    A task is new whenever another came before it. Where the new policy alone plays, it explores as the learner is set
    to; as published, it does not (`exploration_rate` 0).
    """

    delta: float = setting(
        0.25, "A new policy is kept if all past ones gain less than this share of what it gains.", at_least=0, at_most=1
    )
    episodes: int = setting(
        2000, "Of a task in which its policy is learned; in later ones, that policy plays as it is.", at_least=1
    )
    psi: float = setting(1.0, "Probability of a past policy's action at an episode's start.", at_least=0, at_most=1)
    upsilon: float = setting(0.95, "What is left of that probability after each step.", at_least=0, at_most=1)
    tau: float = setting(
        0.0, "In the first episode of a task, a policy of gain W is chosen with a weight of exp(tau W).", at_least=0
    )
    tau_increase: float = setting(0.05, "What tau gains from each episode to the next.", at_least=0)
    gamma: float = setting(0.95, "An episode's gain is its return discounted by this.", above=0, at_most=1)

    def __call__(self, setup: AgentSetup) -> PLPRAgent:
        return PLPRAgent(self, setup)


class Memory(NamedTuple):
    """What decides who plays next, besides the policies."""

    gains: NDArray[np.float64]
    """The mean gain with each policy on the current task, the new one behind those of the library."""
    plays: NDArray[np.int64]
    """Its episodes with each."""
    kept: NDArray[np.int64]
    """Policies in the library, as the only element."""
    tasks: NDArray[np.int64]
    """That have come so far."""
    task: NDArray[np.int64]
    """The current one."""
    is_learned: NDArray[np.bool_]
    """Whether it has been decided about its policy."""


class PLPRAgent(GrowingAgent):
    """The policies of the library, and behind them that of the current task, unless it has been added to them."""

    def __init__(self, settings: PLPR, setup: AgentSetup) -> None:
        number_of_tasks(setup, "PLPR")
        super().__init__(setup.new_policy)
        self.settings = settings
        self._most = setup.policies
        self.policies = [setup.new_policy(0)]
        learner = self.policies[0]
        if not getattr(learner, "learns_off_policy", False) or not hasattr(learner, "action_probabilities"):
            raise UsageError(
                f"PLPR has past policies act while a new one learns, and a {type(learner).__name__} learns from its "
                "own actions only; valid: a learner with learns_off_policy, such as q-table or dqn"
            )
        # Where gains are discounted, what comes late does not count.
        self.opening_steps = 0 if settings.gamma == 1 else math.ceil(math.log(NEGLIGIBLE) / math.log(settings.gamma))
        self._weights = settings.gamma ** np.arange(self.opening_steps)
        self._arm = 0
        self._memory = Memory(
            gains=np.zeros(setup.policies + 1),
            plays=np.zeros(setup.policies + 1, np.int64),
            kept=np.zeros(1, np.int64),
            tasks=np.zeros(1, np.int64),
            task=np.full(1, NO_TASK),
            is_learned=np.zeros(1, np.bool_),
        )

    @property
    def kept(self) -> int:
        """How many policies are in the library; they are the first ones."""
        return int(self._memory.kept[0])

    # ---- an episode

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        assert situation.task is not None
        memory = self._memory
        if situation.task != memory.task[0]:
            if memory.task[0] != NO_TASK and not memory.is_learned[0]:
                self._decide()
            self._begin(situation.task)
        new = len(self.policies) - 1
        if memory.is_learned[0]:
            return Frozen(new)
        self._arm = self._drawn(rng, new)
        return new if self._arm == new else Reusing(new, self._arm, self.settings.psi, self.settings.upsilon)

    def _begin(self, task: int) -> None:
        memory = self._memory
        policy = self._new_policy(int(memory.tasks[0]))
        self.policies = [*self.policies[: self.kept], policy]
        memory.tasks[0] += 1
        memory.task[0], memory.is_learned[0] = task, False
        memory.gains[:], memory.plays[:] = 0, 0

    def _drawn(self, rng: np.random.Generator, new: int) -> int:
        tau = self.settings.tau + self.settings.tau_increase * self._memory.plays.sum()
        gains = self._memory.gains[: new + 1]
        weights = np.exp(tau * (gains - gains.max()))
        return min(int(np.searchsorted(weights.cumsum(), rng.random() * weights.sum(), side="right")), new)

    def ended(self, situation: Situation, episode: Episode) -> None:
        memory, arm = self._memory, self._arm
        if memory.is_learned[0]:
            return
        memory.plays[arm] += 1
        memory.gains[arm] += (self._gain(episode) - memory.gains[arm]) / memory.plays[arm]
        if memory.plays.sum() == self.settings.episodes:
            self._decide()

    def _gain(self, episode: Episode) -> float:
        if episode.opening is None:
            return episode.total_reward
        rewards = episode.opening.rewards
        return float(self._weights[: rewards.size] @ rewards)

    # ---- the library

    def _decide(self) -> None:
        """Keep the new policy or not."""
        memory, new = self._memory, len(self.policies) - 1
        memory.is_learned[0] = True
        past, own = memory.gains[:new].max(initial=-np.inf), memory.gains[new]
        is_needed = new == 0 or past < self.settings.delta * own
        why = f"it gains {own:.3g}" + (f", the best past one {past:.3g}" if new else "")
        if is_needed and self.kept < self._most:
            memory.kept[0] += 1
            self._tell("kept", new, why)
        else:
            self._tell("dropped", new, f"{why}, but the library is full" if is_needed else why)

    def _tell(self, event: str, policy: int, why: str) -> None:
        self._news.tell(event, policy=policy, task=int(self._memory.task[0]), why=why)

    # ---- saving

    def parts(self) -> dict[str, Any]:
        return {"plpr": OwnArrays(self._memory._asdict()), **super().parts()}
