"""Small matrix products at the speed of the machine: c = a b with a block of c held in registers.

At the sizes of this field (ten rows, eighty columns) a general library spends longer on the call than on the work,
and a compiled loop spends it on loading and storing partial sums. Here a block of four rows by eighty columns stays
in vector registers while the sum runs. Sums are taken in the order k = 0, 1, 2, ... with fused multiply-adds,
whatever the block, so a result does not depend on how many rows stand beside it, nor on the machine.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import NDArray

from repertory.kernels.compile import inlined, kernel
from repertory.kernels.vector_math import (
    FLOAT,
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

FROM_ZERO, FROM_C, FROM_BIAS = range(3)
LOWEST = np.float32(-np.inf)
_ZERO = np.float32(0.0)

_ZEROS = ir.Constant(VECTOR, [0.0] * LANES)

Array = NDArray[np.float32]


def _make_strip(rows: int) -> Any:
    """A few rows of a product, in some of its columns: one block as wide as there are registers for, or what is left
    over, in blocks of single vectors and of single elements."""

    @inlined
    def strip(
        c: Array, c_at: int, c_stride: int, begins: int, bias: Array, lowest: np.float32,
        a: Array, a_at: int, a_row: int, a_step: int, b: Array, b_stride: int, first: int, end: int, steps: int,
    ) -> None:  # fmt: skip
        if end - first == WIDE:
            _block(
                rows, BLOCKVECTORS, c, c_at + first, c_stride, begins, bias, lowest,
                a, a_at, a_row, a_step, b, first, b_stride, steps,
            )  # fmt: skip
            return
        whole = end - (end - first) % LANES
        for j in range(first, whole, LANES):
            _block(rows, 1, c, c_at + j, c_stride, begins, bias, lowest, a, a_at, a_row, a_step, b, j, b_stride, steps)
        for r in range(rows):
            for j in range(whole, end):
                total = _ZERO
                if begins == FROM_C:
                    total = c.flat[c_at + r * c_stride + j]
                elif begins == FROM_BIAS:
                    total = bias.flat[j]
                for k in range(steps):
                    total = fused(a.flat[a_at + r * a_row + k * a_step], b.flat[k * b_stride + j], total)
                c.flat[c_at + r * c_stride + j] = lowest if total < lowest else total

    return strip


_four_rows, _two_rows, _one_row = _make_strip(4), _make_strip(2), _make_strip(1)


@kernel
def _product(
    c: Array, c_stride: int, begins: int, bias: Array, lowest: np.float32,
    a: Array, a_row: int, a_step: int, b: Array, b_stride: int, rows: int, columns: int, steps: int,
) -> None:  # fmt: skip
    """c = max(first + a b, lowest), where `begins` says what is first: zero, c itself or a bias of the columns.

    Columns outside, rows inside: the part of b that a block needs stays in the nearest cache for all rows.
    One kernel for all of them: each copy of the blocks takes seconds to compile.
    """
    first = 0
    while first < columns:
        end = min(first + WIDE, columns)
        i = 0
        while i < rows:
            at, a_at = i * c_stride, i * a_row
            if rows - i >= 4:
                _four_rows(
                    c, at, c_stride, begins, bias, lowest, a, a_at, a_row, a_step, b, b_stride, first, end, steps
                )
                i += 4
            elif rows - i >= 2:
                _two_rows(c, at, c_stride, begins, bias, lowest, a, a_at, a_row, a_step, b, b_stride, first, end, steps)
                i += 2
            else:
                _one_row(c, at, c_stride, begins, bias, lowest, a, a_at, a_row, a_step, b, b_stride, first, end, steps)
                i += 1
        first = end


@inlined
def set_product(
    c: Array, c_stride: int, a: Array, a_row: int, a_step: int, b: Array, b_stride: int,
    rows: int, columns: int, steps: int,
) -> None:  # fmt: skip
    """c[i, j] = sum over k of a[i, k] b[k, j], for i < rows, j < columns, k < steps.

    The arrays are C-contiguous and read by strides, in elements: c[i, j] is at i * c_stride + j, a[i, k] at
    i * a_row + k * a_step, b[k, j] at k * b_stride + j. A transposed a is a matter of strides.
    """
    _product(c, c_stride, FROM_ZERO, c, LOWEST, a, a_row, a_step, b, b_stride, rows, columns, steps)


@inlined
def add_product(
    c: Array, c_stride: int, a: Array, a_row: int, a_step: int, b: Array, b_stride: int,
    rows: int, columns: int, steps: int,
) -> None:  # fmt: skip
    """c[i, j] += sum over k of a[i, k] b[k, j]; otherwise as `set_product`."""
    _product(c, c_stride, FROM_C, c, LOWEST, a, a_row, a_step, b, b_stride, rows, columns, steps)


@inlined
def affine(x: Array, w: Array, bias: Array, y: Array, rows: int) -> None:
    """y = x w + bias."""
    inputs, outputs = w.shape
    _product(y, outputs, FROM_BIAS, bias, LOWEST, x, inputs, 1, w, outputs, rows, outputs, inputs)


@inlined
def rectified_affine(x: Array, w: Array, bias: Array, y: Array, rows: int) -> None:
    """y = max(x w + bias, 0)."""
    inputs, outputs = w.shape
    _product(y, outputs, FROM_BIAS, bias, _ZERO, x, inputs, 1, w, outputs, rows, outputs, inputs)


@inlined
def rectified_add_product(y: Array, x: Array, w: Array, rows: int) -> None:
    """y = max(y + x w, 0), of as many rows of w as x has columns."""
    inputs, outputs = x.shape[1], w.shape[1]
    _product(y, outputs, FROM_C, y, _ZERO, x, inputs, 1, w, outputs, rows, outputs, inputs)


@inlined
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
    typing_context: Any, rows: Any, vectors: Any, c: Any, c_at: Any, c_stride: Any, begins: Any, bias: Any, lowest: Any,
    a: Any, a_at: Any, a_row: Any, a_step: Any, b: Any, b_at: Any, b_stride: Any, steps: Any,
) -> Any:  # fmt: skip
    """A block of `rows` by `vectors` x LANES of c, both literal, from places `*_at` on."""
    if not (isinstance(rows, types.IntegerLiteral) and isinstance(vectors, types.IntegerLiteral)):
        raise TypingError("a block's size is written in the code")
    check_arrays(c, bias, a, b)
    n_rows, n_vectors = rows.literal_value, vectors.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = partial(pointer, context, builder, signature, arguments)
        c_base, bias_base, a_base, b_base = at(2, 3), at(6, 13), at(8, 9), at(12, 13)
        c_stride, begins, lowest, a_row, a_step, b_stride, steps = (arguments[k] for k in (4, 5, 7, 10, 11, 14, 15))
        first_base, first_stride = _first(builder, begins, c_base, c_stride, bias_base)
        c_rows, first_rows, a_rows = (
            [builder.gep(base, [builder.mul(stride, integer(r))]) for r in range(n_rows)]
            for base, stride in ((c_base, c_stride), (first_base, first_stride), (a_base, a_row))
        )
        places = [(r, j) for r in range(n_rows) for j in range(n_vectors)]
        sums = {}
        for r, j in places:
            first = load_vector(builder, builder.gep(first_rows[r], [integer(j * LANES)]))
            sums[r, j] = cgutils.alloca_once_value(builder, first)
        with cgutils.for_range(builder, steps) as loop:
            b_row = builder.gep(b_base, [builder.mul(loop.index, b_stride)])
            b_vectors = [load_vector(builder, builder.gep(b_row, [integer(j * LANES)])) for j in range(n_vectors)]
            a_offset = builder.mul(loop.index, a_step)
            for r in range(n_rows):
                element = spread(builder, builder.load(builder.gep(a_rows[r], [a_offset])))
                for j in range(n_vectors):
                    total = fma(builder, element, b_vectors[j], builder.load(sums[r, j]))
                    builder.store(total, sums[r, j])
        bound = spread(builder, lowest)
        for r, j in places:
            total = builder.load(sums[r, j])
            total = builder.select(builder.fcmp_ordered("<", total, bound), bound, total)  # NaN stays NaN
            builder.store(total, as_vector(builder, builder.gep(c_rows[r], [integer(j * LANES)])), align=4)
        return context.get_dummy_value()

    place = types.int64
    return types.void(
        rows, vectors, c, place, place, place, bias, types.float32, a, place, place, place, b, place, place, place
    ), generate


def _first(builder: Any, begins: Any, c_base: Any, c_stride: Any, bias_base: Any) -> tuple[Any, Any]:
    """Where the sums of a block begin from, and how far it is to the next row's."""
    zeros = cgutils.global_constant(builder.module, "zeros", ir.Constant(ir.ArrayType(FLOAT, WIDE), [0.0] * WIDE))
    from_c, from_bias = (builder.icmp_signed("==", begins, integer(kind)) for kind in (FROM_C, FROM_BIAS))
    base = builder.select(from_bias, bias_base, builder.bitcast(zeros, bias_base.type))
    return builder.select(from_c, c_base, base), builder.select(from_c, c_stride, integer(0))


@intrinsic
def _dot_lanes(typing_context: Any, a: Any, a_at: Any, b: Any, b_at: Any, size: Any) -> Any:
    """The part of a dot product that fills whole vectors; `size` is a multiple of LANES."""
    check_arrays(a, b)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a_base = pointer(context, builder, signature, arguments, 0, 1)
        b_base = pointer(context, builder, signature, arguments, 2, 3)
        sums = cgutils.alloca_once_value(builder, _ZEROS)
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
