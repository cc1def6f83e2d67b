"""Saving and restoring a compiled learner: its arrays, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def named_arrays(arrays: Any, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Every array of a NamedTuple and of the NamedTuples inside it, with its dotted name."""
    for name in arrays._fields:
        value = getattr(arrays, name)
        if isinstance(value, np.ndarray):
            yield prefix + name, value
        elif hasattr(value, "_fields"):
            yield from named_arrays(value, f"{prefix}{name}.")


def copy_arrays(arrays: Any, skip: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
    """Copies of all arrays but those under the names in `skip` (scratch space that decides nothing)."""
    return {name: array.copy() for name, array in named_arrays(arrays) if name.split(".", 1)[0] not in skip}


def restore_arrays(arrays: Any, state: Mapping[str, NDArray[Any]], skip: tuple[str, ...] = ()) -> None:
    """Fill the arrays in place from what `copy_arrays` gave; names, shapes and kinds must agree."""
    targets = {name: array for name, array in named_arrays(arrays) if name.split(".", 1)[0] not in skip}
    if set(targets) != set(state):
        raise ValueError(f"state has {sorted(state)} where this learner needs {sorted(targets)}")
    for name, array in targets.items():
        if array.shape != state[name].shape or array.dtype != state[name].dtype:
            raise ValueError(f"{name} is {state[name].dtype}{state[name].shape}, needed: {array.dtype}{array.shape}")
    for name, array in targets.items():
        array[...] = state[name]
