"""Scores and learning metrics of lifetimes: pure functions of their blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.core.tally import health_of
from repertory.errors import UsageError
from repertory.learners.health import has_diverged

FINAL_BLOCKS = 10
LAST_BLOCKS, LAST_EPISODES = f"last {FINAL_BLOCKS} blocks", "last 10 episodes"
FINAL_SCORES = (LAST_BLOCKS, LAST_EPISODES)
"""What a final score may be of."""
"""The paper's "final" score is the mean over this many last blocks: 600,000 steps of Cartpole, 2 million of POcman."""
STRETCH = 25
"""The paper's development curves are means over so many blocks."""
BINS: tuple[tuple[str, int, float], ...] = (
    ("0", 0, 0),
    ("1-9", 1, 9),
    ("10-19", 10, 19),
    ("20-29", 20, 29),
    ("30+", 30, np.inf),
)
"""The paper's bins of interfering or prior blocks: name, first, last."""

# -------------------------------------------------------------------------------------------------- scores


def block_scores(blocks: pd.DataFrame, score: str = "mean return") -> pd.Series:
    """The score of each block."""
    if score == "reward per step":
        return blocks["total_reward"] / blocks["steps"]
    return blocks["mean_return"]


def lifetime_score(blocks: pd.DataFrame, score: str = "mean return") -> float:
    """Mean over all blocks."""
    return float(block_scores(blocks, score).mean())


def final_score(blocks: pd.DataFrame, score: str = "mean return") -> float:
    """Mean over the last ten blocks."""
    return float(block_scores(blocks, score).tail(FINAL_BLOCKS).mean())


class Development(NamedTuple):
    """A curve over the lifetime: means over runs of means over stretches of blocks."""

    steps: NDArray[np.float64]
    """By the end of each stretch."""
    mean: NDArray[np.float64]
    error: NDArray[np.float64]
    """Standard error over runs; NaN if there is one only."""


def development(runs: Sequence[pd.DataFrame], score: str = "mean return", stretch: int = STRETCH) -> Development:
    """The paper's development curve; runs that are shorter than others cut it short, as does an unfinished stretch."""
    shortest = min(len(blocks) for blocks in runs)
    stretch = max(1, min(stretch, shortest))
    points = shortest // stretch
    scores = np.array([block_scores(blocks, score).to_numpy(float)[: points * stretch] for blocks in runs])
    curves = scores.reshape(len(runs), points, stretch).mean(axis=2)
    ends = np.array(
        [blocks["steps"].cumsum().to_numpy(float)[stretch - 1 : points * stretch : stretch] for blocks in runs]
    )
    return Development(ends.mean(axis=0), curves.mean(axis=0), standard_error(curves))


def cumulative_reward(runs: Sequence[pd.DataFrame]) -> Development:
    """All rewards up to the end of each block; runs that are shorter than others cut the curve short."""
    shortest = min(len(blocks) for blocks in runs)
    steps, rewards = (
        np.array([blocks[column].cumsum().to_numpy(float)[:shortest] for blocks in runs])
        for column in ("steps", "total_reward")
    )
    return Development(steps.mean(axis=0), rewards.mean(axis=0), standard_error(rewards))


def measured_curve(runs: Sequence[pd.DataFrame], column: str) -> Development:
    """Of a column that is measured now and then, such as `health_spread`; runs are measured at the same steps or so."""
    found = [
        (blocks["steps"].cumsum()[known], blocks[column][known])
        for blocks in runs
        if (known := blocks[column].notna()).any()
    ]
    shortest = min(len(values) for _steps, values in found)
    steps, values = (np.array([part[index].to_numpy(float)[:shortest] for part in found]) for index in (0, 1))
    return Development(steps.mean(axis=0), values.mean(axis=0), standard_error(values))


def standard_error(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the mean over the first axis."""
    if len(samples) < 2:
        return np.full(samples.shape[1:], np.nan)
    error: NDArray[np.float64] = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    return error


class Divergence(NamedTuple):
    """When the values of a policy first passed what is possible (`repertory.learners.health.has_diverged`)."""

    block: int
    largest: float
    """Of the values, in size."""
    bound: float
    """No return can be larger."""

    def __str__(self) -> str:
        return f"diverged in block {self.block} (values up to {self.largest:.3g}; no return can pass {self.bound:.3g})"


def divergence(blocks: pd.DataFrame) -> Divergence | None:
    """Of a lifetime; None for a sound one, or one whose health was not measured."""
    health = health_of(blocks).dropna(how="all")
    measures = {str(name): column.to_numpy(float) for name, column in health.items()}
    if not len(health) or not np.any(diverged := has_diverged(measures)):
        return None
    first = int(np.argmax(diverged))
    kind = "q" if "q_bound" in measures else "value"
    largest, bound = (
        float(measures.get(f"{kind}_{name}", [np.nan] * len(health))[first]) for name in ("largest", "bound")
    )
    return Divergence(int(blocks.loc[health.index[first], "block"]), largest, bound)


# ------------------------------------------------------------------------------------ forgetting and transfer


def forgetting_ratios(
    blocks: pd.DataFrame, one_to_one: pd.DataFrame, random_scores: Mapping[int, float], score: str = "mean return"
) -> pd.DataFrame:
    """The paper's Equation "forgetting ratio", for every block whose task came before.

    ratio = (delta - delta of the one-to-one run) / |score of the random policy on the task|, where delta is the block's
    score less that of the task's last block. `one_to_one` is the run of the same task sequence with a policy per task.
    The absolute value keeps a loss a loss on tasks where even the random policy is punished. `interfering` counts the
    blocks of other tasks in between.
    """
    task, own, twin, unit = _beside(blocks, one_to_one, random_scores, score)
    order = np.argsort(task, kind="stable")  # brings the blocks of a task together
    is_again = np.diff(task[order]) == 0
    now, before = order[1:][is_again], order[:-1][is_again]
    by_time = np.argsort(now)
    now, before = now[by_time], before[by_time]
    ratio = ((own[now] - own[before]) - (twin[now] - twin[before])) / unit[now]
    return pd.DataFrame({"block": now, "task": task[now], "interfering": now - before - 1, "ratio": ratio})


def transfer_ratios(
    blocks: pd.DataFrame, one_to_one: pd.DataFrame, random_scores: Mapping[int, float], score: str = "mean return"
) -> pd.DataFrame:
    """The paper's Equation "transfer ratio", for the first block of every task.

    ratio = (score - score of the one-to-one run) / |score of the random policy on the task|: what the blocks
    before it (`prior` of them) did for a task that is new.
    """
    task, own, twin, unit = _beside(blocks, one_to_one, random_scores, score)
    first = np.sort(np.unique(task, return_index=True)[1])
    ratio = (own[first] - twin[first]) / unit[first]
    return pd.DataFrame({"task": task[first], "prior": first, "ratio": ratio})


def _beside(
    blocks: pd.DataFrame, one_to_one: pd.DataFrame, random_scores: Mapping[int, float], score: str
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Block by block: the task, the scores of a run and of its one-to-one twin, and the unit they are measured in."""
    length = min(len(blocks), len(one_to_one))
    own, twin = blocks.iloc[:length], one_to_one.iloc[:length]
    task = own["task"].to_numpy()
    if not np.array_equal(task, twin["task"].to_numpy()):
        raise UsageError("the one-to-one run has another task sequence; compare runs of the same number and seed")
    unit = np.abs(np.array([random_scores.get(int(each), np.nan) for each in task], float))
    if not (unit > 0).all():
        raise UsageError("the random policy scores 0 or nothing on a task, so there is no unit to measure it in")
    return task, block_scores(own, score).to_numpy(float), block_scores(twin, score).to_numpy(float), unit


def by_bins(ratios: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean, standard error, runs and count of ratios per bin of `interfering` or `prior` blocks.

    The error is over runs, as the column `run` tells them apart: the ratios of one run are not independent. All are of
    one run if there is no such column.
    """
    rows: list[dict[str, Any]] = []
    runs = ratios["run"] if "run" in ratios else pd.Series(0, ratios.index)
    for name, first, last in BINS:
        inside = ratios.loc[ratios[column].between(first, last), "ratio"]
        of_run = inside.groupby(runs.loc[inside.index]).mean().to_numpy(float)
        error = float(standard_error(of_run)) if len(of_run) else np.nan
        rows.append({"bin": name, "mean": inside.mean(), "error": error, "runs": len(of_run), "count": len(inside)})
    return pd.DataFrame(rows)


# -------------------------------------------------------------------------------------------- policy spread


def policy_spread(probabilities: NDArray[np.float64]) -> float:
    """Mean total-variation distance over all ordered pairs of policies: (policies, observations, actions)."""
    return _over_pairs(probabilities, lambda one, other: float(np.abs(one - other).sum(axis=1).mean()) / 2)


def action_spread(actions: NDArray[Any], ranges: NDArray[np.float64]) -> float:
    """The same of actions that are several numbers, (policies, observations, numbers): how far apart they are as a
    share of each number's range, on average over the numbers; of one whose range is 0, a choice, whether it is another.

    So it is 1 for two policies at opposite ends, as the distance of two that never choose the same of counted actions.
    """

    def distance(one: NDArray[Any], other: NDArray[Any]) -> float:
        apart = np.abs(np.subtract(one, other, dtype=float)) / np.where(ranges > 0, ranges, 1.0)
        return float(np.where(ranges > 0, apart, apart > 0).mean())

    return _over_pairs(actions, distance)


def _over_pairs(policies: NDArray[Any], distance: Callable[[NDArray[Any], NDArray[Any]], float]) -> float:
    """Mean distance over all pairs."""
    count = len(policies)
    if count < 2:
        raise UsageError("the spread of a library of one policy is not defined; valid: two or more")
    total = 0.0
    for one in range(count):
        for other in range(one + 1, count):
            total += distance(policies[one], policies[other])
    return total / (count * (count - 1) / 2)
