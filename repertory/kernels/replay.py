"""A replay memory as a ring of steps in which every observation is stored once.

A slot holds an observation, the action taken there, its reward and how the step ended, side by side, so that
drawing one touches one cache line; the observation that followed is the one in the next slot. Only an episode cut
off by a time limit needs a slot of its own for its last observation: after a true end nothing follows, so nothing
is looked up.
"""

from __future__ import annotations

from typing import Any

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

# Places in a cursor: next slot to write, slots in use, experiences among them, experiences to hold at most.
_HEAD, _USED, _HELD, _CAPACITY = 0, 1, 2, 3

Slots = NDArray[Any]
Cursor = NDArray[np.int64]


def new_slots(capacity: int, observation_size: int) -> Slots:
    """Room for the newest `capacity` experiences.

    A sixteenth more slots hold the last observations of episodes that were cut off. Were those shorter than
    sixteen steps on average, somewhat fewer than `capacity` experiences would be kept.
    """
    slot = np.dtype(
        [("observation", np.float32, (observation_size,)), ("reward", np.float32), ("action", "u1"), ("ending", "u1")]
    )
    return np.zeros(capacity + capacity // 16 + 3, slot)


def new_cursor(capacity: int) -> Cursor:
    return np.array([0, 0, 0, capacity], np.int64)


@kernel
def store(
    slots: Slots,
    cursor: Cursor,
    observation_t: NDArray[np.float32],
    action_t: int,
    reward_t1: float,
    observation_t1: NDArray[np.float32],
    ending: np.uint8,
) -> None:
    """Append a step, forgetting the oldest once the memory is full."""
    while cursor[_HELD] >= cursor[_CAPACITY] or cursor[_USED] > slots.size - 3:
        _forget_oldest(slots, cursor)
    slot = slots[cursor[_HEAD]]
    for i in range(observation_t.size):
        slot.observation[i] = observation_t[i]
    slot.action = action_t
    slot.reward = reward_t1
    slot.ending = ending
    head = slot_after(slots, cursor[_HEAD])
    # Written ahead of the next step, so that this one can be replayed at once. A step that goes on will write
    # the same observation here again; a new episode will write its first.
    following = slots[head]
    for i in range(observation_t1.size):
        following.observation[i] = observation_t1[i]
    written = 1
    if ending == CUT_OFF:
        following.ending = LAST_OBSERVATION
        head = slot_after(slots, head)
        written = 2
    cursor[_HEAD] = head
    cursor[_USED] += written
    cursor[_HELD] += 1


@kernel
def held(cursor: Cursor) -> int:
    """How many experiences the memory holds."""
    return cursor[_HELD]


@kernel
def draw_slot(slots: Slots, cursor: Cursor, stream: Stream) -> int:
    """A slot drawn uniformly over the experiences held."""
    oldest = cursor[_HEAD] - cursor[_USED]
    while True:
        slot = oldest + below(stream, cursor[_USED])
        if slot < 0:
            slot += slots.size
        if slots[slot].ending != LAST_OBSERVATION:
            return slot


@kernel
def slot_after(slots: Slots, slot: int) -> int:
    """Where the observation that followed is."""
    slot += 1
    return 0 if slot == slots.size else slot


@kernel
def _forget_oldest(slots: Slots, cursor: Cursor) -> None:
    oldest = cursor[_HEAD] - cursor[_USED]
    if oldest < 0:
        oldest += slots.size
    if slots[oldest].ending != LAST_OBSERVATION:
        cursor[_HELD] -= 1
    cursor[_USED] -= 1
