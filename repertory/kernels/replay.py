"""Replay memories, each keeping every observation once.

A slot holds an observation, the action taken there, its reward and how the step ended, side by side, so that
drawing one touches one cache line. The observation that followed stands in another slot, where the next step of the
episode is stored too.

Which experiences stay is the memory's *kind*:

- FIFO: the newest. A ring of slots; what followed is in the next slot.
- FINISHED_EPISODES: whole episodes, in passes. Past `capacity` experiences a new pass replaces the stored
  episodes one by one from the first; what the last pass left over goes when the next begins.
- MATCHING: a uniform sample of the whole lifetime (global distribution matching, Isele and Cosgun, 2018): every
  experience draws a random key and the highest keys stay, besides a protected number of the newest.

Which of them are drawn is the *sampling*: uniform over EXPERIENCES, or over EPISODES and then over an episode's steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import kernel
from repertory.kernels.random import Stream, below, uniform

FIFO, FINISHED_EPISODES, MATCHING = 0, 1, 2
EXPERIENCES, EPISODES = 0, 1

# How the step in a slot ended.
WENT_ON = np.uint8(0)
TERMINATED = np.uint8(1)
CUT_OFF = np.uint8(2)
NO_STEP = np.uint8(3)
"""Only an observation: the one that an episode was cut off at, or one whose own step was not kept."""

WORD_BITS = 16
LONGEST_EPISODE = 4096
"""Steps of a finished episode that are kept at most."""

# Places in a cursor. The first four belong to all kinds.
(CAPACITY, KIND, SAMPLING, HELD) = range(4)
# A ring: next slot to write, slots in use; with episodes, the table's first entry and how many there are.
(HEAD, USED, FIRST_EPISODE, EPISODE_COUNT) = range(4, 8)
# Finished episodes: experiences written in this pass, episodes written in it, start and length of the running one.
(WRITTEN, PLACE, START, LENGTH) = range(8, 12)
# Matching: unused slots, size of the heap, the queue of the newest and its capacity, slot of the running episode.
(FREE_COUNT, HEAP_COUNT, QUEUE_FIRST, QUEUE_COUNT, PROTECTED, OPEN) = range(12, 18)
# Bits of an observation whose elements take two values, 0 if they take more; first steps of an episode not to draw.
(BITS, LEAD) = range(18, 20)
CURSOR_SIZE = 20
FIXED_IN_CURSOR = [CAPACITY, KIND, SAMPLING, PROTECTED, BITS, LEAD]
"""The places that settings decide."""


class Replay(NamedTuple):
    """The arrays of a memory."""

    slots: NDArray[Any]
    places: NDArray[np.int32]
    """Episodes: starts, then lengths. Matching: slot after each slot, uses of each slot, unused slots, heap, queue."""
    keys: NDArray[np.float64]
    """Matching: the random key of each place in the heap."""


class MemoryPlan(NamedTuple):
    """What decides a memory's arrays and how they are used."""

    capacity: int
    observation_size: int
    kind: int = FIFO
    sampling: int = EXPERIENCES
    protected: int = 0
    is_two_valued: bool = False
    """Whether observations are packed into bits, sixteen to a word."""
    has_whole_rewards: bool = False
    """Whether rewards fit a signed byte."""
    lead: int = 0
    """With sampling by episodes, first steps of each that are not drawn."""


def new_cursor(plan: MemoryPlan) -> NDArray[np.int64]:
    capacity, kind = plan.capacity, plan.kind
    cursor = np.zeros(CURSOR_SIZE, np.int64)
    bits = plan.observation_size if plan.is_two_valued else 0
    cursor[FIXED_IN_CURSOR] = capacity, kind, plan.sampling, plan.protected, bits, plan.lead
    cursor[OPEN] = -1
    if kind == MATCHING:
        cursor[FREE_COUNT] = slot_count(capacity, kind)
    return cursor


def slot_count(capacity: int, kind: int) -> int:
    """How many slots a memory needs.

    A ring has a sixteenth more than its capacity, for the last observations of episodes that were cut off; were
    those shorter than sixteen steps on average, somewhat fewer experiences would be kept. Passes of finished episodes
    alternate between two halves. Under matching, hardly any two experiences kept are neighbours in the end, and each
    needs the observation that followed it.
    """
    if kind == FIFO:
        return capacity + capacity // 16 + 3
    if kind == FINISHED_EPISODES:
        return 2 * (capacity + capacity // 16 + LONGEST_EPISODE + 2)
    return 2 * capacity + 4


def new_replay(plan: MemoryPlan) -> Replay:
    capacity, kind = plan.capacity, plan.kind
    words = -(-plan.observation_size // WORD_BITS)
    observation = (np.uint16, (words,)) if plan.is_two_valued else (np.float32, (plan.observation_size,))
    reward = np.int8 if plan.has_whole_rewards else np.float32
    slot = np.dtype([("observation", *observation), ("reward", reward), ("action", "u1"), ("ending", "u1")])
    slots = slot_count(capacity, kind)
    places, keys = np.zeros(1, np.int32), np.zeros(1, np.float64)
    if kind == MATCHING:
        places = np.zeros(3 * slots + 2 * capacity + 2, np.int32)
        places[2 * slots : 3 * slots] = np.arange(slots)[::-1]
        keys = np.zeros(capacity + 1, np.float64)
    elif plan.sampling == EPISODES:
        places = np.zeros(2 * (capacity + 1), np.int32)
    return Replay(np.zeros(slots, slot), places, keys)


# ------------------------------------------------------------------------------------------------ any kind


@kernel
def begin(replay: Replay, cursor: NDArray[np.int64]) -> None:
    """A new episode begins."""
    if cursor[KIND] == FINISHED_EPISODES:
        _begin_finished(replay, cursor)
    elif cursor[KIND] == MATCHING:
        if cursor[OPEN] >= 0:  # the last episode was left without an end
            _release(replay, cursor, cursor[OPEN])
            cursor[OPEN] = -1
    else:
        _close_dangling(replay, cursor)
        if cursor[SAMPLING] == EPISODES:
            _begin_in_ring(replay, cursor)


@kernel
def store(
    replay: Replay,
    cursor: NDArray[np.int64],
    stream: Stream,
    observation_t: NDArray[np.float32],
    action_t: int,
    reward_t1: float,
    observation_t1: NDArray[np.float32],
    ending: np.uint8,
) -> None:
    """Remember a step, forgetting another if need be."""
    if cursor[KIND] == FIFO:
        here, there = _room_in_ring(replay, cursor, ending)
    elif cursor[KIND] == FINISHED_EPISODES:
        if cursor[LENGTH] == 0:
            _begin_finished(replay, cursor)
        if cursor[LENGTH] >= LONGEST_EPISODE:
            if ending != WENT_ON:
                _finish_episode(replay, cursor, True)
            return
        here, there = _room_in_pass(cursor)
    else:
        here, there = _room_in_pool(replay, cursor, ending)
    slot = replay.slots[here]
    slot.action = action_t
    slot.reward = reward_t1
    slot.ending = ending
    # What followed is written ahead of its own step, so that this one can be replayed at once. If the episode goes
    # on, its next step will write the same observation there again.
    _write(slot.observation, observation_t, cursor[BITS])
    if there != here:
        following = replay.slots[there]
        _write(following.observation, observation_t1, cursor[BITS])
        if ending == CUT_OFF:
            following.ending = NO_STEP
    if cursor[KIND] == MATCHING:
        _enter(replay, cursor, stream, here, there, ending)
    elif cursor[KIND] == FINISHED_EPISODES and ending != WENT_ON:
        _finish_episode(replay, cursor, ending == CUT_OFF)


@kernel
def held(cursor: NDArray[np.int64]) -> int:
    """How many experiences can be drawn."""
    return cursor[HELD]


@kernel
def draw(replay: Replay, cursor: NDArray[np.int64], stream: Stream) -> int:
    """The slot of an experience."""
    if cursor[SAMPLING] == EPISODES:
        entry = below(stream, cursor[EPISODE_COUNT])
        if cursor[KIND] == FIFO:
            entry = (cursor[FIRST_EPISODE] + entry) % (cursor[CAPACITY] + 1)
        start, length = replay.places[entry], replay.places[cursor[CAPACITY] + 1 + entry]
        lead = cursor[LEAD] if length > cursor[LEAD] else 0
        return (start + lead + below(stream, length - lead)) % replay.slots.size
    if cursor[KIND] == MATCHING:
        return _draw_from_pool(replay, cursor, stream)
    return _draw_from_ring(replay, cursor, stream)


@kernel
def slot_after(replay: Replay, cursor: NDArray[np.int64], slot: int) -> int:
    """Where the observation that followed is."""
    if cursor[KIND] == MATCHING:
        return replay.places[slot]
    slot += 1
    return 0 if slot == replay.slots.size else slot


@kernel
def steps_before(replay: Replay, cursor: NDArray[np.int64], slot: int, at_most: int) -> int:
    """How many steps of the same episode stand right before a slot, up to `at_most`; not under matching."""
    size = replay.slots.size
    edge = (cursor[HEAD] - cursor[USED]) % size
    count = 0
    while count < at_most:
        is_first = slot == edge if cursor[KIND] == FIFO else slot % (size // 2) == 0
        slot = (slot - 1) % size
        if is_first or replay.slots[slot].ending != WENT_ON:
            break
        count += 1
    return count


@kernel
def read_observation(
    replay: Replay,
    cursor: NDArray[np.int64],
    slot: int,
    low: np.float32,
    high: np.float32,
    rows: NDArray[np.float32],
    row: int,
) -> None:
    """Write a slot's observation into a row of a matrix; bits stand for `low` and `high`."""
    stored = replay.slots[slot].observation
    if cursor[BITS] > 0:
        for k in range(cursor[BITS]):
            bit = (np.int64(stored[k // WORD_BITS]) >> (k % WORD_BITS)) & 1
            rows[row, k] = high if bit == 1 else low
    else:
        for k in range(rows.shape[1]):
            rows[row, k] = stored[k]


@kernel
def _write(stored: NDArray[Any], observation: NDArray[np.float32], bits: int) -> None:
    if bits > 0:
        for first in range(0, bits, WORD_BITS):
            word = 0
            for k in range(first, min(first + WORD_BITS, bits)):
                if observation[k] > 0.0:
                    word |= 1 << (k - first)
            stored[first // WORD_BITS] = word
    else:
        for k in range(observation.size):
            stored[k] = observation[k]


# ---------------------------------------------------------------------------------------------------- ring


@kernel
def _close_dangling(replay: Replay, cursor: NDArray[np.int64]) -> None:
    """If the last episode was left without an end, keep what followed its last step from being written over."""
    last = (cursor[HEAD] - 1) % replay.slots.size
    if cursor[USED] > 0 and replay.slots[last].ending == WENT_ON:
        while cursor[USED] > replay.slots.size - 3:
            _forget_oldest(replay, cursor)
        replay.slots[last].ending = CUT_OFF
        replay.slots[cursor[HEAD]].ending = NO_STEP
        cursor[HEAD] = slot_after(replay, cursor, cursor[HEAD])
        cursor[USED] += 1


@kernel
def _begin_in_ring(replay: Replay, cursor: NDArray[np.int64]) -> None:
    """A new entry in the table of episodes, unless the last one is still empty."""
    table = cursor[CAPACITY] + 1
    last = (cursor[FIRST_EPISODE] + cursor[EPISODE_COUNT] - 1) % table
    if cursor[EPISODE_COUNT] > 0 and replay.places[table + last] == 0:
        return
    entry = (cursor[FIRST_EPISODE] + cursor[EPISODE_COUNT]) % table
    replay.places[entry] = cursor[HEAD]
    replay.places[table + entry] = 0
    cursor[EPISODE_COUNT] += 1


@kernel
def _room_in_ring(replay: Replay, cursor: NDArray[np.int64], ending: np.uint8) -> tuple[int, int]:
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
    if replay.slots[oldest].ending == NO_STEP:
        return
    cursor[HELD] -= 1
    if cursor[SAMPLING] == EPISODES:
        table, first = cursor[CAPACITY] + 1, cursor[FIRST_EPISODE]
        replay.places[first] = slot_after(replay, cursor, oldest)
        replay.places[table + first] -= 1
        if replay.places[table + first] == 0 and cursor[EPISODE_COUNT] > 1:
            cursor[FIRST_EPISODE] = (first + 1) % table
            cursor[EPISODE_COUNT] -= 1


@kernel
def _draw_from_ring(replay: Replay, cursor: NDArray[np.int64], stream: Stream) -> int:
    oldest = cursor[HEAD] - cursor[USED]
    while True:
        slot = oldest + below(stream, cursor[USED])
        if slot < 0:
            slot += replay.slots.size
        if replay.slots[slot].ending != NO_STEP:
            return slot


# --------------------------------------------------------------------------------------- finished episodes


@kernel
def _begin_finished(replay: Replay, cursor: NDArray[np.int64]) -> None:
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


@kernel
def _room_in_pass(cursor: NDArray[np.int64]) -> tuple[int, int]:
    here = cursor[START] + cursor[LENGTH]
    cursor[LENGTH] += 1
    return here, here + 1


@kernel
def _finish_episode(replay: Replay, cursor: NDArray[np.int64], keeps_last: bool) -> None:
    """Only now can the episode be drawn, in the place of an older one."""
    table, place, length = cursor[CAPACITY] + 1, cursor[PLACE], cursor[LENGTH]
    if keeps_last:
        replay.slots[cursor[START] + length].ending = NO_STEP
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


# ------------------------------------------------------------------------------------------------ matching


@kernel
def _room_in_pool(replay: Replay, cursor: NDArray[np.int64], ending: np.uint8) -> tuple[int, int]:
    """The running episode's slot, or a new one, and a slot for what follows; a true end is followed by nothing."""
    here = cursor[OPEN] if cursor[OPEN] >= 0 else _take_slot(replay, cursor)
    there = here if ending == TERMINATED else _take_slot(replay, cursor)
    replay.slots[there].ending = NO_STEP
    return here, there


@kernel
def _take_slot(replay: Replay, cursor: NDArray[np.int64]) -> int:
    cursor[FREE_COUNT] -= 1
    slots = replay.slots.size
    slot = replay.places[2 * slots + cursor[FREE_COUNT]]
    replay.places[slots + slot] = 0
    return slot


@kernel
def _release(replay: Replay, cursor: NDArray[np.int64], slot: int) -> None:
    """One use of a slot is over; without any, it is free."""
    slots = replay.slots.size
    replay.places[slots + slot] -= 1
    if replay.places[slots + slot] == 0:
        replay.places[2 * slots + cursor[FREE_COUNT]] = slot
        cursor[FREE_COUNT] += 1


@kernel
def _enter(replay: Replay, cursor: NDArray[np.int64], stream: Stream, here: int, there: int, ending: np.uint8) -> None:
    """Take the experience in: among the newest if some are protected, and from there to the keys."""
    slots = replay.slots.size
    replay.places[here] = there
    if cursor[OPEN] < 0:
        replay.places[slots + here] += 1  # the running episode's own hold on the slot
    replay.places[slots + here] += 1
    if there != here:
        replay.places[slots + there] += 2  # by this experience, and by the running episode
    _release(replay, cursor, here)  # the running episode moves on
    if ending == WENT_ON:
        cursor[OPEN] = there
    else:
        cursor[OPEN] = -1
        if there != here:
            _release(replay, cursor, there)
    cursor[HELD] += 1
    leaving = here
    if cursor[PROTECTED] > 0:
        queue = 3 * slots + cursor[CAPACITY] + 1
        leaving = -1
        if cursor[QUEUE_COUNT] == cursor[PROTECTED]:
            leaving = replay.places[queue + cursor[QUEUE_FIRST]]
            cursor[QUEUE_FIRST] = (cursor[QUEUE_FIRST] + 1) % cursor[PROTECTED]
            cursor[QUEUE_COUNT] -= 1
        last = (cursor[QUEUE_FIRST] + cursor[QUEUE_COUNT]) % cursor[PROTECTED]
        replay.places[queue + last] = here
        cursor[QUEUE_COUNT] += 1
    if leaving >= 0:
        _push(replay, cursor, uniform(stream), leaving)
        if cursor[HEAP_COUNT] > cursor[CAPACITY] - cursor[PROTECTED]:
            _forget_lowest(replay, cursor)


@kernel
def _push(replay: Replay, cursor: NDArray[np.int64], key: float, slot: int) -> None:
    """Into the heap, whose lowest key is at place 0."""
    heap = replay.places[3 * replay.slots.size :]
    place = cursor[HEAP_COUNT]
    cursor[HEAP_COUNT] += 1
    while place > 0 and replay.keys[(place - 1) // 2] > key:
        replay.keys[place] = replay.keys[(place - 1) // 2]
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    replay.keys[place] = key
    heap[place] = slot


@kernel
def _forget_lowest(replay: Replay, cursor: NDArray[np.int64]) -> None:
    heap = replay.places[3 * replay.slots.size :]
    forgotten = heap[0]
    cursor[HEAP_COUNT] -= 1
    count = cursor[HEAP_COUNT]
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
    replay.slots[forgotten].ending = NO_STEP
    _release(replay, cursor, forgotten)
    if there != forgotten:
        _release(replay, cursor, there)
    cursor[HELD] -= 1


@kernel
def _draw_from_pool(replay: Replay, cursor: NDArray[np.int64], stream: Stream) -> int:
    heap = 3 * replay.slots.size
    place = below(stream, cursor[HELD])
    if place < cursor[HEAP_COUNT]:
        return replay.places[heap + place]
    place = (cursor[QUEUE_FIRST] + place - cursor[HEAP_COUNT]) % cursor[PROTECTED]
    return replay.places[heap + cursor[CAPACITY] + 1 + place]
