"""Laws of the policy selectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import repertory
from repertory.profiles import with_profile
from repertory.selectors.averages import LifetimeAverages


def shares(selector: repertory.Selector, task: int, n: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    return np.bincount([selector.select(task, rng) for _ in range(draws)], minlength=n) / draws


def test_an_untried_policy_has_share_epsilon_over_n(rng: np.random.Generator) -> None:
    selector = repertory.EpsilonGreedy(epsilon=0.1)(3, 5, rng)
    selector.update(task=1, policy=2, total_reward=-7.0, steps=10)  # bad, but tried
    share = shares(selector, 1, 5, 40_000, rng)
    error = 4 * math.sqrt(0.02 * 0.98 / 40_000)
    assert share[[0, 1, 3, 4]] == pytest.approx(0.02, abs=error)
    assert share[2] == pytest.approx(0.92, abs=2 * error)


def test_the_first_pick_on_a_task_is_uniform(rng: np.random.Generator) -> None:
    selector = repertory.EpsilonGreedy(epsilon=0.1)(3, 4, rng)
    selector.update(task=1, policy=2, total_reward=5.0, steps=1)  # another task
    assert shares(selector, 0, 4, 20_000, rng) == pytest.approx(0.25, abs=0.015)


def test_equal_averages_are_drawn_among(rng: np.random.Generator) -> None:
    selector = repertory.EpsilonGreedy(epsilon=0.0)(1, 3, rng)
    for policy in (0, 2):
        selector.update(0, policy, 10.0, 5)
    assert shares(selector, 0, 3, 10_000, rng) == pytest.approx([0.5, 0.0, 0.5], abs=0.02)


def test_per_step_ranks_by_reward_per_step_on_the_task(rng: np.random.Generator) -> None:
    selector = repertory.EpsilonGreedy(epsilon=0.0, average="per step")(2, 2, rng)
    selector.update(0, 0, total_reward=30.0, steps=100)
    selector.update(0, 1, total_reward=9.0, steps=10)
    selector.update(1, 1, total_reward=0.0, steps=1000)  # another task does not count
    assert selector.select(0, rng) == 1


def test_per_policy_episode_divides_by_episodes_on_all_tasks_and_goes_stale(rng: np.random.Generator) -> None:
    selector = repertory.EpsilonGreedy(epsilon=0.0, average="per policy episode")(2, 2, rng)
    selector.update(0, 0, 100.0, 100)  # 100 / 1
    selector.update(0, 1, 90.0, 90)  # 90 / 1
    selector.update(1, 0, 10.0, 10)  # policy 0 now has two episodes, but its value on task 0 is stale
    assert selector.select(0, rng) == 0
    selector.update(0, 0, 60.0, 60)  # (100 + 60) / 3 = 53.3
    assert selector.select(0, rng) == 1


def test_ucb_formula_by_hand(rng: np.random.Generator) -> None:
    selector = repertory.UCB1Tuned(optimal_average=1.0, optimal_return=200.0)(2, 2, rng)
    selector.update(0, 0, 100.0, 101)
    selector.update(0, 0, 50.0, 51)
    selector.update(0, 1, 20.0, 21)
    selector.update(1, 1, 1.0, 2)  # another task does not count
    n = 3

    def bound(average: float, samples: list[float]) -> float:
        m = len(samples)
        variance = np.var(samples) + math.sqrt(2 * math.log(n) / m)
        return average + math.sqrt(math.log(n) / m * min(0.25, variance))

    expected = [bound(150 / 152, [0.5, 0.25]), bound(20 / 21, [0.1])]
    np.testing.assert_allclose(selector.bounds(0), expected, rtol=1e-12)


def test_ucb_uses_small_variances(rng: np.random.Generator) -> None:
    """With enough use the variance, not 1/4, bounds the exploration."""
    selector = repertory.UCB1Tuned(average="per step")(1, 1, rng)
    for _ in range(5000):
        selector.update(0, 0, 100.0, 100)
    n = 5000
    width = math.sqrt(math.log(n) / n * math.sqrt(2 * math.log(n) / n))
    assert selector.bounds(0)[0] == pytest.approx(1.0 + width, rel=1e-9)
    assert math.sqrt(2 * math.log(n) / n) < 0.25


def test_ucb_tries_every_policy_once_before_any_twice(rng: np.random.Generator) -> None:
    selector = repertory.UCB1Tuned()(1, 6, rng)
    picked = []
    for _ in range(6):
        picked.append(selector.select(0, rng))
        selector.update(0, picked[-1], 100.0, 100)
    assert sorted(picked) == list(range(6))


class ReleasedUCBTwin:
    """The authors' UCB1-Tuned, from lists of all that was pushed."""

    def __init__(self, tasks: int, policies: int) -> None:
        self.stored = [[1.0] * policies for _ in range(tasks)]
        self.rewards = [[0.0] * policies for _ in range(tasks)]
        self.episodes = [0] * policies
        self.pushed: list[list[float]] = [[] for _ in range(policies)]

    def update(self, task: int, policy: int, total_reward: float) -> None:
        self.episodes[policy] += 1
        self.rewards[task][policy] += total_reward
        n = sum(map(len, self.pushed)) + 1
        samples = self.pushed[policy]
        samples.append(self.rewards[task][policy] / self.episodes[policy] / 200)
        variance = float(np.var(samples, ddof=1)) if len(samples) > 1 else samples[0] ** 2
        optimism = variance + math.sqrt(2 * math.log(n) / len(samples))
        width = math.sqrt(math.log(n) / len(samples) * min(optimism, 0.25))
        self.stored[task][policy] = float(np.mean(samples)) + width


def test_the_released_ucb_is_the_authors_over_random_updates(rng: np.random.Generator) -> None:
    tasks, policies = 27, 9
    settings = with_profile(repertory.UCB1Tuned, "released")
    selector, twin = settings(tasks, policies, rng), ReleasedUCBTwin(tasks, policies)
    assert selector.bounds(3).tolist() == [1.0] * policies  # exactly, without a width
    for update in range(10_000):
        task, policy, reward = int(rng.integers(tasks)), int(rng.integers(policies)), float(rng.integers(8, 202))
        selector.update(task, policy, reward, int(reward))
        twin.update(task, policy, reward)
        assert selector.bounds(task)[policy] == pytest.approx(twin.stored[task][policy], rel=1e-12), update
    for task in range(tasks):
        np.testing.assert_allclose(selector.bounds(task), twin.stored[task], rtol=1e-12)


def test_the_released_ucb_ranks_policies_by_what_they_did_on_any_task(rng: np.random.Generator) -> None:
    selector = with_profile(repertory.UCB1Tuned, "released")(2, 2, rng)
    selector.update(0, 0, 200.0, 200)
    first = selector.bounds(0)[0]
    assert first == 1.0  # the mean of one sample, 200 / 200, and no width while ln n is 0
    selector.update(1, 0, 2.0, 2)
    assert selector.bounds(0)[0] == first  # stale
    samples = [1.0, 2 / 2 / 200]
    width = math.sqrt(math.log(2) / 2 * min(0.25, np.var(samples, ddof=1) + math.sqrt(2 * math.log(2) / 2)))
    assert selector.bounds(1)[0] == pytest.approx(np.mean(samples) + width)


@pytest.mark.parametrize(("tasks", "policies"), [(27, 9), (27, 4), (27, 14), (27, 1), (18, 18), (3, 5)])
def test_fixed_partition_is_balanced_and_random(tasks: int, policies: int) -> None:
    partitions = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        selector = repertory.FixedPartition()(tasks, policies, rng)
        partition = [selector.select(task, rng) for task in range(tasks)]
        sizes = np.bincount(partition, minlength=policies)
        assert sizes.max() - sizes.min() <= 1
        partitions.append(tuple(partition))
    assert len(set(partitions)) > 1 or policies == 1


def test_a_partition_may_be_given(rng: np.random.Generator) -> None:
    selector = repertory.FixedPartition(groups="0-2,6 / 3 / 4-5")(7, 3, rng)
    assert [selector.select(task, rng) for task in range(7)] == [0, 0, 0, 1, 2, 2, 0]
    assert repertory.selector("fixed-partition", groups="0-26/27-53")(54, 2, rng).select(27, rng) == 1


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("0-2/3-6", "for 2 policies; valid: 3 groups, between slashes"),
        ("0-2/4/5-6", r"no policy for tasks \[3\]; valid: each of 0 to 6 once"),
        ("0-3/3/4-6", r"several policies for tasks \[3\]; valid"),
        ("0-3/4/5-7", r"tasks that do not exist \[7\]; valid"),
        ("0-3/4/999999999", r"tasks that do not exist \[999999999\]; valid"),
        ("0-3//4-6", "a group in groups is ''; valid: numbers and ranges"),
        ("a/b/c", "a group in groups is 'a'; valid: numbers and ranges"),
    ],
)
def test_a_partition_that_is_none_is_refused(groups: str, message: str, rng: np.random.Generator) -> None:
    with pytest.raises(repertory.UsageError, match=message):
        repertory.FixedPartition(groups=groups)(7, 3, rng)


def test_one_to_one(rng: np.random.Generator) -> None:
    selector = repertory.OneToOne()(4, 4, rng)
    assert [selector.select(task, rng) for task in range(4)] == [0, 1, 2, 3]
    with pytest.raises(repertory.UsageError, match="3 policies and 4 tasks; valid: --policies 4"):
        repertory.OneToOne()(4, 3, rng)


@pytest.mark.parametrize(
    "settings",
    [
        repertory.EpsilonGreedy(),
        repertory.UCB1Tuned(),
        with_profile(repertory.UCB1Tuned, "released"),
        repertory.FixedPartition(),
    ],
)
def test_a_restored_selector_goes_on_the_same(settings: repertory.EpsilonGreedy, rng: np.random.Generator) -> None:
    selector, twin = settings(3, 4, np.random.default_rng(1)), settings(3, 4, np.random.default_rng(2))
    for _ in range(50):
        selector.update(int(rng.integers(3)), int(rng.integers(4)), float(rng.normal()), 10)
    twin.load_state_dict(selector.state_dict())
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    for _ in range(100):
        task = int(rng.integers(3))
        picks = selector.select(task, one), twin.select(task, other)
        assert picks[0] == picks[1]
        for each in (selector, twin):
            each.update(task, picks[0], 1.0, 7)


def test_epsilon_outside_its_range_is_refused() -> None:
    with pytest.raises(repertory.UsageError, match=r"EpsilonGreedy.epsilon is 1.5; valid: a number at least 0"):
        repertory.EpsilonGreedy(epsilon=1.5)


@pytest.mark.parametrize("pay", [1.0, -1.0, 0.1])
def test_where_every_step_earns_the_same_returns_rank_and_once_one_differs_averages_do(
    pay: float, rng: np.random.Generator
) -> None:
    selector = repertory.EpsilonGreedy(epsilon=0)(2, 3, rng)
    for policy, steps in ((0, 20), (1, 200), (0, 30)):
        selector.update(0, policy, sum([pay] * steps), steps)
    best = 1 if pay > 0 else 0
    assert {selector.select(0, rng) for _ in range(50)} == {best}
    twin = repertory.EpsilonGreedy(epsilon=0)(2, 3, rng)
    twin.load_state_dict(selector.state_dict())
    assert {twin.select(0, rng) for _ in range(50)} == {best}
    selector.update(0, best, 10 * (pay - 0.05), 10)  # a poor episode: now reward per step tells them apart
    assert {selector.select(0, rng) for _ in range(50)} == {1 - best}


def test_whether_averages_tell_policies_apart_is_what_a_look_at_all_of_them_says(rng: np.random.Generator) -> None:
    averages, seen = LifetimeAverages("per step", 2, 3, -math.inf), set()
    for _ in range(3_000):
        task, policy = rng.integers(2), rng.integers(3)
        averages.update(task, policy, float(rng.choice([-1.0, 1.0])), 1)  # often all at the same average, often not
        values = averages.values[task]
        tried = values[np.isfinite(values)]
        says = len(tried) > 1 and np.ptp(tried) <= 1e-9 * max(-tried.min(), tried.max())
        assert averages.tells_nothing(task) == says
        seen.add(says)
        if rng.random() < 0.1:  # another life
            averages = LifetimeAverages("per step", 2, 3, -math.inf)
    assert seen == {False, True}


def test_a_state_of_a_version_that_did_not_count_episodes_by_task_is_loaded(rng: np.random.Generator) -> None:
    selector, other = (repertory.EpsilonGreedy(epsilon=0)(1, 2, rng) for _ in range(2))
    for policy, steps in ((0, 20), (1, 200)):
        selector.update(0, policy, float(steps), steps)
    state = selector.state_dict()
    del state["uses_on_tasks"]
    other.load_state_dict(state)
    assert {other.select(0, rng) for _ in range(50)} == {0, 1}  # a tie, as it was then


def test_advice_is_given_once(rng: np.random.Generator) -> None:
    selector = repertory.UCB1Tuned()(2, 2, rng)

    def play() -> None:
        for policy, steps in ((0, 20), (1, 200), (0, 30), (1, 190)):
            selector.update(1, policy, float(steps), steps)
            selector.update(0, policy, 0.5 * steps + policy, steps)

    with pytest.warns(UserWarning, match="every step of task 1 has earned the same") as heard:
        play()
    assert len(heard) == 1


def test_an_average_per_episode_tells_apart_what_costs_the_same_per_step(rng: np.random.Generator) -> None:
    """Every step costs 1; policy 0 is done in 10 steps, policy 1 needs 50."""
    by_step, by_episode = (
        repertory.EpsilonGreedy(epsilon=0, average=a)(1, 2, rng) for a in ("per step", "per episode")
    )
    for selector in (by_step, by_episode):
        for policy, steps in ((0, 10), (1, 50), (0, 10), (1, 50)):
            selector.update(0, policy, -float(steps), steps)
    assert {by_step.select(0, rng) for _ in range(50)} == {0}  # all steps alike: the returns decide
    assert {by_episode.select(0, rng) for _ in range(50)} == {0}
    assert by_episode.state_dict()["values"].tolist() == [[-10.0, -50.0]]
