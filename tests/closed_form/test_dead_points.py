"""Closed loops at dead points: poses in which they permit velocities, but no motion."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism
from robosim.simulation.dead_points import dead_point


def rods(*lengths: float, ends: float, out_of_line: float = 0.0) -> Mechanism:
    """Rods on hinges, in one line along z between two fixed pivots."""
    bodies, joints, at, above = [], [], (0.0, 0.0, 0.0), None
    for k, length in enumerate(lengths):
        bodies.append(Body.box(f"rod{k}", (0.04, 0.04, length), mass=1.0))
        half = (0.0, 0.0, -0.5 * length)
        joints.append(Joint(f"hinge{k}", "revolute", above, f"rod{k}", (0, 1, 0), at, half))
        at, above = (0.0, 0.0, 0.5 * length), f"rod{k}"
    pin = Joint("pin", "revolute", None, above, (0, 1, 0), (out_of_line, 0, ends), at)
    return Mechanism("rods", bodies, [*joints, pin])


@pytest.mark.parametrize(
    ("lengths", "ends"), [((0.5, 0.5), 1.0), ((0.3, 0.7), 1.0), ((0.7, 0.3), 0.4)]
)
def test_two_rods_in_one_line_are_at_a_dead_point(lengths: tuple[float, float], ends: float):
    robot = rods(*lengths, ends=ends)
    q = np.array([0.0, np.pi if ends < 0.9 else 0.0])
    found = dead_point(robot, q)
    assert found is not None
    assert found.joints == ("pin",)
    assert found.held == ("hinge0", "hinge1")


def test_two_rods_at_an_angle_are_not():
    q, to = np.array([0.3, -0.6]), np.cos(0.3)
    assert dead_point(rods(0.5, 0.5, ends=to), q) is None


def test_a_flat_parallelogram_may_leave_its_line_in_two_ways():
    """All rods of a four-bar linkage in one line: singular, and passed by its motion."""
    q = np.array([0.0, 0.0, np.pi])
    robot = rods(0.5, 1.0, 0.5, ends=1.0)
    assert dead_point(robot, q) is None


def test_a_short_crank_passes_where_all_rods_are_in_one_line():
    """The crank's part of the form is small, and of the other sign."""
    robot = rods(0.005, 0.5, 0.505, ends=1.01)
    assert dead_point(robot, np.zeros(3)) is not None  # stretched between its ends
    folded = rods(0.005, 0.5, 0.5, ends=0.005)
    assert dead_point(folded, np.array([0.0, 0.0, np.pi])) is None


@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_the_size_of_a_mechanism_does_not_matter(size: float):
    assert dead_point(rods(0.5 * size, 0.5 * size, ends=size), np.zeros(2)) is not None
    bent = rods(0.5 * size, 0.5 * size, ends=size * np.cos(0.3))
    assert dead_point(bent, np.array([0.3, -0.6])) is None


def test_nothing_is_shown_without_loops():
    robot = Mechanism(
        "one", [Body.box("rod", (0.1, 0.1, 0.5), mass=1.0)],
        [Joint("hinge", "revolute", None, "rod", (0, 1, 0))],
    )  # fmt: skip
    assert dead_point(robot, np.zeros(1)) is None
