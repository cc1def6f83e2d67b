"""The loss of Q-learning with all its options, out of PyTorch's parts, and the ways to set them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import repertory
from repertory.kernels.network import matrices
from tests.pytorch import torch

EVERYTHING = {"double_q": True, "target_bound": "rewards", "gamma": 0.3, "loss": "huber", "huber_delta": 0.4}
OPTIONS = [
    {},
    {"double_q": True},
    {"target_bound": 2.5},
    {"target_bound": "rewards", "gamma": 0.3},
    {"loss": "huber", "huber_delta": 0.4},
    {"normalize_returns": True, "gamma": 0.3},
    EVERYTHING,
    {"double_q": True, "normalize_returns": True, "loss": "huber", "huber_delta": 0.05, "gamma": 0.3},
]
ADAM = {"optimizer": "adam", "learning_rate": 0.003, "max_grad_value": 0.01}


def torch_network(weights: np.ndarray, learner: Any) -> list[torch.Tensor]:
    """The matrices and biases of a learner."""
    return [torch.tensor(part.copy(), requires_grad=True) for part in matrices(weights, learner.shape)]


class Batch(NamedTuple):
    """What was replayed: values by (row, action), the rest by row."""

    q: torch.Tensor
    next_q: torch.Tensor
    """Of the network itself."""
    next_target_q: torch.Tensor
    actions: list[int]
    rewards: list[float]
    goes_on: list[bool]


def value_of_one(settings: repertory.DQN, seen_rewards: list[float]) -> float:
    """What an output of 1 stands for."""
    return max(map(abs, seen_rewards)) / (1 - settings.gamma) if settings.normalize_returns else 1.0


def targets(settings: repertory.DQN, batch: Batch, seen_rewards: list[float]) -> list[float]:
    """Of the outputs."""
    found, one = [], value_of_one(settings, seen_rewards)
    for i, reward in enumerate(batch.rewards):
        judge = batch.next_q if settings.double_q else batch.next_target_q
        following = one * float(batch.next_target_q[i, int(judge[i].argmax())])
        target = reward + (settings.gamma * following if batch.goes_on[i] else 0.0)
        if settings.target_bound == "rewards":
            low, high = min(0.0, *seen_rewards), max(0.0, *seen_rewards)
            target = float(np.clip(target, low / (1 - settings.gamma), high / (1 - settings.gamma)))
        elif settings.target_bound is not None:
            target = float(np.clip(target, -settings.target_bound, settings.target_bound))
        found.append(target / one)
    return found


def loss(settings: repertory.DQN, batch: Batch, seen_rewards: list[float]) -> torch.Tensor:
    goal = batch.q.detach().clone()
    goal[torch.arange(len(goal)), batch.actions] = torch.tensor(targets(settings, batch, seen_rewards))
    if settings.loss == "huber":
        return torch.nn.functional.huber_loss(batch.q, goal, delta=settings.huber_delta)
    return torch.nn.functional.mse_loss(batch.q, goal)


def assert_option_matters(settings: repertory.DQN, batch: Batch, seen_rewards: list[float]) -> None:
    """Each option that is set changes the loss on this batch."""
    default = type(settings)()
    for name in ("double_q", "target_bound", "loss", "normalize_returns"):
        if getattr(settings, name) != getattr(default, name):
            without = settings.replace(**{name: getattr(default, name)})
            assert not torch.isclose(loss(settings, batch, seen_rewards), loss(without, batch, seen_rewards)), name
