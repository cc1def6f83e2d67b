"""Cartpole PPO in training: repertory against Stable-Baselines3 with the same rollout, epochs, batch and network."""

from __future__ import annotations

from repertory import PPO, domain
from repertory.benchmarks.measure import Contender, build, contender_package, torch_on_one_thread, training
from repertory.benchmarks.stable_baselines import learning, ppo_arguments

TASK = 13
SETTINGS = PPO()
REPERTORY_STEPS = 100_000
ROLLOUT = 200
"""Steps of a rollout in Stable-Baselines3: an episode that reaches its time limit, as ours do once learned."""
SB3_STEPS = 10 * ROLLOUT


def repertory_ppo() -> Contender:
    return training("cartpole27", TASK, build("cartpole27", SETTINGS), REPERTORY_STEPS, warm_up=REPERTORY_STEPS)


def sb3_ppo() -> Contender:
    torch, stable_baselines3 = torch_on_one_thread(), contender_package("stable_baselines3")
    model = stable_baselines3.PPO(
        "MlpPolicy",
        domain("cartpole27").env(TASK),
        policy_kwargs={
            "net_arch": list(SETTINGS.net_arch),
            "activation_fn": torch.nn.ReLU,
            "share_features_extractor": True,
        },
        **ppo_arguments(SETTINGS, ROLLOUT),
    )
    model.learn(ROLLOUT)
    return learning(model, SB3_STEPS)
