"""POcman PRPO in training: repertory against sb3-contrib's RecurrentPPO with the same rollout, epochs and batch."""

from __future__ import annotations

from benchmarks.measure import Contender, build, training
from repertory import PRPO, domain

TASK = 10
SETTINGS = PRPO()
REPERTORY_STEPS = 10_000
SB3_STEPS = 10 * SETTINGS.n_steps


def repertory_prpo() -> Contender:
    return training("pocman18", TASK, build("pocman18", SETTINGS), REPERTORY_STEPS, warm_up=2_000)


def sb3_recurrent_ppo() -> Contender:
    import sb3_contrib
    import torch

    torch.set_num_threads(1)
    dense, units = SETTINGS.net_arch
    model = sb3_contrib.RecurrentPPO(
        "MlpLstmPolicy",
        domain("pocman18").env(TASK),
        learning_rate=SETTINGS.learning_rate,
        n_steps=SETTINGS.n_steps,
        batch_size=SETTINGS.batch_size,
        n_epochs=SETTINGS.n_epochs,
        gamma=SETTINGS.gamma,
        gae_lambda=SETTINGS.gae_lambda,
        clip_range=SETTINGS.clip_range,
        normalize_advantage=False,
        ent_coef=SETTINGS.ent_coef,
        vf_coef=SETTINGS.vf_coef,
        max_grad_norm=SETTINGS.max_grad_norm,
        policy_kwargs={
            "lstm_hidden_size": units,
            "shared_lstm": True,
            "enable_critic_lstm": False,
            "net_arch": [dense],
        },
        device="cpu",
        seed=0,
    )
    model.learn(SETTINGS.n_steps)

    def work() -> int:
        model.learn(SB3_STEPS, reset_num_timesteps=False)
        return SB3_STEPS

    return work
