"""The tally of a lifetime: one row per block, however many policies there are."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.agents.protocol import Event

HEALTH = "health_"
"""Columns of health begin so."""
EVALUATION = "evaluation_steps"
"""The column of steps that were played for evaluation alone, in the records of agents that ask for it."""
HELD_OUT = "held_out_"
"""Columns of the scores of tasks that are held out begin so; those of the policy that played, `held_out_policy_`."""
BYTES = "bytes"
"""The column of what the agent's policies take in memory at the end of a block, where they all say so (`nbytes`)."""
EVENTS = "events"
"""The column of what an agent told of itself, a line of JSON each; only in the record of agents that do."""
LAST_EPISODES = 10
"""`last_return` is the mean return of this many last episodes of a block."""


class BlockTally:
    """What happened in the running block."""

    def __init__(self, block: int, task: int, n_policies: int) -> None:
        self.block = block
        self.task = task
        self.steps = 0
        self.episodes = 0
        self.total_reward = 0.0
        self.plays = [0] * n_policies
        """How many episodes each policy played; policies that come later in the block are added."""
        self.health: dict[str, float | None] = {}
        """Of the policy that has played most, at the end of the block, where it was measured."""
        self.evaluation_steps = 0
        """Steps, not of the block, in which the agent had policies evaluated before it and during it."""
        self.bytes: int | None = None
        """That the policies take at the end of the block, where they say so."""
        self.held_out: list[tuple[float, int]] = []
        """Of each task that is held out, where it was measured: the score, and the policy that played it."""
        self.events: list[Event] = []
        """What the agent told of itself at the end of the block."""
        self._last_returns: deque[float] = deque(maxlen=LAST_EPISODES)

    @property
    def most_played(self) -> int:
        """The policy."""
        return self.plays.index(max(self.plays))

    def add(self, policy: int, total_reward: float, steps: int) -> None:
        self.steps += steps
        self.episodes += 1
        self.total_reward += total_reward
        self.plays += [0] * (policy + 1 - len(self.plays))
        self.plays[policy] += 1
        self._last_returns.append(total_reward)

    @property
    def mean_return(self) -> float:
        return self.total_reward / max(self.episodes, 1)

    def score(self, kind: str) -> float:
        """Of the block so far; see `repertory.domains.domain.SCORES`."""
        return self.total_reward / max(self.steps, 1) if kind == "reward per step" else self.mean_return

    @property
    def last_return(self) -> float:
        """Mean return of the last episodes."""
        return sum(self._last_returns) / max(len(self._last_returns), 1)

    def state(self) -> dict[str, Any]:
        """Plain values, for a checkpoint."""
        return self.row() | {"last_returns": list(self._last_returns)}

    @classmethod
    def from_state(cls, state: dict[str, Any], n_policies: int) -> BlockTally:
        tally = cls(state["block"], state["task"], n_policies)
        tally.steps, tally.episodes = state["steps"], state["episodes"]
        tally.total_reward = state["total_reward"]
        tally.evaluation_steps = state.get(EVALUATION, 0)
        tally._last_returns.extend(state["last_returns"])
        tally.plays = [state.get(f"policy_{i}", 0) for i in range(n_policies)]
        return tally

    def row(self) -> dict[str, Any]:
        return {
            "block": self.block,
            "task": self.task,
            "steps": self.steps,
            "episodes": self.episodes,
            "total_reward": self.total_reward,
            "mean_return": self.mean_return,
            "last_return": self.last_return,
            **({EVALUATION: self.evaluation_steps} if self.evaluation_steps else {}),
            **({} if self.bytes is None else {BYTES: self.bytes}),
            **{f"policy_{i}": count for i, count in enumerate(self.plays)},
            **{f"{HEALTH}{name}": value for name, value in self.health.items()},
            **{f"{HELD_OUT}{task}": score for task, (score, _policy) in enumerate(self.held_out)},
            **{f"{HELD_OUT}policy_{task}": policy for task, (_score, policy) in enumerate(self.held_out)},
            **({EVENTS: "\n".join(map(json.dumps, self.events))} if self.events else {}),
        }


def block_table(rows: list[dict[str, Any]], n_policies: int) -> pd.DataFrame:
    """`record.blocks`: a row per block, columns as `BlockTally.row`, also when there are no blocks yet.

    A policy that was not there yet has played no episode. Health, and scores of tasks that are held out, are NaN where
    they were not measured.
    """
    columns = ["block", "task", "steps", "episodes", "total_reward", "mean_return", "last_return"]
    counts = [EVALUATION] if any(EVALUATION in row for row in rows) else []
    held = [BYTES] if any(BYTES in row for row in rows) else []
    played = max((sum(name.startswith("policy_") for name in row) for row in rows), default=0)
    counts += [f"policy_{i}" for i in range(max(n_policies, played))]
    health = list(dict.fromkeys(name for row in rows for name in row if name.startswith((HEALTH, HELD_OUT))))
    told = [EVENTS] if any(EVENTS in row for row in rows) else []
    filled = [dict.fromkeys(counts, 0) | dict.fromkeys(told, "") | row for row in rows]
    table = pd.DataFrame(filled, columns=[*columns, *held, *counts, *health, *told])
    return table.astype(dict.fromkeys(health, float))


RECENT_BLOCKS = 3
"""How many last blocks of a task tell which policies it uses by now."""


def recent_shares(blocks: pd.DataFrame, n_tasks: int) -> NDArray[np.float64]:
    """Share of each policy in each task's last blocks: (task, policy), NaN for tasks that never came."""
    plays = plays_by_task(blocks.groupby("task").tail(RECENT_BLOCKS), n_tasks).astype(float)
    totals = plays.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(plays, totals, out=np.full_like(plays, np.nan), where=totals > 0)
    return shares


def favourites(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """The policy with the largest share of each task; -1 for tasks that never came."""
    came = ~np.isnan(shares).any(axis=1)
    return np.where(came, np.nan_to_num(shares).argmax(axis=1), -1)


def health_of(blocks: pd.DataFrame) -> pd.DataFrame:
    """A column for each measure; NaN in blocks in which health was not measured."""
    columns = [column for column in blocks.columns if column.startswith(HEALTH)]
    return blocks[columns].rename(columns=lambda column: column.removeprefix(HEALTH))


def held_out_of(blocks: pd.DataFrame) -> pd.DataFrame:
    """A row for each block in which the tasks that are held out were played, a column for each of them: its score."""
    columns = [name for name in blocks.columns if name.startswith(HELD_OUT) and name.removeprefix(HELD_OUT).isdigit()]
    return blocks[columns].rename(columns=lambda name: int(name.removeprefix(HELD_OUT))).dropna(how="all")


def events_of(blocks: pd.DataFrame) -> list[tuple[int, Event]]:
    """What the agent told of itself, with the block in which it did."""
    if EVENTS not in blocks:
        return []
    return [
        (int(block), json.loads(line))
        for block, told in zip(blocks["block"], blocks[EVENTS], strict=True)
        for line in told.splitlines()
    ]


def policy_columns(blocks: pd.DataFrame) -> list[str]:
    return [column for column in blocks.columns if column.startswith("policy_")]


def plays_by_task(blocks: pd.DataFrame, n_tasks: int) -> NDArray[np.int64]:
    """Episodes by (task, policy), over the given blocks, of the first `n_tasks` tasks."""
    blocks = blocks[blocks["task"] < n_tasks]
    plays = blocks[policy_columns(blocks)].to_numpy(np.int64)
    counts = np.zeros((n_tasks, plays.shape[1]), np.int64)
    np.add.at(counts, blocks["task"].to_numpy(), plays)
    return counts
