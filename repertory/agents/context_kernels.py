"""The arithmetic of `context_regression.py`, compiled: what a context sees of an opening, predicts, and learns."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.agents.context_filter import ACCEPTED, FORGOTTEN, RELIEF, added
from repertory.agents.protocol import Opening
from repertory.kernels.compile import in_both, inlined, kernel
from repertory.kernels.handle import unpack
from repertory.kernels.views import borrowed

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
ESTABLISHED = 1000
"""Transitions of one set of weights after which a context learns from some episodes only."""
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


class Ordinary(NamedTuple):
    """What an episode needs if nothing of it is strange, in one handle: taking arrays apart one by one takes longer."""

    tables: Tables
    scales: NDArray[np.float64]
    places: NDArray[np.int64]
    opening: Opening


@inlined
def described(
    inputs: NDArray[np.float64],
    after: NDArray[np.float64],
    actions: NDArray[np.int64],
    rewards: NDArray[np.float64],
    ended: NDArray[np.bool_],
    scales: NDArray[np.float64],
    places: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Monomials of scaled inputs, sets of weights, and scaled targets. Inputs begin with the observation."""
    rows, n = inputs.shape
    size = after.shape[1]
    features, sets, targets = np.zeros((rows, places.shape[1])), np.zeros(rows, np.int64), np.zeros((rows, size + 1))
    scaled = np.ones(n + 1)
    for row in range(rows):
        for i in range(n):
            scaled[i] = inputs[row, i] / scales[i]
        for i in range(places.shape[1]):
            features[row, i] = scaled[places[0, i]] * scaled[places[1, i]] * scaled[places[2, i]]
        sets[row] = 2 * actions[row] + ended[row]
        for k in range(size + 1):
            target = rewards[row] if k == size else after[row, k] - inputs[row, k]
            targets[row, k] = target / scales[n + k]
    return features, sets, targets


@in_both
def log_student_t(squared_error: Any, squared_scale: Any) -> Any:
    """Log density of a Student-t distribution with `DEGREES_OF_FREEDOM`."""
    spread = np.log1p(squared_error / (DEGREES_OF_FREEDOM * squared_scale))
    return LOG_CONSTANT - 0.5 * np.log(squared_scale) - 0.5 * (DEGREES_OF_FREEDOM + 1.0) * spread


@inlined
def unknown_scale(features: NDArray[np.float64]) -> float:
    """Squared, of every quantity in a context of which nothing is known."""
    squares = NOISE_FLOOR**2
    for feature in features:
        squares += feature * feature
    return squares


@kernel
def log_unknown(features: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """(transition, quantity): log densities in such a context."""
    log_new = np.zeros(targets.shape)
    for row in range(targets.shape[0]):
        squared_scale = unknown_scale(features[row])
        for k in range(targets.shape[1]):
            log_new[row, k] = log_student_t(targets[row, k] * targets[row, k], squared_scale)
    return log_new


@inlined
def misses(
    tables: Tables,
    context: int,
    features: NDArray[np.float64],
    sets: NDArray[np.int64],
    targets: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(transition, quantity): errors of prediction; (transition,): 1 + phi'A^-1 phi."""
    return errors_of(tables.weights[context], features, sets, targets), inflations(
        tables.inverse[context], features, sets
    )


@inlined
def errors_of(
    weights: NDArray[np.float64],
    features: NDArray[np.float64],
    sets: NDArray[np.int64],
    targets: NDArray[np.float64],
) -> NDArray[np.float64]:
    errors = targets.copy()
    for row in range(targets.shape[0]):
        for i in range(features.shape[1]):
            for k in range(targets.shape[1]):
                errors[row, k] -= features[row, i] * weights[sets[row], i, k]
    return errors


@inlined
def inflations(
    inverse: NDArray[np.float64], features: NDArray[np.float64], sets: NDArray[np.int64]
) -> NDArray[np.float64]:
    result, along = np.zeros(sets.size), np.zeros(features.shape[1])
    for row in range(sets.size):
        result[row] = 1.0 + max(quadratic(features[row], inverse[sets[row]], along), 0.0)
    return result


@inlined
def quadratic(vector: NDArray[np.float64], matrix: NDArray[np.float64], along: NDArray[np.float64]) -> float:
    """v'Mv. Most of the time of a prediction goes by here: four rows at a time, one added after the other."""
    n = vector.size
    along[:] = 0.0
    for i in range(0, n - 3, 4):
        a, b, c, d = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        for j in range(n):
            so_far = along[j] + a * matrix[i, j] + b * matrix[i + 1, j]
            along[j] = so_far + c * matrix[i + 2, j] + d * matrix[i + 3, j]
    for i in range(n - n % 4, n):
        for j in range(n):
            along[j] += vector[i] * matrix[i, j]
    result = 0.0
    for j in range(n):
        result += along[j] * vector[j]
    return result


@inlined
def predictive_scale(tables: Tables, context: int, k: int, chosen: int, inflation: float, unknown: float) -> float:
    """Squared, of a quantity in a context; 0 for one that has no opinion."""
    noise = max(tables.errors[context, k] / tables.transitions[context], NOISE_FLOOR**2)
    has_seen = tables.solved[context, chosen] >= OPINION * tables.gram.shape[-1]
    return noise * inflation if has_seen and noise * inflation < unknown else 0.0


@kernel
def predict(
    handle: Any,
    context: int,
    features: NDArray[np.float64],
    sets: NDArray[np.int64],
    targets: NDArray[np.float64],
    log_new: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(transition, quantity): log densities."""
    tables = borrowed(unpack(handle))
    errors, inflation = misses(tables, context, features, sets, targets)
    log_density = log_new.copy()
    for row in range(targets.shape[0]):
        unknown = unknown_scale(features[row])
        for k in range(targets.shape[1]):
            squared_scale = predictive_scale(tables, context, k, sets[row], inflation[row], unknown)
            if squared_scale > 0.0:
                log_density[row, k] = log_student_t(errors[row, k] * errors[row, k], squared_scale)
    return log_density


@kernel
def goes_on(
    handle: Any, sums: NDArray[np.float64], context: int, first_action: int, threshold: float, is_turn: bool
) -> bool:
    """Whether no CUSUM passes the threshold in an episode of a context that is certain: if so, they are carried on, and
    the model learns what it may. If not, nothing has changed."""
    tables, scales, places, opening = borrowed(unpack(handle))
    if scales[0] == 0.0:  # the first opening of a life decides in which units
        return False
    teaches = is_turn or tables.learned[context].max() < ESTABLISHED
    if not teaches and predicts_all(tables, context, scales, places, opening, first_action):
        for k in range(sums.size):
            sums[k] = max(sums[k] + opening.actions.size * RELIEF, 0.0)
        return True
    features, sets, targets = described(
        opening.observations.astype(np.float64),
        opening.next_observations.astype(np.float64),
        opening.actions - first_action,
        opening.rewards,
        opening.terminated,
        scales,
        places,
    )
    errors, inflation = misses(tables, context, features, sets, targets)
    following, highest = FORGOTTEN * sums, 0.0
    for row in range(targets.shape[0]):
        unknown = unknown_scale(features[row])
        for k in range(targets.shape[1]):
            known = predictive_scale(tables, context, k, sets[row], inflation[row], unknown)
            if known > 0.0:
                odds = odds_of_new(errors[row, k] ** 2, known, targets[row, k] ** 2, unknown)
                following[k] = added(following[k], odds)
                highest = max(highest, following[k])
    if highest > threshold:
        return False
    sums[:] = following
    if teaches and highest <= ACCEPTED * threshold:
        take_in(tables, context, features, sets, targets, errors, inflation)
    return True


@inlined
def odds_of_new(squared_error: float, known: float, squared_target: float, unknown: float) -> float:
    """exp(log_new - log_p) without exponentials or logarithms, which would take longer than all the rest.

    p ~ known^(-1/2) (1 + error^2 / (4 known))^(-5/2), and p_new likewise: with four degrees of freedom.
    """
    ratio = (1.0 + squared_error / (DEGREES_OF_FREEDOM * known)) / (
        1.0 + squared_target / (DEGREES_OF_FREEDOM * unknown)
    )
    return ratio * ratio * math.sqrt(ratio * (known / unknown))


@inlined
def predicts_all(
    tables: Tables,
    context: int,
    scales: NDArray[np.float64],
    places: NDArray[np.int64],
    opening: Opening,
    first_action: int,
) -> bool:
    """Whether all errors are within `PLAIN_ERROR` of noise that is below `PLAIN_NOISE`: then most is not computed."""
    before, after = opening.observations, opening.next_observations
    n, features = before.shape[1], places.shape[1]
    scaled, errors, bounds = np.ones(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    for k in range(n + 1):
        noise = max(tables.errors[context, k] / tables.transitions[context], NOISE_FLOOR**2)
        if noise > PLAIN_NOISE**2:
            return False
        bounds[k] = PLAIN_ERROR * math.sqrt(noise)
    for row in range(opening.actions.size):
        chosen = 2 * (opening.actions[row] - first_action) + opening.terminated[row]
        if tables.solved[context, chosen] < OPINION * features:
            return False
        weights = tables.weights[context, chosen]
        for i in range(n):
            scaled[i] = before[row, i] / scales[i]
            errors[i] = (float(after[row, i]) - float(before[row, i])) / scales[n + i]
        errors[n] = opening.rewards[row] / scales[2 * n]
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
) -> None:
    """Let a context's model learn from transitions."""
    tables = borrowed(unpack(handle))
    errors, inflation = misses(tables, context, features, sets, targets)
    take_in(tables, context, features, sets, targets, errors, inflation)


@kernel
def take_in(
    tables: Tables,
    context: int,
    features: NDArray[np.float64],
    sets: NDArray[np.int64],
    targets: NDArray[np.float64],
    errors: NDArray[np.float64],
    inflation: NDArray[np.float64],
) -> None:
    """Transitions, with what `misses` says of them."""
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
            tables.errors[context, k] += errors[row, k] * errors[row, k] / inflation[row]
        tables.transitions[context] += 1.0
        tables.learned[context, chosen] += 1
    kept = min(1.0, MEMORY / tables.transitions[context])
    tables.transitions[context] *= kept
    for k in range(outputs):
        tables.errors[context, k] *= kept
    for chosen in range(tables.learned.shape[1]):
        if tables.learned[context, chosen] > GROWTH * tables.solved[context, chosen]:
            solve(tables, context, chosen)


@kernel
def solve_again(handle: Any, context: int) -> None:
    """All sets of weights of a context."""
    tables = borrowed(unpack(handle))
    for chosen in range(tables.learned.shape[1]):
        solve(tables, context, chosen)


@kernel
def solve(tables: Tables, context: int, chosen: int) -> None:
    """A^-1 by Cholesky's decomposition, A = U'U, and the weights. Inner loops go along memory."""
    gram, moment = tables.gram[context, chosen], tables.moment[context, chosen]
    inverse, weights = tables.inverse[context, chosen], tables.weights[context, chosen]
    n, outputs = moment.shape
    upper = gram.copy()  # its upper triangle becomes U, row by row
    for k in range(n):
        pivot = math.sqrt(max(upper[k, k], NOISE_FLOOR**2))  # rounding may take more than there is
        upper[k, k] = pivot
        for j in range(k + 1, n):
            upper[k, j] /= pivot
        for i in range(k + 1, n):
            factor = upper[k, i]
            for j in range(i, n):
                upper[i, j] -= factor * upper[k, j]
    below = np.zeros((n, n))  # the inverse of U'
    for i in range(n):
        for k in range(i):
            factor = upper[k, i]
            for j in range(k + 1):
                below[i, j] -= factor * below[k, j]
        for j in range(i):
            below[i, j] /= upper[i, i]
        below[i, i] = 1.0 / upper[i, i]
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
