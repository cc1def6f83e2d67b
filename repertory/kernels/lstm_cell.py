"""The element-wise part of an LSTM step (Hochreiter and Schmidhuber, 1997; gates as in Keras and PyTorch).

    i, f, o = sigmoid(z_i, z_f, z_o);  g = tanh(z_g);  c_t = f c_{t-1} + i g;  h_t = o tanh(c_t)

A row of gates is i, f, g, o, each `units` wide.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

from numba.core import types
from numba.extending import intrinsic

from repertory.kernels.vector_math import check_arrays, constant, fma, for_each, integer, pointer, sigmoid, tanh


@intrinsic
def cell_forward(
    typing_context: Any, gates: Any, gates_at: Any, cells: Any, before_at: Any, cells_at: Any,
    tanhs: Any, tanhs_at: Any, hidden: Any, hidden_at: Any, units: Any,
) -> Any:  # fmt: skip
    """From a row of z, in place, to its gates; from c_{t-1} at `before_at` to c_t, tanh(c_t) and h_t."""
    check_arrays(gates, cells, tanhs, hidden)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = partial(pointer, context, builder, signature, arguments)
        units = arguments[9]
        z = [builder.gep(at(0, 1), [builder.mul(units, integer(k))]) for k in range(4)]

        def body(loaded: list[Any]) -> list[Any]:
            z_i, z_f, z_g, z_o, c_before = loaded
            i, f, o = (sigmoid(builder, part) for part in (z_i, z_f, z_o))
            g = tanh(builder, z_g)
            c = fma(builder, f, c_before, builder.fmul(i, g))
            t = tanh(builder, c)
            return [i, f, g, o, c, t, builder.fmul(o, t)]

        for_each(builder, units, [*z, at(2, 3)], body, [*z, at(2, 4), at(5, 6), at(7, 8)])
        return context.get_dummy_value()

    place = types.int64
    return types.void(gates, place, cells, place, place, tanhs, place, hidden, place, place), generate


@intrinsic
def cell_backward(
    typing_context: Any, gates: Any, gates_at: Any, cells: Any, before_at: Any, tanhs: Any, tanhs_at: Any,
    gradient_hidden: Any, hidden_at: Any, gradient_cells: Any, cells_at: Any, gradient_gates: Any, gradient_at: Any,
    units: Any,
) -> Any:  # fmt: skip
    """From the gradients in h_t and c_t to those in z and, in place, in c_{t-1}.

    dc += dh o (1 - tanh(c)^2);  dz_i = dc g i (1 - i);  dz_f = dc c_{t-1} f (1 - f);  dz_g = dc i (1 - g^2);
    dz_o = dh tanh(c) o (1 - o);  dc_{t-1} = dc f
    """
    check_arrays(gates, cells, tanhs, gradient_hidden, gradient_cells, gradient_gates)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = partial(pointer, context, builder, signature, arguments)

        def times(*factors: Any) -> Any:
            return reduce(builder.fmul, factors)

        units = arguments[12]
        offsets = [builder.mul(units, integer(k)) for k in range(4)]
        gates_places = [builder.gep(at(0, 1), [offset]) for offset in offsets]
        gradient_places = [builder.gep(at(10, 11), [offset]) for offset in offsets]
        gradient_c = at(8, 9)

        def body(loaded: list[Any]) -> list[Any]:
            i, f, g, o, c_before, t, dh, dc_after = loaded
            one = constant(i, 1.0)
            slope_t = builder.fsub(one, times(t, t))
            dc = fma(builder, times(dh, o), slope_t, dc_after)
            return [
                times(dc, g, i, builder.fsub(one, i)),
                times(dc, c_before, f, builder.fsub(one, f)),
                times(dc, i, builder.fsub(one, times(g, g))),
                times(dh, t, o, builder.fsub(one, o)),
                times(dc, f),
            ]

        sources = [*gates_places, at(2, 3), at(4, 5), at(6, 7), gradient_c]
        for_each(builder, units, sources, body, [*gradient_places, gradient_c])
        return context.get_dummy_value()

    place = types.int64
    return types.void(
        gates, place, cells, place, tanhs, place, gradient_hidden, place, gradient_cells, place, gradient_gates, place,
        place,
    ), generate  # fmt: skip
