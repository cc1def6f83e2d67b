"""The replay memories against lists of whole experiences."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from repertory.kernels.replay import MemoryPlan, begin, draw, draw_batch, held, new_cursor, new_replay, store
from repertory.kernels.replay_slots import (
    CUT_OFF,
    EPISODES,
    EXPERIENCES,
    FIFO,
    FINISHED_EPISODES,
    MATCHING,
    TERMINATED,
    WENT_ON,
    action_at,
    ending_at,
    slot_after,
)
from repertory.kernels.streams import new_stream

Experience = tuple


class Memory:
    """The kernels' memory, told episodes of numbered observations; `lived` is all it was told, in order."""

    def __init__(self, capacity: int, kind: int = FIFO, sampling: int = EXPERIENCES, protected: int = 0) -> None:
        plan = MemoryPlan(capacity, 1, kind, sampling, protected)
        self.replay, self.cursor = new_replay(plan), new_cursor(plan)
        self.stream = new_stream(3)
        self.lived: list[Experience] = []
        self.episodes: list[list[Experience]] = []
        self.serial = 0.0

    def live_episode(self, length: int, last: int) -> None:
        begin(self.replay, self.cursor)
        self.episodes.append([])
        self.serial += 1.0
        for t in range(length):
            ending = WENT_ON if t < length - 1 else last
            here, there = self.serial, self.serial + 1.0
            self.serial = there
            observations = np.array([[here], [there]], np.float32)
            action, reward = int(here) % 2, here / 7
            store(self.replay, self.cursor, self.stream, observations[0], action, reward, observations[1], ending)
            experience = (here, action, np.float32(reward), None if ending == TERMINATED else there, int(ending))
            self.lived.append(experience)
            self.episodes[-1].append(experience)

    def live(self, steps: int, rng: np.random.Generator, lengths: tuple[int, int]) -> None:
        while len(self.lived) < steps:
            self.live_episode(int(rng.integers(*lengths)), (TERMINATED, CUT_OFF)[int(rng.random() < 0.5)])
            if held(self.cursor):
                assert {self.draw() for _ in range(20)} <= set(self.lived)

    def draw(self) -> Experience:
        place = draw(self.replay, self.cursor, self.stream)
        slot, ending = self.replay.slots[place], int(ending_at(self.replay, place))
        after = None
        if ending != TERMINATED:
            after = float(self.replay.slots[slot_after(self.replay, self.cursor, place)]["observation"][0])
        return float(slot["observation"][0]), int(action_at(self.replay, place)), slot["reward"], after, ending

    def drawn(self, n: int) -> Counter:
        return Counter(self.draw() for _ in range(n))


def chi_square(counts: Counter, expected: dict[Experience, float]) -> float:
    return sum((counts[e] - expected[e]) ** 2 / expected[e] for e in expected)


def limit(degrees: int) -> float:
    """A bound that a chi-square of so many degrees of freedom passes once in ten thousand or less."""
    return degrees + 4 * math.sqrt(2 * degrees) + 12


@pytest.mark.parametrize("sampling", [EXPERIENCES, EPISODES])
@pytest.mark.parametrize(("capacity", "lengths"), [(100, (17, 60)), (50, (30, 31)), (1, (20, 40)), (64, (16, 18))])
def test_a_ring_holds_exactly_the_newest(
    capacity: int, lengths: tuple[int, int], sampling: int, rng: np.random.Generator
) -> None:
    memory = Memory(capacity, FIFO, sampling)
    memory.live(1000, rng, lengths)
    assert held(memory.cursor) == capacity
    assert set(memory.drawn(300 * capacity)) == set(memory.lived[-capacity:])


def test_a_ring_is_drawn_from_uniformly(rng: np.random.Generator) -> None:
    memory = Memory(40)
    memory.live(300, rng, (2, 30))
    drawn = memory.drawn(40_000)
    assert len(drawn) == held(memory.cursor)
    assert chi_square(drawn, dict.fromkeys(drawn, 40_000 / len(drawn))) < limit(len(drawn) - 1)


@pytest.mark.parametrize(("kind", "sampling"), [(FIFO, EXPERIENCES), (FIFO, EPISODES), (MATCHING, EXPERIENCES)])
def test_a_batch_is_what_single_draws_give(kind: int, sampling: int, rng: np.random.Generator) -> None:
    memory = Memory(100, kind, sampling)
    memory.live(300, rng, (2, 30))
    one_by_one, drawn = memory.stream.copy(), np.zeros(50, np.int64)
    draw_batch(memory.replay, memory.cursor, memory.stream, drawn)
    assert drawn.tolist() == [draw(memory.replay, memory.cursor, one_by_one) for _ in range(50)]
    assert np.array_equal(memory.stream, one_by_one)


def test_many_actions_fit_beside_the_ending() -> None:
    plan = MemoryPlan(10, 1, actions=1000)
    replay, cursor = new_replay(plan), new_cursor(plan)
    observation = np.zeros(1, np.float32)
    store(replay, cursor, new_stream(0), observation, 999, 1.0, observation, CUT_OFF)
    assert (action_at(replay, 0), ending_at(replay, 0)) == (999, CUT_OFF)


def test_many_short_cut_off_episodes_keep_fewer_but_only_true_experiences(rng: np.random.Generator) -> None:
    memory = Memory(64)
    memory.live(1000, rng, (1, 3))
    assert 30 < held(memory.cursor) <= 64


@pytest.mark.parametrize("kind", [FIFO, FINISHED_EPISODES])
def test_drawing_by_episodes_favours_short_ones_by_exactly_their_length(kind: int) -> None:
    """Each of the m episodes has weight 1/m, each of its L steps 1/(m L)."""
    memory = Memory(1000, kind, EPISODES)
    lengths = [1, 2, 5, 10, 40]
    for length in lengths:
        memory.live_episode(length, TERMINATED)
    n = 100_000
    expected = {e: n / len(lengths) / len(episode) for episode in memory.episodes for e in episode}
    assert chi_square(memory.drawn(n), expected) < limit(len(expected) - 1)


def test_finished_episodes_replace_older_ones_place_by_place(rng: np.random.Generator) -> None:
    """Against a list written down from the description of the released code."""
    capacity = 60
    memory = Memory(capacity, FINISHED_EPISODES, EPISODES)
    places: list[list[Experience]] = []
    place, written = 0, 0
    for _ in range(300):
        length = int(rng.integers(1, 12)) if rng.random() < 0.5 else int(rng.integers(12, 25))
        if written + 1 >= capacity:
            places = places[:place]
            place, written = 0, 0
        memory.live_episode(length, (TERMINATED, CUT_OFF)[int(rng.random() < 0.1)])
        places[place : place + 1] = [memory.episodes[-1]]
        place, written = place + 1, written + length
        assert held(memory.cursor) == sum(len(episode) for episode in places)
        assert {memory.draw() for _ in range(60)} <= {e for episode in places for e in episode}
    assert set(memory.drawn(20_000)) == {e for episode in places for e in episode}


def test_a_running_episode_is_not_drawn_before_it_is_finished() -> None:
    memory = Memory(100, FINISHED_EPISODES, EPISODES)
    memory.live_episode(5, TERMINATED)
    memory.live_episode(7, WENT_ON)  # left without an end
    assert held(memory.cursor) == 5
    assert set(memory.drawn(500)) == set(memory.episodes[0])


def test_an_episode_longer_than_a_pass_keeps_its_beginning() -> None:
    memory = Memory(50, FINISHED_EPISODES, EPISODES)
    memory.live_episode(5000, TERMINATED)
    memory.live_episode(3, TERMINATED)
    assert {memory.draw() for _ in range(500)} <= set(memory.episodes[1])  # a new pass: the long one is gone
    memory.live_episode(5000, TERMINATED)
    assert {memory.draw() for _ in range(500)} <= set(memory.episodes[1]) | set(memory.episodes[2][:4096])


def test_matching_keeps_each_experience_with_equal_probability() -> None:
    """After t experiences each is held with probability |B| / t, whenever it came."""
    capacity, t, lives = 20, 200, 3000
    counts = np.zeros(t)
    for life in range(lives):
        memory = Memory(capacity, MATCHING)
        memory.stream = new_stream(life)
        for _ in range(t // 10):
            memory.live_episode(10, (TERMINATED, CUT_OFF)[life % 2])
        position = {experience: i for i, experience in enumerate(memory.lived)}
        for place in memory.replay.places[3 * memory.replay.slots.size :][:capacity]:
            counts[position[_at(memory, place)]] += 1
    expected = lives * capacity / t
    assert counts.sum() == lives * capacity
    statistic = ((counts - expected) ** 2 / (expected * (1 - capacity / t))).sum()
    assert statistic < limit(t - 1)


def _at(memory: Memory, place: int) -> Experience:
    slot, ending = memory.replay.slots[place], int(ending_at(memory.replay, place))
    action = int(action_at(memory.replay, place))
    after = memory.replay.slots[slot_after(memory.replay, memory.cursor, place)]["observation"][0]
    observation = float(slot["observation"][0])
    return observation, action, slot["reward"], None if ending == TERMINATED else float(after), ending


def test_matching_with_a_protected_queue_always_holds_the_newest(rng: np.random.Generator) -> None:
    memory = Memory(40, MATCHING, protected=15)
    for _ in range(80):
        memory.live_episode(int(rng.integers(1, 20)), (TERMINATED, CUT_OFF)[int(rng.random() < 0.5)])
        present = set(memory.drawn(1500))
        assert present >= set(memory.lived[-15:])
        assert len(present) == held(memory.cursor) == min(40, len(memory.lived))


def test_matching_draws_uniformly_and_stores_observations_once(rng: np.random.Generator) -> None:
    memory = Memory(30, MATCHING, protected=10)
    memory.live(1000, rng, (1, 30))
    drawn = memory.drawn(30_000)
    assert chi_square(drawn, dict.fromkeys(drawn, 1000)) < limit(29)
    slots, free = memory.replay.slots.size, int(memory.cursor[12])
    needed = {e[0] for e in drawn} | {e[3] for e in drawn if e[3] is not None}
    assert slots - free == len(needed)


def test_the_papers_memory_is_under_ten_megabytes() -> None:
    assert sum(array.nbytes for array in new_replay(MemoryPlan(400_000, 4))) < 10_000_000


def test_episodes_need_not_be_announced() -> None:
    """The next episode begins where the last ended, also if nobody says so."""
    memory = Memory(10, FINISHED_EPISODES, EPISODES)
    for t in range(40_000):
        here, there = np.array([t], np.float32), np.array([t + 1], np.float32)
        store(memory.replay, memory.cursor, memory.stream, here, 0, 0.0, there, TERMINATED)
    assert held(memory.cursor) <= 20
    assert min(memory.draw()[0] for _ in range(100)) > 39_900
