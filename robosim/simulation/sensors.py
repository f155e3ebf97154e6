"""Readings of sensors at the knot of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.body import Body
from robosim.description.place import Place
from robosim.description.sensor import Part, Sensor
from robosim.formulation import AtKnot
from robosim.quaternions import rotation_matrix, turned, turned_back
from robosim.validation import Array


class Ends(NamedTuple):
    """The bodies where the last step began, with the axes of `BodyState`.

    Attributes
    ----------
    q : (..., nb, 4)
    v, omega : (..., nb, 3) [m/s] and [rad/s]
    """

    q: Array
    v: Array
    omega: Array


class Readable(AtKnot, Protocol):
    """The interface of a simulation that sensors read."""

    @property
    def timestep(self) -> float: ...
    @property
    def before(self) -> Ends: ...
    def accelerations(self) -> Array: ...
    def contacts(self) -> Sequence[Any]: ...
    def wrench(self, body: str) -> Array: ...
    def joint_wrenches(self) -> Mapping[str, Array]: ...


def read(sim: Readable, sensor: Sensor) -> float | Array:
    """The reading of a sensor at the knot of a simulation: a number, or an array (3,) or (4,)."""
    value = read_all(sim, sensor)
    return float(value) if value.ndim == 0 else value


def read_all(sim: Readable, sensor: Sensor) -> Array:
    """The readings of a sensor in n states, (n,), (n, 3) or (n, 4); for one state, without n.

    For n states, all arrays of `sim` have n as their first axis. Kinds in `BY_STATE` are read for
    one state at a time. Values that are equal for all states may also have no such axis.
    """
    value = np.asarray(READERS[sensor.kind](sim, sensor), dtype=float)
    if sensor.cutoff > 0 and "quat" not in sensor.kind:
        value = np.clip(value, -sensor.cutoff, sensor.cutoff)
    return value


def _sum(names: tuple[str, ...], values: Array, of: Mapping[str, float]) -> Any:
    return sum(factor * values[..., names.index(name)] for name, factor in of.items())


def _tendon_names(sim: Readable) -> tuple[str, ...]:
    return tuple(tendon.name for tendon in sim.robot.tendons)


def _coordinates(sim: Readable, sensor: Sensor) -> Any:
    names, values = _tendon_names(sim), sim.state.joint_q
    lengths = values[..., values.shape[-1] - len(names) :]
    every = np.concatenate((sim.q, lengths), axis=-1)
    return _sum((*sim.robot.q_names, *names), every, sensor.of)


def _rates(sim: Readable, sensor: Sensor) -> Any:
    names, values = _tendon_names(sim), sim.state.joint_v
    rates = values[..., values.shape[-1] - len(names) :]
    every = np.concatenate((sim.v, rates), axis=-1)
    return _sum((*sim.robot.v_names, *names), every, sensor.of)


def _torques(sim: Readable, sensor: Sensor) -> Any:
    return _sum(sim.robot.v_names, sim.torques, sensor.of)


def _ball(sim: Readable, sensor: Sensor) -> tuple[Array, Array]:
    """Quaternion (..., 4) and angular velocity (..., 3) of a ball joint."""
    (name,) = sensor.of
    index = sim.robot.joint_index(name)
    ends = sim.robot.q_offsets[index + 1], sim.robot.v_offsets[index + 1]
    return sim.q[..., ends[0] - 4 : ends[0]], sim.v[..., ends[1] - 3 : ends[1]]


def _pose(sim: Readable, place: Place) -> tuple[Array, Array]:
    """Position (..., 3) and orientation (..., 4) of a place in the world."""
    p, q = np.asarray(place.position), np.asarray(place.quaternion)
    if place.body is None:
        return p, q
    index = sim.robot.body_index(place.body)
    body = sim.state.q[..., index, :]
    R = rotation_matrix(body)
    return sim.state.x[..., index, :] + R @ p, quaternions.multiply(body, q)


def _twist(sim: Readable, place: Place) -> tuple[Array, Array]:
    """Velocity of a place and angular velocity of its body, (..., 3) each, world axes."""
    if place.body is None:
        return np.zeros(3), np.zeros(3)
    index = sim.robot.body_index(place.body)
    R = rotation_matrix(sim.state.q[..., index, :])
    omega = turned(R, sim.state.omega[..., index, :])
    arm = R @ np.asarray(place.position)
    return sim.state.v[..., index, :] + np.cross(omega, arm), omega


def _accelerations(sim: Readable, place: Place) -> tuple[Array, Array]:
    """Acceleration of a place relative to free fall, and angular one of its body, world axes.

    Means over the last step.
    """
    if place.body is None:
        return -sim.gravity, np.zeros(3)
    index = sim.robot.body_index(place.body)
    change = sim.accelerations()[..., index, :]
    # Of the place against the centre of mass, at both ends.
    past, here = (
        turned(
            rotation_matrix(knot.q[..., index, :]),
            np.cross(knot.omega[..., index, :], np.asarray(place.position)),
        )
        for knot in (sim.before, sim.state)
    )
    return change[..., :3] + (here - past) / sim.timestep - sim.gravity, change[..., 3:]


def _between(past: Array, here: Array) -> Array:
    """Orientations (..., 4) half of the way from one to another."""
    middle = past + np.where(np.sum(past * here, axis=-1, keepdims=True) < 0, -1, 1) * here
    return np.asarray(middle / np.linalg.norm(middle, axis=-1, keepdims=True))


def _middle(sim: Readable, place: Place) -> Array:
    """Axes of a place in the middle of the last step, (..., 3, 3)."""
    if place.body is None:
        return _axes(sim, place)
    index = sim.robot.body_index(place.body)
    body = _between(sim.before.q[..., index, :], sim.state.q[..., index, :])
    return rotation_matrix(quaternions.multiply(body, np.asarray(place.quaternion)))


def _middle_pose(sim: Readable, place: Place, q: Array, x: Array) -> tuple[Array, Array]:
    """Position (3,) and axes (3, 3) of a place, with the bodies at q (nb, 4) and x (nb, 3)."""
    if place.body is None:
        return np.asarray(place.position), _axes(sim, place)
    index = sim.robot.body_index(place.body)
    return x[index] + rotation_matrix(q[index]) @ np.asarray(place.position), _middle(sim, place)


def _axes(sim: Readable, place: Place) -> Array:
    return rotation_matrix(_pose(sim, place)[1])


def _position(sim: Readable, sensor: Sensor) -> Array:
    away = _pose(sim, sensor.place)[0] - _pose(sim, sensor.reference)[0]
    return turned_back(_axes(sim, sensor.reference), away)


def _orientation(sim: Readable, sensor: Sensor) -> Array:
    q, reference = _pose(sim, sensor.place)[1], _pose(sim, sensor.reference)[1]
    return quaternions.multiply(quaternions.conjugate(reference), q)


def _axis(k: int) -> Callable[[Readable, Sensor], Array]:
    def read(sim: Readable, sensor: Sensor) -> Array:
        return turned_back(_axes(sim, sensor.reference), _axes(sim, sensor.place)[..., k])

    return read


def _velocity(sim: Readable, sensor: Sensor) -> Array:
    """Velocity relative to the reference, which moves and rotates."""
    v, _ = _twist(sim, sensor.place)
    v_r, omega_r = _twist(sim, sensor.reference)
    away = _pose(sim, sensor.place)[0] - _pose(sim, sensor.reference)[0]
    return turned_back(_axes(sim, sensor.reference), v - v_r - np.cross(omega_r, away))


def _angular_velocity(sim: Readable, sensor: Sensor) -> Array:
    omega = _twist(sim, sensor.place)[1] - _twist(sim, sensor.reference)[1]
    return turned_back(_axes(sim, sensor.reference), omega)


def _subtree(sim: Readable, sensor: Sensor) -> tuple[float, Array, Array, Array]:
    """Mass, centre, momentum and angular momentum about the centre, (..., 3) each, world."""
    chosen = [sim.robot.body_index(name) for name in sensor.bodies]
    bodies = [sim.robot.bodies[index] for index in chosen]
    masses, inertias = np.array([b.mass for b in bodies]), np.array([b.inertia for b in bodies])
    x, v = sim.state.x[..., chosen, :], sim.state.v[..., chosen, :]
    R = rotation_matrix(sim.state.q[..., chosen, :])
    center, momentum = masses @ x / masses.sum(), masses @ v
    spins = turned(R, turned(inertias, sim.state.omega[..., chosen, :]))
    spins += masses[:, None] * np.cross(x - center[..., None, :], v)
    return float(masses.sum()), center, momentum, spins.sum(axis=-2)


def _touch(sim: Readable, sensor: Sensor) -> float:
    """Sum of the normal forces on a body through the zone [N], over the last interval."""
    p, q = _pose(sim, sensor.place)
    R = rotation_matrix(q)
    total = 0.0
    for contact in sim.contacts():
        if sensor.place.body in (contact.body, contact.other) and sensor.zone is not None:
            # Into the body with the sensor.
            inward = contact.normal if contact.body == sensor.place.body else -contact.normal
            if sensor.zone.meets(R.T @ (contact.position - p), R.T @ inward):
                total += float(contact.force @ contact.normal)
    return total


def _reaction(sim: Readable, sensor: Sensor) -> tuple[Array, Array]:
    """Force on what a joint or a rigid connection carries, and torque about the place, in its axes.

    Means over the last step, with arms and axes of its middle.

    The force is the one that accelerates the subtree's bodies, minus those of contacts, wrenches
    and loops.
    """
    begin, end = sim.before, sim.state
    # Where the bodies were in the middle of the step: forces and arms belong together there.
    middle = _between(begin.q, end.q)
    centers = end.x - 0.25 * sim.timestep * (begin.v + end.v)
    at, axes = _middle_pose(sim, sensor.place, middle, centers)
    below = [sim.robot.body_index(name) for name in sensor.bodies]
    force, torque = np.zeros(3), np.zeros(3)

    def add(f: Array, point: Array, moment: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        force[:] += f
        torque[:] += np.cross(point - at, f) + np.asarray(moment)

    turns, changes = rotation_matrix(middle), sim.accelerations()
    ends = [(rotation_matrix(knot.q), knot.omega) for knot in (begin, end)]

    def carry(index: int, part: Body | Part, center: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Add what accelerates a body or a part of it, whose centre of mass is at `center`."""
        arm, inertia = np.asarray(center), np.asarray(part.inertia)
        # Speed of the part against the body's centre of mass, and its spin, at both ends.
        past, here = (
            np.array([R[index] @ np.cross(omega[index], arm), R[index] @ inertia @ omega[index]])
            for R, omega in ends
        )
        turning, moment = (here - past) / sim.timestep
        acceleration = changes[index, :3] + turning
        add(part.mass * (acceleration - sim.gravity), centers[index] + turns[index] @ arm, moment)

    for index in below:
        body = sim.robot.bodies[index]
        carry(index, body)
        outside = sim.wrench(body.name)
        add(-outside[:3], centers[index], -outside[3:])
    links: tuple[str, ...] = ()
    if sensor.part is not None:
        carry(sim.robot.body_index(str(sensor.place.body)), sensor.part, sensor.part.center)
        links = sensor.part.links
    for contact in sim.contacts():
        for name, link, sign in (
            (contact.body, contact.link, -1.0),
            (contact.other, contact.other_link, 1.0),
        ):
            if name in sensor.bodies or (name == sensor.place.body and link in links):
                add(sign * contact.force, contact.position, sign * contact.moment)
    wrenches = sim.joint_wrenches() if sim.robot.loop_joints else {}
    for joint in sim.robot.loop_joints:
        index = sim.robot.body_index(joint.child)
        point = centers[index] + turns[index] @ np.asarray(joint.child_position)
        for name, sign in ((joint.child, -1.0), (joint.parent, 1.0)):
            if name in sensor.bodies:
                add(sign * wrenches[joint.name][:3], point, sign * wrenches[joint.name][3:])
    return axes.T @ force, axes.T @ torque


# Kinds that need lists of contacts and wrenches, or torques of the last step.
BY_STATE = ("touch", "force", "torque", "jointactuatorfrc", "actuatorfrc")
# Kinds that depend on masses, which may differ among the robots of a batch.
OF_MASSES = ("subtreecom", "subtreelinvel", "subtreeangmom")
ACCELERATIONS = ("accelerometer", "framelinacc", "frameangacc")

# The functions for all kinds of `robosim.description.sensor`.
READERS: dict[str, Callable[[Readable, Sensor], ArrayLike]] = {
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
    "velocimeter": lambda sim, sensor: turned_back(
        _axes(sim, sensor.place), _twist(sim, sensor.place)[0]
    ),
    "gyro": lambda sim, sensor: turned_back(_axes(sim, sensor.place), _twist(sim, sensor.place)[1]),
    "accelerometer": lambda sim, sensor: turned_back(
        _middle(sim, sensor.place), _accelerations(sim, sensor.place)[0]
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
