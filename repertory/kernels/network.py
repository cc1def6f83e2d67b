"""The feed-forward network of the paper: two hidden layers of rectified units and a linear head.

All weights live in one flat vector, so that an optimiser step, a target copy or a checkpoint is one pass over
one array; `shape` says how to look at it. Every product runs along contiguous memory: hidden matrices are stored
(inputs, outputs), the narrow head (outputs, inputs).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import in_both, inlined, kernel
from repertory.kernels.product import dot, rectified_affine, set_product
from repertory.kernels.transpose import transpose
from repertory.kernels.views import Matrix, Shapes, Vector, cut, room_for

_ZERO = np.float32(0.0)


class NetworkShape(NamedTuple):
    """Widths of the layers."""

    inputs: int
    hidden_1: int
    hidden_2: int
    outputs: int


class Activations(NamedTuple):
    """Room for a batch on its way through the network, and for its gradient on the way back, as it lies in memory: the
    widest layers come first and stay on cache lines."""

    hidden_1: Matrix
    hidden_2: Matrix
    gradient_1: Matrix
    gradient_2: Matrix
    transposed: Matrix
    """Room for the second layer's matrix turned round."""
    inputs: Matrix
    outputs: Matrix
    gradient_outputs: Matrix


@in_both
def weight_shapes(shape: NetworkShape) -> Shapes:
    """Matrix and bias of each layer; the head's matrix is (outputs, inputs)."""
    n0, n1, n2, n3 = shape
    return (n0, n1), (n1,), (n1, n2), (n2,), (n3, n2), (n3,)


@in_both
def activation_shapes(shape: NetworkShape, rows: int) -> Shapes:
    n0, n1, n2, n3 = shape
    return (rows, n1), (rows, n2), (rows, n1), (rows, n2), (n2, n1), (rows, n0), (rows, n3), (rows, n3)


def count_weights(shape: NetworkShape) -> int:
    return room_for(weight_shapes(shape))


def count_activations(shape: NetworkShape, rows: int) -> int:
    """Room that a batch needs on its way, in floats."""
    return room_for(activation_shapes(shape, rows))


@in_both
def matrices(weights: Vector, shape: NetworkShape) -> tuple[Any, ...]:
    """Views of the flat vector, as `weight_shapes` has them."""
    return cut(weights, weight_shapes(shape))


@in_both
def activations(room: Vector, shape: NetworkShape, rows: int) -> Activations:
    """Views of a vector of `count_activations` floats."""
    return Activations(*cut(room, activation_shapes(shape, rows)))


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


def glorot_limits(shape: NetworkShape, heads: tuple[int, ...] | None = None) -> Vector:
    """How far from 0 `glorot_uniform` draws each weight."""
    limits = np.zeros(count_weights(shape), np.float32)
    w1, _b1, w2, _b2, w3, _b3 = matrices(limits, shape)
    for layer in (w1, w2, *split_head(w3, heads)):
        layer[:] = np.sqrt(6.0 / sum(layer.shape))
    return limits


def split_head(head: Matrix, heads: tuple[int, ...] | None) -> list[Matrix]:
    """The layers that stand side by side in a head."""
    ends = np.cumsum(heads or (len(head),))
    return [head[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def fill_glorot(layers: list[Matrix], rng: np.random.Generator) -> None:
    for layer in layers:
        limit = np.sqrt(6.0 / sum(layer.shape))
        layer[:] = rng.uniform(-limit, limit, layer.shape)


@inlined
def shape_of(widths: NDArray[np.int64]) -> NetworkShape:
    return NetworkShape(widths[0], widths[1], widths[2], widths[3])


@kernel
def forward(weights: Vector, shape: NetworkShape, batch: Activations, rows: int) -> None:
    """Outputs of the first `rows` rows of `batch.inputs`."""
    w1, b1, w2, b2, w3, b3 = matrices(weights, shape)
    rectified_affine(batch.inputs, w1, b1, batch.hidden_1, rows)
    rectified_affine(batch.hidden_1, w2, b2, batch.hidden_2, rows)
    head(batch.hidden_2, w3, b3, batch.outputs, rows)


@kernel
def backward(weights: Vector, shape: NetworkShape, batch: Activations, rows: int, gradient: Vector) -> None:
    """Gradient of the loss in all weights, given `batch.gradient_outputs`; follows a `forward` on the batch."""
    _w1, _b1, w2, _b2, w3, _b3 = matrices(weights, shape)
    g1, gb1, g2, gb2, g3, gb3 = matrices(gradient, shape)
    head_gradient(batch.hidden_2, batch.gradient_outputs, w3, g3, gb3, batch.gradient_2, rows)
    silence(batch.gradient_2, batch.hidden_2, rows)
    affine_gradient(batch.hidden_1, batch.gradient_2, g2, gb2, rows)
    input_gradient(batch.gradient_2, w2, batch.gradient_1, batch.transposed, rows)
    silence(batch.gradient_1, batch.hidden_1, rows)
    affine_gradient(batch.inputs, batch.gradient_1, g1, gb1, rows)


@kernel
def affine_gradient(x: Matrix, gradient_y: Matrix, gradient_w: Matrix, gradient_b: Vector, rows: int) -> None:
    """gradient_w = x^T gradient_y; gradient_b = the column sums of gradient_y."""
    inputs, outputs = gradient_w.shape
    sum_columns(gradient_y, gradient_b, rows)
    set_product(gradient_w, outputs, x, 1, inputs, gradient_y, outputs, inputs, outputs, rows)


@kernel
def input_gradient(gradient_y: Matrix, w: Matrix, gradient_x: Matrix, transposed: Matrix, rows: int) -> None:
    """gradient_x = gradient_y w^T. Turning w round first makes it a product along contiguous memory."""
    inputs, outputs = w.shape
    transpose(w, transposed)
    set_product(gradient_x, inputs, gradient_y, outputs, 1, transposed, inputs, rows, inputs, outputs)


@inlined
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
    """The gradients of `head` in w, b and x."""
    outputs, inputs = w.shape
    sum_columns(gradient_y, gradient_b, rows)
    set_product(gradient_w, inputs, gradient_y, 1, outputs, x, inputs, outputs, inputs, rows)
    set_product(gradient_x, inputs, gradient_y, outputs, 1, w, inputs, rows, inputs, outputs)


@inlined
def sum_columns(y: Matrix, sums: Vector, rows: int) -> None:
    sums[:] = _ZERO
    for i in range(rows):
        for j in range(sums.size):
            sums[j] += y[i, j]


@inlined
def silence(gradient: Matrix, rectified: Matrix, rows: int) -> None:
    """The gradient before a rectifier: zero where its output is."""
    for i in range(rows):
        for j in range(gradient.shape[1]):
            gradient[i, j] = gradient[i, j] if rectified[i, j] > _ZERO else _ZERO


@inlined
def argmax(y: Matrix, row: int, columns: int) -> int:
    """The place of the largest of the first values in a row; the first of equals."""
    best = 0
    for j in range(1, columns):
        if y[row, j] > y[row, best]:
            best = j
    return best
