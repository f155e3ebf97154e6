"""How kernels are compiled, and all that rests on numba's internals.

These may change with any version, so numba's version has an upper bound.
"""
