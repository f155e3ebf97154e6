"""Records of contacts with the ground, and of limits and dry friction of coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.building.bearings import pads_in, slipping_alike
from robosim.compiled.kinds import (
    CONE,
    DRY,
    GOES_ROUND,
    LIMIT,
    OVAL,
    PLANE,
    RATE,
    RIM,
    ROLLING,
    ROLLS,
    TORSION,
    TURN,
)
from robosim.compiled.order import contact_order, coordinate_places
from robosim.compiled.records.contact import CONTACT
from robosim.description.bearing import Bearing
from robosim.description.body import Body
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.surfaces import TURNING, WORLD, Anisotropy, in_series, lowest
from robosim.description.tendon import Tendon, Term
from robosim.validation import Array

# Files write 1e14 for a wheel that must not slip. A cone of 84 degrees prevents slip as well, and
# keeps the solver's numbers in range.
MAX_FRICTION = 10.0

# Points that a shape lies on where it is flat, of which each is a spring; 4 of all others.
POINTS_AT_REST = {"sphere": 1.0, "ellipsoid": 1.0, "capsule": 2.0, "cylinder": 3.0, "cone": 3.0}

# So that a tangent without friction is still one that slip is told along.
LEAST_PART = 1e-9

# Limits of a coordinate that are closer to each other [m or rad] are moved apart, because an
# interior-point method needs an interior.
LEAST_ROOM = 1e-9


def contact_records(
    mechanism: Mechanism, joints: NDArray[np.void], velocity_limits: bool = False
) -> NDArray[np.void]:
    """CONTACT records: points above the ground by body, then limits and dry friction of joints.

    Limits of the joints' rates are included if `velocity_limits` act.
    """
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    order = contact_order(mechanism)
    ground = np.zeros(len(order), dtype=CONTACT)
    for record, c in zip(ground, order, strict=True):
        point = mechanism.contacts[c]
        record["kind"], record["body"], record["other"] = PLANE, index[point.body], nb
        record["p"], record["radius"] = point.position, point.radius
        if point.axis is not None:
            record["p_end"], record["lying"] = point.axis, point.radius == 0
            record["kind"] = RIM if point.radius > 0 else PLANE
            record["rolls"] = GOES_ROUND
            record["semi_axes"] = point.radius * _disc(tuple(np.asarray(point.axis).tolist()))
        if point.semi_axes is not None:
            record["kind"], record["rolls"] = OVAL, ROLLS
            record["semi_axes"] = np.transpose(point.semi_axes)
        record["o_end"], record["mu"] = (0.0, 0.0, 1.0), min(point.friction, MAX_FRICTION)
        body = mechanism.body(point.body)
        record["mass"], record["joint"], record["scale"] = body.mass, -1, gyration(body)
        add_turning(record, [point])
        add_compliance(record, [point], [body.mass])
        record["surface"] = surface_twist(
            point.surface_velocity, point.surface_spin, point.position
        )
        record["drifts"] = np.any(record["surface"])
        add_direction(record, point.anisotropy, {**index, WORLD: nb}, record["body"], np.eye(3))
    _share_springs(ground)
    limits: list[Any] = []
    for j, joint in enumerate(mechanism.joints):
        if joint.motion is not None:
            continue
        # Angles count as arcs at the child's radius of gyration, so that all gaps change at speeds
        # in m/s and respond with the child's mass.
        body = mechanism.body(joint.child)
        for row in range(joint.nv):
            lower, upper = (float(np.asarray(side)[row]) for side in (joint.lower, joint.upper))
            friction = float(joint.per_coordinate("friction")[row])
            scale = _metres(joint, row, body)
            of_row = _coordinate_contacts(j, row, lower, upper, friction, body.mass, scale)
            limits += _with_springs(of_row, joint, _inertia(mechanism, joint, scale), scale)
            speed = float(joint.per_coordinate("velocity_limit")[row])
            if velocity_limits and np.isfinite(speed):
                for sign in (1.0, -1.0):
                    fastest = -sign * speed
                    limits.append(_on_coordinate(RATE, j, row, sign, fastest, body.mass, scale))
        if joint.bearing is not None:
            limits += _bearing_contacts(j, joint, joint.bearing, body)
        if np.isfinite(joint.cone):
            cone = np.cos(joint.cone)
            scale = gyration(body)
            limit = _on_coordinate(CONE, j, joint.numbers, 0.0, cone, body.mass, scale)
            unit = scale * float(np.sin(joint.cone))
            limits += _with_springs([limit], joint, _inertia(mechanism, joint, unit), unit)
        if np.isfinite(joint.largest_turn):
            half = 0.5 * joint.largest_turn
            scale = gyration(body) / float(np.sin(half))
            limit = _on_coordinate(TURN, j, joint.numbers, 0.0, np.cos(half), body.mass, scale)
            unit = gyration(body)
            limits += _with_springs([limit], joint, _inertia(mechanism, joint, unit), unit)
    first = len(joints) - len(mechanism.tendons)
    for j, tendon in enumerate(mechanism.tendons, start=first):
        if tendon.motion is not None:
            continue
        mass, scale = _lightest(mechanism, tendon)
        lower, upper = tendon.lower, tendon.upper
        of_length = _coordinate_contacts(j, 0, lower, upper, tendon.friction, mass, scale)
        limits += _with_springs(of_length, tendon, lambda limit: float(limit["mass"]), scale)
    for limit in limits:
        limit["body"], limit["other"] = nb, nb
    contacts = np.concatenate((ground, np.array(limits, dtype=CONTACT)))
    contacts["share"] = 1.0
    return contacts


@lru_cache(1024)
def _disc(direction: tuple[float, ...]) -> Array:
    """Semi-axes of the unit disc around a unit vector, as columns (3, 3), of which one is 0."""
    axis = np.array(direction)
    first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first /= np.linalg.norm(first)
    return np.column_stack((first, np.cross(axis, first), np.zeros(3)))


def surface_twist(velocity: ArrayLike, spin: ArrayLike, origin: ArrayLike) -> Array:
    """Velocity at the frame's origin and spin, (6,), of a surface with a velocity at `origin`."""
    turn = np.asarray(spin)
    if not turn.any():
        return np.concatenate((np.asarray(velocity), turn))
    return np.concatenate((np.asarray(velocity) - np.cross(turn, np.asarray(origin)), turn))


def add_direction(
    record: np.void, one: Anisotropy | None, index: Mapping[str, int], own: int, R: Array
) -> None:
    """Set the friction by direction of a CONTACT or PAIR record, whose mu is that without.

    `R` (3, 3) turns the axes of the anisotropy's own shape to those of the body `own`.
    """
    record["along"] = record["across"] = 1.0
    if one is None:
        return
    two = np.minimum(MAX_FRICTION, record["mu"] * np.array((one.along, one.across)))
    record["mu"] = two.max()
    if two[0] == two[1]:
        return
    record["along"], record["across"] = np.maximum(two / two.max(), LEAST_PART)
    record["directed"] = 1
    direction = np.asarray(one.direction)
    record["direction"] = R @ direction if one.axes is None else direction
    record["axes"] = own if one.axes is None else index[one.axes]


def add_turning(record: np.void, surfaces: Sequence[Any]) -> None:
    """Set the friction against turning of a CONTACT or PAIR record: the lowest of its surfaces."""
    torsion, rolling = (lowest(*(getattr(one, what) for one in surfaces)) for what in TURNING)
    most = MAX_FRICTION * record["scale"]
    record["torsion"], record["rolling"] = min(torsion, most), min(rolling, most)
    record["companions"] = int(torsion > 0) + int(rolling > 0)
    record["first_resists"] = TORSION if torsion > 0 else ROLLING


def add_compliance(record: np.void, surfaces: Sequence[Any], masses: Sequence[float]) -> None:
    """Set the spring of a CONTACT or PAIR record, between bodies of some masses [kg]."""
    spring = in_series(surfaces)
    if spring is not None:
        record["compliant"], record["moved"] = 1, 1.0 / sum(1.0 / mass for mass in masses)
        record["stiffness"], record["dissipation"] = spring


def _share_springs(ground: NDArray[np.void]) -> None:
    """Let the points and rims of each compliant cylinder share a spring.

    A cylinder's points come first, then its rims.
    """
    begin, round_ones = 0, (ground["rolls"] == GOES_ROUND) & (ground["compliant"] != 0)
    for end in range(1, len(ground) + 1):
        if end < len(ground) and round_ones[end] and _goes_on(ground[end - 1], ground[end]):
            continue
        if round_ones[begin] and end - begin > 1:
            ground["spring_begin"][begin:end], ground["spring_end"][begin:end] = begin, end
            ground["stiffness"][begin:end] *= POINTS_AT_REST["cylinder"]
        begin = end


def _goes_on(one: np.void, following: np.void) -> bool:
    """Whether two successive contact points belong to the same cylinder."""
    same = ("body", "rolls", "compliant", "stiffness", "dissipation")
    alike = all(one[field] == following[field] for field in same)
    next_one = one["kind"] == RIM and following["kind"] != RIM
    return alike and not next_one and bool(np.array_equal(one["p_end"], following["p_end"]))


def place_companions(contacts: NDArray[np.void], pairs: NDArray[np.void]) -> int:
    """Give companions the slots behind all others; returns the number of all slots."""
    slot = int(pairs["slot_end"][-1]) if len(pairs) else len(contacts)
    for record in contacts:
        record["companion"] = slot
        slot += int(record["companions"])
    for record in pairs:
        record["companion"] = slot
        slot += int(record["companions"] * (record["slot_end"] - record["slot_begin"]))
    return slot


def gyration(body: Body) -> float:
    """Radius of gyration of a body [m]."""
    return float(np.sqrt(np.trace(np.asarray(body.inertia)) / 3 / body.mass))


def _lightest(mechanism: Mechanism, tendon: Tendon) -> tuple[float, float]:
    """Mass of the lightest body that a tendon moves, and its motion [m] for a unit of length."""
    if not tendon.is_fixed:
        names = [name for name in tendon.bodies() if name is not None]
        return min(mechanism.body(name).mass for name in names), 1.0
    places, masses_and_arms = coordinate_places(mechanism), []
    for term in (part for part in tendon.path if isinstance(part, Term) and part.factor):
        joint_index, row = places[term.coordinate]
        joint = mechanism.joints[joint_index]
        body = mechanism.body(joint.child)
        arm = _metres(joint, row, body)
        masses_and_arms.append((body.mass, arm / abs(term.factor)))
    return min(masses_and_arms)


def _metres(joint: Joint, row: int, body: Body) -> float:
    """How far a body moves for a unit of a coordinate: a turn at its radius of gyration."""
    unit = joint.units[row]
    if unit == "rad":
        return gyration(body)
    if unit == "m" or joint.own_chart is None:
        return 1.0
    lower, upper = joint.own_chart.limits()
    bounded = np.isfinite(lower)
    middle = 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0))
    column = joint.own_chart.columns(middle)[:, row]
    return float(np.hypot(np.linalg.norm(column[:3]), gyration(body) * np.linalg.norm(column[3:])))


def _coordinate_contacts(
    j: int, row: int, lower: float, upper: float, friction: float, mass: float, scale: float
) -> list[Any]:
    """CONTACT records of the limits and of the dry friction of a coordinate."""
    records = []
    widen = 0.5 * max(0.0, LEAST_ROOM - (upper - lower))
    for sign, bound in ((1.0, lower - widen), (-1.0, upper + widen)):
        if np.isfinite(bound):
            records.append(_on_coordinate(LIMIT, j, row, sign, bound, mass, scale))
    if friction > 0:
        records.append(_on_coordinate(DRY, j, row, 0.0, friction / scale, mass, scale))
    return records


def _with_springs(
    limits: list[Any], part: Joint | Tendon, moved: Callable[[Any], float], unit: float
) -> list[Any]:
    """Records of limits, with those of a compliant joint or tendon as springs.

    `moved` is the mass of a limit [kg], `unit` the length [m] of a unit of its coordinate.
    """
    if part.limit_stiffness is not None:
        for limit in limits:
            if limit["kind"] != DRY:
                limit["compliant"], limit["moved"] = 1, moved(limit)
                limit["stiffness"] = part.limit_stiffness / unit**2
                limit["damping"] = part.limit_damping / unit**2
    return limits


def _inertia(mechanism: Mechanism, joint: Joint, unit: float) -> Callable[[Any], float]:
    """The mass that a limit of a joint moves [kg], for a `unit` [m] of its coordinate."""
    return lambda limit: _felt(mechanism, joint, int(limit["row"])) / unit**2


def _felt(mechanism: Mechanism, joint: Joint, row: int) -> float:
    """Inertia along a coordinate, of child and parent as if nothing else hung on them.

    Of all rotations of a ball it is the least one.
    """
    sides = [(joint.child, joint.child_position)]
    if joint.parent is not None:
        sides.append((joint.parent, joint.parent_position))
    softness = 0.0
    for name, place in sides:
        body, arm = mechanism.body(name), np.asarray(place)
        about = np.asarray(body.inertia) + body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        turn = row - joint.C_T.shape[1]
        if joint.own_chart is not None or (0 <= turn < joint.C_R.shape[1] and joint.has_quaternion):
            inertia = float(np.linalg.eigvalsh(about)[0])
        elif turn >= 0:
            # The axes of both differ, but by turns of the joint itself.
            axis = joint.C_R[:, turn]
            if name == joint.parent:
                axis = quaternions.rotation_matrix(np.asarray(joint.offset)) @ axis
            inertia = float(axis @ about @ axis)
        else:
            inertia = body.mass
        softness += 1.0 / inertia
    return 1.0 / softness


def _bearing_contacts(j: int, joint: Joint, bearing: Bearing, body: Body) -> list[Any]:
    """CONTACT records of the friction of a bearing, one for all pads that slip alike."""
    turns = joint.units[0] == "rad"
    scale, mass = _metres(joint, 0, body), body.mass
    bound = bearing.friction * (bearing.radius if turns else 1.0) / scale
    pads, records = pads_in(joint), []
    for pad in sorted(set(slipping_alike(pads))):
        record = _on_coordinate(DRY, j, 0, 1.0 / scale, bound, mass, scale)
        if joint.has_quaternion:
            out = np.cross(*pads.tangents[pad])
            record["row"] = -1
            record["p"], record["p_end"] = np.cross(out, pads.tangents[pad])
        records.append(record)
    return records


def _on_coordinate(
    kind: int, j: int, row: int, sign: float, bound: float, mass: float, scale: float
) -> Any:
    limit: Any = np.zeros((), dtype=CONTACT)
    limit["kind"], limit["joint"], limit["row"] = kind, j, row
    limit["mass"], limit["scale"] = mass, scale
    limit["sign"], limit["mu"] = sign * scale, 1.0 if kind == DRY else 0.0
    limit["bound"] = bound
    return limit
