"""What an audit measures in a run, beside the same run in robosim.

Every value is the larger the worse, and has a threshold below which it is not worth a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.referee.audit.runs import ASKED, HELD, WORLD, Array, Pair, Run, Series

CHECKS = {
    "penetration": "bodies are inside of each other",
    "floating": "bodies push each other across a gap",
    "slip": "contacts that stick creep",
    "loops": "loops and equalities open",
    "limits": "joints are beyond their limits",
    "energy": "energy of a motion without motors changes",
    "friction": "joints that dry friction holds creep",
    "rest": "bodies at rest shake or hop",
    "spikes": "forces are much larger than they should be",
}
"""Checks of a single run."""
STICKS = 1e-4
"""Tangential speed below which a contact sticks [m/s]."""
SHORTEST = 0.2
"""Time for which a contact has to stick, so that its creep can be told [s]."""
SETTLED = 0.1
"""Time after the closing of a contact in which nothing is held against it [s]."""
ANGLE = 0.01
"""Threshold of angles [rad]."""


class Key(NamedTuple):
    """What is measured, and of what."""

    check: str
    element: str


@dataclass(frozen=True)
class Measured:
    """A value of one run.

    Attributes
    ----------
    value : float
    unit : str
    threshold : float
    time : float [s]
        When it was largest, or from when on it was measured.
    """

    value: float
    unit: str
    threshold: float
    time: float

    @property
    def matters(self) -> bool:
        """Whether it is above its threshold."""
        return self.value > self.threshold


@dataclass(frozen=True)
class Scales:
    """What lengths and energies are compared with.

    Attributes
    ----------
    near : float [m]
        Smallest depth or opening that is worth a word.
    apart : float [m]
        Distance of a body in two simulators from which on the motions have parted.
    weight : float [N]
    angles : frozenset of str
        Names of loops and limits that are in radians.
    held : frozenset of str
        Joints with dry friction.
    names : tuple of str
        Names of the coordinates q.
    """

    near: float
    apart: float
    weight: float
    angles: frozenset[str]
    held: frozenset[str]
    names: tuple[str, ...]


def measured(run: Run, reference: Run | None, scales: Scales) -> dict[Key, Measured]:
    """All values of a run.

    Parameters
    ----------
    run : Run
    reference : Run or None
        The same in robosim, at the same times; None: what needs it is left out.
    scales : Scales
    """
    if len(run) < 2:
        return {}
    found = _touching(run, reference, scales)
    found |= _beyond("loops", run, run.loops, reference, scales)
    found |= _beyond("limits", run, run.limits, reference, scales)
    found |= _energy(run, reference, scales)
    if reference is not None:
        n = min(len(run), len(reference))
        found |= _friction(run, reference, n, scales)
        found |= _rest(run, reference, n, scales)
        found |= _spikes(run, reference, n, scales)
    return found


def own_values(reference: Run, scales: Scales) -> dict[Key, Measured]:
    """The values of the run in robosim itself."""
    alone = measured(reference, None, scales)
    return {**measured(reference, reference, scales), **_absolute(alone)}


def _absolute(values: dict[Key, Measured]) -> dict[Key, Measured]:
    """What is otherwise measured beyond what robosim has."""
    return {k: one for k, one in values.items() if k.check in ("penetration", "loops", "limits")}


def pair_name(pair: Pair) -> str:
    """Two bodies that touch, in words."""
    one, other = pair
    return f"'{one}' on {other if other == WORLD else repr(other)}"


def _touching(run: Run, reference: Run | None, scales: Scales) -> dict[Key, Measured]:
    found = {}
    for pair, series in run.touches.items():
        name, n = pair_name(pair), len(run)
        ours = None if reference is None else reference.touches.get(pair)
        depth = np.nan_to_num(series.depth, nan=-np.inf)
        if ours is not None and reference is not None:
            n = min(len(run), len(reference))
            # What overlaps at the start does so in all simulators.
            depth = depth[:n] - np.maximum(np.nan_to_num(ours.depth[:n]), 0.0)
        k = int(np.argmax(depth))
        at = float(run.t[k])
        found[Key("penetration", name)] = Measured(float(depth[k]), "m", scales.near, at)
        pushed = series.force > 1e-3 * scales.weight
        gap = np.where(pushed, -np.nan_to_num(series.depth), 0.0)
        k = int(np.argmax(gap))
        found[Key("floating", name)] = Measured(
            float(gap[k]), "m", 0.2 * scales.near, float(run.t[k])
        )
        if ours is not None:
            slip = _slip(run, series, ours, n, scales)
            if slip is not None:
                found[Key("slip", name)] = slip
    return found


def _slip(run: Run, theirs: Series, own: Series, n: int, scales: Scales) -> Measured | None:
    """Speed at which a contact creeps that sticks in robosim."""
    stretch = settled(run, theirs, own, n)
    if stretch is None:
        return None
    mean = np.nanmean(theirs.slip[stretch], axis=0)
    value = float(np.linalg.norm(mean))
    return Measured(value, "m/s", 0.1 * scales.near, float(run.t[stretch.start]))


def settled(run: Run, theirs: Series, own: Series, n: int) -> slice | None:
    """The longest stretch of samples in which a contact is closed, and sticks in robosim.

    A while after its beginning is left out. None if too little is left.
    """
    closed = (theirs.force[:n] > 0) & (own.force[:n] > 0)
    speed = np.linalg.norm(own.slip[:n], axis=1)
    begin, end = longest(closed & (np.nan_to_num(speed, nan=np.inf) < STICKS))
    period = float(run.t[1] - run.t[0])
    begin += int(np.ceil(SETTLED / period))
    if (end - begin) * period < SHORTEST - SETTLED:
        return None
    return slice(begin, end)


def longest(true: NDArray[np.bool_]) -> tuple[int, int]:
    """Begin and end of the longest stretch of samples that are true."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], true, [False])).astype(int)))
    if not len(edges):
        return 0, 0
    k = int(np.argmax(edges[1::2] - edges[::2]))
    return int(edges[2 * k]), int(edges[2 * k + 1])


def _beyond(
    check: str, run: Run, values: dict[str, Array], reference: Run | None, scales: Scales
) -> dict[Key, Measured]:
    found = {}
    for name, series in values.items():
        own = series
        ours = None if reference is None else getattr(reference, check).get(name)
        if ours is not None:
            n = min(len(series), len(ours))
            own = series[:n] - ours[:n]
        k = int(np.argmax(own))
        angle = name in scales.angles
        found[Key(check, f"'{name}'")] = Measured(
            float(own[k]),
            "rad" if angle else "m",
            ANGLE if angle else scales.near,
            float(run.t[k]),
        )
    return found


def _energy(run: Run, reference: Run | None, scales: Scales) -> dict[Key, Measured]:
    """Gain of energy, or its drift where robosim keeps it, of the largest kinetic energy."""
    job = run.job
    driven = job.kind == ASKED or (job.kind != HELD and job.table.any())
    if driven or job.gains is not None or run.effort.max() > 0:
        return {}
    if np.isnan(run.energy).any() or np.isnan(run.kinetic).any():
        return {}
    ours = run if reference is None else reference
    # What hardly moves has no kinetic energy that could be a scale.
    scale = max(float(np.nanmax(ours.kinetic)), scales.weight * scales.apart)
    drift = run.energy - run.energy[0]
    if reference is not None and not run.touches and not reference.touches:
        n = min(len(run), len(reference))
        kept = np.abs(reference.energy - reference.energy[0]).max() < 2e-3 * scale
        drift = np.abs(drift[:n]) if kept else drift[:n]
    k = int(np.argmax(drift))
    return {
        Key("energy", "the whole robot"): Measured(
            float(drift[k]) / scale, "of the kinetic energy", 0.02, float(run.t[k])
        )
    }


def _friction(run: Run, reference: Run, n: int, scales: Scales) -> dict[Key, Measured]:
    """Creep of joints that dry friction holds in robosim."""
    found: dict[Key, Measured] = {}
    half = n // 2
    period = float(run.t[n - 1] - run.t[half])
    if run.q.shape[1] != reference.q.shape[1] or period < SHORTEST:
        return found
    for k, name in enumerate(scales.names):
        if name in scales.held and np.ptp(reference.q[half:n, k]) < 1e-7 * period:
            creep = abs(float(run.q[n - 1, k] - run.q[half, k])) / period
            found[Key("friction", f"'{name}'")] = Measured(
                creep, "rad/s or m/s", 1e-3, float(run.t[half])
            )
    return found


def _rest(run: Run, reference: Run, n: int, scales: Scales) -> dict[Key, Measured]:
    """Shaking, without its mean, of bodies that are at rest in robosim in the second half."""
    found: dict[Key, Measured] = {}
    half, names = n // 2, {name: k for k, name in enumerate(reference.bodies)}
    if n - half < 10:
        return found
    dt = np.diff(run.t[half:n])
    for k, name in enumerate(run.bodies):
        ours = names.get(name)
        if ours is None or np.ptp(reference.points[half:n, ours], axis=0).max() > 1e-6:
            continue
        speed = np.diff(run.points[half:n, k], axis=0) / dt[:, None, None]
        squared = ((speed - speed.mean(axis=0)) ** 2).sum(axis=2).mean(axis=0)
        value = float(np.sqrt(squared.max()))
        found[Key("rest", f"'{name}'")] = Measured(
            value, "m/s", 2.0 * scales.near, float(run.t[half])
        )
    return found


def _spikes(run: Run, reference: Run, n: int, scales: Scales) -> dict[Key, Measured]:
    """Largest force of actuators and of contacts, relative to robosim's."""
    found: dict[Key, Measured] = {}
    ours, theirs = float(reference.effort[:n].max()), float(run.effort[:n].max())
    if theirs > 1e-6 and ours > 1e-6:
        k = int(np.argmax(run.effort[:n]))
        found[Key("spikes", "an actuator")] = Measured(
            theirs / ours, "times robosim's", 3.0, float(run.t[k])
        )
    for pair, series in run.touches.items():
        other = reference.touches.get(pair)
        stretch = None if other is None else settled(run, series, other, n)
        if other is None or stretch is None:
            continue
        theirs, ours = (float(one.force[stretch].max()) for one in (series, other))
        if theirs > 2 * scales.weight and ours > 0:
            k = stretch.start + int(np.argmax(series.force[stretch]))
            found[Key("spikes", pair_name(pair))] = Measured(
                theirs / ours, "times robosim's", 4.0, float(run.t[k])
            )
    return found
