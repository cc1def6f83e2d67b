"""Theoretical task capacity: the cover against brute force, the lemma on random MDPs, the two examples by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from repertory.errors import UsageError
from repertory.paper.cover import Cover, minimum_cover, relative_regrets, smallest_epsilon
from repertory.paper.polynomials import EXAMPLE_1, best_fit, expected_error, polynomial_capacity
from repertory.paper.transfer import (
    TabularMDP,
    expected_reward,
    lemma_1,
    occupation,
    optimal_policy,
    regret_by_state,
    transfer,
)
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

# --- the definition: minimum cover ---


def fewest_by_brute_force(regrets: np.ndarray, epsilon: float) -> int | None:
    policies = range(len(regrets))
    for size in range(1, len(regrets) + 1):
        for chosen in combinations(policies, size):
            if (regrets[list(chosen)].min(axis=0) <= epsilon).all():
                return size
    return None


@pytest.mark.parametrize("seed", range(60))
def test_the_cover_is_as_small_as_brute_force_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    regrets = rng.random((rng.integers(1, 9), rng.integers(1, 11)))
    epsilon = rng.uniform(0.1, 0.9)
    fewest = fewest_by_brute_force(regrets, epsilon)
    if fewest is None:
        with pytest.raises(UsageError):
            minimum_cover(regrets, epsilon)
        return
    cover = minimum_cover(regrets, epsilon)
    assert cover.n_policies == len(cover.chosen) == fewest
    assert cover.capacity == regrets.shape[1] / fewest
    for task, policy in enumerate(cover.assignment):
        assert regrets[policy, task] == regrets[list(cover.chosen), task].min() <= epsilon
    # In a smallest set nobody is idle, or the set could do without it.
    assert set(cover.assignment) == set(cover.chosen)


def test_the_greedy_answer_is_not_taken_for_the_smallest() -> None:
    """Greedy takes the policy with four tasks first and then needs two more; the two with three tasks are enough."""
    covers = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 0]])
    assert minimum_cover(1 - covers, 0.5) == Cover(2, 3.0, chosen=(0, 1), assignment=(0, 0, 0, 1, 1, 1))


def test_the_extremes_are_one_policy_for_all_and_one_for_each() -> None:
    one_each = 1.0 - np.eye(5)
    assert minimum_cover(one_each, 0.0) == Cover(5, 1.0, (0, 1, 2, 3, 4), (0, 1, 2, 3, 4))
    assert minimum_cover(one_each, 1.0).n_policies == 1
    assert minimum_cover([[0.3]], 0.3) == Cover(1, 1.0, (0,), (0,))


def test_rounding_does_not_decide_a_cover() -> None:
    assert 0.1 + 0.2 > 0.3
    assert minimum_cover([[0.1 + 0.2]], 0.3).n_policies == 1


def test_among_policies_that_cover_the_same_tasks_the_best_is_taken() -> None:
    assert minimum_cover([[0.2, 0.2], [0.1, 0.1], [0.2, 0.1]], 0.25).chosen == (1,)


def test_an_impossible_cover_names_the_tasks_and_the_epsilon_that_would_do() -> None:
    regrets = np.array([[0.1, 0.9, 0.5], [0.2, 0.7, 0.4]])
    with pytest.raises(UsageError, match=r"epsilon=0\.25 on tasks 1, 2; valid: epsilon of at least 0\.7,"):
        minimum_cover(regrets, 0.25)
    assert smallest_epsilon(regrets) == 0.7
    assert minimum_cover(regrets, smallest_epsilon(regrets)).n_policies == 1


@pytest.mark.parametrize(
    ("regrets", "epsilon", "message"),
    [
        ([0.1, 0.2], 0.1, r"shape \(2,\)"),
        (np.zeros((0, 3)), 0.1, r"shape \(0, 3\)"),
        (np.zeros((3, 0)), 0.1, r"shape \(3, 0\)"),
        ([[0.1, math.nan]], 0.1, "policy 0 on task 1 is nan"),
        ([[0.1], [math.inf]], 0.1, "policy 1 on task 0 is inf"),
        ([[0.1]], -0.1, r"epsilon is -0\.1"),
        ([[0.1]], math.nan, "epsilon is nan"),
        ([[0.1]], math.inf, "epsilon is inf"),
    ],
)
def test_the_cover_refuses_what_is_no_regret_matrix(regrets: Any, epsilon: float, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        minimum_cover(regrets, epsilon)


def test_relative_regrets_are_shares_of_the_optimum() -> None:
    regrets = relative_regrets([[1.0, 3.0, 0.0], [2.0, 4.0, 0.0]], [2.0, 4.0, 0.0])
    np.testing.assert_array_equal(regrets, [[0.5, 0.25, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(UsageError, match=r"\(policies, tasks\) and \(tasks,\)"):
        relative_regrets([[1.0, 2.0]], [1.0])
    with pytest.raises(UsageError, match="Shift the rewards"):
        relative_regrets([[1.0]], [-1.0])


# --- Lemma 1 and its corollaries ---


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


# --- Example 1: lines for polynomials ---


def test_example_1_needs_two_lines() -> None:
    """By hand: the line s errs by 1/6 on f_1 and f_2, and 0.01 s by 1/600 on f_3 and f_4, so two are enough. For one
    line A s to serve f_1 and f_4: E_1(A) = 2/3 - A/2 for A <= 1 and E_4(A) = A/2 - 0.01/3 for A >= 0.01 are equal at
    A = 0.67, where both are 2/3 - 0.335 = 0.33167 > 0.25. So one is not enough: N = 2, C = 2."""
    answer = polynomial_capacity()
    assert (answer.n_policies, answer.capacity) == (2, 2.0)
    assert sorted(task for group in answer.groups for task in group) == [0, 1, 2, 3]
    for slope, group in zip(answer.slopes, answer.groups, strict=True):
        assert max(expected_error(EXAMPLE_1[task], slope) for task in group) <= 0.25
    assert polynomial_capacity(epsilon=2 / 3 - 0.335).n_policies == 1
    assert polynomial_capacity(epsilon=2 / 3 - 0.335 - 1e-9).n_policies == 2


def test_example_1_group_by_group() -> None:
    """By hand. s^2 alone: E(A) = A^3/3 - A/2 + 1/3 on [0, 1], least at A = 1/sqrt(2): (1 - 1/sqrt(2)) / 3. f_1 mirrors
    it, E_1(A) = E_2(2 - A); f_3 and f_4 are a hundredth of f_1 and f_2. For f_1 and f_2, E_1 falls and E_2 rises
    between 1/sqrt(2) and 2 - 1/sqrt(2), and they meet at A = 1. f_2 and f_4 meet where A^3/3 - A + 1/3 + 1/300 = 0."""
    fits = polynomial_capacity().fits
    assert len(fits) == 15
    root = 1 / math.sqrt(2)
    alone = (1 - root) / 3
    assert fits[1,] == pytest.approx((root, alone))
    assert fits[0,] == pytest.approx((2 - root, alone))
    assert fits[2,] == pytest.approx(((2 - root) / 100, alone / 100))
    assert fits[3,] == pytest.approx((root / 100, alone / 100))
    assert fits[0, 1] == pytest.approx((1, 1 / 6))
    assert fits[2, 3] == pytest.approx((0.01, 1 / 600))
    assert fits[0, 2] == pytest.approx((2 / 3 + 1 / 150, 0.33))
    assert fits[0, 3] == pytest.approx((0.67, 2 / 3 - 0.335))
    meeting = next(x.real for x in np.roots([1 / 3, 0, -1, 1 / 3 + 1 / 300]) if 0 < x.real < 1)
    assert fits[1, 3] == pytest.approx((meeting, meeting / 2 - 1 / 300))
    assert fits[0, 1, 2, 3] == fits[0, 3]


def test_example_1_as_the_paper_computes_it() -> None:
    """The line s errs by 1/6 on f_1 and f_2, by 0.493 on f_3 and by more on f_4; 0.01 s errs by 1/600 on both."""
    f_1, f_2, f_3, f_4 = EXAMPLE_1
    assert expected_error(f_1, 1) == pytest.approx(1 / 6)
    assert expected_error(f_2, 1) == pytest.approx(1 / 6)
    assert expected_error(f_3, 1) == pytest.approx(0.5 + 0.01 / 3 - 0.01)
    assert expected_error(f_4, 1) == pytest.approx(0.5 - 0.01 / 3)
    assert expected_error(f_3, 0.01) == pytest.approx(1 / 600)
    assert expected_error(f_4, 0.01) == pytest.approx(1 / 600)


@pytest.mark.parametrize("seed", range(10))
def test_errors_and_best_lines_agree_with_numerical_integration_and_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = [rng.normal(size=rng.integers(1, 6)).tolist() for _ in range(2)]
    slope = rng.normal()
    roots = [root.real for root in np.roots((np.polynomial.Polynomial(tasks[0]) - [0, slope]).coef[::-1])]
    inside = [root for root in roots if 0 < root < 1]
    integral, _ = quad(lambda s: abs(slope * s - np.polyval(tasks[0][::-1], s)), 0, 1, points=inside or None)
    assert expected_error(tasks[0], slope) == pytest.approx(integral)

    fit = best_fit(tasks)
    searched = minimize_scalar(
        lambda a: max(expected_error(task, a) for task in tasks), bounds=(-30, 30), options={"xatol": 1e-6}
    )
    assert fit.error == pytest.approx(searched.fun, abs=1e-6)
    assert fit.error <= searched.fun + 1e-14


def test_lines_and_constants_are_fitted_too() -> None:
    """A line through the origin is fitted exactly, zero included. A constant 1: E(A) = 1 - A/2 up to A = 1 and
    A/2 - 1 + 1/A beyond, least at A = sqrt(2): sqrt(2) - 1."""
    assert best_fit([(0.0,)]) == (0.0, 0.0)
    assert best_fit([(0.0, -3.0)]) == pytest.approx((-3.0, 0.0), abs=1e-14)
    assert best_fit([(1.0,)]) == pytest.approx((math.sqrt(2), math.sqrt(2) - 1))


def test_polynomials_are_checked() -> None:
    with pytest.raises(UsageError, match="0 polynomials; valid: from 1 to 12"):
        polynomial_capacity([])
    with pytest.raises(UsageError, match="finite numbers from the constant upwards"):
        polynomial_capacity([(0.0, math.nan)])
    with pytest.raises(UsageError, match=r"on task 0; valid: epsilon of at least 0\.41421"):
        polynomial_capacity([(1.0,)], epsilon=0.4)


# --- Example 2: walks on a line ---


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
