"""Gradient steps over flat float32 weight vectors, and what else moves or holds weights; each one pass over memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from repertory.kernels.compile import kernel
from repertory.kernels.product import dot, fused
from repertory.kernels.streams import Stream, uniform
from repertory.kernels.views import Vector

_ONE = np.float32(1.0)


@kernel
def adadelta(policy: Any, gradient: Vector) -> None:
    """AdaDelta (Zeiler, 2012) as in Keras and PyTorch, each element of the gradient first clipped to +-limit.

    v <- rho v + (1 - rho) g^2;  d = g sqrt((u + eps) / (v + eps));  u <- rho u + (1 - rho) d^2;  w <- w - rate d

    w, v and u are the policy's `weights`, `square_average` and `step_average`; rate, rho, eps and limit its
    `learning_rate`, `rho`, `optimizer_eps` and `max_grad_value`.

    Multiply-adds are fused: many of the averages are so small that a product on its own would be denormal, which
    costs the processor a hundred cycles.
    """
    weights, square_average, step_average = policy.weights, policy.square_average, policy.step_average
    # Read before the loop: for all that the compiler knows, writing a weight could change them.
    rate, rho, epsilon, limit = policy.learning_rate, policy.rho, policy.optimizer_eps, policy.max_grad_value
    taken = _ONE - rho
    for i in range(weights.size):
        g = min(max(gradient[i], -limit), limit)
        u = step_average[i]
        v = fused(rho, square_average[i], taken * g * g)
        # np.sqrt, not math.sqrt: only the former stays in float32 and vectorises
        step = g * np.sqrt((u + epsilon) / (v + epsilon))
        square_average[i] = v
        step_average[i] = fused(rho, u, taken * step * step)
        weights[i] = fused(-rate, step, weights[i])


@kernel
def adam(policy: Any, gradient: Vector, mean: Vector, square: Vector, learning_rate: np.float32) -> None:
    """Adam (Kingma and Ba, 2015) as in PyTorch, on the policy's `weights`; its `updates` count from 1.

    m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - rate m^ / (sqrt(v^) + eps), where m^ and v^ are m
    and v divided by 1 - b1^updates and 1 - b2^updates.
    """
    weights, beta_1, beta_2, epsilon = policy.weights, policy.adam_beta_1, policy.adam_beta_2, policy.adam_eps
    rate = np.float32(learning_rate / (1.0 - np.float64(beta_1) ** policy.updates))
    correction = np.float32(1.0 / np.sqrt(1.0 - np.float64(beta_2) ** policy.updates))
    for i in range(weights.size):
        g = gradient[i]
        m = beta_1 * mean[i] + (_ONE - beta_1) * g
        v = beta_2 * square[i] + (_ONE - beta_2) * g * g
        mean[i] = m
        square[i] = v
        weights[i] -= rate * m / (np.sqrt(v) * correction + epsilon)


@kernel
def clip_norm(gradient: Vector, limit: np.float32) -> None:
    """Scale the gradient down to the norm `limit` if it is longer, as PyTorch's `clip_grad_norm_` does."""
    norm = np.sqrt(dot(gradient, 0, gradient, 0, gradient.size))
    if norm > limit:
        scale = limit / (norm + np.float32(1e-6))
        for i in range(gradient.size):
            gradient[i] *= scale


@kernel
def clip_values(gradient: Vector, limit: np.float32) -> None:
    """Clip each element of the gradient to +-limit, as PyTorch's `clip_grad_value_` does."""
    for i in range(gradient.size):
        gradient[i] = min(max(gradient[i], -limit), limit)


@kernel
def move_towards(target: Vector, weights: Vector, share: np.float32) -> None:
    """target <- (1 - share) target + share weights (Polyak averaging)."""
    for i in range(target.size):
        target[i] = (_ONE - share) * target[i] + share * weights[i]


@kernel
def pull(gradient: Vector, weights: Vector, centre: Vector, stiffness: Vector) -> None:
    """Add the gradient of sum over i of stiffness_i / 2 (weight_i - centre_i)^2."""
    for i in range(gradient.size):
        gradient[i] += stiffness[i] * (weights[i] - centre[i])


@kernel
def mask(gradient: Vector, share: Vector) -> None:
    """Multiply each element of the gradient by its share, 0 or 1."""
    for i in range(gradient.size):
        gradient[i] *= share[i]


@kernel
def shrink_and_perturb(weights: Vector, limits: Vector, kept: np.float32, stream: Stream) -> None:
    """weights <- kept weights + (1 - kept) new ones, which are uniform in +-limits (Ash and Adams, 2020)."""
    for i in range(weights.size):
        new = limits[i] * np.float32(2.0 * uniform(stream) - 1.0)
        weights[i] = kept * weights[i] + (_ONE - kept) * new
