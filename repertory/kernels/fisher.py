"""How much each weight of a network matters to what it outputs: the diagonal of the Fisher information.

For the probabilities pi of actions it is the sum over actions of pi(a) (d log pi(a) / d weight)^2; for values, taken to
be the means of Gaussians of variance 1, the sum over actions of (d Q(a) / d weight)^2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.actor_critic import softmax_in_place
from repertory.kernels.compile import kernel
from repertory.kernels.network import Activations, NetworkShape
from repertory.kernels.task_network import Tasks, backward, forward
from repertory.kernels.views import Matrix, Vector


@kernel
def add_fisher(
    weights: Vector,
    shape: NetworkShape,
    batch: Activations,
    observations: Matrix,
    task: Tasks,
    is_policy: bool,
    gradient: Vector,
    fisher: NDArray[np.float64],
) -> None:
    """Add that of each observation, with `batch` and `gradient` for room.

    With `is_policy`, outputs are logits and, last, a value, which does not count.
    """
    outputs = batch.outputs.shape[1]
    actions = outputs - 1 if is_policy else outputs
    for row in range(observations.shape[0]):
        for k in range(observations.shape[1]):
            batch.inputs[0, k] = observations[row, k]
        forward(weights, shape, batch, 1, task)
        if is_policy:
            softmax_in_place(batch.outputs, 0, actions)
        for a in range(actions):
            for b in range(outputs):
                batch.gradient_outputs[0, b] = np.float32(1.0) if a == b else np.float32(0.0)
            weight = 1.0
            if is_policy:
                weight = batch.outputs[0, a]
                for b in range(actions):
                    batch.gradient_outputs[0, b] -= batch.outputs[0, b]
            backward(weights, shape, batch, 1, task, gradient)
            for i in range(fisher.size):
                fisher[i] += weight * np.float64(gradient[i]) ** 2
