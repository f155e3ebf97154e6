"""How kernels are compiled: cached, without the interpreter lock, floats as in C.

An `entry` is called from Python, a `kernel` by other kernels only. A `stage` is called from one
place and is inlined there. An `aside` is for features that few mechanisms have: it is not inlined,
and LLVM takes its calls for unlikely. So its callers are faster for all other mechanisms, and call
it in a branch that they rarely take. A `part` is compiled separately, as an entry is, and called by
its address. It writes to memory to which no argument of its caller visibly leads, so its callers
are stages or a `bridge`. None of them raises: a division by zero gives inf or nan.

numba would give each kernel a wrapper for Python and machine code, cache it, and optimize it with
all its callees, again at each level of calls. `KernelLibrary` avoids this: only entries are
optimized, compiled and cached, as a whole, in two thirds of the time.

Kernels are compiled with two assumptions: no two arguments lead to memory that one of them writes
(`tests/unit/test_kernel_arguments.py` checks this), and only entries are called from elsewhere. So
LLVM keeps numbers in registers across writes, and does not pass arguments that are unused or the
same in all calls. Both save a quarter of the time of a standing A1.
"""

import functools
import gc
import hashlib
import logging
import pickle
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from pickle import UnpicklingError

from llvmlite.binding import Linkage, parse_assembly
from numba import njit
from numba.core import typed_passes, types, untyped_passes
from numba.core.analysis import dead_branch_prune
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from robosim import locks
from robosim.kernels.compiler import cache
from robosim.kernels.compiler.dense import Dense, dense
from robosim.kernels.compiler.lowered import Lowered
from robosim.kernels.compiler.lowering import KernelLowering, digest_of_types

# Errors of loading a file that is cut off, or that refers to names of other sources.
UNREADABLE = (
    AttributeError, EOFError, ImportError, IndexError, KeyError, RuntimeError, TypeError,
    UnpicklingError, ValueError, zlib.error,
)  # fmt: skip
OPTIONS = {"error_model": "numpy", "nogil": True, "_nrt": False}


@functools.cache
def digest_of(source):
    """A digest of the content of a file."""
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()[:16]


class Locator(_CacheLocator):
    """Locates compiled functions by module and line, wherever the sources are."""

    def __init__(self, function, source):
        self._place = f"{function.__module__}-{function.__code__.co_firstlineno}"
        self._stamp = digest_of(source)
        self._py_file = source  # numba's warnings name it

    @classmethod
    def from_function(cls, function, source):
        return cls(function, source)

    def get_cache_path(self):
        return str(cache.FOLDER)

    def get_source_stamp(self):
        return self._stamp

    def get_disambiguator(self):
        return self._place


class Files(CompileResultCacheImpl):
    """The files of `KernelCache`, which are compressed, as they mostly contain names of types."""

    _locator_classes = (Locator,)

    def reduce(self, cres):
        return zlib.compress(dumps(super().reduce(cres)), 1)

    def rebuild(self, target_context, payload):
        compiled = super().rebuild(target_context, pickle.loads(zlib.decompress(payload)))
        compiled.library._shared_module = None  # so that it is not linked into other code
        return compiled


def known_as(value):
    """A name, the same in all processes, of a value in a closure: a kind, a scheme, a kernel."""
    value = getattr(value, "py_func", value)
    name = getattr(value, "__qualname__", "")
    module = getattr(value, "__module__", "") or getattr(value, "__name__", "")
    return f"{module}.{name}" if name or module else repr(value)


class KernelCache(FunctionCache):
    """A cache that loads machine code without importing all modules of numba's compiler.

    numba's cache imports these modules first, which takes a fifth of a second.
    """

    _impl_class = Files

    def __init__(self, function):
        super().__init__(function)
        self._inside = [cell.cell_contents for cell in function.__closure__ or ()]
        self._ahead, self.saved = None, None  # `saved` is in the cache already
        whole = f"{function.__module__}.{function.__qualname__}"[:100]
        self._name = whole.replace("<", "").replace(">", "")  # as numba names its files
        if cache.AHEAD is not None and type(self) is KernelCache:
            self._ahead = AheadCache(function)

    def load_overload(self, sig, target_context):
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            try:
                compiled = self._load_overload(sig, target_context)
            except UNREADABLE as error:
                logging.getLogger(__name__).info("%s: made again (%s)", self.cache_path, error)
                self.throw_away()
                compiled = None
        if compiled is None and self._ahead is not None:
            compiled = self._ahead.load_overload(sig, target_context)
        return compiled

    def _index_key(self, sig, codegen):
        code = hashlib.sha256(self._py_func.__code__.co_code).hexdigest()
        return digest_of_types(sig), codegen.magic_tuple(), (code, *map(known_as, self._inside))

    def save_overload(self, sig, data):
        if data is not self.saved:
            super().save_overload(sig, data)

    @contextmanager
    def turn(self):
        """Wait while another process compiles the function, for any types.

        All types share an index file, which only one process at a time may change.
        """
        file = None
        if cache.FOLDER is not None:
            name = f"{self._name}.turn"
            with suppress(OSError):
                Path(cache.FOLDER).mkdir(parents=True, exist_ok=True)
                file = (Path(cache.FOLDER) / name).open("w")
                locks.take(file)
        try:
            yield
        finally:
            if file is not None:
                file.close()

    def throw_away(self):
        """Delete files that cannot be read."""
        self.flush()


class AheadLocator(Locator):
    """Locates compiled functions that came with the package."""

    def get_cache_path(self):
        return str(cache.AHEAD[0])


class AheadFiles(Files):
    """Files that came with the package."""

    _locator_classes = (AheadLocator,)


class AheadCache(KernelCache):
    """Kernels that were compiled ahead, for a level of processors; read-only."""

    _impl_class = AheadFiles

    def _index_key(self, sig, codegen):
        types_digest, _, code = super()._index_key(sig, codegen)
        return types_digest, cache.AHEAD[1], code

    def save_overload(self, sig, data):
        """Nothing is saved here."""

    def throw_away(self):
        """Nothing is deleted here."""


def plain(kind):
    """The type of an argument that a kernel is compiled for, without constants and lengths.

    numba would compile `f(x, True)` beside `f(x, False)`, and either beside `f(x, y)`; and `f(v)`
    anew for each length of a vector v that is part of a record.
    """
    if isinstance(kind, types.NestedArray) and kind.ndim == 1:
        return Dense(kind.dtype, 1)
    return dense(types.unliteral(kind))


def resolve(template_of, args, kws):
    """Resolve a call by another kernel, with the plain types of the arguments."""
    kws = {name: plain(kind) for name, kind in kws.items()}
    return template_of(tuple(map(plain, args)), kws)


def compiler(kind, cached=False, **options):
    """A decorator like njit, with a compiler of this kind, and with the cache of kernels.

    numba's own compiler is never used. Its library leaves kernels as weak symbols, for which a
    process may take those of another entry, which were compiled for fewer arguments.
    """

    def decorate(function):
        dispatcher = njit(**OPTIONS, pipeline_class=kind, **options)(function)
        dispatcher.get_call_template = partial(resolve, dispatcher.get_call_template)
        of_ours = function.__module__.startswith("robosim.kernels.")
        if issubclass(kind, BridgeCompiler) and of_ours and cache.LOWERED is not None:
            dispatcher._cache = Lowered(function, KernelLibrary, cache.LOWERED)
        elif cached and cache.FOLDER is not None:
            dispatcher._cache = function.kept = KernelCache(function)
        elif cached and cache.AHEAD is not None:
            dispatcher._cache = AheadCache(function)
        return dispatcher

    return decorate


class Codegen:
    """numba's code generator, for subclasses that replace single methods."""

    def __init__(self, codegen):
        self._codegen = codegen

    def __getattr__(self, name):
        return getattr(self._codegen, name)


class NoEnvironment(Codegen):
    """A code generator that keeps no Python objects for the code, as kernels use none."""

    def set_env(self, env_name, env):
        pass


class NoVectors(Codegen):
    """A code generator that does not vectorize loops.

    Loops of kernels go over three or six numbers, or over bodies: nothing would be gained.
    """

    def _module_pass_manager(self, **options):
        return self._codegen._module_pass_manager(**{**options, "loop_vectorize": False})


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel, which is linked into its callers.

    It is neither linked with its callees, nor optimized, nor compiled to machine code by itself.
    This is done for each entry as a whole.
    """

    @property
    def codegen(self):
        return NoEnvironment(self._codegen)

    def finalize(self):
        self._raise_if_finalized()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        self._finalized = True

    def _get_module_for_linking(self):
        return self._final_module


class AsideLibrary(KernelLibrary):
    """The code of a kernel that is seldom called, and not inlined."""

    attributes = "noinline", "cold"


def all_linked(library):
    """All libraries that a library needs, directly or through others, each after all its callers.

    LLVM links a function only if a caller has been linked before.
    """
    libraries, seen, left = [], set(), [(library, iter(library._linking_libraries))]
    while left:
        one, others = left[-1]
        for other in others:
            if other not in seen:
                seen.add(other)
                needs = other._linking_libraries if isinstance(other, KernelLibrary) else ()
                left.append((other, iter(needs)))
                break
        else:
            left.pop()
            libraries.append(one)
    return libraries[-2::-1]


class EntryLibrary(JITCodeLibrary):
    """The code of an entry, with its own copy of all kernels that it calls."""

    def __init__(self, codegen, name):
        super().__init__(NoVectors(codegen), name)

    def finalize(self):
        self._linking_libraries = all_linked(self)
        super().finalize()

    def _optimize_final_module(self):
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = "internal"
        super()._optimize_final_module()

    def _get_module_for_linking(self):
        raise RuntimeError(f"{self.name} is an entry: call it by its address")

    def serialize_using_object_code(self):
        """Machine code, without the ten times larger code that numba links into callers."""
        self._ensure_finalized()
        functions = (f for f in self._final_module.functions if not f.is_declaration)
        names = [f.name for f in functions if f.linkage == Linkage.external]
        # From this code, numba reads the names of all functions.
        there = "".join(f'define void @"{name}"() {{ ret void }}\n' for name in names)
        code = parse_assembly(there).as_bitcode()
        return self.name, "object", (self._get_compiled_object(), code)


class Something:
    """Represents an argument that is not None in numba's pruning of branches."""

    literal_type = types.int64


@register_pass(mutates_CFG=True, analysis_only=False)
class PruneNone(FunctionPass):
    """Remove branches of `if x is None` for arguments x that are not None.

    numba itself only removes branches of `if x is not None` for arguments that are None.
    """

    _name = "prune_none"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        nothing = types.NoneType, types.Optional, types.Omitted
        args = [arg if isinstance(arg, nothing) else Something() for arg in state.args]
        dead_branch_prune(state.func_ir, args)
        return True


class QuickFlags(Flags):
    """numba's flags, with a comparison that does not evaluate all 30 options of both.

    Flags are compared whenever numba looks up a compiled operator or function of its own.
    """

    __slots__ = ()

    def __eq__(self, other):
        if isinstance(other, QuickFlags):
            return self._values == other._values
        return super().__eq__(other)

    def __hash__(self):
        return HASH


HASH = hash(Flags())  # of the names of all options: the same for all flags

PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    PruneNone,
    untyped_passes.GenericRewrites,
    untyped_passes.InlineInlinables,
    untyped_passes.ReconstructSSA,
    untyped_passes.DeadBranchPrune,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    KernelLowering,
    typed_passes.NoPythonBackend,
)


# For gc.set_threshold. With Python's 700, 10, 10, collection takes a tenth of all compiling.
SELDOM = 20000, 20, 20


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let Python collect garbage less often, as objects of the compiler are in use for long."""
    before = gc.get_threshold()
    gc.set_threshold(*map(max, before, SELDOM))
    try:
        yield
    finally:
        gc.set_threshold(*before)


class EntryCompiler(Compiler):
    """numba's compiler with another library, and without passes that kernels do not need.

    Kernels have no closures, generators, contexts, exceptions, or expressions of arrays.
    """

    kind = EntryLibrary

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        flags = QuickFlags(flags)
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)

    def compile_extra(self, func):
        self.state.library = self.kind(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        with seldom_collected():
            kept = getattr(func, "kept", None)
            return super().compile_extra(func) if kept is None else self._compile_once(func, kept)

    def _compile_once(self, func, kept):
        """The compiled function, by this process or by another one at the same time."""
        kinds = tuple(self.state.args)
        with kept.turn():
            kept.saved = None
            compiled = kept.load_overload(kinds, self.state.targetctx)
            if compiled is None:
                compiled = super().compile_extra(func)
                kept.save_overload(kinds, compiled)
            kept.saved = compiled
        return compiled

    def define_pipelines(self):
        passes = PassManager("kernels")
        for each in PASSES:
            passes.add_pass(each, each.name())
        passes.finalize()
        return [passes]


class BridgeCompiler(EntryCompiler):
    """The compiler of kernels whose arguments may lead to the same memory."""

    kind = KernelLibrary


class KernelCompiler(BridgeCompiler):
    """The compiler of kernels whose arguments lead to all their data, each to other data."""

    def compile_extra(self, func):
        self.state.flags.noalias = True
        return super().compile_extra(func)


class AsideCompiler(KernelCompiler):
    """The compiler of kernels that are seldom called."""

    kind = AsideLibrary


entry = compiler(EntryCompiler, cached=True)
inner = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
part = compiler(EntryCompiler, cached=True, **inner)
kernel = compiler(KernelCompiler, **inner)
aside = compiler(AsideCompiler, **inner)
bridge = compiler(BridgeCompiler, **inner)
stage = compiler(KernelCompiler, inline="always", **inner)
