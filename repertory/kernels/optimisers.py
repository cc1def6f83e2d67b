"""Gradient steps over flat float32 weight vectors, each one pass over memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import kernel

Vector = NDArray[np.float32]
_ONE = np.float32(1.0)


@kernel
def adadelta(
    weights: Vector,
    gradient: Vector,
    square_average: Vector,
    step_average: Vector,
    learning_rate: np.float32,
    rho: np.float32,
    epsilon: np.float32,
    max_grad_value: np.float32,
) -> None:
    """AdaDelta (Zeiler, 2012) as in Keras and PyTorch, each element of the gradient first clipped to +-limit.

    v <- rho v + (1 - rho) g^2;  d = g sqrt((u + eps) / (v + eps));  u <- rho u + (1 - rho) d^2;  w <- w - rate d
    """
    for i in range(weights.size):
        g = min(max(gradient[i], -max_grad_value), max_grad_value)
        v = rho * square_average[i] + (_ONE - rho) * g * g
        # np.sqrt, not math.sqrt: only the former stays in float32 and vectorises
        step = g * np.sqrt((step_average[i] + epsilon) / (v + epsilon))
        square_average[i] = v
        step_average[i] = rho * step_average[i] + (_ONE - rho) * step * step
        weights[i] -= learning_rate * step
