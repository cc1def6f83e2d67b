"""The arithmetic of `context_regression.py`, compiled: what a context sees of an opening, predicts, and learns."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import in_both, kernel
from repertory.kernels.handle import unpack

NOISE_FLOOR = 1e-4
"""The smallest noise that is believed, as a share of a quantity's usual size. No model is right in every digit."""
DEGREES_OF_FREEDOM = 4.0
"""Of the predictive distribution: its tails are heavy, for the errors of a model that is not quite right are."""
MEMORY = 1000.0
"""The noise of a context is that of about so many last transitions."""
GROWTH = 1.1
"""Weights are solved for again when there are so many times as many transitions as the last time."""

PLAIN_ERROR, PLAIN_NOISE = 3.0, 0.01
"""An error of so many times the noise is none, where the noise is below such a share of a quantity's usual size."""
OPINION = 3
"""Transitions for each feature before a set of weights has an opinion: with fewer, one outlier bends all of them."""

LOG_CONSTANT = (
    math.lgamma((DEGREES_OF_FREEDOM + 1) / 2)
    - math.lgamma(DEGREES_OF_FREEDOM / 2)
    - 0.5 * math.log(math.pi * DEGREES_OF_FREEDOM)
)


class Tables(NamedTuple):
    """All contexts' models, of (context, set of weights) unless said otherwise."""

    gram: NDArray[np.float64]
    """A."""
    moment: NDArray[np.float64]
    """Sum of phi y'."""
    inverse: NDArray[np.float64]
    """A^-1, as of the last time it was solved for; so are the weights."""
    weights: NDArray[np.float64]
    errors: NDArray[np.float64]
    """(context, quantity): the sum of squared errors of prediction, each divided by 1 + phi'A^-1 phi."""
    transitions: NDArray[np.float64]
    """(context,): how many errors there were; both forget what is older than `MEMORY`."""
    learned: NDArray[np.int64]
    """How many transitions."""
    solved: NDArray[np.int64]
    """How many there were when weights were solved for."""


@kernel
def described(
    inputs: NDArray[np.float64],
    after: NDArray[np.float64],
    actions: NDArray[np.int64],
    rewards: NDArray[np.float64],
    ended: NDArray[np.bool_],
    scales: NDArray[np.float64],
    places: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The fields of `Seen`: monomials of scaled inputs, and scaled targets. Inputs begin with the observation."""
    rows, n = inputs.shape
    size = after.shape[1]
    features, sets = np.zeros((rows, places.shape[1])), np.zeros(rows, np.int64)
    targets, log_new = np.zeros((rows, size + 1)), np.zeros((rows, size + 1))
    scaled = np.ones(n + 1)
    for row in range(rows):
        for i in range(n):
            scaled[i] = inputs[row, i] / scales[i]
        squares = NOISE_FLOOR**2
        for i in range(places.shape[1]):
            feature = scaled[places[0, i]] * scaled[places[1, i]] * scaled[places[2, i]]
            features[row, i] = feature
            squares += feature * feature
        sets[row] = 2 * actions[row] + ended[row]
        for k in range(size + 1):
            target = rewards[row] if k == size else after[row, k] - inputs[row, k]
            targets[row, k] = target / scales[n + k]
            log_new[row, k] = log_student_t(targets[row, k] * targets[row, k], squares)
    return features, sets, targets, log_new


@in_both
def log_student_t(squared_error: Any, squared_scale: Any) -> Any:
    """Log density of a Student-t distribution with `DEGREES_OF_FREEDOM`."""
    spread = np.log1p(squared_error / (DEGREES_OF_FREEDOM * squared_scale))
    return LOG_CONSTANT - 0.5 * np.log(squared_scale) - 0.5 * (DEGREES_OF_FREEDOM + 1.0) * spread


@kernel
def predict(
    handle: Any,
    context: int,
    features: NDArray[np.float64],
    sets: NDArray[np.int64],
    targets: NDArray[np.float64],
    log_new: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(transition, quantity): log densities, and squared errors in units of 1 + phi'A^-1 phi."""
    tables = unpack(handle)
    rows, outputs = targets.shape
    log_density, squares = np.zeros((rows, outputs)), np.zeros((rows, outputs))
    n = features.shape[1]
    along = np.zeros(n)
    for row in range(rows):
        chosen = sets[row]
        inverse, weights = tables.inverse[context, chosen], tables.weights[context, chosen]
        errors = targets[row].copy()
        along[:] = 0.0
        for i in range(n):
            phi = features[row, i]
            for j in range(n):
                along[j] += phi * inverse[i, j]
            for k in range(outputs):
                errors[k] -= phi * weights[i, k]
        leverage, unknown = 0.0, NOISE_FLOOR**2
        for j in range(n):
            leverage += along[j] * features[row, j]
            unknown += features[row, j] * features[row, j]
        inflation = 1.0 + max(leverage, 0.0)
        for k in range(outputs):
            noise = max(tables.errors[context, k] / tables.transitions[context], NOISE_FLOOR**2)
            squares[row, k] = errors[k] * errors[k] / inflation
            if tables.solved[context, chosen] >= OPINION * n and noise * inflation < unknown:
                log_density[row, k] = log_student_t(errors[k] * errors[k], noise * inflation)
            else:
                log_density[row, k] = log_new[row, k]
    return log_density, squares


@kernel
def predicts_all(
    handle: Any,
    context: int,
    before: NDArray[Any],
    after: NDArray[Any],
    actions: NDArray[np.int64],
    rewards: NDArray[np.float64],
    ended: NDArray[np.bool_],
    scales: NDArray[np.float64],
    places: NDArray[np.int64],
    first_action: int,
) -> bool:
    """Whether all errors are within `PLAIN_ERROR` of noise that is below `PLAIN_NOISE`."""
    tables = unpack(handle)
    n, features = before.shape[1], places.shape[1]
    scaled, errors, bounds = np.ones(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    for k in range(n + 1):
        noise = max(tables.errors[context, k] / tables.transitions[context], NOISE_FLOOR**2)
        if noise > PLAIN_NOISE**2:
            return False
        bounds[k] = PLAIN_ERROR * math.sqrt(noise)
    for row in range(actions.size):
        chosen = 2 * (actions[row] - first_action) + ended[row]
        if tables.solved[context, chosen] < OPINION * features:
            return False
        weights = tables.weights[context, chosen]
        for i in range(n):
            scaled[i] = before[row, i] / scales[i]
            errors[i] = (float(after[row, i]) - float(before[row, i])) / scales[n + i]
        errors[n] = rewards[row] / scales[2 * n]
        for i in range(features):
            phi = scaled[places[0, i]] * scaled[places[1, i]] * scaled[places[2, i]]
            for k in range(n + 1):
                errors[k] -= phi * weights[i, k]
        for k in range(n + 1):
            if not abs(errors[k]) <= bounds[k]:
                return False
    return True


@kernel
def learn(
    handle: Any,
    context: int,
    features: NDArray[np.float64],
    sets: NDArray[np.int64],
    targets: NDArray[np.float64],
    log_new: NDArray[np.float64],
) -> None:
    """Take the transitions into a context's model."""
    tables = unpack(handle)
    squares = predict(handle, context, features, sets, targets, log_new)[1]
    rows, outputs = targets.shape
    n = features.shape[1]
    for row in range(rows):
        chosen = sets[row]
        gram, moment = tables.gram[context, chosen], tables.moment[context, chosen]
        for i in range(n):
            phi = features[row, i]
            for j in range(n):
                gram[i, j] += phi * features[row, j]
            for k in range(outputs):
                moment[i, k] += phi * targets[row, k]
        for k in range(outputs):
            tables.errors[context, k] += squares[row, k]
        tables.transitions[context] += 1.0
        tables.learned[context, chosen] += 1
    kept = min(1.0, MEMORY / tables.transitions[context])
    tables.transitions[context] *= kept
    for k in range(outputs):
        tables.errors[context, k] *= kept
    for chosen in range(tables.learned.shape[1]):
        if tables.learned[context, chosen] > GROWTH * tables.solved[context, chosen]:
            solve(handle, context, chosen)


@kernel
def solve(handle: Any, context: int, chosen: int) -> None:
    """A^-1 by Cholesky's decomposition, and the weights."""
    tables = unpack(handle)
    gram, moment = tables.gram[context, chosen], tables.moment[context, chosen]
    inverse, weights = tables.inverse[context, chosen], tables.weights[context, chosen]
    n, outputs = moment.shape
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            rest = gram[i, j]
            for k in range(j):
                rest -= lower[i, k] * lower[j, k]
            if i == j:
                lower[i, i] = math.sqrt(max(rest, NOISE_FLOOR**2))  # rounding may take more than there is
            else:
                lower[i, j] = rest / lower[j, j]
    below = np.zeros((n, n))  # the inverse of `lower`
    for j in range(n):
        below[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, n):
            rest = 0.0
            for k in range(j, i):
                rest -= lower[i, k] * below[k, j]
            below[i, j] = rest / lower[i, i]
    inverse[:] = 0.0
    for k in range(n):
        for i in range(k + 1):
            for j in range(k + 1):
                inverse[i, j] += below[k, i] * below[k, j]
    weights[:] = 0.0
    for i in range(n):
        for j in range(n):
            for k in range(outputs):
                weights[i, k] += inverse[i, j] * moment[j, k]
    tables.solved[context, chosen] = tables.learned[context, chosen]
