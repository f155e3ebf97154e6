"""The parts of REDMAX held to differences and to dense algebra, at random states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from joint_lagrangian import robot_for_tests
from random_mechanisms import closing_joint, random_body, random_coordinates, random_quaternion

from robosim import Body, Joint, Mechanism, PointSpring, Potential, se3
from robosim.control.controllers import GAINS
from robosim.joints import Composite, ExponentialBall, Hinge, Slide, SplineCurve
from robosim.kinematics.kinematics import Kinematics
from robosim.quaternions import from_matrix
from robosim.reduced import forces, joints
from robosim.reduced.constraints import loop_rows
from robosim.reduced.euler import System, moved
from robosim.reduced.forces import Ends
from robosim.reduced.model import Loads, Model
from robosim.reduced.solving import Gradients, Unsolved, constrained
from robosim.reduced.tree import Links, Placed, TreeSolver

H = 1e-6  # of differences, which leaves some 1e-9 of numbers of one
FAR = {"rtol": 1e-7, "atol": 1e-7}


def charted() -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """A branched tree: a plane, a ball by its rotation vector, a spline, a quaternion."""
    rng = np.random.default_rng(3)
    frames = [(x, 0.1 * x * x, 0, *random_quaternion(rng)) for x in range(5)]
    bodies = tuple(random_body(rng, f"b{i}") for i in range(4))
    kinds = (
        {"kind": "composite", "chart": Composite(Slide((1, 0, 0)), Hinge((0, 1, 0)))},
        {"kind": "composite", "chart": ExponentialBall()},
        {"kind": "spline", "chart": SplineCurve(frames)},
        {"kind": "planar_free_orientation"},
    )
    tree = tuple(
        Joint(
            f"j{i}", parent=(None, "b0", "b0", "b2")[i], child=f"b{i}",
            offset=random_quaternion(rng), parent_position=rng.normal(size=3),
            child_position=rng.normal(size=3), **kind,
        )
        for i, kind in enumerate(kinds)
    )  # fmt: skip
    robot = Mechanism("charted", bodies, tree)
    q = random_coordinates(rng, robot)
    q[list(robot.q_names).index("j2")] = 0.7
    return robot, q, rng.normal(size=robot.nv)


STATES = [robot_for_tests(free=True), charted()]


@pytest.mark.parametrize(("robot", "q", "v"), STATES)
def test_jacobians_are_those_of_the_poses(robot: Mechanism, q: np.ndarray, v: np.ndarray) -> None:
    """J and dJ/dt of Algs. 1 and 2: twists and accelerations by differences along a motion."""
    links = Links(robot)
    model = Model(robot, np.zeros(3), np.zeros((len(robot.bodies), 6, 6)), (), (), None)
    placed = Placed(links, q, v)
    sides = [Placed(links, moved(model, q, s * H * v), v) for s in (1, -1)]
    for i, E in enumerate(placed.E):
        plus, minus = (se3.log(se3.inverse(E) @ side.E[i]) for side in sides)
        np.testing.assert_allclose(placed.twists[i], (plus - minus) / (2 * H), **FAR)
    rate = (sides[0].jacobian() - sides[1].jacobian()) / (2 * H)
    np.testing.assert_allclose(placed.jacobian_rate(), rate, **FAR)


@pytest.mark.parametrize(("robot", "q", "v"), STATES)
def test_products_are_those_of_the_matrices(robot: Mechanism, q: np.ndarray, v: np.ndarray) -> None:
    """Algs. 5 and 6, and Alg. 10 with terms of bodies and of joints."""
    rng = np.random.default_rng(1)
    placed = Placed(Links(robot), q, v)
    J, n = placed.jacobian(), len(robot.bodies)
    x, wrenches = rng.normal(size=robot.nv), rng.normal(size=(n, 6))
    np.testing.assert_allclose(placed.times(x).ravel(), J @ x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(placed.twists.ravel(), J @ v, rtol=0, atol=1e-12)
    bias = placed.jacobian_rate() @ v
    np.testing.assert_allclose(placed.bias.ravel(), bias, rtol=0, atol=1e-11)
    back = placed.transposed(wrenches)
    np.testing.assert_allclose(back, J.T @ wrenches.ravel(), rtol=0, atol=1e-12)
    roots = rng.normal(size=(n, 6, 6))
    inertias = placed.links.inertias + 0.1 * roots @ np.swapaxes(roots, 1, 2)
    blocks = [np.diag(rng.uniform(0, 1, own.stop - own.start)) for own in placed.links.v]
    middle, edge = np.zeros((6 * n, 6 * n)), np.zeros((robot.nv, robot.nv))
    for i, M in enumerate(inertias):
        middle[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = M
        edge[placed.links.v[i], placed.links.v[i]] = blocks[i]
    dense = J.T @ middle @ J + edge
    right = rng.normal(size=(robot.nv, 3))
    solve = TreeSolver(placed, inertias, blocks)
    np.testing.assert_allclose(solve(right), np.linalg.solve(dense, right), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(solve(x), np.linalg.solve(dense, x), rtol=1e-9, atol=1e-10)


def test_the_mass_matrix_is_that_of_the_package() -> None:
    """J^T M J against `Kinematics`, which shares nothing with it; and the bias forces."""
    robot, q, v = robot_for_tests(free=True)
    placed, dense = Placed(Links(robot), q, v), Kinematics(robot, q)
    np.testing.assert_allclose(placed.mass_matrix(), dense.mass_matrix(), rtol=0, atol=1e-11)
    gravity = np.array([0.3, -0.4, -9.0])
    acting = forces.coriolis_and_weight(placed.links, placed.E, placed.twists, gravity)
    inert = np.einsum("nij,nj->ni", placed.links.inertias, placed.bias)
    bias = placed.transposed(inert - acting)
    np.testing.assert_allclose(bias, dense.bias_forces(v, gravity), rtol=0, atol=1e-10)


def two_bodies() -> tuple[list[np.ndarray], np.ndarray]:
    """Poses and twists of two bodies in general position."""
    rng = np.random.default_rng(8)
    return [se3.exp(rng.normal(size=6)) for _ in range(2)], rng.normal(size=(2, 6))


WAVY = Potential.sample(lambda x: 0.3 * np.sin(x), 0.0, 8.0)
SPRINGS = [
    {"stiffness": 7.0, "rest_length": 0.0},
    {"stiffness": 7.0, "rest_length": 1.3},
    {"stiffness": 7.0, "rest_length": 0.4, "damping": 2.0},
    {"rest_length": 0.0, "damping": 2.0, "potential": WAVY},
]


@pytest.mark.parametrize("numbers", SPRINGS)
@pytest.mark.parametrize("ends", [(0, 1), (None, 1)])
def test_springs_between_points(
    numbers: dict[str, object], ends: tuple[int | None, int | None]
) -> None:
    """K and D are differences of the wrenches, before any symmetrizing; f that of the energy."""
    E, twists = two_bodies()
    points = np.array((0.3, -0.2, 0.5)), np.array((-0.4, 0.1, 0.2))
    spring = PointSpring("s", "a", "b", **numbers)  # type: ignore[arg-type]

    def wrenches(E: list[np.ndarray], twists: np.ndarray) -> np.ndarray:
        return forces.pull(Ends(ends, points, E, twists), spring)[0]

    _, K, D = forces.pull(Ends(ends, points, E, twists), spring)
    for b, body in enumerate(ends):
        if body is None:
            continue
        for k in range(6):
            step = H * np.eye(6)[k]
            sides = []
            for sign in (1, -1):
                there = list(E)
                there[body] = E[body] @ se3.exp(sign * step)
                sides.append(wrenches(there, twists))
            np.testing.assert_allclose(K[:, 6 * b + k], (sides[0] - sides[1]) / (2 * H), **FAR)
            faster = [twists.copy(), twists.copy()]
            faster[0][body] += step
            faster[1][body] -= step
            slope = (wrenches(E, faster[0]) - wrenches(E, faster[1])) / (2 * H)
            np.testing.assert_allclose(D[:, 6 * b + k], -slope, **FAR)
            if not spring.damping:
                lengths = []
                for sign in (1, -1):
                    there = list(E)
                    there[body] = E[body] @ se3.exp(sign * step)
                    across = Ends(ends, points, there, twists).across
                    lengths.append(forces.spring_energy(spring, float(np.linalg.norm(across))))
                power = -(lengths[0] - lengths[1]) / (2 * H)
                assert wrenches(E, twists)[6 * b + k] == pytest.approx(power, abs=1e-7)


def test_a_point_force() -> None:
    """(1.33), before it is symmetrized, and the force from the energy (1.32)."""
    (E, _), _ = two_bodies()
    x, along = np.array((0.3, -0.2, 0.5)), np.array((1.0, 2.0, -0.5))
    f, K = forces.point_force(E, x, along)
    for k in range(6):
        sides = [E @ se3.exp(s * H * np.eye(6)[k]) for s in (1, -1)]
        plus, minus = (forces.point_force(side, x, along)[0] for side in sides)
        np.testing.assert_allclose(K[:, k], (plus - minus) / (2 * H), **FAR)
        energies = [-along @ (side[:3, :3] @ x + side[:3, 3]) for side in sides]
        assert f[k] == pytest.approx(-(energies[0] - energies[1]) / (2 * H), abs=1e-7)


def test_forces_of_joints() -> None:
    """Springs of translations and of a free rotation, unlike about each axis, and a potential."""
    ball = Joint("j", "planar_free_orientation", None, "b", stiffness=(3, 1, 2, 5, 0.5))
    q = np.array((0.2, -0.1, *random_quaternion(np.random.default_rng(4))))
    hinge = Joint("h", "revolute", None, "b", stiffness=2.0, rest=0.3, potential=WAVY)
    for joint, at in ((ball, q), (hinge, np.array([0.9]))):
        f, K = forces.joint_forces(joint, at)
        for k in range(joint.nv):
            sides = [joints.advanced(joint, at, s * H * np.eye(joint.nv)[k]) for s in (1, -1)]
            plus, minus = (forces.joint_forces(joint, side)[0] for side in sides)
            np.testing.assert_allclose(K[:, k], (plus - minus) / (2 * H), rtol=1e-5, atol=1e-6)
            energies = [forces.joint_energy(joint, side) for side in sides]
            assert f[k] == pytest.approx(-(energies[0] - energies[1]) / (2 * H), abs=1e-7)


@pytest.mark.parametrize("kind", ["fixed", "revolute", "spherical", "prismatic", "cylindrical"])
def test_rows_of_loops(kind: str) -> None:
    """G is the rate of g where a loop is closed, and its bias what accelerates g beside G."""
    rng = np.random.default_rng(6)
    robot, q, v = robot_for_tests(free=True)
    places = Placed(Links(robot), q, v)
    poses = {
        body.name: (E[:3, 3], from_matrix(E[:3, :3]))
        for body, E in zip(robot.bodies, places.E, strict=True)
    }
    joint = closing_joint(rng, "loop", kind, (robot.bodies[1].name, robot.bodies[4].name), poses)
    model = Model(robot, np.zeros(3), np.zeros((len(robot.bodies), 6, 6)), (), (), None)

    def rows(t: float):  # type: ignore[no-untyped-def]
        there = Placed(model.links, moved(model, q, t * v), v)
        return loop_rows(robot, joint, there.E, there.twists), there

    found, _ = rows(0.0)
    np.testing.assert_allclose(found.g, 0.0, atol=1e-12)
    (after, one), (before, other) = rows(H), rows(-H)
    rate = found.G @ places.twists.ravel()
    np.testing.assert_allclose(rate, (after.g - before.g) / (2 * H), **FAR)
    assert np.linalg.matrix_rank(found.G) == joint.n_constraints
    # Of a motion that keeps the loop open at a rate, G u changes by bias, and by accelerations.
    closing = [a.G @ there.twists.ravel() for a, there in ((after, one), (before, other))]
    accelerations = (one.twists - other.twists).ravel() / (2 * H)
    expected = (closing[0] - closing[1]) / (2 * H) - found.G @ accelerations
    np.testing.assert_allclose(found.bias, expected, rtol=1e-5, atol=1e-5)


def test_conjugate_gradients_take_one_iteration_where_the_preconditioner_is_exact() -> None:
    """As Alg. 10 is without springs that cross the tree; with one it takes more, and is right."""
    robot, q, v = robot_for_tests(free=True)
    none = Loads(np.zeros(robot.nv), np.zeros(0, dtype=GAINS), np.zeros((len(robot.bodies), 6)))
    held = PointSpring("held", None, "b3", stiffness=50.0, damping=3.0)
    across = PointSpring("across", "b1", "b4", stiffness=50.0, damping=3.0)
    right = np.random.default_rng(2).normal(size=robot.nv)
    for springs, exact in (((held,), True), ((held, across), False)):
        drags = np.tile(0.5 * np.eye(6), (len(robot.bodies), 1, 1))
        model = Model(replace(robot, springs=springs), np.zeros(3), drags, (), (), None)
        placed = Placed(model.links, q, v)
        bodies = model.body_forces(placed.E, placed.twists, none)
        system = System(model, placed, bodies, model.joint_forces(q, v, none), 1e-2)
        assert bool(system.crossing) is not exact
        gradients = Gradients(system.times, system.tree)
        expected = np.linalg.solve(system.matrix(), right)
        np.testing.assert_allclose(gradients(right), expected, rtol=0, atol=1e-10)
        assert gradients.iterations == 1 if exact else 1 < gradients.iterations < 12
        np.testing.assert_allclose(system.solver(right), expected, rtol=0, atol=1e-10)


def test_gradients_refuse_what_is_not_positive() -> None:
    with pytest.raises(Unsolved, match="indefinite"):
        Gradients(lambda x: np.diag([1.0, -1.0]) @ x, lambda x: x)(np.array([0.1, 1.0]))


def test_constraints_and_inequalities() -> None:
    """Redundant rows and limits, by the conditions of the best answer."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, root = 6, rng.normal(size=(6, 6))
        A, f = root @ root.T + np.eye(n), rng.normal(size=n)
        G = rng.normal(size=(2, n))
        G = np.vstack((G, G[0] + G[1]))
        b = G @ rng.normal(size=n)
        C, d = rng.normal(size=(3, n)), rng.normal(size=3)
        x, found = constrained(lambda y, A=A: np.linalg.solve(A, y), f, G, b, C, d)
        np.testing.assert_allclose(A @ x + np.vstack((G, C)).T @ found, f, atol=1e-9)
        np.testing.assert_allclose(G @ x, b, atol=1e-9)
        assert (C @ x >= d - 1e-9).all()
        assert (found[3:] <= 1e-9).all()
        np.testing.assert_allclose(found[3:] * (C @ x - d), 0.0, atol=1e-8)


def test_rotation_vectors_are_exchanged() -> None:
    """Beyond 3/2 pi for a shorter one, at the same pose and twist."""
    joint = Joint("j", "composite", None, "b", chart=Composite(Slide(), ExponentialBall()))
    q = np.array((0.3, *(5.0 * np.array((2, -1, 2)) / 3)))
    v = np.array((0.1, 1.0, 2.0, -0.5))
    other, rate = joints.exchanged(joint, q, v)
    assert np.linalg.norm(other[1:]) == pytest.approx(2 * np.pi - 5.0)
    assert np.linalg.norm(other[1:] - q[1:]) > 1.0
    one, two = joints.motion(joint, q, v), joints.motion(joint, other, rate)
    np.testing.assert_allclose(one.Q, two.Q, atol=1e-12)
    np.testing.assert_allclose(one.S @ v, two.S @ rate, atol=1e-12)
    near = np.array((0.3, 1.0, 2.0, 3.0))
    assert joints.exchanged(joint, near, v)[0] is near


def test_carriers_have_no_mass() -> None:
    """What stands between the joints of several axes is without inertia here, too."""
    light = Body("between", 1.0, np.eye(3), carrier=True)
    robot = Mechanism(
        "two",
        (light, Body("b", 1.0, np.eye(3))),
        (Joint("x", "revolute", None, "between"), Joint("y", "revolute", "between", "b")),
    )
    assert not Links(robot).inertias[0].any()
