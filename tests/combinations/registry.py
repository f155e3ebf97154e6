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
)  # fmt: skip


def may_not_follow(case: Case) -> bool:
    """Whether a loop or a taut tendon may leave no way along a motion: a step has no solution."""
    features = set(case.features)
    return "motion" in features and not features.isdisjoint(("loop", "tendon_limit"))


def known(check: str, features: Iterable[str]) -> Known | None:
    """The known fault that a failure may come from, if there is one."""
    row = set(features)
    for one in KNOWN:
        if one.check == check and any(row >= set(some) for some in one.features):
            return one
    return None
