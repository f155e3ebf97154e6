"""How kernels are compiled by plain numba.

The decorators are those of the other `jit`, and all do the same, but that an `entry` is cached.
"""

from numba import njit

from robosim.kernels.compiler.cache import kept

OPTIONS = {"error_model": "numpy", "nogil": True}


def entry(function):
    """The function, compiled where Python calls it, and cached with all that it calls."""
    with kept("-plain"):
        return njit(cache=True, **OPTIONS)(function)


kernel = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)
part = entry
bridge = stage = kernel
