"""The tasks of which it is known how many policies they need: by closed form, by search, and as a table learns them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from test_examples import load

import repertory
from repertory.paper.cover import minimum_cover
from repertory.selectors.fixed import FixedSelector
from repertory.testing import check_domain, grouped_tasks

TabularQ: Any = load("tabular_q.py").TabularQ


class TabularPolicy(TabularQ):
    def action_probabilities(self, states: np.ndarray) -> np.ndarray:
        return np.eye(self.q.shape[1])[self.q[np.asarray(states, int)].argmax(axis=1)]


def total_reward(domain: repertory.Domain, task: int, actions: tuple[int, ...]) -> float:
    """Of a policy that is a list: an action for each state."""
    env = domain.env(task)
    state, _ = env.reset()
    total, over = 0.0, False
    while not over:
        state, reward, over, _, _ = env.step(np.int64(actions[state]))
        total += reward
    return total


@pytest.mark.parametrize(("groups", "tasks_per_group", "states"), [(3, 2, 3), (2, 3, 4), (4, 1, 2)])
def test_as_many_policies_are_needed_as_there_are_groups(groups: int, tasks_per_group: int, states: int) -> None:
    domain = grouped_tasks(groups, tasks_per_group, states)
    check_domain(domain)
    everyone = itertools.product(range(groups), repeat=states)
    returns = np.array([[total_reward(domain, task, policy) for task in range(domain.n_tasks)] for policy in everyone])
    assert (returns.max(axis=0) == states).all()
    cover = minimum_cover(states - returns, epsilon=0.0)
    assert cover.n_policies == groups
    same = np.equal.outer(cover.assignment, cover.assignment)
    assert (same == np.equal.outer(domain.settings["groups"], domain.settings["groups"])).all()
    for n in range(1, groups + 1):
        best = max(library.max(axis=0).mean() for library in map(np.array, itertools.combinations(returns, n)))
        assert best <= n / groups * states
    assert returns.mean(axis=1).max() == states / groups


def learned(domain: repertory.Domain, partition: list[int], seed: int) -> np.ndarray:
    """What policies score on each task after a thousand steps in all, greedy, a policy for each part."""
    record = repertory.live(
        domain,
        TabularPolicy,
        policies=max(partition) + 1,
        selector=lambda n_tasks, n_policies, rng: FixedSelector(np.array(partition)),
        blocks=100,
        block_steps=10,
        seed=seed,
    )
    assert record.blocks["episodes"].sum() < 1000
    return repertory.evaluate(record, episodes=1, domain=domain, learner=TabularPolicy).scores


@pytest.mark.parametrize("seed", range(3))
def test_a_table_for_each_group_learns_the_optimum_and_one_for_all_does_not(seed: int) -> None:
    domain = grouped_tasks(groups=3, tasks_per_group=2, states=5)
    alone = learned(domain, [0] * 6, seed)
    assert alone.mean() <= 5 / 3
    own = learned(domain, domain.settings["groups"], seed)
    assert own.max(axis=0).tolist() == [5.0] * 6
    assert own.argmax(axis=0).tolist() == domain.settings["groups"]


@pytest.mark.parametrize("wrong", [{"groups": 0}, {"groups": 2, "tasks_per_group": 6}, {"groups": 2, "states": 0}])
def test_what_cannot_be_is_one_line(wrong: dict[str, int]) -> None:
    with pytest.raises(repertory.UsageError, match=f"^{list(wrong)[-1]} is .*; valid: a whole number from 1 to [1-9]"):
        grouped_tasks(**wrong)
