"""How kernels are compiled, and all that depends on numba's internals.

These internals may change with any version, so numba's version has an upper bound.
"""
