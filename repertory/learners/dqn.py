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
from repertory.kernels.handle import pack
from repertory.kernels.memory import allocate, layout
from repertory.kernels.network import (
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
from repertory.kernels.replay import (
    CUT_OFF,
    EPISODES,
    EXPERIENCES,
    FIFO,
    FINISHED_EPISODES,
    MATCHING,
    TERMINATED,
    WENT_ON,
    Replay,
    begin,
    draw,
    held,
    new_cursor,
    new_replay,
    slot_after,
    store,
)
from repertory.learners.protocol import LearnerKernels
from repertory.learners.spaces import action_count, observation_size
from repertory.learners.state import copy_fields, fill_settings, restore, restore_fields
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
        if self.buffer_size < self.batch_size:
            raise UsageError(
                f"DQN.buffer_size is {self.buffer_size}; valid: at least batch_size, which is {self.batch_size}"
            )
        needed = {"finished-episodes": "episodes", "distribution-matching": "experiences"}.get(self.memory)
        if needed not in (None, self.sampling):
            raise UsageError(f"DQN.sampling is '{self.sampling}'; valid with memory='{self.memory}': '{needed}'")
        if self.protected and self.memory != "distribution-matching":
            raise UsageError(f"DQN.protected is {self.protected}; valid: 0, unless memory='distribution-matching'")
        if self.protected >= self.buffer_size:
            raise UsageError(f"DQN.protected is {self.protected}; valid: below buffer_size, {self.buffer_size}")
        if len(self.net_arch) != 2:
            raise UsageError(f"DQN.net_arch is {self.net_arch}; valid: the widths of two layers, such as (80, 80)")

    def __call__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int) -> DQNLearner:
        return DQNLearner(self, observation_space, action_space, seed)


# -------------------------------------------------------------------------------------------------- memory


class Arrays(NamedTuple):
    """All that a DQN policy is."""

    policy: NDArray[Any]
    """One element of `policy_layout`."""
    replay: Replay


SCRATCH = ("gradient", "acting", "online", "target", "drawn")
"""Fields that do not outlive an update."""


def policy_layout(shape: NetworkShape, batch_size: int) -> np.dtype[Any]:
    weights = (count_weights(shape),)
    batch = (count_activations(shape, batch_size),)
    return layout(
        [
            ("weights", np.float32, weights),
            ("target_weights", np.float32, weights),
            ("square_average", np.float32, weights),
            ("step_average", np.float32, weights),
            ("stream", np.uint64, (4,)),
            ("cursor", np.int64, (len(new_cursor(1)),)),
            ("life", np.int64, ()),
            ("episode", np.int64, ()),
            ("updates", np.int64, ()),
            ("shape", np.int64, (4,)),
            ("learning_rate", np.float32, ()),
            ("rho", np.float32, ()),
            ("optimizer_eps", np.float32, ()),
            ("max_grad_value", np.float32, ()),
            ("gamma", np.float32, ()),
            ("exploration_rate", np.float64, ()),
            ("batch_size", np.int64, ()),
            ("learning_starts", np.int64, ()),
            ("train_freq", np.int64, ()),
            ("target_update_interval", np.int64, ()),
            ("random_first_steps", np.int64, ()),
            ("timeout_bootstraps", np.bool_, ()),
            ("gradient", np.float32, weights),
            ("acting", np.float32, (count_activations(shape, 1),)),
            ("online", np.float32, batch),
            ("target", np.float32, batch),
            ("drawn", np.int64, (batch_size,)),
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
    batch = activations(policy.acting, shape, 1)
    for k in range(shape.inputs):
        batch.inputs[0, k] = observation[k]
    forward(policy.weights, shape, batch, 1)
    return argmax(batch.outputs, 0)


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
        for i in range(policy.batch_size):
            policy.drawn[i] = draw(dqn.replay, policy.cursor, policy.stream)
        update(dqn)
    if policy.life % policy.target_update_interval == 0:
        policy.target_weights[:] = policy.weights


@kernel
def update(dqn: Arrays) -> None:
    """One gradient step on the experiences in `drawn`: Equation "DRQN loss function"."""
    policy = dqn.policy[0]
    compute_gradient(dqn)
    adadelta(
        policy.weights,
        policy.gradient,
        policy.square_average,
        policy.step_average,
        policy.learning_rate,
        policy.rho,
        policy.optimizer_eps,
        policy.max_grad_value,
    )
    policy.updates += 1


@kernel
def compute_gradient(dqn: Arrays) -> None:
    """Gradient of the mean over batch and actions of (target - Q)^2, the error of actions not taken being 0."""
    policy, slots = dqn.policy[0], dqn.replay.slots
    shape, rows = network_shape(policy.shape), policy.batch_size
    online, target = activations(policy.online, shape, rows), activations(policy.target, shape, rows)
    for i in range(rows):
        here = slots[policy.drawn[i]]
        there = slots[slot_after(dqn.replay, policy.cursor, policy.drawn[i])]
        for k in range(shape.inputs):
            online.inputs[i, k] = here.observation[k]
            target.inputs[i, k] = there.observation[k]
    forward(policy.weights, shape, online, rows)
    forward(policy.target_weights, shape, target, rows)
    scale = np.float32(2.0) / np.float32(rows * shape.outputs)
    for i in range(rows):
        slot = slots[policy.drawn[i]]
        target_t = slot.reward
        if slot.ending != TERMINATED:
            target_t += policy.gamma * target.outputs[i, argmax(target.outputs, i)]
        for a in range(shape.outputs):
            error_t = online.outputs[i, a] - target_t if a == slot.action else np.float32(0.0)
            online.gradient_outputs[i, a] = scale * error_t
    backward(policy.weights, shape, online, rows, policy.gradient)


# ---------------------------------------------------------------------------------------------------- face


class TaskMemory(NamedTuple):
    """The memory of a task that is not being played."""

    arrays: Arrays
    handle: Any
    cursor: NDArray[np.int64]


def _memory_kind(settings: DQN) -> tuple[int, int]:
    """Kind and sampling as the kernels count them."""
    kind = {"finished-episodes": FINISHED_EPISODES, "distribution-matching": MATCHING}.get(settings.memory, FIFO)
    return kind, EPISODES if settings.sampling == "episodes" else EXPERIENCES


class DQNLearner:
    """One DQN policy: network, target network, optimiser, replay memory, random stream."""

    kernels = LearnerKernels(begin_episode, act, observe)

    def __init__(
        self, settings: DQN, observation_space: gymnasium.Space, action_space: gymnasium.Space, seed: int
    ) -> None:
        inputs = observation_size("DQN", observation_space)
        self.settings = settings
        self.shape = NetworkShape(inputs, *settings.net_arch, action_count("DQN", action_space))
        policy = allocate(policy_layout(self.shape, settings.batch_size))
        fill_settings(policy, settings)
        policy["shape"] = self.shape
        policy["weights"] = policy["target_weights"] = glorot_uniform(self.shape, np.random.default_rng(seed))
        policy["stream"] = new_stream(seed)
        policy["cursor"] = self._new_cursor()
        self.arrays = Arrays(policy, self._new_replay())
        self.handle = pack(self.arrays)
        self._task = 0
        self._other_tasks: dict[int, TaskMemory] = {}

    def begin_task(self, task: int) -> None:
        """Under task matching, put the task's own memory in the place of the last task's."""
        if self.settings.memory != "task-matching" or task == self._task:
            return
        cursor = self.policy["cursor"]
        self._other_tasks[self._task] = TaskMemory(self.arrays, self.handle, cursor.copy())
        if task in self._other_tasks:
            self.arrays, self.handle, saved_cursor = self._other_tasks.pop(task)
        else:
            self.arrays = Arrays(self.arrays.policy, self._new_replay())
            self.handle, saved_cursor = pack(self.arrays), self._new_cursor()
        cursor[:] = saved_cursor
        self._task = task

    def _new_cursor(self) -> NDArray[np.int64]:
        settings = self.settings
        return new_cursor(settings.buffer_size, *_memory_kind(settings), settings.protected)

    def _new_replay(self) -> Replay:
        return new_replay(self.settings.buffer_size, self.shape.inputs, *_memory_kind(self.settings))

    @property
    def policy(self) -> Any:
        """The policy's memory by field: `learner.policy["weights"]`."""
        return self.arrays.policy[0]

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
        batch = new_activations(self.shape, len(observations))
        batch.inputs[:] = observations
        forward(self.policy["weights"], self.shape, batch, len(observations))
        return batch.outputs

    def action_probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        q = self.q_values(observations)
        epsilon = self.settings.exploration_rate
        probabilities = np.full(q.shape, epsilon / q.shape[1])
        probabilities[np.arange(len(q)), q.argmax(axis=1)] += 1.0 - epsilon
        return probabilities

    def state_dict(self) -> dict[str, NDArray[Any]]:
        state = copy_fields(self.arrays.policy, skip=SCRATCH) | {"task": np.array(self._task)}
        state |= {f"replay.{name}": array.copy() for name, array in self.arrays.replay._asdict().items()}
        for task, memory in self._other_tasks.items():
            state[f"task {task}.cursor"] = memory.cursor.copy()
            for name, array in memory.arrays.replay._asdict().items():
                state[f"task {task}.{name}"] = array.copy()
        return state

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        fields = dict(state)
        task = int(fields.pop("task"))
        others = sorted({int(name.split()[1].split(".")[0]) for name in fields if name.startswith("task ")})
        self._other_tasks = {}
        for other in others:
            replay = self._new_replay()
            for name, array in replay._asdict().items():
                restore(array, fields.pop(f"task {other}.{name}"), name)
            arrays = Arrays(self.arrays.policy, replay)
            self._other_tasks[other] = TaskMemory(arrays, pack(arrays), fields.pop(f"task {other}.cursor").copy())
        for name, array in self.arrays.replay._asdict().items():
            restore(array, fields.pop(f"replay.{name}"), name)
        restore_fields(self.arrays.policy, fields, skip=SCRATCH)
        self._task = task
