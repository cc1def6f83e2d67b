"""Replay memories, each keeping every observation once.

Which experiences stay is the memory's *kind*:

- FIFO: the newest. A ring of slots; what followed is in the next slot.
- FINISHED_EPISODES: whole episodes, in passes. Past `capacity` experiences a new pass replaces the stored
  episodes one by one from the first; what the last pass left over goes when the next begins.
- MATCHING: a uniform sample of the whole lifetime (global distribution matching, Isele and Cosgun, 2018): every
  experience draws a random key and the highest keys stay, besides a protected number of the newest.

Which of them are drawn is the *sampling*: uniform over EXPERIENCES, or over EPISODES and then over an episode's steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import replay_cursor as at
from repertory.kernels.compile import inlined, kernel
from repertory.kernels.replay_cursor import Cursor
from repertory.kernels.replay_passes import LONGEST_EPISODE, begin_pass_or_episode, finish_episode, room_in_pass
from repertory.kernels.replay_pool import draw_from_pool, enter_pool, release, room_in_pool
from repertory.kernels.replay_ring import begin_in_ring, close_dangling, draw_from_ring, room_in_ring
from repertory.kernels.replay_slots import (
    CUT_OFF,
    EPISODES,
    EXPERIENCES,
    FIFO,
    FINISHED_EPISODES,
    MATCHING,
    NO_STEP,
    WENT_ON,
    Replay,
    ending_at,
    set_ending,
    set_step,
    slot_kind,
    write_observation,
)
from repertory.kernels.streams import Stream, below


class MemoryPlan(NamedTuple):
    """What decides a memory's arrays and how they are used."""

    capacity: int
    observation_size: int
    kind: int = FIFO
    sampling: int = EXPERIENCES
    protected: int = 0
    actions: int = 2
    is_two_valued: bool = False
    """Whether observations are packed into bits, sixteen to a word."""
    has_whole_rewards: bool = False
    """Whether rewards fit a signed byte."""
    lead: int = 0
    """With sampling by episodes, first steps of each that are not drawn."""


def new_cursor(plan: MemoryPlan) -> Cursor:
    capacity, kind = plan.capacity, plan.kind
    cursor = np.zeros(at.SIZE, np.int64)
    bits = plan.observation_size if plan.is_two_valued else 0
    cursor[at.FIXED] = capacity, kind, plan.sampling, plan.protected, bits, plan.lead
    cursor[at.OPEN] = -1
    if kind == MATCHING:
        cursor[at.FREE_COUNT] = slot_count(capacity, kind)
    return cursor


def slot_count(capacity: int, kind: int) -> int:
    """How many slots a memory needs.

    A ring has a sixty-fourth more than its capacity, a sixteenth if it is small, for the last observations of episodes
    that were cut off; were those shorter than that on average, somewhat fewer experiences would be kept. Passes of
    finished episodes alternate between two halves. Under matching, hardly any two experiences kept are neighbours in
    the end, and each needs the observation that followed it.
    """
    if kind == FIFO:
        return capacity + min(capacity // 16, capacity // 64 + 64) + 3
    if kind == FINISHED_EPISODES:
        return 2 * (capacity + capacity // 16 + LONGEST_EPISODE + 2)
    return 2 * capacity + 4


def new_replay(plan: MemoryPlan) -> Replay:
    capacity, kind = plan.capacity, plan.kind
    slot = slot_kind(plan.observation_size, plan.actions, plan.is_two_valued, plan.has_whole_rewards)
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
def begin(replay: Replay, cursor: Cursor) -> None:
    """A new episode begins."""
    if cursor[at.KIND] == FINISHED_EPISODES:
        begin_pass_or_episode(replay, cursor)
    elif cursor[at.KIND] == MATCHING:
        if cursor[at.OPEN] >= 0:  # the last episode was left without an end
            release(replay, cursor, cursor[at.OPEN])
            cursor[at.OPEN] = -1
    else:
        close_dangling(replay, cursor)
        if cursor[at.SAMPLING] == EPISODES:
            begin_in_ring(replay, cursor)


@kernel
def store(
    replay: Replay,
    cursor: Cursor,
    stream: Stream,
    observation_t: NDArray[np.float32],
    action_t: int,
    reward_t1: float,
    observation_t1: NDArray[np.float32],
    ending: int,
) -> None:
    """Remember a step, forgetting another if need be."""
    if cursor[at.KIND] == FIFO:
        here, there = room_in_ring(replay, cursor, ending)
    elif cursor[at.KIND] == FINISHED_EPISODES:
        if cursor[at.LENGTH] == 0:
            begin_pass_or_episode(replay, cursor)
        if cursor[at.LENGTH] >= LONGEST_EPISODE:
            if ending != WENT_ON:
                finish_episode(replay, cursor, True)
            return
        here, there = room_in_pass(cursor)
    else:
        here, there = room_in_pool(replay, cursor, ending)
    set_step(replay, here, action_t, reward_t1, ending)
    # What followed is written ahead of its own step, so that this one can be replayed at once. If the episode goes
    # on, its next step will write the same observation there again.
    write_observation(replay, cursor, here, observation_t)
    if there != here:
        write_observation(replay, cursor, there, observation_t1)
        if ending == CUT_OFF:
            set_ending(replay, there, NO_STEP)
    if cursor[at.KIND] == MATCHING:
        enter_pool(replay, cursor, stream, here, there, ending)
    elif cursor[at.KIND] == FINISHED_EPISODES and ending != WENT_ON:
        finish_episode(replay, cursor, ending == CUT_OFF)


@inlined
def held(cursor: Cursor) -> int:
    """How many experiences can be drawn."""
    return cursor[at.HELD]


def cursor_between_steps(replay: Replay, cursor: Cursor) -> Cursor:
    """A copy to draw with at any time: an episode that has begun, but has no step yet, is not to be drawn."""
    cursor = cursor.copy()
    if cursor[at.KIND] == FIFO and cursor[at.SAMPLING] == EPISODES and cursor[at.EPISODE_COUNT] > 0:
        table = cursor[at.CAPACITY] + 1
        last = (cursor[at.FIRST_EPISODE] + cursor[at.EPISODE_COUNT] - 1) % table
        cursor[at.EPISODE_COUNT] -= replay.places[table + last] == 0
    return cursor


@kernel
def draw_batch(replay: Replay, cursor: Cursor, stream: Stream, drawn: NDArray[np.int64]) -> None:
    """The slots of as many experiences as `drawn` has room for."""
    if cursor[at.KIND] == FIFO and cursor[at.SAMPLING] == EXPERIENCES:
        # A loop this small lets the processor look for the next slot while it waits for the last one's cache line.
        for i in range(drawn.size):
            drawn[i] = draw_from_ring(replay, cursor, stream)
    else:
        for i in range(drawn.size):
            drawn[i] = draw(replay, cursor, stream)


@kernel
def draw(replay: Replay, cursor: Cursor, stream: Stream) -> int:
    """The slot of an experience."""
    if cursor[at.SAMPLING] == EPISODES:
        entry = below(stream, cursor[at.EPISODE_COUNT])
        if cursor[at.KIND] == FIFO:
            entry = (cursor[at.FIRST_EPISODE] + entry) % (cursor[at.CAPACITY] + 1)
        start, length = replay.places[entry], replay.places[cursor[at.CAPACITY] + 1 + entry]
        lead = cursor[at.LEAD] if length > cursor[at.LEAD] else 0
        return (start + lead + below(stream, length - lead)) % replay.slots.size
    if cursor[at.KIND] == MATCHING:
        return draw_from_pool(replay, cursor, stream)
    return draw_from_ring(replay, cursor, stream)


@kernel
def steps_before(replay: Replay, cursor: Cursor, slot: int, at_most: int) -> int:
    """How many steps of the same episode stand right before a slot, up to `at_most`; not under matching."""
    size = replay.slots.size
    edge = (cursor[at.HEAD] - cursor[at.USED]) % size
    count = 0
    while count < at_most:
        is_first = slot == edge if cursor[at.KIND] == FIFO else slot % (size // 2) == 0
        slot = (slot - 1) % size
        if is_first or ending_at(replay, slot) != WENT_ON:
            break
        count += 1
    return count
