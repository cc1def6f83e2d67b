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
    draw_slot,
    held,
    new_cursor,
    new_slots,
    slot_after,
    store,
)


class Ring:
    """The kernels' ring beside a list that keeps the newest."""

    def __init__(self, capacity: int) -> None:
        self.slots, self.cursor = new_slots(capacity, 1), new_cursor(capacity)
        self.twin: deque = deque(maxlen=capacity)

    def draw(self) -> tuple:
        place = draw_slot(self.slots, self.cursor, STREAM)
        slot, ending = self.slots[place], int(self.slots[place]["ending"])
        after = float(self.slots[slot_after(self.slots, place)]["observation"][0])
        return (
            float(slot["observation"][0]),
            int(slot["action"]),
            float(slot["reward"]),
            None if ending == TERMINATED else after,
            ending,
        )

    def fill(self, steps: int, rng: np.random.Generator, lengths: tuple[int, int]) -> None:
        """Episodes of random length and ending."""
        serial, left = 0.0, 0
        for t in range(steps):
            if left == 0:
                left = int(rng.integers(*lengths))
                serial += 1.0
            left -= 1
            ending = WENT_ON if left else (TERMINATED, CUT_OFF)[int(rng.random() < 0.5)]
            here, serial = serial, serial + 1.0
            observations = np.array([[here], [serial]], np.float32)
            store(self.slots, self.cursor, observations[0], t % 2, float(t), observations[1], ending)
            self.twin.append((here, t % 2, float(t), None if ending == TERMINATED else serial, int(ending)))
            assert {self.draw() for _ in range(3)} <= set(self.twin)


STREAM = new_stream(3)


@pytest.mark.parametrize(("capacity", "lengths"), [(100, (17, 60)), (50, (30, 31)), (1, (20, 40))])
def test_holds_exactly_the_newest(capacity: int, lengths: tuple[int, int], rng: np.random.Generator) -> None:
    ring = Ring(capacity)
    ring.fill(1000, rng, lengths)
    assert held(ring.cursor) == capacity
    assert {ring.draw() for _ in range(200 * capacity)} == set(ring.twin)


def test_sampling_is_uniform_over_experiences(rng: np.random.Generator) -> None:
    ring = Ring(40)
    ring.fill(300, rng, (2, 30))
    n = 40_000
    drawn = Counter(ring.draw() for _ in range(n))
    expected = n / held(ring.cursor)
    chi_square = sum((count - expected) ** 2 / expected for count in drawn.values())
    assert len(drawn) == held(ring.cursor)
    assert chi_square < 84  # 39 degrees of freedom, p = 4e-5


def test_many_short_cut_off_episodes_keep_fewer_but_only_true_experiences(rng: np.random.Generator) -> None:
    ring = Ring(64)
    ring.fill(1000, rng, (1, 3))
    assert 30 < held(ring.cursor) <= 64


def test_the_papers_memory_is_under_ten_megabytes() -> None:
    assert new_slots(400_000, 4).nbytes < 10_000_000
