"""Kernels as dispatchers of Numba's: kept on disk (`cache`), and translated only once for all that call them (`parts`).

This builds on Numba's internals, which any version may change. So the first compilation of a process begins with a
rehearsal on small kernels; what fails there is done without, after a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import cached_property
from typing import Any

from numba.core import compiler
from numba.core.registry import CPUDispatcher

from repertory.kernels.cache import KernelCache, fingerprint, fingerprint_of_types
from repertory.kernels.changed_numba import warn_of_changes


class Way(IntEnum):
    """How kernels are compiled."""

    PLAIN = 0
    """As Numba does it for everybody, in each process anew."""
    KEPT = 1
    """The same, once for all processes."""
    PARTS = 2
    """Optimised once as well, in one go with all that they call."""


class Compiler(compiler.Compiler):
    """Names code by its content and by the types that it is for. Numba numbers functions, and types of records, in the
    order in which a process comes upon them, and tells closures of one function, and code for records of different
    fields, apart by that alone; code kept by one process would meet another's under the same name."""

    def define_pipelines(self) -> Any:
        if way() >= Way.KEPT:
            identity = self.state.func_id
            kinds = fingerprint_of_types(self.state.args)
            identity.unique_id = f"{fingerprint(identity.func)[:16]}_{kinds[:16]}_{identity.unique_id}"
        return super().define_pipelines()


class Kernel(CPUDispatcher):
    """A kernel as Python calls it. To other kernels it shows itself as a part."""

    def __init__(self, py_func: Callable[..., Any], locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals or {}, targetoptions or {}, Compiler)  # Numba 0.61 takes no None for none
        self._cache = _Cache(self, _rebuild)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._called.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self._called.get_overload(sig)

    @property
    def _called(self) -> Any:
        """As other kernels call it."""
        return self._part if way() is Way.PARTS else super()

    @cached_property
    def _part(self) -> Any:
        from repertory.kernels.parts import Part  # it may not be there: the rehearsal finds out

        return Part(self.py_func, self.locals, self.targetoptions)


class _Cache(KernelCache):
    def save_overload(self, signature: Any, result: Any) -> None:
        if way() >= Way.KEPT:
            super().save_overload(signature, result)


def _rebuild(target_context: Any, *reduced: Any) -> Any:
    return compiler.CompileResult._rebuild(target_context, *reduced)


_way: Way | None = None


def way() -> Way:
    """The best that this Numba allows, found out by the first compilation."""
    global _way
    if _way is None:
        _way = Way.PARTS  # what is compiled in a rehearsal asks for it
        trouble = _trouble_in_rehearsal()
        if trouble is not None:
            _way = Way.KEPT
            if _trouble_in_rehearsal() is not None:
                _way = Way.PLAIN
            warn_of_changes(trouble, kept=_way is Way.KEPT)
    return _way


def _trouble_in_rehearsal() -> Exception | None:
    try:
        _rehearse()
    except Exception as error:
        return error
    return None


def _rehearse() -> None:
    """Compile kernels that call another, as one process would, and once more as a second one with the first one's files
    would; raise an exception if anything is not as it should be."""
    files: dict[str, bytes] = {}
    for second in (False, True):
        double = _rehearsed(_double, files)
        one_more, one_less = (_rehearsed(caller, files) for caller in _callers(double))
        values = [one_more(3.0), one_less(3.0)] if second else [one_more(3.0), 5.0]
        if values != [7.0, 5.0]:
            raise RuntimeError(f"kernels give {values}")
        names = [result.fndesc.mangled_name for result in one_more.overloads.values()]
        if not all(fingerprint(one_more.py_func)[:16] in name for name in names):
            raise RuntimeError(f"kernels are called {names}")
    called = double._part if way() is Way.PARTS else double
    if not one_more.stats.cache_hits or not called.stats.cache_hits:
        raise RuntimeError("kept kernels are not found again")
    try:
        raise RuntimeError(f"instead of an error, kernels give {one_less(-3.0)}")
    except ValueError as error:
        if error.args != ("negative", -3.0):
            raise RuntimeError(f"kernels raise {error!r}") from None


def _double(x: float) -> float:
    if x < 0.0:
        raise ValueError("negative", x)
    return 2.0 * x


def _callers(function: Any) -> tuple[Callable[[float], float], Callable[[float], float]]:
    def one_more(x: float) -> float:
        return function(x) + 1.0

    def one_less(x: float) -> float:
        return function(x) - 1.0

    return one_more, one_less


def _rehearsed(function: Any, files: dict[str, bytes]) -> Any:
    made: Any = Kernel(function, targetoptions={"nopython": True})
    for dispatcher in (made, made._part) if way() is Way.PARTS else (made,):
        dispatcher._cache = _Rehearsal(dispatcher, dispatcher._cache.rebuild, files)
    return made


class _Rehearsal(KernelCache):
    """Keeps what is compiled in memory, and lets every trouble be known."""

    def __init__(self, dispatcher: Any, rebuild: Callable[..., Any], files: dict[str, bytes]) -> None:
        super().__init__(dispatcher, rebuild)
        self._files = files

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        return self.load(signature, target_context)

    def save_overload(self, signature: Any, result: Any) -> None:
        self.save(signature, result)

    def _read(self, name: str) -> bytes | None:
        return self._files.get(name)

    def _write(self, name: str, content: bytes) -> None:
        self._files[name] = content
