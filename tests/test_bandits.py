"""Thompson sampling, sliding-window UCB and EXP3 as selectors."""

from __future__ import annotations

import numpy as np
import pytest

import repertory
from repertory.selectors.bandits import VALUES, EXP3Selector

SETTINGS = {
    "thompson": repertory.ThompsonSampling(),
    "sliding-window-ucb": repertory.SlidingWindowUCB(window=100),
    "exp3": repertory.EXP3(gamma=0.2),
}


def play(selector, values: np.ndarray, episodes: int, rng: np.random.Generator, task: int = 0) -> np.ndarray:
    """Episodes of a task on which policy i returns about values[i]; how often each was played in the last half."""
    counts = np.zeros(len(values), int)
    for episode in range(episodes):
        policy = selector.select(task, rng)
        selector.update(task, policy, float(rng.normal(values[policy], 0.5)), 10)
        if episode >= episodes // 2:
            counts[policy] += 1
    return counts


@pytest.mark.parametrize("name", SETTINGS)
def test_the_best_policy_is_found(name: str, rng: np.random.Generator) -> None:
    selector = SETTINGS[name](2, 4, rng)
    counts = play(selector, np.array([1.0, 5.0, 3.0, 2.0]), 2000, rng)
    assert counts.argmax() == 1
    assert counts[1] > 600  # of 1000


@pytest.mark.parametrize("name", SETTINGS)
def test_tasks_do_not_mix(name: str, rng: np.random.Generator) -> None:
    selector = SETTINGS[name](2, 3, rng)
    for _ in range(3):
        first = play(selector, np.array([9.0, 0.0, 0.0]), 600, rng, task=0)
        second = play(selector, np.array([0.0, 0.0, 9.0]), 600, rng, task=1)
    assert first.argmax() == 0
    assert second.argmax() == 2


@pytest.mark.parametrize("name", ["thompson", "sliding-window-ucb"])
def test_what_changes_is_followed(name: str, rng: np.random.Generator) -> None:
    """Policies go on learning: the best of yesterday need not be today's."""
    selector = SETTINGS[name](1, 2, rng)
    assert play(selector, np.array([5.0, 1.0]), 600, rng).argmax() == 0
    assert play(selector, np.array([1.0, 5.0]), 1200, rng).argmax() == 1


@pytest.mark.parametrize("name", SETTINGS)
def test_state_is_all_there_is(name: str) -> None:
    rng = np.random.default_rng(0)
    one, other = SETTINGS[name](3, 4, rng), SETTINGS[name](3, 4, rng)
    play(one, np.array([1.0, 2.0, 3.0, 2.0]), 300, rng, task=1)
    other.load_state_dict(one.state_dict())
    first, second = np.random.default_rng(5), np.random.default_rng(5)
    picks = [(one.select(1, first), other.select(1, second)) for _ in range(50)]
    assert all(a == b for a, b in picks)


def test_exp3_probabilities_are_the_papers(rng: np.random.Generator) -> None:
    """p_i = (1 - gamma) w_i / sum w + gamma / N, and w_i *= exp(gamma x / p_i / N) for the one played."""
    selector = EXP3Selector(repertory.EXP3(gamma=0.3), 1, 2)
    assert selector.probabilities(0).tolist() == [0.5, 0.5]
    selector.update(0, 0, 0.0, 1)  # sets the scale
    selector.update(0, 1, 4.0, 1)  # a gain of 1 on the policy with probability 1/2
    weight = np.exp(0.3 * 1.0 / 0.5 / 2)
    expected = 0.7 * np.array([1.0, weight]) / (1 + weight) + 0.15
    np.testing.assert_allclose(selector.probabilities(0), expected)
    for _ in range(5000):  # weights do not overflow
        selector.update(0, 1, 4.0, 1)
    assert selector.probabilities(0)[1] == pytest.approx(0.85)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", SETTINGS)
def test_they_live(name: str, value: str) -> None:
    selector = SETTINGS[name].replace(value=value)
    record = repertory.live("cartpole27", "random", 3, selector, blocks=4, block_steps=200)
    assert record.plays().sum() == record.blocks["episodes"].sum()
