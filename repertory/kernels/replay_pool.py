"""A uniform sample of the whole lifetime, in slots that are taken and released: global distribution matching.

Every experience draws a random key; the highest stay, in a heap with the lowest on top. The newest may be protected.
"""

from __future__ import annotations

from repertory.kernels import replay_cursor as at
from repertory.kernels.compile import kernel
from repertory.kernels.replay_cursor import Cursor
from repertory.kernels.replay_slots import NO_STEP, TERMINATED, WENT_ON, Replay, set_ending
from repertory.kernels.streams import Stream, below, uniform


@kernel
def room_in_pool(replay: Replay, cursor: Cursor, ending: int) -> tuple[int, int]:
    """The running episode's slot, or a new one, and a slot for what follows; a true end is followed by nothing."""
    here = cursor[at.OPEN] if cursor[at.OPEN] >= 0 else _take_slot(replay, cursor)
    there = here if ending == TERMINATED else _take_slot(replay, cursor)
    set_ending(replay, there, NO_STEP)
    return here, there


@kernel
def _take_slot(replay: Replay, cursor: Cursor) -> int:
    cursor[at.FREE_COUNT] -= 1
    slots = replay.slots.size
    slot = replay.places[2 * slots + cursor[at.FREE_COUNT]]
    replay.places[slots + slot] = 0
    return slot


@kernel
def release(replay: Replay, cursor: Cursor, slot: int) -> None:
    """One use of a slot is over; without any, it is free."""
    slots = replay.slots.size
    replay.places[slots + slot] -= 1
    if replay.places[slots + slot] == 0:
        replay.places[2 * slots + cursor[at.FREE_COUNT]] = slot
        cursor[at.FREE_COUNT] += 1


@kernel
def enter_pool(replay: Replay, cursor: Cursor, stream: Stream, here: int, there: int, ending: int) -> None:
    """Take the experience in: among the newest if some are protected, and from there to the keys."""
    slots = replay.slots.size
    replay.places[here] = there
    if cursor[at.OPEN] < 0:
        replay.places[slots + here] += 1  # the running episode's own hold on the slot
    replay.places[slots + here] += 1
    if there != here:
        replay.places[slots + there] += 2  # by this experience, and by the running episode
    release(replay, cursor, here)  # the running episode moves on
    if ending == WENT_ON:
        cursor[at.OPEN] = there
    else:
        cursor[at.OPEN] = -1
        if there != here:
            release(replay, cursor, there)
    cursor[at.HELD] += 1
    leaving = here
    if cursor[at.PROTECTED] > 0:
        queue = 3 * slots + cursor[at.CAPACITY] + 1
        leaving = -1
        if cursor[at.QUEUE_COUNT] == cursor[at.PROTECTED]:
            leaving = replay.places[queue + cursor[at.QUEUE_FIRST]]
            cursor[at.QUEUE_FIRST] = (cursor[at.QUEUE_FIRST] + 1) % cursor[at.PROTECTED]
            cursor[at.QUEUE_COUNT] -= 1
        last = (cursor[at.QUEUE_FIRST] + cursor[at.QUEUE_COUNT]) % cursor[at.PROTECTED]
        replay.places[queue + last] = here
        cursor[at.QUEUE_COUNT] += 1
    if leaving >= 0:
        _push(replay, cursor, uniform(stream), leaving)
        if cursor[at.HEAP_COUNT] > cursor[at.CAPACITY] - cursor[at.PROTECTED]:
            _forget_lowest(replay, cursor)


@kernel
def _push(replay: Replay, cursor: Cursor, key: float, slot: int) -> None:
    """Into the heap, whose lowest key is at place 0."""
    heap = replay.places[3 * replay.slots.size :]
    place = cursor[at.HEAP_COUNT]
    cursor[at.HEAP_COUNT] += 1
    while place > 0 and replay.keys[(place - 1) // 2] > key:
        replay.keys[place] = replay.keys[(place - 1) // 2]
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    replay.keys[place] = key
    heap[place] = slot


@kernel
def _forget_lowest(replay: Replay, cursor: Cursor) -> None:
    heap = replay.places[3 * replay.slots.size :]
    forgotten = heap[0]
    cursor[at.HEAP_COUNT] -= 1
    count = cursor[at.HEAP_COUNT]
    key, slot, place = replay.keys[count], heap[count], 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and replay.keys[child + 1] < replay.keys[child]:
            child += 1
        if replay.keys[child] >= key:
            break
        replay.keys[place] = replay.keys[child]
        heap[place] = heap[child]
        place = child
    replay.keys[place] = key
    heap[place] = slot
    there = replay.places[forgotten]
    set_ending(replay, forgotten, NO_STEP)
    release(replay, cursor, forgotten)
    if there != forgotten:
        release(replay, cursor, there)
    cursor[at.HELD] -= 1


@kernel
def draw_from_pool(replay: Replay, cursor: Cursor, stream: Stream) -> int:
    heap = 3 * replay.slots.size
    place = below(stream, cursor[at.HELD])
    if place < cursor[at.HEAP_COUNT]:
        return replay.places[heap + place]
    place = (cursor[at.QUEUE_FIRST] + place - cursor[at.HEAP_COUNT]) % cursor[at.PROTECTED]
    return replay.places[heap + cursor[at.CAPACITY] + 1 + place]
