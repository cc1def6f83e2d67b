"""Kernels as other kernels call them: translated, and left to be optimised together with whoever calls them.

Left to itself, Numba optimises every kernel and turns it into machine code, and does it all again for each kernel
that calls it: an episode contains a learner's step, which contains its update, which contains its gradient, which
contains the network, and the network's code was worked on once for each of these. Here a kernel that is called by
another is only translated; optimisation and machine code come once, for the kernel that Python calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding as llvm
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import CPUDispatcher

from repertory.kernels.cache import KernelCache
from repertory.kernels.dispatcher import Compiler


class Part(CPUDispatcher):
    """A kernel as other kernels call it: translated for them to take in, never run by itself."""

    def __init__(self, py_func: Callable[..., Any], locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals or {}, targetoptions or {}, PartCompiler)
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


class PartCompiler(Compiler):
    def define_pipelines(self) -> Any:
        self.state.library = PartLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.flags.no_compile = True
        self.state.flags.no_cpython_wrapper = True
        self.state.flags.no_cfunc_wrapper = True
        return super().define_pipelines()


class PartLibrary(JITCodeLibrary):
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
    def rebuild(cls, codegen: Any, name: str, bitcode: bytes) -> PartLibrary:
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
        library=PartLibrary.rebuild(target_context.codegen(), *code),
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
