"""Cartpole DQN in training: repertory against Stable-Baselines3 with the same network, batch and schedule."""

from __future__ import annotations

from repertory import DQN, domain
from repertory.benchmarks.flops import flops_of_dqn_step
from repertory.benchmarks.measure import Contender, build, contender_package, learning, torch_on_one_thread, training
from repertory.profiles import with_profile

TASK = 13
SETTINGS = DQN(learning_starts=1_000)
SOUND = with_profile(DQN, "sound").replace(learning_starts=1_000)
"""Of these, Stable-Baselines3 has neither double Q-learning nor bounds, normalised returns or a matching memory."""
REPERTORY_STEPS = 200_000
SB3_STEPS = 3_000


def repertory_dqn(settings: DQN = SETTINGS) -> Contender:
    return training(
        "cartpole27", TASK, build("cartpole27", settings), REPERTORY_STEPS, warm_up=5 * settings.learning_starts
    )


def repertory_dqn_in_flops() -> Contender:
    """The same, its work counted in floating-point operations."""
    live, flops_of_step = repertory_dqn(), flops_of_dqn_step(SETTINGS, inputs=4, actions=2)
    return lambda: live() * flops_of_step


def sb3_dqn(settings: DQN = SETTINGS) -> Contender:
    torch, stable_baselines3 = torch_on_one_thread(), contender_package("stable_baselines3")
    model = stable_baselines3.DQN(
        "MlpPolicy",
        domain("cartpole27").env(TASK),
        learning_rate=settings.learning_rate,
        buffer_size=settings.buffer_size,
        learning_starts=settings.learning_starts,
        batch_size=settings.batch_size,
        train_freq=settings.train_freq,
        target_update_interval=settings.target_update_interval,
        gamma=settings.gamma,
        exploration_initial_eps=settings.exploration_rate,
        exploration_final_eps=settings.exploration_rate,
        policy_kwargs={
            "net_arch": list(settings.net_arch),
            "optimizer_class": torch.optim.Adadelta,
            "optimizer_kwargs": {"rho": settings.rho, "eps": settings.optimizer_eps},
        },
        device="cpu",
        seed=0,
    )
    model.learn(2 * settings.learning_starts)
    return learning(model, SB3_STEPS)
