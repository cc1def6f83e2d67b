"""What a lifetime asks of a learner. Nothing to inherit: any object with these methods is one policy.

    learner.begin_episode()
    action = learner.act(observation)
    learner.observe(observation, action, reward, next_observation, terminated, truncated)

All learning happens inside `observe`, so a base-learner is the same inside a library of policies as alone. A learner
that has a method `begin_task(task)` is told before each episode which task it is; the paper's learners need not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import gymnasium
import numpy as np
from numpy.typing import NDArray

State = dict[str, NDArray[Any]]
"""Everything that decides a learner's future, as named arrays."""


class Learner(Protocol):
    """One policy."""

    def begin_episode(self) -> None:
        """Called before the first `act` of an episode."""

    def act(self, observation: Any) -> Any:
        """The action to take, exploration included."""

    def observe(
        self, observation: Any, action: Any, reward: float, next_observation: Any, terminated: bool, truncated: bool
    ) -> None:
        """What came of an action. Remember it, learn from it."""


class SavableLearner(Learner, Protocol):
    """A policy that can be looked into, saved, and go on later."""

    def action_probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        """For each row of observations, the probability of each action. Where they cannot be counted, a learner has
        `actions_at_rest` instead (`ActsAtRest`)."""

    def state_dict(self) -> State:
        """Copies of all that decides the learner's future, its random state included."""

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Become the learner that `state_dict` described."""


MakeLearner = Callable[[gymnasium.Space, gymnasium.Space, int], Learner]
"""(observation_space, action_space, seed) -> learner. Settings such as `DQN()` are such callables.

One that has an attribute `needs_tasks` which is true is given a fourth argument, `n_tasks`: the number of tasks, or
None where they are hidden."""


def new_learner(
    make: MakeLearner,
    observation_space: gymnasium.Space,
    action_space: gymnasium.Space,
    seed: int,
    n_tasks: int | None,
) -> Learner:
    """What `make` makes, told the number of tasks if it wants to know."""
    told = {"n_tasks": n_tasks} if getattr(make, "needs_tasks", False) else {}
    return make(observation_space, action_space, seed, **told)


def turn_to(learner: Any, task: int) -> None:
    """Have a learner that plays each task in its own way act for one of them, and learn nothing from it: one that has a
    method `turn_to(task)`."""
    turn = getattr(learner, "turn_to", None)
    if turn is not None:
        turn(task)


@runtime_checkable
class ActsAtRest(Protocol):
    """A policy that says itself what it would do, in any action space."""

    def actions_at_rest(
        self, observations: Any, memory: Any = None, rng: np.random.Generator | None = None
    ) -> tuple[Any, Any]:
        """For each row of observations, the action rated highest or, with `rng`, one drawn as it would explore.

        And what to give as `memory` with the next observations of the same episodes: None for a policy that remembers
        none of them. Rows of a Dict are a dictionary of rows. The policy stays as it is.
        """


def can_rest(policy: Any) -> bool:
    """Whether it can be asked what it would do without being played."""
    return hasattr(policy, "action_probabilities") or isinstance(policy, ActsAtRest)


def has_memory(policy: Any) -> bool:
    """Whether it learns from experiences that it keeps."""
    return hasattr(policy, "forget_experiences")


def forget_experiences(policy: Any) -> None:
    """Empty the memory of a policy that has one."""
    if has_memory(policy):
        policy.forget_experiences()


def steps_before_learning(policy: Any) -> int:
    """Of the life of a policy: none for one that does not say."""
    return int(getattr(policy, "learning_starts", 0))


class LearnerKernels(NamedTuple):
    """The compiled side of a learner: the protocol's three steps as functions of the learner's arrays."""

    begin_episode: Callable[[Any], None]
    act: Callable[[Any, NDArray[np.float32]], int]
    observe: Callable[[Any, NDArray[np.float32], int, float, NDArray[np.float32], bool, bool], None]
    act_at_rest: Callable[[Any, NDArray[np.float32]], int] | None = None
    """The action rated highest; writes to nothing but scratch. None: a policy at rest goes by its probabilities."""


@runtime_checkable
class CompiledLearner(Protocol):
    """A learner whose steps can be compiled into an episode."""

    kernels: LearnerKernels
    inputs: int
    """Features of an observation."""
    actions: int
    handle: Any
    """`pack` of the NamedTuple of arrays and numbers that is the first argument of every kernel."""
