"""The recurrent network of the paper: a rectified layer, an LSTM over a window of observations, and a linear head on
its last output.

Windows overlap, so each observation goes through the rectified layer and into the gates once, however many windows
and steps it stands in: `places` says which observation is step t of window i, at t * rows + i. The products over all
observations at once are large; only the recurrent one runs step by step. A window that starts late, because its
episode did, has a zero state until its first observation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import in_both, inlined, kernel
from repertory.kernels.lstm_cell import cell_backward, cell_forward
from repertory.kernels.network import affine_gradient, fill_glorot, head, head_gradient, silence, split_head
from repertory.kernels.product import add_product, affine, rectified_affine, set_product
from repertory.kernels.transpose import transpose
from repertory.kernels.views import matrix_view, vector_view

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
_ZERO = np.float32(0.0)


class RecurrentShape(NamedTuple):
    """Widths of the layers."""

    inputs: int
    dense: int
    units: int
    outputs: int


class Window(NamedTuple):
    """Room for a batch of windows on its way through the network."""

    inputs: Matrix
    """The observations, each once."""
    dense: Matrix
    input_gates: Matrix
    gates: Matrix
    cells: Matrix
    """One step longer than the window: the zero state comes first."""
    tanh_cells: Matrix
    hidden: Matrix
    outputs: Matrix


class WindowGradient(NamedTuple):
    """Room for the way back."""

    outputs: Matrix
    gates: Matrix
    input_gates: Matrix
    dense: Matrix
    hidden: Matrix
    cells: Matrix
    transposed_input: Matrix
    transposed_recurrent: Matrix


class BatchOfWindows(NamedTuple):
    """How windows are made of observations."""

    observations: int
    rows: int
    steps: int
    places: NDArray[np.int64]
    """Which observation is step t of window i, at t * rows + i."""
    starts: NDArray[np.int64]
    """The first step of each window."""


def count_recurrent_weights(shape: RecurrentShape) -> int:
    n0, n1, u, n3 = shape
    return n0 * n1 + n1 + n1 * 4 * u + u * 4 * u + 4 * u + u * n3 + n3


def count_window(shape: RecurrentShape, observations: int, rows: int, steps: int) -> int:
    """Room that a batch of windows needs, in floats."""
    n0, n1, u, n3 = shape
    return observations * (n0 + n1 + 4 * u) + rows * steps * 5 * u + 2 * rows * (steps + 1) * u + rows * n3


def count_window_gradient(shape: RecurrentShape, observations: int, rows: int, steps: int) -> int:
    _n0, n1, u, n3 = shape
    return observations * (4 * u + n1) + rows * steps * 4 * u + 2 * rows * u + rows * n3 + 4 * u * (n1 + u)


@inlined
def recurrent_shape(widths: NDArray[np.int64]) -> RecurrentShape:
    return RecurrentShape(widths[0], widths[1], widths[2], widths[3])


@in_both
def window(room: Vector, shape: RecurrentShape, observations: int, rows: int, steps: int) -> Window:
    """Views of a vector of `count_window` floats."""
    n0, n1, u, n3 = shape
    n = rows * steps
    a = n * 4 * u
    b = a + observations * 4 * u
    c = b + observations * n1
    d = c + (n + rows) * u
    e = d + n * u
    f = e + (n + rows) * u
    g = f + observations * n0
    return Window(
        inputs=matrix_view(room, f, observations, n0),
        dense=matrix_view(room, b, observations, n1),
        input_gates=matrix_view(room, a, observations, 4 * u),
        gates=matrix_view(room, 0, n, 4 * u),
        cells=matrix_view(room, c, n + rows, u),
        tanh_cells=matrix_view(room, d, n, u),
        hidden=matrix_view(room, e, n + rows, u),
        outputs=matrix_view(room, g, rows, n3),
    )


@in_both
def window_gradient(room: Vector, shape: RecurrentShape, observations: int, rows: int, steps: int) -> WindowGradient:
    """Views of a vector of `count_window_gradient` floats."""
    _n0, n1, u, n3 = shape
    n = rows * steps
    a = n * 4 * u
    b = a + observations * 4 * u
    c = b + observations * n1
    d = c + rows * u
    e = d + rows * u
    f = e + 4 * u * n1
    g = f + 4 * u * u
    return WindowGradient(
        outputs=matrix_view(room, g, rows, n3),
        gates=matrix_view(room, 0, n, 4 * u),
        input_gates=matrix_view(room, a, observations, 4 * u),
        dense=matrix_view(room, b, observations, n1),
        hidden=matrix_view(room, c, rows, u),
        cells=matrix_view(room, d, rows, u),
        transposed_input=matrix_view(room, e, 4 * u, n1),
        transposed_recurrent=matrix_view(room, f, 4 * u, u),
    )


@in_both
def recurrent_matrices(
    weights: Vector, shape: RecurrentShape
) -> tuple[Matrix, Vector, Matrix, Matrix, Vector, Matrix, Vector]:
    """Views of the flat vector: dense layer, LSTM's input and recurrent matrices and bias, head (outputs, units)."""
    n0, n1, u, n3 = shape
    a = n0 * n1
    b = a + n1
    c = b + n1 * 4 * u
    d = c + u * 4 * u
    e = d + 4 * u
    f = e + u * n3
    return (
        matrix_view(weights, 0, n0, n1),
        vector_view(weights, a, n1),
        matrix_view(weights, b, n1, 4 * u),
        matrix_view(weights, c, u, 4 * u),
        vector_view(weights, d, 4 * u),
        matrix_view(weights, e, n3, u),
        vector_view(weights, f, n3),
    )


def initial_recurrent_weights(
    shape: RecurrentShape, rng: np.random.Generator, heads: tuple[int, ...] | None = None
) -> Vector:
    """As in Keras: Glorot-uniform matrices, an orthogonal recurrent one, a forget bias of 1, other biases 0."""
    weights = np.zeros(count_recurrent_weights(shape), np.float32)
    w1, _b1, w, r, b, w3, _b3 = recurrent_matrices(weights, shape)
    fill_glorot([w1, w, *split_head(w3, heads)], rng)
    orthogonal, triangular = np.linalg.qr(rng.normal(size=(4 * shape.units, shape.units)))
    r[:] = (orthogonal * np.sign(np.diag(triangular))).T
    b[shape.units : 2 * shape.units] = 1.0
    return weights


@inlined
def rows_view(matrix: Matrix, first: int, rows: int) -> Matrix:
    """Some rows of a matrix."""
    return matrix_view(matrix, first * matrix.shape[1], rows, matrix.shape[1])


@kernel
def window_forward(weights: Vector, shape: RecurrentShape, batch: Window, made: BatchOfWindows) -> None:
    """Outputs of windows made of the observations in `batch.inputs`."""
    embed(weights, shape, batch.inputs, batch.dense, batch.input_gates, made.observations)
    run_windows(weights, shape, batch.input_gates, batch, made)


@kernel
def embed(
    weights: Vector, shape: RecurrentShape, inputs: Matrix, dense: Matrix, input_gates: Matrix, observations: int
) -> None:
    """From observations to what they bring to the gates: all that does not depend on the hidden state."""
    w1, b1, w, _r, b, _w3, _b3 = recurrent_matrices(weights, shape)
    rectified_affine(inputs, w1, b1, dense, observations)
    affine(dense, w, b, input_gates, observations)


@kernel
def run_windows(
    weights: Vector, shape: RecurrentShape, input_gates: Matrix, batch: Window, made: BatchOfWindows
) -> None:
    """Outputs of windows made of observations that have been through `embed`."""
    _w1, _b1, _w, r, _b, w3, b3 = recurrent_matrices(weights, shape)
    units, rows, steps = shape.units, made.rows, made.steps
    batch.cells[:rows] = _ZERO
    batch.hidden[:rows] = _ZERO
    for t in range(steps):
        here, after = t * rows, (t + 1) * rows
        for i in range(rows):
            place = made.places[here + i]
            for j in range(4 * units):
                batch.gates[here + i, j] = input_gates[place, j]
        if t > 0:
            gates, before = rows_view(batch.gates, here, rows), rows_view(batch.hidden, here, rows)
            add_product(gates, 4 * units, before, units, 1, r, 4 * units, rows, 4 * units, units)
        for i in range(rows):
            if t >= made.starts[i]:
                cell_forward(
                    batch.gates, (here + i) * 4 * units, batch.cells, (here + i) * units, (after + i) * units,
                    batch.tanh_cells, (here + i) * units, batch.hidden, (after + i) * units, units,
                )  # fmt: skip
            else:
                batch.cells[after + i] = _ZERO
                batch.hidden[after + i] = _ZERO
    last = steps * rows
    head(rows_view(batch.hidden, last, rows), w3, b3, batch.outputs, rows)


@kernel
def window_backward(
    weights: Vector,
    shape: RecurrentShape,
    batch: Window,
    made: BatchOfWindows,
    way_back: WindowGradient,
    gradient: Vector,
) -> None:
    """Gradient of the loss in all weights, given `way_back.outputs`; follows a `window_forward` on the batch."""
    _w1, _b1, w, r, _b, w3, _b3 = recurrent_matrices(weights, shape)
    g1, gb1, g, gr, gb, g3, gb3 = recurrent_matrices(gradient, shape)
    units, rows, steps = shape.units, made.rows, made.steps
    last = steps * rows
    transpose(w, way_back.transposed_input)
    transpose(r, way_back.transposed_recurrent)
    head_gradient(rows_view(batch.hidden, last, rows), way_back.outputs, w3, g3, gb3, way_back.hidden, rows)
    way_back.cells[:rows] = _ZERO
    way_back.input_gates[: made.observations] = _ZERO
    for t in range(steps - 1, -1, -1):
        here = t * rows
        for i in range(rows):
            if t >= made.starts[i]:
                cell_backward(
                    batch.gates, (here + i) * 4 * units, batch.cells, (here + i) * units,
                    batch.tanh_cells, (here + i) * units, way_back.hidden, i * units, way_back.cells, i * units,
                    way_back.gates, (here + i) * 4 * units, units,
                )  # fmt: skip
                place = made.places[here + i]
                for j in range(4 * units):
                    way_back.input_gates[place, j] += way_back.gates[here + i, j]
            else:
                way_back.gates[here + i] = _ZERO
        if t > 0:
            set_product(
                way_back.hidden, units, rows_view(way_back.gates, here, rows), 4 * units, 1,
                way_back.transposed_recurrent, units, rows, units, 4 * units,
            )  # fmt: skip
    # What followed from step t went in with the hidden state of step t - 1, which stands in row t.
    set_product(gr, 4 * units, batch.hidden, 1, units, way_back.gates, 4 * units, units, 4 * units, last)
    affine_gradient(batch.dense, way_back.input_gates, g, gb, made.observations)
    set_product(
        way_back.dense, shape.dense, way_back.input_gates, 4 * units, 1, way_back.transposed_input, shape.dense,
        made.observations, shape.dense, 4 * units,
    )  # fmt: skip
    silence(way_back.dense, batch.dense, made.observations)
    affine_gradient(batch.inputs, way_back.dense, g1, gb1, made.observations)


@kernel
def index_distinct(observations: Matrix, count: int, places: NDArray[np.int64], checksums: NDArray[np.float64]) -> int:
    """Keep equal observations once: compact the first `count` rows in place, put the new row of each into `places`,
    and return how many are left. A row whose place is below 0 holds no observation.

    In a small world most observations of a batch are equal, and the widest products shrink with them.
    """
    kept = 0
    for row in range(count):
        if places[row] < 0:
            places[row] = 0
            continue
        checksum = 0.0
        for k in range(observations.shape[1]):
            checksum = 1.6180339887 * checksum + observations[row, k]
        place = 0
        while place < kept and not (checksums[place] == checksum and _same(observations, place, row)):
            place += 1
        if place == kept:
            checksums[kept] = checksum
            for k in range(observations.shape[1]):
                observations[kept, k] = observations[row, k]
            kept += 1
        places[row] = place
    return kept


@kernel
def _same(observations: Matrix, one: int, other: int) -> bool:
    k = 0
    while k < observations.shape[1] and observations[one, k] == observations[other, k]:
        k += 1
    return k == observations.shape[1]
