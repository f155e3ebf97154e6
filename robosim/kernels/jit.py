"""How kernels are compiled: cached, without the interpreter lock, floats as in C.

An `entry` is called from Python, a `kernel` by other kernels only, which spares the compiler a
Python wrapper for each. A `stage` is called from one place and becomes part of its caller: numba
optimizes all that a function calls once more with it, so every level of the nest costs seconds.
None of them raises: a division by zero gives inf or nan.

numba's cache looks at the file of the function that is called, and would go on serving it after
a kernel that it calls in another file has changed. So the cache is kept in a folder that is named
after a hash of all kernel sources, and of `model.py`, whose constants are compiled into them.
"""

import hashlib
import os
from pathlib import Path

from numba import config, njit

OPTIONS = {"cache": True, "error_model": "numpy", "nogil": True, "_nrt": False}


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


entry = compiler()
kernel = compiler(no_cpython_wrapper=True, no_cfunc_wrapper=True)
stage = compiler(no_cpython_wrapper=True, no_cfunc_wrapper=True, inline="always")
