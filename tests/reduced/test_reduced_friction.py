"""Contact points and bearings of ReducedSimulation: closed forms, scenes, optima [Sueda]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import clarabel
import numpy as np
import pytest
from random_mechanisms import random_body, random_quaternion
from scipy import sparse

import robosim
from robosim import Body, ContactPoint, Joint, Mechanism, PointForce, ReducedSimulation
from robosim.description.bearing import Bearing
from robosim.experiments import redmax_friction_scenes as theirs
from robosim.experiments import redmax_scenes as scenes
from robosim.experiments.redmax_scene import Scene
from robosim.reduced import staggered
from robosim.reduced.bearings import Maximal, about_point
from robosim.reduced.constraints import loop_rows
from robosim.reduced.contacts import Touching
from robosim.reduced.maximal import Bodies, JointRows
from robosim.reduced.model import Model
from robosim.reduced.solving import Equations, constrained
from robosim.reduced.tree import Placed
from robosim.simulation import Simulation

G, MU = 9.81, 0.3
BOTH = ("single", "staggered")


def alone(joint: dict[str, Any], mass: float = 2.0) -> Mechanism:
    """One body on a joint to the world."""
    body = Body("body", mass, np.diag([0.2, 0.3, 0.4]))
    return Mechanism("one", (body,), (Joint("joint", parent=None, child="body", **joint),))


def point_mass(friction: float = MU) -> Mechanism:
    """A point that does not turn, on the ground at its home."""
    joint = Joint("joint", "fixed_orientation", None, "body", actuated=False)
    touch = ContactPoint("point", "body", (0, 0, 0), friction=friction)
    return Mechanism("point", (Body("body", 2.0, np.eye(3)),), (joint,), (touch,))


def box(friction: float = MU) -> Mechanism:
    """A free box with contact points at its lower corners, on the ground at its home."""
    corners = [(x, y, -0.1) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]
    touch = tuple(
        ContactPoint(f"corner{i}", "body", at, friction=friction) for i, at in enumerate(corners)
    )
    body = Body("body", 2.0, np.diag([0.02, 0.05, 0.06]))
    joint = Joint("joint", "floating", None, "body", actuated=False)
    home = (0, 0, 0.1, 1, 0, 0, 0)
    return Mechanism("box", (body,), (joint,), touch, home=home)


# Bearings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pads", [4, 32])
def test_a_flywheel_loses_energy_by_its_weight(pads: int) -> None:
    """8 mu r W in a turn, and 4 / pi mu r W times the angle with many pads, at all angles."""
    r, h, speed = 0.02, 1e-3, 20.0
    bearing = Bearing(MU, radius=r, length=0.1, pads=pads)
    robot = alone({"kind": "revolute", "axis": (0, 1, 0), "bearing": bearing})
    sim = ReducedSimulation(robot, h)
    sim.set_state(None, [speed])
    log = sim.run(0.33)
    angle, energy = log.q[:, 0], 0.15 * log.v[:, 0] ** 2
    if pads == 4:
        lost = energy[0] - np.interp(angle[0] + 2 * np.pi, angle, energy)
        assert lost == pytest.approx(8 * MU * r * 2.0 * G, rel=1e-3)
    else:
        # Not whole turns: loss by the angle is a straight line up to the pads' spacing.
        lost = (energy[0] - energy[-1]) / (angle[-1] - angle[0])
        assert lost == pytest.approx(4 / np.pi * MU * r * 2.0 * G, rel=1e-3)
    assert np.all(np.diff(energy) < 0.0)


@pytest.mark.parametrize("share", [0.5, 0.99, 1.01, 3.0])
def test_a_slide_jams(share: float) -> None:
    """Pushed at an offset e: F / m (1 - 2 mu e / L), and not at all from 2 mu e = L on."""
    length, force = 0.4, 5.0
    offset = share * length / (2 * MU)
    bearing = Bearing(MU, radius=0.03, length=length)
    robot = alone({"kind": "prismatic", "axis": (1, 0, 0), "bearing": bearing})
    push = PointForce("push", "body", (0, offset, 0), (1, 0, 0), force)
    sim = ReducedSimulation(robot, 1e-2, (0, 0, 0), forces=(push,), tolerance=1e-9)
    sim.run(0.05)
    expected = force / 2.0 * max(0.0, 1.0 - share)
    assert sim.v[0] / 0.05 == pytest.approx(expected, abs=1e-6 * force / 2.0)


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_a_socket_starts_to_tilt(share: float) -> None:
    """From a moment mu r W on, about an axis across the load."""
    r = 0.05
    robot = alone({"kind": "spherical", "bearing": Bearing(MU, radius=r)})
    sim = ReducedSimulation(robot, 1e-3, tolerance=1e-9)
    moment = share * MU * r * 2.0 * G
    sim.apply_wrench("body", torque=(moment, 0, 0))
    sim.run(0.01)
    expected = max(0.0, share - 1.0) / share * moment / 0.2
    assert sim.v[0] / 0.01 == pytest.approx(expected, abs=1e-5 * moment / 0.2)
    np.testing.assert_allclose(sim.v[1:], 0.0, atol=1e-9)


@pytest.mark.parametrize("share", [0.99, 1.01])
@pytest.mark.parametrize("by", ["bearing", *BOTH])
def test_a_slider_on_a_slope_holds(share: float, by: str) -> None:
    """Up to a slope of mu: on its slide, and on its contact points."""
    slope = np.arctan(share * MU)
    gravity = G * np.array([np.sin(slope), 0, -np.cos(slope)])
    if by == "bearing":
        bearing = Bearing(MU, radius=0.03, length=0.4)
        robot = alone({"kind": "prismatic", "axis": (1, 0, 0), "bearing": bearing})
        sim = ReducedSimulation(robot, 1e-2, gravity, tolerance=1e-9)
    else:
        sim = ReducedSimulation(box(), 1e-2, gravity, contacts=by, tolerance=1e-9)
    sim.run(0.1 if by != "single" else 1e-2)
    expected = max(gravity[0] + MU * gravity[2], 0.0)
    if by == "single":
        # What slides is lifted: as far along its pyramid as gravity pushes along that.
        expected /= 1 + MU**2
        assert sim.v[2] == pytest.approx(MU * sim.v[0], abs=1e-12)
    assert sim.v[0] / sim.time == pytest.approx(expected, abs=1e-6 * G)


@pytest.mark.parametrize("seed", range(2))
def test_bearings_add_no_energy(seed: int) -> None:
    """Of trees whose joints carry each other: each step ends with less than without friction."""
    rng = np.random.default_rng(seed)
    bodies, joints = [], []
    for i, kind in enumerate(rng.permutation(["revolute", "prismatic", "spherical"])):
        bodies.append(random_body(rng, f"b{i}"))
        length = 0.0 if kind == "spherical" else 0.2
        joints.append(
            Joint(
                f"j{i}", str(kind), None if i == 0 else f"b{(i - 1) // 2}", f"b{i}",
                axis=rng.normal(size=3), parent_position=0.2 * rng.normal(size=3),
                child_position=0.2 * rng.normal(size=3),
                bearing=Bearing(rng.uniform(0.05, 0.5), rng.uniform(0.02, 0.1), length),
            )
        )  # fmt: skip
    robot = Mechanism("tree", tuple(bodies), tuple(joints))
    sim = ReducedSimulation(robot, 1e-3, (0, 0, 0))
    free = ReducedSimulation(robot, 1e-3, (0, 0, 0), ignore=("friction",))
    sim.set_state(None, rng.normal(size=robot.nv))
    for _ in range(20):
        free.set_state(sim.q, sim.v)
        free.step()
        sim.step()
        assert sim.energy() < free.energy()


# Public scenes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "margin"), [(theirs.hinges, 1e-3), (theirs.balls, 1e-3), (theirs.slides, 0.01)]
)
def test_scenes_with_friction_are_those_published(made: Callable[[], Scene], margin: float) -> None:
    """At their tolerance, as their program has it; slides have their pads elsewhere."""
    scene = made()
    assert scene.energy() == pytest.approx(scene.published, abs=margin)


@pytest.mark.parametrize(
    ("made", "limit", "margin"),
    [
        pytest.param(theirs.hinges, -137753.0, 10.0, marks=pytest.mark.slow),
        pytest.param(scenes.hinges_that_rub, -137797.0, 10.0, marks=pytest.mark.slow),
        (scenes.balls_that_rub, -186520.0, 30.0),
        (scenes.slides_that_rub, -253646.0, 10.0),
    ],
)
def test_scenes_with_friction_as_steps_get_shorter(
    made: Callable[[], Scene], limit: float, margin: float
) -> None:
    """Iterated further, of first order: two steps lead to the limit.

    Scene 27 has two, with and without what their program leaves out and counts twice.
    """
    ends = []
    for h in (1e-2, 5e-3):
        scene = made()
        scene.h, scene.options["tolerance"] = h, 1e-4
        ends.append(scene.energy())
    assert 2 * ends[1] - ends[0] == pytest.approx(limit, abs=margin)


# Contact points ----------------------------------------------------------------------------------


def test_what_slides_is_lifted_in_one_problem() -> None:
    """(1.88): a point that slides at s leaves the first step with (u . d) d."""
    s, h = 2.0, 1e-2
    sim = ReducedSimulation(point_mass(), h, contacts="single")
    sim.set_state(None, [s, 0, 0])
    sim.step()
    u, d = np.array([s, -G * h]), np.array([1.0, MU]) / np.sqrt(1 + MU**2)
    np.testing.assert_allclose(sim.v, ((u @ d) * d[0], 0, (u @ d) * d[1]), rtol=0, atol=1e-12)
    force = sim.contact_forces()[0]
    np.testing.assert_allclose(h * force, 2.0 * (sim.v - [s, 0, -G * h]), rtol=0, atol=1e-12)
    assert force[0] == pytest.approx(-MU * force[2])


@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
def test_what_slides_stops_by_staggered_projections(coordinates: str) -> None:
    """After s^2 / (2 mu g), as in Simulation; a step of Euler goes s h / 2 less far."""
    s, h = 2.0, 1e-2
    sim = ReducedSimulation(point_mass(), h, contacts="staggered", coordinates=coordinates)
    sim.set_state(None, [s, 0, 0])
    sim.run(1.0)
    np.testing.assert_allclose(sim.v, 0.0, atol=1e-12)
    assert sim.q[0] == pytest.approx(s**2 / (2 * MU * G) - 0.5 * s * h, abs=0.5 * MU * G * h * h)
    assert abs(sim.q[2]) < 1e-12
    variational = Simulation(point_mass(), h)
    variational.set_state(None, [s, 0, 0])
    variational.run(1.0)
    assert variational.q[0] == pytest.approx(s**2 / (2 * MU * G), abs=s * h)
    assert sim.q[0] == pytest.approx(variational.q[0], abs=s * h)


@pytest.mark.parametrize("contacts", BOTH)
@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
def test_a_box_rests(contacts: str, coordinates: str) -> None:
    """On four corners, which carry its weight together; where one is pushed, it stays."""
    robot = box()
    options = {"contacts": contacts, "coordinates": coordinates, "tolerance": 1e-10}
    sim = ReducedSimulation(robot, 1e-2, **options)
    sim.apply_wrench("body", (0.9 * MU * 2.0 * G, 0, 0), point=(0, 0, 0))
    info = sim.step()
    np.testing.assert_allclose(sim.v, 0.0, atol=1e-9)
    forces = sim.contact_forces()
    np.testing.assert_allclose(forces.sum(0), (-0.9 * MU * 2 * G, 0, 2 * G), rtol=1e-9, atol=1e-9)
    found = sim.contacts()
    assert [one.body for one in found] == ["body"] * 4
    assert sum(one.force[2] for one in found) == pytest.approx(2 * G)
    assert abs(found[0].gap) < 1e-12
    assert abs(info.gap) < 1e-12
    assert sim.contacts(ground=False) == []
    sim.run(0.2)
    np.testing.assert_allclose(sim.q, np.asarray(robot.home), atol=1e-9)


@pytest.mark.parametrize("contacts", BOTH)
def test_what_falls_lands(contacts: str) -> None:
    """By a step below the ground, and comes back with baumgarte."""
    depths = []
    for rate in (None, 20.0):
        sim = ReducedSimulation(point_mass(), 1e-2, contacts=contacts, baumgarte=rate)
        sim.set_state([0, 0, 0.1])
        assert sim.contacts() == []
        sim.run(0.6)
        depths.append(-sim.q[2])
    assert 0.0 < depths[0] <= np.sqrt(2 * G * 0.1) * 1e-2 + 1e-12
    assert abs(depths[1]) < 1e-3 * depths[0]


def test_the_a1_stands_as_in_simulation() -> None:
    """On four balls among its contact points, most of which are rims and corners."""
    robot = robosim.load("a1")
    sim = ReducedSimulation(robot, 2e-3, contacts="staggered", ignore=("friction",))
    other = Simulation(robot, 2e-3)
    for one in (sim, other):
        one.run(0.1, "stand")
    np.testing.assert_allclose(sim.q[:3], other.q[:3], rtol=0, atol=1e-3)
    assert len(sim.contacts()) == 4
    forces = [one.contact_forces()[:, 2].sum() for one in (sim, other)]
    assert forces[0] == pytest.approx(forces[1], rel=0.01)


# Loads of joints ---------------------------------------------------------------------------------


def braced() -> Mechanism:
    """A branched tree with a loop."""
    rng = np.random.default_rng(2)
    bodies = tuple(random_body(rng, f"b{i}") for i in range(4))
    kinds = ("revolute", "spherical", "prismatic", "revolute")
    ends = {"parent_position": (0.1, 0.2, -0.1), "child_position": (-0.2, 0.1, 0.1)}
    joints = [
        Joint(f"j{i}", kind, parent, f"b{i}", axis=rng.normal(size=3), **ends)  # type: ignore[arg-type]
        for i, (kind, parent) in enumerate(zip(kinds, (None, "b0", "b0", "b1"), strict=True))
    ]
    loop = Joint("loop", "spherical", "b2", "b3", actuated=False)
    return Mechanism("braced", bodies, (*joints, loop))


def test_loads_of_joints_are_multipliers_in_maximal_coordinates() -> None:
    """With a loop and a contact: those of a dense system of all joints (1.73).

    By the printed (2.119) they are not: its solve without joints has other multipliers of the loop
    and of the contact, which do not fall out of the difference.
    """
    rng = np.random.default_rng(3)
    robot = braced()
    model = Model(robot, np.zeros(3), np.zeros((4, 6, 6)), (), (), None)
    q = np.concatenate((rng.normal(size=1), random_quaternion(rng), rng.normal(size=2)))
    placed = Placed(model.links, q, np.zeros(robot.nv))
    A, J = np.zeros((24, 24)), placed.jacobian()
    for i, M in enumerate(model.links.inertias):
        A[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = M
    f, contact = rng.normal(size=24), rng.normal(size=(1, 24))
    f -= 3.0 * contact[0]
    loop = loop_rows(robot, robot.loop_joints[0], placed.E, placed.twists).G
    none = np.zeros((0, robot.nv))
    equations = Equations(
        lambda x: np.asarray(np.linalg.solve(J.T @ A @ J, x)), J.T @ f, loop @ J, np.zeros(3), none,
        np.zeros(0), J,
    )  # fmt: skip
    found = equations.answered(np.zeros(robot.nv), contact @ J, np.zeros(1))
    outside = -np.vstack((loop, contact)).T @ found.multipliers
    assert found.multipliers[-1] < -0.1
    maximal = Maximal(placed, A, f, np.zeros(24), loop, [slice(0, 3)])
    v = J @ found.x
    loads = maximal.reactions(A @ v - f - outside, found.multipliers[:3])

    bodies = Bodies(placed.E, placed.twists)
    held = [JointRows(model, i, bodies, q[own]).held for i, own in enumerate(model.links.q)]
    rows = np.vstack((*held, loop, contact))
    zero = np.zeros((len(rows), len(rows)))
    dense = np.linalg.solve(np.block([[A, rows.T], [rows, zero]]), np.r_[f, np.zeros(len(rows))])
    np.testing.assert_allclose(v, dense[:24], rtol=0, atol=1e-10)
    ends = np.cumsum([24, *(len(one) for one in (*held, loop))])
    for i, (one, load) in enumerate(zip((*held, loop), loads, strict=True)):
        wrench = -one.T @ dense[ends[i] : ends[i + 1]]
        joint = robot.joints[i]
        body = robot.body_index(joint.child)
        expected = about_point(joint, wrench[6 * body : 6 * body + 6])
        np.testing.assert_allclose(load, expected, rtol=0, atol=1e-9)

    def solve(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.solve(A, x))

    apart = constrained(solve, f, loop, np.zeros(3), contact, np.zeros(1)).x
    printed = maximal.reactions(A @ (v - apart), found.multipliers[:3])
    assert max(np.abs(a - b).max() for a, b in zip(printed[:4], loads[:4], strict=True)) > 0.1


def test_a_load_is_what_leads_a_body_along() -> None:
    """An unbalanced wheel without weight loses speed by what holds its centre, m e w^2."""
    r, out, speed, h = 0.05, 0.1, 10.0, 1e-3
    bearing = Bearing(MU, radius=r, length=0.1)
    joint = Joint("joint", "revolute", None, "body", axis=(0, 0, 1), child_position=(-out, 0, 0),
                  bearing=bearing)  # fmt: skip
    body = Body("body", 2.0, np.diag([0.2, 0.3, 0.4]))
    sim = ReducedSimulation(Mechanism("wheel", (body,), (joint,)), h, (0, 0, 0))
    sim.set_state(None, [speed])
    sim.run(0.5)
    # Along one of the pads' axes, so that two of them carry it.
    decay = MU * r * 2.0 * out / (0.4 + 2.0 * out**2)
    assert 1 / sim.v[0] == pytest.approx(1 / speed + decay * 0.5, rel=1e-3)


def test_a_bearing_that_closes_a_loop() -> None:
    """A wheel that is free but for the joint that closes a loop turns as one on that joint."""
    bearing = Bearing(MU, radius=0.05, length=0.1)
    axle = Joint("axle", "revolute", None, "body", axis=(0, 1, 0), bearing=bearing, actuated=False)
    body = Body("body", 2.0, np.diag([0.2, 0.3, 0.4]))
    free = Joint("free", "floating", None, "body", actuated=False)
    sims = [ReducedSimulation(Mechanism("wheel", (body,), joints), 1e-3)
            for joints in ((axle,), (free, axle))]  # fmt: skip
    sims[0].set_state(None, [10.0])
    sims[1].set_state(None, [0, 0, 0, 0, 10.0, 0])
    for sim in sims:
        sim.run(0.05)
    assert sims[0].v[0] < 9.95
    assert sims[1].v[4] == pytest.approx(sims[0].v[0], rel=1e-6)


@pytest.mark.parametrize("contacts", BOTH)
def test_a_bearing_on_what_stands(contacts: str) -> None:
    """A wheel on a box on the ground loses as much as on a support that is fixed."""
    bearing = Bearing(MU, radius=0.02, length=0.1)
    wheel = Body("wheel", 1.0, np.diag([0.02, 0.03, 0.02]))
    axle = Joint("axle", "revolute", "body", "wheel", axis=(0, 1, 0), parent_position=(0, 0, 0.3),
                 bearing=bearing)  # fmt: skip
    base = box(friction=1.0)
    standing = replace(base, bodies=(*base.bodies, wheel), joints=(*base.joints, axle), home=None)
    fixed = Mechanism("fixed", (wheel,), (replace(axle, parent=None),))
    sims = [ReducedSimulation(standing, 1e-3, contacts=contacts, tolerance=1e-8),
            ReducedSimulation(fixed, 1e-3)]  # fmt: skip
    sims[0].set_state((0, 0, 0.1, 1, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0, 10.0))
    sims[1].set_state(None, [10.0])
    for sim in sims:
        sim.run(0.05)
    np.testing.assert_allclose(sims[0].v[:6], 0.0, atol=1e-6)
    assert sims[1].v[0] < 9.9
    assert sims[0].v[6] == pytest.approx(sims[1].v[0], rel=1e-6)
    assert sims[0].contact_forces()[:, 2].sum() == pytest.approx(3.0 * G, rel=1e-6)


# Optima -------------------------------------------------------------------------------------------


def tangled() -> Equations:
    """A random step with equalities and limits."""
    rng = np.random.default_rng(5)
    n = 8
    root = rng.normal(size=(n, n))
    A = root @ root.T + 0.1 * np.eye(n)
    G = rng.normal(size=(2, n))
    return Equations(
        lambda f: np.asarray(np.linalg.solve(A, f)), 3 * rng.normal(size=n), np.vstack((G, G[:1])),
        np.array([0.3, -0.2, 0.3]), rng.normal(size=(1, n)), np.array([0.4]), np.eye(n),
    )  # fmt: skip


def optimum(P: np.ndarray, q: np.ndarray, rows: np.ndarray, most: np.ndarray) -> np.ndarray:
    """x of the least ``x P x / 2 + q x`` with ``rows x <= most``, by an interior point."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    upper, cones = sparse.csc_matrix(np.triu(P)), [clarabel.NonnegativeConeT(len(rows))]
    solver = clarabel.DefaultSolver(upper, q, sparse.csc_matrix(rows), most, cones, settings)
    return np.array(solver.solve().x)


def a_touch(seed: int) -> Touching:
    """Three contacts in random directions."""
    rng = np.random.default_rng(seed)
    normals, tangents = rng.normal(size=(3, 8)), rng.normal(size=(6, 8))
    friction, frames = np.array([0.3, 0.1, 0.8]), np.tile(np.eye(3), (3, 1, 1))
    return Touching(np.arange(3), normals, tangents, friction, 0.2 * np.ones(3), frames)


def test_one_problem_has_the_optimum_of_its_dual() -> None:
    """(1.88) in its own variables, alpha and four beta for each contact, by clarabel."""
    equations = replace(tangled(), C=np.zeros((0, 8)), least=np.zeros(0))
    touch = a_touch(7)
    found = staggered.pyramids(equations, touch)
    free = equations.answered(np.zeros(8), np.zeros((0, 8)), np.zeros(0)).x
    # alpha, then t, -t of both tangents of each contact.
    signed = np.stack((touch.tangents, -touch.tangents), axis=1).reshape(-1, 8)
    C = np.vstack((touch.normals, signed))
    P = equations.compliance(C)
    q = C @ free - np.concatenate((touch.least, np.zeros(12)))
    E = np.zeros((3, 15))  # of (1.86)
    for k in range(3):
        E[k, k], E[k, 3 + 4 * k : 7 + 4 * k] = touch.friction[k], -1.0
    multipliers = optimum(P + 1e-13 * np.eye(15), q, np.vstack((-np.eye(15), -E)), np.zeros(18))
    expected = equations.moved(C.T @ multipliers) + free
    np.testing.assert_allclose(found.x, expected, rtol=0, atol=1e-6)
    assert (multipliers[:3] > 1e-3).sum() >= 2
    rows = np.concatenate((touch.normals, touch.tangents))
    moved = equations.moved(
        rows.T @ np.concatenate((found.forces[:, 2], found.forces[:, :2].reshape(-1)))
    )
    np.testing.assert_allclose(free + moved, found.x, rtol=0, atol=1e-9)


def test_staggered_problems_have_their_optima() -> None:
    """(2.113) without negative multipliers and (2.114) in its box, each against the other."""
    equations, touch = tangled(), a_touch(9)
    found = staggered.points(equations, touch, np.zeros(8), 1e-12)
    alpha, beta = found.forces[:, 2], -found.forces[:, :2].reshape(-1)
    N, T = touch.normals, touch.tangents
    pushing = np.vstack((equations.C, N))
    free = constrained(equations.solve, equations.f - T.T @ beta, equations.G, equations.wanted)
    least = np.concatenate((equations.least, touch.least))
    P, q = equations.compliance(pushing), pushing @ free.x - least
    pushes = optimum(P, q, -np.eye(4), np.zeros(4))
    np.testing.assert_allclose(alpha, pushes[1:], rtol=0, atol=1e-7)
    slipping = constrained(
        equations.solve, equations.f + pushing.T @ pushes, equations.G, equations.wanted
    ).x
    bound = np.repeat(touch.friction * alpha, 2)
    rows = np.vstack((np.eye(6), -np.eye(6)))
    box_of = optimum(equations.compliance(T), -T @ slipping, rows, np.concatenate((bound, bound)))
    np.testing.assert_allclose(beta, box_of, rtol=0, atol=1e-6)
    assert np.any(np.abs(beta) < 0.99 * bound)
    assert np.any(np.abs(np.abs(beta) - bound)[bound > 0] < 1e-9)
