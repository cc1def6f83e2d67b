"""What is seen of POcman: every bit of an observation in a hand-made situation, its space, text and pictures."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

from repertory.domains.pocman import (
    EAST,
    NORTH,
    REACTING,
    SOUTH,
    STATIC,
    WANDERING,
    WEST,
    PocmanEnv,
)
from repertory.domains.two_valued import TwoValued
from tests.pocman_situations import CHEESE, POCMAN, SUTTON, situation

ORDERS = {"north east south west": (NORTH, EAST, SOUTH, WEST), "north south west east": (NORTH, SOUTH, WEST, EAST)}
NEIGHBOURS = {NORTH: (0, -1), EAST: (1, 0), SOUTH: (0, 1), WEST: (-1, 0)}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("values", ["0 1", "-1 1"])
@pytest.mark.parametrize("movement", [STATIC, REACTING])
def test_each_observation_bit(movement: int, values: str, order: str) -> None:
    def seen(env: PocmanEnv) -> list[bool]:
        observation = env._observe()
        assert env.observation_space.contains(observation)
        assert {float(value) for value in observation} <= {float(value) for value in values.split()}
        return [bool(value == 1) for value in observation]

    rules = {"observation_values": values, "direction_order": order}
    for place, direction in enumerate(ORDERS[order]):
        dx, dy = NEIGHBOURS[direction]
        only = [i == place for i in range(4)]
        walls = situation(1, movement, POCMAN, (3, 4), (7, 7), **rules)
        walls._params.passable[:] = 1
        walls._params.passable[4 + dy, 3 + dx] = 0
        assert seen(walls) == [*only, *[False] * 7]
        adjacent = situation(1, movement, POCMAN, (3, 4), (3 + dx, 4 + dy), **rules)
        adjacent._params.passable[:] = 1
        assert seen(adjacent) == [*[False] * 4, *only, *[True] * 3]
    for distance in range(7):
        for thing in ((1 + distance, 1), (1, 1 + distance), (1 + distance // 2, 1 + distance - distance // 2)):
            env = situation(1, movement, POCMAN, (1, 1), thing, **rules)
            assert seen(env)[8:] == [distance <= 2, distance <= 3, distance <= 4]


def test_neighbours_are_seen_around_the_edge_but_distance_is_not() -> None:
    env = situation(1, STATIC, POCMAN, agent=(0, 4), thing=(8, 4))
    assert env._observe().tolist() == [1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]


def test_adjacency_is_always_on_in_static_tasks_of_the_released_code_only() -> None:
    for movement, profile, on in (
        (STATIC, "text", False),
        (STATIC, "released", True),
        (WANDERING, "released", False),
        (REACTING, "released", False),
    ):
        env = situation(1, movement, SUTTON, agent=(1, 1), thing=(9, 6), profile=profile)
        assert (env._observe()[4:8] == 1).tolist() == [on] * 4


def test_two_valued_space() -> None:
    space = TwoValued(-1, 1, 11, whole_rewards=True)
    space.seed(0)
    samples = np.array([space.sample() for _ in range(400)])
    assert samples.dtype == np.float32
    assert set(np.unique(samples)) == {-1.0, 1.0}
    assert np.abs(samples.mean(axis=0)).max() < 0.2
    assert all(space.contains(sample) for sample in samples)
    for wrong in (np.zeros(11, np.float32), np.ones(10, np.float32), np.full(11, 2, np.float32)):
        assert not space.contains(wrong)
    for twin in (copy.deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert twin == space
        assert twin.whole_rewards
        assert (twin.sample() == copy.deepcopy(space).sample()).all()
    assert space != TwoValued(-1, 1, 11)
    assert space != TwoValued(0, 1, 11, whole_rewards=True)
    assert space != gymnasium.spaces.Box(-1, 1, (11,))
    with pytest.raises(ValueError, match="low <= 0 < high"):
        TwoValued(1, 1, 11)


def test_text_rendering() -> None:
    env = gymnasium.make("repertory/Pocman18-v0", task=6, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "#######\n#.....#\n#A#.#.#\n#.#G#.#\n#######"
    for reward, movement, letter in ((1, STATIC, "F"), (-1, STATIC, "P"), (1, WANDERING, "G"), (-1, REACTING, "G")):
        apart = situation(reward, movement, CHEESE, agent=(1, 1), thing=(5, 3))
        apart.render_mode = "ansi"
        assert apart.render() == f"#######\n#A....#\n#.#.#.#\n#.#.#{letter}#\n#######"
        apart._state[:2] = (5, 3)
        assert apart.render() == "#######\n#.....#\n#.#.#.#\n#.#.#X#\n#######"


def test_picture_rendering_tells_food_poison_and_ghosts_apart() -> None:
    pictures = set()
    for reward, movement in ((1, STATIC), (-1, STATIC), (1, WANDERING), (-1, REACTING)):
        env = situation(reward, movement, CHEESE, agent=(1, 1), thing=(5, 3))
        env.render_mode = "rgb_array"
        picture = env.render()
        assert picture.shape == (200, 280, 3)
        assert picture.dtype == np.uint8
        pictures.add(picture.tobytes())
        env.step(np.int64(EAST))
        changed = (env.render() != picture).any(axis=2)
        assert changed[40:80, 40:120].any()
    assert len(pictures) == 4
