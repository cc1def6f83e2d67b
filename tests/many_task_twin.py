"""The network for many tasks and what is added to its loss, out of PyTorch's parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from repertory.kernels.network import weight_shapes
from repertory.learners.single.memory import Plan
from tests.pytorch import torch


def outputs(weights: torch.Tensor, plan: Plan, observations: np.ndarray, tasks: Any) -> torch.Tensor:
    """Of a flat vector of weights: one-hot inputs written out, all output layers computed, one chosen."""
    shapes = weight_shapes(plan.shape)
    pieces = torch.split(weights, [int(np.prod(shape)) for shape in shapes])
    w1, b1, w2, b2, w3, b3 = (piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True))
    x, of = torch.tensor(np.array(observations)), torch.tensor(np.array(tasks))
    if plan.settings.task_input:
        x = torch.cat([x, torch.nn.functional.one_hot(of, plan.tasks).to(x.dtype)], dim=1)
    y = torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3.T + b3
    heads = y.reshape(len(x), plan.heads, plan.core.outputs)
    return heads[torch.arange(len(x)), of if plan.settings.heads else 0]


def penalty(weights: torch.Tensor, plan: Plan, policy: Any) -> torch.Tensor:
    """L2 towards the initial weights, and one penalty for each other task."""
    settings, total = plan.settings, torch.zeros(())
    if settings.l2_init > 0:
        total = total + settings.l2_init / 2 * ((weights - torch.tensor(policy["initial"])) ** 2).sum()
    others = [task for task in range(len(policy["importance"])) if task != policy["learned_task"]]
    if settings.ewc_decay is not None:
        others = [0]
    importance = policy["importance"][others].astype(np.float64)
    mean = importance.sum(axis=0)[importance.sum(axis=0) > 0].mean()
    for own, left_at in zip(importance, policy["left_at"][others], strict=True):
        distance = (weights - torch.tensor(left_at)) ** 2
        total = total + settings.ewc / 2 * (torch.tensor(own / mean, dtype=torch.float32) * distance).sum()
    return total


def cloning(weights: torch.Tensor, plan: Plan, learner: Any, is_policy: bool) -> torch.Tensor:
    """On the rows that the last gradient drew."""
    policy, tasks, places = learner.policy, learner.scratch["clone_of"], learner.scratch["clone_places"]
    noted = torch.tensor(policy["clone_outputs"][tasks, places])
    now = outputs(weights, plan, policy["clone_observations"][tasks, places], tasks)
    if not is_policy:
        return plan.settings.clone * torch.nn.functional.mse_loss(now, noted)
    log_pi = torch.log_softmax(now[:, :-1], dim=1)
    divergence = torch.nn.functional.kl_div(log_pi, noted[:, :-1], reduction="batchmean")
    values = torch.nn.functional.mse_loss(now[:, -1], noted[:, -1])
    return plan.settings.clone * (divergence + learner.settings.vf_coef * values)
