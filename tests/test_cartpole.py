"""Cartpole: the physics against Gymnasium's, the tasks' differences, the Gymnasium contract."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleEnv as GymnasiumCartPole
from gymnasium.utils.env_checker import check_env

import repertory
from repertory.domains.cartpole import CartpoleParams

IDS = [f"repertory/Cartpole{count}-v0" for count in (27, 54, 125, 1000)]


def hand_rule(state: np.ndarray) -> int:
    """Balances the pole of every task of the paper, from a start that the force can save."""
    x, x_dot, theta, theta_dot = state[:4]
    return int(theta + 0.3 * theta_dot + 0.02 * x + 0.05 * x_dot > 0)


def gymnasium_twin(params: CartpoleParams, *, rederive: bool) -> GymnasiumCartPole:
    """Gymnasium's own environment with our constants; `rederive` also what Gymnasium computes only once."""
    twin = GymnasiumCartPole()
    twin.masscart, twin.masspole, twin.length = params.cart_mass, params.pole_mass, params.half_length
    twin.force_mag, twin.theta_threshold_radians = params.force, params.angle_limit
    if rederive:
        twin.total_mass = twin.masscart + twin.masspole
        twin.polemass_length = twin.masspole * twin.length
    return twin


@pytest.mark.parametrize(("profile", "failure_reward"), [("text", 0.0), ("released", 1.0)])
def test_equals_gymnasium_step_for_step_on_every_task(
    profile: str, failure_reward: float, rng: np.random.Generator
) -> None:
    domain = repertory.domain("cartpole27", profile=profile, observation_order="x x_dot theta theta_dot")
    for task in range(27):
        env = domain.env(task)
        twin = gymnasium_twin(env._params, rederive=profile == "text")
        for episode in range(3):
            observation, _ = env.reset(seed=episode)
            twin.reset()
            twin.state = env._state[:4].copy()
            terminated = truncated = False
            while not (terminated or truncated):
                action = int(rng.random() < 0.5 + 2 * observation[2])  # clumsy balancing: long and short episodes
                observation, reward, terminated, truncated, _ = env.step(action)
                theirs, their_reward, their_end, _, _ = twin.step(action)
                np.testing.assert_allclose(observation, theirs, rtol=1e-6, atol=1e-9)
                assert terminated == their_end
                assert reward == (failure_reward if terminated else their_reward)


def test_cartpole1000_is_gymnasiums_step_for_step(rng: np.random.Generator) -> None:
    """To the bit, where NumPy's sine and cosine are the compiled ones'; elsewhere to the rounding of float64."""
    domain = repertory.domain("cartpole1000")
    angles, ours, theirs = [], [], []
    for task in range(1000):
        env = domain.env(task)
        twin = gymnasium_twin(env._params, rederive=True)
        assert (twin.force_mag, twin.theta_threshold_radians) == (10.0, 12 * 2 * math.pi / 360)
        env.reset(seed=task)
        twin.reset()
        terminated = truncated = False
        while not (terminated or truncated):
            twin.state = env._state[:4].copy()
            angles.append(twin.state[2])
            action = int(rng.random() < 0.5)
            observation, reward, terminated, truncated, _ = env.step(action)
            their_observation, their_reward, their_end, _, _ = twin.step(action)
            assert (reward, terminated) == (their_reward, their_end)
            ours.append((*env._state[:4], *observation))
            theirs.append((*twin.state, *their_observation))
    one, other = np.array(ours), np.array(theirs)
    np.testing.assert_allclose(one[:, :4], other[:, :4], rtol=1e-12, atol=1e-12)
    is_same = [np.sin(angle) == math.sin(angle) and np.cos(angle) == math.cos(angle) for angle in angles]
    np.testing.assert_array_equal(one[is_same], other[is_same])


def test_cartpole1000_is_the_published_grid_under_every_profile() -> None:
    for profile in ("text", "released", "sound"):
        domain = repertory.domain("cartpole1000", profile=profile)
        assert domain.compiled is not None
        task = domain.compiled.params[900 + 20 + 3]  # length innermost, then cart mass, then pole mass
        assert (task.pole_mass, task.cart_mass, task.half_length) == (0.2, 0.6, 0.4)
        assert (task.position_limit, task.max_steps, task.failure_reward) == (2.4, 500, 1.0)
    assert domain.distinct_tasks(steps=40) == 1000


def test_cartpole1000_as_it_was_published_on(rng: np.random.Generator) -> None:
    """CARL sets the attributes of Gymnasium's environment once it is made, and the state once it is reset."""
    domain = repertory.domain("cartpole1000", total_mass=1.1, pole_moment=0.05, start_range=0.1)
    starts = np.array([domain.env(0).reset(seed=seed)[0] for seed in range(200)])
    assert 0.099 < np.abs(starts).max() <= 0.1
    for task in rng.integers(1000, size=50):
        env = domain.env(int(task))
        twin = gymnasium_twin(env._params, rederive=False)
        env.reset(seed=int(task))
        twin.reset()
        twin.state = env._state[:4].copy()
        over = False
        while not over:
            action = int(rng.random() < 0.5)
            observation, reward, over, _, _ = env.step(action)
            theirs, their_reward, their_end, _, _ = twin.step(action)
            np.testing.assert_allclose(observation, theirs, rtol=1e-5, atol=1e-7)
            assert (reward, over) == (their_reward, their_end)


@pytest.mark.parametrize("profile", ["text", "released"])
def test_cartpole54_is_the_27_tasks_and_their_mirror_images(profile: str, rng: np.random.Generator) -> None:
    domain, plain = (repertory.domain(name, profile=profile) for name in ("cartpole54", "cartpole27"))
    assert domain.task_names == (*plain.task_names, *(f"{name}, mirrored" for name in plain.task_names))
    for task in range(27):
        envs = plain.env(task), domain.env(task), domain.env(27 + task)
        assert len({env.reset(seed=task)[0].tobytes() for env in envs}) == 1
        over = False
        while not over:
            action = int(rng.random() < 0.5)
            outcomes = [env.step(taken) for env, taken in zip(envs, (action, action, 1 - action), strict=True)]
            assert len({(seen.tobytes(), *rest[:3]) for seen, *rest in outcomes}) == 1
            over = outcomes[0][2] or outcomes[0][3]


@pytest.mark.parametrize("profile", ["text", "released"])
def test_two_policies_are_enough_for_cartpole54_and_one_is_not(profile: str) -> None:
    domain = repertory.domain("cartpole54", profile=profile)
    longest = domain.settings["max_steps"]
    for task in range(54):
        env = domain.env(task)
        lengths = []
        for is_opposite in (False, True):
            env.reset(seed=0)
            length, over = 0, False
            while not over:
                _, _, terminated, truncated, _ = env.step(hand_rule(env._state) ^ is_opposite)
                length, over = length + 1, terminated or truncated
            lengths.append(length)
        own, other = lengths if task < 27 else reversed(lengths)
        assert own == longest
        assert other < longest / 4


@pytest.mark.parametrize(
    ("name", "profile", "distinct"),
    [
        ("cartpole27", "text", 27),
        ("cartpole125", "text", 125),
        ("cartpole27", "released", 9),
        ("cartpole125", "released", 25),
        ("cartpole54", "text", 54),
        ("cartpole54", "released", 18),
    ],
)
def test_distinct_tasks(name: str, profile: str, distinct: int) -> None:
    assert repertory.domain(name, profile=profile).distinct_tasks() == distinct


def test_task_index_has_cart_mass_outermost_and_length_innermost(cartpole27: repertory.Domain) -> None:
    assert cartpole27.compiled is not None
    params = cartpole27.compiled.params[9 * 2 + 3 * 1 + 0]
    assert (params.cart_mass, params.pole_mass, params.half_length) == (2.0, 0.1, 0.25)


@pytest.mark.parametrize("profile", ["text", "released"])
@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.filterwarnings("ignore:.*A Box observation space")
def test_gymnasium_contract(env_id: str, profile: str) -> None:
    check_env(gymnasium.make(env_id, task=5, profile=profile).unwrapped)


def test_rendering_shows_the_state() -> None:
    env = gymnasium.make("repertory/Cartpole27-v0", task=5, render_mode="rgb_array")
    env.reset(seed=1)
    before = env.render()
    for _ in range(10):
        env.step(1)
    after = env.render()
    assert before.shape == after.shape == (300, 600, 3)
    assert before.dtype == np.uint8
    assert (before != after).any()


@pytest.mark.parametrize(("profile", "cap"), [("text", 200), ("released", 201)])
def test_a_balanced_pole_is_cut_off_not_ended(profile: str, cap: int) -> None:
    env = repertory.domain("cartpole27", profile=profile).env(13)
    env.reset(seed=0)
    total = 0.0
    for t in range(1, cap + 1):
        _, reward, terminated, truncated, _ = env.step(hand_rule(env._state))
        total += reward
        assert not terminated
        assert truncated == (t == cap)
    assert total == cap


def test_random_play_lasts_as_long_as_in_the_released_physics() -> None:
    """Mean episode lengths by pole length, measured with the authors' physics: 15, 22, 33."""
    domain = repertory.domain("cartpole27", profile="released")
    actions = np.random.default_rng(0)
    for task, expected in ((12, 15), (13, 22), (14, 33)):
        env = domain.env(task)
        lengths = []
        for seed in range(1500):
            env.reset(seed=seed)
            length, over = 0, False
            while not over:
                _, _, terminated, truncated, _ = env.step(int(actions.random() < 0.5))
                length, over = length + 1, terminated or truncated
            lengths.append(length)
        assert np.mean(lengths) == pytest.approx(expected, abs=1.0)
