"""Rods and hinges of planar mechanisms, and what all builders check."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.body import Body, Frame, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError

Array = NDArray[np.float64]
Place = tuple[float, float, float]  # m

CENTRE: Place = (0.0, 0.0, 0.0)

BLUE, ORANGE = (0.16, 0.36, 0.60, 1.0), (0.85, 0.55, 0.20, 1.0)
GREY, DARK = (0.55, 0.57, 0.60, 1.0), (0.18, 0.19, 0.21, 1.0)
Y_AXIS = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # turns a shape's z axis to -y


def check_positive(element: str, **values: float) -> None:
    """ModelError for sizes that are not finite and positive."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise ModelError(f"{name} must be positive, not {value}", element=element)


def check_count(element: str, n: int, what: str) -> None:
    """ModelError for fewer than one of something."""
    if n < 1:
        raise ModelError(f"needs at least one {what}, not {n}", element=element)


def check_within(element: str, name: str, value: float, low: float, high: float) -> None:
    """ModelError for a value [rad or m] that is not strictly between two bounds."""
    if not low < value < high:
        raise ModelError(
            f"{name} must be between {low:.6g} and {high:.6g}, not {value}", element=element
        )


def rod(
    name: str,
    length: float,
    mass: float,
    radius: float = 0.02,
    rgba: tuple[float, float, float, float] = BLUE,
    beside: float = 0.0,
) -> Body:
    """A thin uniform rod along z; its frame is at its upper end, `<name>_end` at its lower one.

    It is drawn `beside` [m] the plane of its hinges, along y, past other rods.

    Its moments of inertia are m l^2 / 12 across, those of a rod without thickness, and m r^2 / 2
    along, so that they are all positive.
    """
    across, along, half = mass * length**2 / 12, mass * radius**2 / 2, length / 2
    return Body(
        name=name,
        mass=mass,
        inertia=np.diag((across, across, along)),
        frames=(Frame(name, (0, 0, half)), Frame(f"{name}_end", (0, 0, -half))),
        visuals=(
            Geometry("cylinder", (radius, length), (0, beside, 0), rgba=rgba, name=name),
            Geometry("sphere", (1.5 * radius,), (0, beside, half), rgba=BLUE, name=name),
        ),
    )


def strut(
    name: str,
    start: Array,
    end: Array,
    radius: float,
    rgba: tuple[float, float, float, float] = BLUE,
) -> Geometry:
    """A cylinder from one place of a body to another."""
    way = end - start
    length = float(np.linalg.norm(way))
    across = np.cross((0.0, 0.0, 1.0), way)
    size = float(np.linalg.norm(across))
    turn = across * (np.arctan2(size, way[2]) / size) if size else (0.0, 0.0, 0.0)
    middle = (start + end) / 2
    return Geometry(
        "cylinder", (radius, length), middle, quaternions.from_rotation_vector(turn), rgba=rgba,
        name=name,
    )  # fmt: skip


def block(
    name: str,
    size: Place,
    mass: float,
    rgba: tuple[float, float, float, float] = DARK,
    reference: Place = CENTRE,
) -> Body:
    """A uniform box; its frame is at `reference`, from its centre."""
    squares = np.square(size)
    return Body(
        name,
        mass,
        np.diag(mass / 12 * (squares.sum() - squares)),
        (Frame(name, reference),),
        visuals=(Geometry("box", size, rgba=rgba, name=name),),
    )


def place(body: Body, frame: str) -> Place:
    """Where a body's frame is, from its centre of mass."""
    x, y, z = next(np.asarray(one.position) for one in body.frames if one.name == frame)
    return float(x), float(y), float(z)


def hinge(
    name: str,
    parent: Body | None,
    child: Body,
    at: Place | None = None,
    child_at: Place | None = None,
    *,
    actuated: bool = False,
) -> Joint:
    """A hinge about y at places of two bodies, or of the world and a body.

    Without a place, at the parent rod's end (the world's origin) and at the child's frame.
    """
    if at is None:
        at = CENTRE if parent is None else place(parent, f"{parent.name}_end")
    return Joint(
        name,
        "revolute",
        parent=None if parent is None else parent.name,
        child=child.name,
        axis=(0, 1, 0),
        parent_position=at,
        child_position=place(child, child.name) if child_at is None else child_at,
        actuated=actuated,
    )


def direction(angle: float) -> Array:
    """Where a rod at an angle about y points, from its frame to its end: (2,) in (x, z)."""
    return -np.array((np.sin(angle), np.cos(angle)))


def angle_of(way: Array) -> float:
    """The angle about y [rad] of a rod that points along `way` (2,) in (x, z)."""
    return float(np.arctan2(-way[0], -way[1]))


def closing_point(
    element: str, first: Array, r_first: float, second: Array, r_second: float
) -> Array:
    """The point (2,) at given distances from two points: to the right on the way to the second.

    Raises
    ------
    ModelError
        If the two circles do not meet.
    """
    way = second - first
    distance = float(np.linalg.norm(way))
    if not abs(r_first - r_second) <= distance <= r_first + r_second or distance == 0.0:
        raise ModelError(
            f"the loop cannot be closed: links of {r_first:.6g} and {r_second:.6g} m, between "
            f"points that are {distance:.6g} m apart",
            element=element,
        )
    along = (distance**2 + r_first**2 - r_second**2) / (2 * distance)
    across = np.sqrt(max(r_first**2 - along**2, 0.0))
    x, z = way / distance
    return np.asarray(first + along * np.array((x, z)) + across * np.array((z, -x)))


def coordinates(robot: Mechanism, angles: Mapping[str, float]) -> Array:
    """q (nq,) of hinged rods from each body's own angle about y; other joints are at home.

    Hinges are given within half a turn.
    """
    q = np.array(robot.home, dtype=float)
    for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        if joint.kind == "revolute":
            turn = angles[joint.child] - angles.get(joint.parent or "", 0.0)
            q[start] = np.pi - np.remainder(np.pi - turn, 2 * np.pi)
    return q
