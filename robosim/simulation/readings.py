"""Forces and contacts of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.building.bearings import pads_in
from robosim.compiled.kinds import BALL, CONE, DRY, HINGE, LIMIT, RATE, TURN
from robosim.compiled.memory import Guesses, Memory, System
from robosim.compiled.model import Model
from robosim.compiled.order import all_joints, contact_order
from robosim.compiled.records.contact import CONTACT_READING
from robosim.compiled.state import State
from robosim.compiled.workspace import Workspace
from robosim.description.body import ContactPoint, lowest_arms
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import obstacle_name
from robosim.description.springs import PointSpring
from robosim.errors import ModelError
from robosim.formulation import Contact
from robosim.kernels.contact.readout import pair_gaps, read_contacts
from robosim.log.channels import contact_link, shape_link
from robosim.runtime.handles import Parts
from robosim.runtime.islands import Places
from robosim.validation import read_only

Array = NDArray[np.float64]

NOTHING = np.zeros(0, dtype=CONTACT_READING)

GROUND = "ground"
"""What `Contact.other` is called where it is the plane z = 0."""


class IslandParts(NamedTuple):
    """What is solved by itself: a whole mechanism, or an island of it.

    `places` has the indices of its elements in the whole mechanism; None for all of it. An island
    that is `asleep` takes no steps.
    """

    robot: Mechanism
    parts: Parts
    interval: float  # length of the last interval [s]
    places: Places | None
    asleep: bool = False

    @property
    def solver(self) -> str:
        """The solver in use."""
        return "articulated" if self.parts.model.tree else "ldu"

    def contacts(self) -> list[Contact]:
        """All contacts in the equations of the last interval."""
        parts = self.parts
        values = parts.model, parts.state, parts.memory, parts.work
        return contacts(self.robot, *values, self.interval)


def contacts(
    robot: Mechanism, model: Model, state: State, memory: Memory, work: Workspace, interval: float
) -> list[Contact]:
    """All contacts in the equations of the last interval, whose length is `interval` [s]."""
    readings = np.zeros(len(work.slots), dtype=CONTACT_READING)
    count = int(read_contacts(model, state, memory, work, readings))
    scene = robot.touching_shapes() if len(model.collision.pairs) else []
    bodies = state.bodies
    spins = np.einsum("bij,bj->bi", quaternions.rotation_matrix(bodies["q"]), bodies["omega"])

    def motion(body: int, p: Array) -> Array:
        if body == len(bodies):
            return np.zeros(3)
        return np.asarray(bodies["v"][body] + np.cross(spins[body], p - bodies["x"][body]))

    found, points = [], [robot.contacts[k] for k in contact_order(robot)]
    for reading in readings[:count]:
        body, other, slot = int(reading["body"]), int(reading["other"]), int(reading["slot"])
        position = reading["position"].copy()
        link, other_link = _links(robot, model, scene, points, (body, other, slot))
        found.append(
            Contact(
                robot.bodies[body].name,
                other_name(robot, model, scene, other, slot),
                read_only(position),
                read_only(reading["normal"].copy()),
                float(reading["gap"]),
                read_only(reading["impulse"] / interval),
                read_only(motion(body, position) - motion(other, position)),
                slot < model.n_ground,
                read_only(reading["moment"] / interval),
                link,
                other_link,
                stiffness_in(model, slot),
            )
        )
    return found


def stiffness_in(model: Model, slot: int) -> float:
    """Stiffness of the contact in a slot [N/m]; inf if it is hard."""
    if slot < model.n_ground:
        record = model.contacts[slot]
    else:
        pairs = model.collision.pairs
        record = pairs[int(np.searchsorted(pairs["slot_end"], slot, side="right"))]
    return float(record["stiffness"]) if record["compliant"] else np.inf


def _links(
    robot: Mechanism,
    model: Model,
    scene: Sequence[Any],
    points: Sequence[ContactPoint],
    touching: tuple[int, int, int],
) -> tuple[str, str]:
    """The links of a contact (body, other, slot); for the world, the result of `other_name`."""
    body, other, slot = touching
    if slot < model.n_ground:
        return contact_link(robot, points[slot]), GROUND
    sides = dict(_pair(model, scene, slot))
    found = [
        shape_link(robot, robot.bodies[k].name, sides[k].name)
        if k < len(robot.bodies)
        else other_name(robot, model, scene, k, slot)
        for k in (body, other)
    ]
    return found[0], found[1]


def _pair(model: Model, scene: Sequence[Any], slot: int) -> Any:
    """The two (body, shape) of a slot, among `Mechanism.touching_shapes`."""
    return scene[int(np.searchsorted(model.collision.pairs["slot_end"], slot, side="right"))]


def other_name(robot: Mechanism, model: Model, scene: Sequence[Any], other: int, slot: int) -> str:
    """The name of the object that a body touches in a slot, among `Mechanism.touching_shapes`."""
    if other < len(robot.bodies):
        return robot.bodies[other].name
    if slot < model.n_ground:
        return GROUND
    return obstacle_name(_pair(model, scene, slot)[0][1])


def limit_forces(model: Model, state: State, guesses: Guesses, interval: float) -> Array:
    """Generalized forces of limits and of dry friction, one for each velocity of a joint.

    Velocity limits, if enforced, and bearings are included.
    """
    out = np.zeros(len(model.coordinates))
    for k in range(model.n_ground, len(model.contacts)):
        record, c = model.contacts[k], guesses.contacts[k]
        joint = model.joints[record["joint"]]
        v = int(joint["v_begin"])
        if not guesses.active[k]:
            continue
        normal = c["gamma"] * (1.0 + c["later"])
        if record["kind"] in (LIMIT, RATE):
            out[v + record["row"]] += record["sign"] * normal
        elif record["kind"] == DRY:
            _add_friction(model, record, c, out[v:])
        elif record["kind"] == CONE:
            q = int(joint["q_begin"] + joint["m_T"])
            w, x, y, z = state.q[q : q + 4]
            slope = -2.0 * np.array([y * z + w * x, w * y - x * z])
            begin = v + int(joint["m_T"])
            out[begin : begin + 2] += record["scale"] * normal * slope
        elif record["kind"] == TURN:
            q = int(joint["q_begin"] + joint["m_T"])
            begin = v + int(joint["m_T"])
            sign = 1.0 if state.q[q] >= 0 else -1.0
            slope = -sign * state.q[q + 1 : q + 4]
            out[begin : begin + 3] += record["scale"] * normal * slope
    return out / interval


def _add_friction(model: Model, record: np.void, c: np.void, out: Array) -> None:
    """Add dry friction along the coordinates of a joint, as impulses or forces."""
    facets, beta = model.facets, c["beta"]
    slip = beta[: len(facets)] @ facets if len(facets) else beta[:2]
    if record["row"] >= 0:
        out[record["row"]] += record["scale"] * slip[0]
    else:
        out[:3] += record["scale"] * (slip[0] * record["p"] + slip[1] * record["p_end"])


@dataclass(frozen=True)
class BearingForces:
    """Forces of a bearing's pads, means over the last interval.

    Attributes
    ----------
    points : (n, 3) [m], of the pads, in child axes from the joint's point
    pressed : (n,) [N], normal force of each pad, over all of its normals
    friction : (nv,) [N, N m], of all pads on the coordinates of the joint
    """

    points: Array
    pressed: Array
    friction: Array


def bearing_forces(robot: Mechanism, parts: Parts, name: str, interval: float) -> BearingForces:
    """Forces of the pads of a joint's bearing, means over an interval of this length [s].

    Raises
    ------
    ModelError
        If there is no such joint, or if it has no bearing.
    """
    j = robot.joint_index(name)
    joint, model, guesses = robot.joints[j], parts.model, parts.memory.guesses
    if joint.bearing is None:
        have = [one.name for one in robot.joints if one.bearing is not None]
        raise ModelError(
            "has no bearing", element=f"joint '{name}'", alternatives=have, wanted=name
        )
    pads, friction = pads_in(joint), np.zeros(joint.nv)
    n = int(np.searchsorted(model.bearings.joint, j))
    normals = slice(*model.bearings.begin[n : n + 2])
    pressed = np.bincount(pads.pad_of, np.abs(parts.state.pressed[normals]))
    for k in np.unique(model.bearings.contact[normals]):
        if guesses.active[k]:
            _add_friction(model, model.contacts[k], guesses.contacts[k], friction)
    found = pads.points.copy(), pressed / interval, friction / interval
    return BearingForces(*map(read_only, found))


def shape_gaps(parts: Parts, margin: float) -> Array:
    """The smallest gap of each pair of shapes, (np,) [m]; inf beyond the margin [m]."""
    model, system = parts.model, parts.memory.system
    if not len(model.collision.pairs):
        return np.zeros(0)
    out = np.empty(len(model.collision.pairs))
    # The next step goes on from looks of its own, to the last bit.
    system = system._replace(looks=system.looks.copy())
    pair_gaps(model, parts.state, system, parts.work, float(margin), out, NOTHING)
    return out


class Given(NamedTuple):
    """Impulses at joints that the velocities at a knot have, and the momenta there have not yet.

    Attributes
    ----------
    wrenches : (nj, 6) [N s, N m s], of constraints on the child at the joint's point, world
    drives : (nj, 6), along the coordinates of driven joints
    """

    wrenches: Array
    drives: Array


def _along(joint: Any, tree: Any, turn: Array, turn_child: Array) -> Array:
    """Directions (m, 6) of a joint's coordinates at its point, turned with its bodies; world.

    Those of a free rotation turn with the child, all others with the parent.
    """
    m = int(joint["m_T"] + joint["m_R"])
    Z = np.zeros((m, 6))
    if joint["kind"] == HINGE:
        Z[0, 3:] = tree["a1"]
    elif joint["kind"] == BALL:
        Z[:, 3:] = np.eye(3)
    else:
        Z[:] = tree["Z1"][:m]
    turned = (Z.reshape(m, 2, 3) @ turn.T).reshape(m, 6)
    if joint["m_R"] == 3:
        turned[m - 3 :, 3:] = Z[m - 3 :, 3:] @ turn_child.T
    return np.asarray(turned)


def _shifted(wrench: Array, arm: Array) -> Array:
    """A wrench about a point that lies at -arm from where the wrench is given."""
    return np.concatenate((wrench[:3], wrench[3:] + np.cross(arm, wrench[:3])))


def _ways(model: Model, state: State, system: System, before: bool) -> list[Array]:
    """`_along` of all joints of a tree, at the knot or where the last step began."""
    turns = quaternions.rotation_matrix(state.bodies["q"])
    past = quaternions.rotation_matrix(state.bodies["q_before"])
    back = [a @ b.T if before else np.eye(3) for a, b in zip(past, turns, strict=True)]
    back.append(np.eye(3))
    nb = len(state.bodies)
    joints = model.joints[:nb]
    return [
        _along(one, system.tree[one["child"]], back[one["parent"]], back[one["child"]])
        for one in joints
    ]


def _given(model: Model, state: State, ways: list[Array], before: bool) -> Given:
    """What the velocities at the knot, or where the last step began, have of the next impulses."""
    end = "_before" if before else ""
    wrenches = np.array(state.joints["ahead" + end])
    drives = np.array(state.joints["drive_ahead" + end])
    if not model.tree:
        return Given(wrenches, drives)
    bodies, nb = state.bodies, len(state.bodies)
    x, p, shown = (bodies[name + end] for name in ("x", "p", "shown"))
    R = quaternions.rotation_matrix(bodies["q" + end])
    J = R @ model.bodies["inertia"] @ np.swapaxes(R, -1, -2)
    mass = model.bodies["mass"][:, None]
    turning = np.einsum("bij,bj->bi", J, shown[:, 3:])
    W = np.zeros((nb + 1, 6))
    W[:nb] = np.concatenate((mass * shown[:, :3], turning), axis=-1) - p
    places = np.vstack((x, np.zeros(3)))
    points = x[model.joints["child"]] + np.einsum(
        "bij,bj->bi", R[model.joints["child"]], model.joints["p_b"]
    )
    for j in range(nb, len(model.joints)):
        a, b = int(model.joints["parent"][j]), int(model.joints["child"][j])
        W[b] -= _shifted(wrenches[j], points[j] - x[b])
        W[a] += _shifted(wrenches[j], points[j] - places[a])
    for j in reversed(range(nb)):
        a, b = int(model.joints["parent"][j]), int(model.joints["child"][j])
        W[a] += _shifted(W[b], x[b] - places[a])
        wrenches[j] = _shifted(W[b], x[b] - points[j])
        drives[j, : len(ways[j])] = ways[j] @ wrenches[j]
    for coupling, ahead in zip(model.couplings, state.couplings["ahead" + end], strict=True):
        for j, row, factor in zip(
            coupling["joint"], coupling["row"], coupling["factor"], strict=True
        ):
            if j < nb:
                drives[j, row - model.joints["n_T"][j] - model.joints["n_R"][j]] -= factor * ahead
    return Given(wrenches, drives)


def impulses_ahead(parts: Parts) -> Given:
    """What the velocities at the knot have of the next impulses, of all joints."""
    ways = _ways(parts.model, parts.state, parts.memory.system, False) if parts.model.tree else []
    return _given(parts.model, parts.state, ways, False)


def _means(parts: Parts, interval: float) -> tuple[Array, Array]:
    """Mean wrenches and drives (nj, 6) of all joints over the last step, of length [s]."""
    model, state, system = parts.model, parts.state, parts.memory.system
    wrenches, drives = (np.array(state.joints[name]) for name in ("total", "drive_total"))
    for before, sign in ((True, -1.0), (False, 1.0)):
        ways = _ways(model, state, system, before) if model.tree else []
        given = _given(model, state, ways, before)
        part = (0.0 if not before else wrenches) + sign * given.wrenches
        for j, Z in enumerate(ways):
            part[j] -= np.linalg.pinv(Z) @ (Z @ part[j])
        wrenches = part if before else wrenches + part
        drives += sign * given.drives
    return wrenches / interval, drives / interval


def drive_forces(robot: Mechanism, parts: Parts, interval: float) -> dict[str, float | Array]:
    """Generalized forces along the motions of driven joints and tendons, by their names."""
    found: dict[str, float | Array] = {}
    _, drives = _means(parts, interval)
    for element, forces in zip(all_joints(robot), drives, strict=True):
        if not isinstance(element, PointSpring) and element.motion is not None:
            rows = element.nv if isinstance(element, Joint) else 1
            found[element.name] = forces[:rows] if rows > 1 else float(forces[0])
    return found


def joint_wrenches(robot: Mechanism, parts: Parts, interval: float) -> dict[str, Array]:
    """Wrench of each joint's constraints on its child, (6,): force [N] and torque [N m], world.

    At the joint's point on the child; the mean over the last step. Forces along free coordinates
    (springs, limits, actuators) are not included. If constraints are redundant, the distribution of
    a load among them is undetermined, and depends on the solver.
    """
    wrenches, _ = _means(parts, interval)
    return {joint.name: wrenches[j] for j, joint in enumerate(robot.joints)}


def accelerations(bodies: NDArray[np.void], timestep: float) -> Array:
    """Accelerations (..., nb, 6) of centres of mass and angular ones, world; means over a step.

    In m/s^2 and rad/s^2, from the velocities at both ends of the last step. Zero before the first.
    """
    ends = [
        np.concatenate(
            (bodies[v], quaternions.turned(quaternions.rotation_matrix(bodies[q]), bodies[omega])),
            axis=-1,
        )
        for q, v, omega in (("q_before", "v_before", "omega_before"), ("q", "v", "omega"))
    ]
    return np.asarray((ends[1] - ends[0]) / timestep)


def contact_positions(robot: Mechanism, state: State) -> Array:
    """Lowest point of each contact, (nc, 3) [m], world, in the order of robot.contacts."""
    bodies = [robot.body_index(contact.body) for contact in robot.contacts]
    turns = quaternions.rotation_matrix(state.bodies["q"])
    return np.asarray(state.bodies["x"][bodies] + lowest_arms(robot.contacts, turns[bodies]))


def contact_heights(robot: Mechanism, state: State) -> Array:
    """Height of each contact above the ground, (nc,) [m]; inf for contacts that cannot move."""
    moves = [robot.rigid_groups[contact.body] is not None for contact in robot.contacts]
    return np.where(moves, contact_positions(robot, state)[:, 2], np.inf)


def min_gap(robot: Mechanism, parts: Parts, within: float = 0.1) -> float:
    """Smallest gap at the knot [m]: of contact points, and of shapes nearer than `within`."""
    heights = contact_heights(robot, parts.state)
    gaps = shape_gaps(parts, within)
    return float(min([*heights, *gaps], default=np.inf))


def limit_forces_of(robot: Mechanism, parts: Parts, name: str, interval: float) -> Array:
    """`limit_forces` of one joint, which may close a loop, (joint.nv,), or along a tendon, (1,).

    Along a tendon's length: negative at an upper limit.

    Raises
    ------
    ModelError
        If there is no such joint or tendon.
    """
    model, state = parts.model, parts.state
    tendons = [tendon.name for tendon in robot.tendons]
    if name in tendons:
        j = len(model.joints) - len(tendons) + tendons.index(name)
    else:
        j = robot.joint_index(name)
    begin, rows = model.joints["v_begin"][j], model.joints["m_T"][j] + model.joints["m_R"][j]
    guesses = parts.memory.guesses
    forces = limit_forces(model, state, guesses, interval)
    return forces[begin : begin + rows]


def contact_forces(robot: Mechanism, parts: Parts, interval: float) -> Array:
    """Force of the ground on each contact, (nc, 3) [N], world, mean of the last interval.

    Zero before the first step.
    """
    order = contact_order(robot)
    out = np.zeros((len(order), 3))
    forces = np.zeros_like(out)
    ground = slice(parts.model.n_ground)
    contacts = parts.memory.guesses.contacts[ground]
    active = parts.memory.guesses.active[ground] != 0
    beta, facets = contacts["beta"], parts.model.facets
    forces[:, :2] = beta[:, : len(facets)] @ facets if len(facets) else beta[:, :2]
    directed = parts.model.contacts["directed"][ground] != 0
    forces[directed, :2] = contacts["friction"][directed, :2]
    forces[:, 2] = contacts["gamma"] * (1.0 + contacts["later"])
    out[order] = np.where(active[:, None], forces / interval, 0.0)
    return out
