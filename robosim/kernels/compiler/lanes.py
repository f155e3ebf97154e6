"""Lanes, and what kernels ask about numbers that may be lanes (see `private_lanes`)."""

from robosim.kernels.compiler.choice import PLAIN
from robosim.kernels.compiler.widths import LIMBS, WIDTH

if PLAIN:
    from robosim.kernels.compiler.plain_lanes import (
        Lanes,
        are_limbs,
        everywhere,
        lane,
        laned,
        lanes,
        least_of_limbs,
        limbs,
        most_of_limbs,
        over_limbs,
        pick,
        somewhere,
        together,
    )
else:
    from robosim.kernels.compiler.private_lanes import (
        Lanes,
        are_limbs,
        everywhere,
        lane,
        laned,
        lanes,
        least_of_limbs,
        limbs,
        most_of_limbs,
        over_limbs,
        pick,
        somewhere,
        together,
    )

__all__ = [
    "LIMBS",
    "WIDTH",
    "Lanes",
    "are_limbs",
    "everywhere",
    "lane",
    "laned",
    "lanes",
    "least_of_limbs",
    "limbs",
    "most_of_limbs",
    "over_limbs",
    "pick",
    "somewhere",
    "together",
]
