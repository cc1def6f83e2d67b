"""Deep Q-Network (Mnih et al., 2015) as in the paper's Section 5.1 and Table "Parameter settings"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.kernels.compile import kernel
from repertory.kernels.memory import Field, allocate, fill_settings, layout, shared_scratch
from repertory.kernels.network import (
    Matrix,
    NetworkShape,
    activations,
    argmax,
    backward,
    count_activations,
    count_weights,
    forward,
    glorot_uniform,
    network_shape,
    new_activations,
)
from repertory.kernels.optimisers import adadelta
from repertory.kernels.random import below, new_stream, uniform
from repertory.kernels.replay import begin, draw_batch, held, store
from repertory.kernels.replay_slots import (
    CURSOR_SIZE,
    CUT_OFF,
    TERMINATED,
    WENT_ON,
    Replay,
    action_at,
    ending_at,
    read_observation,
    slot_after,
)
from repertory.learners.protocol import LearnerKernels
from repertory.learners.replaying import ReplayingPolicy
from repertory.learners.spaces import action_count, observation_size, value_range
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
    memory: str = setting(
        "fifo",
        "Which experiences stay: the newest; finished episodes in passes; a sample of the whole life; the newest of "
        "each task, replaying the current task's only.",
        choices=("fifo", "finished-episodes", "distribution-matching", "task-matching"),
    )
    sampling: str = setting(
        "experiences",
        "What replay is uniform over: experiences, or episodes and then the steps of one.",
        choices=("experiences", "episodes"),
    )
    protected: int = setting(0, "Newest experiences that distribution matching always keeps.", at_least=0)

    def validate(self) -> None:
        name = type(self).__name__
        if self.buffer_size < self.batch_size:
            raise UsageError(
                f"{name}.buffer_size is {self.buffer_size}; valid: at least batch_size, which is {self.batch_size}"
            )
        needed = {"finished-episodes": "episodes", "distribution-matching": "experiences"}.get(self.memory)
        if needed not in (None, self.sampling):
            raise UsageError(f"{name}.sampling is '{self.sampling}'; valid with memory='{self.memory}': '{needed}'")
        if self.protected and self.memory != "distribution-matching":
            raise UsageError(f"{name}.protected is {self.protected}; valid: 0, unless memory='distribution-matching'")
        if self.protected >= self.buffer_size:
            raise UsageError(f"{name}.protected is {self.protected}; valid: below buffer_size, {self.buffer_size}")
        if len(self.net_arch) != 2:
            raise UsageError(f"{name}.net_arch is {self.net_arch}; valid: the widths of two layers, such as (80, 80)")

    def __call__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int) -> DQNLearner:
        return DQNLearner(self, observation_space, action_space, seed)


# -------------------------------------------------------------------------------------------------- memory


class Arrays(NamedTuple):
    """All that a DQN policy is."""

    policy: NDArray[Any]
    """One element of `policy_layout`."""
    replay: Replay
    scratch: NDArray[Any]
    """One element of `scratch_layout`, shared with the other policies."""


def policy_fields(weights: int) -> list[Field]:
    """What a policy holds whatever its network."""
    vectors = ("weights", "target_weights", "square_average", "step_average")
    counts = ("life", "episode", "updates")
    whole = ("batch_size", "learning_starts", "train_freq", "target_update_interval", "random_first_steps")
    real = ("learning_rate", "rho", "optimizer_eps", "max_grad_value", "gamma", "low", "high")
    return [
        *((name, np.float32, (weights,)) for name in vectors),
        ("stream", np.uint64, (4,)),
        ("cursor", np.int64, (CURSOR_SIZE,)),
        ("shape", np.int64, (4,)),
        *((name, np.int64, ()) for name in (*counts, *whole)),
        *((name, np.float32, ()) for name in real),
        *((name, np.float64, ()) for name in ("exploration_rate", "loss_total")),
        ("timeout_bootstraps", np.bool_, ()),
    ]


def scratch_fields(weights: int, batch_size: int) -> list[Field]:
    """What a kernel needs while it runs, whatever the network."""
    return [("gradient", np.float32, (weights,)), ("drawn", np.int64, (batch_size,))]


def policy_layout(shape: NetworkShape) -> np.dtype[Any]:
    return layout(policy_fields(count_weights(shape)))


def scratch_layout(shape: NetworkShape, batch_size: int) -> np.dtype[Any]:
    batch = (count_activations(shape, batch_size),)
    return layout(
        [
            *scratch_fields(count_weights(shape), batch_size),
            ("acting", np.float32, (count_activations(shape, 1),)),
            ("online", np.float32, batch),
            ("target", np.float32, batch),
        ]
    )


# ------------------------------------------------------------------------------------------------- kernels


@kernel
def begin_episode(dqn: Arrays) -> None:
    policy = dqn.policy[0]
    policy.episode = 0
    begin(dqn.replay, policy.cursor)


@kernel
def act(dqn: Arrays, observation: NDArray[np.float32]) -> int:
    """Epsilon-greedy on the action values."""
    policy = dqn.policy[0]
    shape = network_shape(policy.shape)
    explores = uniform(policy.stream) < policy.exploration_rate
    if explores or policy.episode < policy.random_first_steps:
        return below(policy.stream, shape.outputs)
    batch = activations(dqn.scratch[0].acting, shape, 1)
    for k in range(shape.inputs):
        batch.inputs[0, k] = observation[k]
    forward(policy.weights, shape, batch, 1)
    return argmax(batch.outputs, 0)


def make_observe(compute_gradient: Callable[[Any], None]) -> Callable[..., None]:
    """The step shared by DQN and its recurrent kin, around the gradient that tells them apart."""

    @kernel
    def update(dqn: Any) -> None:
        """One gradient step on the experiences in `drawn`."""
        policy = dqn.policy[0]
        compute_gradient(dqn)
        adadelta(
            policy.weights,
            dqn.scratch[0].gradient,
            policy.square_average,
            policy.step_average,
            policy.learning_rate,
            policy.rho,
            policy.optimizer_eps,
            policy.max_grad_value,
        )
        policy.updates += 1

    @kernel
    def observe(
        dqn: Any,
        observation: NDArray[np.float32],
        action: int,
        reward: float,
        next_observation: NDArray[np.float32],
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Store the step; every `train_freq` steps update; every `target_update_interval` copy the target."""
        policy = dqn.policy[0]
        ending = WENT_ON
        if terminated or (truncated and not policy.timeout_bootstraps):
            ending = TERMINATED
        elif truncated:
            ending = CUT_OFF
        store(dqn.replay, policy.cursor, policy.stream, observation, action, reward, next_observation, ending)
        policy.life += 1
        policy.episode += 1
        ready = policy.life >= policy.learning_starts and held(policy.cursor) >= policy.batch_size
        if ready and policy.life % policy.train_freq == 0:
            draw_batch(dqn.replay, policy.cursor, policy.stream, dqn.scratch[0].drawn)
            update(dqn)
        if policy.life % policy.target_update_interval == 0:
            policy.target_weights[:] = policy.weights

    return observe


@kernel
def compute_gradient(dqn: Arrays) -> None:
    """Gradient of the loss on the experiences in `drawn`: Equation "DRQN loss function"."""
    policy, scratch, replay, cursor = dqn.policy[0], dqn.scratch[0], dqn.replay, dqn.policy[0].cursor
    shape, rows = network_shape(policy.shape), policy.batch_size
    online, target = activations(scratch.online, shape, rows), activations(scratch.target, shape, rows)
    for i in range(rows):
        slot = scratch.drawn[i]
        after = slot_after(replay, cursor, slot)
        read_observation(replay, cursor, slot, policy.low, policy.high, online.inputs, i)
        read_observation(replay, cursor, after, policy.low, policy.high, target.inputs, i)
    forward(policy.weights, shape, online, rows)
    forward(policy.target_weights, shape, target, rows)
    temporal_differences(dqn, online.outputs, target.outputs, online.gradient_outputs)
    backward(policy.weights, shape, online, rows, scratch.gradient)


@kernel
def temporal_differences(dqn: Any, q_t: Matrix, target_q_t1: Matrix, gradient: Matrix) -> None:
    """Gradient, in q_t, of the mean over batch and actions of (target - Q)^2; actions not taken have no error.

    The loss itself is added to `loss_total`.
    """
    policy = dqn.policy[0]
    rows, actions = policy.batch_size, q_t.shape[1]
    scale = np.float32(2.0) / np.float32(rows * actions)
    for i in range(rows):
        slot = dqn.scratch[0].drawn[i]
        action_t, ending = action_at(dqn.replay, slot), ending_at(dqn.replay, slot)
        target_t = np.float32(dqn.replay.slots[slot].reward)
        if ending != TERMINATED:
            target_t += policy.gamma * target_q_t1[i, argmax(target_q_t1, i)]
        for a in range(actions):
            error_t = q_t[i, a] - target_t if a == action_t else np.float32(0.0)
            gradient[i, a] = scale * error_t
            policy.loss_total += 0.5 * scale * error_t * error_t


observe = make_observe(compute_gradient)


# ---------------------------------------------------------------------------------------------------- face


class DQNLearner(ReplayingPolicy):
    """One DQN policy: network, target network, optimiser, replay memory, random stream."""

    kernels = LearnerKernels(begin_episode, act, observe)
    state_fields: ClassVar[tuple[str, ...]] = (
        *("weights", "target_weights", "square_average", "step_average", "stream"),
        *("life", "episode", "updates", "loss_total"),
    )

    def __init__(
        self, settings: DQN, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int
    ) -> None:
        inputs, actions = observation_size("DQN", observation_space), action_count("DQN", action_space)
        self.shape = NetworkShape(inputs, *settings.net_arch, actions)
        weights = glorot_uniform(self.shape, np.random.default_rng(seed))
        scratch = scratch_layout(self.shape, settings.batch_size)
        self._build(settings, policy_layout(self.shape), scratch, weights, observation_space, actions, seed)

    def _build(
        self,
        settings: DQN,
        policy_layout: np.dtype[Any],
        scratch_layout: np.dtype[Any],
        weights: NDArray[np.float32],
        observation_space: gymnasium.Space,
        actions: int,
        seed: int,
        lead: int = 0,
    ) -> None:
        """What does not depend on the network; `lead` is the first steps of an episode that are not replayed."""
        self.settings = settings
        self._plan_memory(settings, observation_space, actions, lead)
        memory = self._new_memory()
        policy = allocate(policy_layout)
        fill_settings(policy, settings.as_dict())
        policy["shape"] = self.shape
        policy["low"], policy["high"] = value_range(observation_space)
        policy["weights"] = policy["target_weights"] = weights
        policy["stream"] = new_stream(seed)
        policy["cursor"] = memory.cursor
        arrays = Arrays(policy, memory.replay, shared_scratch(scratch_layout))
        super().__init__(arrays, self.shape.inputs, actions, observation_space)

    def q_values(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """The value of each action, for each row of observations."""
        batch = new_activations(self.shape, len(observations))
        batch.inputs[:] = self.checked_rows(observations)
        forward(self.policy["weights"], self.shape, batch, len(observations))
        return batch.outputs

    def action_probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        q = self.q_values(observations)
        epsilon = self.settings.exploration_rate
        probabilities = np.full(q.shape, epsilon / q.shape[1])
        probabilities[np.arange(len(q)), q.argmax(axis=1)] += 1.0 - epsilon
        return probabilities
