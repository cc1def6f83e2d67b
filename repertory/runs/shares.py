"""How a lifetime's episodes and tasks are divided among its policies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from repertory.core.tally import favourites, policy_columns, recent_shares


class PolicyShare(NamedTuple):
    """One policy's part in a lifetime."""

    policy: int
    episodes: float
    """Share of all episodes of the lifetime."""
    tasks: tuple[int, ...]
    """The tasks whose recent episodes it plays most."""


def policy_shares(blocks: pd.DataFrame, n_tasks: int) -> list[PolicyShare]:
    favourite = favourites(recent_shares(blocks, n_tasks))
    episodes = blocks[policy_columns(blocks)].sum().to_numpy(float)
    return [
        PolicyShare(policy, float(share), tuple(int(task) for task in np.flatnonzero(favourite == policy)))
        for policy, share in enumerate(episodes / episodes.sum())
    ]
