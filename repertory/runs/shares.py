"""What a lifetime comes to, in numbers: the tables under a run and the panels of its figure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from repertory.core.tally import policy_columns, recent_shares


class PolicyShare(NamedTuple):
    """One policy's part in a lifetime."""

    policy: int
    episodes: float
    """Share of all episodes of the lifetime."""
    tasks: tuple[int, ...]
    """Tasks of whose recent episodes it plays the most."""


def policy_shares(blocks: pd.DataFrame, n_tasks: int) -> list[PolicyShare]:
    recent = recent_shares(blocks, n_tasks)
    seen = ~np.isnan(recent).any(axis=1)
    favourite = np.where(seen, np.nan_to_num(recent).argmax(axis=1), -1)
    episodes = blocks[policy_columns(blocks)].sum().to_numpy(float)
    return [
        PolicyShare(policy, float(share), tuple(int(task) for task in np.flatnonzero(favourite == policy)))
        for policy, share in enumerate(episodes / episodes.sum())
    ]


def development(
    blocks: pd.DataFrame, scores: pd.Series, points: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean score of consecutive stretches of blocks: millions of steps at the middle of each, and scores."""
    stretch = max(1, len(blocks) // points)
    groups = blocks.assign(end=blocks["steps"].cumsum(), score=scores).groupby(np.arange(len(blocks)) // stretch)
    full = groups.size() == stretch
    middle = groups["end"].mean()[full] / 1e6
    return middle.to_numpy(float), groups["score"].mean()[full].to_numpy(float)
