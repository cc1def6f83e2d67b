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

from repertory.kernels.cache import KernelCache, fingerprint

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
    return _Kernel(function, targetoptions={"nopython": True} | options)


class _Compiler(compiler.Compiler):
    """Names code by its content. Numba numbers functions in the order in which a process comes upon them, and tells
    closures of one function apart by that alone; code kept by one process would meet another's under the same name."""

    def define_pipelines(self) -> Any:
        identity = self.state.func_id
        identity.unique_id = f"{fingerprint(identity.func)[:16]}_{identity.unique_id}"
        return super().define_pipelines()


_TAKEN_IN = OPTIONS | {"forceinline": True, "pipeline_class": _Compiler}
"""Options of functions that become part of the kernels that call them."""


class _Kernel(CPUDispatcher):
    """A kernel as Python calls it. To other kernels it shows itself as a part."""

    def __init__(self, py_func: FunctionType, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions, _Compiler)
        self._cache = KernelCache(self, compiler.CompileResult._rebuild)
        self._part = _Part(py_func, locals, targetoptions)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self._part.get_overload(sig)


class _Part(CPUDispatcher):
    """A kernel as other kernels call it: translated for them to take in, never run by itself."""

    def __init__(self, py_func: FunctionType, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions, _PartCompiler)
        self._cache = KernelCache(self, _rebuild_part)

    def add_overload(self, cres: Any) -> None:
        if cres.entry_point is None:
            # Numba looks the code to call up by its address; any object that is unlike all others will do.
            cres = cres._replace(entry_point=object())
            self.targetctx.insert_user_function(cres.entry_point, cres.fndesc, [cres.library])
        _give_address(cres)
        self.overloads[tuple(cres.signature.args)] = cres


def _give_address(cres: Any) -> None:
    """Make the Python objects that a part refers to (what it raises, say) known to all code that will contain it."""
    name = cres.environment.env_name
    library = cres.codegen.create_library(f"environment of {cres.fndesc.qualname}")
    module = library.create_ir_module(library.name)
    cres.target_context.declare_env_global(module, name)
    library.add_ir_module(module)
    library.finalize()
    cres.codegen.set_env(name, cres.environment)


class _PartCompiler(_Compiler):
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
        entry_point=object(),
        environment=environment,
        fndesc=fndesc,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        reload_init=reload_init,
        referenced_envs=environments,
    )
