"""All checks by their names, and the faults that are known and not mended yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from robosim import NoMotionError

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


KNOWN: tuple[Known, ...] = ()


def may_not_follow(case: Case, error: Exception) -> bool:
    """Whether a step may have no solution.

    A motion may lead through what holds, which a `NoMotionError` has shown. A loop or a taut tendon
    may leave no way along a motion, and a PD that is held over the step may excite what it holds
    until bodies turn too far.
    """
    if isinstance(error, NoMotionError):
        return True
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
