"""Random numbers inside kernels: xoshiro256++ on a four-word state (Blackman and Vigna, 2019).

The state is an array, so it is saved with the rest of a policy and costs nothing to hand to a kernel; a
`numpy.random.Generator` would take longer to unpack than a short episode takes to play.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import inlined, kernel

Stream = NDArray[np.uint64]
"""The state of one stream of random numbers: four words."""

# Unsigned constants throughout: Numba turns uint64 combined with a signed integer into a float.
_ONE, _ELEVEN, _SEVENTEEN, _TWENTY_THREE = np.uint64(1), np.uint64(11), np.uint64(17), np.uint64(23)
_FORTY_FIVE, _SIXTY_FOUR = np.uint64(45), np.uint64(64)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)
_UNIT = 2.0**-53


def new_stream(seed: int) -> Stream:
    """A stream that `seed` decides."""
    stream = np.zeros(4, np.uint64)
    seed_stream(stream, seed)
    return stream


@kernel
def seed_stream(stream: Stream, seed: int) -> None:
    """Fill the state from an integer with SplitMix64, as xoshiro's authors advise."""
    word = np.uint64(seed)
    for i in range(4):
        word = word + _GOLDEN
        mixed = (word ^ (word >> _30)) * _MIX_1
        mixed = (mixed ^ (mixed >> _27)) * _MIX_2
        stream[i] = mixed ^ (mixed >> _31)


@inlined
def next_word(stream: Stream) -> np.uint64:
    """The next 64 random bits."""
    s0, s1, s2, s3 = stream[0], stream[1], stream[2], stream[3]
    total = s0 + s3
    word = ((total << _TWENTY_THREE) | (total >> (_SIXTY_FOUR - _TWENTY_THREE))) + s0
    s2 ^= s0
    s3 ^= s1
    stream[1] = s1 ^ s2
    stream[0] = s0 ^ s3
    stream[2] = s2 ^ (s1 << _SEVENTEEN)
    stream[3] = (s3 << _FORTY_FIVE) | (s3 >> (_SIXTY_FOUR - _FORTY_FIVE))
    return word


@inlined
def uniform(stream: Stream) -> float:
    """Uniform in [0, 1), on a grid of 2**-53."""
    return (next_word(stream) >> _ELEVEN) * _UNIT


@inlined
def below(stream: Stream, n: int) -> int:
    """Uniform over 0, ..., n - 1 (n far below 2**53)."""
    return int(uniform(stream) * n)
