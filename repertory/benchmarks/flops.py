"""Floating-point operations that learning takes, counted from the shapes of networks and batches.

Only the products of layers are counted, a multiplication and an addition for each weight and row: no biases,
activation functions, optimiser steps or copies. What an implementation computes beyond that, or spares, changes its
time but not the count, so work done per second compares implementations. The one exception are the windows of DRQN:
how many of their products are equal, and done once, depends on what was drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from repertory.learners.dqn import DQN
from repertory.learners.drqn import DRQN


def flops_of_forward(widths: Sequence[int]) -> int:
    """One row through dense layers of these widths, inputs first."""
    return sum(2 * before * after for before, after in itertools.pairwise(widths))


def flops_of_backward(widths: Sequence[int]) -> int:
    """The gradient of all weights, and of the inputs of all layers but the first: no one asks for observations'."""
    return flops_of_forward(widths) + flops_of_forward(widths[1:])


def flops_of_dqn_step(settings: DQN, inputs: int, actions: int) -> float:
    """On average over many steps of a life past `learning_starts`.

    A forward pass of one row for each action that is not explored, and every `train_freq` steps an update: the batch
    through the network, its successors through the target network, and the way back.
    """
    widths = (inputs, *settings.net_arch, actions)
    acting = (1 - settings.exploration_rate) * flops_of_forward(widths)
    update = settings.batch_size * (2 * flops_of_forward(widths) + flops_of_backward(widths))
    return acting + update / settings.train_freq


class SharedWindows(NamedTuple):
    """What a batch of windows comes down to where equal ones are computed once."""

    observations: int
    """That go through the input layers of each network."""
    online_steps: int
    """With a recurrent product, in the network that learns: all but the first of a window, the zero state's."""
    target_steps: int
    """The same in the target network."""


def flops_of_drqn_update(settings: DRQN, inputs: int, actions: int, batch: SharedWindows) -> int:
    """Of one update: forward through both networks and back through one, in the products that are really done."""
    dense, units = settings.net_arch
    embedding, head, gates = (inputs, dense, 4 * units), (units, actions), 2 * units * 4 * units
    recurrent = gates * (3 * batch.online_steps + batch.target_steps)
    layers = batch.observations * (2 * flops_of_forward(embedding) + flops_of_backward(embedding))
    # Unlike observations, the hidden states that the head looks at ask for their gradient.
    return layers + recurrent + settings.batch_size * 4 * flops_of_forward(head)
