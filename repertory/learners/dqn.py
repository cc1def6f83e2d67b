"""Deep Q-Network (Mnih et al., 2015) as in the paper's Section 5.1 and Table "Parameter settings"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.kernels.compile import kernel
from repertory.kernels.network import (
    Activations,
    NetworkShape,
    backward,
    forward,
    glorot_uniform,
    new_activations,
)
from repertory.kernels.optimisers import adadelta, clip_elements
from repertory.kernels.random import Stream, below, new_stream, uniform
from repertory.kernels.replay import (
    CUT_OFF,
    TERMINATED,
    WENT_ON,
    Replay,
    draw_slot,
    held,
    new_replay,
    slot_after,
    store,
)
from repertory.learners.protocol import LearnerKernels
from repertory.learners.spaces import action_count, observation_size
from repertory.learners.state import copy_arrays, restore_arrays
from repertory.settings import Settings, setting

# ------------------------------------------------------------------------------------------------ settings


@dataclass(frozen=True, kw_only=True)
class DQN(Settings):
    """Settings of a DQN learner; calling them builds one. The defaults are the paper's.

    All counts are of the policy's own steps.
    """

    learning_rate: float = setting(0.1, "AdaDelta's step size.", above=0)
    buffer_size: int = setting(400_000, "Experiences kept for replay, per policy.", at_least=1)
    learning_starts: int = setting(50_000, "Steps before the first update.", at_least=0)
    batch_size: int = setting(10, "Experiences replayed in an update.", at_least=1)
    train_freq: int = setting(4, "Steps from one update to the next.", at_least=1)
    target_update_interval: int = setting(10_000, "Steps between copies to the target network.", at_least=1)
    gamma: float = setting(0.99, "Discount of future reward.", at_least=0, at_most=1)
    exploration_rate: float = setting(0.2, "Probability of a random action.", at_least=0, at_most=1)
    net_arch: tuple[int, int] = setting((80, 80), "Widths of the two hidden layers.", at_least=1)
    rho: float = setting(0.95, "AdaDelta's decay of its averages.", at_least=0, at_most=1)
    optimizer_eps: float = setting(1e-7, "AdaDelta's epsilon.", above=0)
    max_grad_value: float = setting(10.0, "Each element of the gradient is clipped to this size.", above=0)
    random_first_steps: int = setting(0, "Steps at the start of an episode on which to act randomly.", at_least=0)
    timeout_bootstraps: bool = setting(True, "Whether an episode cut off by a time limit counts as going on.")

    def validate(self) -> None:
        if self.buffer_size < self.batch_size:
            raise UsageError(
                f"DQN.buffer_size is {self.buffer_size}; valid: at least batch_size, which is {self.batch_size}"
            )
        if len(self.net_arch) != 2:
            raise UsageError(f"DQN.net_arch is {self.net_arch}; valid: the widths of two layers, such as (80, 80)")

    def __call__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int) -> DQNLearner:
        return DQNLearner(self, observation_space, action_space, seed)


# -------------------------------------------------------------------------------------------------- arrays


class Options(NamedTuple):
    """The settings as the kernels read them."""

    shape: NetworkShape
    learning_rate: np.float32
    rho: np.float32
    epsilon: np.float32
    max_grad_value: np.float32
    gamma: np.float32
    exploration_rate: float
    batch_size: int
    learning_starts: int
    train_freq: int
    target_update_interval: int
    random_first_steps: int
    timeout_bootstraps: bool


class Scratch(NamedTuple):
    """Room to work in; nothing here outlives an update."""

    gradient: NDArray[np.float32]
    acting: Activations
    online: Activations
    target: Activations
    slots: NDArray[np.int64]


class Arrays(NamedTuple):
    """All that a DQN policy is."""

    weights: NDArray[np.float32]
    target_weights: NDArray[np.float32]
    square_average: NDArray[np.float32]
    step_average: NDArray[np.float32]
    replay: Replay
    stream: Stream
    clock: NDArray[np.int64]
    scratch: Scratch
    options: Options


# Places in `clock`: steps of the policy's life, steps of the running episode, updates made.
_LIFE, _EPISODE, _UPDATES = 0, 1, 2


# ------------------------------------------------------------------------------------------------- kernels


@kernel
def begin_episode(dqn: Arrays) -> None:
    dqn.clock[_EPISODE] = 0


@kernel
def act(dqn: Arrays, observation: NDArray[np.float32]) -> int:
    """Epsilon-greedy on the action values."""
    options = dqn.options
    explores = uniform(dqn.stream) < options.exploration_rate
    if explores or dqn.clock[_EPISODE] < options.random_first_steps:
        return below(dqn.stream, options.shape.outputs)
    batch = dqn.scratch.acting
    batch.inputs[0] = observation
    forward(dqn.weights, options.shape, batch, 1)
    return int(np.argmax(batch.outputs[0]))


@kernel
def observe(
    dqn: Arrays,
    observation: NDArray[np.float32],
    action: int,
    reward: float,
    next_observation: NDArray[np.float32],
    terminated: bool,
    truncated: bool,
) -> None:
    """Store the step; every `train_freq` steps update; every `target_update_interval` copy the target."""
    options = dqn.options
    ending = WENT_ON
    if terminated or (truncated and not options.timeout_bootstraps):
        ending = TERMINATED
    elif truncated:
        ending = CUT_OFF
    store(dqn.replay, observation, action, reward, next_observation, ending)
    dqn.clock[_LIFE] += 1
    dqn.clock[_EPISODE] += 1
    life = dqn.clock[_LIFE]
    ready = life >= options.learning_starts and held(dqn.replay) >= options.batch_size
    if ready and life % options.train_freq == 0:
        for i in range(options.batch_size):
            dqn.scratch.slots[i] = draw_slot(dqn.replay, dqn.stream)
        update(dqn)
    if life % options.target_update_interval == 0:
        dqn.target_weights[:] = dqn.weights


@kernel
def update(dqn: Arrays) -> None:
    """One gradient step on the experiences in `scratch.slots`: Equation "DRQN loss function"."""
    options, scratch = dqn.options, dqn.scratch
    compute_gradient(dqn)
    clip_elements(scratch.gradient, options.max_grad_value)
    adadelta(
        dqn.weights,
        scratch.gradient,
        dqn.square_average,
        dqn.step_average,
        options.learning_rate,
        options.rho,
        options.epsilon,
    )
    dqn.clock[_UPDATES] += 1


@kernel
def compute_gradient(dqn: Arrays) -> None:
    """Gradient of the mean over batch and actions of (target - Q)^2, the error of actions not taken being 0."""
    options, replay, scratch = dqn.options, dqn.replay, dqn.scratch
    rows = options.batch_size
    online, target = scratch.online, scratch.target
    for i in range(rows):
        slot = scratch.slots[i]
        online.inputs[i] = replay.observations[slot]
        target.inputs[i] = replay.observations[slot_after(replay, slot)]
    forward(dqn.weights, options.shape, online, rows)
    forward(dqn.target_weights, options.shape, target, rows)
    scale = np.float32(2.0) / np.float32(rows * options.shape.outputs)
    online.gradient_outputs[:] = np.float32(0.0)
    for i in range(rows):
        slot = scratch.slots[i]
        action_t = replay.actions[slot]
        target_t = replay.rewards[slot]
        if replay.endings[slot] != TERMINATED:
            target_t += options.gamma * np.max(target.outputs[i])
        online.gradient_outputs[i, action_t] = scale * (online.outputs[i, action_t] - target_t)
    backward(dqn.weights, options.shape, online, rows, scratch.gradient)


# ---------------------------------------------------------------------------------------------------- face


class DQNLearner:
    """One DQN policy: network, target network, optimiser, replay memory, random stream."""

    kernels = LearnerKernels(begin_episode, act, observe)

    def __init__(
        self, settings: DQN, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int
    ) -> None:
        inputs = observation_size("DQN", observation_space)
        shape = NetworkShape(inputs, *settings.net_arch, action_count("DQN", action_space))
        weights = glorot_uniform(shape, np.random.default_rng(seed))
        self.settings = settings
        self.arrays = Arrays(
            weights=weights,
            target_weights=weights.copy(),
            square_average=np.zeros_like(weights),
            step_average=np.zeros_like(weights),
            replay=new_replay(settings.buffer_size, inputs),
            stream=new_stream(seed),
            clock=np.zeros(3, np.int64),
            scratch=Scratch(
                gradient=np.zeros_like(weights),
                acting=new_activations(shape, 1),
                online=new_activations(shape, settings.batch_size),
                target=new_activations(shape, settings.batch_size),
                slots=np.zeros(settings.batch_size, np.int64),
            ),
            options=Options(
                shape=shape,
                learning_rate=np.float32(settings.learning_rate),
                rho=np.float32(settings.rho),
                epsilon=np.float32(settings.optimizer_eps),
                max_grad_value=np.float32(settings.max_grad_value),
                gamma=np.float32(settings.gamma),
                exploration_rate=settings.exploration_rate,
                batch_size=settings.batch_size,
                learning_starts=settings.learning_starts,
                train_freq=settings.train_freq,
                target_update_interval=settings.target_update_interval,
                random_first_steps=settings.random_first_steps,
                timeout_bootstraps=settings.timeout_bootstraps,
            ),
        )

    def begin_episode(self) -> None:
        begin_episode(self.arrays)

    def act(self, observation: NDArray[np.float32]) -> int:
        return act(self.arrays, observation)

    def observe(
        self,
        observation: NDArray[np.float32],
        action: int,
        reward: float,
        next_observation: NDArray[np.float32],
        terminated: bool,
        truncated: bool,
    ) -> None:
        observe(self.arrays, observation, action, reward, next_observation, terminated, truncated)

    def q_values(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """The value of each action, for each row of observations."""
        shape = self.arrays.options.shape
        batch = new_activations(shape, len(observations))
        batch.inputs[:] = observations
        forward(self.arrays.weights, shape, batch, len(observations))
        return batch.outputs

    def action_probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        q = self.q_values(observations)
        epsilon = self.settings.exploration_rate
        probabilities = np.full(q.shape, epsilon / q.shape[1])
        probabilities[np.arange(len(q)), q.argmax(axis=1)] += 1.0 - epsilon
        return probabilities

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return copy_arrays(self.arrays, skip=("scratch",))

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        restore_arrays(self.arrays, state, skip=("scratch",))
