"""Lowered kernels on disk: the LLVM code of a kernel for some types of its arguments.

An entry is linked from its kernels, and compiled as a whole. Lowering comes before this and takes
most of the time. It is done once for each kernel and types of arguments: other entries and other
processes load the result, also after an edit of sources that the kernel does not use. The name of a
file contains the kernel's name, and a digest of its types, its module and all imports of this.
"""

import ast
import functools
import hashlib
import logging
import os
import pickle
import sys
import tempfile
import zlib
from pathlib import Path

from llvmlite.binding import parse_bitcode
from numba import __version__, _dynfunc, config
from numba.core import types
from numba.core.caching import NullCache
from numba.core.compiler import compile_result
from numba.core.serialize import dumps
from numba.core.typing import signature

from robosim.kernels.compiler import cache
from robosim.kernels.compiler.lowering import digest_of_types

PACKAGES = "robosim.kernels", "robosim.compiled"
LOADED: dict = {}  # file -> library, of this process


@functools.cache
def imports_of(module):
    """The modules of kernels and of compiled records that a module imports."""
    path = cache.PACKAGE.joinpath(*module.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    source = path.read_bytes()
    modules = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(PACKAGES):
            modules.add(node.module)
            base = cache.PACKAGE.joinpath(*node.module.split(".")[1:])
            for alias in node.names:
                if base.is_dir() and (base / f"{alias.name}.py").exists():
                    modules.add(f"{node.module}.{alias.name}")
    return modules, hashlib.sha256(source).hexdigest()


@functools.cache
def digest_of_module(module):
    """A digest of the sources of a module and of all that it imports."""
    digests, left = {}, [module]
    while left:
        one = left.pop()
        if one not in digests:
            others, digests[one] = imports_of(one)
            left += others
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()


class Lowered(NullCache):
    """The cache of a kernel, with the interface of numba's caches."""

    def __init__(self, function, library_kind, place):
        self._function, self._kind, self._place = function, library_kind, place
        self._module = function.__module__

    def _file(self, kinds, codegen):
        """The file of the kernel for some types."""
        schemes = [kind.pymod.__name__ for kind in kinds if isinstance(kind, types.Module)]
        sources = [digest_of_module(one) for one in (self._module, *schemes)]
        target = __version__, config.BOUNDSCHECK, codegen.magic_tuple()
        known = sources, digest_of_types(kinds), target
        digest = hashlib.sha256(repr(known).encode()).hexdigest()[:24]
        return f"{self._module.removeprefix('robosim.')}.{self._function.__qualname__}-{digest}"

    def load_overload(self, sig, target_context):
        kinds = tuple(sig)
        codegen = target_context.codegen()
        name = self._file(kinds, codegen)
        try:
            library = library_in(self._place, name, codegen, self._kind)
        except (OSError, EOFError, KeyError, ValueError, RuntimeError, zlib.error) as error:
            if not isinstance(error, FileNotFoundError):
                logging.getLogger(__name__).info("%s: made again (%s)", name, error)
            return None
        fndesc, restype = library.description
        fndesc.argtypes = kinds
        return compile_result(
            typing_context=None,
            target_context=target_context,
            entry_point=self._entry(library),
            signature=signature(restype, *kinds),
            objectmode=False,
            lifted=(),
            library=library,
            fndesc=fndesc,
        )

    def _entry(self, library):
        """A function that identifies the compiled code for numba; it is never called."""
        environment = _dynfunc.Environment(globals=self._function.__globals__)
        module, name = sys.modules[self._module], self._function.__name__
        return _dynfunc.make_function(module, name, "", 0, environment, (library,))

    def save_overload(self, sig, data):
        library = data.library
        library.file = name = self._file(tuple(sig), data.target_context.codegen())
        LOADED[name] = library
        needs = []
        for one in library._linking_libraries:
            if isinstance(one, self._kind):
                needs.append(getattr(one, "file", None))
            else:
                # Functions of numba's own are added to this code.
                library._final_module.link_in(one._get_module_for_linking(), preserve=True)
        if None in needs:
            return
        library._linking_libraries = [
            one for one in library._linking_libraries if isinstance(one, self._kind)
        ]
        fndesc = data.fndesc
        kept = fndesc.argtypes, fndesc.typemap, fndesc.calltypes
        fndesc.argtypes, fndesc.typemap, fndesc.calltypes = (), None, None
        description = dumps((fndesc, data.signature.return_type))
        fndesc.argtypes, fndesc.typemap, fndesc.calltypes = kept
        content = description, needs, library._final_module.as_bitcode()
        write(self._place / name, zlib.compress(pickle.dumps(content), 1))


def write(path, content):
    """Write a file as a whole or not at all, also if other processes write it."""
    try:
        path.parent.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except OSError as error:
        logging.getLogger(__name__).info("%s: not kept (%s)", path, error)


def library_in(place, name, codegen, kind):
    """The library in a file, with all libraries that it needs."""
    if name not in LOADED:
        description, needs, code = pickle.loads(zlib.decompress((place / name).read_bytes()))
        cache.mark_used(place / name)
        others = [library_in(place, one, codegen, kind) for one in needs]
        library = kind(codegen, name)
        library._final_module = parse_bitcode(code)
        library._final_module.name = name
        library._linking_libraries = others
        library._finalized = True
        library.file, library.description = name, pickle.loads(description)
        LOADED[name] = library
    return LOADED[name]
