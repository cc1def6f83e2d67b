"""Office rooms and tabular Q-learning: the map, how the robot moves, what a table learns."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium
import numpy as np
import pytest

import repertory
from repertory.core.episode import EpisodePlayer
from repertory.domains import office_rooms as office
from repertory.errors import UsageError
from repertory.kernels.streams import new_stream
from repertory.testing import check_learner


def neighbours(cell: int) -> list[int]:
    return [cell + dy * office.COLUMNS + dx for dx, dy in ((0, -1), (1, 0), (0, 1), (-1, 0))]


def reachable(start: int, allowed: set[int]) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        for cell in neighbours(waiting.pop()):
            if cell in allowed and cell not in found:
                found.add(cell)
                waiting.append(cell)
    return found


def distances_to(goal: int) -> dict[int, int]:
    free = set(office.FREE_CELLS.tolist())
    known, edge = {goal: 0}, [goal]
    while edge:
        edge = [cell for here in edge for cell in neighbours(here) if cell in free and known.setdefault(cell, -1) < 0]
        for cell in edge:
            known[cell] = 1 + min(known[near] for near in neighbours(cell) if known.get(near, -1) >= 0)
        edge = list(dict.fromkeys(edge))
    return known


# ---------------------------------------------------------------------------------------------------- map


def test_an_office_of_24_by_21_cells_has_15_rooms_and_no_way_out() -> None:
    assert {len(row) for row in office.MAP} == {24}
    assert len(office.MAP) == 21
    assert len(office.ROOMS) == 15
    free = set(office.FREE_CELLS.tolist())
    assert reachable(min(free), free) == free
    border = {c for c in range(504) if c % 24 in (0, 23) or c // 24 in (0, 20)}
    assert not border & free
    for room in office.ROOMS:
        cells = {cell for cell in free if office.room_of(cell) == room}
        assert reachable(min(cells), cells) == cells  # one piece
        doors = {near for cell in cells for near in neighbours(cell) if near in free - cells}
        assert 1 <= len(doors) <= 3


def test_goals_are_spread_over_the_rooms_or_lie_anywhere_and_differ_by_seed() -> None:
    goals = office.draw_goals(office.OfficeRules())
    assert len(set(goals)) == 50
    counts = [[office.room_of(goal) for goal in goals].count(room) for room in office.ROOMS]
    assert set(counts) == {3, 4}
    anywhere = office.draw_goals(office.OfficeRules(goals="anywhere", tasks=301))
    assert sorted(anywhere) == office.FREE_CELLS.tolist()
    assert goals != office.draw_goals(office.OfficeRules(goal_seed=1))
    with pytest.raises(UsageError, match=r"OfficeRules.tasks is 302; valid with goals='anywhere': at most 301"):
        office.OfficeRules(goals="anywhere", tasks=302)


# ----------------------------------------------------------------------------------------------- movement


def moves(noise: float, steps: int = 4000) -> list[tuple[np.ndarray, int, np.ndarray]]:
    domain = repertory.domain("office-rooms", noise=noise, max_steps=10**6)
    kernels, params = domain.compiled.kernels, domain.compiled.params[0]
    state, stream, rng = office.new_state(), new_stream(3), np.random.default_rng(0)
    made = []
    kernels.reset(params, state, stream)
    for _ in range(steps):
        before, action = state.copy(), int(rng.integers(4))
        _reward, terminated, _truncated = kernels.step(params, state, action, stream)
        made.append((before, action, state.copy()))
        if terminated:
            kernels.reset(params, state, stream)
    return made


def test_without_noise_a_move_leads_to_the_next_cell_unless_that_is_a_wall() -> None:
    blocked = 0
    for before, action, after in moves(noise=0.0):
        dx, dy = ((0, -1), (1, 0), (0, 1), (-1, 0))[action]
        is_free = office.IS_FREE[int(before[1]) + dy, int(before[0]) + dx]
        blocked += not is_free
        assert after[:2] == pytest.approx(before[:2] + is_free * np.array([dx, dy]))
        assert after[2] == before[2] + 1
    assert blocked > 100


def test_noise_is_as_large_as_it_is_said_to_be_and_leads_through_no_wall() -> None:
    offs = []
    for before, action, after in moves(noise=0.2):
        assert office.IS_FREE[int(after[1]), int(after[0])]
        step = np.array(((0, -1), (1, 0), (0, 1), (-1, 0))[action])
        if not np.array_equal(before[:2], after[:2]):
            offs.append(after[:2] - before[:2] - step)
            assert office.IS_FREE[tuple((before[:2].astype(int) + step)[::-1])]
    offs = np.concatenate(offs)
    assert np.abs(offs).max() <= 0.2
    assert np.abs(offs).max() > 0.195
    assert offs.std() == pytest.approx(0.4 / np.sqrt(12), rel=0.05)


@pytest.mark.parametrize("observation", ["cell", "one-hot"])
def test_the_robot_sees_its_cell_and_is_paid_at_the_goal_alone(observation: str) -> None:
    domain = repertory.domain("office-rooms", observation=observation, max_steps=40)
    goal = int(domain.contexts[7] @ (1, 24))
    env = domain.env(7)
    ends = set()
    for seed in range(150):
        seen, _info = env.reset(seed=seed)
        while True:
            assert env.observation_space.contains(seen)
            cell = int(seen @ (1, 24)) if observation == "cell" else int(seen.argmax())
            assert cell != goal
            assert cell in office.FREE_CELLS
            seen, reward, terminated, truncated, _info = env.step(env.action_space.sample())
            assert reward == terminated
            if terminated or truncated:
                ends.add((terminated, truncated))
                break
    assert ends == {(True, False), (False, True)}


def test_it_can_be_drawn_and_written() -> None:
    env = repertory.domain("office-rooms").env(0)
    env.reset(seed=1)
    env.render_mode = "rgb_array"
    assert env.render().shape == (420, 480, 3)
    env.render_mode = "ansi"
    text = env.render()
    assert [text.count(letter) for letter in "GR#"] == [1, 1, 504 - 301]
    assert gymnasium.make("repertory/OfficeRooms-v0", task=3).reset(seed=0)[0].shape == (2,)


# ------------------------------------------------------------------------------------------- tabular Q-learning


def test_a_table_learns_as_its_naive_twin() -> None:
    domain = repertory.domain("office-rooms", max_steps=30)
    settings = repertory.QTable(learning_rate=0.5, gamma=0.9, exploration_rate=0.4)
    learner = settings(domain.observation_space, domain.action_space, 5)
    table = np.zeros((24, 21, 4))
    env = domain.env(0)
    for seed in range(60):
        seen, _info = env.reset(seed=seed)
        learner.begin_episode()
        over = False
        while not over:
            action = learner.act(seen)
            following, reward, terminated, truncated, _info = env.step(action)
            learner.observe(seen, action, reward, following, terminated, truncated)
            (x, y), (x1, y1) = seen.astype(int), following.astype(int)
            target = reward + 0.9 * (not terminated) * table[x1, y1].max()
            table[x, y, action] += 0.5 * (target - table[x, y, action])
            seen, over = following, terminated or truncated
    assert table.max() > 0
    assert np.array_equal(learner.policy["values"].reshape(24, 21, 4), table)


def test_equal_values_are_equally_likely_and_exploration_fades() -> None:
    learner = repertory.QTable(exploration_rate=1.0, exploration_decrease=0.25)(
        gymnasium.spaces.Discrete(3), gymnasium.spaces.Discrete(4), 0
    )
    learner.policy["values"][1] = (0, 2, 2, 1)
    states = np.array([[0.0], [1.0]], np.float32)
    for explored in (1.0, 0.75, 0.5, 0.25, 0.0, 0.0):
        learner.begin_episode()
        expected = explored / 4 + (1 - explored) * np.array([[0.25] * 4, [0, 0.5, 0.5, 0]])
        assert learner.action_probabilities(states) == pytest.approx(expected)
        counts = np.bincount([learner.act(1) for _ in range(2000)], minlength=4)
        assert counts / 2000 == pytest.approx(expected[1], abs=0.05)
    assert [learner.act_at_rest(np.array([s], np.float32)) for s in (0, 1)] == [0, 1]


@pytest.mark.parametrize(
    ("space", "ranges"),
    [
        (gymnasium.spaces.Discrete(5, start=-2), [range(-2, 3)]),
        (gymnasium.spaces.MultiDiscrete([2, 3, 4]), [range(2), range(3), range(4)]),
        (gymnasium.spaces.Box(np.float32([-1, 0]), np.float32([1, 3])), [range(-1, 2), range(4)]),
    ],
)
def test_every_observation_has_its_own_row(space: Any, ranges: list[range]) -> None:
    learner = repertory.QTable(learning_rate=1.0)(space, gymnasium.spaces.Discrete(2), 0)
    observations = list(itertools.product(*ranges))
    for number, observation in enumerate(observations):
        seen = np.array(observation).reshape(space.shape)
        learner.observe(seen, 1, float(number), seen, True, False)
    values = learner.q_values(np.array(observations, np.float32))
    assert values.tolist() == [[0.0, number] for number in range(len(observations))]
    assert learner.policy["values"].shape == (len(observations), 2)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (gymnasium.spaces.Box(-1.0, np.inf, (2,)), "QTable observes whole numbers within bounds"),
        (gymnasium.spaces.Box(0.0, 0.5, (2,)), "QTable observes whole numbers within bounds"),
        (gymnasium.spaces.Discrete(2_000_000), "valid: up to 1,000,000"),
        (gymnasium.spaces.Box(0, 1, (504,), np.float32), "valid: up to 1,000,000"),
    ],
)
def test_spaces_without_a_row_for_each_observation_are_refused(space: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        repertory.QTable()(space, gymnasium.spaces.Discrete(2), 0)


def test_a_table_conforms_and_learns_the_shortest_way() -> None:
    domain = repertory.domain("office-rooms", noise=0.0, tasks=1)
    check_learner(repertory.QTable(), domain)
    learner = repertory.QTable(learning_rate=0.5, exploration_rate=1.0)(
        domain.observation_space, domain.action_space, 1
    )
    player = EpisodePlayer(domain)
    for seed in range(3000):
        player.play(0, learner, seed)
    ways = distances_to(int(domain.contexts[0] @ (1, 24)))
    cells = np.array([(cell % 24, cell // 24) for cell in ways], np.float32)
    values = learner.q_values(cells).max(axis=1)
    expected = np.array([0.95 ** (steps - 1) if steps else 0.0 for steps in ways.values()])
    assert np.abs(values - expected).max() < 0.01
