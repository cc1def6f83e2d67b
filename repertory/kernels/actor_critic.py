"""The actor-critic loss of PPO: from logits and values to their gradient.

The network's outputs are the logits of the actions and, last, the value. The loss is

    - mean surrogate + value_coef mean (V - R)^2 - entropy_coef mean entropy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.compile import kernel
from repertory.kernels.streams import Stream, uniform
from repertory.kernels.views import Matrix, Vector

SMALLEST = 1e-30
"""A probability that has underflowed to 0 counts as this."""


@kernel
def softmax_in_place(outputs: Matrix, row: int, actions: int) -> None:
    """Logits to probabilities."""
    largest = outputs[row, 0]
    for a in range(1, actions):
        largest = max(largest, outputs[row, a])
    total = 0.0
    for a in range(actions):
        outputs[row, a] = math.exp(outputs[row, a] - largest)
        total += outputs[row, a]
    for a in range(actions):
        outputs[row, a] = outputs[row, a] / total


@kernel
def sample(outputs: Matrix, row: int, actions: int, stream: Stream) -> int:
    """An action drawn from a row of probabilities."""
    u = uniform(stream)
    total = 0.0
    for a in range(actions - 1):
        total += outputs[row, a]
        if u < total:
            return a
    return actions - 1


@kernel
def clipped_gain(
    probability: np.float32, old: np.float32, advantage: np.float32, clip_range: float, floor: float
) -> float:
    """A rho where the clipped objective min(A rho, A clip(rho)) has a slope, 0 where the clip holds it flat.

    Probabilities below `floor` count as `floor`, so they have no slope either.
    """
    if probability < floor:
        return 0.0
    ratio = np.float64(probability) / max(np.float64(old), floor, SMALLEST)
    if advantage >= 0.0:
        return advantage * ratio if ratio <= 1.0 + clip_range else 0.0
    return advantage * ratio if ratio >= 1.0 - clip_range else 0.0


@kernel
def policy_weights_own(
    probabilities: Vector, old: Vector, advantages: Vector, rows: int, clip_range: float, floor: float, weights: Vector
) -> None:
    """d surrogate / d log pi(a_t), for the clipped objective with each step's own ratio.

    surrogate = mean over t of min(A_t rho_t, A_t clip(rho_t)), rho_t = pi(a_t) / pi_old(a_t); the derivative is
    A_t rho_t / n where the first term is the smaller, and 0 where the clip holds the objective flat.
    """
    for t in range(rows):
        gain = clipped_gain(probabilities[t], old[t], advantages[t], clip_range, floor)
        weights[t] = gain / rows


@kernel
def policy_weights_pairwise(
    probabilities: Vector, old: Vector, advantages: Vector, rows: int, clip_range: float, floor: float, weights: Vector
) -> None:
    """The same with the ratio of the paper's released code, which pairs every step j with every step i:

    surrogate = mean over i, j of min(A_j rho_ij, A_j clip(rho_ij)), rho_ij = pi(a_j) / pi_old(a_i).
    """
    for j in range(rows):
        total = 0.0
        for i in range(rows):
            total += clipped_gain(probabilities[j], old[i], advantages[j], clip_range, floor)
        weights[j] = total / (rows * rows)


@kernel
def loss_gradient(
    outputs: Matrix,
    taken: NDArray[np.int64],
    policy_weights: Vector,
    targets: Vector,
    rows: int,
    value_coef: float,
    entropy_coef: float,
    gradient: Matrix,
) -> None:
    """Gradient of the loss in the logits and the value; `outputs` holds probabilities in place of logits.

    With p the probabilities: d log pi(a) / d logit_k = [k = a] - p_k, and d entropy / d logit_k = -p_k (log p_k + H).
    """
    actions = outputs.shape[1] - 1
    for t in range(rows):
        entropy = 0.0
        for a in range(actions):
            p = max(outputs[t, a], np.float32(SMALLEST))
            entropy -= p * math.log(p)
        for a in range(actions):
            p = outputs[t, a]
            chosen = 1.0 if a == taken[t] else 0.0
            towards = -policy_weights[t] * (chosen - p)
            spread = entropy_coef / rows * p * (math.log(max(p, np.float32(SMALLEST))) + entropy)
            gradient[t, a] = towards + spread
        gradient[t, actions] = 2.0 * value_coef / rows * (outputs[t, actions] - targets[t])


@kernel
def hold_clipped_values(
    outputs: Matrix, old_values: Vector, targets: Vector, rows: int, limit: np.float32, gradient: Matrix
) -> None:
    """No gradient in values that have moved further than `limit` from the old ones, and not away from the target.

    The value loss is then mean max((V - R)^2, (V_old + clip(V - V_old, +-limit) - R)^2), as in OpenAI's Baselines and
    CleanRL; Stable-Baselines3 takes the second term alone.
    """
    values = outputs.shape[1] - 1
    for t in range(rows):
        moved = outputs[t, values] - old_values[t]
        clipped = old_values[t] + min(max(moved, -limit), limit)
        if abs(moved) > limit and (clipped - targets[t]) ** 2 > (outputs[t, values] - targets[t]) ** 2:
            gradient[t, values] = np.float32(0.0)


@kernel
def normalise(numbers: Vector, count: int) -> None:
    """(x - mean) / (standard deviation + 1e-8) as in Stable-Baselines3: over n - 1, and one alone stays as it is."""
    if count < 2:
        return
    mean, square = 0.0, 0.0
    for i in range(count):
        mean += numbers[i]
    mean /= count
    for i in range(count):
        square += (numbers[i] - mean) ** 2
    deviation = math.sqrt(square / (count - 1)) + 1e-8
    for i in range(count):
        numbers[i] = (numbers[i] - mean) / deviation


@kernel
def approximate_kl(probabilities: Vector, old: Vector, rows: int) -> float:
    """Mean of (rho - 1) - log rho, rho = pi(a_t) / pi_old(a_t): an estimate of KL(pi_old, pi) that is never negative.

    Both are of the actions taken; of PPO's implementations, Stable-Baselines3 and CleanRL use this one.
    """
    total = 0.0
    for t in range(rows):
        ratio = max(np.float64(probabilities[t]), SMALLEST) / max(np.float64(old[t]), SMALLEST)
        total += ratio - 1.0 - math.log(ratio)
    return total / rows
