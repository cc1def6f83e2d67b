"""The health of a policy: numbers that tell a sound learner from one whose values have run away.

    learner.health()  # {"q_largest": 96.2, "q_bound": 100.0, ...}

They are measured when asked for, on a sample: what a DQN remembers, or the steps that a PPO has last learned from.
Measuring works on copies and draws from a generator of its own, so a learner goes on as if nobody had asked, and what
comes out depends on the learner's `state_dict` alone. What there is nothing to measure on yet is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.kernels.actor_critic import SMALLEST
from repertory.kernels.reward_range import largest_return

Health = dict[str, float]

SAMPLE_SIZE = 64
"""Experiences that a policy with a memory is measured on, rounded up to whole minibatches."""
DORMANT = 0.025
"""A unit is dormant whose mean activity is at most this share of its layer's (Sokar et al., 2023)."""
DIVERGED = 2.0
"""Values this many times as large as any return can be are no estimates of returns any more."""

LARGEST = 3e38
"""Stands for all that is larger: files have no sign for infinity."""

OF_ALL = {
    "td_error": "mean size of the error that is learned from: Q or the value, less its target",
    "gradient_norm": "length of the loss's gradient before any clipping: the mean of the sample's minibatches",
    "weight_norm": "length of the vector of all weights",
    "dormant": "share of hidden units that hardly ever do anything: mean |activation| at most 0.025 of their layer's",
}
OF_Q_LEARNING = {
    "q_largest": "largest |Q|, over all actions",
    "q_mean": "mean |Q|, over all actions",
    "q_bound": "largest size of a return that the rewards seen and gamma allow",
    "action_gap": "mean difference between the Q of the best action and of the second best",
    **OF_ALL,
}
OF_ACTOR_CRITIC = {
    "value_largest": "largest |value|",
    "value_mean": "mean |value|",
    "value_bound": "largest size of a return that the rewards seen and gamma allow",
    "entropy": "mean entropy of the policy, in nats",
    **OF_ALL,
}
"""What is measured, by name: `OF_Q_LEARNING` of DQN and DRQN, `OF_ACTOR_CRITIC` of PPO and PRPO."""


class Minibatch(NamedTuple):
    """What a gradient was computed from and through, a row for each step of the sample; copies all."""

    outputs: NDArray[np.float32]
    """Of Q-learning the values; of an actor-critic the probabilities and, last, the value."""
    errors: NDArray[np.float32]
    layers: tuple[NDArray[np.float32], ...]
    """The hidden activations, layer by layer."""
    gradient: NDArray[np.float32]


def has_diverged(health: Mapping[str, Any]) -> Any:
    """Whether values have passed twice what a return can be, or weights are no numbers any more; of arrays, each.

    As long as nothing but rewards of 0 has been seen there is no bound to pass.
    """
    weights = np.asarray(health.get("weight_norm", 0.0), float)
    found = ~(np.abs(weights) < LARGEST)
    for largest, bound in (("q_largest", "q_bound"), ("value_largest", "value_bound")):
        limit = np.asarray(health.get(bound, 0.0), float)
        found = found | ((limit > 0.0) & (np.asarray(health.get(largest, 0.0), float) > DIVERGED * limit))
    return found if found.ndim else bool(found)


def measured(policy: Any) -> dict[str, float | None]:
    """A policy's health as it is recorded: None for what cannot be measured yet, and nothing of a learner that does
    not tell. What has grown past all numbers is `LARGEST`."""
    tell = getattr(policy, "health", None)
    if tell is None:
        return {}
    health = {name: float(value) for name, value in tell().items()}
    if np.isnan(health.get("weight_norm", 0.0)):
        health["weight_norm"] = np.inf
    return {name: None if np.isnan(value) else min(max(value, -LARGEST), LARGEST) for name, value in health.items()}


def norm(vector: NDArray[Any]) -> float:
    """In double precision: values that run away have squares that single precision cannot hold."""
    return float(np.linalg.norm(vector.astype(np.float64)))


def measure(names: Mapping[str, str], policy: Any, gamma: float, minibatches: list[Minibatch]) -> Health:
    """All of `names`, which are `OF_Q_LEARNING` or `OF_ACTOR_CRITIC`, of a policy's memory and of a sample."""
    bound = largest_return(policy, gamma) if policy["life"] > 0 else np.nan
    found = {"q_bound": bound, "value_bound": bound, "weight_norm": norm(policy["weights"])}
    if minibatches:
        with np.errstate(all="ignore"):  # of values that have run away, some measures are infinite
            outputs = np.concatenate([batch.outputs for batch in minibatches]).astype(np.float64)
            of_outputs = _of_action_values if names is OF_Q_LEARNING else _of_policy_and_value
            found |= _of_learning(minibatches) | of_outputs(outputs)
    return {name: float(found.get(name, np.nan)) for name in names}


def _of_action_values(q: NDArray[np.float64]) -> Health:
    ranked = np.sort(q, axis=1)
    gap = (ranked[:, -1] - ranked[:, -2]).mean() if q.shape[1] > 1 else np.nan
    return {"q_largest": np.abs(q).max(), "q_mean": np.abs(q).mean(), "action_gap": gap}


def _of_policy_and_value(outputs: NDArray[np.float64]) -> Health:
    probabilities, values = outputs[:, :-1], np.abs(outputs[:, -1])
    entropy = -(probabilities * np.log(np.maximum(probabilities, SMALLEST))).sum(axis=1).mean()
    return {"value_largest": values.max(), "value_mean": values.mean(), "entropy": entropy}


def _of_learning(minibatches: list[Minibatch]) -> Health:
    errors = np.concatenate([batch.errors for batch in minibatches])
    gradients = [batch.gradient.astype(np.float64) for batch in minibatches]
    gradient = np.average(gradients, axis=0, weights=[len(batch.outputs) for batch in minibatches])
    layers = [np.concatenate(parts) for parts in zip(*(batch.layers for batch in minibatches), strict=True)]
    return {
        "td_error": float(np.abs(errors).mean(dtype=np.float64)),
        "gradient_norm": norm(gradient),
        "dormant": dormant_share(layers),
    }


def dormant_share(layers: Iterable[NDArray[np.float32]]) -> float:
    """Of the units of all layers, whose activations are given by (step, unit)."""
    activity = [np.abs(layer).mean(axis=0, dtype=np.float64) for layer in layers]
    return float(np.concatenate([units <= DORMANT * units.mean() for units in activity]).mean())
