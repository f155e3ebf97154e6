"""How kernels are compiled: cached, without the interpreter lock, floats as in C.

A `kernel` is called by other kernels only, which spares the compiler a Python wrapper for each;
an `entry` is called from Python. Neither raises: a division by zero gives inf or nan.
"""

from numba import njit

entry = njit(cache=True, error_model="numpy", nogil=True)
kernel = njit(
    cache=True, error_model="numpy", nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
