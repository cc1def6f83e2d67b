"""Views of a flat vector that cost nothing inside compiled code.

A slice or a reshape in a kernel counts references and checks sizes, for each array and at every call: a sixth of the
time of an update at this size. The views here are an address and a shape. They own nothing: the vector must outlive
them, and no kernel may return one to Python. In Python the same functions give ordinary views.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, TypeVar

import numpy as np
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import NDArray

from repertory.kernels.compile import compiled_as

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Arrays = TypeVar("Arrays")
_types: Any = types
Shapes = tuple[tuple[int, ...], ...]


@intrinsic
def _cut(typing_context: Any, array: Any, shapes: Any) -> Any:
    views = _types.Tuple([types.Array(_contiguous(array).dtype, len(shape), "C") for shape in shapes])

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start, parts = context.get_constant(types.intp, 0), []
        for place, view in enumerate(views):
            shape = cgutils.unpack_tuple(builder, builder.extract_value(arguments[1], place))
            parts.append(_make_view(context, builder, signature.args[0], arguments[0], view, start, shape))
            start = builder.add(start, functools.reduce(builder.mul, shape))
        return context.make_tuple(builder, views, parts)

    return views(array, shapes), generate


@intrinsic
def _rows_view(typing_context: Any, matrix: Any, first: Any, rows: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, (value, first, rows) = signature.args[0], arguments
        columns = cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, value).shape)[1]
        start = builder.mul(first, columns)
        return _make_view(context, builder, kind, value, signature.return_type, start, [rows, columns])

    return types.Array(_contiguous(matrix).dtype, 2, "C")(matrix, types.int64, types.int64), generate


@intrinsic
def _borrowed(typing_context: Any, arrays: Any) -> Any:
    def disown(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, value)
            _own_nothing(array)
            return array._getvalue()
        if isinstance(kind, _types.BaseTuple):
            for place, part in enumerate(kind.types):
                inner = disown(context, builder, part, builder.extract_value(value, place))
                value = builder.insert_value(value, inner, place)
        return value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return disown(context, builder, signature.args[0], arguments[0])

    return arrays(arrays), generate


@compiled_as(_cut)
def cut(array: NDArray[Any], shapes: Shapes) -> tuple[NDArray[Any], ...]:
    """Views of a contiguous array, one after another as it lies in memory, of these shapes."""
    ends = list(itertools.accumulate(map(math.prod, shapes)))
    pieces = zip([0, *ends], ends, shapes, strict=False)
    return tuple(array.reshape(-1)[start:end].reshape(shape) for start, end, shape in pieces)


def room_for(shapes: Shapes) -> int:
    """How many elements `cut` takes."""
    return sum(map(math.prod, shapes))


@compiled_as(_rows_view)
def rows_view(matrix: NDArray[Any], first: int, rows: int) -> NDArray[Any]:
    """Some rows of a contiguous matrix."""
    return matrix[first : first + rows]


@compiled_as(_borrowed)
def borrowed(arrays: Arrays) -> Arrays:
    """The same tuple of arrays, nested or not; nobody counts references to them any more. The owner must live on."""
    return arrays


def _contiguous(array: Any) -> Any:
    if not (isinstance(array, types.Array) and array.layout == "C"):
        raise TypingError(f"needed: a C-contiguous array, not {array}")
    return array


def _make_view(context: Any, builder: Any, kind: Any, array: Any, view_kind: Any, start: Any, shape: list[Any]) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    item = context.get_constant(types.intp, context.get_abi_sizeof(data.type.pointee))
    view = context.make_array(view_kind)(context, builder)
    view.data = builder.gep(data, [start])
    view.shape = cgutils.pack_array(builder, shape)
    strides, size = [item], shape[-1]
    for extent in reversed(shape[:-1]):
        strides.insert(0, builder.mul(size, item))
        size = builder.mul(size, extent)
    view.strides = cgutils.pack_array(builder, strides)
    view.itemsize = item
    view.nitems = size
    _own_nothing(view)
    return view._getvalue()


def _own_nothing(array: Any) -> None:
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
