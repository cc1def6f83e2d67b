"""Recurrent networks on windows of observations from outside."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.recurrent import (
    BatchOfWindows,
    RecurrentShape,
    count_window,
    forest_shape,
    window,
    window_forward,
)


def window_outputs(
    weights: NDArray[np.float32], shape: RecurrentShape, observations: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The network's outputs after each window; a single observation per row is a window of one."""
    windows = observations[:, None, :] if observations.ndim == 2 else observations
    rows, steps, inputs = windows.shape
    if inputs != shape.inputs:
        raise ValueError(f"observations have {inputs} features; this policy was built for {shape.inputs}")
    n = rows * steps
    batch = window(np.zeros(count_window(shape, n, rows, steps), np.float32), shape, n, rows, steps)
    batch.inputs[:] = windows.transpose(1, 0, 2).reshape(n, inputs)
    starts, forest = np.zeros(rows, np.int64), np.zeros(forest_shape(rows, steps), np.int64)
    window_forward(weights, shape, batch, BatchOfWindows(n, rows, steps, np.arange(n), starts, forest))
    return batch.outputs
