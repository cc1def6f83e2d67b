"""What inferring the task costs: the same life where it is told and where it has to be found out.

With one policy, both play the same episodes to the bit, whatever is inferred. So they do equal work in each turn, but
for the inference.
"""

from __future__ import annotations

import statistics

from repertory.benchmarks.measure import Contender, take_turns
from repertory.benchmarks.result import Measured, Side
from repertory.benchmarks.scaling import MICRO, some_blocks_a_turn
from repertory.runs.spec import run_spec

TASKS = range(0, 27, 4)
"""Of `cartpole54`: some that agree, so that one policy learns them all and episodes are as long as in a good life."""
BLOCK_STEPS = 30_000
WARM_UP, BLOCKS_A_TURN, TURNS_A_REPEAT = 28, 2, 3
"""Blocks before the clock starts, in which each task comes a few times; short turns, as in `scaling`."""


def lifetime_of(agent: str, blocks: int) -> Contender:
    spec = run_spec(
        "cartpole54",
        "dqn",
        1,
        "fixed-partition",
        blocks=blocks,
        block_steps=BLOCK_STEPS,
        profile="released,learner=sound",
        task=TASKS,
        agent=agent,
        hidden_tasks=agent == "infer",
    )
    return some_blocks_a_turn(spec.lifetime(), BLOCKS_A_TURN, WARM_UP)


def inferred_against_told(repeats: int) -> Measured:
    """Seconds a step where the task is inferred over those where it is told: the median of all turns."""
    turns = TURNS_A_REPEAT * repeats
    blocks = WARM_UP + turns * BLOCKS_A_TURN
    speeds = take_turns([lifetime_of("infer", blocks), lifetime_of("library", blocks)], turns)
    inferred, told = (
        Side(who, "us/step", tuple(MICRO / speed for speed in seen), is_cost=True)
        for who, seen in zip(("inferred", "told"), speeds, strict=True)
    )
    ratios = [one / other for one, other in zip(inferred.repeats, told.repeats, strict=True)]
    return Measured(statistics.median(ratios), inferred, told, "the median of turns; both play the same episodes")
