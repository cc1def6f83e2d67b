"""What PPO and its recurrent kin have in common: the epochs of an update, advantages, and the loss of a minibatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.actor_critic import (
    approximate_kl,
    hold_clipped_values,
    loss_gradient,
    normalise,
    policy_weights_own,
    policy_weights_pairwise,
    softmax_in_place,
)
from repertory.kernels.advantage import discounted_returns, generalised_advantages
from repertory.kernels.compile import kernel
from repertory.kernels.layout import Field
from repertory.kernels.network import Matrix
from repertory.kernels.optimisers import adam, clip_norm
from repertory.kernels.reward_range import REWARD_RANGE
from repertory.kernels.streams import below


class Arrays(NamedTuple):
    """All that a policy is."""

    policy: NDArray[Any]
    """One element: `policy_fields` and what the network needs."""
    scratch: NDArray[Any]
    """One element, shared with the other policies: `scratch_fields` and what the network needs."""


def policy_fields(weights: int, n_steps: int) -> list[Field]:
    """What a policy holds whatever its network.

    `rollout` is the number of steps of the last update, as long as they still stand where they were collected.
    """
    per_step = ("rewards", "old", "advantages", "targets")
    counts = ("collected", "life", "episode", "updates", "rollout")
    whole = ("n_steps", "batch_size", "n_epochs", "random_first_steps", "annealing")
    real = ("learning_rate", "gamma", "gae_lambda", "max_norm", "adam_beta_1", "adam_beta_2", "adam_eps", "value_clip")
    precise = ("clip_range", "vf_coef", "ent_coef", "probability_floor", "loss_total", "largest_kl")
    choices = ("pairwise", "shuffles", "discounts_delta", "learns_returns", "timeout_bootstraps", "normalize_advantage")
    return [
        *((name, np.float32, (weights,)) for name in ("weights", "mean", "square")),
        *((name, np.float32, (n_steps,)) for name in per_step),
        *((name, np.int64, (n_steps,)) for name in ("actions", "order")),
        ("values", np.float32, (n_steps + 1,)),
        ("stream", np.uint64, (4,)),
        ("shape", np.int64, (4,)),
        *((name, np.int64, ()) for name in (*counts, *whole)),
        *((name, np.float32, ()) for name in real),
        *REWARD_RANGE,
        *((name, np.float64, ()) for name in precise),
        *((name, np.bool_, ()) for name in (*choices, "rollout_ended")),
    ]


def scratch_fields(weights: int, batch_size: int) -> list[Field]:
    """What a kernel needs while it runs, whatever the network."""
    return [
        ("gradient", np.float32, (weights,)),
        ("batch_taken", np.int64, (batch_size,)),
        ("batch_own", np.float32, (6, batch_size)),
    ]


# Rows of `batch_own`: what each step of a minibatch brings along.
_PROBABILITY, _OLD, _ADVANTAGE, _TARGET, _WEIGHT, _OLD_VALUE = range(6)


def make_update(
    evaluate: Callable[[Any, bool], None], compute_gradient: Callable[[Any, int, int], None]
) -> Callable[[Any, bool], None]:
    """The epochs shared by PPO and its recurrent kin, around the network passes that tell them apart."""

    @kernel
    def update(ppo: Any, ended: bool) -> None:
        """`n_epochs` passes over the collected steps, in minibatches, or fewer once the policy has moved too far.

        As in Stable-Baselines3, what is too far is found before a minibatch's step, which is then not taken.
        """
        policy, scratch = ppo.policy[0], ppo.scratch[0]
        steps = policy.collected
        policy.rollout, policy.rollout_ended = steps, ended
        rate = policy.learning_rate
        if policy.annealing > 0:
            rate = np.float32(rate * max(1.0 - policy.life / policy.annealing, 0.0))
        evaluate(ppo, ended)
        for t in range(steps):
            policy.order[t] = t
        for _ in range(policy.n_epochs):
            if policy.shuffles:
                for t in range(steps - 1, 0, -1):
                    other = below(policy.stream, t + 1)
                    policy.order[t], policy.order[other] = policy.order[other], policy.order[t]
            for first in range(0, steps, policy.batch_size):
                rows = min(policy.batch_size, steps - first)
                compute_gradient(ppo, first, rows)
                if policy.largest_kl > 0.0 and kl_from_old(ppo, rows) > policy.largest_kl:
                    return
                if policy.max_norm > 0.0:
                    clip_norm(scratch.gradient, policy.max_norm)
                policy.updates += 1
                adam(
                    policy.weights,
                    scratch.gradient,
                    policy.mean,
                    policy.square,
                    policy.updates,
                    rate,
                    policy.adam_beta_1,
                    policy.adam_beta_2,
                    policy.adam_eps,
                )

    return update


@kernel
def estimate_advantages(ppo: Any, ended: bool) -> None:
    """Advantages and value targets of the collected steps, from `rewards` and `values`."""
    policy = ppo.policy[0]
    steps = policy.collected
    final_value = np.float32(0.0) if ended else policy.values[steps]
    generalised_advantages(
        policy.rewards,
        policy.values,
        final_value,
        steps,
        policy.gamma,
        policy.gae_lambda,
        policy.discounts_delta,
        policy.advantages,
    )
    if policy.learns_returns:
        discounted_returns(policy.rewards, final_value, steps, policy.gamma, policy.targets)
    else:
        for t in range(steps):
            policy.targets[t] = policy.advantages[t] + policy.values[t]


@kernel
def gather_batch(ppo: Any, first: int, rows: int) -> None:
    """What the steps `order[first : first + rows]` bring along besides their observations."""
    policy, scratch = ppo.policy[0], ppo.scratch[0]
    own = scratch.batch_own
    for i in range(rows):
        t = policy.order[first + i]
        scratch.batch_taken[i] = policy.actions[t]
        own[_OLD, i], own[_ADVANTAGE, i], own[_TARGET, i] = policy.old[t], policy.advantages[t], policy.targets[t]
    if policy.value_clip > 0.0:
        for i in range(rows):
            own[_OLD_VALUE, i] = policy.values[policy.order[first + i]]
    if policy.normalize_advantage:
        normalise(own[_ADVANTAGE], rows)


@kernel
def differentiate_loss(ppo: Any, outputs: Matrix, rows: int, gradient: Matrix) -> None:
    """From a minibatch's outputs to the gradient of the loss in them: Equation "PPO loss function".

    The value's part of the loss is added to `loss_total`.
    """
    policy, scratch = ppo.policy[0], ppo.scratch[0]
    own, actions = scratch.batch_own, outputs.shape[1] - 1
    for i in range(rows):
        softmax_in_place(outputs, i, actions)
        own[_PROBABILITY, i] = outputs[i, scratch.batch_taken[i]]
    if policy.pairwise:
        probabilities = own[_PROBABILITY]
        policy_weights_pairwise(
            probabilities,
            probabilities,
            own[_ADVANTAGE],
            rows,
            policy.clip_range,
            policy.probability_floor,
            own[_WEIGHT],
        )
    else:
        policy_weights_own(
            own[_PROBABILITY],
            own[_OLD],
            own[_ADVANTAGE],
            rows,
            policy.clip_range,
            policy.probability_floor,
            own[_WEIGHT],
        )
    for i in range(rows):
        policy.loss_total += (outputs[i, actions] - own[_TARGET, i]) ** 2 / rows
    loss_gradient(
        outputs,
        scratch.batch_taken,
        own[_WEIGHT],
        own[_TARGET],
        rows,
        policy.vf_coef,
        policy.ent_coef,
        gradient,
    )
    if policy.value_clip > 0.0:
        hold_clipped_values(outputs, own[_OLD_VALUE], own[_TARGET], rows, policy.value_clip, gradient)


@kernel
def kl_from_old(ppo: Any, rows: int) -> float:
    """How far the policy has moved since before the epochs, on the minibatch that was last differentiated."""
    own = ppo.scratch[0].batch_own
    return approximate_kl(own[_PROBABILITY], own[_OLD], rows)
