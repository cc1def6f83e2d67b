"""Whether the arrays of a replay memory fit together: what comes from a file is looked at before kernels use it.

Kernels do not look whether an index fits. A checkpoint that somebody altered must not make them write elsewhere in
memory, or look for ever for an experience that is not there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import replay_cursor as at
from repertory.kernels.replay_cursor import Cursor
from repertory.kernels.replay_passes import LONGEST_EPISODE
from repertory.kernels.replay_slots import EPISODES, FIFO, FINISHED_EPISODES, NO_STEP, Replay, endings


def check_memory(replay: Replay, cursor: Cursor) -> None:
    """Fail with a ValueError if a kernel could leave the arrays, or never come back."""
    slots, capacity = replay.slots.size, int(cursor[at.CAPACITY])
    bounds = {
        at.HELD: (0, slots),  # two passes of finished episodes overlap; the rest is checked by kind
        at.HEAD: (0, slots - 1 if cursor[at.KIND] == FIFO else slots),
        at.USED: (0, slots),
        at.FIRST_EPISODE: (0, capacity),
        at.EPISODE_COUNT: (0, capacity + 1),
        at.WRITTEN: (0, slots),
        at.PLACE: (0, capacity),
        at.START: (0, slots),
        at.LENGTH: (0, LONGEST_EPISODE),
        at.FREE_COUNT: (0, slots),
        at.HEAP_COUNT: (0, capacity),
        at.QUEUE_FIRST: (0, max(int(cursor[at.PROTECTED]) - 1, 0)),
        at.QUEUE_COUNT: (0, int(cursor[at.PROTECTED])),
        at.OPEN: (-1, slots - 1),
    }
    fits = all(low <= cursor[place] <= high for place, (low, high) in bounds.items())
    check = {FIFO: _check_ring, FINISHED_EPISODES: _check_passes}.get(int(cursor[at.KIND]), _check_pool)
    if not fits or not check(replay, cursor):
        raise ValueError("the state has a replay memory whose numbers do not fit together")


def _check_ring(replay: Replay, cursor: Cursor) -> bool:
    """As many steps are in use as are held and, with episodes, as their lengths add up to."""
    in_use = (cursor[at.HEAD] - 1 - np.arange(cursor[at.USED])) % replay.slots.size
    held = int((endings(replay)[in_use] != NO_STEP).sum())
    if cursor[at.SAMPLING] == EPISODES:
        starts, lengths = _episodes(replay, cursor, cursor[at.FIRST_EPISODE])
        if not (starts >= 0).all() or not (starts < replay.slots.size).all() or (lengths[:-1] < 1).any():
            return False
        if (lengths < 0).any() or lengths.sum() != held:
            return False
    return held == cursor[at.HELD]


def _check_passes(replay: Replay, cursor: Cursor) -> bool:
    """Episodes lie inside the slots and add up to what is held; there is room for the longest to come."""
    starts, lengths = _episodes(replay, cursor, 0)
    inside = (starts >= 0) & (lengths >= 1) & (starts + lengths < replay.slots.size)
    half = replay.slots.size // 2
    has_room = cursor[at.LENGTH] == 0 or cursor[at.START] % half + LONGEST_EPISODE + 2 <= half
    adds_up = lengths.sum() == cursor[at.HELD] and cursor[at.PLACE] <= cursor[at.EPISODE_COUNT]
    return bool(inside.all()) and adds_up and has_room


def _episodes(replay: Replay, cursor: Cursor, first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    table = int(cursor[at.CAPACITY]) + 1
    entries = (first + np.arange(cursor[at.EPISODE_COUNT])) % table
    return replay.places[entries].astype(np.int64), replay.places[table + entries].astype(np.int64)


def _check_pool(replay: Replay, cursor: Cursor) -> bool:
    """Every slot is used as often as it says, and those without a use are the free ones, each once."""
    slots, capacity, protected = replay.slots.size, int(cursor[at.CAPACITY]), int(cursor[at.PROTECTED])
    after, uses, free = (replay.places[part * slots : (part + 1) * slots] for part in range(3))
    heap = replay.places[3 * slots :][: cursor[at.HEAP_COUNT]]
    queue = replay.places[3 * slots + capacity + 1 :]
    queued = queue[(cursor[at.QUEUE_FIRST] + np.arange(cursor[at.QUEUE_COUNT])) % max(protected, 1)]
    kept = np.concatenate([heap, queued]).astype(np.int64)
    free = free[: cursor[at.FREE_COUNT]]
    for part in (kept, free, after[kept] if _are_slots(kept, slots) else np.array([-1])):
        if not _are_slots(part, slots):
            return False
    found = np.bincount(kept, minlength=slots)
    found += np.bincount(after[kept][after[kept] != kept], minlength=slots)
    if cursor[at.OPEN] >= 0:
        found[cursor[at.OPEN]] += 1
    is_free = np.bincount(free, minlength=slots)
    return (
        kept.size == cursor[at.HELD]
        and bool((found == np.where(is_free > 0, 0, uses)).all())
        and bool(((found == 0) == (is_free == 1)).all())
        and cursor[at.HEAP_COUNT] <= capacity - protected
        and bool(np.isfinite(replay.keys[: cursor[at.HEAP_COUNT]]).all())
    )


def _are_slots(places: NDArray[np.integer], slots: int) -> bool:
    return bool(((places >= 0) & (places < slots)).all())
