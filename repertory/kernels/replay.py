"""A replay memory as a ring of steps in which every observation is stored once.

Slot t holds an observation, the action taken there, its reward and how the step ended; the observation that
followed is the one in slot t + 1. Only an episode cut off by a time limit needs a slot of its own for its last
observation: after a true end nothing follows, so nothing is looked up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import kernel
from repertory.kernels.random import Stream, below

# How the step in a slot ended.
WENT_ON = np.uint8(0)
TERMINATED = np.uint8(1)
CUT_OFF = np.uint8(2)
LAST_OBSERVATION = np.uint8(3)
"""Not a step: the observation that an episode was cut off at."""

# Places in `cursor`.
_HEAD, _USED, _HELD = 0, 1, 2


class Replay(NamedTuple):
    """The arrays of a memory. `cursor` is: next slot to write, slots in use, experiences among them."""

    observations: NDArray[np.float32]
    actions: NDArray[np.uint8]
    rewards: NDArray[np.float32]
    endings: NDArray[np.uint8]
    cursor: NDArray[np.int64]
    capacity: int


def new_replay(capacity: int, observation_size: int) -> Replay:
    """Room for the newest `capacity` experiences.

    A sixteenth more slots hold the last observations of episodes that were cut off. Were those shorter than
    sixteen steps on average, somewhat fewer than `capacity` experiences would be kept.
    """
    slots = capacity + capacity // 16 + 3
    return Replay(
        observations=np.zeros((slots, observation_size), np.float32),
        actions=np.zeros(slots, np.uint8),
        rewards=np.zeros(slots, np.float32),
        endings=np.zeros(slots, np.uint8),
        cursor=np.zeros(3, np.int64),
        capacity=capacity,
    )


@kernel
def store(
    replay: Replay,
    observation_t: NDArray[np.float32],
    action_t: int,
    reward_t1: float,
    observation_t1: NDArray[np.float32],
    ending: np.uint8,
) -> None:
    """Append a step, forgetting the oldest once the memory is full."""
    slots = replay.rewards.size
    while replay.cursor[_HELD] >= replay.capacity or replay.cursor[_USED] > slots - 3:
        _forget_oldest(replay)
    head = replay.cursor[_HEAD]
    replay.observations[head] = observation_t
    replay.actions[head] = action_t
    replay.rewards[head] = reward_t1
    replay.endings[head] = ending
    head = _after(head, slots)
    # Written ahead of the next step, so that this one can be replayed at once. A step that goes on will write
    # the same observation here again; a new episode will write its first.
    replay.observations[head] = observation_t1
    written = 1
    if ending == CUT_OFF:
        replay.endings[head] = LAST_OBSERVATION
        head = _after(head, slots)
        written = 2
    replay.cursor[_HEAD] = head
    replay.cursor[_USED] += written
    replay.cursor[_HELD] += 1


@kernel
def held(replay: Replay) -> int:
    """How many experiences the memory holds."""
    return replay.cursor[_HELD]


@kernel
def draw_slot(replay: Replay, stream: Stream) -> int:
    """A slot drawn uniformly over the experiences held."""
    slots = replay.rewards.size
    used = replay.cursor[_USED]
    oldest = replay.cursor[_HEAD] - used
    while True:
        slot = oldest + below(stream, used)
        if slot < 0:
            slot += slots
        if replay.endings[slot] != LAST_OBSERVATION:
            return slot


@kernel
def slot_after(replay: Replay, slot: int) -> int:
    """Where the observation that followed is."""
    return _after(slot, replay.rewards.size)


@kernel
def _after(slot: int, slots: int) -> int:
    slot += 1
    return 0 if slot == slots else slot


@kernel
def _forget_oldest(replay: Replay) -> None:
    slots = replay.rewards.size
    oldest = replay.cursor[_HEAD] - replay.cursor[_USED]
    if oldest < 0:
        oldest += slots
    if replay.endings[oldest] != LAST_OBSERVATION:
        replay.cursor[_HELD] -= 1
    replay.cursor[_USED] -= 1
