"""Whole episodes, in passes over two halves of the slots.

Past `capacity` experiences a new pass replaces the stored episodes one by one from the first; what the last pass left
over goes when the next begins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import inlined, kernel
from repertory.kernels.replay_slots import (
    CAPACITY,
    EPISODE_COUNT,
    HEAD,
    HELD,
    LENGTH,
    NO_STEP,
    PLACE,
    START,
    WRITTEN,
    Replay,
    set_ending,
)

LONGEST_EPISODE = 4096
"""Steps of a finished episode that are kept at most."""


@kernel
def begin_pass_or_episode(replay: Replay, cursor: NDArray[np.int64]) -> None:
    """Where to write the episode; in the other half, over what the pass before last left, if this pass is full."""
    half = replay.slots.size // 2
    room = half - cursor[HEAD] % half
    if cursor[WRITTEN] + 1 >= cursor[CAPACITY] or room < LONGEST_EPISODE + 2:
        lengths = replay.places[cursor[CAPACITY] + 1 :]
        for entry in range(cursor[PLACE], cursor[EPISODE_COUNT]):
            cursor[HELD] -= lengths[entry]
        cursor[EPISODE_COUNT] = cursor[PLACE]
        cursor[WRITTEN] = 0
        cursor[PLACE] = 0
        cursor[HEAD] = 0 if cursor[HEAD] >= half else half
    cursor[START] = cursor[HEAD]
    cursor[LENGTH] = 0


@inlined
def room_in_pass(cursor: NDArray[np.int64]) -> tuple[int, int]:
    here = cursor[START] + cursor[LENGTH]
    cursor[LENGTH] += 1
    return here, here + 1


@kernel
def finish_episode(replay: Replay, cursor: NDArray[np.int64], keeps_last: bool) -> None:
    """Only now can the episode be drawn, in the place of an older one."""
    table, place, length = cursor[CAPACITY] + 1, cursor[PLACE], cursor[LENGTH]
    if keeps_last:
        set_ending(replay, cursor[START] + length, NO_STEP)
    if place < cursor[EPISODE_COUNT]:
        cursor[HELD] -= replay.places[table + place]
    else:
        cursor[EPISODE_COUNT] = place + 1
    replay.places[place] = cursor[START]
    replay.places[table + place] = length
    cursor[HELD] += length
    cursor[WRITTEN] += length
    cursor[PLACE] += 1
    cursor[HEAD] = cursor[START] + length + (1 if keeps_last else 0)
    cursor[START] = cursor[HEAD]
    cursor[LENGTH] = 0
