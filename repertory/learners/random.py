"""The uniform random policy: it learns nothing, and is the unit in which forgetting and transfer are measured."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import kernel
from repertory.kernels.layout import allocate, layout
from repertory.kernels.streams import below, new_stream
from repertory.learners.compiled_policy import CompiledPolicy
from repertory.learners.encoding import action_count, observation_size
from repertory.learners.protocol import Learner, LearnerKernels
from repertory.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Random(Settings):
    """A learner that acts uniformly at random, in any spaces; it has no settings."""

    def __call__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int) -> Learner:
        is_vector = isinstance(observation_space, gymnasium.spaces.Box) and len(observation_space.shape) == 1
        is_counted = isinstance(action_space, gymnasium.spaces.Discrete) and action_space.start == 0
        if is_vector and is_counted:
            return RandomLearner(observation_space, action_space, seed)
        return SampledActions(action_space, seed)


POLICY_LAYOUT = layout([("stream", np.uint64, (4,)), ("actions", np.int64, ())])


class Arrays(NamedTuple):
    """All that a random policy is."""

    policy: NDArray[Any]


@kernel
def begin_episode(random: Arrays) -> None:
    """Every step is like the first."""


@kernel
def act(random: Any, observation: NDArray[np.float32]) -> int:
    policy = random.policy[0]
    return below(policy.stream, policy.actions)


@kernel
def observe(random: Arrays, *step: Any) -> None:
    """Nothing is learned."""


class RandomLearner(CompiledPolicy):
    """Random actions 0, 1, ..., compiled."""

    kernels = LearnerKernels(begin_episode, act, observe)
    state_fields: ClassVar[tuple[str, ...]] = ("stream",)
    acting_fields = ()

    def __init__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int) -> None:
        actions = action_count("Random", action_space)
        policy = allocate(POLICY_LAYOUT)
        policy["stream"] = new_stream(seed)
        policy["actions"] = actions
        super().__init__(Arrays(policy), observation_size("Random", observation_space), actions, observation_space)

    def action_probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.full((len(observations), self.actions), 1 / self.actions)


class SampledActions:
    """Random actions of any space."""

    def __init__(self, action_space: gymnasium.Space, seed: int) -> None:
        self._space = copy.deepcopy(action_space)
        self._seed = seed
        self._count = 0

    def begin_episode(self) -> None: ...

    def act(self, observation: Any) -> Any:
        # Seeded anew for every action: spaces within spaces have generators of their own, and two numbers are all
        # that there is to save.
        self._space.seed(int(np.random.SeedSequence((self._seed, self._count)).generate_state(1)[0]))
        self._count += 1
        return self._space.sample()

    def observe(self, *step: Any) -> None: ...

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return {"seed": np.array(self._seed), "count": np.array(self._count)}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._seed, self._count = int(state["seed"]), int(state["count"])
