"""Sensors as model files name them: readings of a simulation at its knot, by name.

A sensor is a kind and what it is about: coordinates with factors, a place on a body, or all bodies
of a subtree. Positions, axes and velocities are those of the world, or of a place that they are
relative to; `gyro`, `velocimeter` and `accelerometer` read in their own axes. Accelerations are
those against free fall, as accelerometers feel them. Quaternions are (w, x, y, z).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.errors import ModelError
from robosim.validation import Frozen, frozen_array, unit_quaternion

if TYPE_CHECKING:
    from robosim.mechanism import Mechanism
    from robosim.simulation import Simulation

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Place(Frozen):
    """A frame on a body.

    Attributes
    ----------
    body : str or None
        None for the world.
    position : (3,) [m], in body axes from the centre of mass; in the world for the world
    quaternion : (4,), to body axes
    """

    body: str | None = None
    position: ArrayLike = (0.0, 0.0, 0.0)
    quaternion: ArrayLike = quaternions.IDENTITY

    def __post_init__(self) -> None:
        element = f"place on '{self.body or 'world'}'"
        self._set(
            position=frozen_array(self.position, (3,), "position", element),
            quaternion=unit_quaternion(self.quaternion, "quaternion", element),
        )

    @classmethod
    def of_frame(cls, robot: Mechanism, name: str) -> Place:
        """That of a frame of a robot, by its name: a link's, or a site's."""
        index, frame = robot.frame(name)
        return cls(robot.bodies[index].name, frame.position, frame.quaternion)


@dataclass(frozen=True)
class Zone:
    """A volume around a place, within which `touch` feels.

    Attributes
    ----------
    kind : "sphere", "ellipsoid", "box", "capsule" or "cylinder"
    size : (3,) [m]
        Radius, or half axes or edges, or radius and half of the straight part along z.
    """

    kind: str
    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        if self.kind not in _OUTSIDE:
            raise ModelError(
                f"'{self.kind}' is no volume", element="zone", alternatives=tuple(_OUTSIDE)
            )

    def meets(self, start: Array, direction: Array) -> bool:
        """Whether the ray from a point (3,) along a unit vector (3,) meets it, in its frame."""
        # How far outside a point is is convex along a line, so thirds find where it is least.
        low, high = 0.0, float(np.linalg.norm(start)) + float(np.linalg.norm(self.size))
        for _ in range(80):
            third = (high - low) / 3
            a, b = low + third, high - third
            if self._outside(start + a * direction) < self._outside(start + b * direction):
                high = b
            else:
                low = a
        return min(self._outside(start), self._outside(start + low * direction)) <= 0

    def _outside(self, p: Array) -> float:
        return float(_OUTSIDE[self.kind](np.abs(p), np.asarray(self.size)))


# At |p| (3,) for a size (3,): a convex function that is positive outside.
_OUTSIDE: dict[str, Callable[[Array, Array], Any]] = {
    "sphere": lambda p, s: np.linalg.norm(p) - s[0],
    "ellipsoid": lambda p, s: np.linalg.norm(p / s) - 1,
    "box": lambda p, s: np.max(p - s),
    "capsule": lambda p, s: np.hypot(np.hypot(p[0], p[1]), max(p[2] - s[1], 0.0)) - s[0],
    "cylinder": lambda p, s: max(np.hypot(p[0], p[1]) - s[0], p[2] - s[1]),
}


@dataclass(frozen=True, eq=False)
class Sensor(Frozen):
    """What to read, and of what.

    Attributes
    ----------
    name : str
    kind : str
        A key of KINDS.
    of : mapping of str to float
        Coordinates by their names in ``robot.q_names`` and ``v_names``, with factors, of which
        the reading is the sum; of ball joints, the joint's name.
    place, reference : Place or None
        Where on what, and what that is relative to; the world if None.
    bodies : tuple of str
        Those of a subtree.
    zone : Zone or None
        For `touch`.
    cutoff : float
        Readings are kept within plus and minus this; no limit if it is 0.

    Raises
    ------
    ModelError
        For an unknown kind.
    """

    name: str
    kind: str
    of: Mapping[str, float] = field(default_factory=dict)
    place: Place = field(default_factory=Place)
    reference: Place = field(default_factory=Place)
    bodies: tuple[str, ...] = ()
    zone: Zone | None = None
    cutoff: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ModelError(
                f"'{self.kind}' is no kind of sensor",
                element=f"sensor '{self.name}'",
                alternatives=tuple(KINDS),
            )
        self._set(of=dict(self.of), bodies=tuple(self.bodies))

    def check(self, robot: Mechanism) -> None:
        """Raise a ModelError if it is about something that a robot does not have."""
        element = f"sensor '{self.name}'"
        bodies = [body.name for body in robot.bodies]
        for name in (self.place.body, self.reference.body, *self.bodies):
            if name is not None and name not in bodies:
                raise ModelError(
                    f"body '{name}' does not exist", element=element, alternatives=bodies
                )
        balls = [joint.name for joint in robot.tree_joints if joint.has_quaternion]
        tendons = tuple(tendon.name for tendon in robot.tendons)
        known = balls if self.kind.startswith("ball") else (*robot.v_names, *tendons)
        for name in self.of:
            if name not in known:
                raise ModelError(
                    f"there is no coordinate '{name}'", element=element, alternatives=known
                )

    def read(self, sim: Simulation) -> float | Array:
        """The reading at the knot of a simulation: a number, or an array (3,) or (4,)."""
        value = np.asarray(KINDS[self.kind](sim, self), dtype=float)
        if self.cutoff > 0 and "quat" not in self.kind:
            value = np.clip(value, -self.cutoff, self.cutoff)
        return float(value) if value.ndim == 0 else value


def _sum(names: tuple[str, ...], values: Array, of: Mapping[str, float]) -> float:
    return sum(factor * float(values[names.index(name)]) for name, factor in of.items())


def _tendon_names(sim: Simulation) -> tuple[str, ...]:
    return tuple(tendon.name for tendon in sim.robot.tendons)


def _coordinates(sim: Simulation, sensor: Sensor) -> float:
    names, values = _tendon_names(sim), sim.state.joint_q
    lengths = values[len(values) - len(names) :]
    return _sum((*sim.robot.q_names, *names), np.concatenate((sim.q, lengths)), sensor.of)


def _rates(sim: Simulation, sensor: Sensor) -> float:
    names, values = _tendon_names(sim), sim.state.joint_v
    rates = values[len(values) - len(names) :]
    return _sum((*sim.robot.v_names, *names), np.concatenate((sim.v, rates)), sensor.of)


def _torques(sim: Simulation, sensor: Sensor) -> float:
    return _sum(sim.robot.v_names, sim.torques, sensor.of)


def _ball(sim: Simulation, sensor: Sensor) -> tuple[Array, Array]:
    """Quaternion (4,) and angular velocity (3,) of a ball joint."""
    (name,) = sensor.of
    index = sim.robot.joint_index(name)
    ends = sim.robot.q_offsets[index + 1], sim.robot.v_offsets[index + 1]
    return sim.q[ends[0] - 4 : ends[0]], sim.v[ends[1] - 3 : ends[1]]


def _pose(sim: Simulation, place: Place) -> tuple[Array, Array]:
    """Position (3,) and orientation (4,) of a place in the world."""
    p, q = np.asarray(place.position), np.asarray(place.quaternion)
    if place.body is None:
        return p, q
    index = sim.robot.body_index(place.body)
    body = sim.state.q[index]
    R = quaternions.rotation_matrix(body)
    return sim.state.x[index] + R @ p, quaternions.multiply(body, q)


def _twist(sim: Simulation, place: Place) -> tuple[Array, Array]:
    """Velocity of a place and angular velocity of its body, (3,) and (3,), world axes."""
    if place.body is None:
        return np.zeros(3), np.zeros(3)
    index = sim.robot.body_index(place.body)
    R = quaternions.rotation_matrix(sim.state.q[index])
    omega = R @ sim.state.omega[index]
    return sim.state.v[index] + np.cross(omega, R @ np.asarray(place.position)), omega


def _accelerations(sim: Simulation, place: Place) -> tuple[Array, Array]:
    """Acceleration of a place against free fall, and angular one of its body, world axes."""
    if place.body is None:
        return -sim.gravity, np.zeros(3)
    index = sim.robot.body_index(place.body)
    change = sim.accelerations()[index]
    arm = quaternions.rotation_matrix(sim.state.q[index]) @ np.asarray(place.position)
    _, omega = _twist(sim, place)
    turning = np.cross(change[3:], arm) + np.cross(omega, np.cross(omega, arm))
    return change[:3] + turning - sim.gravity, change[3:]


def _axes(sim: Simulation, place: Place) -> Array:
    return quaternions.rotation_matrix(_pose(sim, place)[1])


def _position(sim: Simulation, sensor: Sensor) -> Array:
    away = _pose(sim, sensor.place)[0] - _pose(sim, sensor.reference)[0]
    return np.asarray(_axes(sim, sensor.reference).T @ away)


def _orientation(sim: Simulation, sensor: Sensor) -> Array:
    q, reference = _pose(sim, sensor.place)[1], _pose(sim, sensor.reference)[1]
    return quaternions.multiply(quaternions.conjugate(reference), q)


def _axis(k: int) -> Callable[[Simulation, Sensor], Array]:
    def read(sim: Simulation, sensor: Sensor) -> Array:
        return np.asarray(_axes(sim, sensor.reference).T @ _axes(sim, sensor.place)[:, k])

    return read


def _velocity(sim: Simulation, sensor: Sensor) -> Array:
    """As it is seen by someone who moves and turns with the reference."""
    v, _ = _twist(sim, sensor.place)
    v_r, omega_r = _twist(sim, sensor.reference)
    away = _pose(sim, sensor.place)[0] - _pose(sim, sensor.reference)[0]
    return np.asarray(_axes(sim, sensor.reference).T @ (v - v_r - np.cross(omega_r, away)))


def _angular_velocity(sim: Simulation, sensor: Sensor) -> Array:
    omega = _twist(sim, sensor.place)[1] - _twist(sim, sensor.reference)[1]
    return np.asarray(_axes(sim, sensor.reference).T @ omega)


def _subtree(sim: Simulation, sensor: Sensor) -> tuple[float, Array, Array, Array]:
    """Mass, centre (3,), momentum (3,) and angular momentum about the centre (3,), world."""
    chosen = [sim.robot.body_index(name) for name in sensor.bodies]
    mass, center, momentum = 0.0, np.zeros(3), np.zeros(3)
    for index in chosen:
        own = sim.robot.bodies[index].mass
        mass += own
        center += own * sim.state.x[index]
        momentum += own * sim.state.v[index]
    center /= mass
    spin = np.zeros(3)
    for index in chosen:
        body = sim.robot.bodies[index]
        R = quaternions.rotation_matrix(sim.state.q[index])
        spin += R @ np.asarray(body.inertia) @ sim.state.omega[index]
        spin += body.mass * np.cross(sim.state.x[index] - center, sim.state.v[index])
    return mass, center, momentum, spin


def _touch(sim: Simulation, sensor: Sensor) -> float:
    """Sum of the normal forces on a body that go through the zone [N], of the last interval."""
    p, q = _pose(sim, sensor.place)
    R = quaternions.rotation_matrix(q)
    total = 0.0
    for contact in sim.contacts():
        if sensor.place.body in (contact.body, contact.other) and sensor.zone is not None:
            # Into the body that feels it.
            inward = contact.normal if contact.body == sensor.place.body else -contact.normal
            if sensor.zone.meets(R.T @ (contact.position - p), R.T @ inward):
                total += float(contact.force @ contact.normal)
    return total


def _reaction(sim: Simulation, sensor: Sensor) -> tuple[Array, Array]:
    """Force on a subtree through the joint that carries it, torque about the place; in its axes.

    What the accelerations of its bodies take, less what contacts, wrenches and loops give.
    """
    at, _ = _pose(sim, sensor.place)
    below = [sim.robot.body_index(name) for name in sensor.bodies]
    force, torque = np.zeros(3), np.zeros(3)

    def add(f: Array, point: Array, moment: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        force[:] += f
        torque[:] += np.cross(point - at, f) + np.asarray(moment)

    turns, changes = quaternions.rotation_matrix(sim.state.q), sim.accelerations()
    for index in below:
        body, R = sim.robot.bodies[index], turns[index]
        inertia, omega = R @ np.asarray(body.inertia) @ R.T, R @ sim.state.omega[index]
        moment = inertia @ changes[index, 3:] + np.cross(omega, inertia @ omega)
        add(body.mass * (changes[index, :3] - sim.gravity), sim.state.x[index], moment)
        outside = sim.wrench(body.name)
        add(-outside[:3], sim.state.x[index], -outside[3:])
    for contact in sim.contacts():
        for name, sign in ((contact.body, -1.0), (contact.other, 1.0)):
            if name in sensor.bodies:
                add(sign * contact.force, contact.position)
    wrenches = sim.joint_wrenches() if sim.robot.loop_joints else {}
    for joint in sim.robot.loop_joints:
        index = sim.robot.body_index(joint.child)
        point = sim.state.x[index] + turns[index] @ np.asarray(joint.child_position)
        for end, sign in ((joint.child, -1.0), (joint.parent, 1.0)):
            if end in sensor.bodies:
                add(sign * wrenches[joint.name][:3], point, sign * wrenches[joint.name][3:])
    axes = _axes(sim, sensor.place).T
    return axes @ force, axes @ torque


# Names are those of MJCF. Lengths of tendons and actuators are sums of coordinates.
KINDS: dict[str, Callable[[Simulation, Sensor], ArrayLike]] = {
    **dict.fromkeys(("jointpos", "tendonpos", "actuatorpos"), _coordinates),
    **dict.fromkeys(("jointvel", "tendonvel", "actuatorvel"), _rates),
    **dict.fromkeys(("jointactuatorfrc", "actuatorfrc"), _torques),
    "ballquat": lambda sim, sensor: _ball(sim, sensor)[0],
    "ballangvel": lambda sim, sensor: _ball(sim, sensor)[1],
    "framepos": _position,
    "framequat": _orientation,
    "framexaxis": _axis(0),
    "frameyaxis": _axis(1),
    "framezaxis": _axis(2),
    "framelinvel": _velocity,
    "frameangvel": _angular_velocity,
    "velocimeter": lambda sim, sensor: _axes(sim, sensor.place).T @ _twist(sim, sensor.place)[0],
    "gyro": lambda sim, sensor: _axes(sim, sensor.place).T @ _twist(sim, sensor.place)[1],
    "accelerometer": lambda sim, sensor: (
        _axes(sim, sensor.place).T @ _accelerations(sim, sensor.place)[0]
    ),
    "framelinacc": lambda sim, sensor: _accelerations(sim, sensor.place)[0],
    "frameangacc": lambda sim, sensor: _accelerations(sim, sensor.place)[1],
    "subtreecom": lambda sim, sensor: _subtree(sim, sensor)[1],
    "subtreelinvel": lambda sim, sensor: _subtree(sim, sensor)[2] / _subtree(sim, sensor)[0],
    "subtreeangmom": lambda sim, sensor: _subtree(sim, sensor)[3],
    "force": lambda sim, sensor: _reaction(sim, sensor)[0],
    "torque": lambda sim, sensor: _reaction(sim, sensor)[1],
    "touch": _touch,
    "clock": lambda sim, sensor: sim.time,
}
