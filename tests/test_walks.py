"""Example 2 of the paper, walks on a line: by hand, and for all policies at once."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from repertory.errors import UsageError
from repertory.paper.walks import (
    MEMORIES,
    N_STATES,
    TASKS,
    contexts,
    optimal_walk,
    walk_capacities,
    walk_capacity,
    walk_rewards,
)


def walk_by_hand(memory: str, policy: int, task: tuple[int, int], turn_time: int) -> Fraction:
    """The average reward of one policy, walked step by step until the same situation comes again."""
    order = contexts(memory)
    state = previous_state = streak = 0
    previous_action = -1
    seen: dict[tuple[int, int, int, int], tuple[int, int]] = {}
    total = time = 0
    while (situation := (state, previous_state, previous_action, streak)) not in seen:
        seen[situation] = total, time
        remembered = {
            "nothing": 0,
            "previous action": int(previous_action == 1),
            "previous state": previous_state - state + 1,
        }[memory]
        action = 1 if policy >> order.index((state, remembered)) & 1 else -1
        following = max(0, min(state + action, N_STATES - 1))
        if (state, following) == task:
            following = state
        going_on = streak if action == previous_action else 0
        streak = 0 if following == state else going_on + 1
        total += streak
        time += 1 + (turn_time if action != previous_action else 0)
        state, previous_state, previous_action = following, state, action
    earlier_total, earlier_time = seen[situation]
    return Fraction(total - earlier_total, time - earlier_time)


@pytest.mark.parametrize("turn_time", [0, 1])
@pytest.mark.parametrize("memory", MEMORIES)
def test_all_policies_at_once_earn_what_each_earns_alone(memory: str, turn_time: int) -> None:
    rewards = walk_rewards(memory, turn_time)
    rng = np.random.default_rng(0)
    policies = range(32) if memory == "nothing" else rng.integers(len(rewards), size=200).tolist()
    for policy in policies:
        for task, blocked in enumerate(TASKS):
            by_hand = walk_by_hand(memory, policy, blocked, turn_time)
            assert rewards[policy, task] == pytest.approx(float(by_hand), abs=1e-14)


def test_the_best_walk_sweeps_the_longest_stretch() -> None:
    """By hand: a sweep of N states has rewards 1, ..., N - 1. Over its N - 1 steps that averages N / 2; over the
    paper's N time units, (N - 1) / 2. The longest stretches are [0,1], [0,2], [0,3], then [0,2] (which beats the
    paper's [3,4]), [2,4], [1,4]."""
    stretches = [2, 3, 4, 3, 3, 4]
    assert [optimal_walk(task, turn_time=0) for task in TASKS] == [n / 2 for n in stretches]
    assert [optimal_walk(task, turn_time=1) for task in TASKS] == [(n - 1) / 2 for n in stretches]


def test_memory_of_one_action_attains_the_optimum_on_every_task() -> None:
    for turn_time in (0, 1):
        optimal = [optimal_walk(task, turn_time) for task in TASKS]
        for memory in ("previous action", "previous state"):
            np.testing.assert_allclose(walk_rewards(memory, turn_time).max(axis=0), optimal)


def test_example_2_with_the_papers_time_units() -> None:
    """By hand, with epsilon 0.25 and rewards (N - 1) / 2 for a stretch of N states.

    On the state alone a walker swings between two states at best, 0.5, which is a third of 1.5: no number of policies
    serves tasks (3,4) and (1,0) until epsilon is 2/3.

    With the previous action: going on up where it fails leaves "same state, same action", so the walker fails for good;
    it has to turn before. Tasks (1,2), (2,3), (3,4) ask for a turn in 1, in 2 and in 3 on the way up, three different
    policies (on (3,4), [0,2] earns 1 < 0.75 x 1.5). Three suffice: the one for (1,2) fails in 1 on (1,0), turns again
    and sweeps [1,4]; the one for (2,3) does for (3,2) and, failing in 2 and turning again, for (2,1). N = 3, C = 2.

    With the previous state, failing shows: to turn only then, at one end, loses one unit in 2N + 1, less than 0.25. One
    policy sweeps [0,2], turns back in 1 when it fails there and goes on up when it fails in 2: (1,2) with 0.4 of 0.5,
    (2,3), (3,2), (2,1). Another goes up until it fails or is in 4, down until it fails in 1 or is in 0: (3,4) and
    (1,0). One is not enough: (3,2) asks for a turn in 2 on the way up, (3,4) for none. N = 2, C = 3.
    """
    nothing, action, state = walk_capacities()
    assert (nothing.policies_enumerated, action.policies_enumerated, state.policies_enumerated) == (32, 1024, 8192)
    assert nothing.n_policies is nothing.capacity is None
    assert nothing.covering == ()
    assert nothing.smallest_epsilon == pytest.approx(2 / 3)
    assert (action.n_policies, action.capacity) == (3, 2.0)
    assert (state.n_policies, state.capacity) == (2, 3.0)


def test_example_2_with_the_printed_transitions() -> None:
    """By hand: a turn takes no time, so a stretch of N states earns N / 2, and [0,2] earns 1.5 = 0.75 x 2 on (3,4),
    which is just enough. One policy sweeps [0,2], and [2,4] on (2,1); the other [0,1], and [1,4] on (1,0). One is not
    enough: (1,2) asks for a turn in 1 on the way up (turning after a failure earns 2/3 < 0.75), (2,3) for none. Both
    memories can do this: N = 2, C = 3. On the state alone, 1 of 2 is the best on (3,4) and (1,0), so epsilon must be
    0.5, where two policies do: none serves both (1,2), where 1 must turn down, and (1,0), where it must not."""
    nothing, action, state = walk_capacities(turn_time=0)
    assert nothing.n_policies is None
    assert nothing.smallest_epsilon == pytest.approx(0.5)
    assert (action.n_policies, action.capacity) == (2, 3.0)
    assert (state.n_policies, state.capacity) == (2, 3.0)
    assert walk_capacity("nothing", epsilon=0.5, turn_time=0).n_policies == 2


@pytest.mark.parametrize("turn_time", [0, 1])
@pytest.mark.parametrize("memory", ["previous action", "previous state"])
def test_the_covering_policies_do_what_is_said_of_them(memory: str, turn_time: int) -> None:
    answer = walk_capacity(memory, turn_time=turn_time)
    assert sorted(task for policy in answer.covering for task in policy.tasks) == sorted(TASKS)
    for covering in answer.covering:
        number = sum((action == 1) << bit for bit, action in enumerate(covering.actions.values()))
        for task, reward in zip(covering.tasks, covering.rewards, strict=True):
            assert reward == pytest.approx(float(walk_by_hand(memory, number, task, turn_time)))
            assert reward >= 0.75 * optimal_walk(task, turn_time) - 1e-12
    shown = set(answer.covering[0].actions)
    if memory == "previous state":
        assert shown == {(s, p) for s in range(5) for p in range(5) if abs(s - p) <= 1}
    else:
        assert shown == set(product(range(5), (-1, 1)))


def test_more_memory_and_more_tolerance_never_need_more_policies() -> None:
    for turn_time in (0, 1):
        for memory in MEMORIES:
            needs = [walk_capacity(memory, epsilon, turn_time).n_policies or 99 for epsilon in (0.0, 0.25, 0.5, 0.7)]
            assert needs == sorted(needs, reverse=True)
            at_most = walk_capacity("nothing", 0.7, turn_time).n_policies
            assert at_most is not None
            assert needs[-1] <= at_most


def test_walks_are_checked() -> None:
    with pytest.raises(UsageError, match="unknown memory 'previous states'; did you mean 'previous state'"):
        walk_capacity("previous states")
    with pytest.raises(UsageError, match="turn_time is 2"):
        walk_capacities(turn_time=2)
    with pytest.raises(UsageError, match="epsilon is -1"):
        walk_capacities(epsilon=-1)
