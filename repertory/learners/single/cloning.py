"""Cloning: other tasks' observations are replayed, to go on giving the outputs that their visits ended with.

As in CLEAR (Rolnick et al., 2019), probabilities by their Kullback-Leibler divergence and values by their squared
error; here outputs are noted at a visit's end, not on the way, for a sample of its observations (as in Wolczyk et al.,
2022).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import network
from repertory.kernels.actor_critic import softmax_in_place
from repertory.kernels.compile import kernel
from repertory.kernels.streams import below
from repertory.kernels.task_network import backward, forward
from repertory.learners.single.memory import core_of


def remember(policy: Any, task: int, observations: NDArray[np.float32], outputs: NDArray[np.float32]) -> None:
    """A visit to a task is over."""
    count = len(observations)
    policy["clone_observations"][task, :count] = observations
    policy["clone_outputs"][task, :count] = outputs
    policy["clone_counts"][task] = count


def choose_others(policy: Any, task: int) -> None:
    """In a visit to a task, clone all others that there is something of."""
    others = np.flatnonzero(policy["clone_counts"] * (np.arange(policy["clone_counts"].size) != task))
    policy["clone_order"][: others.size] = others
    policy["clone_tasks"] = others.size


@kernel
def add_cloning(arrays: Any, is_policy: bool, value_coef: float) -> None:
    """Add to `gradient` that of cloning: `clone` times the mean over `clone_batch` draws of

    - with `is_policy`: KL(noted probabilities, probabilities) + value_coef (value - noted value)^2;
    - else: the mean over actions of (Q - noted Q)^2.
    """
    policy, scratch = arrays.policy[0], arrays.scratch[0]
    if policy.clone_tasks == 0:
        return
    shape, rows, outputs = network.shape_of(policy.shape), policy.clone_batch, policy.outputs
    batch = network.activations(scratch.clone_room, core_of(policy), rows)
    for i in range(rows):
        task = policy.clone_order[below(policy.stream, policy.clone_tasks)]
        place = below(policy.stream, policy.clone_counts[task])
        scratch.clone_of[i], scratch.clone_places[i] = task, place
        for k in range(policy.features):
            batch.inputs[i, k] = policy.clone_observations[task, place, k]
    forward(policy.weights, shape, batch, rows, scratch.clone_of)
    scale = policy.clone / np.float32(rows)
    for i in range(rows):
        noted = policy.clone_outputs[scratch.clone_of[i], scratch.clone_places[i]]
        if is_policy:
            softmax_in_place(batch.outputs, i, outputs - 1)
            for a in range(outputs - 1):
                batch.gradient_outputs[i, a] = scale * (batch.outputs[i, a] - noted[a])
            error = batch.outputs[i, outputs - 1] - noted[outputs - 1]
            batch.gradient_outputs[i, outputs - 1] = 2.0 * scale * value_coef * error
        else:
            for a in range(outputs):
                batch.gradient_outputs[i, a] = 2.0 * scale / outputs * (batch.outputs[i, a] - noted[a])
    backward(policy.weights, shape, batch, rows, scratch.clone_of, scratch.clone_gradient)
    for i in range(scratch.gradient.size):
        scratch.gradient[i] += scratch.clone_gradient[i]
