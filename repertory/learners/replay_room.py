"""Whether replay memories fit into this machine, asked before any is made.

The system promises memory that it does not have: without this, a run would be killed when its memories fill up.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from repertory.errors import UsageError
from repertory.machine import total_memory
from repertory.settings import Settings

SHARE = 0.5
"""Of the machine's memory that replay memories may take: a checkpoint holds them a second time."""


def check_room(learner: Any, observation_space: gymnasium.Space, action_space: gymnasium.Space, policies: int) -> None:
    """Refuse policies whose memories do not fit, of learners whose settings say what one takes: a method
    `replay_bytes(observation_space, action_space)`."""
    replay_bytes, total = getattr(learner, "replay_bytes", None), total_memory()
    if replay_bytes is None or total is None:
        return
    needed = policies * replay_bytes(observation_space, action_space)
    if needed <= SHARE * total:
        return
    size = learner.buffer_size
    is_pixels = isinstance(observation_space, gymnasium.spaces.Box) and observation_space.dtype == np.uint8
    # Compiled learners hold every number in four bytes.
    other = ", or DQN of Stable-Baselines3, which keeps pixels as bytes" if is_pixels and _is_built_in(learner) else ""
    raise UsageError(
        f"a replay memory of {size} experiences takes {in_gigabytes(needed // policies)}, {policies} of them "
        f"{in_gigabytes(needed)}; this machine has {in_gigabytes(total)}, and a checkpoint holds memories a second "
        f"time; next: buffer_size={int(size * SHARE * total / needed)} or less{other}"
    )


def _is_built_in(learner: Any) -> bool:
    return isinstance(learner, Settings)


def in_gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def element_bytes(space: gymnasium.Space) -> int:
    """What an element of a space takes as it is; of a Dict or a Tuple, the sum of its parts."""
    if isinstance(space, gymnasium.spaces.Dict):
        return sum(map(element_bytes, space.spaces.values()))
    if isinstance(space, gymnasium.spaces.Tuple):
        return sum(map(element_bytes, space.spaces))
    return int(np.prod(space.shape or (1,))) * np.dtype(space.dtype or np.int64).itemsize
