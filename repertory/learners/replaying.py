"""Policies that replay: their memory, one for each task under task matching, made, swapped, saved and restored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.domains.two_valued import TwoValued
from repertory.kernels import replay_cursor as at
from repertory.kernels.handle import pack
from repertory.kernels.replay import MemoryPlan, new_cursor, new_replay, slot_count
from repertory.kernels.replay_check import check_memory
from repertory.kernels.replay_slots import EPISODES, EXPERIENCES, FIFO, FINISHED_EPISODES, MATCHING, Replay, slot_kind
from repertory.learners.compiled_policy import CompiledPolicy, bytes_in, restore


class TaskMemory(NamedTuple):
    """The memory of a task that is not being played."""

    replay: Replay
    cursor: at.Cursor


def plan_memory(settings: Any, observation_space: gymnasium.Space, inputs: int, actions: int) -> MemoryPlan:
    kinds = {"finished-episodes": FINISHED_EPISODES, "distribution-matching": MATCHING}
    return MemoryPlan(
        capacity=settings.buffer_size,
        observation_size=inputs,
        actions=actions,
        kind=kinds.get(settings.memory, FIFO),
        sampling=EPISODES if settings.sampling == "episodes" else EXPERIENCES,
        protected=settings.protected,
        is_two_valued=isinstance(observation_space, TwoValued),
        has_whole_rewards=isinstance(observation_space, TwoValued) and observation_space.whole_rewards,
        lead=settings.window - 1 if getattr(settings, "full_windows", False) else 0,
    )


def memory_bytes(plan: MemoryPlan) -> int:
    """What the slots of a memory take, which is nearly all of it where observations are large."""
    slot = slot_kind(plan.observation_size, plan.actions, plan.is_two_valued, plan.has_whole_rewards)
    return slot_count(plan.capacity, plan.kind) * slot.itemsize


class ReplayingPolicy(CompiledPolicy):
    """A policy whose `arrays` have a `replay` memory and whose `policy` element has the memory's `cursor`.

    Its settings say `memory`, `sampling`, `buffer_size` and `protected` and, if it looks back, `full_windows`.
    """

    def _plan_memory(self, settings: Any, observation_space: gymnasium.Space, inputs: int, actions: int) -> TaskMemory:
        """Decide what a memory is like; the first of them."""
        self.memory_plan = plan_memory(settings, observation_space, inputs, actions)
        self._matches_tasks = settings.memory == "task-matching"
        self._task = 0
        self._other_tasks: dict[int, TaskMemory] = {}
        return self._new_memory()

    def _least_held(self, settings: Any) -> int:
        """Experiences that the memory must hold before it is replayed.

        With `waits_for_task` each task's memory waits for `learning_starts` of its own: for fewer, if it cannot hold
        twice as many, so that it does not wait for ever.
        """
        waits_for_task = self._matches_tasks and settings.waits_for_task
        waits = min(settings.learning_starts, settings.buffer_size // 2) if waits_for_task else 0
        return max(int(settings.batch_size), waits)

    def _new_memory(self) -> TaskMemory:
        return TaskMemory(new_replay(self.memory_plan), new_cursor(self.memory_plan))

    def begin_task(self, task: int) -> None:
        """Under task matching, put the task's own memory in the place of the last task's."""
        if not self._matches_tasks or task == self._task:
            return
        self._other_tasks[self._task] = TaskMemory(self.arrays.replay, self.policy["cursor"].copy())
        known = task in self._other_tasks
        self._take_up(task, self._other_tasks.pop(task) if known else self._new_memory())

    def _take_up(self, task: int, memory: TaskMemory) -> None:
        self.policy["cursor"][:] = memory.cursor
        self.arrays = self.arrays._replace(replay=memory.replay)
        self.handle = pack(self.arrays)
        self._task = task

    @property
    def learning_starts(self) -> int:
        """Steps of life before the first update."""
        return int(self.policy["learning_starts"])

    def forget_experiences(self) -> None:
        """Empty the memory, of all tasks."""
        self._other_tasks = {}
        self._take_up(self._task, self._new_memory())

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(bytes_in(tuple(memory)) for memory in self._other_tasks.values())

    def state_dict(self) -> dict[str, NDArray[Any]]:
        state = super().state_dict() | {"task": np.array(self._task)}
        memories = {self._task: TaskMemory(self.arrays.replay, self.policy["cursor"])} | self._other_tasks
        for task, memory in memories.items():
            state[f"task {task}.cursor"] = memory.cursor.copy()
            for name, array in memory.replay._asdict().items():
                state[f"task {task}.{name}"] = array.copy()
        return state

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        if "task" not in state:
            raise ValueError(f"state has {sorted(state)}, which is not a {type(self).__name__}'s")
        fields = dict(state)
        current = int(fields.pop("task"))
        memories = {}
        for name in [name for name in fields if name.startswith("task ") and name.endswith(".cursor")]:
            memory = self._new_memory()
            prefix = name.removesuffix("cursor")
            if not np.array_equal(fields[name][at.FIXED], memory.cursor[at.FIXED]):
                raise ValueError("the state has a replay memory of another size or kind than this learner")
            restore(memory.cursor, fields.pop(name), name)
            for part, array in memory.replay._asdict().items():
                restore(array, fields.pop(prefix + part), prefix + part)
            check_memory(memory.replay, memory.cursor)
            memories[int(prefix[len("task ") : -1])] = memory
        super().load_state_dict(fields)
        self._take_up(current, memories.pop(current))
        self._other_tasks = memories

    def load_acting_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_acting_state(state)
        self.arrays.policy["target_weights"] = self.arrays.policy["weights"]  # as in a new policy
