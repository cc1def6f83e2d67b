"""Building blocks of vector code: what `product.py` and `lstm_cell.py` generate their loops from.

Code is generated for a vector of LANES floats or for a single float by the same functions, so that what is left over
at the end of a row is computed exactly as the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError

LANES = 16
"""Floats in a vector: the widest registers there are; narrower machines take each in parts."""
FLOAT = ir.FloatType()
VECTOR = ir.VectorType(FLOAT, LANES)
_INTEGERS = {False: ir.IntType(32), True: ir.VectorType(ir.IntType(32), LANES)}


def check_arrays(*arrays: Any) -> None:
    for array in arrays:
        if not (isinstance(array, types.Array) and array.dtype == types.float32 and array.layout == "C"):
            raise TypingError(f"needed: C-contiguous float32 arrays, not {array}")


def integer(value: int) -> Any:
    return ir.Constant(ir.IntType(64), value)


def pointer(context: Any, builder: Any, signature: Any, arguments: Any, array: int, at: int) -> Any:
    """Where element `arguments[at]` of the array `arguments[array]` is."""
    data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
    return builder.gep(data, [arguments[at]])


def as_vector(builder: Any, place: Any) -> Any:
    return builder.bitcast(place, VECTOR.as_pointer())


def load_vector(builder: Any, place: Any) -> Any:
    return builder.load(as_vector(builder, place), align=4)


def spread(builder: Any, scalar: Any) -> Any:
    """A vector that holds `scalar` in every lane."""
    undefined = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def constant(like: Any, value: float) -> Any:
    """A number as a float or as a vector, whichever `like` is."""
    return ir.Constant(VECTOR, [value] * LANES) if like.type == VECTOR else ir.Constant(FLOAT, value)


def fma(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """x y + z, rounded once."""
    return _call(builder, "llvm.fma", x, y, z)


def sigmoid(builder: Any, x: Any) -> Any:
    """1 / (1 + e^-x)."""
    one = constant(x, 1.0)
    return builder.fdiv(one, builder.fadd(one, exponential(builder, builder.fneg(x))))


def tanh(builder: Any, x: Any) -> Any:
    """1 - 2 / (1 + e^2x)."""
    one = constant(x, 1.0)
    grown = builder.fadd(one, exponential(builder, builder.fadd(x, x)))
    return builder.fsub(one, builder.fdiv(constant(x, 2.0), grown))


# e^r on |r| <= ln(2) / 2 as 1 + r + r^2 P(r): the polynomial of the Cephes library (Moshier), highest power first.
_EXPONENTIAL = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_LOG2_E = 1.44269504088896341
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4


def exponential(builder: Any, x: Any) -> Any:
    """e^x to about one part in ten million; beyond +-87 as at +-87."""
    x = _call(builder, "llvm.maxnum", _call(builder, "llvm.minnum", x, constant(x, 87.0)), constant(x, -87.0))
    n = _call(builder, "llvm.rint", builder.fmul(x, constant(x, _LOG2_E)))
    r = fma(builder, n, constant(x, -_LN2_HIGH), x)
    r = fma(builder, n, constant(x, -_LN2_LOW), r)
    p = constant(x, _EXPONENTIAL[0])
    for coefficient in _EXPONENTIAL[1:]:
        p = fma(builder, p, r, constant(x, coefficient))
    p = fma(builder, p, builder.fmul(r, r), builder.fadd(r, constant(x, 1.0)))
    return builder.fmul(p, _power_of_two(builder, n))


def _power_of_two(builder: Any, n: Any) -> Any:
    """2^n for a whole n, by writing the exponent's bits."""
    is_vector = n.type == VECTOR
    kind = _INTEGERS[is_vector]
    bias, shift = (ir.Constant(kind, [value] * LANES if is_vector else value) for value in (127, 23))
    bits = builder.shl(builder.add(builder.fptosi(n, kind), bias), shift)
    return builder.bitcast(bits, n.type)


def _call(builder: Any, name: str, *arguments: Any) -> Any:
    kind = arguments[0].type
    suffix = f"v{LANES}f32" if kind == VECTOR else "f32"
    function = ir.FunctionType(kind, [kind] * len(arguments))
    return builder.call(cgutils.get_or_insert_function(builder.module, function, f"{name}.{suffix}"), arguments)


def for_each(
    builder: Any, count: Any, sources: list[Any], body: Callable[[list[Any]], list[Any]], targets: list[Any]
) -> None:
    """targets[i] = body(sources[i]) for i < count: in vectors, then one by one."""
    whole = builder.sdiv(count, integer(LANES))
    with cgutils.for_range(builder, whole) as loop:
        at = builder.mul(loop.index, integer(LANES))
        loaded = [load_vector(builder, builder.gep(source, [at])) for source in sources]
        for value, target in zip(body(loaded), targets, strict=True):
            builder.store(value, as_vector(builder, builder.gep(target, [at])), align=4)
    done = builder.mul(whole, integer(LANES))
    with cgutils.for_range(builder, builder.sub(count, done)) as loop:
        at = builder.add(done, loop.index)
        loaded = [builder.load(builder.gep(source, [at])) for source in sources]
        for value, target in zip(body(loaded), targets, strict=True):
            builder.store(value, builder.gep(target, [at]))
