"""The recurrent network of the paper: a rectified layer, an LSTM over a window of observations, and a linear head on
its last output.

Windows overlap, so each observation goes through the rectified layer and into the gates once, however many windows
and steps it stands in: `places` says which observation is step t of window i, at t * rows + i. The products over all
observations at once are large; only the recurrent one runs step by step. A window that starts late, because its
episode did, has a zero state until its first observation.

Windows that begin with the same observations are in the same state as long as they go on alike. So the steps of all
windows form a forest: a *node* is a step of one or more windows, its parent the step before. In a small world that
spares a fifth of the recurrent products; what is not alike costs nothing more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import in_both, inlined, kernel
from repertory.kernels.lstm_cell import cell_backward, cell_forward
from repertory.kernels.network import affine_gradient, fill_glorot, head, head_gradient, silence, split_head
from repertory.kernels.product import add_product, affine, rectified_affine, set_product
from repertory.kernels.transpose import transpose
from repertory.kernels.views import Matrix, Shapes, Vector, cut, room_for, rows_view

_ZERO = np.float32(0.0)


class RecurrentShape(NamedTuple):
    """Widths of the layers."""

    inputs: int
    dense: int
    units: int
    outputs: int


class Window(NamedTuple):
    """Room for a batch of windows on its way through the network, as it lies in memory."""

    gates: Matrix
    """Of each node."""
    input_gates: Matrix
    dense: Matrix
    cells: Matrix
    """Of each node, as are the next three. One longer: the zero state comes first, so a node's is in row node + 1."""
    tanh_cells: Matrix
    hidden_before: Matrix
    """The parent's hidden state."""
    hidden: Matrix
    inputs: Matrix
    """The observations, each once."""
    outputs: Matrix


class WindowGradient(NamedTuple):
    """Room for the way back, as it lies in memory."""

    gates: Matrix
    input_gates: Matrix
    dense: Matrix
    hidden: Matrix
    """One longer than there are nodes, as are the cells: what reaches the zero state comes first."""
    cells: Matrix
    hidden_before: Matrix
    transposed_input: Matrix
    transposed_recurrent: Matrix
    outputs: Matrix


class BatchOfWindows(NamedTuple):
    """How windows are made of observations."""

    observations: int
    rows: int
    steps: int
    places: NDArray[np.int64]
    """Which observation is step t of window i, at t * rows + i."""
    starts: NDArray[np.int64]
    """The first step of each window."""
    forest: NDArray[np.int64]
    """Room for `plant_forest`: `forest_shape` numbers."""


# Rows of a forest: which observation each node is, its parent (-1: the zero state), the first node of each step, and
# the node that each window is in.
_PLACE, _PARENT, _FIRST, _NODE = range(4)


def forest_shape(rows: int, steps: int) -> tuple[int, int]:
    return 4, rows * steps + 1


def recurrent_rows(forest: NDArray[np.int64], steps: int) -> int:
    """How many nodes of a planted forest went through the recurrent product: all but those of the first step."""
    return int(forest[_FIRST, steps] - forest[_FIRST, 1])


def last_activations(
    batch: Window, places: NDArray[np.int64], forest: NDArray[np.int64], steps: int
) -> tuple[Matrix, Matrix]:
    """Copies of both hidden layers at the last step of each window, from a planted forest."""
    rows = len(batch.outputs)
    first = forest[_FIRST, steps - 1]
    return batch.dense[places[(steps - 1) * rows : steps * rows]], batch.hidden[first : first + rows].copy()


@in_both
def weight_shapes(shape: RecurrentShape) -> Shapes:
    """Dense layer, LSTM's input and recurrent matrices and bias, head (outputs, units)."""
    n0, n1, u, n3 = shape
    return (n0, n1), (n1,), (n1, 4 * u), (u, 4 * u), (4 * u,), (n3, u), (n3,)


@in_both
def window_shapes(shape: RecurrentShape, observations: int, rows: int, steps: int) -> Shapes:
    n0, n1, u, n3 = shape
    node, gates, dense = (rows * steps, u), (observations, 4 * u), (observations, n1)
    return (
        (rows * steps, 4 * u), gates, dense, (rows * steps + 1, u), node, node, node, (observations, n0), (rows, n3),
    )  # fmt: skip


@in_both
def window_gradient_shapes(shape: RecurrentShape, observations: int, rows: int, steps: int) -> Shapes:
    _n0, n1, u, n3 = shape
    state, gates, dense = (rows * steps + 1, u), (observations, 4 * u), (observations, n1)
    return (rows * steps, 4 * u), gates, dense, state, state, (rows, u), (4 * u, n1), (4 * u, u), (rows, n3)


def count_weights(shape: RecurrentShape) -> int:
    return room_for(weight_shapes(shape))


def count_window(shape: RecurrentShape, observations: int, rows: int, steps: int) -> int:
    """Room that a batch of windows needs, in floats."""
    return room_for(window_shapes(shape, observations, rows, steps))


def count_window_gradient(shape: RecurrentShape, observations: int, rows: int, steps: int) -> int:
    return room_for(window_gradient_shapes(shape, observations, rows, steps))


@inlined
def shape_of(widths: NDArray[np.int64]) -> RecurrentShape:
    return RecurrentShape(widths[0], widths[1], widths[2], widths[3])


@in_both
def window(room: Vector, shape: RecurrentShape, observations: int, rows: int, steps: int) -> Window:
    """Views of a vector of `count_window` floats."""
    return Window(*cut(room, window_shapes(shape, observations, rows, steps)))


@in_both
def window_gradient(room: Vector, shape: RecurrentShape, observations: int, rows: int, steps: int) -> WindowGradient:
    """Views of a vector of `count_window_gradient` floats."""
    return WindowGradient(*cut(room, window_gradient_shapes(shape, observations, rows, steps)))


@in_both
def matrices(weights: Vector, shape: RecurrentShape) -> tuple[Any, ...]:
    """Views of the flat vector, as `weight_shapes` has them."""
    return cut(weights, weight_shapes(shape))


def initial_weights(shape: RecurrentShape, rng: np.random.Generator, heads: tuple[int, ...] | None = None) -> Vector:
    """As in Keras: Glorot-uniform matrices, an orthogonal recurrent one, a forget bias of 1, other biases 0."""
    weights = np.zeros(count_weights(shape), np.float32)
    w1, _b1, w, r, b, w3, _b3 = matrices(weights, shape)
    fill_glorot([w1, w, *split_head(w3, heads)], rng)
    orthogonal, triangular = np.linalg.qr(rng.normal(size=(4 * shape.units, shape.units)))
    r[:] = (orthogonal * np.sign(np.diag(triangular))).T
    b[shape.units : 2 * shape.units] = 1.0
    return weights


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
    w1, b1, w, _r, b, _w3, _b3 = matrices(weights, shape)
    rectified_affine(inputs, w1, b1, dense, observations)
    affine(dense, w, b, input_gates, observations)


@kernel
def plant_forest(made: BatchOfWindows) -> None:
    """Find the nodes of a batch of windows. In the last step every window has its own, in the windows' order."""
    forest, rows = made.forest, made.rows
    count = 0
    for i in range(rows):
        forest[_NODE, i] = -1
    for t in range(made.steps):
        first = count
        forest[_FIRST, t] = first
        for i in range(rows):
            if t < made.starts[i]:
                continue
            place, parent = made.places[t * rows + i], forest[_NODE, i]
            node = first if t < made.steps - 1 else count
            while node < count and not (forest[_PLACE, node] == place and forest[_PARENT, node] == parent):
                node += 1
            if node == count:
                forest[_PLACE, node], forest[_PARENT, node] = place, parent
                count += 1
            forest[_NODE, i] = node
    forest[_FIRST, made.steps] = count


@kernel
def run_windows(
    weights: Vector, shape: RecurrentShape, input_gates: Matrix, batch: Window, made: BatchOfWindows
) -> None:
    """Outputs of windows made of observations that have been through `embed`."""
    _w1, _b1, _w, r, _b, w3, b3 = matrices(weights, shape)
    units, forest = shape.units, made.forest
    plant_forest(made)
    batch.cells[0] = _ZERO
    for t in range(made.steps):
        first, end = forest[_FIRST, t], forest[_FIRST, t + 1]
        nodes = end - first
        for node in range(first, end):
            place, parent = forest[_PLACE, node], forest[_PARENT, node]
            for j in range(4 * units):
                batch.gates[node, j] = input_gates[place, j]
            for j in range(units):
                batch.hidden_before[node, j] = batch.hidden[parent, j] if parent >= 0 else _ZERO
        if t > 0:
            gates, before = rows_view(batch.gates, first, nodes), rows_view(batch.hidden_before, first, nodes)
            add_product(gates, 4 * units, before, units, 1, r, 4 * units, nodes, 4 * units, units)
        for node in range(first, end):
            cell_forward(
                batch.gates, node * 4 * units, batch.cells, (forest[_PARENT, node] + 1) * units, (node + 1) * units,
                batch.tanh_cells, node * units, batch.hidden, node * units, units,
            )  # fmt: skip
    head(rows_view(batch.hidden, last_node(made), made.rows), w3, b3, batch.outputs, made.rows)


@inlined
def last_node(made: BatchOfWindows) -> int:
    """The node of the first window's last step in a planted forest; those of the others follow."""
    return made.forest[_FIRST, made.steps - 1]


@kernel
def advance(
    weights: Vector, shape: RecurrentShape, input_gates: Matrix, place: int, gates: Matrix, hidden: Matrix,
    cells: Matrix, tanh_cells: Matrix, first: int, end: int,
) -> None:  # fmt: skip
    """One step on, for windows whose states are in rows `first` to `end`: to the observation that has been through
    `embed` into row `place`. Of `tanh_cells`, one row is enough."""
    r, units, rows = matrices(weights, shape)[3], shape.units, end - first
    for i in range(first, end):
        for j in range(4 * units):
            gates[i, j] = input_gates[place, j]
    add_product(
        rows_view(gates, first, rows), 4 * units, rows_view(hidden, first, rows), units, 1, r, 4 * units,
        rows, 4 * units, units,
    )  # fmt: skip
    for i in range(first, end):
        cell_forward(
            gates, i * 4 * units, cells, i * units, i * units, tanh_cells, 0, hidden, i * units, units
        )  # fmt: skip


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
    _w1, _b1, w, r, _b, w3, _b3 = matrices(weights, shape)
    g1, gb1, g, gr, gb, g3, gb3 = matrices(gradient, shape)
    units, nodes = shape.units, made.forest[_FIRST, made.steps]
    transpose(w, way_back.transposed_input)
    transpose(r, way_back.transposed_recurrent)
    last = last_node(made)
    way_back.hidden[: last + 1] = _ZERO
    way_back.cells[: nodes + 1] = _ZERO
    head_gradient(
        rows_view(batch.hidden, last, made.rows), way_back.outputs, w3, g3, gb3,
        rows_view(way_back.hidden, last + 1, made.rows), made.rows,
    )  # fmt: skip
    way_back.input_gates[: made.observations] = _ZERO
    for t in range(made.steps - 1, -1, -1):
        step_back(shape, batch, made.forest, way_back, t)
    # Before the first step the hidden state is zero, and brings no gradient.
    second = made.forest[_FIRST, 1]
    set_product(
        gr, 4 * units, rows_view(batch.hidden_before, second, nodes - second), 1, units,
        rows_view(way_back.gates, second, nodes - second), 4 * units, units, 4 * units, nodes - second,
    )  # fmt: skip
    affine_gradient(batch.dense, way_back.input_gates, g, gb, made.observations)
    set_product(
        way_back.dense, shape.dense, way_back.input_gates, 4 * units, 1, way_back.transposed_input, shape.dense,
        made.observations, shape.dense, 4 * units,
    )  # fmt: skip
    silence(way_back.dense, batch.dense, made.observations)
    affine_gradient(batch.inputs, way_back.dense, g1, gb1, made.observations)


@kernel
def step_back(
    shape: RecurrentShape, batch: Window, forest: NDArray[np.int64], way_back: WindowGradient, t: int
) -> None:
    """From the gradients in the states of step t's nodes to those in their gates, and on to their parents' states."""
    units, first, end = shape.units, forest[_FIRST, t], forest[_FIRST, t + 1]
    for node in range(first, end):
        place, before = forest[_PLACE, node], forest[_PARENT, node] + 1
        cell_backward(
            batch.gates, node * 4 * units, batch.cells, before * units, batch.tanh_cells, node * units,
            way_back.hidden, (node + 1) * units, way_back.cells, (node + 1) * units,
            way_back.gates, node * 4 * units, units,
        )  # fmt: skip
        for j in range(4 * units):
            way_back.input_gates[place, j] += way_back.gates[node, j]
        for j in range(units):
            way_back.cells[before, j] += way_back.cells[node + 1, j]
    if t > 0:
        set_product(
            way_back.hidden_before, units, rows_view(way_back.gates, first, end - first), 4 * units, 1,
            way_back.transposed_recurrent, units, end - first, units, 4 * units,
        )  # fmt: skip
        for node in range(first, end):
            before = forest[_PARENT, node] + 1
            for j in range(units):
                way_back.hidden[before, j] += way_back.hidden_before[node - first, j]


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
