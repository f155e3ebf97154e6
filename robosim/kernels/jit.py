"""How kernels are compiled: cached, without the interpreter lock, floats as in C.

An `entry` is called from Python, a `kernel` by other kernels only. A `stage` is called from one
place and becomes part of its caller. None of them raises: a division by zero gives inf or nan.

numba would make each kernel a wrapper for Python, cache it, optimize it with all that it calls,
again at every level of the nest, and make machine code of it that nobody runs. `KernelLibrary`
spares all that: entries are optimized, compiled and cached as a whole, in two thirds of the time.

Kernels may take it that no two of their arguments lead to memory that one of them writes
(`tests/unit/test_kernel_arguments.py` holds them to it), and that only entries are called from
elsewhere. So numbers stay in registers over what is written, and arguments that nobody uses, or
that are the same in all calls, are not passed: a quarter of the time of a standing A1.

numba's cache looks at the file of the function that is called, and would go on serving it after
a kernel that it calls in another file has changed. So the cache is kept in a folder that is named
after a hash of all kernel sources, and of `model.py`, whose constants are compiled into them.
"""

import hashlib
import os
from pathlib import Path

from llvmlite.binding import Linkage
from numba import config, njit
from numba.core import types
from numba.core.analysis import dead_branch_prune
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.untyped_passes import DeadBranchPrune

OPTIONS = {"error_model": "numpy", "nogil": True, "_nrt": False}


def cache_folder() -> str:
    """Where the compiled kernels of exactly these sources are kept."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in (*sorted(here.glob("*.py")), here.parent / "model.py"):
        digest.update(source.read_bytes())
    base = config.CACHE_DIR
    if not base and os.access(here, os.W_OK):
        base = here / "__pycache__"
    elif not base:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "robosim"
    return str(Path(base) / f"kernels-{digest.hexdigest()[:16]}")


FOLDER = cache_folder()


def compiler(**options):
    """A decorator like njit whose functions are cached in `FOLDER`."""

    def decorate(function):
        before = config.CACHE_DIR
        config.CACHE_DIR = FOLDER
        try:
            return njit(**OPTIONS, **options)(function)
        finally:
            config.CACHE_DIR = before

    return decorate


class NoEnvironment:
    """A code generator that keeps no Python objects for what it generates: kernels use none."""

    def __init__(self, codegen):
        self._codegen = codegen

    def __getattr__(self, name):
        return getattr(self._codegen, name)

    def set_env(self, env_name, env):
        pass


class KernelLibrary(JITCodeLibrary):
    """What a kernel is compiled to: code to be put into its callers, which nothing else runs.

    It is neither optimized nor made into machine code by itself; its last callers, the entries, are
    so as a whole.
    """

    @property
    def codegen(self):
        return NoEnvironment(self._codegen)

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class EntryLibrary(JITCodeLibrary):
    """What an entry is compiled to, with all kernels that it calls as its own."""

    def _optimize_final_module(self):
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = "internal"
        super()._optimize_final_module()


class Something:
    """An argument that is not None, in the way that numba's pruning of branches asks for it."""

    literal_type = types.int64


@register_pass(mutates_CFG=True, analysis_only=False)
class PruneNone(FunctionPass):
    """Leave out what follows `if x is None` for an argument x that is something else.

    numba itself leaves out only what follows `if x is not None` for one that is None.
    """

    _name = "prune_none"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        nothing = types.NoneType, types.Optional, types.Omitted
        args = [arg if isinstance(arg, nothing) else Something() for arg in state.args]
        dead_branch_prune(state.func_ir, args)
        return True


class EntryCompiler(Compiler):
    """numba's own, but for the library."""

    kind = EntryLibrary

    def compile_extra(self, func):
        self.state.library = self.kind(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


class KernelCompiler(EntryCompiler):
    """The same for kernels: without branches that no argument leads to, for arguments apart."""

    kind = KernelLibrary

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(PruneNone, DeadBranchPrune)
        passes.finalize()
        return [passes]

    def compile_extra(self, func):
        self.state.flags.noalias = True
        return super().compile_extra(func)


entry = compiler(cache=True, pipeline_class=EntryCompiler)
inner = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": KernelCompiler}
kernel = compiler(**inner)
stage = compiler(**inner, inline="always")
