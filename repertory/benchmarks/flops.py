"""Floating-point operations that learning takes, counted from the shapes of networks and batches.

Only the products of layers are counted, a multiplication and an addition for each weight and row: no biases,
activation functions, optimiser steps or copies. What an implementation computes beyond that, or spares, changes its
time but not the count, so work done per second compares implementations.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

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


def flops_of_drqn_update(settings: DRQN, inputs: int, actions: int, observations: int) -> float:
    """Of one update: forward through both networks, backward as much as two forwards.

    `observations` go through the input layers; every step of every window but the first has a recurrent product.
    """
    dense, units = settings.net_arch
    rows, steps = settings.batch_size, settings.window
    embedding = 2.0 * observations * (inputs * dense + dense * 4 * units)
    recurrent = 2.0 * rows * (steps - 1) * units * 4 * units
    return 4 * (embedding + recurrent + 2.0 * rows * units * actions)
