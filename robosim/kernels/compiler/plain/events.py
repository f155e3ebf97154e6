"""Nobody is told when plain numba compiles: it has no documented way to ask for that."""


def tell_of_compiling(begun, ended):
    """Say once that it may happen."""
    begun("robosim.kernels")
    ended()
