"""The face that policies for many tasks share: visits to tasks, what is done when one ends, and looks in between.

A *visit* is all episodes of one task in a row. Everything that has to be done between tasks is done here, in Python,
when another one begins; what is done at every step is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.kernels import network
from repertory.kernels.fisher import add_fisher
from repertory.kernels.task_network import forward
from repertory.learners.compiled_policy import CompiledPolicy
from repertory.learners.plain_weights import PlainWeights, of_one_task
from repertory.learners.single import cloning, ewc, memory, packing
from repertory.learners.single.memory import Plan


class ForManyTasks(CompiledPolicy):
    """A compiled policy whose `policy` element has the fields of `memory`, and its network that of `task_network`."""

    plan: Plan
    needs_tasks: bool
    packs: bool
    is_actor_critic: bool
    """Whether outputs are logits and, last, a value."""

    def __init__(
        self,
        settings: Any,
        observation_space: gymnasium.Space,
        action_space: gymnasium.Space,
        seed: int,
        n_tasks: int | None,
    ) -> None:
        self._n_tasks = settings.number_of_tasks(n_tasks)
        learner: Any = super()  # the one that this is mixed into
        learner.__init__(settings, observation_space, action_space, seed)
        # Asked before every episode, of which the shortest take as long to play as to find out.
        self.needs_tasks, self.packs = self.plan.settings.needs_tasks, self.plan.settings.packnet is not None
        memory.fill(self.policy, self.plan)
        if self.packs:
            packing.begin(self.policy, self.plan)
        self._begin_visit(0)

    # ------------------------------------------------------------------------------------------------ visits

    def visit(self, task: int) -> None:
        """An episode of a task begins."""
        if not self.needs_tasks:
            return
        policy = self.policy
        before = int(policy["learned_task"])
        self.turn_to(before)
        if task != before:
            self._check_task(task)
            if self._has_learned:
                self._end_visit(before)
            self.turn_to(task)
            policy["learned_task"] = task
            self._begin_visit(task)
        elif self.packs and self._is_to_prune(task):
            self._prune(task)

    def turn_to(self, task: int) -> None:
        """Act for a task from now on; nothing is learned or forgotten by it."""
        if self.needs_tasks and task != self.policy["task"]:
            self._check_task(task)
            if self.packs:
                packing.show(self.policy, task)
            self.policy["task"] = task

    def _check_task(self, task: int) -> None:
        if not 0 <= task < self.plan.tasks:
            raise ValueError(f"task {task} is not one of 0 to {self.plan.tasks - 1}, for which this policy was built")

    @property
    def _has_learned(self) -> bool:
        """In this visit."""
        return bool(self.policy["updates"] > self.policy["visit_updates"])

    def _is_to_prune(self, task: int) -> bool:
        policy, needed = self.policy, self.plan.settings.packnet or 0
        is_open = self._has_learned and policy["phase"][task] == packing.OPEN
        return bool(is_open and policy["life"] - policy["visit_began"] >= needed)

    def _begin_visit(self, task: int) -> None:
        policy, settings = self.policy, self.plan.settings
        policy["visited"], policy["visit_began"], policy["visit_updates"] = 0, policy["life"], policy["updates"]
        if settings.ewc > 0 or settings.l2_init > 0:
            ewc.set_anchor(policy, task, settings)
        if settings.clone > 0:
            cloning.choose_others(policy, task)
        if self.packs:
            self._train_what_is_free(task)

    def _end_visit(self, task: int) -> None:
        """Of a task that has learned in it, and that it acts for."""
        policy, settings = self.policy, self.plan.settings
        seen = policy["visit"][: policy["visited"]]
        if settings.ewc > 0:
            ewc.consolidate(policy, task, self.fisher(seen), self.plan)
        if settings.clone > 0:
            cloning.remember(policy, task, seen, self._to_clone(seen))
        if self.packs:
            if policy["phase"][task] == packing.OPEN:
                self._prune(task)
            policy["phase"][task] = packing.FIXED

    def _prune(self, task: int) -> None:
        # A generator that the policy's state decides, so that a resumed life draws the same.
        fresh = self.plan.new_weights(np.random.default_rng(self.policy["stream"]))
        packing.prune(self.policy, task, self.plan, fresh)
        self._train_what_is_free(task)

    def _train_what_is_free(self, task: int) -> None:
        packing.set_trainable(self.policy, task)
        self._still_optimiser()
        self._let_learn(bool(self.policy["phase"][task] != packing.FIXED))

    def _still_optimiser(self) -> None:
        """Other weights have taken the place of those that it moved: without a gradient, none may move on."""
        raise NotImplementedError

    def _let_learn(self, learns: bool) -> None:
        """Whether there are updates; not part of the state, which decides it."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------- looking in

    def _outputs(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Of the network, for the task that it acts for."""
        batch = network.new_activations(self.plan.core, len(observations))
        batch.inputs[:] = self.checked_rows(observations)
        tasks = np.full(len(observations), self.policy["task"], np.int64)
        forward(self.policy["weights"], self.plan.shape, batch, len(observations), tasks)
        return batch.outputs

    def plain_weights(self) -> PlainWeights:
        """For the task that it acts for."""
        return of_one_task(
            self.policy["weights"], self.plan.shape, self.plan.core, self.actions, int(self.policy["task"])
        )

    def _to_clone(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Outputs; of an actor-critic with probabilities for logits."""
        outputs = self._outputs(observations)
        if self.is_actor_critic:
            exponentials = np.exp(outputs[:, :-1] - outputs[:, :-1].max(axis=1, keepdims=True))
            outputs[:, :-1] = exponentials / exponentials.sum(axis=1, keepdims=True)
        return outputs

    def fisher(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        """How much each weight matters to the task that it acts for: the mean over observations."""
        weights, batch = self.policy["weights"], network.new_activations(self.plan.core, 1)
        task, room, total = np.array([self.policy["task"]]), np.zeros_like(weights), np.zeros(weights.size)
        observations = np.ascontiguousarray(observations)
        add_fisher(weights, self.plan.shape, batch, observations, task, self.is_actor_critic, room, total)
        return total / max(len(observations), 1)

    # ----------------------------------------------------------------------------------------------------- saving

    @property
    def acting_fields(self) -> tuple[str, ...]:
        return ("weights", "task", "whole", "owner", "rank", "phase") if self.packs else ("weights",)

    def state_limits(self) -> dict[str, tuple[int, int]]:
        last, most = self.plan.tasks - 1, 2**62
        return {
            **super().state_limits(),
            **dict.fromkeys(("task", "learned_task", "clone_order"), (0, last)),
            **dict.fromkeys(("visited", "life", "shrinks"), (0, most)),
            "clone_counts": (0, self.plan.samples),
            "clone_tasks": (0, last),
            "phase": (packing.OPEN, packing.FIXED),
        }

    def state_dict(self) -> dict[str, NDArray[Any]]:
        self.turn_to(int(self.policy["learned_task"]))  # whoever looked in last leaves no trace
        return super().state_dict()

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_state_dict(state)
        self.policy["task"] = self.policy["learned_task"]
        if self.packs:
            self._let_learn(bool(self.policy["phase"][self.policy["learned_task"]] != packing.FIXED))
