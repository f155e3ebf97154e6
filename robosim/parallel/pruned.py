"""A robot without some of its bodies, and without all that refers to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.order import coordinate_names
from robosim.validation import Array

PARTS = {
    "contacts": "contact",
    "springs": "spring",
    "couplings": "coupling",
    "tendons": "tendon",
    "actuators": "actuator",
    "sensors": "sensor",
    "cameras": "camera",
    "soft_meshes": "soft mesh",
}


def pruned(
    robot: Mechanism, bodies: Collection[str], joints: Collection[str]
) -> tuple[Mechanism, tuple[str, ...]]:
    """The robot without bodies, joints into them, further joints, and parts that refer to these.

    Parameters
    ----------
    robot : Mechanism
    bodies : names of bodies
        With all bodies behind them.
    joints : names of joints that close loops

    Returns
    -------
    Mechanism
        Without keyframes and stance; home and configurations are those of the joints that are left.
    tuple of str
        What else was left out, as in "sensor 'foot'".
    """
    gone = [
        joint
        for joint in robot.joints
        if joint.child in bodies or joint.parent in bodies or joint.name in joints
    ]
    lost = {joint.name for joint in gone} | set(bodies)
    lost |= {frame.name for body in robot.bodies if body.name in bodies for frame in body.frames}
    for velocity in (True, False):
        names = coordinate_names(robot.joints, (t.name for t in robot.tendons), velocity=velocity)
        lost |= {
            name
            for joint, own in zip(robot.joints, names, strict=True)
            if joint in gone
            for name in own
        }
    left_out: list[str] = []
    kept: dict[str, Any] = {}
    for what in ("tendons", *(one for one in PARTS if one != "tendons")):
        whole = getattr(robot, what)
        kept[what] = tuple(one for one in whole if not _refers(one, lost))
        out = [one.name for one in whole if _refers(one, lost)]
        left_out += [f"{PARTS[what]} '{name}'" for name in out]
        lost |= set(out) if what == "tendons" else set()
    left_out += [f"keyframe '{name}'" for name in robot.keyframes]
    places = [(k, joint) for k, joint in enumerate(robot.tree_joints) if joint not in gone]

    def coordinates(q: Any) -> Array:
        parts = [np.asarray(q)[robot.q_offsets[k] : robot.q_offsets[k + 1]] for k, _ in places]
        return np.concatenate((*parts, np.zeros(0)))

    pairs: dict[str, Any] = {
        what: tuple(p for p in getattr(robot, what) if not _refers(p, lost))
        for what in ("contact_pairs", "excluded_pairs")
    }
    efforts = {k: v for k, v in robot.effort_ranges.items() if k not in lost}
    poses = {name: coordinates(q) for name, q in robot.configurations.items()}
    less = replace(
        robot,
        bodies=tuple(body for body in robot.bodies if body.name not in bodies),
        joints=tuple(joint for joint in robot.joints if joint not in gone),
        stance=None,
        home=coordinates(robot.home),
        configurations=poses,
        effort_ranges=efforts,
        keyframes={},
        **kept,
        **pairs,
    )
    return less, tuple(left_out)


def locked(joint: Joint, q: Array) -> Joint:
    """The joint as a fixed one, at its coordinates (nq,)."""
    R = quaternions.rotation_matrix(joint.offset)
    return Joint(
        joint.name,
        "fixed",
        joint.parent,
        joint.child,
        parent_position=np.asarray(joint.parent_position) + R @ joint.translation(q),
        child_position=joint.child_position,
        offset=quaternions.from_matrix(R @ joint.rotation(q)),
        actuated=False,
    )


def _refers(part: Any, names: Collection[str]) -> bool:
    """Whether an element refers to one of these names, anywhere but in its own name."""
    if isinstance(part, str):
        return part in names
    if isinstance(part, Mapping):
        return any(_refers(one, names) for pair in part.items() for one in pair)
    if isinstance(part, tuple | list):
        return any(_refers(one, names) for one in part)
    if is_dataclass(part):
        own = (one.name for one in fields(part) if one.name != "name")
        return any(_refers(getattr(part, name), names) for name in own)
    return False
