"""`@kernel`: Numba compilation with a disk cache (`cache`) and one optimisation for a kernel and all it calls.

Left to itself, Numba optimises every kernel and turns it into machine code, and does it all again for each kernel
that calls it: an episode contains a learner's step, which contains its update, which contains its gradient, which
contains the network, and the network's code was worked on once for each of these. Here a kernel that is called by
another is only translated (`_Part`); optimisation and machine code come once, for the kernel that Python calls.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

import numba
from llvmlite import binding as llvm
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import CPUDispatcher
from numba.extending import overload, register_jitable

from repertory.kernels.cache import KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])

# No fastmath: the order of every sum is the one written down, so the same seed gives the same bits whether a
# kernel runs alone or inlined into another. `error_model="numpy"` spares a zero test on every division.
OPTIONS: dict[str, Any] = {"error_model": "numpy"}


def kernel(function: Function) -> Function:
    """Compile `function` with Numba, on first call, and keep the machine code on disk for later processes."""
    return _compiled(function, OPTIONS)


def inlined(function: Function) -> Function:
    """A kernel that is always made part of the kernels that call it: for small ones on the path of every step, where
    the compiler on its own would rather save space."""
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


def _compiled(function: Any, options: dict[str, Any]) -> Any:
    if numba.config.DISABLE_JIT:
        return function
    return _Kernel(function, targetoptions={"nopython": True, "boundscheck": None} | options)


class _Kernel(CPUDispatcher):
    """A kernel as Python calls it. To other kernels it shows itself as a part."""

    def __init__(self, py_func: FunctionType, *arguments: Any, **options: Any) -> None:
        super().__init__(py_func, *arguments, **options)
        self._cache = KernelCache(self, compiler.CompileResult._rebuild)
        self._part = _Part(py_func, *arguments, **options, pipeline_class=_PartCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self._part.get_overload(sig)

    def add_overload(self, cres: Any) -> None:
        super().add_overload(cres)
        for environment in cres._find_referenced_environments():  # those of its parts, which never had an address
            cres.codegen.set_env(environment.env_name, environment)


class _Part(CPUDispatcher):
    """A kernel as other kernels call it: translated for them to take in, never run by itself."""

    def __init__(self, py_func: FunctionType, *arguments: Any, **options: Any) -> None:
        super().__init__(py_func, *arguments, **options)
        self._cache = KernelCache(self, _rebuild_part)

    def add_overload(self, cres: Any) -> None:
        # Numba looks the code to call up by its address; any object that is unlike all others will do.
        cres = cres._replace(entry_point=object())
        self.targetctx.insert_user_function(cres.entry_point, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres


class _PartCompiler(compiler.Compiler):
    def define_pipelines(self) -> Any:
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.flags.no_compile = True
        self.state.flags.no_cpython_wrapper = True
        self.state.flags.no_cfunc_wrapper = True
        return super().define_pipelines()


class _PartLibrary(JITCodeLibrary):
    """The code of a part and of all it calls, as translated."""

    def _optimize_final_module(self) -> None: ...

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, bytes]:
        """What a cache keeps of it: there is no object code, but that is what Numba asks for."""
        self._ensure_finalized()
        return self.name, self._final_module.as_bitcode()

    @classmethod
    def rebuild(cls, codegen: Any, name: str, bitcode: bytes) -> _PartLibrary:
        library = cls(codegen, name)
        library._final_module = llvm.parse_bitcode(bitcode)
        library._finalize_final_module()
        return library


def _rebuild_part(target_context: Any, code: tuple[str, bytes], *described: Any) -> Any:
    """The counterpart of `CompileResult._reduce` for a part."""
    fndesc, environment, signature, objectmode, lifted, annotation, reload_init, environments = described
    return compiler.compile_result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=_PartLibrary.rebuild(target_context.codegen(), *code),
        environment=environment,
        fndesc=fndesc,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        reload_init=reload_init,
        referenced_envs=environments,
    )
