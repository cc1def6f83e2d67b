"""`sb3:SAC`: the algorithms of Stable-Baselines3 and sb3-contrib by name, for command lines, files and records."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

from repertory.errors import unknown
from repertory.text_values import value_of

PREFIX = "sb3:"
PACKAGES = ("stable_baselines3", "sb3_contrib")
OURS = {
    "env": "the library's tasks are its environments",
    "seed": "the library gives each policy its own",
    "tensorboard_log": "the run's own event files have the losses",
    "_init_setup_model": "a policy is always set up",
}
"""Arguments of the algorithms that are not the user's to give, and why."""
CODE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
"""How the record writes a class or a function: torch.nn.modules.activation.ReLU."""


def is_sb3(name: object) -> bool:
    return isinstance(name, str) and name.startswith(PREFIX)


def sb3_by_name(name: str, changes: Mapping[str, Any]) -> Any:
    """The settings of a learner.

    `changes` are the algorithm's own arguments, `policy` and `total_timesteps`, as text or values; or what the record
    of a run has of it.
    """
    from repertory.learners.sb3 import SB3

    algorithms = _algorithms()
    if name.removeprefix(PREFIX) not in algorithms:
        raise unknown("algorithm of Stable-Baselines3", name, [PREFIX + each for each in algorithms])
    algorithm = algorithms[name.removeprefix(PREFIX)]
    if is_record(changes):
        given = {"policy": changes["policy"], "total_timesteps": changes["total_timesteps"], **changes["arguments"]}
        return SB3(algorithm, **given)
    given = {key: value_of(value) for key, value in changes.items()}
    aliases = list(getattr(algorithm, "policy_aliases", {}))
    if "MlpPolicy" not in aliases:  # those with a memory have policies of their own
        given = {"policy": aliases[0], **given}
    return SB3(algorithm, **given)


def _algorithms() -> dict[str, type]:
    from repertory.learners.sb3 import BaseAlgorithm

    found: dict[str, type] = {}
    for package in PACKAGES:
        try:
            there = vars(importlib.import_module(package))
        except ImportError:
            continue
        found |= {
            key: value
            for key, value in there.items()
            if isinstance(value, type) and issubclass(value, BaseAlgorithm) and key not in found
        }
    return found


def is_record(settings: Mapping[str, Any]) -> bool:
    """Whether these are what a record has, not what a user gave."""
    return isinstance(settings.get("algorithm"), str) and isinstance(settings.get("arguments"), Mapping)


def name_in_record(settings: Mapping[str, Any]) -> str | None:
    """`sb3:SAC` of the settings in a record; None for an algorithm of the user's own."""
    algorithm = settings.get("algorithm")
    if not isinstance(algorithm, str) or algorithm.partition(".")[0] not in PACKAGES:
        return None
    return PREFIX + algorithm.rpartition(".")[2]


def can_be_made_again(settings: Mapping[str, Any]) -> bool:
    """Whether the record holds plain values alone. Classes and noise are written down by name only."""
    return is_record(settings) and _is_plain({"policy": settings.get("policy"), **settings["arguments"]})


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "class" not in value and all(map(_is_plain, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return not (isinstance(value, str) and CODE.fullmatch(value))
