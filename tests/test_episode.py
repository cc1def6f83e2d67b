"""The compiled and the plain path of an episode are the same episode."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import repertory
from repertory.core.episode import EpisodePlayer

SMALL = {"learning_starts": 200, "target_update_interval": 300, "buffer_size": 500}
LEARNERS = {
    "dqn": repertory.DQN(**SMALL),
    "dqn by episodes": repertory.DQN(**SMALL, sampling="episodes"),
    "dqn on finished episodes": repertory.DQN(**SMALL, memory="finished-episodes", sampling="episodes"),
    "dqn matching": repertory.DQN(**SMALL, memory="distribution-matching", protected=100),
    "dqn task-matching": repertory.DQN(**SMALL, memory="task-matching"),
    "ppo": repertory.PPO(),
    "ppo pairwise": repertory.PPO(ratio="pairwise", minibatches="consecutive", random_first_steps=1),
}
RECURRENT = {
    "drqn": repertory.DRQN(**SMALL),
    "drqn on finished episodes": repertory.DRQN(
        **SMALL, memory="finished-episodes", sampling="episodes", full_windows=True
    ),
    "prpo": repertory.PRPO(),
    "prpo pairwise": repertory.PRPO(ratio="pairwise", minibatches="consecutive"),
    "feed-forward dqn": repertory.DQN(**SMALL),
    "feed-forward ppo": repertory.PPO(),
}


def assert_same_on_both_paths(domain: repertory.Domain, settings: object, episodes: int) -> None:
    spaces = (domain.observation_space, domain.action_space)
    fast, plain = settings(*spaces, 3), settings(*spaces, 3)
    compiled_player, plain_player = EpisodePlayer(domain), EpisodePlayer(domain, compiled=False)
    for seed in range(episodes):
        task = 5 * seed % domain.n_tasks
        assert compiled_player.play(task, fast, seed) == plain_player.play(task, plain, seed)
    before, after = fast.state_dict(), plain.state_dict()
    for name in before:
        assert np.array_equal(before[name], after[name]), name


@pytest.mark.parametrize("profile", ["text", "released"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_compiled_equals_plain_to_the_bit(learner: str, profile: str) -> None:
    assert_same_on_both_paths(repertory.domain("cartpole27", profile=profile), LEARNERS[learner], episodes=60)


@pytest.mark.parametrize("profile", ["text", "released"])
@pytest.mark.parametrize("learner", RECURRENT)
def test_compiled_equals_plain_to_the_bit_on_pocman(learner: str, profile: str) -> None:
    domain = repertory.domain("pocman18", profile=profile, max_steps=300)
    assert_same_on_both_paths(domain, RECURRENT[learner], episodes=6)


def test_a_policy_built_for_another_domain_is_refused(cartpole27: repertory.Domain) -> None:
    pocman = repertory.domain("pocman18")
    learner = repertory.DQN()(cartpole27.observation_space, cartpole27.action_space, 1)
    with pytest.raises(repertory.UsageError, match="built for 4 features and 2 actions cannot play pocman18"):
        EpisodePlayer(pocman).play(0, learner, seed=1)


def test_an_episode_depends_on_its_seed_not_on_those_before(cartpole27: repertory.Domain) -> None:
    class Left:
        def begin_episode(self) -> None: ...
        def act(self, observation: object) -> int:
            return 0

        def observe(self, *step: object) -> None: ...

    player = EpisodePlayer(cartpole27)
    first = player.play(3, Left(), seed=5)
    player.play(3, Left(), seed=6)
    assert player.play(3, Left(), seed=5) == first


def test_any_environment_with_any_learner() -> None:
    """Termination and truncation reach the learner apart, and the outcome is the environment's."""
    seen = []

    class Recorder:
        def begin_episode(self) -> None:
            seen.append("begin")

        def act(self, observation: np.ndarray) -> int:
            return 1

        def observe(self, observation, action, reward, next_observation, terminated, truncated) -> None:
            seen.append((observation.shape, action, reward, terminated, truncated))

    domain = repertory.Domain("mountain", ("car",), lambda task: gymnasium.make("MountainCar-v0"))
    outcome = EpisodePlayer(domain).play(0, Recorder(), seed=1)
    assert outcome == (200, -200.0, None)
    assert seen[0] == "begin"
    assert len(seen) == 201
    assert seen[-1] == ((2,), 1, -1.0, False, True)
