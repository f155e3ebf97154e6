"""By plain numba no number carries derivatives: steps are not linearized there."""

from robosim.kernels.compiler.jit import kernel


@kernel
def are_duals(value):
    """Whether a number has derivatives: none has."""
    return False


@kernel
def number_of(value):
    """The number itself, without derivatives: it has none."""
    return value


@kernel
def is_settled(value, before):
    """Whether derivatives are what they were before: there are none."""
    return True


@kernel
def response(change, cause):
    """What a change of derivatives is of the change that has caused it: there are none."""
    return 0.0
