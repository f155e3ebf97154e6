"""How kernels are compiled by plain numba.

The decorators are those of the other `jit`, and all do the same, but that an `entry` is cached.
"""

from numba import config, njit

from robosim.kernels.compiler import cache

OPTIONS = {"error_model": "numpy", "nogil": True}


def entry(function):
    """The function, compiled where Python calls it, and cached with all that it calls."""
    if cache.FOLDER is None:
        return njit(**OPTIONS)(function)
    before = config.CACHE_DIR
    config.CACHE_DIR = f"{cache.FOLDER}-plain"  # numba looks there once, when it makes the function
    try:
        return njit(cache=True, **OPTIONS)(function)
    finally:
        config.CACHE_DIR = before


kernel = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)
part = entry
bridge = stage = kernel
