"""Claims of the paper that need no runs: its lemma, corollaries and examples, and what random play tells of tasks.

Each is computed here from the smallest case that decides it (docs/capacity.md has the arguments), but for the clusters
of tasks: those take minutes of play, and reading results plays nothing, so that their counts stand here as found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from repertory.paper.polynomials import polynomial_capacity
from repertory.paper.transfer import TabularMDP, Transfer, lemma_1, transfer
from repertory.paper.walks import walk_capacities


class Finding(NamedTuple):
    """Whether a claim holds, and why."""

    holds: bool
    figures: str


def _one_state(*rewards: float) -> TabularMDP:
    return TabularMDP(np.ones((1, len(rewards), 1)), np.array([rewards]), np.ones(1), discount=0.9)


def lemma() -> Finding:
    """The policy that always takes the worse of two actions."""
    worst = lemma_1(policy=[1], task=_one_state(1.0, 0.0), epsilon=0.0)
    holds = worst.epsilon_optimal or not worst.printed_condition
    return Finding(
        holds,
        f"counterexample, one state whose actions pay 1 and 0: taking the second meets the printed condition with "
        f"epsilon 0 and has a regret of {worst.regret:.3g} of 1",
    )


def corollary_1() -> Finding:
    """Dynamics that open a way to a better state, which the policy does not take."""
    rewards, initial = np.array([[0.5, 0.4], [1.0, 1.0]]), np.array([1.0, 0.0])
    stay, end = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    source = TabularMDP(np.array([[stay, stay], [end, end]]), rewards, initial, 0.9)
    target = TabularMDP(np.array([[stay, end], [end, end]]), rewards, initial, 0.9)
    case = "a state that pays 0.5 and, on the target, a way to one that pays 1: staying"
    return _counterexample(case, transfer([0, 0], source, target, epsilon=0.25))


def corollary_2() -> Finding:
    """A reward that grows where the policy does not go."""
    case = "two actions that pay 0.5, on the target 0.5 and 1: taking the first"
    return _counterexample(case, transfer([0], _one_state(0.5, 0.5), _one_state(0.5, 1.0), epsilon=0.25))


def _counterexample(case: str, carried: Transfer) -> Finding:
    return Finding(
        carried.transfers or not carried.printed_condition,
        f"counterexample, {case} meets the printed condition with epsilon {carried.source.epsilon:g} and has a regret "
        f"of {carried.target.regret:.3g} of {carried.target.optimal_reward:.3g}",
    )


@cache
def polynomials() -> Finding:
    found = polynomial_capacity(epsilon=0.25)
    return Finding(found.capacity == 2, f"capacity {found.capacity:g}: {found.n_policies} lines for 4 tasks, exact")


@cache
def walks() -> Finding:
    found = {each.memory: each.capacity for each in walk_capacities(epsilon=0.25)}
    listed = ", ".join(f"{memory}: {'none' if c is None else f'{c:g}'}" for memory, c in found.items())
    known = [capacity for capacity in found.values() if capacity is not None]
    return Finding(
        all(1 <= capacity <= 3 for capacity in known), f"capacity by what a policy remembers, {listed}; exact"
    )


CLUSTER_COUNTS: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "text": {"minimum": (8, 6, 7, 6, 9), "low": (3, 3, 3, 3, 3)},
    "released": {"minimum": (7, 8, 6, 10, 9), "low": (3, 3, 3, 3, 3)},
}
"""With seeds 0, 1000, ..., 4000, as `repertory capacity clusters cartpole27` prints them."""


def clusters() -> Finding:
    """A count that another seed changes is none of the tasks."""
    printed = {count for counts in CLUSTER_COUNTS.values() for count in counts["minimum"]}
    robust = {count for counts in CLUSTER_COUNTS.values() for count in counts["low"]}
    return Finding(
        printed == {8},
        f"by the paper's signature, the least of all falls, {min(printed)} to {max(printed)} clusters with five seeds "
        f"of each profile; by the 1% quantile {', '.join(map(str, sorted(robust)))} with every seed, a capacity of "
        f"{27 / max(robust):g}",
    )


THEORY: Mapping[str, Callable[[], Finding]] = {
    "lemma 1": lemma,
    "corollary 1": corollary_1,
    "corollary 2": corollary_2,
    "polynomials": polynomials,
    "walks": walks,
    "clusters": clusters,
}
