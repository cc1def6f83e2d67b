"""How Stable-Baselines3 policies are saved: within an episode, after a training, in a run that was stopped."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import repertory
from repertory.core.lifetime import Monitor
from repertory.runs import saver
from tests.crashing import Crash, CrashAfter
from tests.sb3_cases import CASES, assert_equal, cartpole, new_learner, play, walk


def test_a_rollout_goes_on_in_the_next_episode() -> None:
    """Nothing is thrown away at the end of an episode, and nobody else's step gets in."""
    one, other = new_learner(seed=1), new_learner(seed=2)
    for episode in range(12):
        play(one, 1, episode)
        play(other, 1, episode)
    assert one.losses()[0] == one.model.num_timesteps // 32 > 3
    assert one._rows() == one.model.num_timesteps % 32


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
    with pytest.raises(Crash):
        live("broken", CrashAfter(2))
    again = live("broken")
    assert whole.blocks.equals(again.blocks)
    for one, other in zip(whole.policies, again.policies, strict=True):
        assert_equal(one.state_dict(), other.state_dict(), "state")
