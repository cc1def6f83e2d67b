"""The network of `network` for several tasks: told the task by a one-hot input, with an output layer for each, or both.

The weights lie as those of one network with an input more for each task and the output layers of all tasks one below
the other: its `shape`. A batch is that of a network without either. Each of its rows has a task and meets only what is
this task's: a one-hot input times a matrix is a row of the matrix, and of the output layers one is computed. So the
number of tasks costs memory, and hardly any time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import network
from repertory.kernels.compile import inlined, kernel
from repertory.kernels.network import Activations, NetworkShape
from repertory.kernels.product import dot, rectified_add_product, rectified_affine, set_product
from repertory.kernels.views import Matrix, Vector

_ZERO = np.float32(0.0)

Tasks = NDArray[np.int64]
"""The task of each row."""


@kernel
def forward(weights: Vector, shape: NetworkShape, batch: Activations, rows: int, tasks: Tasks) -> None:
    """Outputs of the first `rows` rows of `batch.inputs`."""
    w1, b1, w2, b2, w3, b3 = network.matrices(weights, shape)
    features, outputs = batch.inputs.shape[1], batch.outputs.shape[1]
    is_told, has_heads = shape.inputs > features, shape.outputs > outputs
    for i in range(rows):
        if is_told:
            code = features + tasks[i]
            for j in range(shape.hidden_1):
                batch.hidden_1[i, j] = b1[j] + w1[code, j]
        else:
            for j in range(shape.hidden_1):
                batch.hidden_1[i, j] = b1[j]
    rectified_add_product(batch.hidden_1, batch.inputs, w1, rows)
    rectified_affine(batch.hidden_1, w2, b2, batch.hidden_2, rows)
    width = shape.hidden_2
    for i in range(rows):
        first = tasks[i] * outputs if has_heads else 0
        for j in range(outputs):
            batch.outputs[i, j] = b3[first + j] + dot(batch.hidden_2, i * width, w3, (first + j) * width, width)


@kernel
def backward(
    weights: Vector, shape: NetworkShape, batch: Activations, rows: int, tasks: Tasks, gradient: Vector
) -> None:
    """Gradient of the loss in all weights, given `batch.gradient_outputs`; follows a `forward` on the batch."""
    _w1, _b1, w2, _b2, w3, _b3 = network.matrices(weights, shape)
    g1, gb1, g2, gb2, g3, gb3 = network.matrices(gradient, shape)
    features, width = batch.inputs.shape[1], shape.hidden_1
    if shape.outputs > batch.outputs.shape[1]:
        heads_gradient(batch, w3, g3, gb3, rows, tasks)
    else:
        network.head_gradient(batch.hidden_2, batch.gradient_outputs, w3, g3, gb3, batch.gradient_2, rows)
    network.silence(batch.gradient_2, batch.hidden_2, rows)
    network.affine_gradient(batch.hidden_1, batch.gradient_2, g2, gb2, rows)
    network.input_gradient(batch.gradient_2, w2, batch.gradient_1, batch.transposed, rows)
    network.silence(batch.gradient_1, batch.hidden_1, rows)
    network.sum_columns(batch.gradient_1, gb1, rows)
    set_product(g1, width, batch.inputs, 1, features, batch.gradient_1, width, features, width, rows)
    if shape.inputs > features:
        code_gradient(batch.gradient_1, g1, features, rows, tasks)


@inlined
def heads_gradient(
    batch: Activations, w: Matrix, gradient_w: Matrix, gradient_b: Vector, rows: int, tasks: Tasks
) -> None:
    """The gradients of the output layers; those of tasks without a row are zero."""
    x, gradient_x, gradient_y = batch.hidden_2, batch.gradient_2, batch.gradient_outputs
    outputs, width = gradient_y.shape[1], x.shape[1]
    gradient_w[:] = _ZERO
    gradient_b[:] = _ZERO
    for i in range(rows):
        for k in range(width):
            gradient_x[i, k] = _ZERO
        for j in range(outputs):
            y, slope = tasks[i] * outputs + j, gradient_y[i, j]
            gradient_b[y] += slope
            for k in range(width):
                gradient_w[y, k] += slope * x[i, k]
                gradient_x[i, k] += slope * w[y, k]


@inlined
def code_gradient(gradient_y: Matrix, gradient_w: Matrix, features: int, rows: int, tasks: Tasks) -> None:
    """The gradient of the rows that stand for tasks."""
    for i in range(features, gradient_w.shape[0]):
        for j in range(gradient_w.shape[1]):
            gradient_w[i, j] = _ZERO
    for i in range(rows):
        code = features + tasks[i]  # before the loop: for all that the compiler knows, writing could change it
        for j in range(gradient_w.shape[1]):
            gradient_w[code, j] += gradient_y[i, j]
