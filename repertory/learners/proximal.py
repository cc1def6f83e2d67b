"""What PPO and its recurrent kin have in common: the epochs of an update, advantages, and the loss of a minibatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import network
from repertory.kernels.actor_critic import (
    approximate_kl,
    hold_clipped_values,
    loss_gradient,
    normalise,
    policy_weights_own,
    policy_weights_pairwise,
    sample,
    softmax_in_place,
)
from repertory.kernels.advantage import discounted_returns, generalised_advantages
from repertory.kernels.compile import kernel
from repertory.kernels.layout import Field
from repertory.kernels.optimisers import adam, clip_norm
from repertory.kernels.reward_range import REWARD_RANGE, note_reward
from repertory.kernels.streams import below
from repertory.kernels.views import Matrix


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


def make_acts(look: Callable[[Any, NDArray[np.float32]], Matrix]) -> tuple[Callable[..., int], Callable[..., int]]:
    """Acting by the policy, and greedily, of a policy that looks at the last observation alone: `look` returns logits
    of the actions, then the value, in its first row."""

    @kernel
    def act(ppo: Any, observation: NDArray[np.float32]) -> int:
        """An action drawn from the policy."""
        policy, outputs = ppo.policy[0], look(ppo, observation)
        actions = outputs.shape[1] - 1
        if policy.episode < policy.random_first_steps:
            return below(policy.stream, actions)
        softmax_in_place(outputs, 0, actions)
        return sample(outputs, 0, actions, policy.stream)

    @kernel
    def act_greedily(ppo: Any, observation: NDArray[np.float32]) -> int:
        outputs = look(ppo, observation)
        return network.argmax(outputs, 0, outputs.shape[1] - 1)

    return act, act_greedily


def make_observe(
    note_observations: Callable[[Any, NDArray[np.float32], NDArray[np.float32]], None],
    move_on: Callable[[Any, int], None],
    evaluate: Callable[[Any, bool], None],
    compute_gradient: Callable[[Any, int, int], None],
) -> Callable[..., None]:
    """The step and the epochs shared by PPO and its recurrent kin, around what tells them apart: where observations are
    written and what becomes of them once steps are learned from or left out, and the network passes."""

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
                adam(policy, scratch.gradient, policy.mean, policy.square, rate)

    @kernel
    def observe(
        ppo: Any,
        observation: NDArray[np.float32],
        action: int,
        reward: float,
        next_observation: NDArray[np.float32],
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Collect the step; update once enough are collected or the episode is over."""
        policy = ppo.policy[0]
        t = policy.collected
        note_reward(policy, reward)
        note_observations(ppo, observation, next_observation)
        policy.life += 1
        if policy.episode >= policy.random_first_steps:
            policy.actions[t] = action
            policy.rewards[t] = reward
            policy.collected += 1
            if terminated or truncated or policy.collected == policy.n_steps:
                update(ppo, terminated or (truncated and not policy.timeout_bootstraps))
                move_on(ppo, policy.collected)
                policy.collected = 0
        else:
            move_on(ppo, 1)
        policy.episode += 1

    return observe


@kernel
def note_outputs(ppo: Any, outputs: Matrix, first: int, rows: int) -> None:
    """What the network came to on the collected steps from `first` on: values, and probabilities of the actions taken.
    After the last step there is a value only."""
    policy, actions = ppo.policy[0], outputs.shape[1] - 1
    for i in range(rows):
        policy.values[first + i] = outputs[i, actions]
        if first + i < policy.collected:
            softmax_in_place(outputs, i, actions)
            policy.old[first + i] = outputs[i, policy.actions[first + i]]


@kernel
def estimate_advantages(ppo: Any, ended: bool) -> None:
    """Advantages and value targets of the collected steps, from `rewards` and `values`."""
    policy = ppo.policy[0]
    steps, gamma, lambda_ = policy.collected, policy.gamma, policy.gae_lambda
    final_value = np.float32(0.0) if ended else policy.values[steps]
    generalised_advantages(
        policy.rewards, policy.values, final_value, steps, gamma, lambda_, policy.discounts_delta, policy.advantages
    )
    if policy.learns_returns:
        discounted_returns(policy.rewards, final_value, steps, gamma, policy.targets)
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
    probabilities, weights = own[_PROBABILITY], own[_WEIGHT]
    clip_range, floor = policy.clip_range, policy.probability_floor
    if policy.pairwise:
        policy_weights_pairwise(probabilities, probabilities, own[_ADVANTAGE], rows, clip_range, floor, weights)
    else:
        policy_weights_own(probabilities, own[_OLD], own[_ADVANTAGE], rows, clip_range, floor, weights)
    for i in range(rows):
        policy.loss_total += (outputs[i, actions] - own[_TARGET, i]) ** 2 / rows
    loss_gradient(outputs, scratch.batch_taken, weights, own[_TARGET], rows, policy.vf_coef, policy.ent_coef, gradient)
    if policy.value_clip > 0.0:
        hold_clipped_values(outputs, own[_OLD_VALUE], own[_TARGET], rows, policy.value_clip, gradient)


@kernel
def kl_from_old(ppo: Any, rows: int) -> float:
    """How far the policy has moved since before the epochs, on the minibatch that was last differentiated."""
    own = ppo.scratch[0].batch_own
    return approximate_kl(own[_PROBABILITY], own[_OLD], rows)
