"""PPO for many tasks: `repertory.learners.ppo` with a network that knows the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import network
from repertory.kernels.compile import inlined, kernel
from repertory.kernels.layout import layout
from repertory.kernels.network import NetworkShape
from repertory.kernels.task_network import backward, forward
from repertory.kernels.views import Matrix
from repertory.learners import proximal
from repertory.learners.compiled_policy import Network
from repertory.learners.ppo import PPOLearner, begin_episode, move_on, note_observations
from repertory.learners.protocol import LearnerKernels
from repertory.learners.proximal import Arrays
from repertory.learners.single import memory
from repertory.learners.single.cloning import add_cloning
from repertory.learners.single.memory import Plan, core_of, hold, note_visit, perturb_if_due
from repertory.learners.single.policy import ForManyTasks

# ------------------------------------------------------------------------------------------------- kernels


@inlined
def look(ppo: Arrays, observation: NDArray[np.float32]) -> Matrix:
    """The network's outputs, in the first row: logits of the actions, then the value."""
    policy, scratch = ppo.policy[0], ppo.scratch[0]
    batch = network.activations(scratch.room, core_of(policy), policy.batch_size)
    for k in range(policy.features):
        batch.inputs[0, k] = observation[k]
    scratch.tasks[0] = policy.task
    forward(policy.weights, network.shape_of(policy.shape), batch, 1, scratch.tasks)
    return batch.outputs


act, act_greedily = proximal.make_acts(look)


@kernel
def evaluate(ppo: Arrays, ended: bool) -> None:
    """Before the epochs: values, old probabilities, advantages and value targets of the collected steps."""
    policy, tasks = ppo.policy[0], ppo.scratch[0].tasks
    steps = policy.collected
    batch = network.activations(ppo.scratch[0].room, core_of(policy), policy.batch_size)
    tasks[:] = policy.learned_task
    for first in range(0, steps + 1, policy.batch_size):
        rows = min(policy.batch_size, steps + 1 - first)
        for i in range(rows):
            for k in range(policy.features):
                batch.inputs[i, k] = policy.observations[first + i, k]
        forward(policy.weights, network.shape_of(policy.shape), batch, rows, tasks)
        proximal.note_outputs(ppo, batch.outputs, first, rows)
    proximal.estimate_advantages(ppo, ended)


@kernel
def compute_gradient(ppo: Arrays, first: int, rows: int) -> None:
    """Gradient of the loss on the steps `order[first : first + rows]`, all of one task, and of what is added to it for
    the sake of other tasks."""
    policy, scratch, tasks = ppo.policy[0], ppo.scratch[0], ppo.scratch[0].tasks
    shape = network.shape_of(policy.shape)
    batch = network.activations(scratch.room, core_of(policy), policy.batch_size)
    tasks[:] = policy.learned_task
    for i in range(rows):
        t = policy.order[first + i]
        for k in range(policy.features):
            batch.inputs[i, k] = policy.observations[t, k]
    proximal.gather_batch(ppo, first, rows)
    forward(policy.weights, shape, batch, rows, tasks)
    proximal.differentiate_loss(ppo, batch.outputs, rows, batch.gradient_outputs)
    backward(policy.weights, shape, batch, rows, tasks, scratch.gradient)
    add_cloning(ppo, True, policy.vf_coef)
    hold(policy, scratch.gradient)


learn = proximal.make_observe(note_observations, move_on, evaluate, compute_gradient)


@kernel
def observe(
    ppo: Arrays,
    observation: NDArray[np.float32],
    action: int,
    reward: float,
    next_observation: NDArray[np.float32],
    terminated: bool,
    truncated: bool,
) -> None:
    """PPO's step."""
    policy = ppo.policy[0]
    note_visit(policy, observation)
    learn(ppo, observation, action, reward, next_observation, terminated, truncated)
    if policy.collected == 0:  # steps collected by one network are not to be learned from by another
        perturb_if_due(policy)


# ---------------------------------------------------------------------------------------------------- face


class ManyTaskPPO(ForManyTasks, PPOLearner):
    """One PPO policy for many tasks."""

    kernels = LearnerKernels(begin_episode, act, observe, act_greedily)
    _evaluate: ClassVar[Any] = staticmethod(evaluate)
    state_fields: ClassVar[tuple[str, ...]] = (*PPOLearner.state_fields, *memory.STATE)
    added_fields: ClassVar[Mapping[str, float]] = {}
    is_actor_critic = True

    def _new_network(self, inputs: int, actions: int, rng: np.random.Generator) -> Network:
        settings, core = self.settings, NetworkShape(inputs, *self.settings.net_arch, actions + 1)
        self.plan = plan = Plan(settings, self._n_tasks, core, (actions, 1))
        weights = network.count_weights(plan.shape)
        policy = [
            *memory.fields_of(plan),
            *proximal.policy_fields(weights, settings.n_steps),
            ("observations", np.float32, (settings.n_steps + 1, inputs)),
        ]
        scratch = [
            *proximal.scratch_fields(weights, settings.batch_size),
            *memory.scratch_fields_of(plan, settings.batch_size),
            ("room", np.float32, (network.count_activations(core, settings.batch_size),)),
        ]
        return Network(plan.shape, plan.new_weights(rng), layout(policy), layout(scratch))

    def begin_task(self, task: int) -> None:
        if self.needs_tasks and task != self.policy["learned_task"]:
            self.policy["collected"] = self.policy["rollout"] = 0  # steps of another task
        self.visit(task)

    def _still_optimiser(self) -> None:
        self.policy["mean"] = 0.0

    def _let_learn(self, learns: bool) -> None:
        self.policy["n_epochs"] = self.settings.n_epochs if learns else 0

    def outputs(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Logits of the actions and, last, the value, in the task that it acts for, for each row of observations."""
        return self._outputs(observations)

    def _differentiate(self, arrays: Arrays, first: int, rows: int) -> tuple[Matrix, tuple[Matrix, ...]]:
        compute_gradient(arrays, first, rows)
        batch = network.activations(self.scratch["room"], self.plan.core, self.settings.batch_size)
        return batch.outputs[:rows], (batch.hidden_1[:rows].copy(), batch.hidden_2[:rows].copy())
