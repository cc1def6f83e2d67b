"""The generator that all of NumPy's functions share, put away and brought back within microseconds.

`np.random.get_state` and `set_state` take 55 microseconds each, for they visit 624 words one by one; two of each at
every episode would be a twentieth of all time where episodes are short. Here the words are copied as they lie in
memory, at the address that NumPy publishes for this.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.random.mtrand import get_bit_generator

WORDS = 624
BYTES = 4 * (WORDS + 1)
"""Of a Mersenne Twister: its words, and the position in them."""

State = dict[str, Any]
"""As `np.random.get_state(legacy=False)` has it."""


class PutAway(NamedTuple):
    """A Mersenne Twister, and the second one of a pair of normal numbers if that is still to be handed out."""

    memory: bytes
    spare: float | None


def put_away() -> PutAway | State:
    """What the generator is now. Something else must be brought back next: its spare number is taken out."""
    address = _address()
    if address is None:
        return np.random.get_state(legacy=False)  # noqa: NPY002
    memory = ctypes.string_at(address, BYTES)
    spare = np.random.standard_normal()  # noqa: NPY002
    if ctypes.string_at(address, BYTES) == memory:  # nothing had to be drawn for it
        return PutAway(memory, spare)
    np.random.standard_normal()  # the spare one that has just been made  # noqa: NPY002
    ctypes.memmove(address, memory, BYTES)
    return PutAway(memory, None)


def bring_back(state: PutAway | State) -> None:
    """Make the generator what it was. After `put_away`, which leaves it without a spare number."""
    address = _address()
    if address is None or not isinstance(state, PutAway) or state.spare is not None:
        np.random.set_state(as_state(state))  # noqa: NPY002
    else:
        ctypes.memmove(address, state.memory, BYTES)


def as_state(state: PutAway | State) -> State:
    """For saving."""
    if not isinstance(state, PutAway):
        return state
    words = np.frombuffer(state.memory, np.uint32)
    return {
        "bit_generator": "MT19937",
        "state": {"key": words[:WORDS].copy(), "pos": int(words[WORDS])},
        "has_gauss": int(state.spare is not None),
        "gauss": 0.0 if state.spare is None else state.spare,
    }


def _address() -> int | None:
    """Where the state is; None if somebody has put another kind of generator in the place of NumPy's."""
    generator = get_bit_generator()
    return int(generator.ctypes.state_address) if type(generator) is np.random.MT19937 else None
