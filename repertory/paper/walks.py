"""The paper's Example 2: how many policies walk a line of five states well, when one step of it is blocked?

States 0, ..., 4; actions -1 and +1; a walk starts in 0. Task (i, j) forbids the step from i to j: the walker stays in
i, as it does at the ends of the line. The reward of a step is the number of successive successful steps in one
direction, this one included, and 0 for a step that fails. A policy's reward is its average over an endless walk.

The paper bounds the capacity by 1 <= C <= 3 and leaves the policies' memory open. Here all deterministic policies of
three classes are enumerated and evaluated, so each class has a number. Policies that draw lots are left out, and may do
better: with `turn_time=0` one that sees the state alone and tosses a coin in state 1 earns 1.25 on task (2, 3), where
no deterministic one earns more than 1. Two remarks on the printed example:

- Its expected rewards, (0 + 1) / 2 and so on up to (0 + 1 + 2 + 3) / 4, and its factor N / (N + 1) for a walker that
  turns only once it fails, spread a sweep of N states over N time units, though it has N - 1 steps. They come out if a
  change of direction takes one time unit more, without reward: `turn_time=1`, the default. `turn_time=0` is the
  transition model as printed.
- It takes [3, 4] for the best walk of task (3, 2). Walking [0, 2] is better, because the forbidden step is never needed
  there. Regrets here are against the true optimum over all policies, with any memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.errors import UsageError, unknown
from repertory.paper.cover import ROUNDING, checked_epsilon, minimum_cover, relative_regrets, smallest_epsilon

Ints = NDArray[np.int64]
Task = tuple[int, int]
"""(i, j): the step from i to j is forbidden."""

N_STATES = 5
TASKS: tuple[Task, ...] = ((1, 2), (2, 3), (3, 4), (3, 2), (2, 1), (1, 0))


class MemoryClass(NamedTuple):
    """A class of policies: those that see the state and one thing more."""

    n_values: int
    """How many values that thing can have."""
    value: Callable[[Ints, Ints, Ints], Ints]
    """(state, previous state, previous action) -> the value, from 0."""
    possible: Callable[[int, int], bool]
    """Whether the value can occur in the state."""


# A step moves by at most one, so only 13 of the 25 pairs of state and previous state can occur: 2^13 policies instead
# of 2^25, and none is lost, because what a policy would do in the other pairs never matters.
MEMORIES: Mapping[str, MemoryClass] = {
    "nothing": MemoryClass(1, lambda state, before, action: np.zeros_like(state), lambda state, value: True),
    "previous action": MemoryClass(2, lambda state, before, action: (action + 1) // 2, lambda state, value: True),
    "previous state": MemoryClass(
        3, lambda state, before, action: before - state + 1, lambda state, value: 0 <= state + value - 1 < N_STATES
    ),
}
"""What a policy sees besides the state."""


class CoveringPolicy(NamedTuple):
    """A policy of a smallest set."""

    actions: Mapping[tuple[int, int], int]
    """(state, what is remembered) -> action. Remembered is 0 (nothing), the previous action or the previous state."""
    tasks: tuple[Task, ...]
    """The tasks it is the set's best for."""
    rewards: tuple[float, ...]
    """Its average reward on them."""


@dataclass(frozen=True)
class WalkCapacity:
    """The theoretical task capacity of one class of policies on the six walks."""

    memory: str
    """What a policy of the class sees besides the state."""
    policies_enumerated: int
    """The size of the class."""
    smallest_epsilon: float
    """Below this tolerance no number of policies of the class serves all tasks."""
    n_policies: int | None
    """The fewest policies of the class that serve all tasks; none if no number does."""
    capacity: float | None
    """Tasks per policy."""
    covering: tuple[CoveringPolicy, ...]
    """One smallest set; empty if there is none."""


def walk_capacities(epsilon: float = 0.25, turn_time: int = 1) -> tuple[WalkCapacity, ...]:
    """The capacity of each class of policies in `MEMORIES`."""
    return tuple(walk_capacity(memory, epsilon, turn_time) for memory in MEMORIES)


def walk_capacity(memory: str, epsilon: float = 0.25, turn_time: int = 1) -> WalkCapacity:
    """The fewest policies with this memory such that each task has one with a relative regret of at most epsilon."""
    epsilon = checked_epsilon(epsilon)
    rewards = walk_rewards(memory, turn_time)
    regrets = relative_regrets(rewards, [optimal_walk(task, turn_time) for task in TASKS])
    needed = smallest_epsilon(regrets)
    if epsilon + ROUNDING < needed:
        return WalkCapacity(memory, len(rewards), needed, n_policies=None, capacity=None, covering=())
    cover = minimum_cover(regrets, epsilon)
    covering = []
    for policy in cover.chosen:
        served = [task for task, best in enumerate(cover.assignment) if best == policy]
        covering.append(
            CoveringPolicy(
                actions=_actions_of(policy, memory),
                tasks=tuple(TASKS[task] for task in served),
                rewards=tuple(rewards[policy, served].tolist()),
            )
        )
    return WalkCapacity(memory, len(rewards), needed, cover.n_policies, cover.capacity, tuple(covering))


def walk_rewards(memory: str, turn_time: int = 1) -> NDArray[np.float64]:
    """(policies, tasks): the average reward of every deterministic policy with this memory, exact up to rounding.

    Policy p takes action +1 in the c-th context if bit c of p is set; see `contexts`.
    """
    _check_turn_time(turn_time)
    return np.stack([_average_rewards(memory, task, turn_time) for task in TASKS], axis=1)


def contexts(memory: str) -> tuple[tuple[int, int], ...]:
    """All (state, memory value) that a policy may meet, in the order of a policy's bits; the values count from 0."""
    kind = _memory_class(memory)
    pairs = ((state, value) for state in range(N_STATES) for value in range(kind.n_values))
    return tuple((state, value) for state, value in pairs if kind.possible(state, value))


def optimal_walk(task: Task, turn_time: int = 1) -> float:
    """The best average reward on a task over all policies, with any memory.

    The walk is deterministic, so the best average is that of the best cycle that can be reached, and a simple cycle is
    best. It takes at most 1 + turn_time time units per situation, and all closed walks up to that time are compared.
    """
    _check_turn_time(turn_time)
    steps = _reachable_steps(task)
    places = {situation: place for place, situation in enumerate(steps)}
    n = len(steps)
    # gain[k][u, v]: the reward of the step from u to v that takes k time units; -inf if there is none.
    gain = {time: np.full((n, n), -math.inf) for time in {1, 1 + turn_time}}
    for situation, successors in steps.items():
        for following in successors:
            time = 1 + turn_time * (following.previous_action != situation.previous_action)
            gain[time][places[situation], places[following]] = following.streak

    best_walks = [np.where(np.eye(n, dtype=bool), 0.0, -math.inf)]  # [t][u, v]: the most reward from u to v in time t
    for total in range(1, (1 + turn_time) * n + 1):
        reach = [_max_plus(best_walks[total - time], gain[time]) for time in gain if time <= total]
        best_walks.append(np.maximum.reduce(reach))
    return max(float(walks.diagonal().max()) / total for total, walks in enumerate(best_walks) if total > 0)


class _Situation(NamedTuple):
    """All that decides the future of a walk and its rewards."""

    state: int
    previous_action: int
    streak: int


def _reachable_steps(task: Task) -> dict[_Situation, list[_Situation]]:
    """The situations that can be reached, each with those that its two actions lead to."""
    steps: dict[_Situation, list[_Situation]] = {}
    waiting = [_Situation(0, -1, 0)]
    while waiting:
        situation = waiting.pop()
        if situation in steps:
            continue
        state, previous_action, streak = (np.array([value]) for value in situation)
        steps[situation] = []
        for action in (-1, 1):
            following, longer = _step(task, state, np.array([action]), previous_action, streak)
            steps[situation].append(_Situation(int(following[0]), action, int(longer[0])))
        waiting.extend(steps[situation])
    return steps


def _step(task: Task, state: Ints, action: Ints, previous_action: Ints, streak: Ints) -> tuple[Ints, Ints]:
    """The next state, and the streak of successful steps in one direction, which is also the reward."""
    wanted = np.clip(state + action, 0, N_STATES - 1)
    following = np.where((state == task[0]) & (wanted == task[1]), state, wanted)
    longer = np.where(following == state, 0, 1 + streak * (action == previous_action))
    return following, longer


def _average_rewards(memory: str, task: Task, turn_time: int) -> NDArray[np.float64]:
    """The average reward of each policy of the class on a task: that of the cycle its walk ends in."""
    kind = _memory_class(memory)
    places = np.full((N_STATES, kind.n_values), -1)
    pairs = contexts(memory)
    for place, pair in enumerate(pairs):
        places[pair] = place
    policies = np.arange(2 ** len(pairs))

    # The first step counts as following a failed step to the left. A context of its own would change nothing. If it
    # chose -1, the walker would fail and be in this one. If it chose +1 and this one -1, the walker would stand still
    # for good wherever it met this one; with +1 in both it is at least as good on every task.
    state, previous_state = np.zeros_like(policies), np.zeros_like(policies)
    previous_action, streak = np.full_like(policies, -1), np.zeros_like(policies)
    total, time = np.zeros(len(policies)), np.zeros(len(policies))
    mark, running = np.full_like(policies, -1), np.zeros(len(policies), bool)

    # The context alone decides the next one, so after as many steps as there are contexts every walk is in a cycle no
    # longer than that. One more round settles the streaks (a cycle on a line has a turn or a failure). Then one cycle,
    # from a marked context until it is met again, is added up.
    settled = 2 * len(pairs)
    for t in range(settled + len(pairs) + 1):
        context = places[state, kind.value(state, previous_state, previous_action)]
        if t == settled:
            mark, running = context, np.ones(len(policies), bool)
        elif t > settled:
            running &= context != mark
        action = 2 * ((policies >> context) & 1) - 1
        following, streak = _step(task, state, action, previous_action, streak)
        total += running * streak
        time += running * (1 + turn_time * (action != previous_action))
        state, previous_state, previous_action = following, state, action
    return total / time


def _actions_of(policy: int, memory: str) -> dict[tuple[int, int], int]:
    """A policy in the words of `CoveringPolicy.actions`."""

    def shown(state: int, value: int) -> int:
        if memory == "previous action":
            return 2 * value - 1
        return state + value - 1 if memory == "previous state" else value

    pairs = contexts(memory)
    return {(state, shown(state, value)): 2 * (policy >> bit & 1) - 1 for bit, (state, value) in enumerate(pairs)}


def _max_plus(walks: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """The matrix product with sums for products and the largest for the sum: walks made longer by a step."""
    return (walks[:, :, None] + steps[None, :, :]).max(axis=1)


def _memory_class(memory: str) -> MemoryClass:
    if memory not in MEMORIES:
        raise unknown("memory", memory, MEMORIES)
    return MEMORIES[memory]


def _check_turn_time(turn_time: int) -> None:
    if turn_time not in (0, 1):
        raise UsageError(f"turn_time is {turn_time}; valid: 0 (the printed transition model), 1 (the printed rewards)")
