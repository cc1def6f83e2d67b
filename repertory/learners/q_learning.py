"""What DQN and its recurrent kin have in common: the step, when it learns, and what it learns towards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import replay_cursor
from repertory.kernels.compile import kernel
from repertory.kernels.layout import Field
from repertory.kernels.optimisers import adadelta, adam, clip_values, move_towards
from repertory.kernels.q_loss import clip_all, huber_loss, squared_loss
from repertory.kernels.replay import draw_batch, held, store
from repertory.kernels.replay_slots import CUT_OFF, TERMINATED, WENT_ON, Replay, action_at, ending_at
from repertory.kernels.reward_range import REWARD_RANGE, note_reward, return_limits, return_unit
from repertory.kernels.views import Matrix


class Arrays(NamedTuple):
    """All that a policy is."""

    policy: NDArray[Any]
    """One element: `policy_fields` and what the network needs."""
    replay: Replay
    scratch: NDArray[Any]
    """One element, shared with the other policies: `scratch_fields` and what the network needs."""


def policy_fields(weights: int) -> list[Field]:
    """What a policy holds whatever its network.

    The optimizer has two averages: `square_average` of squared gradients and `step_average`, of AdaDelta's squared
    steps or, with Adam, of the gradients themselves.
    """
    vectors = ("weights", "target_weights", "square_average", "step_average")
    counts = ("life", "episode", "updates")
    starts = ("learning_starts", "least_held")  # steps of life, and experiences in memory, before the first update
    whole = ("batch_size", "train_freq", "target_update_interval", "random_first_steps", *starts)
    real = ("learning_rate", "rho", "optimizer_eps", "max_grad_value", "gamma", "low", "high")
    adam = ("adam_beta_1", "adam_beta_2", "adam_eps")
    choices = ("timeout_bootstraps", "bounds_target", "bound_from_rewards", "double_q", "uses_huber", "uses_adam")
    return [
        *((name, np.float32, (weights,)) for name in vectors),
        ("stream", np.uint64, (4,)),
        ("cursor", np.int64, (replay_cursor.SIZE,)),
        ("shape", np.int64, (4,)),
        *((name, np.int64, ()) for name in (*counts, *whole)),
        *((name, np.float32, ()) for name in (*real, *adam, "tau", "target_limit", "huber_delta")),
        *REWARD_RANGE,
        *((name, np.float64, ()) for name in ("exploration_rate", "loss_total")),
        *((name, np.bool_, ()) for name in (*choices, "normalize_returns")),
    ]


def scratch_fields(weights: int, batch_size: int) -> list[Field]:
    """What a kernel needs while it runs, whatever the network."""
    return [
        ("gradient", np.float32, (weights,)),
        *((name, np.int64, (batch_size,)) for name in ("drawn", "taken", "best_next")),
        ("targets", np.float32, (batch_size,)),
    ]


@kernel
def note_nothing(dqn: Any, observation: NDArray[np.float32]) -> None:
    """A policy that does not look back."""


@kernel
def forget_nothing(dqn: Any) -> None:
    """Nothing that a policy found with its former weights."""


def make_observe(
    compute_gradient: Callable[[Any], None],
    note_observation: Callable[[Any, NDArray[np.float32]], None] = note_nothing,
    weights_changed: Callable[[Any], None] = forget_nothing,
) -> Callable[..., None]:
    """The step shared by DQN and its recurrent kin, around what tells them apart: the gradient, what is kept of an
    observation to look back on, and what is void after an update."""

    @kernel
    def update(dqn: Any) -> None:
        """One gradient step on the experiences in `drawn`."""
        policy, gradient = dqn.policy[0], dqn.scratch[0].gradient
        compute_gradient(dqn)
        policy.updates += 1
        if policy.uses_adam:
            clip_values(gradient, policy.max_grad_value)
            adam(policy, gradient, policy.step_average, policy.square_average, policy.learning_rate)
        else:
            adadelta(policy, gradient)
        weights_changed(dqn)

    @kernel
    def observe(
        dqn: Any,
        observation: NDArray[np.float32],
        action: int,
        reward: float,
        next_observation: NDArray[np.float32],
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Store the step; every `train_freq` steps update; every `target_update_interval` copy the target."""
        policy = dqn.policy[0]
        note_observation(dqn, observation)
        note_reward(policy, reward)
        ending = WENT_ON
        if terminated or (truncated and not policy.timeout_bootstraps):
            ending = TERMINATED
        elif truncated:
            ending = CUT_OFF
        store(dqn.replay, policy.cursor, policy.stream, observation, action, reward, next_observation, ending)
        policy.life += 1
        policy.episode += 1
        ready = policy.life >= policy.learning_starts and held(policy.cursor) >= policy.least_held
        if ready and policy.life % policy.train_freq == 0:
            draw_batch(dqn.replay, policy.cursor, policy.stream, dqn.scratch[0].drawn)
            update(dqn)
        if policy.life % policy.target_update_interval == 0:
            if policy.tau == np.float32(1.0):
                policy.target_weights[:] = policy.weights
            else:
                move_towards(policy.target_weights, policy.weights, policy.tau)

    return observe


@kernel
def temporal_differences(dqn: Any, q_t: Matrix, target_q_t1: Matrix, gradient: Matrix) -> None:
    """Gradient of the loss in q_t, where the next state is worth `target_q_t1` of the actions `best_next`.

    With a bound, targets are clipped first. The loss itself is added to `loss_total`.
    """
    policy, scratch, replay = dqn.policy[0], dqn.scratch[0], dqn.replay
    rows, taken, targets = policy.batch_size, dqn.scratch[0].taken, dqn.scratch[0].targets
    unit = return_unit(policy)
    for i in range(rows):
        slot = scratch.drawn[i]
        target_t = np.float32(replay.slots[slot].reward) * unit
        if ending_at(replay, slot) != TERMINATED:
            target_t += policy.gamma * target_q_t1[i, scratch.best_next[i]]
        targets[i] = target_t
        taken[i] = action_at(replay, slot)
    if policy.bounds_target:
        low, high = -policy.target_limit, policy.target_limit
        if policy.bound_from_rewards:
            low, high = return_limits(policy)
        clip_all(targets, rows, low * unit, high * unit)
    if policy.uses_huber:
        policy.loss_total = huber_loss(q_t, taken, targets, rows, policy.huber_delta, gradient, policy.loss_total)
    else:
        policy.loss_total = squared_loss(q_t, taken, targets, rows, gradient, policy.loss_total)
