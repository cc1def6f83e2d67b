"""Stable-Baselines3 as a contender: its learners under our settings."""

from __future__ import annotations

from typing import Any

from repertory import PPO
from repertory.benchmarks.measure import Contender


def ppo_arguments(settings: PPO, n_steps: int) -> dict[str, Any]:
    """What its PPO and RecurrentPPO share with ours."""
    same = ("learning_rate", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range", "ent_coef", "vf_coef")
    arguments = {name: getattr(settings, name) for name in (*same, "max_grad_norm")}
    return {**arguments, "n_steps": n_steps, "normalize_advantage": False, "device": "cpu", "seed": 0}


def learning(model: Any, steps: int) -> Contender:
    """`steps` steps of a model that has begun to learn."""

    def work() -> int:
        model.learn(steps, reset_num_timesteps=False)
        return steps

    return work
