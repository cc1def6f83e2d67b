"""The newest experiences, in a ring of slots.

What followed a step is in the next slot; with sampling by episodes, a table says where each begins and how long it is.
"""

from __future__ import annotations

from repertory.kernels import replay_cursor as at
from repertory.kernels.compile import inlined, kernel
from repertory.kernels.replay_cursor import Cursor
from repertory.kernels.replay_slots import (
    CUT_OFF,
    EPISODES,
    NO_STEP,
    WENT_ON,
    Replay,
    ending_at,
    set_ending,
    slot_after,
)
from repertory.kernels.streams import Stream, below


@kernel
def close_dangling(replay: Replay, cursor: Cursor) -> None:
    """If the last episode was left without an end, keep what followed its last step from being written over."""
    last = (cursor[at.HEAD] - 1) % replay.slots.size
    if cursor[at.USED] > 0 and ending_at(replay, last) == WENT_ON:
        while cursor[at.USED] > replay.slots.size - 3:
            _forget_oldest(replay, cursor)
        set_ending(replay, last, CUT_OFF)
        set_ending(replay, cursor[at.HEAD], NO_STEP)
        cursor[at.HEAD] = slot_after(replay, cursor, cursor[at.HEAD])
        cursor[at.USED] += 1


@kernel
def begin_in_ring(replay: Replay, cursor: Cursor) -> None:
    """A new entry in the table of episodes, unless the last one is still empty."""
    table = cursor[at.CAPACITY] + 1
    last = (cursor[at.FIRST_EPISODE] + cursor[at.EPISODE_COUNT] - 1) % table
    if cursor[at.EPISODE_COUNT] > 0 and replay.places[table + last] == 0:
        return
    entry = (cursor[at.FIRST_EPISODE] + cursor[at.EPISODE_COUNT]) % table
    replay.places[entry] = cursor[at.HEAD]
    replay.places[table + entry] = 0
    cursor[at.EPISODE_COUNT] += 1


@inlined
def room_in_ring(replay: Replay, cursor: Cursor, ending: int) -> tuple[int, int]:
    while cursor[at.HELD] >= cursor[at.CAPACITY] or cursor[at.USED] > replay.slots.size - 3:
        _forget_oldest(replay, cursor)
    here = cursor[at.HEAD]
    there = slot_after(replay, cursor, here)
    cursor[at.HELD] += 1
    cursor[at.USED] += 2 if ending == CUT_OFF else 1
    cursor[at.HEAD] = slot_after(replay, cursor, there) if ending == CUT_OFF else there
    if cursor[at.SAMPLING] == EPISODES:
        table = cursor[at.CAPACITY] + 1
        last = (cursor[at.FIRST_EPISODE] + cursor[at.EPISODE_COUNT] - 1) % table
        if replay.places[table + last] == 0:
            replay.places[last] = here
        replay.places[table + last] += 1
    return here, there


@kernel
def _forget_oldest(replay: Replay, cursor: Cursor) -> None:
    oldest = (cursor[at.HEAD] - cursor[at.USED]) % replay.slots.size
    cursor[at.USED] -= 1
    if ending_at(replay, oldest) == NO_STEP:
        return
    cursor[at.HELD] -= 1
    if cursor[at.SAMPLING] == EPISODES:
        table, first = cursor[at.CAPACITY] + 1, cursor[at.FIRST_EPISODE]
        replay.places[first] = slot_after(replay, cursor, oldest)
        replay.places[table + first] -= 1
        if replay.places[table + first] == 0 and cursor[at.EPISODE_COUNT] > 1:
            cursor[at.FIRST_EPISODE] = (first + 1) % table
            cursor[at.EPISODE_COUNT] -= 1


@inlined
def draw_from_ring(replay: Replay, cursor: Cursor, stream: Stream) -> int:
    oldest = cursor[at.HEAD] - cursor[at.USED]
    while True:
        slot = oldest + below(stream, cursor[at.USED])
        if slot < 0:
            slot += replay.slots.size
        if ending_at(replay, slot) != NO_STEP:
            return slot
