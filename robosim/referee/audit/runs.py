"""A run of a robot in one simulator: what is asked for, and what was seen, sample by sample.

All simulators are asked in the same way (`Job`) and answer in the same way (`Run`), so that no
measure knows which simulator it looks at. Positions and velocities are in world axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pair = tuple[str, str]
"""Two bodies that touch, in the order of their names; `WORLD` stands for all that is fixed."""
WORLD = "the world"
HELD, TORQUES, ASKED = "held", "torques", "asked"
"""Controls of the file's actuators; torques (nu,) on joints; torques that a controller is asked
for."""


class Touch(NamedTuple):
    """The contact of two bodies at one time.

    Attributes
    ----------
    depth : float [m]
        Of the deepest contact point; negative with a gap.
    force : float [N]
        Sum of the normal forces.
    slip : (3,) [m/s]
        Tangential velocity of the second body relative to the first, at the contact point with
        the largest normal force.
    """

    depth: float
    force: float
    slip: Array


class Look(NamedTuple):
    """What a simulator shows of its present state.

    Attributes
    ----------
    q, v : (nq,), (nv,)
        Coordinates in robosim's order, or the simulator's if robosim has not loaded the file.
    x : (nb, 3) [m]
        Origins of the bodies.
    R : (nb, 3, 3)
        From their axes to the world's.
    energy : float [J]
        Kinetic and potential; nan if the simulator does not tell.
    kinetic : float [J]
        The kinetic part; nan if the simulator does not tell.
    touches : mapping of two names to Touch
    loops : mapping of name to float [m or rad]
        How far each equality or closed loop is open.
    limits : mapping of joint to float [rad or m]
        How far each joint is beyond its limit; only those that are.
    effort : float [N m or N]
        Largest force of an actuator, in size.
    """

    q: Array
    v: Array
    x: Array
    R: Array
    energy: float
    kinetic: float
    touches: Mapping[Pair, Touch]
    loops: Mapping[str, float]
    limits: Mapping[str, float]
    effort: float


@dataclass(frozen=True)
class Job:
    """A run that a simulator is asked for.

    Attributes
    ----------
    peer : str
    label : str
        What is special about this run, for tables.
    period : float [s]
        Of samples, over which controls are held.
    substeps : int
        Time steps in a period.
    samples : int
    settings : mapping of str to Any
        What differs from the file; see each adapter.
    q, v : (nq,), (nv,) or None
        The start; None: the simulator's own.
    kind : str
        `HELD`, `TORQUES` or `ASKED`.
    table : (n, m)
        Controls or torques of each period; the last row holds on.
    gains : array of `robosim.control.pd.GAINS` or None
        Implicit PD control of joints, as springs and dampers.
    every : int
        Periods between samples that are kept.
    arm : float [m]
        Distance of the points by which turns of bodies are seen.
    """

    peer: str
    label: str
    period: float
    substeps: int
    samples: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    q: Array | None = None
    v: Array | None = None
    kind: str = HELD
    table: Array = field(default_factory=lambda: np.zeros((1, 0)))
    gains: Any = None
    every: int = 1
    arm: float = 0.1

    @property
    def timestep(self) -> float:
        """Length of a time step [s]."""
        return self.period / self.substeps


@dataclass(frozen=True, eq=False)
class Series:
    """The contact of two bodies over time; nan where they do not touch.

    Attributes
    ----------
    depth : (n,) [m]
    force : (n,) [N]
        Zero where they do not touch.
    slip : (n, 3) [m/s]
    """

    depth: Array
    force: Array
    slip: Array


@dataclass(frozen=True, eq=False)
class Run:
    """What a simulator did.

    Attributes
    ----------
    job : Job
    version : str
    told : str
        The settings in words.
    t : (n,) [s]
    q, v : (n, nq), (n, nv)
    bodies : tuple of str
    points : (n, nb, 4, 3) [m]
        Of each body: its origin, and a point on each of its axes, `Job.arm` away.
    energy, kinetic : (n,) [J]
    touches : dict of two names to Series
    loops, limits : dict of name to (n,)
    effort : (n,)
    ended : str or None
        Why the run ended before its time.
    stopped : bool
        Whether the controller ended it.
    """

    job: Job
    version: str
    told: str
    t: Array
    q: Array
    v: Array
    bodies: tuple[str, ...]
    points: Array
    energy: Array
    kinetic: Array
    touches: dict[Pair, Series]
    loops: dict[str, Array]
    limits: dict[str, Array]
    effort: Array
    ended: str | None = None
    stopped: bool = False

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True)
class Opened:
    """What a simulator has made of the file.

    Attributes
    ----------
    peer, version : str
    bodies : tuple of str
    joints : mapping of name to mapping
        Of each hinge and slide: lower, upper, damping, friction, armature.
    mass : float [kg]
        Of all that moves.
    equalities, tendons, actuators : int
    touching : tuple of str
        Bodies that can touch something.
    angles : tuple of str
        Names of the loops and limits that are measured in radians, not in metres.
    """

    peer: str
    version: str
    bodies: tuple[str, ...] = ()
    joints: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    mass: float = 0.0
    equalities: int = 0
    tendons: int = 0
    actuators: int = 0
    touching: tuple[str, ...] = ()
    angles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failed:
    """A run, or an opening of a file, that came to nothing.

    Attributes
    ----------
    peer, label : str
    why : str
    how : str
        "missing", "cannot load", "crashed", "hung" or "failed".
    """

    peer: str
    label: str
    why: str
    how: str


class Peer(Protocol):
    """A simulator with the robot's file loaded: one adapter for each, in a process of its own."""

    version: str
    bodies: tuple[str, ...]

    def opened(self) -> Opened:
        """What it has made of the file."""
        ...

    def begin(self, job: Job) -> str:
        """Apply the time step and the settings, set the state; the settings in words."""
        ...

    def drive(self, row: Array, kind: str) -> None:
        """Controls or torques from now on."""
        ...

    def step(self, steps: int) -> str | None:
        """Take time steps; why the run has to end, if it has to."""
        ...

    def look(self) -> Look:
        """The present state."""
        ...


class Recorder:
    """Collects looks, and makes a run of them."""

    def __init__(self) -> None:
        self._t: list[float] = []
        self._looks: list[Look] = []

    def add(self, time: float, look: Look) -> None:
        """Add what a simulator showed at a time [s]."""
        self._t.append(time)
        self._looks.append(look)

    def run(
        self,
        job: Job,
        peer: Peer,
        told: str,
        ended: str | None = None,
        stopped: bool = False,
    ) -> Run:
        """The run of all looks."""
        looks, n = self._looks, len(self._looks)
        touches: dict[Pair, Series] = {}
        loops: dict[str, Array] = {}
        limits: dict[str, Array] = {}
        for k, look in enumerate(looks):
            for pair, touch in look.touches.items():
                if pair not in touches:
                    empty = np.full(n, np.nan), np.zeros(n), np.full((n, 3), np.nan)
                    touches[pair] = Series(*empty)
                of = touches[pair]
                of.depth[k], of.force[k], of.slip[k] = touch
            for name, value in look.loops.items():
                loops.setdefault(name, np.zeros(n))[k] = value
            for name, value in look.limits.items():
                limits.setdefault(name, np.zeros(n))[k] = value
        return Run(
            job,
            peer.version,
            told,
            np.array(self._t),
            np.array([look.q for look in looks]),
            np.array([look.v for look in looks]),
            peer.bodies,
            points_of(
                np.array([look.x for look in looks]).reshape(n, len(peer.bodies), 3),
                np.array([look.R for look in looks]).reshape(n, len(peer.bodies), 3, 3),
                job.arm,
            ),
            np.array([look.energy for look in looks]),
            np.array([look.kinetic for look in looks]),
            touches,
            loops,
            limits,
            np.array([look.effort for look in looks]),
            ended,
            stopped,
        )


def points_of(x: Array, R: Array, arm: float) -> Array:
    """Origins (..., 3) and points on the axes of R (..., 3, 3), (..., 4, 3) [m]."""
    axes = x[..., None, :] + arm * np.swapaxes(R, -1, -2)
    return np.concatenate((x[..., None, :], axes), axis=-2)


def pair_of(one: str, other: str) -> tuple[Pair, float]:
    """Two bodies in the order of their names, the world last; and -1 if that swaps them."""
    if one == WORLD or (other != WORLD and other < one):
        return (other, one), -1.0
    return (one, other), 1.0


class Touches:
    """Collects the contact points of one look.

    Attributes
    ----------
    found : dict of two names to Touch
    """

    def __init__(self) -> None:
        self.found: dict[Pair, Touch] = {}
        self._largest: dict[Pair, float] = {}

    def add(
        self, one: str, other: str, depth: float, force: float, normal: Array, velocity: Array
    ) -> None:
        """Add a contact point.

        Parameters
        ----------
        one, other : str
        depth : float [m]
        force : float [N]
        normal : (3,)
        velocity : (3,) [m/s], of the other body relative to the first
        """
        pair, sign = pair_of(one, other)
        slip = sign * (velocity - (velocity @ normal) * normal)
        before = self.found.get(pair)
        if before is None:
            self.found[pair], self._largest[pair] = Touch(depth, force, slip), force
            return
        if force <= self._largest[pair]:
            slip = before.slip
        self._largest[pair] = max(force, self._largest[pair])
        self.found[pair] = Touch(max(depth, before.depth), force + before.force, slip)
