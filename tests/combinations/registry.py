"""All checks by their names, and the faults that are known and not mended yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .builder import Case
from .checks import files, formulations, motion, repeats, steps

Check = Callable[[Case], bool]
"""Raises an AssertionError for a promise that is broken; returns whether the promise applies."""

FAST: dict[str, Check] = {
    check.__name__: check
    for module in (motion, steps, formulations, repeats, files)
    for check in module.CHECKS
}
SLOW: dict[str, Check] = {check.__name__: check for check in steps.SLOW}
"""Those that compile kernels of their own for minutes: tests draw a part of the rows for them."""
CHECKS = {**FAST, **SLOW}


@dataclass(frozen=True)
class Known:
    """A fault that is not mended yet.

    Attributes
    ----------
    check : str
    reason : str
    features : tuple of tuple of str
        The check fails at times for mechanisms that have all features of one of these.
    case : (features, numbers)
        A mechanism for which the check fails.
    """

    check: str
    reason: str
    features: tuple[tuple[str, ...], ...]
    case: tuple[Sequence[str], Mapping[str, Sequence[int]]]


KNOWN: tuple[Known, ...] = (
    Known(
        "derivatives_are_those_of_the_step",
        "with a rotor elsewhere and a damped joint of a body without mass, derivatives by "
        "velocities are off by 2e-4 and those by torques by a hundredth",
        (("massless", "damping", "rotor"),),
        (
            ("fixed_orientation", "spline", "massless", "on_capsule", "block", "damping", "rotor"),
            {
                "": [1, -23, -80, -100, 8, 0, 61],
                "fixed_orientation": [
                    100,
                    -46,
                    37,
                    100,
                    3,
                    25,
                    -55,
                    -85,
                    -33,
                    -60,
                    -34,
                    -58,
                    -25,
                    -82,
                    -30,
                    -95,
                    -46,
                    -99,
                    55,
                    -4,
                    -80,
                    -48,
                    -100,
                    -39,
                    79,
                    -28,
                    -64,
                ],
                "spline": [
                    -100,
                    63,
                    -2,
                    88,
                    92,
                    -100,
                    21,
                    -18,
                    100,
                    -41,
                    59,
                    -86,
                    62,
                    1,
                    100,
                    -20,
                    64,
                    46,
                    -60,
                    99,
                    100,
                    -49,
                    -73,
                    99,
                    57,
                ],
                "massless": [
                    100,
                    -42,
                    100,
                    -52,
                    46,
                    -100,
                    17,
                    32,
                    -29,
                    61,
                    60,
                    71,
                    -45,
                    36,
                    2,
                    -35,
                    17,
                    69,
                    89,
                    -21,
                    86,
                    -100,
                    -26,
                    8,
                    4,
                    -40,
                    93,
                    -37,
                    52,
                    79,
                    96,
                    -10,
                    49,
                    -83,
                    -53,
                    -19,
                    52,
                    -94,
                    60,
                    74,
                    68,
                    100,
                    7,
                    44,
                    16,
                    -17,
                    99,
                    -11,
                    -100,
                    92,
                ],
                "on_capsule": [-73, -76, -96, 49, -63, -34, -90],
                "block": [0, -82, 1, -86, 100, 40, 18],
                "damping": [0, -54, 0, 14, 60],
                "rotor": [4, 11],
            },
        ),
    ),
)


def may_not_follow(case: Case, error: Exception) -> bool:
    """Whether a step may have no solution.

    A loop or a taut tendon may leave no way along a motion, and a PD that is held over the step may
    excite what it holds until bodies turn too far.
    """
    features = set(case.features)
    if "explicit_pd" in features and "a controller that oscillates" in str(error):
        return True
    return "motion" in features and not features.isdisjoint(("loop", "tendon_limit"))


def known(check: str, features: Iterable[str]) -> Known | None:
    """The known fault that a failure may come from, if there is one."""
    row = set(features)
    for one in KNOWN:
        if one.check == check and any(row >= set(some) for some in one.features):
            return one
    return None
