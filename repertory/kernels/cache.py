"""The disk cache of compiled kernels, whose key covers everything a kernel calls.

Numba's own cache looks only at the file a function stands in: after an edit to an inner kernel, a cached
outer kernel goes on running the old code. It also never finds again a function that was handed other
functions, which is how an episode is put together from a domain's and a learner's kernels. Here the key is
a fingerprint of the kernel's code, of every kernel and constant it reaches, of the signature, of the CPU and
of Numba itself; there is one file per key, so nothing can be stale and no two processes can mix files up.

Files are pickles, which can run anything: only those that the user made are loaded (`own_files`). Whatever is wrong
with a file or with the folder costs a compilation, never a failure.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import serialize
from numba.core.errors import NumbaWarning

from repertory.kernels.own_files import NotOwn, make_own_folder, read_own, write_own

_types: Any = numba.core.types
_FLAGS = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")
"""Settings of Numba's own that change the code it makes."""
FORMAT = 4
"""Of the files; a new number whenever `compile` keeps something else in them."""
_DIGEST_SIZE = hashlib.sha256().digest_size


def cache_folder() -> Path | None:
    """Where compiled kernels are kept: $NUMBA_CACHE_DIR, or the user's cache folder; None for a user without a home."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home, as in some containers; a folder that all users share would be no safe place
        return None
    return base / "repertory" / "kernels"


def fingerprint(function: FunctionType) -> str:
    """A hash of a function's code and, transitively, of the kernels and constants it refers to."""
    digest = hashlib.sha256()
    for line in _describe_function(function, seen=set()):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def fingerprint_of_types(kinds: Sequence[Any]) -> str:
    """A hash of Numba types, the same in every process."""
    return hashlib.sha256(repr([_describe_type(kind) for kind in kinds]).encode()).hexdigest()


class KernelCache:
    """What a Numba dispatcher asks of its cache: load or save the machine code of one signature."""

    def __init__(self, dispatcher: Any, rebuild: Callable[..., Any]) -> None:
        """`rebuild` makes a compilation's result again of what its `_reduce` gave."""
        self._function = dispatcher.py_func
        self._form = (type(dispatcher).__name__, sorted(dispatcher.targetoptions.items()))
        self.rebuild = rebuild
        self._fingerprint: str | None = None

    @property
    def cache_path(self) -> str | None:
        folder = cache_folder()
        return None if folder is None else str(folder)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            return self.load(signature, target_context)
        except Exception as error:
            _warn_once("load", f"a kept kernel cannot be used ({error!r}); compiling again")
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        try:
            self.save(signature, result)
        except Exception as error:
            _warn_once("save", f"a compiled kernel cannot be kept on disk ({error!r})")

    def load(self, signature: Any, target_context: Any) -> Any:
        """What was kept, or None; raises if it cannot be used."""
        target_context.refresh()
        key = self._key(signature, target_context.codegen())
        content = self._read(self._file_name(key)) or b""
        checksum, payload = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        if hashlib.sha256(payload).digest() != checksum or not payload.startswith(key):  # damaged, or another's
            return None
        return self.rebuild(target_context, *pickle.loads(payload[_DIGEST_SIZE:]))

    def save(self, signature: Any, result: Any) -> None:
        if result.library.has_dynamic_globals or any(not lifted.can_cache for lifted in result.lifted):
            warnings.warn(f"kernel {self._function.__qualname__} cannot be cached", NumbaWarning, stacklevel=2)
            return
        key = self._key(signature, result.codegen)
        payload = key + serialize.dumps(result._reduce())
        self._write(self._file_name(key), hashlib.sha256(payload).digest() + payload)

    def _read(self, name: str) -> bytes | None:
        folder = _usable_folder()
        return None if folder is None else read_own(folder / name)

    def _write(self, name: str, content: bytes) -> None:
        folder = _usable_folder()
        if folder is None:
            return
        try:
            write_own(folder / name, content)
        except OSError:  # a full disk, say: compile again next time
            return

    def _key(self, signature: Any, codegen: Any) -> bytes:
        if self._fingerprint is None:  # not at decoration: what a kernel refers to may be defined below it
            self._fingerprint = fingerprint(self._function)
        versions = (numba.__version__, llvmlite.__version__, np.__version__)
        flags = [getattr(numba.config, flag) for flag in _FLAGS]
        kinds = [_describe_type(kind) for kind in signature]
        key = repr((FORMAT, self._form, self._fingerprint, kinds, codegen.magic_tuple(), versions, flags))
        return hashlib.sha256(key.encode()).digest()

    def _file_name(self, key: bytes) -> str:
        name = self._function.__qualname__.rsplit(".", 1)[-1]
        return f"{name}-{key.hex()[:40]}.nbc"

    # Numba also offers to switch a cache off and on; a key that is never stale needs neither.
    def enable(self) -> None: ...
    def disable(self) -> None: ...
    def flush(self) -> None: ...


def _usable_folder() -> Path | None:
    """The cache folder, made if need be; None, and one warning, if there can be none or it is not the user's own."""
    folder = cache_folder()
    try:
        if folder is None:
            raise NotOwn("this user has no home folder")
        make_own_folder(folder)
    except (OSError, NotOwn) as error:
        _warn_once(
            "folder",
            f"compiled kernels are not kept on disk: {error}; next: set NUMBA_CACHE_DIR to a folder that only you "
            "can write to",
        )
        return None
    return folder


_warned: set[str] = set()


def _warn_once(trouble: str, message: str) -> None:
    """Once in a process: what troubles one kernel troubles most of them."""
    if trouble not in _warned:
        _warned.add(trouble)
        warnings.warn(message, NumbaWarning, stacklevel=2)


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
            with warnings.catch_warnings():  # of old names that a module still has, which no kernel need mean
                warnings.simplefilter("ignore")
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
