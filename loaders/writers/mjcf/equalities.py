"""Loops, couplings and fixed coordinates and lengths, as equality constraints of MJCF.

Loops are between sites; a hinge that closes one is represented by two points of its axis.
"""

from __future__ import annotations

import numpy as np
from lxml import etree
from numpy.polynomial import Polynomial

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.tendon import Term
from robosim.errors import SaveError
from robosim.loaders.writers.mjcf.cuts import CLOSING
from robosim.loaders.writers.mjcf.document import Document
from robosim.loaders.writers.mjcf.tendons import counts_backwards, is_curve
from robosim.loaders.writers.parts import bounds, child, text

# [m], between the two points for the axis of a hinge that closes a loop
_AXIS = 0.1


def write_equalities(document: Document) -> None:
    """Write fixed joints and tendons, loops and couplings."""
    locked = [
        (name, low)
        for joint in document.mechanism.tree_joints
        if not joint.has_quaternion
        for name, low, high in zip(document.joints[joint.name], *bounds(joint), strict=True)
        if low == high
    ]
    held = any(tendon.motion is not None for tendon in document.mechanism.tendons)
    if not (document.mechanism.loop_joints or document.mechanism.couplings or held or locked):
        return
    equality = child(document.root, "equality")
    for name, value in locked:
        constant = value - document.refs[name]
        child(equality, "joint", joint1=name, polycoef=text((constant, 0, 0, 0, 0)))
    for joint in document.mechanism.loop_joints:
        _loop(document, equality, joint)
    _held_tendons(document, equality)
    names = document.names["equality"]
    for coupling in document.mechanism.couplings:
        if not {coupling.joint, coupling.source} <= document.refs.keys():
            document.lost.add("couplings of joints that close loops", coupling.name)
            continue
        led = Polynomial((coupling.offset, coupling.ratio))
        child(equality, "joint", name=names.own(coupling.name), joint1=coupling.joint,
              joint2=coupling.source,
              polycoef=_curve(document, led, coupling.joint, coupling.source))  # fmt: skip


def _curve(document: Document, led: Polynomial, name: str, source: str) -> str:
    """The five coefficients of q = led(source), both relative to their `ref`."""
    moved = np.asarray(led(Polynomial((document.refs[source], 1.0))).coef, dtype=float)
    moved[0] -= document.refs[name]
    return text(np.append(moved, np.zeros(4))[:5])


def _held_tendons(document: Document, equality: etree._Element) -> None:
    """Write fixed lengths, which MJCF counts from those in the pose of the file."""
    mechanism = document.mechanism
    if not any(tendon.motion is not None for tendon in mechanism.tendons):
        return
    # Imported here, so that numba is imported only when needed.
    from robosim.kinematics.kinematics import Kinematics

    lengths = Kinematics(mechanism, document.reference).tendon_lengths()
    joints, named = document.joint_names(), document.names["equality"]
    for tendon, length in zip(mechanism.tendons, lengths, strict=True):
        if is_curve(tendon):
            first, second = (part for part in tendon.path if isinstance(part, Term))
            values = (-tendon.upper, second.factor, *second.higher)
            names = joints[first.coordinate], joints[second.coordinate]
            curve = Polynomial(-np.array(values) / first.factor)
            child(equality, "joint", name=named.own(tendon.name), joint1=names[0], joint2=names[1],
                  polycoef=_curve(document, curve, *names))  # fmt: skip
        elif tendon.motion is not None and not counts_backwards(tendon):
            more = text((tendon.upper - length, 0, 0, 0, 0))
            child(equality, "tendon", name=named.own(tendon.name),
                  tendon1=document.tendons[tendon.name], polycoef=more)  # fmt: skip


def _loop(document: Document, equality: etree._Element, joint: Joint) -> None:
    for what in ("damping", "friction", "stiffness", "armature"):
        if np.any(joint.per_coordinate(what)):
            document.lost.add(f"{what} of joints that close loops", joint.name)
    if np.any(np.isfinite(bounds(joint))) or np.isfinite(joint.largest_turn):
        document.lost.add("limits of joints that close loops", joint.name)
    if joint.actuated and joint.nv:
        document.lost.add("actuators of joints that close loops", joint.name)
    R = quaternions.rotation_matrix(np.asarray(joint.offset))
    p_a, p_b = np.asarray(joint.parent_position), np.asarray(joint.child_position)
    names = document.names["equality"]
    match joint.kind:
        case "spherical":
            ends = [(names.own(joint.name), np.zeros(3))]
        case "revolute":  # two points of its axis
            step = _AXIS / 2 * np.asarray(joint.axis)
            second = names.made(f"{joint.name}_axis")
            ends = [(names.own(joint.name), -step), (second, step)]
        case "fixed":
            first = document.site(f"{joint.name}_1", joint.parent, p_a, R)
            second = document.site(f"{joint.name}_2", joint.child, p_b, np.eye(3))
            child(equality, "weld", name=names.own(joint.name), site1=first, site2=second)
            return
        case kind:
            raise SaveError(
                f"joint '{joint.name}': MJCF has no loop closed by a joint of kind '{kind}' "
                f"(known: {', '.join(CLOSING)}); URDF with <loop_joint> has"
            )
    for name, step in ends:
        first = document.site(f"{name}_1", joint.parent, p_a + R @ step)
        second = document.site(f"{name}_2", joint.child, p_b + step)
        child(equality, "connect", name=name, site1=first, site2=second)
