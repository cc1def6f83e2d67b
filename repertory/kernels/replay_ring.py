"""The newest experiences, in a ring of slots.

What followed a step is in the next slot; with sampling by episodes, a table says where each begins and how long it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import inlined, kernel
from repertory.kernels.replay_slots import (
    CAPACITY,
    CUT_OFF,
    EPISODE_COUNT,
    EPISODES,
    FIRST_EPISODE,
    HEAD,
    HELD,
    NO_STEP,
    SAMPLING,
    USED,
    WENT_ON,
    Replay,
    ending_at,
    set_ending,
    slot_after,
)
from repertory.kernels.streams import Stream, below


@kernel
def close_dangling(replay: Replay, cursor: NDArray[np.int64]) -> None:
    """If the last episode was left without an end, keep what followed its last step from being written over."""
    last = (cursor[HEAD] - 1) % replay.slots.size
    if cursor[USED] > 0 and ending_at(replay, last) == WENT_ON:
        while cursor[USED] > replay.slots.size - 3:
            _forget_oldest(replay, cursor)
        set_ending(replay, last, CUT_OFF)
        set_ending(replay, cursor[HEAD], NO_STEP)
        cursor[HEAD] = slot_after(replay, cursor, cursor[HEAD])
        cursor[USED] += 1


@kernel
def begin_in_ring(replay: Replay, cursor: NDArray[np.int64]) -> None:
    """A new entry in the table of episodes, unless the last one is still empty."""
    table = cursor[CAPACITY] + 1
    last = (cursor[FIRST_EPISODE] + cursor[EPISODE_COUNT] - 1) % table
    if cursor[EPISODE_COUNT] > 0 and replay.places[table + last] == 0:
        return
    entry = (cursor[FIRST_EPISODE] + cursor[EPISODE_COUNT]) % table
    replay.places[entry] = cursor[HEAD]
    replay.places[table + entry] = 0
    cursor[EPISODE_COUNT] += 1


@inlined
def room_in_ring(replay: Replay, cursor: NDArray[np.int64], ending: int) -> tuple[int, int]:
    while cursor[HELD] >= cursor[CAPACITY] or cursor[USED] > replay.slots.size - 3:
        _forget_oldest(replay, cursor)
    here = cursor[HEAD]
    there = slot_after(replay, cursor, here)
    cursor[HELD] += 1
    cursor[USED] += 2 if ending == CUT_OFF else 1
    cursor[HEAD] = slot_after(replay, cursor, there) if ending == CUT_OFF else there
    if cursor[SAMPLING] == EPISODES:
        table = cursor[CAPACITY] + 1
        last = (cursor[FIRST_EPISODE] + cursor[EPISODE_COUNT] - 1) % table
        if replay.places[table + last] == 0:
            replay.places[last] = here
        replay.places[table + last] += 1
    return here, there


@kernel
def _forget_oldest(replay: Replay, cursor: NDArray[np.int64]) -> None:
    oldest = (cursor[HEAD] - cursor[USED]) % replay.slots.size
    cursor[USED] -= 1
    if ending_at(replay, oldest) == NO_STEP:
        return
    cursor[HELD] -= 1
    if cursor[SAMPLING] == EPISODES:
        table, first = cursor[CAPACITY] + 1, cursor[FIRST_EPISODE]
        replay.places[first] = slot_after(replay, cursor, oldest)
        replay.places[table + first] -= 1
        if replay.places[table + first] == 0 and cursor[EPISODE_COUNT] > 1:
            cursor[FIRST_EPISODE] = (first + 1) % table
            cursor[EPISODE_COUNT] -= 1


@inlined
def draw_from_ring(replay: Replay, cursor: NDArray[np.int64], stream: Stream) -> int:
    oldest = cursor[HEAD] - cursor[USED]
    while True:
        slot = oldest + below(stream, cursor[USED])
        if slot < 0:
            slot += replay.slots.size
        if ending_at(replay, slot) != NO_STEP:
            return slot
