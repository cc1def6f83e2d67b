"""Compiled learners solve Gymnasium's own tasks: a life is stopped once its policy plays well greedily."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import pytest

import repertory
from repertory.core.at_rest import AtRest
from repertory.core.episode import EpisodePlayer
from repertory.core.lifetime import Lifetime, Monitor, Pause
from repertory.core.tally import BlockTally

TRIALS = range(10**6, 10**6 + 50)
"""Seeds of the episodes that decide when to stop; others tell the score."""


@dataclass(frozen=True)
class Case:
    """A task, and how it is learned: `sound` with a few settings, within so many steps."""

    env: str
    learner: str
    solved: float
    enough: float
    """A little more than `solved`, for training to stop at: fifty episodes may be lucky."""
    steps: int
    block: int
    """Steps between one look and the next."""
    settings: dict[str, Any]
    reward_scale: float = 1.0
    """Rewards are multiplied by it for the learner. Network and step size are made for returns of about 1 to 100."""


ADAM = {"optimizer": "adam", "learning_rate": 0.0005, "learning_starts": 1_000, "target_update_interval": 500}
LANDER = {"learning_rate": 0.0005, "gamma": 0.995, "ent_coef": 0.005, "batch_size": 64}
CASES = {
    "CartPole-v1": Case("CartPole-v1", "dqn", 475, 490, 200_000, 5_000, {**ADAM, "batch_size": 32}),
    "Acrobot-v1": Case("Acrobot-v1", "dqn", -100, -95, 100_000, 5_000, {**ADAM, "batch_size": 64, "train_freq": 1}),
    "LunarLander-v3": Case("LunarLander-v3", "ppo", 200, 220, 800_000, 25_000, LANDER, reward_scale=0.01),
}


class StopOnceSolved(Monitor):
    """Plays a few episodes greedily after each block, and ends the life when they go well."""

    def __init__(self, domain: repertory.Domain, enough: float) -> None:
        self._player, self._enough = EpisodePlayer(domain), enough

    def lifetime_begins(self, lifetime: Lifetime) -> None:
        self._policy = AtRest(lifetime.policies[0], 0, 1)

    def block_ended(self, tally: BlockTally) -> None:
        returns = [self._player.play(0, self._policy, seed).total_reward for seed in TRIALS]
        if sum(returns) / len(returns) >= self._enough:
            raise Pause

    def lifetime_ends(self) -> None:
        self._player.close()


def solve(case: Case, seed: int) -> tuple[float, int]:
    """The score of a hundred greedy episodes, and after how many steps of training."""
    scale = case.reward_scale
    scaled = partial(gymnasium.wrappers.TransformReward, func=lambda reward: scale * float(reward))
    domain = repertory.tasks([case.env], name=case.env, wrappers=[scaled])
    learner = repertory.learner(case.learner, profile="sound", **case.settings)
    record = repertory.live(
        domain,
        learner,
        policies=1,
        blocks=case.steps // case.block,
        block_steps=case.block,
        seed=seed,
        monitors=[StopOnceSolved(domain, scale * case.enough)],
    )
    score = repertory.evaluate(record, episodes=100, domain=domain).scores[0, 0]
    return float(score) / scale, int(record.blocks["steps"].sum())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_sound_learners_solve_it_within_the_steps_that_the_page_states(name: str, seed: int) -> None:
    if name == "LunarLander-v3":
        pytest.importorskip("Box2D")
    score, steps = solve(CASES[name], seed)
    assert score >= CASES[name].solved, f"{score:.1f} after {steps:,} steps"
