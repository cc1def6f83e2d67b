"""POcman: every rule in a hand-made situation, random play against the released code's, the Gymnasium contract."""

from __future__ import annotations

from collections import Counter

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

import repertory
from repertory.domains.pocman import (
    AGENT_X,
    AGENT_Y,
    CLOCK,
    EAST,
    FIRST_HEADING,
    HEADING,
    NORTH,
    OBJECT_X,
    OBJECT_Y,
    REACTING,
    SOUTH,
    STATIC,
    STAY,
    WANDERING,
    WEST,
    PocmanParams,
    new_state,
    observe,
    reset,
    step,
)
from repertory.kernels.compile import kernel
from repertory.kernels.streams import Stream, below, new_stream
from tests.pocman_situations import CHEESE, POCMAN, SUTTON, Cell, about, agent_of, outcomes, situation, thing_of

# ------------------------------------------------------------------------------------------------------ tasks


def test_mazes_have_11_47_and_42_free_cells() -> None:
    domain = repertory.domain("pocman18")
    assert domain.compiled is not None
    assert [int(params.passable.sum()) for params in domain.compiled.params[:3]] == [11, 47, 42]


def test_task_index_has_reward_outermost_and_maze_innermost() -> None:
    domain = repertory.domain("pocman18")
    assert domain.compiled is not None
    for i, reward in enumerate((-1.0, 1.0)):
        for movement in (STATIC, WANDERING, REACTING):
            for maze, shape in enumerate(((5, 7), (8, 11), (9, 9))):
                params = domain.compiled.params[9 * i + 3 * movement + maze]
                assert (params.reward, params.movement, params.passable.shape) == (reward, movement, shape)
    assert domain.task_names[0] == "reward -1, static, cheese maze"
    assert domain.task_names[16] == "reward +1, reacting, Sutton maze"


@pytest.mark.parametrize("profile", ["text", "released"])
def test_all_tasks_differ(profile: str) -> None:
    assert repertory.domain("pocman18", profile).distinct_tasks() == 18


@pytest.mark.parametrize("profile", ["text", "released"])
@pytest.mark.parametrize("task", [0, 4, 8, 9, 14, 16])
def test_gymnasium_contract(task: int, profile: str) -> None:
    check_env(gymnasium.make("repertory/Pocman18-v0", task=task, profile=profile).unwrapped)


def test_an_episode_begins_at_the_start_with_the_object_at_a_home() -> None:
    starts = [(1, 2), (1, 3), (4, 7)]
    moving_homes = [(3, 3), (9, 1), (4, 3)]
    static_homes = [{(3, 3), (5, 3)}, {(6, 1), (9, 1), (9, 6)}, {(1, 1), (1, 7), (7, 1), (7, 7)}]
    domain = repertory.domain("pocman18", "released")
    for task in range(18):
        env = domain.env(task)
        counts: Counter[Cell] = Counter()
        for seed in range(400):
            env.reset(seed=seed)
            assert agent_of(env) == starts[task % 3]
            counts[thing_of(env)] += 1
        homes = static_homes[task % 3] if task % 9 < 3 else {moving_homes[task % 3]}
        assert set(counts) == homes
        assert min(counts.values()) > 0.7 * 400 / len(homes)


@pytest.mark.parametrize("profile", ["text", "released"])
def test_an_episode_is_cut_off_after_1000_steps_and_never_ended(profile: str) -> None:
    env = repertory.domain("pocman18", profile).env(7)
    env.reset(seed=1)
    for t in range(1, 1001):
        _, _, terminated, truncated, _ = env.step(np.int64(t % 5))
        assert not terminated
        assert truncated == (t == 1000)


# ------------------------------------------------------------------------------------------- agent and touch


def test_agent_moves_in_four_directions_or_stays() -> None:
    for action, cell in enumerate([(5, 4), (6, 5), (5, 6), (4, 5), (5, 5)]):
        env = situation(1, STATIC, POCMAN, agent=(5, 5), thing=(1, 1))
        env._params.passable[:] = 1  # an open field
        env.step(np.int64(action))
        assert agent_of(env) == cell


def test_a_wall_leaves_the_agent_where_it_is() -> None:
    for action, cell in ((EAST, (1, 2)), (WEST, (1, 2)), (NORTH, (1, 1)), (SOUTH, (1, 3))):
        env = situation(-1, STATIC, CHEESE, agent=(1, 2), thing=(5, 3))
        _, reward, _, _, _ = env.step(np.int64(action))
        assert agent_of(env) == cell
        assert reward == 0.0


def test_the_open_row_leads_around_the_edge_for_both() -> None:
    env = situation(1, STATIC, POCMAN, agent=(0, 4), thing=(1, 1))
    env.step(np.int64(WEST))
    assert agent_of(env) == (8, 4)
    env.step(np.int64(EAST))
    assert agent_of(env) == (0, 4)
    wanderer = situation(1, WANDERING, POCMAN, agent=(4, 7), thing=(8, 4), clock=19)
    assert outcomes(wanderer) == about({(7, 4): 0.5, (0, 4): 0.5})


def test_a_static_object_rewards_every_step_on_its_cell_and_remains() -> None:
    for reward in (-1, 1):
        env = situation(reward, STATIC, CHEESE, agent=(5, 2), thing=(5, 3))
        rewards = [env.step(np.int64(action))[1] for action in (STAY, SOUTH, STAY, SOUTH, NORTH)]
        assert rewards == [0, reward, reward, reward, 0]
        assert thing_of(env) == (5, 3)


@pytest.mark.parametrize("profile", ["text", "released"])
@pytest.mark.parametrize("reward", [-1, 1])
@pytest.mark.parametrize("movement", [WANDERING, REACTING])
def test_a_moving_object_that_the_agent_reaches_is_touched_and_stays(movement: int, reward: int, profile: str) -> None:
    env = situation(reward, movement, CHEESE, agent=(2, 1), thing=(3, 1), heading=WEST, clock=19, profile=profile)
    assert outcomes(env, action=EAST, tries=50) == {(3, 1): 1.0}
    env.step(np.int64(EAST))
    assert agent_of(env) == (3, 1)
    assert env._state[HEADING] == WEST


def test_an_object_that_reaches_the_agent_touches_it() -> None:
    env = situation(-1, REACTING, CHEESE, agent=(1, 2), thing=(1, 3))
    _, reward, _, _, _ = env.step(np.int64(EAST))  # into a wall; the object's only way out of its dead end is north
    assert (agent_of(env), thing_of(env), reward) == ((1, 2), (1, 2), -1.0)


def test_agent_and_object_do_not_swap_cells_and_following_is_no_touch() -> None:
    swapping = situation(-1, REACTING, CHEESE, agent=(1, 2), thing=(1, 3))
    _, reward, _, _, _ = swapping.step(np.int64(SOUTH))
    assert (agent_of(swapping), thing_of(swapping), reward) == ((1, 3), (1, 3), -1.0)
    following = situation(-1, REACTING, CHEESE, agent=(1, 2), thing=(1, 3))
    _, reward, _, _, _ = following.step(np.int64(NORTH))
    assert (agent_of(following), thing_of(following), reward) == ((1, 1), (1, 2), 0.0)


# ----------------------------------------------------------------------------------------------------- object


def test_a_wanderer_steps_when_the_clock_is_a_multiple_of_20() -> None:
    env = situation(1, WANDERING, SUTTON, agent=(1, 1), thing=(5, 3))
    moves = []
    for t in range(1, 101):
        before = thing_of(env)
        env.step(np.int64(STAY))
        assert env._state[CLOCK] == t
        if thing_of(env) != before:
            moves.append(t)
    assert moves == [20, 40, 60, 80, 100]


def test_a_random_step_is_uniform_over_the_free_neighbours() -> None:
    in_the_open = situation(1, WANDERING, SUTTON, agent=(1, 1), thing=(5, 3), clock=19)
    assert outcomes(in_the_open) == about({(5, 2): 0.25, (6, 3): 0.25, (5, 4): 0.25, (4, 3): 0.25})
    at_a_wall = situation(1, WANDERING, SUTTON, agent=(1, 1), thing=(4, 3), clock=19)
    assert outcomes(at_a_wall) == about({(4, 2): 1 / 3, (5, 3): 1 / 3, (4, 4): 1 / 3})
    walled_in = situation(1, WANDERING, CHEESE, agent=(1, 1), thing=(3, 3), clock=19)
    walled_in._params.passable[2, 3] = 0
    assert outcomes(walled_in, tries=20) == {(3, 3): 1.0}


def test_without_reversal_an_object_does_not_turn_back() -> None:
    env = situation(1, WANDERING, SUTTON, (1, 1), (5, 3), heading=NORTH, clock=19, headings="no reversal")
    assert outcomes(env) == about({(5, 2): 1 / 3, (6, 3): 1 / 3, (4, 3): 1 / 3})
    env.step(np.int64(STAY))
    went = (thing_of(env)[0] - 5, thing_of(env)[1] - 3)
    assert env._state[HEADING] == {(0, -1): NORTH, (1, 0): EAST, (-1, 0): WEST}[went]
    for _ in range(18):  # the heading is kept between its steps
        env.step(np.int64(STAY))
    assert env._state[HEADING] == {(0, -1): NORTH, (1, 0): EAST, (-1, 0): WEST}[went]


def test_without_reversal_a_dead_end_costs_a_step() -> None:
    env = situation(1, WANDERING, CHEESE, (1, 1), (5, 3), heading=SOUTH, clock=19, headings="no reversal")
    env.step(np.int64(STAY))
    assert (thing_of(env), env._state[HEADING]) == ((5, 3), STAY)
    env._state[CLOCK] = 19
    env.step(np.int64(STAY))
    assert (thing_of(env), env._state[HEADING]) == ((5, 2), NORTH)


def test_the_first_step_of_an_episode_is_free_or_anywhere_but_east() -> None:
    for headings, cells in (("free", {(3, 3), (4, 2), (5, 3)}), ("no reversal", {(3, 3), (4, 2)})):
        env = situation(-1, REACTING, POCMAN, (4, 7), (4, 3), headings=headings, reaction_range=1)
        env.reset(seed=3)
        assert outcomes(env) == about(dict.fromkeys(cells, 1 / len(cells)))


@pytest.mark.parametrize("reward", [-1, 1])
def test_a_reacting_object_out_of_range_steps_at_random_every_step(reward: int) -> None:
    everywhere = {(5, 2): 0.25, (6, 3): 0.25, (5, 4): 0.25, (4, 3): 0.25}
    for chase in ("distance", "axis"):
        rules = {"reaction_range": 3, "chase": chase}
        assert outcomes(situation(reward, REACTING, SUTTON, (7, 2), (5, 3), **rules)) == about(everywhere)
        assert outcomes(situation(reward, REACTING, SUTTON, (6, 2), (5, 3), **rules)) != about(everywhere)
    always = situation(reward, REACTING, SUTTON, (1, 6), (5, 3))
    assert outcomes(always) != about(everywhere)


def test_aggressive_by_distance_half_at_random_half_nearer() -> None:
    in_line = situation(-1, REACTING, SUTTON, agent=(5, 1), thing=(5, 3))
    assert outcomes(in_line) == about({(5, 2): 5 / 8, (6, 3): 1 / 8, (5, 4): 1 / 8, (4, 3): 1 / 8})
    aslant = situation(-1, REACTING, SUTTON, agent=(6, 2), thing=(5, 3))
    assert outcomes(aslant) == about({(5, 2): 3 / 8, (6, 3): 3 / 8, (5, 4): 1 / 8, (4, 3): 1 / 8})
    behind_a_wall = situation(-1, REACTING, SUTTON, agent=(2, 3), thing=(4, 3))
    assert outcomes(behind_a_wall) == about({(4, 3): 1 / 2, (4, 2): 1 / 6, (5, 3): 1 / 6, (4, 4): 1 / 6})
    at_the_edge = situation(-1, REACTING, POCMAN, agent=(7, 4), thing=(0, 4))  # both ways are nearer
    assert outcomes(at_the_edge) == about({(1, 4): 1 / 2, (8, 4): 1 / 2})


def test_defensive_by_distance_half_standing_half_farther() -> None:
    in_line = situation(1, REACTING, SUTTON, agent=(5, 1), thing=(5, 3))
    assert outcomes(in_line) == about({(5, 3): 1 / 2, (6, 3): 1 / 6, (5, 4): 1 / 6, (4, 3): 1 / 6})
    aslant = situation(1, REACTING, SUTTON, agent=(6, 2), thing=(5, 3))
    assert outcomes(aslant) == about({(5, 3): 1 / 2, (5, 4): 1 / 4, (4, 3): 1 / 4})
    cornered = situation(1, REACTING, SUTTON, agent=(8, 5), thing=(9, 6))
    assert outcomes(cornered, tries=50) == {(9, 6): 1.0}


def test_aggressive_by_axis_takes_the_least_signed_distance_and_west_for_north() -> None:
    def towards(agent: Cell, thing: Cell, heading: int = STAY) -> set[Cell]:
        """The likeliest outcome: half of all, and its part of the random half."""
        shares = outcomes(situation(-1, REACTING, SUTTON, agent, thing, heading=heading, profile="released"))
        return {cell for cell, share in shares.items() if share > 0.45}

    assert towards(agent=(5, 1), thing=(5, 3)) == {(4, 3)}  # south 2, east 0, north -2, west the same: west is last
    assert towards(agent=(4, 1), thing=(4, 3)) == {(4, 2)}  # west is a wall: north
    assert towards(agent=(5, 4), thing=(5, 2)) == {(5, 3)}  # south -2
    assert towards(agent=(5, 4), thing=(5, 2), heading=NORTH) == {(6, 2)}  # no reversal: east 0 before north 2
    assert towards(agent=(7, 2), thing=(5, 2)) == {(6, 2)}  # east -2
    assert towards(agent=(4, 2), thing=(6, 2)) == {(5, 2)}  # south 0, east 2, north 0, west 0: the y of west


def test_defensive_by_axis_takes_the_largest_signed_distance() -> None:
    def away(agent: Cell, thing: Cell, heading: int = STAY, maze: int = SUTTON) -> dict[Cell, float]:
        return outcomes(situation(1, REACTING, maze, agent, thing, heading=heading, profile="released"))

    assert away(agent=(5, 1), thing=(5, 3)) == about({(5, 3): 0.5, (5, 4): 0.5})  # south 2
    assert away(agent=(5, 4), thing=(5, 2)) == about({(5, 2): 0.5, (4, 2): 0.5})  # north 2, west the same and last
    assert away(agent=(5, 4), thing=(5, 2), heading=EAST) == about({(5, 2): 0.5, (5, 1): 0.5})  # west turns back
    assert away(agent=(4, 2), thing=(6, 2)) == about({(6, 2): 0.5, (7, 2): 0.5})  # east 2
    assert away(agent=(7, 4), thing=(5, 4)) == about({(5, 4): 0.5, (4, 4): 0.5})  # all of 0 but east: west is last
    assert away(agent=(1, 1), thing=(1, 3), maze=CHEESE) == {(1, 3): 1.0}  # walls, and nearer is not an option


def test_standing_still_forgets_the_heading_and_a_chase_sets_it() -> None:
    seen = set()
    env = situation(1, REACTING, SUTTON, (5, 1), (5, 3), heading=WEST, profile="released")
    before = env._state.copy()
    for _ in range(50):
        env._state[:] = before
        env.step(np.int64(STAY))
        seen.add((thing_of(env), int(env._state[HEADING])))
    assert seen == {((5, 3), STAY), ((5, 4), SOUTH)}


def test_the_first_reaction_without_reversal_is_never_to_stand_still() -> None:
    env = situation(1, REACTING, CHEESE, (1, 2), (3, 3), heading=FIRST_HEADING, profile="released")
    assert outcomes(env, action=SOUTH) == {(3, 2): 1.0}
    env._state[HEADING] = STAY
    assert outcomes(env, action=SOUTH) == about({(3, 2): 0.5, (3, 3): 0.5})
    free = situation(1, REACTING, CHEESE, (1, 2), (3, 3))
    free.reset(seed=0)
    assert outcomes(free, action=SOUTH) == about({(3, 2): 0.5, (3, 3): 0.5})


# ------------------------------------------------------------------------------------------------ random play

# Reward per step of a random policy, measured with the authors' code over 200 episodes a task.
EPISODES_BEHIND_TABLE = 200
RANDOM_POLICY = [
    *(-0.086, -0.020, -0.025, -0.105, -0.020, -0.024, -0.392, -0.127, -0.129),
    *(0.083, 0.019, 0.024, 0.102, 0.020, 0.025, 0.088, 0.016, 0.024),
]


@kernel
def play_at_random(
    params: PocmanParams, state: NDArray[np.int64], stream: Stream, rewards_per_step: NDArray[np.float64]
) -> None:
    for episode in range(len(rewards_per_step)):
        reset(params, state, stream)
        total, over = 0.0, False
        while not over:
            reward, terminated, truncated = step(params, state, below(stream, 5), stream)
            total += reward
            over = terminated or truncated
        rewards_per_step[episode] = total / params.max_steps


def test_a_random_policy_earns_what_it_earns_in_the_released_code() -> None:
    """Within three standard errors: ours, the table's and that of rounding to three decimals."""
    domain = repertory.domain("pocman18", "released")
    assert domain.compiled is not None
    for task, expected in enumerate(RANDOM_POLICY):
        earned = np.zeros(1000)
        play_at_random(domain.compiled.params[task], new_state(), new_stream(task), earned)
        variance = earned.var(ddof=1) * (1 / len(earned) + 1 / EPISODES_BEHIND_TABLE) + 0.001**2 / 12
        assert abs(earned.mean() - expected) < 3 * np.sqrt(variance), domain.task_names[task]


@pytest.mark.parametrize("profile", ["text", "released"])
def test_the_compiled_tasks_are_the_environments(profile: str) -> None:
    """The same stream and actions give the same states and observations inside and outside of an environment."""
    domain = repertory.domain("pocman18", profile)
    assert domain.compiled is not None
    actions = np.random.default_rng(0).integers(0, 5, 200)
    for task, params in enumerate(domain.compiled.params):
        env = domain.env(task)
        state, stream, observation = new_state(), new_stream(task), np.zeros(11, np.float32)
        reset(params, state, stream)
        env.reset(seed=task)
        for action in actions:
            reward, _, _ = step(params, state, int(action), stream)
            observe(params, state, observation)
            seen, got, _, _, _ = env.step(action)
            assert (seen == observation).all()
            assert got == reward
            assert (env._state == state).all()
            assert params.passable[state[AGENT_Y], state[AGENT_X]]
            assert params.passable[state[OBJECT_Y], state[OBJECT_X]]
