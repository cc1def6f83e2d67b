"""One pointer for many arrays: what a compiled episode is handed instead of a policy's forty arrays.

Numba takes a NamedTuple apart at every call from Python, about a microsecond per array; a short episode takes less
time than that to play. A handle is taken apart inside compiled code, in nanoseconds. It shares the arrays' memory.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.experimental import structref

from repertory.kernels.compile import kernel


@structref.register
class _HandleType(types.StructRef):
    def preprocess_fields(self, fields: Any) -> Any:
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


class _Handle(structref.StructRefProxy):
    """Opaque in Python; `unpack` gives the NamedTuple back inside a kernel."""


structref.define_boxing(_HandleType, _Handle)
structref.define_constructor(_Handle, _HandleType, ["value"])
structref.define_attributes(_HandleType)


@kernel
def pack(value: Any) -> Any:
    """A handle on a NamedTuple of arrays and numbers."""
    return _Handle(value)


@kernel
def unpack(handle: Any) -> Any:
    """The NamedTuple behind a handle."""
    return handle.value
