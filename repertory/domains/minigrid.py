"""Families of MiniGrid tasks as ready domains: `minigrid-doorkey` and others (`pip install 'repertory[minigrid]'`).

A policy sees what its agent sees, the 7 x 7 fields before it, each as what lies there, its colour and its state, as
features of 0 and 1. The mission is not told: within a family it is the same, or the library tells tasks apart.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.domains.domain import Domain
from repertory.domains.two_valued import TwoValued
from repertory.errors import UsageError
from repertory.settings import Settings, setting

KINDS = (11, 6, 3)
"""How many numbers MiniGrid has for what lies on a field, for its colour and for its state."""
VIEW = 7

FAMILIES: dict[str, tuple[str, ...]] = {
    "minigrid-empty": ("Empty-5x5", "Empty-Random-5x5", "Empty-Random-6x6", "Empty-8x8", "Empty-16x16"),
    "minigrid-doorkey": ("DoorKey-5x5", "DoorKey-6x6", "DoorKey-8x8", "DoorKey-16x16"),
    "minigrid-crossing": (
        *(f"SimpleCrossingS9N{walls}" for walls in (1, 2, 3)),
        "SimpleCrossingS11N5",
        *(f"LavaCrossingS9N{rivers}" for rivers in (1, 2, 3)),
        "LavaCrossingS11N5",
    ),
    "minigrid-mixed": (
        *("Empty-8x8", "DoorKey-6x6", "LavaGapS6", "SimpleCrossingS9N1", "LavaCrossingS9N1"),
        *("DistShift1", "UnlockPickup", "FourRooms", "MultiRoom-N2-S4", "Unlock"),
    ),
}


@dataclass(frozen=True, kw_only=True)
class MiniGridRules(Settings):
    """What all tasks of a family share."""

    max_steps: int | None = setting(
        None, "An episode is cut off after this many steps; none: as each task has it.", at_least=1
    )


def minigrid_family(name: str, rules: MiniGridRules) -> Domain:
    """A family by name."""
    try:
        importlib.import_module("minigrid")  # registers its environments
    except ImportError as error:
        raise UsageError(f"{name} needs MiniGrid ({error}); next: pip install 'repertory[minigrid]'") from None
    tasks = FAMILIES[name]
    return Domain(
        name=name,
        task_names=tasks,
        make_env=functools.partial(_make, tasks, rules.max_steps),
        settings=rules.as_dict(),
    )


def _make(tasks: Sequence[str], max_steps: int | None, task: int) -> gymnasium.Env:
    limit: dict[str, Any] = {} if max_steps is None else {"max_steps": max_steps}
    return FieldsAhead(gymnasium.make(f"MiniGrid-{tasks[task]}-v0", **limit))


class FieldsAhead(gymnasium.ObservationWrapper[NDArray[np.float32], Any, Any]):
    """The fields before the agent as features of 0 and 1, of which a replay memory holds each in one bit."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = TwoValued(0, 1, VIEW * VIEW * sum(KINDS))
        # Of the three numbers of a field, where the features of each begin.
        self._first = np.array([0, KINDS[0], KINDS[0] + KINDS[1]])
        self._fields = sum(KINDS) * np.arange(VIEW * VIEW)[:, None]

    def observation(self, observation: Any) -> NDArray[np.float32]:
        features = np.zeros(VIEW * VIEW * sum(KINDS), np.float32)
        features[self._fields + self._first + observation["image"].reshape(-1, 3)] = 1.0
        return features
