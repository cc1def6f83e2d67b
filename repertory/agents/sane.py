"""A bounded library that needs no tasks: a policy is copied when it no longer earns what it did, like SANE's nodes.

S. Powers, E. Xing and A. Gupta, *Self-activating neural ensembles for continual reinforcement learning*, CoLLAs 2022.
There, the node plays whose critic values the first observation highest; a node is created when a critic drifts below
what it was by more than its uncertainty; and the two most alike are merged when there are too many. Here a node is any
policy, and what it is worth is told by returns: where tasks look alike at the start, no critic can tell them apart.
When the active policy earns too little, the others play a few episodes each. The best that still earns what it did
becomes active; if none does, a copy of the active one goes on. The one that was active becomes again what it was when
it last earned what it should, its anchor, give or take some episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.agents.growing import GrowingAgent
from repertory.agents.library import OwnArrays
from repertory.agents.protocol import AgentSetup, Choice, Episode, Frozen, Situation, has_state
from repertory.errors import UsageError
from repertory.learners.compiled_policy import as_input, memory_of
from repertory.settings import Settings, setting

SEEN = 64
"""First observations by which policies are compared."""

SLOW = 0.2
"""How far what a policy earns moves towards the mean of its last episodes."""
BYTES_A_STEP = 4_000
"""An anchor is a copy of a policy with its memory, and to copy so many bytes takes as long as to learn from a step. It
is set anew when as many steps have been played, so that copying never takes most of the time."""
LEAST_SPREAD = 0.1
"""Of a policy's returns, as a share of what it earns: one that always earned the same may once earn less."""


@dataclass(frozen=True, kw_only=True)
class SANE(Settings):
    """A policy is copied when its returns drift, and the two most alike are merged beyond `policies` of them."""

    drift: float = setting(
        2.0, "A policy earns too little when it is so many standard deviations below what it did.", above=0
    )
    episodes: int = setting(10, "Episodes by which that is told.", at_least=2)

    def __call__(self, setup: AgentSetup) -> SANEAgent:
        return SANEAgent(self, setup)


class Memory(NamedTuple):
    """What decides who plays next, besides the policies; of each place, one more than may be kept."""

    levels: NDArray[np.float64]
    """What each policy earns: a slow average."""
    spreads: NDArray[np.float64]
    """The standard deviation of its returns, likewise."""
    played: NDArray[np.int64]
    """Episodes."""
    trials: NDArray[np.float64]
    """What the others have earned in place of the active one, if it is what they should; else minus infinity."""
    recent: NDArray[np.float64]
    """Returns of the last episodes of whoever plays."""
    seen: NDArray[np.float32]
    """First observations, the latest ones."""
    numbers: NDArray[np.int64]
    """The active policy, the one on trial or none, how many returns are recent, how many observations were seen, how
    many policies have ever been made, and how many steps the active one plays before its anchor is set anew."""


ACTIVE, TRIAL, RECENT, SEEN_COUNT, MADE, ANCHOR_IN = range(6)
NOBODY = -1


class SANEAgent(GrowingAgent):
    """See the module."""

    opening_steps = 1

    def __init__(self, settings: SANE, setup: AgentSetup) -> None:
        super().__init__(setup.new_policy)
        self.settings, self._most = settings, setup.policies
        self.policies = [setup.new_policy(0)]
        self._anchor: Any = setup.new_policy(0)
        self._looks_back = getattr(getattr(self.policies[0], "settings", None), "window", 1) > 1
        if not has_state(self.policies[0]) or not hasattr(self.policies[0], "action_probabilities"):
            raise UsageError(
                f"SANE copies its policies and compares what they do, and a {type(self.policies[0]).__name__} does not "
                "say; valid: a learner with state_dict, load_state_dict and action_probabilities"
            )
        has_vectors = setup.observation_space.shape is not None or hasattr(self.policies[0], "inputs")
        if not isinstance(setup.action_space, gymnasium.spaces.Discrete) or not has_vectors:
            raise UsageError(
                "SANE compares probabilities of actions on observations that it has kept as vectors; this domain has "
                f"{setup.action_space} and {setup.observation_space}; valid: Discrete actions, and a compiled learner "
                "where observations are a Dict or a Tuple"
            )
        features = getattr(self.policies[0], "inputs", int(np.prod(setup.observation_space.shape or (1,))))
        self._memory = Memory(
            levels=np.full(self._most + 1, -np.inf),
            spreads=np.zeros(self._most + 1),
            played=np.zeros(self._most + 1, np.int64),
            trials=np.full(self._most + 1, -np.inf),
            recent=np.zeros(settings.episodes),
            seen=np.zeros((SEEN, features), np.float32),
            numbers=np.array([0, NOBODY, 0, 0, 1, 0]),
        )

    @property
    def active(self) -> int:
        return int(self._memory.numbers[ACTIVE])

    @property
    def other_bytes(self) -> int:
        """Of the anchor: the active policy when it last earned what it should. The others are their own."""
        return memory_of(self._anchor)

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        trial = int(self._memory.numbers[TRIAL])
        return self.active if trial == NOBODY else Frozen(trial)

    def ended(self, situation: Situation, episode: Episode) -> None:
        memory, numbers = self._memory, self._memory.numbers
        assert episode.opening is not None
        memory.seen[numbers[SEEN_COUNT] % SEEN] = as_input(self.policies[0], episode.opening.observations[0])
        numbers[SEEN_COUNT] += 1
        memory.played[episode.policy] += 1
        numbers[ANCHOR_IN] -= episode.steps if episode.policy == self.active else 0
        memory.recent[numbers[RECENT]] = episode.total_reward
        numbers[RECENT] += 1
        if numbers[RECENT] == memory.recent.size:
            numbers[RECENT] = 0
            self._judge(episode.policy, float(memory.recent.mean()), float(memory.recent.std(ddof=1)))

    def _judge(self, policy: int, level: float, spread: float) -> None:
        memory, numbers = self._memory, self._memory.numbers
        spread_before = max(memory.spreads[policy], LEAST_SPREAD * abs(memory.levels[policy]))
        has_drifted = level < memory.levels[policy] - self.settings.drift * spread_before
        if policy == self.active:
            if not has_drifted:
                self._note_level(policy, level, spread)
                return
            memory.trials[:] = -np.inf
        elif not has_drifted:
            memory.trials[policy] = level
        later = 0 if policy == self.active else policy + 1
        others = [place for place in range(later, len(self.policies)) if place != self.active]
        numbers[TRIAL] = others[0] if others else NOBODY
        if not others:
            best = int(memory.trials.argmax())
            self._activate(best) if np.isfinite(memory.trials[best]) else self._copy_active()

    def _note_level(self, policy: int, level: float, spread: float) -> None:
        """Slowly: the best of many means would be luck, and everything after it a drift."""
        memory = self._memory
        if level >= memory.levels[policy] and memory.numbers[ANCHOR_IN] <= 0:
            self._set_anchor(policy)
        is_first = np.isneginf(memory.levels[policy])
        for values, value in ((memory.levels, level), (memory.spreads, spread)):
            values[policy] = value if is_first else values[policy] + SLOW * (value - values[policy])

    def _activate(self, policy: int) -> None:
        self._news.tell("activated", policy=policy, after=self.active)
        self._leave_to(policy)

    def _leave_to(self, policy: int) -> None:
        """The active one goes back to its anchor, and another is active."""
        self.policies[self.active].load_state_dict(self._anchor.state_dict())
        self._set_anchor(policy)
        self._memory.numbers[ACTIVE], self._memory.numbers[TRIAL] = policy, NOBODY

    def _set_anchor(self, policy: int) -> None:
        self._anchor.load_state_dict(self.policies[policy].state_dict())
        self._memory.numbers[ANCHOR_IN] = memory_of(self._anchor) // BYTES_A_STEP

    def _copy_active(self) -> None:
        memory, numbers = self._memory, self._memory.numbers
        copy = self._new_policy(int(numbers[MADE]))
        numbers[MADE] += 1
        copy.load_state_dict(self.policies[self.active].state_dict())
        place = len(self.policies)
        self.policies = [*self.policies, copy]
        memory.levels[place], memory.spreads[place], memory.played[place] = -np.inf, 0, 0
        self._news.tell("kept", policy=place, of=self.active, why="no policy earns what it did")
        self._leave_to(place)
        if len(self.policies) > self._most:
            self._merge()

    def _merge(self) -> None:
        """Of the two most alike, the active one stays, else the one that has played more."""
        memory, numbers = self._memory, self._memory.numbers
        seen = memory.seen[: min(int(numbers[SEEN_COUNT]), SEEN)]
        rows = seen[:, None] if self._looks_back else seen
        one, other = most_alike([policy.action_probabilities(rows) for policy in self.policies])
        stays = max((one, other), key=lambda place: (place == self.active, int(memory.played[place])))
        goes = one + other - stays
        for values in (memory.levels, memory.spreads, memory.played):
            values[goes:-1] = values[goes + 1 :]
        self.policies = [policy for place, policy in enumerate(self.policies) if place != goes]
        numbers[ACTIVE] -= self.active > goes
        self._news.tell("merged", policy=goes, into=stays - (stays > goes))

    def parts(self) -> dict[str, Any]:
        return {"sane": OwnArrays(self._memory._asdict()), "anchor": self._anchor, **super().parts()}


def most_alike(probabilities: Sequence[NDArray[np.float64]]) -> tuple[int, int]:
    """The two policies with the smallest mean total-variation distance between their (observation, action) tables."""
    pairs = [(one, other) for other in range(len(probabilities)) for one in range(other)]
    return min(pairs, key=lambda pair: float(np.abs(probabilities[pair[0]] - probabilities[pair[1]]).mean()))
