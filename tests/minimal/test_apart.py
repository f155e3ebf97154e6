"""Trajectories that keep apart from obstacles and from themselves, by distances of `Simulation`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import (
    Body,
    ContactPoint,
    Geometry,
    HalfSpace,
    HeightField,
    Joint,
    Mechanism,
    ModelError,
    OptionError,
    Simulation,
    TriangleMesh,
)
from robosim.quaternions import rotation_matrix

pytest.importorskip("casadi")

from robosim.optimize import Problem
from robosim.optimize.apart import least_distance, pairs_of
from robosim.optimize.outlines import between, outline

FACES = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)]
CORNERS = 0.06 * np.array([(-1, -1, -1), (1, -1, -1), (0, 1, -1), (0, 0, 1)], dtype=float)
WEDGE = Geometry("mesh", position=(0.55, 0, 0), vertices=CORNERS, faces=FACES, name="wedge")
LYING = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)  # z to x
ROD = Geometry("capsule", size=(0.03, 0.3), quaternion=LYING)
BAR = Geometry("box", size=(0.36, 0.05, 0.05))
MARGIN, LIMIT = 0.02, 2.6


def chain(shapes: list[Geometry]) -> Mechanism:
    """Links of 0.4 m that turn about z, with one shape each."""
    names = [f"link{k}" for k in range(len(shapes))]
    bodies = tuple(Body(name, 1.0, 0.01 * np.eye(3), collisions=(shape,))
                   for name, shape in zip(names, shapes, strict=True))  # fmt: skip
    joints = tuple(
        Joint(f"joint{k}", "revolute", names[k - 1] if k else None, name, axis=(0, 0, 1),
              lower=-LIMIT, upper=LIMIT,
              parent_position=(0.2, 0, 0) if k else (0, 0, 0), child_position=(-0.2, 0, 0))
        for k, name in enumerate(names)
    )  # fmt: skip
    return Mechanism("chain", bodies, joints)


def least_gap(robot: Mechanism, rows: np.ndarray) -> float:
    """The least distance of all pairs that may touch, at rows of q."""
    sim, gaps = Simulation(robot, 1e-3), []
    for q in rows:
        sim.set_state(q)
        gaps.append(sim.shape_gaps(1.0).min())
    return float(min(gaps))


@pytest.fixture(scope="module")
def arm() -> Mechanism:
    return chain([ROD, ROD])


def around(robot: Mechanism) -> Problem:
    problem = Problem(robot, 1.0, 10, ignore=("contacts",))
    problem.start([-0.6, 0], [0, 0]).end([0.6, 0], [0, 0])
    return problem.cost(lambda at: at.u[0] ** 2 + at.u[1] ** 2 + 100.0 * at.q[1] ** 2)


def test_an_arm_goes_around_a_mesh(arm: Mechanism) -> None:
    """Distances are also measured between control points."""
    robot = arm.with_contacts([WEDGE], ground=False)
    times = np.linspace(0.0, 1.0, 201)
    straight = around(robot).solve()
    assert least_gap(robot, straight.sample(times)[0]) < 0.0
    folded = [[-0.6, 0.0], [-0.3, 2.0], [0.0, 2.5], [0.3, 2.0], [0.6, 0.0]]
    found = around(robot).apart(margin=MARGIN).solve(folded)
    assert found.feasible
    gap = least_gap(robot, found.sample(times)[0])
    assert MARGIN - 2e-3 < gap < MARGIN + 1e-3


def test_a_chain_keeps_apart_from_itself() -> None:
    robot = chain([BAR] * 3).with_contacts(self_collision=True, ground=False)

    def folded() -> Problem:
        problem = Problem(robot, 1.0, 6, ignore=("contacts",)).start([0, 1.6, 1.6], np.zeros(3))
        return problem.cost(lambda at: (at.q[1] - 2.2) ** 2 + (at.q[2] - 2.2) ** 2, at="end")

    free, kept = folded().solve(), folded().apart(("link0", "link2"), margin=MARGIN).solve()
    assert kept.feasible
    assert least_gap(robot, free.q[-1:]) < 0.0
    assert least_gap(robot, kept.q[-1:]) == pytest.approx(MARGIN, abs=1e-5)


def test_a_plane_is_between_two_outlines() -> None:
    """Distances of a simulation, for pairs of all shapes, and planes that prove them."""
    rng = np.random.default_rng(0)
    shapes = [
        BAR, ROD, WEDGE, Geometry("sphere", size=(0.1,)), Geometry("cylinder", size=(0.1, 0.2)),
        Geometry("cone", size=(0.1, 0.2)), Geometry("ellipsoid", size=(0.1, 0.05, 0.15)),
    ]  # fmt: skip
    for k, shape in enumerate(shapes):
        turn = rng.normal(size=4)
        obstacle = replace(shapes[k - 1], position=(0.7, 0.1, 0.2), name="other",
                           quaternion=turn / np.linalg.norm(turn))  # fmt: skip
        robot = chain([shape]).with_contacts([obstacle], ground=False)
        sim = Simulation(robot, 1e-3)
        sim.set_state([0.3])
        gap = float(sim.shape_gaps(2.0)[0])
        R, p = rotation_matrix(np.array(sim.state.q[0])), np.array(sim.state.x[0])
        plane = between(outline(obstacle), outline(shape).placed(R, p))
        assert plane.gap <= gap + 1e-7
        assert plane.gap == pytest.approx(gap, abs=3e-3)
        assert plane.bound >= gap - 1e-7


def test_what_cannot_come_near_is_left_out(arm: Mechanism) -> None:
    far = replace(WEDGE, position=(0.75, 0, 0), name="far")  # beyond the reach of the first link
    robot = arm.with_contacts([far], ground=False)
    pairs = pairs_of(robot, (), MARGIN, 2, True)
    assert [pair.b for pair in pairs] == [1]
    assert least_distance(robot, pairs[0], True) == 0.0
    rng, sim = np.random.default_rng(1), Simulation(robot, 1e-3)
    near = []
    for q in rng.uniform(-3, 3, (50, 2)):
        sim.set_state(q)
        near.append(sim.shape_gaps(9.0)[0])
    every = pairs_of(robot, (("far", "link0"),), 10.0, 2, True)
    assert 0.0 < least_distance(robot, every[0], True) <= min(near)


def test_a_half_space_is_its_own_plane(arm: Mechanism) -> None:
    wall = HalfSpace(normal=(-1, 0, 0), point=(0.75, 0, 0), name="wall")
    robot = arm.with_contacts([wall], ground=False)
    problem = Problem(robot, 1.0, 6, ignore=("contacts",))
    n = problem.unknowns
    problem.start([-0.9, 0.1], [0, 0]).end([0.9, -0.1], [0, 0])
    problem.cost(lambda at: at.u[0] ** 2 + at.u[1] ** 2).apart(margin=MARGIN)
    assert problem.unknowns == n
    found = problem.solve()
    assert found.feasible
    assert least_gap(robot, found.sample(np.linspace(0, 1, 101))[0]) > MARGIN - 2e-3


def test_what_is_not_possible_is_refused_by_name(arm: Mechanism) -> None:
    robot = arm.with_contacts([WEDGE], ground=False)
    with pytest.raises(OptionError, match=r"no pair \('wedge', 'link7'\).*link0 - wedge"):
        Problem(robot, 1.0, 4).apart(("wedge", "link7"))
    for names in (5, "wedge", ("wedge", ["link1"])):
        with pytest.raises(OptionError, match="no pair"):
            Problem(robot, 1.0, 4).apart(names)
    with pytest.raises(OptionError, match="margin"):
        Problem(robot, 1.0, 4).apart(margin=0.0)
    with pytest.raises(OptionError, match="can touch neither obstacles nor each other"):
        Problem(arm, 1.0, 4).apart()
    with pytest.raises(OptionError, match=r"'link1', 'wedge'.*already"):
        Problem(robot, 1.0, 4).apart(("wedge", "link1")).apart()
    with pytest.raises(ModelError, match=r"problem\.apart"):
        Problem(robot, 1.0, 4).apart(("wedge", "link1")).solve()
    hits = Problem(robot, 1.0, 4).apart().start([0.0, 0.0])
    with pytest.raises(OptionError, match="the start has wedge and link1 apart by 0 m"):
        hits.solve()
    land = HeightField(np.zeros((3, 3)), (1.0, 1.0), name="land")
    with pytest.raises(ModelError, match=r"'land'.*HeightField"):
        Problem(arm.with_contacts([land], ground=False), 1.0, 4).apart()
    mesh = TriangleMesh(WEDGE)
    with pytest.raises(ModelError, match=r"'wedge'.*TriangleMesh.*convex parts"):
        Problem(arm.with_contacts([mesh], ground=False), 1.0, 4).apart()


def test_planes_count_as_no_freedom(arm: Mechanism) -> None:
    """What is determined too often is refused with planes as well."""
    robot = arm.with_contacts([WEDGE], ground=False)
    problem = Problem(robot, 1.0, 4).apart().start([-0.6, 0], [0, 0]).end([0.6, 0], [0, 0])
    for k in range(9):
        problem.constrain(lambda at, k=k: at.u[0] - k, name=f"torque {k}")
    with pytest.raises(OptionError, match="more equations than unknowns"):
        problem.solve()


def test_contact_points_are_told_beside_what_keeps_apart(arm: Mechanism) -> None:
    tip = ContactPoint("tip", "link1", (0.2, 0, 0))
    robot = replace(arm.with_contacts([WEDGE], ground=False), contacts=(tip,))
    with pytest.raises(ModelError, match="contact 'tip'"):
        Problem(robot, 1.0, 4).apart().solve()
