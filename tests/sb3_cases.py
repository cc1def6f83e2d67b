"""Algorithms of Stable-Baselines3, small enough to be quick, and how they are played and compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest

from repertory.core.episode import plain_episode

th = pytest.importorskip("torch")
sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

from stable_baselines3.common.noise import NormalActionNoise, OrnsteinUhlenbeckActionNoise  # noqa: E402
from stable_baselines3.common.torch_layers import FlattenExtractor  # noqa: E402

from repertory.learners.sb3 import SB3  # noqa: E402

EPISODE = 25
"""Episodes are cut off after this many steps, many end before."""


def cartpole(task: int) -> gymnasium.Env:
    return gymnasium.make("CartPole-v1", max_episode_steps=EPISODE)


def pendulum(task: int) -> gymnasium.Env:
    return gymnasium.make("Pendulum-v1", max_episode_steps=EPISODE, g=9.0 + task)


class Leaky(FlattenExtractor):
    """Dropout, which is for training only."""

    def forward(self, observations: Any) -> Any:
        return th.nn.functional.dropout(super().forward(observations), 0.3, training=self.training)


@dataclass(frozen=True)
class Case:
    """An algorithm, small enough to be quick and with everything that it does in its first hundred steps."""

    algorithm: Any
    arguments: dict[str, Any]
    policy: str = "MlpPolicy"
    make_env: Callable[[int], gymnasium.Env] = cartpole
    policy_kwargs: dict[str, Any] = field(default_factory=lambda: {"net_arch": [8]})
    steps: int = 192

    def settings(self, **changes: Any) -> SB3:
        arguments = {**self.arguments, "policy_kwargs": self.policy_kwargs, "total_timesteps": self.steps, **changes}
        return SB3(self.algorithm, self.policy, **arguments)


OFF_POLICY = {"learning_starts": 30, "batch_size": 8, "buffer_size": 150}
Q_LEARNING = {**OFF_POLICY, "target_update_interval": 40, "exploration_fraction": 0.7}
ON_POLICY = {"n_steps": 32, "batch_size": 16, "n_epochs": 2}
NOISE = NormalActionNoise(np.zeros(1), 0.3 * np.ones(1))
SLOW_NOISE = OrnsteinUhlenbeckActionNoise(np.zeros(1), 0.3 * np.ones(1))
CASES = {
    "DQN": Case(sb3.DQN, Q_LEARNING),
    "DQN, 3-step returns": Case(sb3.DQN, {**Q_LEARNING, "n_steps": 3}),
    "PPO": Case(sb3.PPO, ON_POLICY),
    "PPO, state-dependent noise": Case(
        sb3.PPO, {**ON_POLICY, "use_sde": True, "sde_sample_freq": 20}, make_env=pendulum
    ),
    "PPO, with dropout": Case(
        sb3.PPO, ON_POLICY, policy_kwargs={"net_arch": [8], "features_extractor_class": Leaky}, steps=96
    ),
    "A2C": Case(sb3.A2C, {}, steps=190),
    "SAC": Case(sb3.SAC, OFF_POLICY, make_env=pendulum, steps=100),
    "TD3": Case(sb3.TD3, {**OFF_POLICY, "action_noise": NOISE}, make_env=pendulum, steps=100),
    "TD3 by episodes": Case(
        sb3.TD3,
        {**OFF_POLICY, "action_noise": SLOW_NOISE, "train_freq": (1, "episode"), "gradient_steps": -1},
        make_env=pendulum,
        steps=100,
    ),
    "QRDQN": Case(contrib.QRDQN, {**Q_LEARNING, "train_freq": 4}, policy_kwargs={"net_arch": [8], "n_quantiles": 5}),
    "RecurrentPPO": Case(
        contrib.RecurrentPPO, ON_POLICY, "MlpLstmPolicy", policy_kwargs={"net_arch": [8], "lstm_hidden_size": 8}
    ),
}


def assert_equal(one: Any, other: Any, name: str) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_equal(one[key], other[key], f"{name}/{key}")
    elif isinstance(one, (list, tuple)):
        assert_equal(dict(enumerate(one)), dict(enumerate(other)), name)
    else:
        assert np.array_equal(np.asarray(one), np.asarray(other)), name


def generators() -> list[Any]:
    """The state of all random numbers that a process shares."""
    return [random.getstate(), np.random.get_state(legacy=False), th.get_rng_state()]  # noqa: NPY002


def play(learner: Any, episodes: int, first: int = 0, make_env: Callable[[int], gymnasium.Env] = cartpole) -> int:
    env, steps = make_env(0), 0
    for seed in range(first, first + episodes):
        steps += plain_episode(env, learner, seed).steps
    return steps


def new_learner(name: str = "PPO", seed: int = 1, **changes: Any) -> Any:
    env = CASES[name].make_env(0)
    return CASES[name].settings(**changes)(env.observation_space, env.action_space, seed)


def walk(learner: Any, env: gymnasium.Env, observation: Any, steps: int) -> Any:
    """So many steps of an episode, and where it stands then."""
    for _step in range(steps):
        action = learner.act(observation)
        following, reward, terminated, truncated, _info = env.step(action)
        learner.observe(observation, action, reward, following, terminated, truncated)
        observation = following
    return observation
