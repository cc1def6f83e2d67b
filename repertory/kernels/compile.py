"""`@kernel`: Numba compilation with a disk cache and one optimisation for a kernel and all it calls (`dispatcher`).

These two build on Numba's internals. Where it has none of the kind, kernels are compiled as Numba does it for
everybody: in each process anew, and for longer, to the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

import numba
from numba.extending import overload, register_jitable

from repertory.kernels.changed_numba import warn_of_changes

Function = TypeVar("Function", bound=Callable[..., Any])

# No fastmath: the order of every sum is the one written down, so the same seed gives the same bits whether a
# kernel runs alone or inlined into another. `error_model="numpy"` spares a zero test on every division.
# All of them are said: what is left open, Numba takes over from whatever function is being compiled around a kernel.
OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": False,
    "forceinline": False,
    "boundscheck": bool(numba.config.BOUNDSCHECK),
}


def kernel(function: Function) -> Function:
    """Compile `function` with Numba, on first call, and keep the machine code on disk for later processes."""
    return _compiled(function, OPTIONS)


def inlined(function: Function) -> Function:
    """A kernel that is always made part of the kernels that call it: for small ones on the path of every step, where
    the compiler on its own would rather save space."""
    return _compiled(function, OPTIONS | {"forceinline": True})


def in_both(function: Function) -> Function:
    """A function that stays as it is in Python and becomes part of the kernels that call it."""
    return register_jitable(**_TAKEN_IN)(function)


def compiled_as(implementation: Any) -> Callable[[Function], Function]:
    """A function that stays as it is in Python and is `implementation`, an @intrinsic, in kernels."""

    def decorate(function: Function) -> Function:
        def call(*arguments: Any) -> Any:
            return implementation(*arguments)

        overload(function, jit_options=_TAKEN_IN, strict=False)(lambda *_arguments: call)
        function.compiled_as = implementation  # type: ignore[attr-defined]
        return function

    return decorate


def _compiled(function: Any, options: dict[str, Any]) -> Any:
    if numba.config.DISABLE_JIT:
        return function
    if _dispatcher is None:
        return numba.njit(**options)(function)
    return _dispatcher.Kernel(function, targetoptions={"nopython": True} | options)


def _import_dispatcher() -> ModuleType | None:
    """What builds on Numba's internals, if they are there and a kernel can be made of them."""
    try:
        from repertory.kernels import dispatcher

        dispatcher.Kernel(_import_dispatcher)
    except Exception as error:
        warn_of_changes(error, kept=False)
        return None
    return dispatcher


_dispatcher: Any = _import_dispatcher()
_TAKEN_IN = OPTIONS | {"forceinline": True} | ({"pipeline_class": _dispatcher.Compiler} if _dispatcher else {})
"""Options of functions that become part of the kernels that call them."""
