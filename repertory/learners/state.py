"""The memory of a compiled learner by field: filling it from settings, saving it, restoring it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.settings import Settings


def fill_settings(policy: NDArray[Any], settings: Settings) -> None:
    """Write each setting into the field of its name, where there is one."""
    for name, value in settings.as_dict().items():
        if name in (policy.dtype.names or ()):
            policy[name] = value


def copy_fields(policy: NDArray[Any], skip: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Copies of all fields but those in `skip` (scratch space that decides nothing)."""
    return {name: np.array(policy[0][name]) for name in _kept(policy, skip)}


def restore_fields(policy: NDArray[Any], state: Mapping[str, NDArray[Any]], skip: tuple[str, ...]) -> None:
    """Fill the fields from what `copy_fields` gave; names, shapes and kinds must agree."""
    names = _kept(policy, skip)
    if set(names) != set(state):
        raise ValueError(f"state has {sorted(state)} where this learner needs {sorted(names)}")
    for name in names:
        restore(policy[name][0:1], np.asarray(state[name])[None], name)


def restore(target: NDArray[Any], source: NDArray[Any], name: str) -> None:
    """Copy one array into another of the same shape and kind."""
    if target.shape != source.shape or target.dtype != source.dtype:
        raise ValueError(f"{name} is {source.dtype}{source.shape}, needed: {target.dtype}{target.shape}")
    target[...] = source


def _kept(policy: NDArray[Any], skip: tuple[str, ...]) -> list[str]:
    return [name for name in policy.dtype.names or () if name not in skip]
