"""The slots of a replay memory: what stands in one, and the table of numbers that says where.

A slot holds an observation, the action taken there, its reward and how the step ended, side by side, so that
drawing one touches one cache line. The observation that followed stands in another slot, where the next step of the
episode is stored too. Action and ending share one number: four bytes hold all of a small world's step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import replay_cursor as at
from repertory.kernels.compile import inlined
from repertory.kernels.replay_cursor import Cursor
from repertory.kernels.views import Matrix

FIFO, FINISHED_EPISODES, MATCHING = 0, 1, 2
EXPERIENCES, EPISODES = 0, 1

# How the step in a slot ended.
WENT_ON, TERMINATED, CUT_OFF, NO_STEP = range(4)
"""NO_STEP is only an observation: the one that an episode was cut off at, or one whose own step was not kept."""

_ENDINGS = 4
"""An action times this, plus how the step ended, is the number `step` in a slot."""
WORD_BITS = 16


class Replay(NamedTuple):
    """The arrays of a memory."""

    slots: NDArray[Any]
    places: NDArray[np.int32]
    """Episodes: starts, then lengths. Matching: slot after each slot, uses of each slot, unused slots, heap, queue."""
    keys: NDArray[np.float64]
    """Matching: the random key of each place in the heap."""


def slot_kind(observation_size: int, actions: int, is_two_valued: bool, has_whole_rewards: bool) -> np.dtype[Any]:
    words = -(-observation_size // WORD_BITS)
    observation = (np.uint16, (words,)) if is_two_valued else (np.float32, (observation_size,))
    reward = np.int8 if has_whole_rewards else np.float32
    step = np.min_scalar_type(actions * _ENDINGS - 1)
    return np.dtype([("observation", *observation), ("reward", reward), ("step", step)])


@inlined
def ending_at(replay: Replay, slot: int) -> int:
    """How the step in a slot ended."""
    return replay.slots[slot].step % _ENDINGS


def endings(replay: Replay) -> NDArray[np.integer]:
    """How the step in each slot ended, outside of kernels."""
    return replay.slots["step"] % _ENDINGS


@inlined
def action_at(replay: Replay, slot: int) -> int:
    return replay.slots[slot].step // _ENDINGS


@inlined
def set_ending(replay: Replay, slot: int, ending: int) -> None:
    replay.slots[slot].step = action_at(replay, slot) * _ENDINGS + ending


@inlined
def set_step(replay: Replay, slot: int, action: int, reward: float, ending: int) -> None:
    replay.slots[slot].step = action * _ENDINGS + ending
    replay.slots[slot].reward = reward


@inlined
def slot_after(replay: Replay, cursor: Cursor, slot: int) -> int:
    """Where the observation that followed is."""
    if cursor[at.KIND] == MATCHING:
        return replay.places[slot]
    slot += 1
    return 0 if slot == replay.slots.size else slot


@inlined
def read_observation(
    replay: Replay, cursor: Cursor, slot: int, low: np.float32, high: np.float32, rows: Matrix, row: int
) -> None:
    """Write a slot's observation into a row of a matrix; bits stand for `low` and `high`."""
    stored = replay.slots[slot].observation
    if cursor[at.BITS] > 0:
        for k in range(cursor[at.BITS]):
            bit = (np.int64(stored[k // WORD_BITS]) >> (k % WORD_BITS)) & 1
            rows[row, k] = high if bit == 1 else low
    else:
        for k in range(rows.shape[1]):
            rows[row, k] = stored[k]


@inlined
def write_observation(replay: Replay, cursor: Cursor, slot: int, observation: NDArray[np.float32]) -> None:
    """The observation of a slot; of elements that take two values, whether they are above 0."""
    stored, bits = replay.slots[slot].observation, cursor[at.BITS]
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
