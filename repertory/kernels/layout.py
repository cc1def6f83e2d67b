"""One block of memory per policy: all its arrays and numbers as the fields of a single structured element.

Handing forty arrays from kernel to kernel costs more than the work on small ones. A structured element is one
pointer, its shapes are known to the compiler, and copying or saving it is one pass over contiguous memory. Each
array field starts on a cache line. What a policy needs only while a kernel runs it shares with all of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

CACHE_LINE = 64

Field = tuple[str, Any, tuple[int, ...]]
"""Name, kind and shape; () for a single number."""


def layout(fields: Sequence[Field]) -> np.dtype[Any]:
    """The structured kind of a policy."""
    offsets, end = [], 0
    for _name, kind, shape in fields:
        alignment = CACHE_LINE if shape else np.dtype(kind).itemsize
        start = -(-end // alignment) * alignment
        offsets.append(start)
        end = start + np.dtype((kind, shape)).itemsize
    return np.dtype(
        {
            "names": [name for name, _kind, _shape in fields],
            "formats": [(kind, shape) if shape else kind for _name, kind, shape in fields],
            "offsets": offsets,
            "itemsize": -(-end // CACHE_LINE) * CACHE_LINE,
        }
    )


def fill_settings(policy: NDArray[Any], settings: Mapping[str, Any]) -> None:
    """Write each setting into the field of its name, where there is one."""
    for name, value in settings.items():
        if name in (policy.dtype.names or ()):
            policy[name] = value


_scratch: WeakValueDictionary[np.dtype[Any], NDArray[Any]] = WeakValueDictionary()


def shared_scratch(kind: np.dtype[Any]) -> NDArray[Any]:
    """The one element that all policies with scratch space of this kind work in, as long as there are any.

    Nothing in it may be relied on from one call of a kernel to the next. A kernel holds Python's lock while it runs,
    so no two of them meet there.
    """
    scratch = _scratch.get(kind)
    if scratch is None:
        scratch = _scratch[kind] = allocate(kind)
    return scratch


def allocate(kind: np.dtype[Any]) -> NDArray[Any]:
    """One element of zeros, on a cache line: an array of shape (1,)."""
    memory = np.zeros(kind.itemsize + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + kind.itemsize].view(kind)
