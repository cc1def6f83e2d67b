"""DQN for many tasks: `repertory.learners.dqn` with a task beside each experience."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.kernels import network
from repertory.kernels.compile import inlined, kernel
from repertory.kernels.layout import layout
from repertory.kernels.network import NetworkShape
from repertory.kernels.q_loss import note_best
from repertory.kernels.replay_slots import Replay, read_observation, slot_after
from repertory.kernels.streams import below, uniform
from repertory.kernels.task_network import backward, forward
from repertory.kernels.views import Matrix
from repertory.learners.compiled_policy import Network
from repertory.learners.dqn import DQNLearner, begin_episode
from repertory.learners.protocol import LearnerKernels
from repertory.learners.q_learning import Arrays, make_observe, policy_fields, scratch_fields, temporal_differences
from repertory.learners.replaying import TaskMemory
from repertory.learners.single import memory
from repertory.learners.single.cloning import add_cloning
from repertory.learners.single.memory import Plan, core_of, hold, note_visit, perturb_if_due
from repertory.learners.single.policy import ForManyTasks

NEVER = 2**62
"""More experiences than a memory can hold."""


def scratch_layout(plan: Plan, batch_size: int) -> np.dtype[Any]:
    batch = (network.count_activations(plan.core, batch_size),)
    told = (plan.core.inputs + 1,)
    return layout(
        [
            *scratch_fields(network.count_weights(plan.shape), batch_size),
            *memory.scratch_fields_of(plan, batch_size),
            ("acting", np.float32, (network.count_activations(plan.core, 1),)),
            ("online", np.float32, batch),
            ("target", np.float32, batch),
            ("told", np.float32, told),
            ("told_next", np.float32, told),
        ]
    )


# ------------------------------------------------------------------------------------------------- kernels


@inlined
def act_greedily(dqn: Arrays, observation: NDArray[np.float32]) -> int:
    """The action of the largest value."""
    policy, scratch = dqn.policy[0], dqn.scratch[0]
    batch = network.activations(scratch.acting, core_of(policy), 1)
    for k in range(policy.features):
        batch.inputs[0, k] = observation[k]
    scratch.tasks[0] = policy.task
    forward(policy.weights, network.shape_of(policy.shape), batch, 1, scratch.tasks)
    return network.argmax(batch.outputs, 0, policy.outputs)


@kernel
def act(dqn: Arrays, observation: NDArray[np.float32]) -> int:
    """Epsilon-greedy on the action values."""
    policy = dqn.policy[0]
    explores = uniform(policy.stream) < policy.exploration_rate
    if explores or policy.episode < policy.random_first_steps:
        return below(policy.stream, policy.outputs)
    return act_greedily(dqn, observation)


@kernel
def compute_gradient(dqn: Arrays) -> None:
    """Gradient of the loss on the experiences in `drawn`, each by the network as its task has it, and of what is added
    to it for the sake of other tasks."""
    policy, scratch, replay, cursor = dqn.policy[0], dqn.scratch[0], dqn.replay, dqn.policy[0].cursor
    shape, core, rows, tasks = network.shape_of(policy.shape), core_of(policy), policy.batch_size, dqn.scratch[0].tasks
    online, target = network.activations(scratch.online, core, rows), network.activations(scratch.target, core, rows)
    for i in range(rows):
        slot = scratch.drawn[i]
        after = slot_after(replay, cursor, slot)
        read_observation(replay, cursor, slot, policy.low, policy.high, online.inputs, i)
        read_observation(replay, cursor, after, policy.low, policy.high, target.inputs, i)
        tasks[i] = np.int64(replay.slots[slot].observation[policy.features])
    if policy.double_q:
        forward(policy.weights, shape, target, rows, tasks)
        note_best(target.outputs, rows, scratch.best_next)
    forward(policy.weights, shape, online, rows, tasks)
    forward(policy.target_weights, shape, target, rows, tasks)
    if not policy.double_q:
        note_best(target.outputs, rows, scratch.best_next)
    temporal_differences(dqn, online.outputs, target.outputs, online.gradient_outputs)
    backward(policy.weights, shape, online, rows, tasks, scratch.gradient)
    add_cloning(dqn, False, 0.0)
    hold(policy, scratch.gradient)


learn = make_observe(compute_gradient)


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
    """DQN's step, with the task stored as one more feature of the observation."""
    policy, scratch = dqn.policy[0], dqn.scratch[0]
    note_visit(policy, observation)
    for k in range(policy.features):
        scratch.told[k], scratch.told_next[k] = observation[k], next_observation[k]
    scratch.told[policy.features] = policy.task
    scratch.told_next[policy.features] = policy.task
    learn(dqn, scratch.told, action, reward, scratch.told_next, terminated, truncated)
    perturb_if_due(policy)


# ---------------------------------------------------------------------------------------------------- face


class ManyTaskDQN(ForManyTasks, DQNLearner):
    """One DQN policy for many tasks."""

    kernels = LearnerKernels(begin_episode, act, observe, act_greedily)
    state_fields: ClassVar[tuple[str, ...]] = (*DQNLearner.state_fields, *memory.STATE)
    is_actor_critic = False

    def _new_network(self, inputs: int, actions: int, rng: np.random.Generator) -> Network:
        core = NetworkShape(inputs, *self.settings.net_arch, actions)
        self.plan = plan = Plan(self.settings, self._n_tasks, core, (actions,))
        policy = layout([*memory.fields_of(plan), *policy_fields(network.count_weights(plan.shape))])
        return Network(plan.shape, plan.new_weights(rng), policy, scratch_layout(plan, self.settings.batch_size))

    def _plan_memory(self, settings: Any, observation_space: gymnasium.Space, inputs: int, actions: int) -> TaskMemory:
        told = gymnasium.spaces.Box(-np.inf, np.inf, (inputs + 1,))  # with the task, it is no longer of two values
        return super()._plan_memory(settings, told, inputs + 1, actions)

    def begin_task(self, task: int) -> None:
        self.visit(task)
        super().begin_task(task)

    def _still_optimiser(self) -> None:
        if self.settings.optimizer == "adam":
            self.policy["step_average"] = 0.0
        self.policy["target_weights"] = self.policy["weights"]

    def _let_learn(self, learns: bool) -> None:
        self.policy["least_held"] = self._least_held(self.settings) if learns else NEVER

    def q_values(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """The value of each action in the task that it acts for, for each row of observations."""
        return self._outputs(observations) * self._value_of_one

    def _replay_drawn(self, arrays: Arrays) -> tuple[Matrix, tuple[Matrix, ...]]:
        compute_gradient(arrays)
        batch = network.activations(self.scratch["online"], self.plan.core, self.settings.batch_size)
        return batch.outputs, (batch.hidden_1.copy(), batch.hidden_2.copy())

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_state_dict(state)
        for stored in (self.arrays.replay, *(other.replay for other in self._other_tasks.values())):
            self._check_tasks_of(stored)

    def _check_tasks_of(self, replay: Replay) -> None:
        """Kernels take them for a place in the network."""
        tasks = replay.slots["observation"][:, self.inputs]
        if not ((tasks >= 0) & (tasks < self.plan.tasks)).all():
            raise ValueError(f"the replay memory in the state has tasks that are not 0 to {self.plan.tasks - 1}")
