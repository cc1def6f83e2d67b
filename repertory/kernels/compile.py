"""`@kernel`: Numba compilation with a disk cache whose key covers everything a kernel calls.

Numba's own cache looks only at the file a function stands in: after an edit to an inner kernel, a cached
outer kernel goes on running the old code. It also never finds again a function that was handed other
functions, which is how an episode is put together from a domain's and a learner's kernels. Here the key is
a fingerprint of the kernel's code, of every kernel and constant it reaches, of the signature, of the CPU and
of Numba itself; there is one file per key, so nothing can be stale and no two processes can mix files up.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import llvmlite
import numba
import numpy as np
from numba.core import compiler, serialize
from numba.core.errors import NumbaWarning
from numba.extending import overload, register_jitable

Function = TypeVar("Function", bound=Callable[..., Any])

# No fastmath: the order of every sum is the one written down, so the same seed gives the same bits whether a
# kernel runs alone or inlined into another. `error_model="numpy"` spares a zero test on every division.
OPTIONS: dict[str, Any] = {"error_model": "numpy"}

_types: Any = numba.core.types
_FLAGS = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")
"""Settings of Numba's own that change the code it makes."""
_CHECKSUM_SIZE = hashlib.sha256().digest_size


def kernel(function: Function) -> Function:
    """Compile `function` with Numba, on first call, and keep the machine code on disk for later processes."""
    return _compiled(function, OPTIONS)


def inlined(function: Function) -> Function:
    """A kernel that is always made part of the kernels that call it: for small ones on the path of every step, where
    the compiler on its own would rather save space. The time to compile grows with every one."""
    return _compiled(function, OPTIONS | {"forceinline": True})


def in_both(function: Function) -> Function:
    """A function that stays as it is in Python and becomes part of the kernels that call it."""
    return register_jitable(**OPTIONS, forceinline=True)(function)


def compiled_as(implementation: Any) -> Callable[[Function], Function]:
    """A function that stays as it is in Python and is `implementation`, an @intrinsic, in kernels."""

    def decorate(function: Function) -> Function:
        def call(*arguments: Any) -> Any:
            return implementation(*arguments)

        overload(function, jit_options=OPTIONS | {"forceinline": True}, strict=False)(lambda *_arguments: call)
        function.compiled_as = implementation  # type: ignore[attr-defined]
        return function

    return decorate


def _compiled(function: Function, options: dict[str, Any]) -> Function:
    dispatcher: Any = numba.njit(**options)(function)
    dispatcher._cache = _KernelCache(function)
    return dispatcher


def cache_folder() -> Path:
    """Where compiled kernels are kept: $NUMBA_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # a user without a home, as in some containers
        base = Path(tempfile.gettempdir()) / f"user-{os.getuid()}"
    return base / "repertory" / "kernels"


def fingerprint(function: FunctionType) -> str:
    """A hash of a function's code and, transitively, of the kernels and constants it refers to."""
    digest = hashlib.sha256()
    for line in _describe_function(function, seen=set()):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


class _KernelCache:
    """What a Numba dispatcher asks of its cache: load or save the machine code of one signature."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._fingerprint: str | None = None

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        target_context.refresh()
        path = self._path(signature, target_context.codegen())
        try:
            content = path.read_bytes()
        except OSError:
            return None
        checksum, payload = content[:_CHECKSUM_SIZE], content[_CHECKSUM_SIZE:]
        if hashlib.sha256(payload).digest() != checksum:  # a damaged file is worth a compilation, not a failure
            return None
        return compiler.CompileResult._rebuild(target_context, *pickle.loads(payload))

    def save_overload(self, signature: Any, result: Any) -> None:
        if result.library.has_dynamic_globals or any(not lifted.can_cache for lifted in result.lifted):
            warnings.warn(f"kernel {self._function.__qualname__} cannot be cached", NumbaWarning, stacklevel=2)
            return
        path = self._path(signature, result.codegen)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            payload = serialize.dumps(result._reduce())
            _write_atomically(path, hashlib.sha256(payload).digest() + payload)
        except OSError:  # a read-only home: compile again next time
            return

    def _path(self, signature: Any, codegen: Any) -> Path:
        if self._fingerprint is None:  # not at decoration: what a kernel refers to may be defined below it
            self._fingerprint = fingerprint(self._function)
        versions = (numba.__version__, llvmlite.__version__, np.__version__)
        flags = (sorted(OPTIONS.items()), [getattr(numba.config, flag) for flag in _FLAGS])
        kinds = [_describe_type(kind) for kind in signature]
        key = repr((self._fingerprint, kinds, codegen.magic_tuple(), versions, flags))
        name = self._function.__qualname__.rsplit(".", 1)[-1]
        return cache_folder() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:40]}.nbc"

    # Numba also offers to switch a cache off and on; a key that is never stale needs neither.
    def enable(self) -> None: ...
    def disable(self) -> None: ...
    def flush(self) -> None: ...


def _describe_type(kind: Any) -> str:
    """A Numba type in full. Its own text leaves out the field names of tuples, which decide what `x.field` means."""
    if isinstance(kind, _types.BaseNamedTuple):
        parts = [f"{name}: {_describe_type(part)}" for name, part in zip(kind.fields, kind.types, strict=True)]
        return f"{kind.instance_class.__module__}.{kind.instance_class.__qualname__}({', '.join(parts)})"
    if isinstance(kind, _types.BaseTuple):
        return f"({', '.join(_describe_type(part) for part in kind)})"
    if isinstance(kind, _types.StructRef):
        parts = [f"{name}: {_describe_type(part)}" for name, part in kind._fields]
        return f"{type(kind).__qualname__}({', '.join(parts)})"
    return str(kind)


def _write_atomically(path: Path, payload: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "wb") as file:
        file.write(payload)
    os.replace(temporary, path)


def _describe_function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    if id(function) in seen:
        yield f"again {function.__qualname__}"
        return
    seen.add(id(function))
    yield f"function {function.__module__}.{function.__qualname__} {function.__defaults__!r}"
    code = function.__code__
    yield from _describe_code(code)
    for name in sorted(_names(code)):
        if name in function.__globals__:
            yield from _describe_value(name, function.__globals__[name], code, seen)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield from _describe_value(name, cell.cell_contents, code, seen)


def _describe_code(code: CodeType) -> Iterator[str]:
    yield f"code {code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _describe_code(constant)
        else:
            yield f"constant {constant!r}"


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def _describe_value(name: str, value: Any, code: CodeType, seen: set[int]) -> Iterator[str]:
    """Follow kernels and functions, spell out constants, name the rest."""
    inner = getattr(value, "py_func", None) or getattr(value, "_defn", None)  # a kernel, or an @intrinsic
    if isinstance(inner, FunctionType):
        yield from _describe_function(inner, seen)
        yield f"options {sorted(getattr(value, 'targetoptions', {}).items())}"
    elif isinstance(value, FunctionType):
        yield from _describe_function(value, seen)
        if hasattr(value, "compiled_as"):
            yield from _describe_value(name, value.compiled_as, code, seen)
    elif isinstance(value, ModuleType):
        yield f"{name} is module {value.__name__}"
        for attribute in sorted(_names(code)):
            used = getattr(value, attribute, None)
            if used is not None and not isinstance(used, ModuleType) and id(used) not in seen:
                yield from _describe_value(f"{name}.{attribute}", used, code, seen)
    elif isinstance(value, np.ndarray):
        yield f"{name} is array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, (bool, int, float, complex, str, bytes, tuple, np.generic, type(None))):
        yield f"{name} is {value!r}"
    elif isinstance(value, type):
        yield f"{name} is class {value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
    else:
        yield f"{name} is a {type(value).__module__}.{type(value).__qualname__}"
