"""The record of a lifetime: one row per block, and what the lifetime was lived with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from repertory.learners.protocol import Learner
    from repertory.selectors import Selector

FINAL_BLOCKS = 10
"""The paper's "final" score is the mean over this many last blocks."""


class BlockTally:
    """What happened in the running block."""

    def __init__(self, block: int, task: int, n_policies: int) -> None:
        self.block = block
        self.task = task
        self.steps = 0
        self.episodes = 0
        self.total_reward = 0.0
        self.plays = np.zeros(n_policies, np.int64)
        """How many episodes each policy played."""

    def add(self, policy: int, total_reward: float, steps: int) -> None:
        self.steps += steps
        self.episodes += 1
        self.total_reward += total_reward
        self.plays[policy] += 1

    @property
    def mean_return(self) -> float:
        return self.total_reward / max(self.episodes, 1)

    def state(self) -> dict[str, Any]:
        """Plain values, for a checkpoint."""
        return self.row() | {"mean_return": None}

    @classmethod
    def from_state(cls, state: dict[str, Any], n_policies: int) -> BlockTally:
        tally = cls(state["block"], state["task"], n_policies)
        tally.steps, tally.episodes = state["steps"], state["episodes"]
        tally.total_reward = state["total_reward"]
        tally.plays[:] = [state[f"policy_{i}"] for i in range(n_policies)]
        return tally

    def row(self) -> dict[str, Any]:
        return {
            "block": self.block,
            "task": self.task,
            "steps": self.steps,
            "episodes": self.episodes,
            "total_reward": self.total_reward,
            "mean_return": self.mean_return,
            **{f"policy_{i}": int(count) for i, count in enumerate(self.plays)},
        }


def block_table(rows: list[dict[str, Any]], n_policies: int) -> pd.DataFrame:
    """`record.blocks`: a row per block, columns as `BlockTally.row`, also when no block was lived."""
    columns = ["block", "task", "steps", "episodes", "total_reward", "mean_return"]
    return pd.DataFrame(rows, columns=[*columns, *(f"policy_{i}" for i in range(n_policies))])


@dataclass(frozen=True)
class Record:
    """What a lifetime leaves: its blocks, its settings and the policies it trained."""

    blocks: pd.DataFrame
    """A row per block: block, task, steps, episodes, total_reward, mean_return, and the episodes that each
    policy played (policy_0, policy_1, ...)."""
    settings: dict[str, Any]
    policies: list[Learner]
    selector: Selector

    @property
    def lifetime_score(self) -> float:
        """Mean over all blocks of the mean return."""
        return float(self.blocks["mean_return"].mean())

    @property
    def final_score(self) -> float:
        """Mean over the last ten blocks of the mean return."""
        return float(self.blocks["mean_return"].tail(FINAL_BLOCKS).mean())

    def plays(self) -> NDArray[np.int64]:
        """Episodes by (task, policy)."""
        n_tasks = len(self.settings["task_names"])
        return plays_by_task(self.blocks, n_tasks)


def policy_columns(blocks: pd.DataFrame) -> list[str]:
    return [column for column in blocks.columns if column.startswith("policy_")]


def plays_by_task(blocks: pd.DataFrame, n_tasks: int) -> NDArray[np.int64]:
    """Episodes by (task, policy), over the given blocks."""
    counts = blocks.groupby("task")[policy_columns(blocks)].sum()
    return counts.reindex(range(n_tasks), fill_value=0).to_numpy(np.int64)
