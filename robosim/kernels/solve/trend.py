"""How much of what guesses have missed is worth taking into the next ones, for any scheme."""

from robosim.compiled.records.sizes import TRENDS
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import over_limbs, pick

BETTER = 0.6  # part of what is missed, squared, that one more of its differences has to get below


@kernel
def choose_trend(misses, least, trend):
    """Of the differences of what guesses miss take as many as make each of them better.

    None where all that is missed, squared, is no more than `least`.
    """
    before = over_limbs(misses[0])
    takes = pick(before > least, 1.0, 0.0)
    for n in range(TRENDS):
        misses_more = over_limbs(misses[n + 1])
        takes = pick(misses_more < BETTER * before, takes, 0.0)
        trend[n], before = takes, misses_more
