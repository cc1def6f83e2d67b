"""A state that somebody altered is refused, or harmless: kernels never leave their arrays for it."""

from __future__ import annotations

import numpy as np
import pytest
from every_learner import every_learner

import repertory
from repertory.core.episode import EpisodePlayer
from repertory.learners.protocol import new_learner

SMALL = {"learning_starts": 40, "buffer_size": 150, "net_arch": (4, 4), "batch_size": 4}
MANY_TASKS = {"task_input": True, "heads": True, "ewc": 0.1, "clone": 0.1, "visit_sample": 20}
LEARNERS = every_learner(**SMALL, n_steps=30) | {
    "dqn by episodes": ("cartpole27", repertory.DQN(**SMALL, sampling="episodes")),
    "dqn on finished episodes": ("cartpole27", repertory.DQN(**SMALL, memory="finished-episodes", sampling="episodes")),
    "dqn matching": ("cartpole27", repertory.DQN(**SMALL, memory="distribution-matching")),
    "dqn matching, protected": ("cartpole27", repertory.DQN(**SMALL, memory="distribution-matching", protected=30)),
    "dqn for many tasks": ("cartpole27", repertory.DQN(**SMALL, **MANY_TASKS)),
    "ppo for many tasks": ("cartpole27", repertory.PPO(net_arch=(4, 4), n_steps=30, **MANY_TASKS)),
}
WHOLE_NUMBERS = (-1, -(2**40), 2**40, 3, 77, 100_000)


def player_and_learner(name: str):
    domain_name, settings = LEARNERS[name]
    domain = repertory.domain(domain_name, **({"max_steps": 40} if domain_name == "pocman18" else {}))
    spaces = domain.observation_space, domain.action_space
    return EpisodePlayer(domain), lambda: new_learner(settings, *spaces, 3, domain.n_tasks)


def play(player: EpisodePlayer, learner, episodes: range) -> None:
    for episode in episodes:
        player.play(episode % 5, learner, seed=episode)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_state_on_the_way_can_be_taken_up(name: str) -> None:
    """What is refused below is refused for its fault: no state that a life leads to is."""
    player, new = player_and_learner(name)
    learner = new()
    for episode in range(40):
        play(player, learner, range(episode, episode + 1))
        new().load_state_dict(learner.state_dict())


@pytest.mark.parametrize("name", LEARNERS)
def test_altered_whole_numbers_are_refused_or_harmless(name: str, rng: np.random.Generator) -> None:
    player, new = player_and_learner(name)
    learner = new()
    play(player, learner, range(25))
    state = learner.state_dict()
    fields = [f for f, a in state.items() if a.dtype.kind == "i" and a.size]
    if not fields:
        pytest.skip("no whole numbers in its state")
    refused = 0
    for _ in range(150):
        altered = {field: array.copy() for field, array in state.items()}
        field = fields[rng.integers(len(fields))]
        flat = altered[field].reshape(-1)
        limits = np.iinfo(flat.dtype)
        flat[rng.integers(flat.size)] = np.clip(rng.choice(WHOLE_NUMBERS), limits.min, limits.max)
        victim = new()
        try:
            victim.load_state_dict(altered)
        except (ValueError, KeyError):
            refused += 1
            continue
        play(player, victim, range(100, 108))
    assert refused > 10 or not (learner.state_limits() or hasattr(learner, "memory_plan"))
