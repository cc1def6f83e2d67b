"""Elastic Weight Consolidation (Kirkpatrick et al., 2017; online: Schwarz et al., 2018), and L2 towards the initial
weights: quadratic penalties, of which any sum is one again.

    sum over weights of stiffness / 2 (weight - centre)^2

So what is compiled is one pull, however many tasks there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.learners.single.memory import Plan
from repertory.learners.single.settings import SinglePolicy

LEAST = 0.1
"""Importance of a weight that the task uses, but that matters to none of its sampled outputs; the mean counts as 1.

Where a rectified unit is silent, the Fisher information of all weights around it is 0. Left free, just these learn the
next task, and then they are silent no longer in this one."""


def consolidate(policy: Any, task: int, fisher: NDArray[np.float64], plan: Plan) -> None:
    """A visit to a task is over: note what matters to it, and where the weights are.

    The mean over the weights that the task uses counts as 1, or the largest values would decide for all tasks.
    """
    if not 0 < fisher.sum() < np.inf:  # of a network whose weights are no numbers any more, nothing can be told
        return
    uses, decay = plan.uses(task), plan.settings.ewc_decay
    fisher = np.where(uses, np.maximum(fisher / fisher[uses].mean(), LEAST), 0.0)
    if decay is None:
        policy["importance"][task], policy["left_at"][task] = fisher, policy["weights"]
    else:
        policy["importance"][0] = decay * policy["importance"][0] + fisher
        policy["left_at"][0] = policy["weights"]


def set_anchor(policy: Any, task: int, settings: SinglePolicy) -> None:
    """The pull on each weight in a visit to a task; EWC's is for all tasks but this.

    The stiffness of EWC has the mean `ewc`, over the weights that the tasks use, whatever the network and the number
    of tasks.
    """
    stiffness, pulled = (np.zeros(policy["weights"].size) for _ in range(2))
    if settings.l2_init > 0:
        stiffness += settings.l2_init
        pulled += settings.l2_init * policy["initial"].astype(np.float64)
    if settings.ewc > 0:
        importance, left_at = policy["importance"], policy["left_at"]
        if settings.ewc_decay is None:
            others = np.arange(len(importance)) != task
            importance, left_at = importance[others], left_at[others]
        total = importance.sum(axis=0, dtype=np.float64)
        if (total > 0).any():
            scale = settings.ewc / total[total > 0].mean()
            stiffness += scale * total
            pulled += scale * np.einsum("tw,tw->w", importance, left_at, dtype=np.float64)
    is_held = stiffness > 0
    policy["stiffness"] = stiffness
    policy["centre"] = np.divide(pulled, stiffness, out=np.zeros_like(pulled), where=is_held)
    policy["anchored"] = is_held.any()
