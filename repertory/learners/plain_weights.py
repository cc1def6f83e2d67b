"""The weights of compiled policies as plain matrices, for programs that have no repertory.

    x = max(0, x w1 + b1);  x = max(0, x w2 + b2);  the action is the place of the largest of x w3 + b3

A recurrent one has gates in place of the second layer: for each observation, oldest first, from h = c = 0,

    i, f, g, o = max(0, x w1 + b1) wx + h wh + b2, a quarter each;  c = s(f) c + s(i) tanh(g);  h = s(o) tanh(c)

with s(z) = 1 / (1 + exp(-z)); the action is the place of the largest of h w3 + b3. It looks at the last `window`
observations. A table has in `values[i, j, ...]` the values of the actions where an observation is `low` + (i, j, ...).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import network, recurrent
from repertory.kernels.network import NetworkShape
from repertory.kernels.recurrent import RecurrentShape

PlainWeights = dict[str, NDArray[Any]]


def feed_forward(weights: NDArray[np.float32], shape: NetworkShape, actions: int) -> PlainWeights:
    """Of a network whose first outputs are the actions'."""
    w1, b1, w2, b2, w3, b3 = network.matrices(weights, shape)
    layers = {"w1": w1, "b1": b1, "w2": w2, "b2": b2, "w3": w3[:actions].T, "b3": b3[:actions]}
    return {name: np.array(layer) for name, layer in layers.items()}


def of_one_task(
    weights: NDArray[np.float32], shape: NetworkShape, core: NetworkShape, actions: int, task: int
) -> PlainWeights:
    """Of a network for several tasks (`task_network`), as it plays one: an input that is always 1 is a bias."""
    w1, b1, w2, b2, w3, b3 = network.matrices(weights, shape)
    told = w1[core.inputs + task] if shape.inputs > core.inputs else np.float32(0.0)
    first = task * core.outputs if shape.outputs > core.outputs else 0
    own = slice(first, first + actions)
    layers = {"w1": w1[: core.inputs], "b1": b1 + told, "w2": w2, "b2": b2, "w3": w3[own].T, "b3": b3[own]}
    return {name: np.array(layer) for name, layer in layers.items()}


def looking_back(weights: NDArray[np.float32], shape: RecurrentShape, actions: int, window: int) -> PlainWeights:
    w1, b1, wx, wh, b2, w3, b3 = recurrent.matrices(weights, shape)
    layers = {"w1": w1, "b1": b1, "wx": wx, "wh": wh, "b2": b2, "w3": w3[:actions].T, "b3": b3[:actions]}
    return {name: np.array(layer) for name, layer in layers.items()} | {"window": np.array(window)}
