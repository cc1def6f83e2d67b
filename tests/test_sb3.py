"""Stable-Baselines3 inside a library is Stable-Baselines3, bit for bit."""

from __future__ import annotations

import copy
import importlib.util
import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import repertory
from repertory.core.episode import plain_episode
from repertory.core.lifetime import Monitor
from repertory.core.seeds import policy_seed
from repertory.runs import saver
from repertory.testing import check_learner

th = pytest.importorskip("torch")
sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

from stable_baselines3.common.noise import NormalActionNoise, OrnsteinUhlenbeckActionNoise  # noqa: E402
from stable_baselines3.common.torch_layers import FlattenExtractor  # noqa: E402
from stable_baselines3.common.utils import LinearSchedule  # noqa: E402

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


# ------------------------------------------------------------------------------------------- bit for bit


class SameStarts(gymnasium.Wrapper):
    """The n-th episode starts the same whatever seed it is given, and the last step of all ends one.

    Stable-Baselines3 seeds its environment once, a library seeds every episode.
    """

    def __init__(self, env: gymnasium.Env, steps: int) -> None:
        super().__init__(env)
        self.resets, self.steps_left = 0, steps
        self.ends: list[str] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.resets += 1
        return self.env.reset(seed=self.resets)

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.steps_left -= 1
        truncated = truncated or self.steps_left == 0
        if terminated or truncated:
            self.ends.append("terminated" if terminated else "truncated")
        return observation, reward, terminated, truncated, info


def in_a_library(case: Case) -> tuple[Any, list[str]]:
    envs = []

    def make_env(task: int) -> gymnasium.Env:
        envs.append(SameStarts(case.make_env(0), case.steps))
        return envs[-1]

    domain = repertory.Domain("one task", ("the task",), make_env)
    record = repertory.live(domain, case.settings(), policies=1, blocks=1, block_steps=case.steps)
    assert record.blocks["steps"].sum() == case.steps
    return record.policies[0], envs[-1].ends


def by_its_own_loop(case: Case) -> Any:
    env = SameStarts(case.make_env(0), case.steps)
    arguments = {**case.arguments, "policy_kwargs": dict(case.policy_kwargs)}
    model = case.algorithm(case.policy, env, seed=policy_seed(0, 0, 0), device="cpu", **arguments)
    return model.learn(case.steps)


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


@pytest.mark.parametrize("name", CASES)
def test_one_policy_on_one_task_ends_as_learn_does(name: str) -> None:
    learner, ends = in_a_library(CASES[name])
    model = by_its_own_loop(CASES[name])
    assert set(ends) == ({"terminated", "truncated"} if CASES[name].make_env is cartpole else {"truncated"})
    assert model._n_updates > 3
    for part in model._get_torch_save_params()[0]:  # weights, target weights, optimisers
        assert_equal(dict(learner.model.get_parameters()[part]), dict(model.get_parameters()[part]), part)
    for counter in ("num_timesteps", "_n_updates", "_current_progress_remaining", "_n_calls", "exploration_rate"):
        assert getattr(learner.model, counter, None) == getattr(model, counter, None), counter
    if hasattr(model, "replay_buffer"):
        for column in ("observations", "next_observations", "actions", "rewards", "dones", "timeouts"):
            assert_equal(getattr(learner.model.replay_buffer, column), getattr(model.replay_buffer, column), column)
    assert_equal(learner._generators.state()[:3], generators(), "the state of the random numbers")


@pytest.mark.parametrize("name", CASES)
def test_conformance(name: str) -> None:
    domain = repertory.Domain("two tasks", ("a", "b"), CASES[name].make_env)
    check_learner(CASES[name].settings(), domain, steps=50)


def test_dictionaries_and_images_are_observed_as_stable_baselines_does() -> None:
    class Camera(gymnasium.Env):
        observation_space = gymnasium.spaces.Dict(
            picture=gymnasium.spaces.Box(0, 255, (36, 36, 3), np.uint8), place=gymnasium.spaces.Discrete(4)
        )
        action_space = gymnasium.spaces.Discrete(3)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return self.look(), {}

        def step(self, action: int) -> Any:
            return self.look(), float(action), bool(self.np_random.random() < 0.1), False, {}

        def look(self) -> dict[str, Any]:
            picture = self.np_random.integers(0, 256, (36, 36, 3)).astype(np.uint8)
            return {"picture": picture, "place": int(self.np_random.integers(4))}

    domain = repertory.Domain("camera", ("the task",), lambda task: Camera())
    extractor = {"features_extractor_kwargs": {"cnn_output_dim": 4}, "net_arch": [4]}
    check_learner(SB3(sb3.DQN, "MultiInputPolicy", policy_kwargs=extractor, **OFF_POLICY), domain, steps=40)


# ------------------------------------------------------------------------------------------------ memory


def play(learner: Any, episodes: int, first: int = 0, make_env: Callable[[int], gymnasium.Env] = cartpole) -> int:
    env, steps = make_env(0), 0
    for seed in range(first, first + episodes):
        steps += plain_episode(env, learner, seed).steps
    return steps


def new_learner(name: str = "PPO", seed: int = 1, **changes: Any) -> Any:
    env = CASES[name].make_env(0)
    return CASES[name].settings(**changes)(env.observation_space, env.action_space, seed)


def test_a_rollout_goes_on_in_the_next_episode() -> None:
    """Nothing is thrown away at the end of an episode, and nobody else's step gets in."""
    one, other = new_learner(seed=1), new_learner(seed=2)
    for episode in range(12):
        play(one, 1, episode)
        play(other, 1, episode)
    assert one.losses()[0] == one.model.num_timesteps // 32 > 3
    assert one._rows() == one.model.num_timesteps % 32


def walk(learner: Any, env: gymnasium.Env, observation: Any, steps: int) -> Any:
    """So many steps of an episode, and where it stands then."""
    for _step in range(steps):
        action = learner.act(observation)
        following, reward, terminated, truncated, _info = env.step(action)
        learner.observe(observation, action, reward, following, terminated, truncated)
        observation = following
    return observation


@pytest.mark.parametrize("name", ["PPO, state-dependent noise", "TD3 by episodes", "RecurrentPPO"])
def test_saved_in_the_middle_of_an_episode(name: str) -> None:
    learner, fresh = new_learner(name), new_learner(name, seed=9)
    envs = [CASES[name].make_env(0), CASES[name].make_env(0)]
    play(learner, 1, make_env=CASES[name].make_env)
    learner.begin_episode()
    observation = walk(learner, envs[0], envs[0].reset(seed=3)[0], 7)
    fresh.load_state_dict(learner.state_dict())
    envs[1].reset(seed=3)
    envs[1].unwrapped.__dict__.update(copy.deepcopy(envs[0].unwrapped.__dict__))
    ends = [walk(one, env, observation, 2) for one, env in zip((learner, fresh), envs, strict=True)]
    assert np.array_equal(*ends)
    assert_equal(learner.state_dict(), fresh.state_dict(), "state")


def test_saved_right_after_a_training() -> None:
    """Training turns the rollout buffer's arrays round; what is saved then must fit a new one."""
    learner, fresh = (new_learner(seed=seed, n_steps=4, batch_size=4) for seed in (1, 9))
    env = cartpole(0)
    learner.begin_episode()
    walk(learner, env, env.reset(seed=3)[0], 4)
    assert learner.losses()[0] == 1
    fresh.load_state_dict(learner.state_dict())
    assert play(learner, 3) == play(fresh, 3)
    assert_equal(learner.state_dict(), fresh.state_dict(), "state")


def test_an_episode_that_was_broken_off_does_not_run_into_the_next() -> None:
    learner, env = new_learner(), cartpole(0)
    for seed in range(2):
        learner.begin_episode()
        walk(learner, env, env.reset(seed=seed)[0], 3)
    assert learner.model.rollout_buffer.episode_starts[:6, 0].tolist() == [1, 0, 0, 1, 0, 0]


def test_an_unfilled_replay_buffer_takes_no_space_in_a_file() -> None:
    learner = new_learner("DQN", buffer_size=1_000_000)
    steps = play(learner, 2)
    assert learner.state_dict()["memory/observations"].shape == (steps, 1, 4)


class CrashAfter(Monitor):
    """A monitor that dies after so many episodes."""

    def __init__(self, episodes: int) -> None:
        self.left = episodes

    def episode_ended(self, tally: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("crash")


@pytest.mark.parametrize("name", ["DQN", "RecurrentPPO"])
def test_a_run_that_was_stopped_ends_as_one_left_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def live(folder: str, *monitors: Monitor) -> repertory.Record:
        settings = CASES[name].settings()
        options = {"policies": 2, "blocks": 2, "block_steps": 60, "selector": repertory.EpsilonGreedy(epsilon=0.5)}
        return repertory.live("cartpole27", settings, out=tmp_path / folder, monitors=monitors, **options)

    monkeypatch.setattr(saver, "LONGEST_PAUSE", 0.0)  # a checkpoint after every episode
    whole = live("whole")
    with pytest.raises(RuntimeError, match="crash"):
        live("broken", CrashAfter(2))
    again = live("broken")
    assert whole.blocks.equals(again.blocks)
    for one, other in zip(whole.policies, again.policies, strict=True):
        assert_equal(one.state_dict(), other.state_dict(), "state")


# --------------------------------------------------------------------------------------- random numbers


def test_the_process_keeps_its_own_random_numbers() -> None:
    before = generators()
    learner = new_learner("DQN")
    play(learner, 3)
    learner.action_probabilities(np.zeros((2, 4), np.float32))
    assert_equal(before, generators(), "generators")
    learner.begin_episode()  # and breaks off
    assert not np.array_equal(before[2], th.get_rng_state())
    play(new_learner("DQN", seed=2), 1)
    assert_equal(before, generators(), "generators")


def test_two_policies_can_play_at_once() -> None:
    alone = new_learner("DQN")
    play(alone, 2)
    one, other = new_learner("DQN"), new_learner("DQN", seed=2)

    class Between(gymnasium.Wrapper):
        def step(self, action: Any) -> Any:
            other.begin_episode()
            other.act(np.zeros(4, np.float32))
            return super().step(action)

    env = Between(cartpole(0))
    for seed in range(2):
        plain_episode(env, one, seed)
    assert_equal(alone.state_dict(), one.state_dict(), "state")


def test_a_careless_environment_is_decided_by_the_seed_too() -> None:
    class Careless(gymnasium.Wrapper):
        """It draws from NumPy's shared generator."""

        def step(self, action: Any) -> Any:
            observation, reward, *rest = super().step(action)
            return observation, reward + np.random.normal(), *rest  # noqa: NPY002

    domain = repertory.Domain("careless", ("the task",), lambda task: Careless(cartpole(task)))
    totals = []
    for disturbance in (1, 2):
        np.random.seed(disturbance)  # noqa: NPY002
        record = repertory.live(domain, CASES["DQN"].settings(), policies=2, blocks=2, block_steps=100)
        totals.append(record.blocks["total_reward"].tolist())
    assert totals[0] == totals[1]


# ---------------------------------------------------------------------------------------------- schedules


def test_schedules_stretch_over_total_timesteps_and_stay_at_their_end() -> None:
    learner = new_learner("DQN", total_timesteps=100, learning_rate=LinearSchedule(0.01, 0.0, 1.0))
    rates = []
    while learner.model.num_timesteps < 300:
        play(learner, 1, len(rates))
        rates.append((learner.model.num_timesteps, learner.model.exploration_rate))
    for steps, rate in rates:  # from 1 to 0.05 within 70 percent
        assert rate == pytest.approx(max(1 - 0.95 * steps / 70, 0.05))
    assert learner.model.policy.optimizer.param_groups[0]["lr"] == 0.0


def test_action_probabilities() -> None:
    observations = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    learner = new_learner("DQN", learning_starts=50)
    assert (learner.action_probabilities(observations) == 0.5).all()  # random actions at first
    play(learner, 8)
    rate = learner.model.exploration_rate
    expected = np.full((5, 2), rate / 2)
    expected[np.arange(5), learner.model.predict(observations, deterministic=True)[0]] += 1 - rate
    assert np.allclose(learner.action_probabilities(observations), expected)
    for name in ("PPO", "RecurrentPPO"):
        learner = new_learner(name)
        actions, _states = learner.model.predict(observations[:1], deterministic=True)
        assert learner.action_probabilities(observations)[0].argmax() == actions[0]


# ------------------------------------------------------------------------------------------------- settings


def test_settings_are_plain_values_that_tell_runs_apart() -> None:
    described = [case.settings() for case in CASES.values()]
    texts = [json.dumps(settings.as_dict()) for settings in described]
    assert len(set(texts)) == len(texts)
    assert all(settings.is_described for settings in described)
    assert SB3(sb3.PPO, learning_rate=LinearSchedule(1e-3, 0, 1)).is_described
    assert not SB3(sb3.PPO, learning_rate=lambda progress: 1e-3 * progress).is_described
    dqn = SB3(sb3.DQN, learning_starts=7, policy_kwargs={"activation_fn": th.nn.ELU}).as_dict()
    assert dqn == {
        "algorithm": "stable_baselines3.dqn.dqn.DQN",
        "policy": "MlpPolicy",
        "total_timesteps": 100_000,
        "arguments": {
            "learning_starts": 7,
            "policy_kwargs": {"activation_fn": "torch.nn.modules.activation.ELU"},
            "device": "cpu",
        },
    }


SPACES = (gymnasium.spaces.Box(-1, 1, (3,)), gymnasium.spaces.Box(-1, 1, (2,)))
REFUSALS = {
    "algorithm is 'dqn'; valid: a class such as stable_baselines3.DQN": lambda: SB3("dqn"),
    "unknown policy of RecurrentPPO 'MlpPolicy'; did you mean 'MlpLstmPolicy'": lambda: SB3(contrib.RecurrentPPO),
    "unknown argument of DQN 'lerning_rate'; did you mean 'learning_rate'": lambda: SB3(sb3.DQN, lerning_rate=1),
    "seed of DQN cannot be set: the library gives each policy its own": lambda: SB3(sb3.DQN, seed=3),
    "total_timesteps is 0; valid: a whole number at least 1": lambda: SB3(sb3.DQN, total_timesteps=0),
    "MaskablePPO collects experiences in a way of its own": lambda: SB3(contrib.MaskablePPO),
    "DQN cannot be built: The algorithm only supports": lambda: SB3(sb3.DQN)(*SPACES, 1),
    "actions in Box.* have no probabilities": lambda: SB3(sb3.PPO)(*SPACES, 1).action_probabilities(np.zeros((2, 3))),
    "the state is of PPO; this learner is DQN": lambda: new_learner("DQN").load_state_dict(new_learner().state_dict()),
    "observe was called without act": lambda: new_learner().observe(np.zeros(4), 0, 0.0, np.zeros(4), False, False),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_what_cannot_be_is_refused(message: str) -> None:
    with pytest.raises(repertory.UsageError, match=message):
        REFUSALS[message]()


def test_steps_out_of_turn_are_refused() -> None:
    learner = new_learner("DQN")
    learner.begin_episode()
    action = learner.act(np.zeros(4, np.float32))
    with pytest.raises(repertory.UsageError, match="cannot be saved between act and observe"):
        learner.state_dict()
    with pytest.raises(repertory.UsageError, match=f"was given action {1 - action}, but act chose {action}"):
        learner.observe(np.zeros(4), 1 - action, 0.0, np.zeros(4), False, False)


def test_buffers_that_cannot_be_saved_are_refused_before_anything_is_lived() -> None:
    class Own(sb3.common.buffers.ReplayBuffer):
        pass

    with pytest.raises(repertory.UsageError, match="Own cannot be saved; valid buffers"):
        new_learner("DQN", replay_buffer_class=Own)


def test_without_stable_baselines_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.base_class", None)
    spec = importlib.util.find_spec("repertory.learners.sb3")
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(repertory.UsageError, match=r"next: pip install 'repertory\[sb3\]'"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.mark.parametrize(
    ("environment", "said", "is_told"),
    [({}, "", False), ({"OMP_NUM_THREADS": "2"}, "", True), ({}, "torch.set_num_threads(7)", True)],
)
def test_torch_runs_on_one_thread_unless_told_otherwise(
    environment: dict[str, str], said: str, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    lines = (
        f"import torch; from repertory.machine import let_torch_run_on_one_thread as one; {said}",
        "print(torch.get_num_threads()); one(); print(torch.get_num_threads())",
        "torch.set_num_threads(2); one(); print(torch.get_num_threads())",
    )
    command = [sys.executable, "-c", "\n".join(lines)]
    before, after, later = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert after == (before if is_told else "1")
    assert later == "2"  # what it is told later stands


def test_repertory_itself_does_not_load_torch() -> None:
    code = "import repertory, repertory.testing, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- a library of them


def heavier_pole(task: int) -> gymnasium.Env:
    """Five variants of CartPole: the pole's mass is read from attributes at every step."""
    env = gymnasium.make("CartPole-v1")
    inner = env.unwrapped
    inner.masspole = 0.1 * (1 + task / 2)
    inner.total_mass = inner.masspole + inner.masscart
    inner.polemass_length = inner.masspole * inner.length
    return env


VARIANTS = repertory.Domain("five-poles", tuple(f"pole {i}" for i in range(5)), heavier_pole)
ON_POLES = {
    "learning_starts": 200,
    "learning_rate": 2e-3,
    "train_freq": 8,
    "gradient_steps": 8,
    "target_update_interval": 200,
}


def test_five_variants_run_and_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPERTORY_CHECKPOINT_SECONDS", "0")
    learner = SB3(sb3.DQN, total_timesteps=1_000, buffer_size=1_000, **ON_POLES)
    options = {"policies": 2, "blocks": 6, "block_steps": 100}
    whole = repertory.live(VARIANTS, learner, **options, out=tmp_path / "whole")

    class Stop(Exception):
        pass

    class StopAtThird(Monitor):
        def block_ended(self, tally: Any) -> None:
            if tally.block == 3:
                raise Stop

    with pytest.raises(Stop):
        repertory.live(VARIANTS, learner, **options, out=tmp_path / "broken", monitors=[StopAtThird()])
    resumed = repertory.live(VARIANTS, learner, **options, out=tmp_path / "broken")
    assert resumed.blocks.equals(whole.blocks)
    for one, other in zip(whole.policies, resumed.policies, strict=True):
        assert all(np.array_equal(a, other.state_dict()[name]) for name, a in one.state_dict().items())


@pytest.mark.slow
def test_five_variants_are_learned() -> None:
    """Untrained, an episode lasts about 10 to 22 steps."""
    learner = SB3(sb3.DQN, total_timesteps=10_000, buffer_size=20_000, exploration_final_eps=0.05, **ON_POLES)
    record = repertory.live(VARIANTS, learner, policies=2, blocks=40, block_steps=1_000)
    assert record.blocks["mean_return"].tail(10).mean() > 60
