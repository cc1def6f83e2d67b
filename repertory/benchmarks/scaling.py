"""What a step costs in large libraries and with many tasks: no more than in small ones.

Episodes must be of one length for that, because what happens once an episode (selection, the call into compiled code)
weighs more in short ones, and other policies fall at other times. So these tasks have wide limits and end after 25
steps, before even the shortest pole is down. All policies train from their first step, on memories that are full:
those of a large library do not fit into any cache, and that is part of what it costs. And all are late in life: each
task has its favourite policy, from which the selector strays as often in a large library as in a small one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from repertory import DQN
from repertory.benchmarks.measure import Contender, take_turns
from repertory.benchmarks.result import Measured, Side
from repertory.core.lifetime import Lifetime
from repertory.core.many_episodes import ManyEpisodes
from repertory.domains.cartpole import VALUES_27, CartpoleRules, cartpole
from repertory.domains.domain import Domain
from repertory.runs.spec import run_spec

RULES = CartpoleRules(max_steps=25, angle_limit=90.0, position_limit=1_000.0)
BLOCK_STEPS = 5_000
BLOCKS_A_TURN, TURNS_A_REPEAT = 10, 4
"""Short turns, and more of them: two lifetimes that are nearly equal need undisturbed moments to be compared."""
SETTLED_STEPS = 10**9
"""So many that no measured step changes which policy is best."""
NEVER = np.iinfo(np.int64).max
MICRO = 1e6


class Size(NamedTuple):
    """How large a lifetime is."""

    tasks: int
    policies: int
    buffer_size: int

    def __str__(self) -> str:
        return f"{self.tasks:,} tasks, {self.policies} {'policy' if self.policies == 1 else 'policies'}"


def domain_of(tasks: int) -> Domain:
    """The 27 tasks of the paper, or 10 values each of cart mass, pole mass and pole length between the same ends."""
    if tasks == 27:
        return cartpole("cartpole27", *VALUES_27, rules=RULES)
    each = round(tasks ** (1 / 3))
    if each**3 != tasks:
        raise ValueError(f"{tasks} tasks are not all combinations of as many masses, pole masses and lengths")
    masses, pole_masses, lengths = (np.geomspace(values[0], values[-1], each).tolist() for values in VALUES_27)
    return cartpole(f"cartpole{tasks}", masses, pole_masses, lengths, RULES)


def lifetime_of(size: Size, turns: int) -> Contender:
    """A lifetime of adaptive DQN policies, some blocks further at each turn."""
    domain = domain_of(size.tasks)
    spec = run_spec(
        domain,
        DQN(buffer_size=size.buffer_size, learning_starts=0),
        size.policies,
        "epsilon-greedy",
        blocks=(turns + 1) * BLOCKS_A_TURN,
        block_steps=BLOCK_STEPS,
    )
    lifetime = spec.lifetime()
    for number, policy in enumerate(lifetime.policies):
        fill_memory(domain, number % domain.n_tasks, policy, size.buffer_size)
    settle(lifetime.agent.selector, size)
    return some_blocks_a_turn(lifetime, BLOCKS_A_TURN, warm_up=BLOCKS_A_TURN)


def some_blocks_a_turn(lifetime: Lifetime, blocks: int, warm_up: int) -> Contender:
    """A lifetime that has run some blocks, and some more at each turn."""
    sequence = lifetime.sequence

    def work(blocks: int = blocks) -> int:
        """Blocks that are still to come are those of a longer sequence."""
        done = len(lifetime.rows)
        lifetime.sequence = sequence[: done + blocks]
        lifetime.live()
        return sum(int(row["steps"]) for row in lifetime.rows[done:])

    work(warm_up)
    return work


def settle(selector: Any, size: Size) -> None:
    """Let each task have its favourite: in tasks that never fail all policies would be equally good, and a small
    library, of which all have been tried, would take turns where a large one stays with the first."""
    averages = np.random.default_rng(0).random((size.tasks, size.policies))
    for (task, policy), average in np.ndenumerate(averages):
        selector.update(task, policy, average * SETTLED_STEPS, SETTLED_STEPS)


def fill_memory(domain: Domain, task: int, policy: Any, buffer_size: int) -> None:
    """Random play, remembered but not learned from, until the memory is full."""
    usual = {name: policy.policy[name].item() for name in ("exploration_rate", "learning_starts")}
    policy.policy["exploration_rate"], policy.policy["learning_starts"] = 1.0, NEVER
    ManyEpisodes(domain, task).play(policy, np.arange(buffer_size), at_least=buffer_size)
    for name, value in usual.items():
        policy.policy[name] = value


def cost_against(large: Size, small: Size) -> Callable[[int], Measured]:
    """Seconds a step in a large lifetime over those in a small one of as many steps."""

    def measure(repeats: int) -> Measured:
        turns = TURNS_A_REPEAT * repeats
        speeds = take_turns([lifetime_of(large, turns), lifetime_of(small, turns)], turns)
        ours, other = (
            Side(str(size), "us/step", tuple(MICRO / speed for speed in seen), is_cost=True)
            for size, seen in zip((large, small), speeds, strict=True)
        )
        note = f"memories of {large.buffer_size:,} experiences, all full"
        return Measured(ours.best / other.best, ours, other, note)

    return measure
