"""POcman PRPO in training: repertory against sb3-contrib's RecurrentPPO with the same rollout, epochs and batch."""

from __future__ import annotations

from repertory import PRPO, domain
from repertory.benchmarks.measure import Contender, build, contender_package, torch_on_one_thread, training
from repertory.benchmarks.stable_baselines import learning, ppo_arguments

TASK = 10
SETTINGS = PRPO()
REPERTORY_STEPS = 10_000
SB3_STEPS = 10 * SETTINGS.n_steps


def repertory_prpo() -> Contender:
    return training("pocman18", TASK, build("pocman18", SETTINGS), REPERTORY_STEPS, warm_up=2_000)


def sb3_recurrent_ppo() -> Contender:
    torch_on_one_thread()
    sb3_contrib = contender_package("sb3_contrib")
    dense, units = SETTINGS.net_arch
    model = sb3_contrib.RecurrentPPO(
        "MlpLstmPolicy",
        domain("pocman18").env(TASK),
        policy_kwargs={
            "lstm_hidden_size": units,
            "shared_lstm": True,
            "enable_critic_lstm": False,
            "net_arch": [dense],
        },
        **ppo_arguments(SETTINGS, SETTINGS.n_steps),
    )
    model.learn(SETTINGS.n_steps)
    return learning(model, SB3_STEPS)
