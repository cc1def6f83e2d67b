"""Turn a matrix round, in blocks of sixteen by sixteen that are turned in registers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from repertory.kernels.compile import kernel
from repertory.kernels.vector_math import LANES, as_vector, check_arrays, integer, load_vector, pointer
from repertory.kernels.views import Matrix


@kernel
def transpose(matrix: Matrix, turned: Matrix) -> None:
    """turned[j, i] = matrix[i, j]."""
    rows, columns = matrix.shape
    whole_rows, whole_columns = rows - rows % LANES, columns - columns % LANES
    for i in range(0, whole_rows, LANES):
        for j in range(0, whole_columns, LANES):
            _turn_block(matrix, i * columns + j, columns, turned, j * rows + i, rows)
    for i in range(rows):
        for j in range(whole_columns if i < whole_rows else 0, columns):
            turned[j, i] = matrix[i, j]


@intrinsic
def _turn_block(
    typing_context: Any,
    matrix: Any,
    matrix_at: Any,
    matrix_stride: Any,
    turned: Any,
    turned_at: Any,
    turned_stride: Any,
) -> Any:
    """A block of LANES rows and columns, both from places `*_at` on."""
    check_arrays(matrix, turned)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = pointer(context, builder, signature, arguments, 0, 1)
        target = pointer(context, builder, signature, arguments, 3, 4)
        source_stride, target_stride = arguments[2], arguments[5]
        rows = [
            load_vector(builder, builder.gep(source, [builder.mul(source_stride, integer(r))])) for r in range(LANES)
        ]
        distance = LANES // 2
        while distance:  # swap the off-diagonal quarters, of the block, then of its quarters, and so on
            rows = _swap_quarters(builder, rows, distance)
            distance //= 2
        for r in range(LANES):
            place = builder.gep(target, [builder.mul(target_stride, integer(r))])
            builder.store(rows[r], as_vector(builder, place), align=4)
        return context.get_dummy_value()

    return types.void(matrix, types.int64, types.int64, turned, types.int64, types.int64), generate


def _swap_quarters(builder: Any, rows: list[Any], distance: int) -> list[Any]:
    places = ir.VectorType(ir.IntType(32), LANES)
    upper = [lane if not lane & distance else LANES + (lane ^ distance) for lane in range(LANES)]
    lower = [lane ^ distance if not lane & distance else LANES + lane for lane in range(LANES)]
    swapped = list(rows)
    for r in range(LANES):
        if not r & distance:
            pair = rows[r], rows[r | distance]
            swapped[r] = builder.shuffle_vector(*pair, ir.Constant(places, upper))
            swapped[r | distance] = builder.shuffle_vector(*pair, ir.Constant(places, lower))
    return swapped
