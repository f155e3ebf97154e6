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
"""Those that compile kernels of their own for minutes."""
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


KNOWN = (
    Known(
        "velocities_belong_to_the_motion",
        "after a start beyond a velocity limit, which stops it at once: the friction of a bearing "
        "under the impulses of that is taken to act once more where the first step ends",
        (("bearing", "velocity_limit"),),
        (
            ("floating", "prismatic", "bearing", "velocity_limit"),
            {
                "": [0, 0, 90, 0, 0, 0, 0, 46],
                "floating": [0] * 24 + [-50],
                "prismatic": [0] * 14 + [-24, 69, -28, 0, -37, 0, -56, -8, 0, 34, 34],
                "velocity_limit": [0, 0, -48],
            },
        ),
    ),
    Known(
        "an_accuracy_is_kept",
        "the friction of bearings is of first order, so that intervals become so short that its "
        "bounds do not settle",
        (("bearing",),),
        (
            (
                "planar", "universal", "spline", "legs", "on_ellipsoid", "restitution", "mesh",
                "bearing", "implicit_pd",
            ),
            {
                "planar": [37, 25, -14, 17, 56, -60, -4, 79, 71, -18, 90, 5, -66, 22, 24, 58,
                    -60, -29, 72, 48, 73, -25, -28, -100, 26, -75, -8],
                "universal": [-65, 72, -46, 21, -14, 64, 8, 82, 85, -89, -77, 14, -93, -95, -30,
                    43, -41, -63, 83, -25, 9, 9, 68, 44, 99, 59],
                "spline": [21, 100, -24, 21, 5, 6, 42, 5, -46, -12, -56, -65, 56, -59, -45, 93,
                    -100, 12, 86, -9, -13, -5, 8, 15, 35],
                "legs": [28, 61, 83],
                "on_ellipsoid": [-62, 3, 25, -44, -18, -16, -21, 58],
                "restitution": [1],
                "mesh": [-100, 1, 57],
                "bearing": [2, 78],
                "implicit_pd": [-48, 100, 0],
                "": [0, 92, 5, 93, -88, 49, 44, -84, 27, -2, -56, -34, 30, 60, 84, 94, -55, -13,
                    66, 91, -35, 26],
            },
        ),
    ),
)  # fmt: skip


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
