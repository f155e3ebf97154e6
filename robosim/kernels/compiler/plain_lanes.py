"""What kernels ask about lanes, of plain numbers: with plain numba there are no lanes.

Simulations and batches then take their steps one state after the other.
"""

from robosim.kernels.compiler.plain_jit import kernel

# What only those name who have lanes.
Lanes = lanes = limbs = lane = laned = together = None


@kernel
def everywhere(condition):
    """Whether a condition holds."""
    return bool(condition)


@kernel
def somewhere(condition):
    """Whether a condition holds."""
    return bool(condition)


@kernel
def pick(condition, yes, no):
    """One of two numbers."""
    return float(yes) if condition else float(no)


@kernel
def over_limbs(value):
    """The number itself: of what is of no limbs there is no sum."""
    return value


@kernel
def most_of_limbs(value):
    """The number itself."""
    return value


@kernel
def least_of_limbs(value):
    """The number itself."""
    return value


@kernel
def are_limbs(value):
    """Whether a number has limbs in its lanes: none has."""
    return False
