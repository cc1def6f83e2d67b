"""Views of a flat vector that cost nothing inside compiled code.

A slice or a reshape in a kernel counts references and checks sizes, for each array and at every call: a sixth of the
time of an update at this size. The views here are an address and a shape. They own nothing: the vector must outlive
them, and no kernel may return one to Python. In Python the same functions give ordinary views.
"""

from __future__ import annotations

from typing import Any, TypeVar

from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import NDArray

from repertory.kernels.compile import compiled_as

Arrays = TypeVar("Arrays")
_types: Any = types


@intrinsic
def _vector_view(typing_context: Any, array: Any, start: Any, size: Any) -> Any:
    view = types.Array(_contiguous(array).dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _make_view(context, builder, signature, arguments[0], arguments[1], [arguments[2]])

    return view(array, types.int64, types.int64), generate


@intrinsic
def _matrix_view(typing_context: Any, array: Any, start: Any, rows: Any, columns: Any) -> Any:
    view = types.Array(_contiguous(array).dtype, 2, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _make_view(context, builder, signature, arguments[0], arguments[1], [arguments[2], arguments[3]])

    return view(array, types.int64, types.int64, types.int64), generate


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


@compiled_as(_vector_view)
def vector_view(array: NDArray[Any], start: int, size: int) -> NDArray[Any]:
    """`size` elements of a contiguous array from place `start` on, as they lie in memory."""
    return array.reshape(-1)[start : start + size]


@compiled_as(_matrix_view)
def matrix_view(array: NDArray[Any], start: int, rows: int, columns: int) -> NDArray[Any]:
    """`rows` x `columns` elements of a contiguous array from place `start` on, as a matrix."""
    return array.reshape(-1)[start : start + rows * columns].reshape(rows, columns)


@compiled_as(_borrowed)
def borrowed(arrays: Arrays) -> Arrays:
    """The same tuple of arrays, nested or not; nobody counts references to them any more. The owner must live on."""
    return arrays


def _contiguous(array: Any) -> Any:
    if not (isinstance(array, types.Array) and array.layout == "C"):
        raise TypingError(f"needed: a C-contiguous array, not {array}")
    return array


def _make_view(context: Any, builder: Any, signature: Any, array: Any, start: Any, shape: list[Any]) -> Any:
    data = context.make_array(signature.args[0])(context, builder, array).data
    item = context.get_constant(types.intp, context.get_abi_sizeof(data.type.pointee))
    view = context.make_array(signature.return_type)(context, builder)
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
