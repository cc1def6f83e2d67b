"""Deep Q-Network (Mnih et al., 2015) as in the paper's Section 5.1 and Table "Parameter settings"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.kernels import network
from repertory.kernels.compile import inlined, kernel
from repertory.kernels.layout import layout, shared_scratch
from repertory.kernels.network import NetworkShape
from repertory.kernels.q_loss import note_best
from repertory.kernels.replay import begin, cursor_between_steps, draw_batch, held
from repertory.kernels.replay_slots import read_observation, slot_after
from repertory.kernels.reward_range import UNSEEN, largest_return
from repertory.kernels.streams import below, new_stream, uniform
from repertory.kernels.views import Matrix
from repertory.learners.compiled_policy import Network
from repertory.learners.encoding import action_count, observation_size, value_range
from repertory.learners.health import OF_Q_LEARNING, SAMPLE_SIZE, Health, Minibatch, measure
from repertory.learners.plain_weights import PlainWeights, feed_forward
from repertory.learners.protocol import LearnerKernels
from repertory.learners.q_learning import Arrays, make_observe, policy_fields, scratch_fields, temporal_differences
from repertory.learners.replay_room import check_room
from repertory.learners.replaying import ReplayingPolicy, memory_bytes, plan_memory
from repertory.learners.single.settings import SinglePolicy
from repertory.settings import setting

# ------------------------------------------------------------------------------------------------ settings


@dataclass(frozen=True, kw_only=True)
class DQN(SinglePolicy):
    """Settings of a DQN learner; calling them builds one. The defaults are the paper's.

    All counts are of the policy's own steps.
    """

    learning_rate: float = setting(
        0.1, "The optimizer's step size; for Adam, 0.0001 to 0.001 are the usual ones.", above=0
    )
    buffer_size: int = setting(400_000, "Experiences kept for replay, per policy.", at_least=1)
    learning_starts: int = setting(50_000, "Steps before the first update.", at_least=0)
    batch_size: int = setting(10, "Experiences replayed in an update.", at_least=1)
    train_freq: int = setting(4, "Steps from one update to the next.", at_least=1)
    target_update_interval: int = setting(10_000, "Steps between copies to the target network.", at_least=1)
    tau: float = setting(
        1.0,
        "How far a copy moves the target network: 1 replaces it; soft updates take 0.005, say, with an interval as "
        "short as train_freq.",
        above=0,
        at_most=1,
    )
    target_bound: float | str | None = setting(
        None,
        "The target, reward + gamma max Q, is clipped to +- this; or to the returns that the rewards seen so far and "
        "gamma allow.",
        above=0,
        choices=("rewards",),
    )
    normalize_returns: bool = setting(
        False,
        "Whether the network learns returns as shares of the largest that the rewards seen so far and gamma allow, and "
        "need not grow its weights to their size.",
    )
    double_q: bool = setting(
        False, "Whether the target takes the value of the action that the network itself, not its target, finds best."
    )
    loss: str = setting(
        "squared", "Of the temporal difference: its square, or Huber's loss.", choices=("squared", "huber")
    )
    huber_delta: float = setting(1.0, "From this size on, Huber's loss grows linearly.", above=0)
    gamma: float = setting(0.99, "Discount of future reward.", at_least=0, at_most=1)
    exploration_rate: float = setting(0.2, "Probability of a random action.", at_least=0, at_most=1)
    net_arch: tuple[int, int] = setting((80, 80), "Widths of the two hidden layers.", at_least=1)
    optimizer: str = setting("adadelta", "How the network follows the gradient.", choices=("adadelta", "adam"))
    rho: float = setting(0.95, "AdaDelta's decay of its averages.", at_least=0, at_most=1)
    optimizer_eps: float = setting(1e-7, "AdaDelta's epsilon.", above=0)
    adam_beta_1: float = setting(0.9, "Adam's decay of the mean.", at_least=0, below=1)
    adam_beta_2: float = setting(0.999, "Adam's decay of the square.", at_least=0, below=1)
    adam_eps: float = setting(1e-8, "Adam's epsilon.", above=0)
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
    waits_for_task: bool = setting(
        True,
        "Whether, with memory='task-matching', learning_starts counts experiences of the task being played.",
        # It did not; with other memories, where it means nothing, a run is still the same as one of today.
        before=lambda recorded: recorded.get("memory") != "task-matching",
    )
    protected: int = setting(0, "Newest experiences that distribution matching always keeps.", at_least=0)

    def validate(self) -> None:
        super().validate()
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
        endless = np.float32(self.gamma) == 1.0
        if self.target_bound == "rewards" and endless:
            raise UsageError(f"{name}.target_bound is 'rewards'; valid with gamma=1, which bounds nothing: a number")
        if self.normalize_returns and endless:
            raise UsageError(f"{name}.normalize_returns is True; valid with gamma=1, which bounds no return: False")
        if self.packnet is not None and self.memory != "task-matching":
            raise UsageError(f"{name}.memory is '{self.memory}'; valid with packnet: 'task-matching'")
        if len(self.net_arch) != 2:
            raise UsageError(f"{name}.net_arch is {self.net_arch}; valid: the widths of two layers, such as (80, 80)")

    def replay_bytes(self, observation_space: gymnasium.Space, action_space: gymnasium.Space) -> int:
        """What the replay memory of one policy takes."""
        name = type(self).__name__
        sizes = observation_size(name, observation_space), action_count(name, action_space)
        return memory_bytes(plan_memory(self, observation_space, *sizes))

    def __call__(
        self,
        observation_space: gymnasium.Space,
        action_space: gymnasium.Space,
        seed: int,
        n_tasks: int | None = None,
    ) -> DQNLearner:
        if self.switched_on:
            from repertory.learners.single.dqn import ManyTaskDQN  # here: it is built on this file

            return ManyTaskDQN(self, observation_space, action_space, seed, n_tasks)
        return DQNLearner(self, observation_space, action_space, seed)


# -------------------------------------------------------------------------------------------------- memory


def policy_layout(shape: NetworkShape) -> np.dtype[Any]:
    return layout(policy_fields(network.count_weights(shape)))


def scratch_layout(shape: NetworkShape, batch_size: int) -> np.dtype[Any]:
    batch = (network.count_activations(shape, batch_size),)
    return layout(
        [
            *scratch_fields(network.count_weights(shape), batch_size),
            ("acting", np.float32, (network.count_activations(shape, 1),)),
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


@inlined
def act_greedily(dqn: Arrays, observation: NDArray[np.float32]) -> int:
    """The action of the largest value."""
    policy = dqn.policy[0]
    shape = network.shape_of(policy.shape)
    batch = network.activations(dqn.scratch[0].acting, shape, 1)
    for k in range(shape.inputs):
        batch.inputs[0, k] = observation[k]
    network.forward(policy.weights, shape, batch, 1)
    return network.argmax(batch.outputs, 0, shape.outputs)


@kernel
def act(dqn: Arrays, observation: NDArray[np.float32]) -> int:
    """Epsilon-greedy on the action values."""
    policy = dqn.policy[0]
    explores = uniform(policy.stream) < policy.exploration_rate
    if explores or policy.episode < policy.random_first_steps:
        return below(policy.stream, network.shape_of(policy.shape).outputs)
    return act_greedily(dqn, observation)


@kernel
def compute_gradient(dqn: Arrays) -> None:
    """Gradient of the loss on the experiences in `drawn`: Equation "DRQN loss function"."""
    policy, scratch, replay, cursor = dqn.policy[0], dqn.scratch[0], dqn.replay, dqn.policy[0].cursor
    shape, rows = network.shape_of(policy.shape), policy.batch_size
    online, target = network.activations(scratch.online, shape, rows), network.activations(scratch.target, shape, rows)
    for i in range(rows):
        slot = scratch.drawn[i]
        after = slot_after(replay, cursor, slot)
        read_observation(replay, cursor, slot, policy.low, policy.high, online.inputs, i)
        read_observation(replay, cursor, after, policy.low, policy.high, target.inputs, i)
    if policy.double_q:
        network.forward(policy.weights, shape, target, rows)
        note_best(target.outputs, rows, scratch.best_next)
    network.forward(policy.weights, shape, online, rows)
    network.forward(policy.target_weights, shape, target, rows)
    if not policy.double_q:
        note_best(target.outputs, rows, scratch.best_next)
    temporal_differences(dqn, online.outputs, target.outputs, online.gradient_outputs)
    network.backward(policy.weights, shape, online, rows, scratch.gradient)


observe = make_observe(compute_gradient)


# ---------------------------------------------------------------------------------------------------- face


class DQNLearner(ReplayingPolicy):
    """One DQN policy: network, target network, optimiser, replay memory, random stream."""

    kernels = LearnerKernels(begin_episode, act, observe, act_greedily)
    state_fields: ClassVar[tuple[str, ...]] = (
        *("weights", "target_weights", "square_average", "step_average", "stream"),
        *("life", "episode", "updates", "loss_total", *UNSEEN),
    )
    added_fields = UNSEEN
    learns_off_policy = True

    def __init__(
        self, settings: DQN, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int
    ) -> None:
        name = type(settings).__name__
        inputs, actions = observation_size(name, observation_space), action_count(name, action_space)
        check_room(settings, observation_space, action_space, policies=1)
        self.settings = settings
        new = self._new_network(inputs, actions, np.random.default_rng(seed))
        self.shape = new.shape
        memory = self._plan_memory(settings, observation_space, inputs, actions)
        policy = new.new_policy(settings, seed)
        policy["low"], policy["high"] = value_range(observation_space)
        policy["bounds_target"] = settings.target_bound is not None
        policy["bound_from_rewards"] = settings.target_bound == "rewards"
        policy["target_limit"] = settings.target_bound if isinstance(settings.target_bound, float) else 0.0
        policy["uses_huber"] = settings.loss == "huber"
        policy["uses_adam"] = settings.optimizer == "adam"
        policy["target_weights"] = new.weights
        policy["cursor"] = memory.cursor
        policy["least_held"] = self._least_held(settings)
        arrays = Arrays(policy, memory.replay, shared_scratch(new.scratch_layout))
        super().__init__(arrays, inputs, actions, observation_space)

    def _new_network(self, inputs: int, actions: int, rng: np.random.Generator) -> Network:
        shape = NetworkShape(inputs, *self.settings.net_arch, actions)
        scratch = scratch_layout(shape, self.settings.batch_size)
        return Network(shape, network.glorot_uniform(shape, rng), policy_layout(shape), scratch)

    def q_values(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """The value of each action, for each row of observations."""
        batch = network.new_activations(self.shape, len(observations))
        batch.inputs[:] = self.checked_rows(observations)
        network.forward(self.policy["weights"], self.shape, batch, len(observations))
        return batch.outputs * self._value_of_one

    def state_values(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        """What each row of observations is worth."""
        return self.q_values(observations).max(axis=1).astype(np.float64)

    def plain_weights(self) -> PlainWeights:
        return feed_forward(self.policy["weights"], self.shape, self.actions)

    @property
    def _value_of_one(self) -> np.float32:
        """What an output of 1 stands for."""
        largest = largest_return(self.policy, self.settings.gamma) if self.settings.normalize_returns else 1.0
        return np.float32(largest or 1.0)

    def action_probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        q = self.q_values(observations)
        epsilon = self.settings.exploration_rate
        probabilities = np.full(q.shape, epsilon / q.shape[1])
        probabilities[np.arange(len(q)), q.argmax(axis=1)] += 1.0 - epsilon
        return probabilities

    def health(self) -> Health:
        """On experiences drawn as for an update."""
        return measure(OF_Q_LEARNING, self.policy, self.settings.gamma, self._sample())

    def _sample(self) -> list[Minibatch]:
        """Minibatches replayed by a copy of the policy."""
        if held(self.policy["cursor"]) == 0:
            return []
        arrays = self.arrays._replace(policy=self.arrays.policy.copy())
        policy, scratch = arrays.policy[0], self.scratch
        cursor, stream = cursor_between_steps(arrays.replay, policy["cursor"]), new_stream(int(policy["life"]))
        minibatches = []
        for _ in range(-(-SAMPLE_SIZE // self.settings.batch_size)):
            draw_batch(arrays.replay, cursor, stream, scratch["drawn"])
            outputs, layers = self._replay_drawn(arrays)
            errors = outputs[np.arange(len(outputs)), scratch["taken"]] - scratch["targets"]
            one = self._value_of_one
            minibatches.append(Minibatch(outputs * one, errors * one, layers, scratch["gradient"].copy()))
        return minibatches

    def _replay_drawn(self, arrays: Arrays) -> tuple[Matrix, tuple[Matrix, ...]]:
        """Compute the gradient on the experiences `drawn`; what the network came to, and copies of its layers."""
        compute_gradient(arrays)
        batch = network.activations(self.scratch["online"], self.shape, self.settings.batch_size)
        return batch.outputs, (batch.hidden_1.copy(), batch.hidden_2.copy())
