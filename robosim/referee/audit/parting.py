"""Where two motions part, by which contacts, and whether chaos explains it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robosim.referee.audit.runs import Array, Pair, Run, Series

OTHER_START = 1e-9
"""Difference of the start by which chaos is told apart [m, rad]."""
GOOD = 1e-6
"""An error of a forecast that nobody beats in practice [m]."""
CHAOTIC = 1e3
"""Growth of a difference from which on a motion counts as chaotic."""
_LOUD = 1e-3
"""Part of the weight from which on a contact counts as closed."""
_SLIDES = 2e-3
"""Tangential speed from which on a contact slides [m/s]."""
_LASTING = 3  # samples


@dataclass(frozen=True)
class Mode:
    """A contact in two simulators at one time.

    Attributes
    ----------
    pair : tuple of two str
    modes : (2,) of str
        "open", "sticks" or "slides", in the first and in the second.
    time : float [s]
        From when on they differ.
    """

    pair: Pair
    modes: tuple[str, str]
    time: float


@dataclass(frozen=True)
class Parting:
    """Where two motions part.

    Attributes
    ----------
    time : float [s]
    body : str
        The body that is farthest apart then.
    distance : float [m]
    contacts : tuple of Mode
        Contacts that differ then, the earliest first.
    """

    time: float
    body: str
    distance: float
    contacts: tuple[Mode, ...]


@dataclass(frozen=True)
class Chaos:
    """How a difference of `OTHER_START` grows in robosim.

    Attributes
    ----------
    growth : float
        Of the whole run.
    rate : float [1/s]
        Of the exponential growth; zero for a regular motion.
    horizon : float or None [s]
        Time from which on a forecast from a start that is known to `GOOD` is worth nothing; None
        for a regular motion.
    distance : (n,) [m]
    """

    growth: float
    rate: float
    horizon: float | None
    distance: Array


def distances(one: Run, other: Run) -> tuple[Array, tuple[str, ...]]:
    """Distances (n, nb) [m] of the bodies that both have, at common samples; their names.

    The distance of a body is that of its `Run.points` that are farthest apart.
    """
    names = tuple(name for name in one.bodies if name in set(other.bodies))
    n = min(len(one), len(other))
    ours = [one.bodies.index(name) for name in names]
    theirs = [other.bodies.index(name) for name in names]
    apart = one.points[:n, ours] - other.points[:n, theirs]
    return np.linalg.norm(apart, axis=3).max(axis=2), names


def largest(one: Run, other: Run) -> Array:
    """The largest distance of a body (n,) [m] at common samples."""
    return np.asarray(distances(one, other)[0].max(axis=1, initial=0.0))


def parting(reference: Run, run: Run, apart: float, weight: float) -> Parting | None:
    """Where two runs part by more than a distance [m]; None if they do not."""
    apiece, names = distances(reference, run)
    beyond = np.flatnonzero((apiece > apart).any(axis=1))
    if not len(beyond):
        return None
    k = int(beyond[0])
    body = int(np.argmax(apiece[k]))
    contacts = _differing(reference, run, k, weight)
    return Parting(float(run.t[k]), names[body], float(apiece[k, body]), contacts)


def _differing(one: Run, other: Run, until: int, weight: float) -> tuple[Mode, ...]:
    found = []
    for pair in sorted({*one.touches, *other.touches}):
        ours, theirs = (_modes(run.touches.get(pair), until, weight) for run in (one, other))
        differs = ours != theirs
        if not differs[-_LASTING:].all():
            continue
        same = np.flatnonzero(~differs)
        begin = int(same[-1]) + 1 if len(same) else 0
        modes = str(ours[-1]), str(theirs[-1])
        found.append(Mode(pair, modes, float(other.t[begin])))
    return tuple(sorted(found, key=lambda mode: mode.time))


def _modes(series: Series | None, until: int, weight: float) -> Array:
    """The mode of a contact until a sample, (until + 1,) of str."""
    modes = np.full(until + 1, "open", dtype="<U6")
    if series is not None:
        closed = series.force[: until + 1] > _LOUD * weight
        speed = np.nan_to_num(np.linalg.norm(series.slip[: until + 1], axis=1))
        modes[closed] = np.where(speed[closed] > _SLIDES, "slides", "sticks")
    return modes


def chaos(reference: Run, beside: Run, apart: float) -> Chaos:
    """How the difference of two starts grows.

    Parameters
    ----------
    reference, beside : Run
        In robosim, from starts that differ by `OTHER_START`.
    apart : float [m]
        Distance from which on a forecast is worth nothing.
    """
    distance, t = largest(reference, beside), reference.t
    size = np.maximum.accumulate(np.maximum(distance, OTHER_START))
    growth = float(size[-1] / OTHER_START)
    if growth < CHAOTIC:
        return Chaos(growth, 0.0, None, distance)
    # The growth until the difference is as large as the motion itself.
    end = int(np.searchsorted(size, min(apart, float(size[-1]))))
    end = max(2, min(end, len(size) - 1))
    rate = float(np.log(size[end] / OTHER_START) / max(t[end] - t[0], 1e-9))
    needed = apart / GOOD * OTHER_START
    if size[-1] >= needed:
        horizon = float(t[int(np.searchsorted(size, needed))])
    else:
        horizon = float(t[-1] + np.log(needed / size[-1]) / rate)
    return Chaos(growth, rate, horizon, distance)
