"""Lemma 1 of the paper and its corollaries, on random tasks and on counterexamples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from repertory.errors import UsageError
from repertory.paper.transfer import (
    TabularMDP,
    expected_reward,
    lemma_1,
    occupation,
    optimal_policy,
    regret_by_state,
    transfer,
)


def random_task(rng: np.random.Generator, like: TabularMDP | None = None, keep: str = "") -> TabularMDP:
    """A random MDP; with `keep`, one that shares its "rewards" or its "dynamics" with another."""
    states, actions = (3, 2) if like is None else like.rewards.shape
    rewards = rng.random((states, actions))
    if rng.random() < 0.5:  # coarse rewards: ties, zeros and ones are where conditions are met with equality
        rewards = np.round(2 * rewards) / 2
    transitions = rng.dirichlet(np.full(states, 0.3), (states, actions))
    initial = rng.dirichlet(np.ones(states))
    discount = rng.choice([0.0, 0.5, 0.9, 0.99])
    if like is not None:
        discount = like.discount
        rewards = like.rewards if keep == "rewards" else rewards
        if keep == "dynamics":
            transitions, initial = like.transitions, like.initial
    return TabularMDP(transitions, rewards, initial, float(discount))


def all_policies(task: TabularMDP) -> Iterator[tuple[int, ...]]:
    return product(range(task.n_actions), repeat=task.n_states)


def one_state(*rewards: float, discount: float = 0.9) -> TabularMDP:
    """A single state: what the policy earns is its action's reward, discounted or averaged alike."""
    return TabularMDP(np.ones((1, len(rewards), 1)), np.array([rewards]), np.ones(1), discount)


@pytest.mark.parametrize("seed", range(20))
def test_occupation_is_the_power_series_and_sums_to_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    task = random_task(rng)
    policy = rng.integers(task.n_actions, size=task.n_states)
    transitions = task.transitions[np.arange(task.n_states), policy]
    distribution, series, weight = task.initial, np.zeros(task.n_states), 1 - task.discount
    for _ in range(4000):
        series = series + weight * distribution
        distribution, weight = distribution @ transitions, weight * task.discount
    times = occupation(policy, task)
    np.testing.assert_allclose(times, series, atol=1e-12)
    assert times.sum() == pytest.approx(1)


def test_occupation_is_what_a_simulation_counts() -> None:
    """Each step is the last with probability 1 - gamma; where a walk ends is distributed as the occupation measure."""
    rng = np.random.default_rng(0)
    task = TabularMDP(rng.dirichlet(np.ones(3), (3, 2)), rng.random((3, 2)), np.array([1.0, 0.0, 0.0]), 0.8)
    policy = np.array([1, 0, 1])
    cumulative = task.transitions[np.arange(3), policy].cumsum(axis=1)
    state = np.zeros(200_000, np.int64)
    walking = rng.random(state.size) < task.discount
    while walking.any():
        state[walking] = (rng.random((walking.sum(), 1)) > cumulative[state[walking]]).sum(axis=1)
        walking &= rng.random(state.size) < task.discount
    np.testing.assert_allclose(np.bincount(state, minlength=3) / state.size, occupation(policy, task), atol=0.005)


def test_without_discounting_the_occupation_is_the_papers_fraction_of_time() -> None:
    rng = np.random.default_rng(1)
    task = TabularMDP(rng.dirichlet(np.ones(4), (4, 2)), rng.random((4, 2)), np.array([1.0, 0, 0, 0]), 1 - 1e-7)
    policy = np.array([0, 1, 1, 0])
    long_after = np.linalg.matrix_power(task.transitions[np.arange(4), policy], 1000)[0]
    np.testing.assert_allclose(occupation(policy, task), long_after, atol=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_the_optimal_policy_is_the_best_of_all(seed: int) -> None:
    task = random_task(np.random.default_rng(seed))
    best = max(expected_reward(policy, task) for policy in all_policies(task))
    assert expected_reward(optimal_policy(task), task) == pytest.approx(best, abs=1e-12)


def test_of_equally_good_actions_the_first_counts_as_optimal() -> None:
    assert optimal_policy(one_state(0.5, 1.0, 1.0)).tolist() == [1]
    assert lemma_1([2], one_state(0.5, 1.0, 1.0), 0.0).s_minus == ()


@pytest.mark.parametrize("seed", range(40))
def test_the_regret_is_the_sum_of_what_every_state_costs(seed: int) -> None:
    task = random_task(np.random.default_rng(seed))
    for policy in all_policies(task):
        costs = regret_by_state(policy, task)
        assert (costs >= -1e-12).all()
        assert costs.sum() == pytest.approx(lemma_1(policy, task, 0.1).regret, abs=1e-10)
    assert regret_by_state(optimal_policy(task), task) == pytest.approx(np.zeros(task.n_states), abs=1e-10)


def test_lemma_1_as_printed_passes_the_worst_policy_there_is() -> None:
    """One state, rewards 1 and 0, and the policy that takes 0. S- is the state, and what the policy earns there is 0,
    so 0 <= epsilon R* for every epsilon, though the regret is all of R* = 1. No discounting or average is involved."""
    lemma = lemma_1([1], one_state(1.0, 0.0), epsilon=0.0)
    assert lemma.s_minus == (0,)
    assert lemma.reward_on_s_minus == 0
    assert lemma.printed_condition
    assert lemma.regret == pytest.approx(1)
    assert not lemma.epsilon_optimal
    assert not lemma.corrected_condition


def test_lemma_1_cannot_see_a_loss_outside_s_minus() -> None:
    """State 0 pays 0 for both actions; the first leads to state 1, which pays 1 for good, the second stays. The second
    earns nothing, yet its reward never differs from the optimal policy's: S- is empty, whatever is summed over it."""
    transitions = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    task = TabularMDP(transitions, np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([1.0, 0.0]), 0.9)
    lemma = lemma_1([1, 0], task, epsilon=0.0)
    assert lemma.s_minus == ()
    assert lemma.printed_condition
    assert lemma.regret == pytest.approx(0.9)
    assert not lemma.corrected_condition
    np.testing.assert_allclose(regret_by_state([1, 0], task), [0.9, 0.0])


def test_lemma_1_on_random_tasks() -> None:
    """The corrected condition never passes a policy that is not epsilon-optimal; the printed one does all the time.
    What the printed one does guarantee is that the proof's bound on the regret is tight to epsilon R*."""
    rng = np.random.default_rng(2)
    printed, printed_wrongly, corrected = 0, 0, 0
    for _ in range(400):
        task = random_task(rng)
        for policy in all_policies(task):
            lemma = lemma_1(policy, task, rng.uniform(0, 0.6))
            assert lemma.reward == pytest.approx(expected_reward(policy, task), abs=1e-12)
            assert lemma.regret >= -1e-10
            if lemma.corrected_condition:
                corrected += 1
                assert lemma.epsilon_optimal
            if lemma.printed_condition:
                printed += 1
                printed_wrongly += not lemma.epsilon_optimal
                bound = lemma.optimal_reward - lemma.reward_on_s_plus
                slack = lemma.epsilon * lemma.optimal_reward
                assert bound - slack - 1e-9 <= lemma.regret <= bound + 1e-9
    assert corrected > 500
    assert printed_wrongly > printed / 10


def test_corollary_1_as_printed_passes_a_policy_that_does_not_transfer() -> None:
    """State 0 pays 0.5 for staying (action 0) and 0.4 for action 1; state 1 pays 1 and keeps the walker.

    Source: action 1 stays too. Staying is optimal, R* = 0.5, S- is empty, so the printed left sides are 0.
    Target: action 1 leads to state 1. R'* = 0.1 x 0.4 + 0.9 x 1 = 0.94 at gamma 0.9, so the printed condition reads
    0 <= 0.25 x 0.44 and holds. The policy still earns 0.5: its regret, 0.44, exceeds 0.25 x 0.94. Nor does the printed
    conclusion hold: state 0 is in the target's S-, and 0.5 <= 0.25 x 0.5 is false.
    """
    rewards, initial = np.array([[0.5, 0.4], [1.0, 1.0]]), np.array([1.0, 0.0])
    stay, end = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    source = TabularMDP(np.array([[stay, stay], [end, end]]), rewards, initial, 0.9)
    target = TabularMDP(np.array([[stay, end], [end, end]]), rewards, initial, 0.9)
    carried = transfer([0, 0], source, target, epsilon=0.25)
    assert carried.corollary == 1
    assert carried.source.s_minus == ()
    assert carried.source.regret == pytest.approx(0)
    assert carried.source.printed_condition
    assert carried.printed_sum == 0
    assert carried.printed_condition
    assert carried.optimal_gain == pytest.approx(0.44)
    assert carried.added_regret == pytest.approx(0.44)
    assert carried.target.reward_on_s_minus == pytest.approx(0.5)
    assert carried.target.reward_on_s_minus > 0.25 * carried.source.optimal_reward
    assert not carried.transfers
    assert not carried.corrected_condition


def test_corollary_2_as_printed_passes_a_policy_that_does_not_transfer() -> None:
    """One state; both actions pay 0.5, on the target the second pays 1. The policy takes the first: optimal on the
    source, its reward unchanged, so the printed condition reads 0 <= 0.25 x 0.5. On the target its regret is 0.5, more
    than 0.25 x 1. Nor does the printed conclusion hold: 0.5 <= 0.25 x 0.5 is false."""
    carried = transfer([0], one_state(0.5, 0.5), one_state(0.5, 1.0), epsilon=0.25)
    assert carried.corollary == 2
    assert carried.source.regret == pytest.approx(0)
    assert carried.printed_sum == 0
    assert carried.printed_condition
    assert carried.target.regret == pytest.approx(0.5)
    assert carried.target.reward_on_s_minus > 0.25 * carried.source.optimal_reward
    assert not carried.transfers
    assert not carried.corrected_condition


@pytest.mark.parametrize(("keep", "corollary"), [("rewards", 1), ("dynamics", 2), ("", None)])
def test_transfer_on_random_pairs_of_tasks(keep: str, corollary: int | None) -> None:
    """The corrected condition implies transfer, whatever changes. The printed ones do not, even if the policy is truly
    epsilon-optimal on the source."""
    rng = np.random.default_rng(3)
    corrected, printed_wrongly, without_condition = 0, 0, 0
    for _ in range(150):
        source = random_task(rng)
        target = random_task(rng, source, keep)
        for policy in all_policies(source):
            carried = transfer(policy, source, target, rng.uniform(0, 0.6))
            assert carried.corollary == corollary
            assert carried.added_regret == pytest.approx(carried.target.regret - carried.source.regret, abs=1e-10)
            if carried.corrected_condition:
                corrected += 1
                assert carried.transfers
            without_condition += carried.transfers and not carried.corrected_condition
            if carried.printed_condition and carried.source.epsilon_optimal and carried.source.printed_condition:
                printed_wrongly += not carried.transfers
    assert corrected > 50
    assert without_condition > 0  # sufficient, not necessary
    assert (printed_wrongly > 10) == (corollary is not None)


def test_one_kind_of_change_leaves_the_other_gain_at_zero() -> None:
    rng = np.random.default_rng(4)
    source = random_task(rng)
    assert transfer([0, 1, 0], source, random_task(rng, source, "rewards"), 0.1).gain_by_rewards == 0
    assert transfer([0, 1, 0], source, random_task(rng, source, "dynamics"), 0.1).gain_by_dynamics == 0


def test_a_policy_transfers_to_the_same_task_as_well_as_it_serves_it() -> None:
    task = random_task(np.random.default_rng(5))
    for policy in all_policies(task):
        carried = transfer(policy, task, task, 0.1)
        assert carried.corollary is carried.printed_sum is carried.printed_condition is None
        assert carried.added_regret == 0
        assert carried.transfers == carried.source.epsilon_optimal == carried.corrected_condition


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rewards": np.array([[1.5, 0.0]])}, r"rewards from 0\.0 to 1\.5; valid: in \[0, 1\]"),
        ({"rewards": np.array([[math.nan, 0.0]])}, "rewards from nan"),
        ({"rewards": np.array([1.0, 0.0])}, r"rewards of shape \(2,\)"),
        ({"transitions": np.ones((1, 1, 1))}, r"transitions of shape \(1, 1, 1\)"),
        ({"transitions": np.full((1, 2, 1), 0.5)}, "transitions has entries"),
        ({"initial": np.array([-1.0])}, "initial has entries"),
        ({"initial": np.array([0.5, 0.5])}, r"initial of shape \(2,\)"),
        ({"discount": 1.0}, r"discount is 1\.0; valid: at least 0 and below 1"),
        ({"discount": math.nan}, "discount is nan"),
    ],
)
def test_a_task_is_checked_at_the_door(changes: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {
        "transitions": np.ones((1, 2, 1)),
        "rewards": np.array([[1.0, 0.0]]),
        "initial": np.ones(1),
        "discount": 0.9,
    }
    with pytest.raises(UsageError, match=message):
        TabularMDP(**{**fields, **changes})


def test_a_task_does_not_change_with_the_array_it_was_made_of() -> None:
    rewards = np.array([[1.0, 0.0]])
    task = TabularMDP(np.ones((1, 2, 1)), rewards, np.ones(1), 0.9)
    rewards[0, 0] = 0.0
    assert task.rewards[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        task.rewards[0, 0] = 0.0


def test_policies_and_pairs_of_tasks_are_checked() -> None:
    task = one_state(1.0, 0.0)
    for policy in ([0, 1], [0.5], [2], [-1]):
        with pytest.raises(UsageError, match="valid: 1 whole numbers from 0 to 1"):
            lemma_1(policy, task, 0.1)
    with pytest.raises(UsageError, match="valid: the same for both"):
        transfer([0], task, one_state(1.0, 0.0, 0.5), 0.1)
    with pytest.raises(UsageError, match=r"discounts 0\.9 and 0\.5"):
        transfer([0], task, one_state(1.0, 0.0, discount=0.5), 0.1)
    with pytest.raises(UsageError, match="epsilon is -1"):
        lemma_1([0], task, -1)
