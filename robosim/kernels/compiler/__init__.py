"""How kernels are compiled, and all that rests on numba's internals."""
