"""The replay ring against a list of whole experiences."""

from __future__ import annotations

from collections import Counter, deque

import numpy as np
import pytest

from repertory.kernels.random import new_stream
from repertory.kernels.replay import (
    CUT_OFF,
    TERMINATED,
    WENT_ON,
    Replay,
    draw_slot,
    held,
    new_replay,
    slot_after,
    store,
)


def experience(replay: Replay, slot: int) -> tuple:
    ending = int(replay.endings[slot])
    after = None if ending == TERMINATED else float(replay.observations[slot_after(replay, slot), 0])
    return (
        float(replay.observations[slot, 0]),
        int(replay.actions[slot]),
        float(replay.rewards[slot]),
        after,
        ending,
    )


def fill(replay: Replay, steps: int, rng: np.random.Generator, lengths: tuple[int, int], twin: deque) -> None:
    """Episodes of random length and ending, told to the ring and to a list that keeps the newest."""
    serial = 0.0
    t, left = 0, 0
    for t in range(steps):
        if left == 0:
            left = int(rng.integers(*lengths))
            serial += 1.0
        left -= 1
        ending = WENT_ON if left else (TERMINATED, CUT_OFF)[int(rng.random() < 0.5)]
        here, there = serial, serial + 1.0
        serial = there
        action, reward = t % 2, float(t)
        store(replay, np.array([here], np.float32), action, reward, np.array([there], np.float32), ending)
        twin.append((here, action, reward, None if ending == TERMINATED else there, int(ending)))
        slots = {experience(replay, draw_slot(replay, STREAM)) for _ in range(3)}
        assert slots <= set(twin)


STREAM = new_stream(3)


@pytest.mark.parametrize(("capacity", "lengths"), [(100, (17, 60)), (50, (30, 31)), (1, (20, 40))])
def test_holds_exactly_the_newest(capacity: int, lengths: tuple[int, int], rng: np.random.Generator) -> None:
    replay, twin = new_replay(capacity, 1), deque(maxlen=capacity)
    fill(replay, 1000, rng, lengths, twin)
    assert held(replay) == capacity
    drawn = Counter(experience(replay, draw_slot(replay, STREAM)) for _ in range(200 * capacity))
    assert set(drawn) == set(twin)


def test_sampling_is_uniform_over_experiences(rng: np.random.Generator) -> None:
    replay, twin = new_replay(40, 1), deque(maxlen=40)
    fill(replay, 300, rng, (2, 30), twin)
    n = 40_000
    drawn = Counter(experience(replay, draw_slot(replay, STREAM)) for _ in range(n))
    expected = n / held(replay)
    chi_square = sum((drawn[e] - expected) ** 2 / expected for e in drawn)
    assert len(drawn) == held(replay)
    assert chi_square < 84  # 39 degrees of freedom, p = 4e-5


def test_many_short_cut_off_episodes_keep_fewer_but_only_true_experiences(rng: np.random.Generator) -> None:
    replay, twin = new_replay(64, 1), deque(maxlen=64)
    fill(replay, 1000, rng, (1, 3), twin)
    assert 30 < held(replay) <= 64


def test_the_papers_memory_is_under_ten_megabytes() -> None:
    replay = new_replay(400_000, 4)
    assert sum(array.nbytes for array in replay if isinstance(array, np.ndarray)) < 10_000_000
