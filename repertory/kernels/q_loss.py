"""The loss of Q-learning: from the values of a batch and its targets to the gradient in the values.

Only the action taken has an error; the loss is the mean over the batch *and* over all actions, as in the paper's
code. It therefore is a number-of-actions-th of what libraries give that average over the batch alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import inlined, kernel
from repertory.kernels.network import argmax
from repertory.kernels.views import Matrix, Vector

_ZERO = np.float32(0.0)


@inlined
def note_best(q: Matrix, rows: int, best: NDArray[np.int64]) -> None:
    """The action of the largest value in each row."""
    for i in range(rows):
        best[i] = argmax(q, i, q.shape[1])


@kernel
def clip_all(numbers: Vector, count: int, low: np.float32, high: np.float32) -> None:
    """Move the first `count` numbers into [low, high]."""
    for i in range(count):
        numbers[i] = min(max(numbers[i], low), high)


@inlined
def squared_loss(
    q: Matrix, taken: NDArray[np.int64], targets: Vector, rows: int, gradient: Matrix, total: float
) -> float:
    """Gradient of the mean of (Q - target)^2; `total` with the loss added."""
    actions = q.shape[1]
    scale = np.float32(2.0) / np.float32(rows * actions)
    for i in range(rows):
        error = q[i, taken[i]] - targets[i]
        _set_row(gradient, i, taken[i], scale * error)
        total += 0.5 * scale * error * error
    return total


@kernel
def huber_loss(
    q: Matrix, taken: NDArray[np.int64], targets: Vector, rows: int, delta: np.float32, gradient: Matrix, total: float
) -> float:
    """The same for Huber's loss as in PyTorch: e^2 / 2 up to |e| = delta, and delta (|e| - delta / 2) from there."""
    actions = q.shape[1]
    scale = np.float32(1.0) / np.float32(rows * actions)
    for i in range(rows):
        error = q[i, taken[i]] - targets[i]
        slope = min(max(error, -delta), delta)
        _set_row(gradient, i, taken[i], scale * slope)
        total += scale * slope * (error - 0.5 * slope)
    return total


@inlined
def _set_row(gradient: Matrix, row: int, action: int, value: np.float32) -> None:
    """One entry of a row; the others are 0."""
    for a in range(gradient.shape[1]):
        gradient[row, a] = value if a == action else _ZERO
