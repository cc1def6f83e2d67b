"""The feed-forward network of the paper: two hidden layers of rectified units and a linear head.

All weights live in one flat vector, so that an optimiser step, a target copy or a checkpoint is one pass over
one array; `shape` says how to look at it. Every product runs along contiguous memory: hidden matrices are stored
(inputs, outputs), the narrow head (outputs, inputs).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import kernel
from repertory.kernels.product import add_product, dot
from repertory.kernels.vector_math import LANES

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
    """Room for a batch on its way through the network, and for its gradient on the way back."""

    inputs: Matrix
    hidden_1: Matrix
    hidden_2: Matrix
    outputs: Matrix
    gradient_1: Matrix
    gradient_2: Matrix
    gradient_outputs: Matrix
    columns_1: Matrix
    columns_2: Matrix


def count_weights(shape: NetworkShape) -> int:
    n0, n1, n2, n3 = shape
    return n0 * n1 + n1 + n1 * n2 + n2 + n2 * n3 + n3


def count_activations(shape: NetworkShape, rows: int) -> int:
    """Room that a batch needs on its way, in floats."""
    n0, n1, n2, n3 = shape
    return rows * (n0 + 2 * n1 + 2 * n2 + 2 * n3) + LANES * (n1 + n2)


@kernel
def activations(room: Vector, shape: NetworkShape, rows: int) -> Activations:
    """Views of a vector of `count_activations` floats; the widest layers come first and stay on cache lines."""
    n0, n1, n2, n3 = shape
    a = rows * n1
    b = a + rows * n2
    c = b + rows * n1
    d = c + rows * n2
    e = d + n1 * LANES
    f = e + n2 * LANES
    g = f + rows * n0
    h = g + rows * n3
    return Activations(
        room[f:g].reshape(rows, n0),
        room[:a].reshape(rows, n1),
        room[a:b].reshape(rows, n2),
        room[g:h].reshape(rows, n3),
        room[b:c].reshape(rows, n1),
        room[c:d].reshape(rows, n2),
        room[h : h + rows * n3].reshape(rows, n3),
        room[d:e].reshape(n1, LANES),
        room[e:f].reshape(n2, LANES),
    )


def new_activations(shape: NetworkShape, rows: int) -> Activations:
    return activations(np.zeros(count_activations(shape, rows), np.float32), shape, rows)


def glorot_uniform(shape: NetworkShape, rng: np.random.Generator, heads: tuple[int, ...] | None = None) -> Vector:
    """Weights uniform in +-sqrt(6 / (inputs + outputs)) per layer, biases zero (Glorot and Bengio, 2010).

    `heads` says that the outputs are several layers side by side, such as an actor's and a critic's.
    """
    weights = np.zeros(count_weights(shape), np.float32)
    w1, _b1, w2, _b2, w3, _b3 = matrices(weights, shape)
    fill_glorot([w1, w2, *split_head(w3, heads)], rng)
    return weights


def split_head(head: Matrix, heads: tuple[int, ...] | None) -> list[Matrix]:
    """The layers that stand side by side in a head."""
    ends = np.cumsum(heads or (len(head),))
    return [head[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def fill_glorot(layers: list[Matrix], rng: np.random.Generator) -> None:
    for layer in layers:
        limit = np.sqrt(6.0 / sum(layer.shape))
        layer[:] = rng.uniform(-limit, limit, layer.shape)


@kernel
def network_shape(widths: NDArray[np.int64]) -> NetworkShape:
    return NetworkShape(widths[0], widths[1], widths[2], widths[3])


@kernel
def matrices(weights: Vector, shape: NetworkShape) -> tuple[Matrix, Vector, Matrix, Vector, Matrix, Vector]:
    """Views of the flat vector: matrix and bias of each layer; the head's matrix is (outputs, inputs)."""
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
        weights[d:e].reshape(n3, n2),
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
    head(batch.hidden_2, w3, b3, batch.outputs, rows)


@kernel
def backward(weights: Vector, shape: NetworkShape, batch: Activations, rows: int, gradient: Vector) -> None:
    """Gradient of the loss in all weights, given `batch.gradient_outputs`; follows a `forward` on the batch."""
    _w1, _b1, w2, _b2, w3, _b3 = matrices(weights, shape)
    g1, gb1, g2, gb2, g3, gb3 = matrices(gradient, shape)
    gradient[:] = _ZERO
    head_gradient(batch.hidden_2, batch.gradient_outputs, w3, g3, gb3, batch.gradient_2, rows)
    silence(batch.gradient_2, batch.hidden_2, rows)
    affine_gradient(batch.hidden_1, batch.gradient_2, g2, gb2, rows)
    input_gradient(batch.gradient_2, w2, batch.gradient_1, batch.columns_2, batch.columns_1, rows)
    silence(batch.gradient_1, batch.hidden_1, rows)
    affine_gradient(batch.inputs, batch.gradient_1, g1, gb1, rows)


@kernel
def affine(x: Matrix, w: Matrix, b: Vector, y: Matrix, rows: int) -> None:
    """y = x w + b."""
    inputs, outputs = w.shape
    for i in range(rows):
        for j in range(outputs):
            y[i, j] = b[j]
    add_product(y, outputs, x, inputs, 1, w, outputs, rows, outputs, inputs)


@kernel
def affine_gradient(x: Matrix, gradient_y: Matrix, gradient_w: Matrix, gradient_b: Vector, rows: int) -> None:
    """Add x^T gradient_y to gradient_w and the column sums of gradient_y to gradient_b."""
    inputs, outputs = gradient_w.shape
    for i in range(rows):
        for j in range(outputs):
            gradient_b[j] += gradient_y[i, j]
    add_product(gradient_w, outputs, x, 1, inputs, gradient_y, outputs, inputs, outputs, rows)


@kernel
def input_gradient(
    gradient_y: Matrix, w: Matrix, gradient_x: Matrix, columns_y: Matrix, columns_x: Matrix, rows: int
) -> None:
    """gradient_x = gradient_y w^T, by columns: sixteen rows of the batch stand side by side in a vector, so that w
    is read as it is stored."""
    inputs, outputs = w.shape
    for first in range(0, rows, LANES):
        count = min(LANES, rows - first)
        for j in range(outputs):
            for i in range(count):
                columns_y[j, i] = gradient_y[first + i, j]
        columns_x[:] = _ZERO
        add_product(columns_x, LANES, w, outputs, 1, columns_y, LANES, inputs, LANES, outputs)
        for i in range(count):
            for k in range(inputs):
                gradient_x[first + i, k] = columns_x[k, i]


@kernel
def head(x: Matrix, w: Matrix, b: Vector, y: Matrix, rows: int) -> None:
    """y = x w^T + b, for a w of few rows."""
    outputs, inputs = w.shape
    for i in range(rows):
        for j in range(outputs):
            y[i, j] = b[j] + dot(x, i * inputs, w, j * inputs, inputs)


@kernel
def head_gradient(
    x: Matrix, gradient_y: Matrix, w: Matrix, gradient_w: Matrix, gradient_b: Vector, gradient_x: Matrix, rows: int
) -> None:
    """Add the gradients of `head` in w and b; set gradient_x."""
    outputs, inputs = w.shape
    for i in range(rows):
        for j in range(outputs):
            gradient_b[j] += gradient_y[i, j]
    add_product(gradient_w, inputs, gradient_y, 1, outputs, x, inputs, outputs, inputs, rows)
    gradient_x[:rows] = _ZERO
    add_product(gradient_x, inputs, gradient_y, outputs, 1, w, inputs, rows, inputs, outputs)


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
def argmax(y: Matrix, row: int) -> int:
    """The place of the largest value in a row; the first of equals."""
    best = 0
    for j in range(1, y.shape[1]):
        if y[row, j] > y[row, best]:
            best = j
    return best
