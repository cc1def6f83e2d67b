"""The feed-forward network of the paper: two hidden layers of rectified units and a linear head.

All weights live in one flat vector, so that an optimiser step, a target copy or a checkpoint is one pass over
one array; `shape` says how to look at it. Weight matrices are stored (inputs, outputs): the inner loop of a
product then runs along a row, which the compiler turns into vector instructions without reordering any sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import kernel

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
_ZERO = np.float32(0.0)


class NetworkShape(NamedTuple):
    """Widths of the layers."""

    inputs: int
    hidden_1: int
    hidden_2: int
    outputs: int


class Activations(NamedTuple):
    """Room for a batch on its way through the network, and for its gradient on the way back.

    The transposed weights make the backward products run along rows as the forward ones do.
    """

    inputs: Matrix
    hidden_1: Matrix
    hidden_2: Matrix
    outputs: Matrix
    gradient_1: Matrix
    gradient_2: Matrix
    gradient_outputs: Matrix
    transposed_2: Matrix
    transposed_3: Matrix


def count_weights(shape: NetworkShape) -> int:
    n0, n1, n2, n3 = shape
    return n0 * n1 + n1 + n1 * n2 + n2 + n2 * n3 + n3


def new_activations(shape: NetworkShape, batch_size: int) -> Activations:
    n0, n1, n2, n3 = shape
    widths = (n0, n1, n2, n3, n1, n2, n3)
    rows = (np.zeros((batch_size, width), np.float32) for width in widths)
    transposed = (np.zeros((n2, n1), np.float32), np.zeros((n3, n2), np.float32))
    return Activations._make([*rows, *transposed])


def glorot_uniform(shape: NetworkShape, rng: np.random.Generator) -> Vector:
    """Weights uniform in +-sqrt(6 / (inputs + outputs)) per layer, biases zero (Glorot and Bengio, 2010)."""
    weights = np.zeros(count_weights(shape), np.float32)
    for matrix in matrices(weights, shape)[::2]:
        limit = np.sqrt(6.0 / sum(matrix.shape))
        matrix[:] = rng.uniform(-limit, limit, matrix.shape)
    return weights


@kernel
def matrices(weights: Vector, shape: NetworkShape) -> tuple[Matrix, Vector, Matrix, Vector, Matrix, Vector]:
    """Views of the flat vector: matrix and bias of each layer."""
    n0, n1, n2, n3 = shape
    a = n0 * n1
    b = a + n1
    c = b + n1 * n2
    d = c + n2
    e = d + n2 * n3
    return (
        weights[:a].reshape(n0, n1),
        weights[a:b],
        weights[b:c].reshape(n1, n2),
        weights[c:d],
        weights[d:e].reshape(n2, n3),
        weights[e : e + n3],
    )


@kernel
def forward(weights: Vector, shape: NetworkShape, batch: Activations, rows: int) -> None:
    """Outputs of the first `rows` rows of `batch.inputs`."""
    w1, b1, w2, b2, w3, b3 = matrices(weights, shape)
    affine(batch.inputs, w1, b1, batch.hidden_1, rows)
    rectify(batch.hidden_1, rows)
    affine(batch.hidden_1, w2, b2, batch.hidden_2, rows)
    rectify(batch.hidden_2, rows)
    affine(batch.hidden_2, w3, b3, batch.outputs, rows)


@kernel
def backward(weights: Vector, shape: NetworkShape, batch: Activations, rows: int, gradient: Vector) -> None:
    """Gradient of the loss in all weights, given `batch.gradient_outputs`; follows a `forward` on the batch."""
    _w1, _b1, w2, _b2, w3, _b3 = matrices(weights, shape)
    g1, gb1, g2, gb2, g3, gb3 = matrices(gradient, shape)
    gradient[:] = _ZERO
    affine_gradient(batch.hidden_2, batch.gradient_outputs, g3, gb3, rows)
    transpose(w3, batch.transposed_3)
    multiply(batch.gradient_outputs, batch.transposed_3, batch.gradient_2, rows)
    silence(batch.gradient_2, batch.hidden_2, rows)
    affine_gradient(batch.hidden_1, batch.gradient_2, g2, gb2, rows)
    transpose(w2, batch.transposed_2)
    multiply(batch.gradient_2, batch.transposed_2, batch.gradient_1, rows)
    silence(batch.gradient_1, batch.hidden_1, rows)
    affine_gradient(batch.inputs, batch.gradient_1, g1, gb1, rows)


@kernel
def affine(x: Matrix, w: Matrix, b: Vector, y: Matrix, rows: int) -> None:
    """y = x w + b."""
    for i in range(rows):
        for j in range(b.size):
            y[i, j] = b[j]
    _add_product(x, w, y, rows)


@kernel
def multiply(x: Matrix, w: Matrix, y: Matrix, rows: int) -> None:
    """y = x w."""
    y[:rows] = _ZERO
    _add_product(x, w, y, rows)


@kernel
def _add_product(x: Matrix, w: Matrix, y: Matrix, rows: int) -> None:
    """y += x w: two rows and four inputs at a time, so that each weight is loaded once for two rows and each
    output once for four inputs."""
    inputs, outputs = w.shape
    whole = inputs - inputs % 4
    paired = rows - rows % 2
    for i in range(0, paired, 2):
        for k in range(0, whole, 4):
            x0, x1, x2, x3 = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            z0, z1, z2, z3 = x[i + 1, k], x[i + 1, k + 1], x[i + 1, k + 2], x[i + 1, k + 3]
            for j in range(outputs):
                w0, w1, w2, w3 = w[k, j], w[k + 1, j], w[k + 2, j], w[k + 3, j]
                y[i, j] = y[i, j] + x0 * w0 + x1 * w1 + x2 * w2 + x3 * w3
                y[i + 1, j] = y[i + 1, j] + z0 * w0 + z1 * w1 + z2 * w2 + z3 * w3
    for i in range(paired, rows):
        for k in range(0, whole, 4):
            x0, x1, x2, x3 = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            for j in range(outputs):
                y[i, j] = y[i, j] + x0 * w[k, j] + x1 * w[k + 1, j] + x2 * w[k + 2, j] + x3 * w[k + 3, j]
    for i in range(rows):
        for k in range(whole, inputs):
            x0 = x[i, k]
            for j in range(outputs):
                y[i, j] += x0 * w[k, j]


@kernel
def rectify(y: Matrix, rows: int) -> None:
    """y = max(y, 0)."""
    for i in range(rows):
        for j in range(y.shape[1]):
            y[i, j] = max(y[i, j], _ZERO)


@kernel
def silence(gradient: Matrix, rectified: Matrix, rows: int) -> None:
    """The gradient before a rectifier: zero where its output is."""
    for i in range(rows):
        for j in range(gradient.shape[1]):
            gradient[i, j] = gradient[i, j] if rectified[i, j] > _ZERO else _ZERO


@kernel
def affine_gradient(x: Matrix, gradient_y: Matrix, gradient_w: Matrix, gradient_b: Vector, rows: int) -> None:
    """Add x^T gradient_y to gradient_w and the column sums of gradient_y to gradient_b, two rows at a time."""
    inputs, outputs = gradient_w.shape
    paired = rows - rows % 2
    for i in range(rows):
        for j in range(outputs):
            gradient_b[j] += gradient_y[i, j]
    for i in range(0, paired, 2):
        for k in range(inputs):
            x0, x1 = x[i, k], x[i + 1, k]
            for j in range(outputs):
                gradient_w[k, j] = gradient_w[k, j] + x0 * gradient_y[i, j] + x1 * gradient_y[i + 1, j]
    for i in range(paired, rows):
        for k in range(inputs):
            x0 = x[i, k]
            for j in range(outputs):
                gradient_w[k, j] += x0 * gradient_y[i, j]


@kernel
def transpose(w: Matrix, transposed: Matrix) -> None:
    for k in range(w.shape[0]):
        for j in range(w.shape[1]):
            transposed[j, k] = w[k, j]
