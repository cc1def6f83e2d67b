"""The random stream against xoshiro256++ and SplitMix64 written with Python's integers."""

from __future__ import annotations

import numpy as np

from repertory.kernels.streams import below, new_stream, next_word, uniform

WORD = 2**64 - 1


def splitmix64(seed: int, count: int) -> list[int]:
    words = []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & WORD
        z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
        words.append(z ^ (z >> 31))
    return words


def rotate(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & WORD


def xoshiro256pp(s: list[int]) -> int:
    result = (rotate((s[0] + s[3]) & WORD, 23) + s[0]) & WORD
    t = (s[1] << 17) & WORD
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotate(s[3], 45)
    return result


def test_words_equal_the_published_algorithm() -> None:
    for seed in (0, 1, 12345, 2**31 - 1):
        state, stream = splitmix64(seed, 4), new_stream(seed)
        assert list(stream) == state
        assert [int(next_word(stream)) for _ in range(50)] == [xoshiro256pp(state) for _ in range(50)]


def test_splitmix_starts_as_its_authors_say() -> None:
    assert splitmix64(0, 1) == [0xE220A8397B1DCDAF]


def test_uniform_and_below_are_flat() -> None:
    stream = new_stream(7)
    draws = np.array([uniform(stream) for _ in range(20_000)])
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    assert abs(draws.mean() - 0.5) < 4 / np.sqrt(12 * 20_000)
    counts = np.bincount([below(stream, 5) for _ in range(20_000)], minlength=5)
    assert ((counts - 4000) ** 2 / 4000).sum() < 23.5  # chi-square with 4 degrees of freedom, p = 1e-4
