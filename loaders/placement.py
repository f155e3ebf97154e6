"""Initial configurations: joints within limits, feet on the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.body import Body, ContactPoint, lowest_arms
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.poses import body_poses
from robosim.description.springs import Coupling
from robosim.description.stance import Stance

Array = NDArray[np.float64]
_ARM = 3  # number of motors from which a chain counts as an arm
_LEVEL = 0.05  # of the height of the centre of mass; lower points count as on the ground


def lowest_gap(joints: Sequence[Joint], contacts: Sequence[ContactPoint], q: ArrayLike) -> float:
    """Height of the lowest contact point above z = 0 [m] at q (nq,); inf without contacts."""
    return min(heights(body_poses(joints, np.asarray(q, dtype=float)), contacts), default=np.inf)


def heights(
    poses: Mapping[str | None, tuple[Array, Array]], contacts: Sequence[ContactPoint]
) -> list[float]:
    """Height of the lowest point of each contact above z = 0 [m], for poses from `body_poses`."""
    if not contacts:
        return []
    turns, places = (
        np.array(part) for part in zip(*(poses[c.body] for c in contacts), strict=True)
    )
    return [float(height) for height in (places + lowest_arms(contacts, turns))[:, 2]]


def place_on_ground(
    joints: Sequence[Joint], contacts: Sequence[ContactPoint], q: ArrayLike
) -> Array:
    """q (nq,) with the base raised or lowered until the lowest contact point is at z = 0.

    Parameters
    ----------
    joints : sequence of Joint
        In tree order. If the first joint is not floating, q is returned unchanged.
    contacts : sequence of ContactPoint
    q : (nq,), joint coordinates; the base's height is q[2].
    """
    q = np.array(q, dtype=float)
    gap = lowest_gap(joints, contacts, q)
    if joints[0].kind == "floating" and np.isfinite(gap):
        q[2] -= gap
    return q


def has_legs(mechanism: Mechanism) -> bool:
    """Whether a robot can stand at home: it has a contact below its centre of mass.

    A single chain of motors that only its base supports, such as an arm, cannot: it tips over.
    """
    motors = sum(sum(joint.has_motor) for joint in mechanism.joints)
    if not motors:
        return True
    poses = body_poses(mechanism.tree_joints, np.asarray(mechanism.home, dtype=float))
    weighed = sum((body.mass * poses[body.name][1] for body in mechanism.bodies), np.zeros(3))
    height = weighed[2] / mechanism.total_mass
    base = mechanism.bodies[0].name
    branches = sum(joint.parent == base for joint in mechanism.tree_joints)
    found = heights(poses, mechanism.contacts)
    if not found or min(found) >= height:
        return False
    level = min(found) + _LEVEL * (height - min(found))
    touching = zip(mechanism.contacts, found, strict=True)
    on_base_alone = all(contact.body == base for contact, z in touching if z <= level)
    return not (branches == 1 and motors >= _ARM and on_base_alone)


def limits(joints: Sequence[Joint], couplings: Sequence[Coupling]) -> dict[str, Array]:
    """Joint -> limits (2, nv), lower and upper, with those of joints that are coupled to it.

    If limits contradict each other, the lower one is above the upper one.
    """
    found = {joint.name: np.array((joint.lower, joint.upper), dtype=float) for joint in joints}
    # One pass for each coupling, for chains of couplings.
    for _ in couplings:
        for c in couplings:
            if c.ratio == 0:
                continue
            ends = [(end - c.offset) / c.ratio for end in found[c.joint][:, 0].tolist()]
            lower, upper = ends if c.ratio > 0 else ends[::-1]
            source = found[c.source]
            source[0], source[1] = max(source[0, 0], lower), min(source[1, 0], upper)
    return found


def within_limits(mechanism: Mechanism, q: ArrayLike) -> Array:
    """q (nq,) with every joint within its limits, moved to the nearest limit if beyond.

    Limits of coupled joints are respected as well.
    """
    q = np.array(q, dtype=float)
    allowed = limits(mechanism.joints, mechanism.couplings)
    for start, joint in zip(mechanism.q_offsets, mechanism.tree_joints, strict=False):
        if not joint.has_quaternion:
            part = slice(start, start + joint.nq)
            q[part] = np.clip(q[part], *allowed[joint.name])
    return q


def following(mechanism: Mechanism, q: ArrayLike) -> Array:
    """q (nq,) with coupled joints moved to the values of their couplings."""
    q = np.array(q, dtype=float)
    starts = {
        joint.name: start
        for start, joint in zip(mechanism.q_offsets, mechanism.tree_joints, strict=False)
    }
    waiting = {coupling.joint: coupling for coupling in mechanism.couplings}
    while waiting:
        # Couplings whose source is coupled follow later; there are no cycles.
        ready = [c for c in waiting.values() if c.source not in waiting]
        for coupling in ready:
            q[starts[coupling.joint]] = coupling.ratio * q[starts[coupling.source]]
            q[starts[coupling.joint]] += coupling.offset
            del waiting[coupling.joint]
    return q


def in_stance(mechanism: Mechanism, stance: Stance) -> Array:
    """Home (nq,) with the actuated coordinates moved to a stance."""
    q = np.array(mechanism.home, dtype=float)
    actuated = [
        start + k
        for start, joint in zip(mechanism.q_offsets, mechanism.tree_joints, strict=False)
        for k, driven in enumerate(joint.has_motor)
        if driven
    ]
    q[actuated] = stance.target
    return q


def fixed_to_world(bodies: Sequence[Body], joints: Sequence[Joint]) -> set[str]:
    """Names of the bodies that fixed joints connect to the world."""
    held: set[str | None] = {None}
    for joint in joints:
        if joint.kind == "fixed" and joint.parent in held:
            held.add(joint.child)
    return {body.name for body in bodies if body.name in held}
