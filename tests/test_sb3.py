"""Stable-Baselines3 inside a library is Stable-Baselines3, bit for bit."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import repertory
from repertory.core.episode import plain_episode
from repertory.core.lifetime import Monitor
from repertory.core.seeds import policy_seed
from repertory.testing import check_learner

th = pytest.importorskip("torch")
sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

from stable_baselines3.common.utils import LinearSchedule  # noqa: E402

from repertory.learners.sb3 import SB3  # noqa: E402
from tests.sb3_cases import (  # noqa: E402
    CASES,
    OFF_POLICY,
    Case,
    assert_equal,
    cartpole,
    generators,
    new_learner,
    play,
)

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
