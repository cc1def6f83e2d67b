"""Many episodes in one call are the episodes played one by one."""

from __future__ import annotations

import numpy as np
import pytest

import repertory
from repertory.core.episode import EpisodePlayer
from repertory.core.many_episodes import ManyEpisodes
from repertory.learners.random import Random

SMALL_DQN = repertory.DQN(learning_starts=100, buffer_size=500, target_update_interval=200)


@pytest.mark.parametrize("profile", ["text", "released"])
@pytest.mark.parametrize("name", ["cartpole27", "pocman18"])
@pytest.mark.parametrize("settings", [Random(), SMALL_DQN], ids=["random", "dqn"])
def test_equal_to_one_by_one_to_the_bit(name: str, profile: str, settings: repertory.DQN | Random) -> None:
    domain = repertory.domain(name, profile=profile, max_steps=150)
    spaces = (domain.observation_space, domain.action_space)
    together, apart = settings(*spaces, 3), settings(*spaces, 3)
    seeds = np.random.default_rng(0).integers(2**31, size=40)
    player = EpisodePlayer(domain)
    for task in (0, 7):
        steps, total_rewards = ManyEpisodes(domain, task).play(together, seeds)
        one_by_one = [player.play(task, apart, int(seed))[:2] for seed in seeds]
        assert list(zip(steps.tolist(), total_rewards.tolist(), strict=True)) == one_by_one
    for field, value in apart.state_dict().items():
        assert np.array_equal(value, together.state_dict()[field]), field


def test_a_second_call_goes_on_with_the_random_actions(cartpole27: repertory.Domain) -> None:
    learner = Random()(cartpole27.observation_space, cartpole27.action_space, 0)
    many, seeds = ManyEpisodes(cartpole27, 5), np.arange(50)
    assert not np.array_equal(many.play(learner, seeds).steps, many.play(learner, seeds).steps)


def test_ends_with_the_episode_that_reaches_the_steps_asked_for(cartpole27: repertory.Domain) -> None:
    def play(at_least: int | None) -> list[int]:
        learner = Random()(cartpole27.observation_space, cartpole27.action_space, 0)
        return ManyEpisodes(cartpole27, 5).play(learner, np.arange(50), at_least).steps.tolist()

    every = play(None)
    assert len(every) == 50
    for episodes in (1, 7):
        enough = sum(every[:episodes])
        assert play(enough) == every[:episodes]
        assert play(enough + 1) == every[: episodes + 1]
    assert play(10**9) == every


def test_what_does_not_fit_is_refused(cartpole27: repertory.Domain) -> None:
    pocman = repertory.domain("pocman18")
    learner = Random()(pocman.observation_space, pocman.action_space, 0)
    with pytest.raises(repertory.UsageError, match="built for 11 features and 5 actions cannot play cartpole27"):
        ManyEpisodes(cartpole27, 0).play(learner, np.arange(1))
    with pytest.raises(repertory.UsageError, match="task 27 of cartpole27 does not exist; valid: 0 to 26"):
        ManyEpisodes(cartpole27, 27)
    plain = repertory.tasks(["CartPole-v1"])
    with pytest.raises(repertory.UsageError, match="is not compiled"):
        ManyEpisodes(plain, 0)
