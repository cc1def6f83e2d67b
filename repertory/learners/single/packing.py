"""PackNet (Mallya and Lazebnik, 2018): every task gets weights of its own, and sees those of the tasks before it.

A task is *open* until it is packed: it trains all weights that nobody owns. Then it is *pruned*: of each layer it
keeps the largest of these, its share, and trains them alone. When its visit ends it is *fixed*: neither its weights nor
any that it sees will change, so it plays as it did to the last bit.

Biases go to the first task that is packed. Inputs and output layers that only one task uses are private: they are
not shared out. Weights that nobody owns are drawn anew for the next task, where the original leaves them at 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.kernels import network
from repertory.learners.single.memory import Plan

OPEN, PRUNED, FIXED = range(3)
PRIVATE, FREE = -1, 0
"""Owners that are no task's rank."""


def begin(policy: Any, plan: Plan) -> None:
    """Nothing is packed."""
    layers = owned_layers(policy["owner"], plan)
    policy["owner"] = PRIVATE
    for layer in layers:
        layer[:] = FREE
    policy["whole"] = policy["weights"]


def owned_layers(vector: NDArray[Any], plan: Plan) -> list[NDArray[Any]]:
    """What is shared out of a vector that lies as the weights: three matrices and then biases."""
    w1, b1, w2, b2, w3, b3 = network.matrices(vector, plan.shape)
    head = [] if plan.settings.heads else [w3]
    return [w1[: plan.core.inputs], w2, *head, b1, b2, *([] if plan.settings.heads else [b3])]


def seen_by(policy: Any, task: int) -> NDArray[np.bool_]:
    """The weights that a task is played with."""
    owner, rank = policy["owner"], policy["rank"][task]
    if policy["phase"][task] == OPEN:
        return np.ones(owner.size, np.bool_)
    seen: NDArray[np.bool_] = (owner == PRIVATE) | ((owner > FREE) & (owner <= rank))
    return seen


def show(policy: Any, task: int) -> None:
    """Put the weights of a task in the place of those of the task before."""
    put_down(policy)
    policy["weights"] = np.where(seen_by(policy, task), policy["whole"], np.float32(0.0))


def put_down(policy: Any) -> None:
    """Note in the whole what the task that it acts for has come to."""
    seen = seen_by(policy, int(policy["task"]))
    policy["whole"][seen] = policy["weights"][seen]


def prune(policy: Any, task: int, plan: Plan, fresh: NDArray[np.float32]) -> None:
    """Give an open task its share; what is left over is `fresh` for the next one."""
    put_down(policy)
    rank = int(policy["rank"].max()) + 1
    owners, values = owned_layers(policy["owner"], plan), owned_layers(policy["whole"], plan)
    for owner, value in zip(owners, values, strict=True):
        free = np.flatnonzero(owner.reshape(-1) == FREE)
        wanted = (
            math.ceil((plan.settings.pack_share or 1.0 / plan.tasks) * owner.size) if owner.ndim == 2 else owner.size
        )
        largest = np.argsort(-np.abs(value.reshape(-1)[free]), kind="stable")[:wanted]
        owner.reshape(-1)[free[largest]] = rank
    is_free = policy["owner"] == FREE
    policy["whole"][is_free] = fresh[is_free]
    policy["rank"][task], policy["phase"][task] = rank, PRUNED
    policy["weights"] = np.where(seen_by(policy, task), policy["whole"], np.float32(0.0))


def set_trainable(policy: Any, task: int) -> None:
    """While a task learns: what nobody owns or, once it is pruned, what it owns itself; and what is private."""
    owner = policy["owner"]
    own = FREE if policy["phase"][task] == OPEN else policy["rank"][task]
    policy["trainable"] = (owner == own) | (owner == PRIVATE)
