"""A public test scene of [Sueda]: its mechanism, and its run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.description.body import Body
from robosim.description.charts import Chart, Composite, Slide
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.springs import Coupling, PointSpring
from robosim.reduced import ReducedSimulation

Array = NDArray[np.float64]
X, Y, Z = np.eye(3)
FALL = (0.0, 0.0, -980.0)  # cm/s^2
NONE = (0.0, 0.0, 0.0)


@dataclass
class Scene:
    """A scene under construction, and its run."""

    name: str
    published: float  # T + V - V0 of the author's Euler integrator, g cm^2/s^2
    seconds: float = 2.0
    h: float = 1e-2
    gravity: tuple[float, float, float] = FALL
    tolerance: float = 1e-9
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    centres: dict[str, Array] = field(default_factory=dict)
    q: list[float] = field(default_factory=list)
    v: list[float] = field(default_factory=list)
    springs: list[PointSpring] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    hold: tuple[str, ...] = ()
    begin: Callable[[ReducedSimulation], None] = lambda sim: None
    before: Callable[[ReducedSimulation, int], Any] = lambda sim, k: None  # torques of step k

    def link(
        self,
        parent: str | None,
        at: ArrayLike = NONE,
        centre: ArrayLike = NONE,
        sides: tuple[float, float, float] | Body = (10, 1, 1),
        q: float | Sequence[float] = (),
        v: float | Sequence[float] = (),
        **joint: Any,
    ) -> str:
        """Add a body on a joint, by default a hinge about y; returns its name."""
        name = f"body{len(self.bodies) + 1}"
        self.bodies.append(sides if isinstance(sides, Body) else cuboid(name, sides))
        self.centres[self.bodies[-1].name] = np.asarray(centre, dtype=float)
        own = {"kind": "revolute", "axis": Y} | joint
        if own["kind"] != "revolute":
            own.pop("axis") if "axis" not in joint else None
        begins = np.asarray(at) - (self.centres[parent] if parent else 0.0)
        made = Joint(
            f"joint{len(self.joints) + 1}", parent=parent, child=self.bodies[-1].name,
            parent_position=begins, child_position=-np.asarray(centre, dtype=float), **own,
        )  # fmt: skip
        self.joints.append(made)
        for into, given, n in ((self.q, q, made.nq), (self.v, v, made.nv)):
            into += list(np.ravel(given)) if np.size(given) else [0.0] * n
        return self.bodies[-1].name

    def chain(self, n: int, q: Sequence[float] = (), **joint: Any) -> list[str]:
        """Bars of 10 cm along x, each connected to the end of the previous one."""
        names: list[str] = []
        for i in range(n):
            at = (10.0, 0, 0) if names else NONE
            angle = [q[i]] if i < len(q) else ()
            names.append(self.link(names[-1] if names else None, at, (5, 0, 0), q=angle, **joint))
        return names

    def loop(self, parent: str | None, at: ArrayLike, child: str, there: ArrayLike) -> None:
        """Connect a point of the parent and one of the child, given from their centres."""
        self.joints.append(
            Joint(
                f"loop{len(self.joints)}",
                "spherical",
                parent,
                child,
                parent_position=at,
                child_position=there,
                actuated=False,
            )
        )

    def robot(self) -> Mechanism:
        """The mechanism, whose bodies keep the given order."""
        return Mechanism(
            self.name, tuple(self.bodies), tuple(self.joints), springs=tuple(self.springs),
            couplings=tuple(self.couplings), as_given=True,
        )  # fmt: skip

    def simulation(self, **options: Any) -> ReducedSimulation:
        """A simulation at the initial state."""
        chosen = {"baumgarte": 5.0} | self.options | options
        sim = ReducedSimulation(self.robot(), self.h, self.gravity, **chosen)
        sim.set_state(self.q, self.v, hold=self.hold)
        self.begin(sim)
        return sim

    def energy(self, share: float = 1.0) -> float:
        """T + V - V0 after a fraction of the duration."""
        sim = self.simulation()
        moving = 0.5 * sum(
            body.mass * v @ v + w @ body.inertia @ w
            for body, v, w in zip(sim.robot.bodies, sim.state.v, sim.state.omega, strict=True)
        )
        still = sim.energy() - moving
        for k in range(round(share * self.seconds / self.h)):
            sim.step(self.before(sim, k))
        return float(sim.energy() - still)


def cuboid(name: str, sides: Sequence[float]) -> Body:
    """A cuboid of density 1 [Sueda, Eq. 1.24]."""
    a, b, c = np.square(np.asarray(sides, dtype=float))
    mass = float(np.prod(sides))
    return Body(name, mass, mass / 12 * np.diag((b + c, c + a, a + b)))


def turned(axis: ArrayLike, angle: float, at: ArrayLike) -> Array:
    """A frame (7,), rotated about an axis."""
    return np.concatenate((at, quaternions.from_axis_angle(axis, angle)))


def composite(*charts: Chart) -> dict[str, Any]:
    """A joint of several charts."""
    return {"kind": "composite", "chart": Composite(*charts)}


def flat(n: int) -> dict[str, Any]:
    """A joint of n translations, x first."""
    return composite(*(Slide(axis) for axis in np.eye(3)[:n]))


class Sigmoid:
    """A motion from 0 to an angle in a given time, which then ends or continues."""

    def __init__(self, angle: float, seconds: float, ends: bool) -> None:
        self.angle, self.seconds = angle, seconds
        self.last = seconds - 1e-9 if ends else np.inf

    def __call__(self, t: float) -> float:
        return self.angle if t >= self.last else float(self.angle / (1 + self._decay(t)))

    def rate(self, t: float) -> float:
        """Derivative of the motion [rad/s]."""
        decay = self._decay(t)
        slope = 14 / self.seconds * self.angle * decay / (1 + decay) ** 2
        return 0.0 if t >= self.last else float(slope)

    def _decay(self, t: float) -> float:
        return float(np.exp(-14 * (t / self.seconds - 0.5)))


def wave(t: float) -> Array:
    """Motion of the last body of two scenes: in the plane, from rest to rest, repeatedly."""
    # A knot between two pieces belongs to the second one, despite rounding errors.
    piece, t = int(np.floor((t + 1e-9) / 2.0)), float(t)
    speed = (0.0, 0.0, -2 * (t - 4), 2 * (t - 8))[piece] if piece < 4 else 0.0
    spin = (-t, t - 4, t - 4, -(t - 8))[piece] if piece < 4 else 0.0
    return np.array((speed, 0, 0, 0, spin, 0))
