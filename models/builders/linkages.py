"""Planar linkages of thin rods with closed loops: the papers' experiments.

All of their hinges are passive. In 3D, each loop of hinges with parallel axes has three
constraints more than it needs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robosim.description.body import Body
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.models.builders.parts import (
    BLUE,
    ORANGE,
    Array,
    angle_of,
    check_count,
    check_positive,
    check_within,
    closing_point,
    coordinates,
    direction,
    hinge,
    place,
    rod,
)

SPAN = 1.0  # m: between the pivots of the papers' linkages, as long as their longest rods


def three_link_loop(angle: float = -2.6) -> Mechanism:
    """Three rods of 1, sqrt(2) / 2 and 1 m between pivots 1 m apart; masses are the same in kg.

    The loop of [Bruedigam2023, Fig. 7a]; the paper does not state the positions of the pivots.

    Parameters
    ----------
    angle : float [rad]
        Angle of the first rod at home, from hanging down. The second rod's end is to the left of
        the line from the first rod's end to the other pivot.

    Raises
    ------
    ModelError
        For an angle at which the loop cannot be closed.
    """
    name, second = "three_link_loop", float(np.sqrt(0.5))
    check_within(f"mechanism '{name}'", "angle", angle, -np.inf, np.inf)
    a, c = rod("link1", 1.0, 1.0), rod("link3", 1.0, 1.0)
    b = rod("link2", second, second, rgba=ORANGE)
    pivot = np.array((SPAN, 0.0))
    joints = (
        hinge("joint1", None, a),
        hinge("joint2", a, b),
        hinge("joint3", None, c, (SPAN, 0, 0)),
        hinge("loop", c, b, child_at=place(b, "link2_end")),
    )
    robot = Mechanism(name, (a, b, c), joints)
    end = direction(angle)
    meeting = closing_point(f"mechanism '{name}'", pivot, 1.0, end, second)
    angles = {
        "link1": angle,
        "link2": angle_of(meeting - end),
        "link3": angle_of(meeting - pivot),
    }
    return replace(robot, home=coordinates(robot, angles))


def rhombus(
    opening: float = np.pi / 8, tilt: float = np.pi / 4, length: float = 1.0, mass: float = 1.0
) -> Mechanism:
    """Four equal rods in a closed loop, hanging from one corner; see `segments`."""
    return _segments("rhombus", 1, opening, tilt, length, mass)


def segments(
    n: int = 3,
    opening: float = np.pi / 8,
    tilt: float = np.pi / 4,
    length: float = 1.0,
    mass: float = 1.0,
) -> Mechanism:
    """n rhombi of four rods, each hanging from the lowest corner of the last.

    The four-link segments of [Bruedigam2023, Fig. 9a] and [Bruedigam2020, Fig. 6]. A rhombus is
    singular if its rods are parallel; swinging rhombi pass such poses again and again.

    Parameters
    ----------
    n : int
    opening : float [rad]
        Angle of each rod from its rhombus' axis at home, between 0 and pi / 2.
    tilt : float [rad]
        Of that axis from hanging down, at home.
    length, mass : float [m, kg]
        Of each rod.

    Raises
    ------
    ModelError
    """
    return _segments("segments", n, opening, tilt, length, mass)


def _segments(
    name: str, n: int, opening: float, tilt: float, length: float, mass: float
) -> Mechanism:
    element = f"mechanism '{name}'"
    check_count(element, n, "segment")
    check_positive(element, length=length, mass=mass)
    check_within(element, "opening", opening, 0.0, np.pi / 2)
    check_within(element, "tilt", tilt, -np.inf, np.inf)
    bodies: list[Body] = []
    joints: list[Joint] = []
    angles: dict[str, float] = {}
    above: Body | None = None
    for k in range(1, n + 1):
        colour = (BLUE, ORANGE)[k % 2]
        a, b, c, d = (rod(f"link{k}{letter}", length, mass, rgba=colour) for letter in "abcd")
        bodies += [a, b, c, d]
        joints += [
            hinge(f"joint{k}a", above, a),
            hinge(f"joint{k}b", a, b),
            hinge(f"joint{k}c", above, c),
            hinge(f"joint{k}d", c, d),
            hinge(f"loop{k}", d, b, child_at=place(b, f"{b.name}_end")),
        ]
        for body, sign in ((a, 1), (b, -1), (c, -1), (d, 1)):
            angles[body.name] = tilt + sign * opening
        above = b
    robot = Mechanism(name, tuple(bodies), tuple(joints))
    return replace(robot, home=coordinates(robot, angles))


def double_four_bar(angle: float = 0.75 * np.pi) -> Mechanism:
    """Three parallel rods on pivots 1 m apart, their ends joined by two rods; all 1 m and 1 kg.

    The double four-bar of the IFToMM library of benchmark problems, [Bruedigam2023, Fig. 12].
    With all rods in line the linkage could leave the parallelograms' branch. On that branch, the
    angle x from upright obeys ``3 x'' = 3.5 g sin x``. `double_four_bar_start` has the
    benchmark's state.

    Parameters
    ----------
    angle : float [rad]
        Of the three rods from hanging down, at home.

    Raises
    ------
    ModelError
    """
    name = "double_four_bar"
    check_within(f"mechanism '{name}'", "angle", angle, -np.inf, np.inf)
    a, c, e = (rod(f"link{k}", 1.0, 1.0) for k in (1, 3, 5))
    b, d = (rod(f"link{k}", 1.0, 1.0, rgba=ORANGE) for k in (2, 4))
    joints = (
        hinge("pivot1", None, a),
        hinge("coupler1", a, b),
        hinge("pivot2", None, c, (SPAN, 0, 0)),
        hinge("coupler2", c, d),
        hinge("pivot3", None, e, (2 * SPAN, 0, 0)),
        hinge("loop1", c, b, child_at=place(b, "link2_end")),
        hinge("loop2", e, d, child_at=place(d, "link4_end")),
    )
    robot = Mechanism(name, (a, b, c, d, e), joints)
    # The couplers are level and point along +x.
    angles = {f"link{k}": angle if k % 2 else 1.5 * np.pi for k in range(1, 6)}
    return replace(robot, home=coordinates(robot, angles))


def double_four_bar_start() -> tuple[Array, Array]:
    """(q, v) of the benchmark: upright, the upper ends moving at 1 m/s towards +x.

    The rods pass the singular pose, with all rods in line, ten times in 10 s, first at 0.714 s.
    """
    up, across = np.pi, np.pi / 2
    return np.array((up, across, up, across, up)), np.array((1.0, -1.0, 1.0, -1.0, 1.0))
