"""PPO on Cartpole and PRPO on POcman in training: repertory against Stable-Baselines3 and sb3-contrib's RecurrentPPO.

The same rollout, epochs, batch and network on both sides.
"""

from __future__ import annotations

from typing import Any

from repertory import PPO, PRPO, domain
from repertory.benchmarks.measure import Contender, build, contender_package, learning, torch_on_one_thread, training

CARTPOLE, POCMAN = ("cartpole27", 13), ("pocman18", 10)
"""A domain and a task of it."""
PPO_SETTINGS, PRPO_SETTINGS = PPO(), PRPO()
ROLLOUT = 200
"""Steps of a Cartpole rollout in Stable-Baselines3: an episode that reaches its time limit, as ours do once learned."""


def repertory_ppo() -> Contender:
    return training(*CARTPOLE, build(CARTPOLE[0], PPO_SETTINGS), steps=100_000, warm_up=100_000)


def repertory_prpo() -> Contender:
    return training(*POCMAN, build(POCMAN[0], PRPO_SETTINGS), steps=10_000, warm_up=2_000)


def sb3_ppo() -> Contender:
    torch, stable_baselines3 = torch_on_one_thread(), contender_package("stable_baselines3")
    network = {
        "net_arch": list(PPO_SETTINGS.net_arch),
        "activation_fn": torch.nn.ReLU,
        "share_features_extractor": True,
    }
    env = domain(CARTPOLE[0]).env(CARTPOLE[1])
    return _learning(stable_baselines3.PPO, "MlpPolicy", env, network, PPO_SETTINGS, ROLLOUT)


def sb3_recurrent_ppo() -> Contender:
    torch_on_one_thread()
    sb3_contrib = contender_package("sb3_contrib")
    dense, units = PRPO_SETTINGS.net_arch
    network = {"lstm_hidden_size": units, "shared_lstm": True, "enable_critic_lstm": False, "net_arch": [dense]}
    env = domain(POCMAN[0]).env(POCMAN[1])
    return _learning(sb3_contrib.RecurrentPPO, "MlpLstmPolicy", env, network, PRPO_SETTINGS, PRPO_SETTINGS.n_steps)


def _learning(algorithm: Any, policy: str, env: Any, network: dict[str, Any], settings: PPO, n_steps: int) -> Contender:
    """Ten rollouts of a model that has had one, under our settings."""
    same = ("learning_rate", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range", "ent_coef", "vf_coef")
    shared = {name: getattr(settings, name) for name in (*same, "max_grad_norm")}
    fixed = {"n_steps": n_steps, "normalize_advantage": False, "device": "cpu", "seed": 0}
    model = algorithm(policy, env, policy_kwargs=network, **shared, **fixed)
    model.learn(n_steps)
    return learning(model, 10 * n_steps)
