"""A cache of compiled functions of tasks, by the content of all that they call.

numba's own cache knows the file of a function alone. It would take functions that are made in
others for new ones in each process, and outdated ones for good where they call another file.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from functools import cache
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache
from numba.core.extending import _Intrinsic

from robosim.kernels.compiler.cache import digest_of_sources


def row(function: Callable[..., Any]) -> Any:
    """Jit a function of a `CompiledTask`, or one that such functions call, with a cache."""
    return cached(njit(nogil=True)(function))


def cached(jitted: Any) -> Any:
    """A function that numba has jitted, which is now looked for in the cache first."""
    digest = digest_of(jitted.py_func)
    if digest is not None:
        try:
            jitted._cache = ContentCache(jitted.py_func, digest)
        except RuntimeError as error:  # there is no folder to write to
            logging.getLogger(__name__).info("%s: not cached (%s)", jitted.__name__, error)
    return jitted


class ContentCache(FunctionCache):
    """numba's cache with another key: the digest of a function and of what it calls."""

    def __init__(self, function: Callable[..., Any], digest: str) -> None:
        super().__init__(function)
        self._digest = digest

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return str(sig), codegen.magic_tuple(), self._digest


def digest_of(function: Callable[..., Any]) -> str | None:
    """A digest of a function and of what it refers to; None if that has no fixed content."""
    digest = hashlib.sha256()
    try:
        for part in _parts(function, set()):
            digest.update(part)
    except TypeError as error:
        logging.getLogger(__name__).info("%s: not cached (%s)", function, error)
        return None
    return digest.hexdigest()


@cache
def _sources() -> str:
    return digest_of_sources()


def _parts(function: Any, seen: set[Any]) -> Iterator[bytes]:
    """The content of a function, and of all that its code names."""
    function = getattr(function, "py_func", function)
    if function in seen:
        return
    seen.add(function)
    code = function.__code__
    yield from _of_code(code)
    yield repr(function.__defaults__).encode()
    named = [function.__globals__[name] for name in _names(code) if name in function.__globals__]
    for value in (*named, *(cell.cell_contents for cell in function.__closure__ or ())):
        yield from _of_value(value, seen)


def _of_code(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr(code.co_names).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant)
        else:
            yield repr(constant).encode()


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _of_value(value: Any, seen: set[Any]) -> Iterator[bytes]:
    if hasattr(value, "py_func"):
        yield from _parts(value, seen)
    elif isinstance(value, _Intrinsic):
        # What these call while they build code is of this package, and of numba.
        yield _sources().encode()
        yield from _of_code(value._defn.__code__)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, ModuleType | type | BuiltinFunctionType):
        yield value.__name__.encode()
    elif isinstance(value, bool | int | float | complex | str | bytes | tuple | None):
        yield repr(value).encode()
    else:
        raise TypeError(f"{value!r} has no fixed content")
