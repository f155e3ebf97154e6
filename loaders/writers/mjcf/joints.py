"""Joints to MJCF: a joint with several coordinates becomes several, slides before rotations."""

from __future__ import annotations

import numpy as np
from lxml import etree

from robosim.description.body import Body
from robosim.description.joint import Joint
from robosim.loaders.writers.mjcf.document import SAME, Document
from robosim.loaders.writers.parts import bounds, child, is_identity, text


def write_joint(document: Document, element: etree._Element, joint: Joint, body: Body) -> None:
    """Write the MJCF joints of a joint, in the axes of the body with all coordinates at zero."""
    if joint.kind == "fixed":
        return
    if joint.kind == "floating" and joint.parent is None:
        if not is_identity(joint.parent_position, joint.offset):
            document.lost.add("where the coordinates of a floating base begin", joint.name)
        acts = _free_acts(document, joint)
        if acts:
            child(element, "joint", name=joint.name, type="free", **acts)
        else:
            child(element, "freejoint", name=joint.name)
        return
    R_b, p_b = document.world_pose(body.name)
    R_c, x_c = document.poses[joint.child]
    begin = document.mechanism.q_offsets[document.mechanism.body_index(joint.child)]
    q = document.reference[begin : begin + joint.nq]
    turn = R_b.T @ R_c @ joint.rotation(q).T
    anchor = R_b.T @ (x_c + R_c @ np.asarray(joint.child_position) - p_b)
    for k, name in enumerate(document.joints[joint.name]):
        slides = joint.C_T.shape[1]
        attributes = {"name": name, "pos": text(anchor)}
        rows = slice(k, k + 1)
        if k < slides:
            attributes |= {"type": "slide", "axis": text(turn @ joint.C_T[:, k])}
        elif joint.has_quaternion:
            attributes |= {"type": "ball"}
            rows = slice(slides, slides + 3)
        else:
            attributes |= {"type": "hinge", "axis": text(turn @ joint.C_R[:, 0])}
        if document.refs.get(name):
            attributes["ref"] = text(document.refs[name])
        child(element, "joint", **attributes, **_acts(document, joint, rows))


def _free_acts(document: Document, joint: Joint) -> dict[str, str]:
    """Spring and damper of a free body, as attributes; the spring rests in the pose of the file."""
    told = _acts(document, joint, slice(0, joint.nv), spring=False)
    stiffness, rest = joint.per_coordinate("stiffness"), joint.per_coordinate("rest")
    if not np.any(stiffness):
        return told
    R, p = document.world_pose(joint.child)
    # If the body is rotated there, its rotation has no spring when the file is read.
    upright = np.abs(R - np.eye(3)).max() < SAME
    turns = stiffness[0] if upright else 0.0
    wanted = np.concatenate((p, np.zeros(3)))
    held = stiffness != 0
    if np.any(stiffness != [stiffness[0]] * 3 + [turns] * 3):
        document.lost.add("springs of free bodies that are not alike along all axes", joint.name)
    elif np.abs(rest - wanted)[held].max() > SAME:
        document.lost.add("springs of free bodies that do not rest where these start", joint.name)
    else:
        told["stiffness"] = text(stiffness[0])
    return told


def _acts(document: Document, joint: Joint, rows: slice, spring: bool = True) -> dict[str, str]:
    """Forces along some of a joint's coordinates, as attributes."""
    told = {}
    kinds = [("damping", "damping"), ("friction", "frictionloss"), ("armature", "armature")]
    if spring:
        kinds += [("stiffness", "stiffness"), ("rest", "springref")]
    for ours, theirs in kinds:
        values = joint.per_coordinate(ours)[rows]
        if np.any(values != values[0]):
            kind = "floating" if joint.kind == "floating" else "ball"
            document.lost.add(f"different {ours} of the axes of a {kind} joint", joint.name)
        if values[0]:
            told[theirs] = text(values[0])
    low, high = bounds(joint)[:, rows.start]
    if rows.start == joint.C_T.shape[1] and np.isfinite(joint.largest_turn):
        low, high = 0.0, joint.largest_turn
    if low != high and (np.isfinite(low) or np.isfinite(high)):
        told |= {"limited": "true", "range": text(np.clip((low, high), -1e9, 1e9))}
        mechanism = document.mechanism
        first = mechanism.v_offsets[mechanism.body_index(joint.child)]
        turns = np.isfinite(joint.largest_turn)
        mine = np.arange(joint.nv)[-3:] if turns else np.arange(joint.nv)[rows][:1]
        told |= document.limit_spring(joint, lambda at, softness: np.diag(softness)[first + mine])
    if joint.per_coordinate("effort_limit")[rows.start] == 0 and not _is_driven(
        document, joint, rows.start
    ):
        document.lost.add("effort limits of zero", joint.name)
    efforts = _efforts(document, joint, rows.start)
    if efforts is not None:
        told |= {"actuatorfrclimited": "true", "actuatorfrcrange": text(efforts)}
    return told


def _efforts(document: Document, joint: Joint, row: int) -> tuple[float, float] | None:
    """The range of the force of all actuators of a coordinate, unless it follows from theirs."""
    name = _coordinate(document, joint, row)
    if name in document.mechanism.effort_ranges:
        return document.mechanism.effort_ranges[name]
    limit = float(joint.per_coordinate("effort_limit")[row])
    driven = _is_driven(document, joint, row)
    return None if driven or not 0 < limit < np.inf else (-limit, limit)


def _coordinate(document: Document, joint: Joint, row: int) -> str:
    mechanism = document.mechanism
    return mechanism.v_names[mechanism.v_offsets[mechanism.body_index(joint.child)] + row]


def _is_driven(document: Document, joint: Joint, row: int) -> bool:
    """Whether an actuator acts along a coordinate, so that the largest effort follows from it."""
    free = joint.has_quaternion and row >= joint.numbers
    name = joint.name if free else _coordinate(document, joint, row)
    return any(name in actuator.gears for actuator in document.mechanism.actuators)
