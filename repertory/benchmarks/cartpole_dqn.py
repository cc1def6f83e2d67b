"""Cartpole DQN in training: repertory against Stable-Baselines3 with the same network, batch and schedule."""

from __future__ import annotations

from repertory import DQN, domain
from repertory.benchmarks.flops import flops_of_dqn_step
from repertory.benchmarks.measure import Contender, build, contender_package, torch_on_one_thread, training
from repertory.benchmarks.stable_baselines import learning

TASK = 13
SETTINGS = DQN(learning_starts=1_000)
REPERTORY_STEPS = 200_000
SB3_STEPS = 3_000


def repertory_dqn() -> Contender:
    return training(
        "cartpole27", TASK, build("cartpole27", SETTINGS), REPERTORY_STEPS, warm_up=5 * SETTINGS.learning_starts
    )


def repertory_dqn_in_flops() -> Contender:
    """The same, its work counted in floating-point operations."""
    live, flops_of_step = repertory_dqn(), flops_of_dqn_step(SETTINGS, inputs=4, actions=2)
    return lambda: live() * flops_of_step


def sb3_dqn() -> Contender:
    torch, stable_baselines3 = torch_on_one_thread(), contender_package("stable_baselines3")
    model = stable_baselines3.DQN(
        "MlpPolicy",
        domain("cartpole27").env(TASK),
        learning_rate=SETTINGS.learning_rate,
        buffer_size=SETTINGS.buffer_size,
        learning_starts=SETTINGS.learning_starts,
        batch_size=SETTINGS.batch_size,
        train_freq=SETTINGS.train_freq,
        target_update_interval=SETTINGS.target_update_interval,
        gamma=SETTINGS.gamma,
        exploration_initial_eps=SETTINGS.exploration_rate,
        exploration_final_eps=SETTINGS.exploration_rate,
        policy_kwargs={
            "net_arch": list(SETTINGS.net_arch),
            "optimizer_class": torch.optim.Adadelta,
            "optimizer_kwargs": {"rho": SETTINGS.rho, "eps": SETTINGS.optimizer_eps},
        },
        device="cpu",
        seed=0,
    )
    model.learn(2 * SETTINGS.learning_starts)
    return learning(model, SB3_STEPS)
