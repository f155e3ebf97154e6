"""Order four: a symmetric composition of intervals of order two, of which the middle one goes back.

Seven of them have an eighth of the error of the usual five [Suzuki1990]. The lengths are such that
(PARTS - 1) PART^3 + (1 - (PARTS - 1) PART)^3 = 0.
"""

from robosim.kernels.compiler.jit import kernel

PARTS = 7
PART = 1.0 / (PARTS - 1.0 - (PARTS - 1.0) ** (1.0 / 3.0))


@kernel
def allowed_order(loads, options):
    """The order asked for, or 2 with servos: they look ahead, and a step back would excite them."""
    if options.order == 4:
        for v in range(loads.servos.shape[0]):
            if loads.servos[v].kp != 0.0 or loads.servos[v].kd != 0.0:
                return 2
    return options.order


@kernel
def composed(k):
    """Length of interval k of the composition, as a fraction of all of it."""
    return 1.0 - (PARTS - 1) * PART if k == PARTS // 2 else PART
