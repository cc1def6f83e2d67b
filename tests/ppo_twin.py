"""The loss of PPO with all its options, out of PyTorch's parts, and the ways to set them."""

from __future__ import annotations

from typing import Any

import numpy as np

import repertory
from tests.pytorch import torch

OPTIONS = [
    {},
    {"ratio": "pairwise"},
    {"normalize_advantage": True},
    {"clip_range_vf": 0.05},
    {"ratio": "pairwise", "normalize_advantage": True, "clip_range_vf": 0.05},
]


def loss(settings: repertory.PPO, policy: Any, chosen: np.ndarray, outputs: torch.Tensor) -> torch.Tensor:
    """On the collected steps `chosen`, whose logits and values are `outputs`."""
    log_pi, values = torch.log_softmax(outputs[:, :-1], dim=1), outputs[:, -1]
    actions, old, advantage, targets, old_values = (
        torch.tensor(policy[name][chosen]) for name in ("actions", "old", "advantages", "targets", "values")
    )
    log_taken = log_pi[torch.arange(len(chosen)), actions]
    if settings.normalize_advantage:
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    if settings.ratio == "own":
        rho = log_taken.exp() / old
    else:
        rho = torch.exp(log_taken[None, :] - log_taken.detach()[:, None])
    clipped_rho = rho.clamp(1 - settings.clip_range, 1 + settings.clip_range)
    surrogate = torch.minimum(advantage * rho, advantage * clipped_rho).mean()
    entropy = -(log_pi.exp() * log_pi).sum(dim=1).mean()
    errors = (values - targets) ** 2
    if settings.clip_range_vf is not None:
        moved = (values - old_values).clamp(-settings.clip_range_vf, settings.clip_range_vf)
        errors = torch.maximum(errors, (old_values + moved - targets) ** 2)
    return -surrogate + settings.vf_coef * errors.mean() - settings.ent_coef * entropy


def assert_clips_matter(settings: repertory.PPO, policy: Any, chosen: np.ndarray, outputs: torch.Tensor) -> None:
    """Some ratios leave the clip range; of the values that leave theirs, some are held and some are not."""
    pi = torch.softmax(outputs[:, :-1], dim=1).detach().numpy()
    ratio = pi[np.arange(len(chosen)), policy["actions"][chosen]] / policy["old"][chosen]
    assert (np.abs(ratio - 1) > settings.clip_range).any()
    if settings.clip_range_vf is not None:
        values, old, targets = outputs[:, -1].detach().numpy(), policy["values"][chosen], policy["targets"][chosen]
        left = np.abs(values - old) > settings.clip_range_vf
        towards = (values > old) == (targets > old)
        assert (left & towards).any()
        assert (left & ~towards).any()
