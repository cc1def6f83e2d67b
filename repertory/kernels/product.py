"""Small matrix products at the speed of the machine: c = c + a b with a block of c held in registers.

At the sizes of this field (ten rows, eighty columns) a general library spends longer on the call than on the work,
and a compiled loop spends it on loading and storing partial sums. Here a block of four rows by eighty columns stays
in vector registers while the sum runs. Sums are taken in the order k = 0, 1, 2, ... with fused multiply-adds,
whatever the block, so a result does not depend on how many rows stand beside it, nor on the machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import NDArray

from repertory.kernels.compile import kernel
from repertory.kernels.vector_math import (
    LANES,
    VECTOR,
    as_vector,
    check_arrays,
    fma,
    integer,
    load_vector,
    pointer,
    spread,
)

BLOCKVECTORS = 5
"""Vectors side by side in a block: with four rows, twenty of the thirty-two registers hold sums."""
WIDE = BLOCKVECTORS * LANES

Array = NDArray[np.float32]


@kernel
def add_product(
    c: Array,
    c_stride: int,
    a: Array,
    a_row: int,
    a_step: int,
    b: Array,
    b_stride: int,
    rows: int,
    columns: int,
    steps: int,
) -> None:
    """c[i, j] += sum over k of a[i, k] b[k, j], for i < rows, j < columns, k < steps.

    The arrays are C-contiguous and read by strides, in elements: c[i, j] is at i * c_stride + j, a[i, k] at
    i * a_row + k * a_step, b[k, j] at k * b_stride + j. A transposed a is a matter of strides.
    """
    wide = columns - columns % WIDE
    whole = columns - columns % LANES
    i = 0
    while i < rows:
        at_c, at_a = i * c_stride, i * a_row
        if rows - i >= 4:
            for j in range(0, wide, WIDE):
                _block(4, BLOCKVECTORS, c, at_c + j, c_stride, a, at_a, a_row, a_step, b, j, b_stride, steps)
            for j in range(wide, whole, LANES):
                _block(4, 1, c, at_c + j, c_stride, a, at_a, a_row, a_step, b, j, b_stride, steps)
            done = 4
        elif rows - i >= 2:
            for j in range(0, wide, WIDE):
                _block(2, BLOCKVECTORS, c, at_c + j, c_stride, a, at_a, a_row, a_step, b, j, b_stride, steps)
            for j in range(wide, whole, LANES):
                _block(2, 1, c, at_c + j, c_stride, a, at_a, a_row, a_step, b, j, b_stride, steps)
            done = 2
        else:
            for j in range(0, wide, WIDE):
                _block(1, BLOCKVECTORS, c, at_c + j, c_stride, a, at_a, a_row, a_step, b, j, b_stride, steps)
            for j in range(wide, whole, LANES):
                _block(1, 1, c, at_c + j, c_stride, a, at_a, a_row, a_step, b, j, b_stride, steps)
            done = 1
        for r in range(done):
            for j in range(whole, columns):
                total = c.flat[at_c + r * c_stride + j]
                for k in range(steps):
                    total = fused(a.flat[at_a + r * a_row + k * a_step], b.flat[k * b_stride + j], total)
                c.flat[at_c + r * c_stride + j] = total
        i += done


@kernel
def dot(a: Array, a_at: int, b: Array, b_at: int, size: int) -> np.float32:
    """Sum over k of a[a_at + k] b[b_at + k]: lane by lane, then the lanes pairwise, then what is left over."""
    whole = size - size % LANES
    total = _dot_lanes(a, a_at, b, b_at, whole)
    for k in range(whole, size):
        total = fused(a.flat[a_at + k], b.flat[b_at + k], total)
    return total


@intrinsic
def fused(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once."""
    if not (x == y == z == types.float32):
        raise TypingError(f"fused takes float32, not {x}, {y}, {z}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float32(x, y, z), generate


@intrinsic
def _block(
    typing_context: Any,
    rows: Any,
    vectors: Any,
    c: Any,
    c_at: Any,
    c_stride: Any,
    a: Any,
    a_at: Any,
    a_row: Any,
    a_step: Any,
    b: Any,
    b_at: Any,
    b_stride: Any,
    steps: Any,
) -> Any:
    """A block of `rows` by `vectors` x LANES of c, both literal, from places `*_at` on."""
    if not (isinstance(rows, types.IntegerLiteral) and isinstance(vectors, types.IntegerLiteral)):
        raise TypingError("a block's size is written in the code")
    check_arrays(c, a, b)
    n_rows, n_vectors = rows.literal_value, vectors.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        c_base = pointer(context, builder, signature, arguments, 2, 3)
        a_base = pointer(context, builder, signature, arguments, 5, 6)
        b_base = pointer(context, builder, signature, arguments, 9, 10)
        c_stride, a_row, a_step, b_stride, steps = (arguments[place] for place in (4, 7, 8, 11, 12))
        c_rows = [builder.gep(c_base, [builder.mul(c_stride, integer(r))]) for r in range(n_rows)]
        a_rows = [builder.gep(a_base, [builder.mul(a_row, integer(r))]) for r in range(n_rows)]
        places = [(r, j, builder.gep(c_rows[r], [integer(j * LANES)])) for r in range(n_rows) for j in range(n_vectors)]
        sums = {(r, j): cgutils.alloca_once_value(builder, load_vector(builder, place)) for r, j, place in places}
        with cgutils.for_range(builder, steps) as loop:
            b_row = builder.gep(b_base, [builder.mul(loop.index, b_stride)])
            b_vectors = [load_vector(builder, builder.gep(b_row, [integer(j * LANES)])) for j in range(n_vectors)]
            a_offset = builder.mul(loop.index, a_step)
            for r in range(n_rows):
                element = spread(builder, builder.load(builder.gep(a_rows[r], [a_offset])))
                for j in range(n_vectors):
                    total = fma(builder, element, b_vectors[j], builder.load(sums[r, j]))
                    builder.store(total, sums[r, j])
        for r, j, place in places:
            builder.store(builder.load(sums[r, j]), as_vector(builder, place), align=4)
        return context.get_dummy_value()

    return types.void(
        rows, vectors, c, types.int64, types.int64, a, types.int64, types.int64, types.int64, b, types.int64,
        types.int64, types.int64,
    ), generate  # fmt: skip


@intrinsic
def _dot_lanes(typing_context: Any, a: Any, a_at: Any, b: Any, b_at: Any, size: Any) -> Any:
    """The part of a dot product that fills whole vectors; `size` is a multiple of LANES."""
    check_arrays(a, b)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a_base = pointer(context, builder, signature, arguments, 0, 1)
        b_base = pointer(context, builder, signature, arguments, 2, 3)
        sums = cgutils.alloca_once_value(builder, ir.Constant(VECTOR, [0.0] * LANES))
        vectors = builder.udiv(arguments[4], integer(LANES))
        with cgutils.for_range(builder, vectors) as loop:
            offset = builder.mul(loop.index, integer(LANES))
            x, y = (load_vector(builder, builder.gep(base, [offset])) for base in (a_base, b_base))
            builder.store(fma(builder, x, y, builder.load(sums)), sums)
        lanes = builder.load(sums)
        width = LANES
        while width > 1:
            width //= 2
            halves = [
                builder.shuffle_vector(lanes, lanes, ir.Constant(ir.VectorType(ir.IntType(32), width), places))
                for places in (list(range(width)), list(range(width, 2 * width)))
            ]
            lanes = builder.fadd(*halves)
        return builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))

    return types.float32(a, types.int64, b, types.int64, types.int64), generate
