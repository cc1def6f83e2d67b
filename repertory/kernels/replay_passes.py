"""Whole episodes, in passes over two halves of the slots.

Past `capacity` experiences a new pass replaces the stored episodes one by one from the first; what the last pass left
over goes when the next begins.
"""

from __future__ import annotations

from repertory.kernels import replay_cursor as at
from repertory.kernels.compile import inlined, kernel
from repertory.kernels.replay_cursor import Cursor
from repertory.kernels.replay_slots import NO_STEP, Replay, set_ending

LONGEST_EPISODE = 4096
"""Steps of a finished episode that are kept at most."""


@kernel
def begin_pass_or_episode(replay: Replay, cursor: Cursor) -> None:
    """Where to write the episode; in the other half, over what the pass before last left, if this pass is full."""
    half = replay.slots.size // 2
    room = half - cursor[at.HEAD] % half
    if cursor[at.WRITTEN] + 1 >= cursor[at.CAPACITY] or room < LONGEST_EPISODE + 2:
        lengths = replay.places[cursor[at.CAPACITY] + 1 :]
        for entry in range(cursor[at.PLACE], cursor[at.EPISODE_COUNT]):
            cursor[at.HELD] -= lengths[entry]
        cursor[at.EPISODE_COUNT] = cursor[at.PLACE]
        cursor[at.WRITTEN] = 0
        cursor[at.PLACE] = 0
        cursor[at.HEAD] = 0 if cursor[at.HEAD] >= half else half
    cursor[at.START] = cursor[at.HEAD]
    cursor[at.LENGTH] = 0


@inlined
def room_in_pass(cursor: Cursor) -> tuple[int, int]:
    here = cursor[at.START] + cursor[at.LENGTH]
    cursor[at.LENGTH] += 1
    return here, here + 1


@kernel
def finish_episode(replay: Replay, cursor: Cursor, keeps_last: bool) -> None:
    """Only now can the episode be drawn, in the place of an older one."""
    table, place, length = cursor[at.CAPACITY] + 1, cursor[at.PLACE], cursor[at.LENGTH]
    if keeps_last:
        set_ending(replay, cursor[at.START] + length, NO_STEP)
    if place < cursor[at.EPISODE_COUNT]:
        cursor[at.HELD] -= replay.places[table + place]
    else:
        cursor[at.EPISODE_COUNT] = place + 1
    replay.places[place] = cursor[at.START]
    replay.places[table + place] = length
    cursor[at.HELD] += length
    cursor[at.WRITTEN] += length
    cursor[at.PLACE] += 1
    cursor[at.HEAD] = cursor[at.START] + length + (1 if keeps_last else 0)
    cursor[at.START] = cursor[at.HEAD]
    cursor[at.LENGTH] = 0
