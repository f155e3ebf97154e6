"""Planar linkages with closed loops, all hinges about y, hanging down along -z."""

from __future__ import annotations

import numpy as np

from robosim.bodies import Body, Frame, Geometry
from robosim.joints import Joint
from robosim.mechanism import Mechanism

RADIUS = 0.02  # m, of the rods


def rod(name: str, length: float = 1.0, mass: float = 1.0) -> Body:
    """A thin uniform rod along z, its upper end at +length / 2."""
    across, along = mass * length**2 / 12, mass * RADIUS**2 / 2
    shape = Geometry("cylinder", (RADIUS, length), name=name)
    frame = Frame(name, (0, 0, length / 2))
    return Body(name, mass, np.diag((across, across, along)), (frame,), (shape,))


def hinge(
    name: str,
    parent: Body | None,
    child: Body,
    place: tuple[float, float, float] = (0.0, 0.0, 0.0),
    end: int = -1,
    child_end: int = 1,
) -> Joint:
    """A hinge at an end (1 upper, -1 lower) of two rods, or at a place of the world."""
    at = place if parent is None else _end(parent, end)
    return Joint(
        name, "revolute", None if parent is None else parent.name, child.name, axis=(0, 1, 0),
        parent_position=at, child_position=_end(child, child_end), actuated=False,
    )  # fmt: skip


def _end(body: Body, end: int) -> tuple[float, float, float]:
    return (0.0, 0.0, end * float(np.asarray(body.frames[0].position)[2]))


def three_link_loop() -> Mechanism:
    """Rods of 1, sqrt(2) / 2 and 1 m, as heavy in kg, between pivots 1 m apart."""
    lengths = (1.0, float(np.sqrt(0.5)), 1.0)
    a, b, c = (rod(f"link{k}", length, length) for k, length in enumerate(lengths, start=1))
    joints = (
        hinge("joint1", None, a),
        hinge("joint2", a, b),
        hinge("joint3", None, c, (1.0, 0.0, 0.0)),
        hinge("loop", c, b, child_end=-1),
    )
    return Mechanism("three_link_loop", (a, b, c), joints)


def segments(n: int) -> Mechanism:
    """n rhombi of four rods of 1 m and 1 kg, each hanging from the lowest point of the last."""
    bodies: list[Body] = []
    joints: list[Joint] = []
    above: Body | None = None
    for k in range(1, n + 1):
        a, b, c, d = (rod(f"link{k}{letter}") for letter in "abcd")
        bodies += [a, b, c, d]
        joints += [
            hinge(f"joint{k}a", above, a),
            hinge(f"joint{k}b", a, b),
            hinge(f"joint{k}c", above, c),
            hinge(f"joint{k}d", c, d),
            hinge(f"loop{k}", d, b, child_end=-1),
        ]
        above = b
    return Mechanism("segments" if n > 1 else "rhombus", tuple(bodies), tuple(joints))


def segments_start(robot: Mechanism, opening: float, tilt: float) -> np.ndarray:
    """q of segments whose upper rods are `opening` off their axis, which is `tilt` off vertical."""
    q = np.zeros(robot.nq)
    absolute: dict[str | None, float] = {None: 0.0}
    signs = {"a": 1.0, "b": -1.0, "c": -1.0, "d": 1.0}
    for index, joint in enumerate(robot.tree_joints):
        absolute[joint.child] = tilt + signs[joint.child[-1]] * opening
        q[index] = absolute[joint.child] - absolute[joint.parent]
    return q


def double_four_bar() -> Mechanism:
    """Three rods on pivots 1 m apart, their ends joined by two rods; all of 1 m and 1 kg."""
    a, b, c, d, e = (rod(f"link{k}") for k in range(1, 6))
    joints = (
        hinge("pivot1", None, a),
        hinge("coupler1", a, b),
        hinge("pivot2", None, c, (1.0, 0.0, 0.0)),
        hinge("coupler2", c, d),
        hinge("pivot3", None, e, (2.0, 0.0, 0.0)),
        hinge("loop1", c, b, child_end=-1),
        hinge("loop2", e, d, child_end=-1),
    )
    return Mechanism("double_four_bar", (a, b, c, d, e), joints)
