"""What kernels ask about lanes, of plain numbers: by plain numba there are no lanes.

Simulations and batches then take their steps one state after the other.
"""

from robosim.kernels.compiler.jit import kernel

# What is told of lanes only where there are some.
LIMBS = WIDTH = 1
Lanes = lanes = limbs = lane = laned = together = None


@kernel
def everywhere(condition):
    """Whether a condition holds."""
    return bool(condition)


@kernel
def pick(condition, yes, no):
    """One of two numbers."""
    return float(yes) if condition else float(no)


@kernel
def over_limbs(value):
    """The number itself: it is the sum of the only one."""
    return value


@kernel
def are_limbs(value):
    """Whether a number has limbs in its lanes: none has."""
    return False


somewhere = everywhere
most_of_limbs = least_of_limbs = over_limbs
