"""Accelerations and forces under constraints: dense equations, the simulation, closed forms."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from closed_mechanisms import MOTORS, cassie, closed
from dependent_mechanisms import DEPENDENT, bar
from random_mechanisms import random_coordinates, random_tree

import robosim
from robosim import (
    Body,
    ContactPoint,
    Coupling,
    Dynamics,
    Joint,
    Mechanism,
    ModelError,
    Potential,
    Simulation,
    StateError,
    Tendon,
)
from robosim.dynamics import Kinematics
from robosim.dynamics.constraints import Constraints
from robosim.dynamics.lengths import Lengths
from robosim.joints import KINDS
from robosim.kinematics.recursion import Recursion
from robosim.models import builders
from robosim.quaternions import from_matrix
from robosim.tendons import Term

GRAVITY = (0.7, -1.1, -9.0)
G = 9.81


def looped(kind):
    """Two loops in a floating tree, one of a kind, one of a ball."""
    rng = np.random.default_rng(7)
    tree = random_tree(rng, 6, kinds=("spherical", "revolute"))
    q = random_coordinates(rng, tree)
    return closed(rng, tree, q, [(kind, "b0", "b5"), ("spherical", "b2", "b4")]), q


def at_home(build):
    robot = build()
    return robot, np.array(robot.home)


ROBOTS = {
    **{kind: lambda kind=kind: looped(kind) for kind in KINDS if kind != "floating"},
    "four-bar": lambda: at_home(builders.rhombus),
    "two planar loops": lambda: at_home(builders.double_four_bar),
    "minitaur": lambda: at_home(builders.minitaur),
    "cassie": cassie,
}


def rows_of(robot, q, v, **asked):
    return Constraints(Recursion(robot, GRAVITY), Lengths(robot), **asked).rows(q, v)


def allowed(robot, q, rng, **asked):
    """Velocities that the constraints allow, and the rows there."""
    J = rows_of(robot, q, np.zeros(robot.nv), **asked).jacobian
    _, S, V = np.linalg.svd(J)
    free = V[np.sum(S > 1e-8) :]
    v = free.T @ (free @ rng.normal(size=robot.nv))
    return v, rows_of(robot, q, v, **asked)


def dense(robot, q, v, tau, rows):
    """a and the least lambda of M a - J^T lambda = tau - b, J a = c - J' v [Sueda, Eq. 2.100]."""
    kinematics, m = Kinematics(robot, q), len(rows.value)
    M, b, J = kinematics.mass_matrix(), kinematics.bias_forces(v, GRAVITY), rows.jacobian
    matrix = np.block([[M, -J.T], [J, np.zeros((m, m))]])
    right = np.concatenate((tau - b, rows.acceleration - rows.bias))
    a = np.linalg.lstsq(matrix, right, rcond=1e-10)[0][: robot.nv]
    return a, np.linalg.lstsq(J.T, M @ a + b - tau, rcond=1e-10)[0]


def close(measured, expected, tolerance=1e-10):
    """Equal, in parts of the largest entry."""
    scale = max(float(np.abs(expected).max(initial=0.0)), 1e-3)
    np.testing.assert_allclose(measured, expected, rtol=0, atol=tolerance * scale)


@pytest.fixture(scope="module", params=ROBOTS, ids=str)
def case(request):
    """(robot, its dynamics, q, v, rows)."""
    robot, q = ROBOTS[request.param]()
    v, rows = allowed(robot, q, np.random.default_rng(1))
    return robot, Dynamics(robot, GRAVITY), q, v, rows


class TestAgainstDenseEquations:
    def test_accelerations(self, case):
        robot, dynamics, q, v, rows = case
        tau = np.random.default_rng(2).normal(size=robot.nv)
        a, multipliers = dynamics.constrained_acceleration(q, v, tau, passive=False)
        expected, least = dense(robot, q, v, tau, rows)
        close(a, expected)
        close(multipliers.rows, least, 1e-9)
        np.testing.assert_allclose(rows.jacobian @ a, -rows.bias, atol=1e-12 * np.abs(a).max())

    def test_wrenches_of_joints_are_their_part_of_the_forces(self, case):
        """On the child at the joint's point, and against it on the parent."""
        robot, dynamics, q, v, rows = case
        tau, forces = np.zeros(robot.nv), rows.jacobian.T
        _, multipliers = dynamics.constrained_acceleration(q, v, tau)
        dense, found = Kinematics(robot, q), np.zeros(robot.nv)
        for joint in robot.loop_joints:
            wrench = multipliers.joint_wrenches[joint.name]
            child = robot.body_index(joint.child)
            arm = dense.R[child] @ joint.child_position
            ends = [(child, 1.0)]
            if joint.parent is not None:
                ends.append((robot.body_index(joint.parent), -1.0))
            for end, sign in ends:
                lever = dense.x[child] + arm - dense.x[end]
                moment = wrench[3:] + np.cross(lever, wrench[:3])
                found += sign * np.concatenate((wrench[:3], moment)) @ dense.jacobian()[end]
        close(found, forces @ multipliers.rows)

    def test_forces_give_the_accelerations_that_they_are_for(self, case):
        """The least of all forces that do, however much they cost."""
        robot, dynamics, q, v, rows = case
        rng = np.random.default_rng(3)
        a, _ = dynamics.constrained_acceleration(q, v, rng.normal(size=robot.nv))
        weights = dict(zip(robot.v_names, rng.uniform(0.5, 2, size=robot.nv), strict=True))
        tau, multipliers = dynamics.constrained_inverse_dynamics(
            q, v, a, actuated=robot.v_names, weights=weights
        )
        again, reactions = dynamics.constrained_acceleration(q, v, tau)
        close(again, a, 1e-8)
        close(reactions.rows, multipliers.rows, 1e-7)
        # Least: its gradient is across all that constraints leave free.
        _, S, V = np.linalg.svd(rows.jacobian)
        held = V[: np.sum(S > 1e-8)]
        slopes = held @ (np.array(list(weights.values())) * tau)
        np.testing.assert_allclose(slopes, 0, atol=1e-10 * np.abs(tau).max())


def test_motors_that_are_needed_are_found_again():
    """Of a Cassie in the air, whose springs and base do what they do."""
    robot, q = cassie()
    dynamics, rng = Dynamics(robot, GRAVITY), np.random.default_rng(4)
    v, _ = allowed(robot, q, rng)
    assert robot.nu == 2 * len(MOTORS)
    tau = np.zeros(robot.nv)
    tau[robot.actuated] = rng.normal(size=robot.nu)
    a, forward = dynamics.constrained_acceleration(q, v, tau)
    found, inverse = dynamics.constrained_inverse_dynamics(q, v, a)
    close(found, tau, 1e-8)
    close(inverse.rows, forward.rows, 1e-8)
    sprung = dynamics.constrained_acceleration(q, v, tau, passive=False)[0]
    assert np.abs(sprung - a).max() > 1


def test_rows_of_states_and_wrenches():
    robot, q = at_home(builders.minitaur)
    dynamics, rng = Dynamics(robot), np.random.default_rng(5)
    v = np.array([allowed(robot, q, rng)[0] for _ in range(3)])
    push = {robot.bodies[0].name: rng.normal(size=(3, 6))}
    tau = np.zeros(robot.nv)
    a, multipliers = dynamics.constrained_acceleration(q, v, tau, push)
    forces, shares = dynamics.constrained_inverse_dynamics(q, v, a, push)
    assert a.shape == forces.shape == (3, robot.nv)
    np.testing.assert_allclose(forces, 0, atol=1e-9)
    for k in range(3):
        one = {name: wrench[k] for name, wrench in push.items()}
        alone, single = dynamics.constrained_acceleration(q, v[k], tau, one)
        np.testing.assert_array_equal(a[k], alone)
        for name, wrench in single.joint_wrenches.items():
            np.testing.assert_array_equal(multipliers.joint_wrenches[name][k], wrench)
            close(shares.joint_wrenches[name][k], wrench, 1e-8)


class TestAgainstTheSimulation:
    def test_second_differences_of_its_coordinates(self):
        """Of order two: a quarter of the difference for half of the timestep."""
        robot = builders.rhombus()
        dynamics, errors = Dynamics(robot), []
        for dt in (4e-3, 2e-3):
            sim = Simulation(robot, dt)
            sim.set_state(robot.home, [1.0, 0.0, 1.0, 0.0][: robot.nv])
            sim.run(0.1)
            places = [sim.q]
            for _ in range(2):
                sim.step()
                places.append(sim.q)
                if len(places) == 2:
                    v = sim.v
            a, _ = dynamics.constrained_acceleration(places[1], v, np.zeros(robot.nv))
            measured = (places[2] - 2 * places[1] + places[0]) / dt**2
            errors.append(np.abs(measured - a).max() / np.abs(a).max())
        assert errors[1] < 1e-4
        assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)

    def test_accelerations_of_its_bodies_and_forces_of_its_joints(self):
        """Which lag behind by a part of the timestep."""
        robot, errors = builders.rhombus(), []
        for dt in (2e-3, 1e-3):
            sim = Simulation(robot, dt)
            sim.run(0.2)
            still = np.zeros(robot.nv)
            a, multipliers = sim.dynamics.constrained_acceleration(sim.q, sim.v, still)
            kinematics = sim.kinematics()
            expected = kinematics.jacobian() @ a + kinematics.bias_accelerations(sim.v)
            off = np.abs(sim.accelerations() - expected).max() / np.abs(expected).max()
            # Across the plane, shares of redundant constraints differ.
            measured, force = (
                one["loop1"][[0, 2]] for one in (sim.joint_wrenches(), multipliers.joint_wrenches)
            )
            errors.append((off, np.abs(measured - force).max() / np.abs(force).max()))
        first, second = np.array(errors)
        assert first.max() < 0.02
        np.testing.assert_allclose(first / second, 2, rtol=0.1)


def wheels(**parts):
    """Two wheels on parallel axes, of 2 and 3 kg m^2."""
    bodies = Body("a", 1.0, 2 * np.eye(3)), Body("b", 1.0, 3 * np.eye(3))
    joints = tuple(Joint(f"j{n}", "revolute", None, n) for n in "ab")
    return Mechanism("wheels", bodies, joints, **parts)


def arm(**parts):
    """A point of 2 kg, 0.5 m along x from a hinge about -y: its weight pulls the angle down."""
    joint = Joint("j", "revolute", None, "b", (0, -1, 0), (0, 0, 0), (-0.5, 0, 0), **parts)
    return Mechanism("arm", (Body("b", 2.0, 1e-9 * np.eye(3)),), (joint,))


class TestClosedForms:
    def test_a_gear(self):
        """With a = r a_source: (I + r^2 I') a = tau + r tau'."""
        robot = wheels(couplings=(Coupling("g", "jb", "ja", -1.5),))
        dynamics = Dynamics(robot)
        a, multipliers = dynamics.constrained_acceleration([0, 0], [2, -3], [7.0, 1.0])
        first = (7 - 1.5) / (2 + 1.5**2 * 3)
        close(a, (first, -1.5 * first), 1e-13)
        assert multipliers.coupling_forces["g"] == pytest.approx(3 * a[1] - 1)
        tau, _ = dynamics.constrained_inverse_dynamics([0, 0], [2, -3], a, actuated=["ja"])
        close(tau, (7 - 1.5, 0), 1e-13)

    def test_redundant_motors_share_by_their_weights(self):
        """Least w u^2 + w' u'^2 with u + u' given: in inverse proportion to the weights."""
        robot = wheels(couplings=(Coupling("g", "jb", "ja"),))
        state = [0, 0], [0, 0], [1, 1]
        for weights, share in ((None, (2.5, 2.5)), ({"ja": 4.0}, (1.0, 4.0))):
            tau, _ = Dynamics(robot).constrained_inverse_dynamics(*state, weights=weights)
            close(tau, share, 1e-13)

    def test_a_tendon_of_one_length(self):
        """The wheels turn against each other; the tendon pulls at both."""
        length = {"lower": 0.0, "upper": 0.0}
        robot = wheels(tendons=(Tendon("t", (Term("ja"), Term("jb")), **length),))
        a, multipliers = Dynamics(robot).constrained_acceleration([1, -1], [0, 0], [10.0, 0.0])
        close(a, (2, -2), 1e-13)
        assert multipliers.drive_forces == {"t": pytest.approx(-6)}

    def test_a_motion(self):
        """Its drive gives inertia and weight, beside tau and the spring."""
        robot = arm(motion=lambda t: np.sin(3 * t), stiffness=5.0)
        dynamics, time = Dynamics(robot), 0.2
        q, v = [np.sin(0.6)], [3 * np.cos(0.6)]
        a, multipliers = dynamics.constrained_acceleration(q, v, [1.0], time=time)
        close(a, -9 * np.sin(0.6), 1e-9)
        weight = 2 * G * 0.5 * np.cos(q[0])
        needed = 2 * 0.25 * a[0] + weight + 5 * q[0] - 1
        assert multipliers.drive_forces["j"] == pytest.approx(needed, rel=1e-8)
        found, shares = dynamics.constrained_inverse_dynamics(q, v, [0.7], actuated=["j"])
        assert found == pytest.approx(0, abs=1e-12)
        assert shares.drive_forces["j"] == pytest.approx(0.35 + weight + 5 * q[0], rel=1e-8)

    def test_given_accelerations_take_the_place_of_a_motion(self):
        given = {"j": [[2.0], [3.0]]}
        a, multipliers = Dynamics(arm(motion=np.sin)).constrained_acceleration(
            [0.5], [0], [0], accelerations=given
        )
        np.testing.assert_allclose(a, given["j"], rtol=1e-14)
        weight = G * np.cos(0.5)
        close(multipliers.drive_forces["j"], (1 + weight, 1.5 + weight), 1e-8)

    def test_given_accelerations_are_those_of_hybrid_dynamics(self):
        rng = np.random.default_rng(8)
        robot = random_tree(rng, 5)
        dynamics, (v, tau) = Dynamics(robot), rng.normal(size=(2, robot.nv))
        q = random_coordinates(rng, robot)
        given = {robot.joints[0].name: rng.normal(size=6)}
        expected, forces, _ = dynamics.hybrid_dynamics(q, v, 0 * tau, given)
        a, multipliers = dynamics.constrained_acceleration(q, v, 0 * tau, accelerations=given)
        close(a, expected)
        close(multipliers.drive_forces[robot.joints[0].name], forces[:6])

    def test_a_crank_moves_all_of_a_four_bar(self):
        """What constraints allow, for the inverse dynamics, from a single joint."""
        robot, q = at_home(builders.rhombus)
        dynamics, crank = Dynamics(robot), robot.v_names[0]
        mirrored = robot.v_names[[*robot.v_names].index("joint1c")]
        given = {crank: 2.0, mirrored: -2.0}
        v, tau = np.zeros(robot.nv), np.zeros(robot.nv)
        a, _ = dynamics.constrained_acceleration(q, v, tau, accelerations=given)
        motors = [crank, mirrored]
        tau, _ = dynamics.constrained_inverse_dynamics(q, v, a, actuated=motors)
        close(dynamics.constrained_acceleration(q, v, tau)[0], a, 1e-9)
        assert set(np.flatnonzero(tau)) <= {robot.v_names.index(name) for name in motors}

    def test_a_ball_rolls_on_the_ground(self):
        """A solid sphere: 5/7 of the acceleration without friction, which has 2/7 of the push."""
        inertia = 0.4 * 3.0 * 0.2**2 * np.eye(3)
        point = ContactPoint("foot", "ball", (0, 0, 0), 0.2)
        joint = Joint("base", "floating", None, "ball")
        robot = Mechanism("ball", (Body("ball", 3.0, inertia),), (joint,), (point,))
        q, v = [0, 0, 0.2, 1, 0, 0, 0], [1.0, 0, 0, 0, 5.0, 0]
        a, multipliers = Dynamics(robot).constrained_acceleration(
            q, v, np.zeros(6), {"ball": [7.0, 0, 0, 0, 0, 0]}, contacts=["foot"]
        )
        close(a, (5 / 3, 0, 0, 0, 5 / 3 / 0.2, 0), 1e-12)
        close(multipliers.contact_forces["foot"], (-2, 0, 3 * G), 1e-12)

    @pytest.mark.parametrize("name", ["a1", "minitaur"])
    def test_a_quadruped_stands_on_its_feet(self, name):
        """All motors and twelve contact forces, for six equations of the base, and loops."""
        robot = robosim.load(name)
        dynamics, q, still = Dynamics(robot), np.array(robot.home), np.zeros(robot.nv)
        feet = [point.name for point in robot.contacts if "_foot" in point.name]
        assert len(feet) == 4
        tau, multipliers = dynamics.constrained_inverse_dynamics(q, still, still, contacts=feet)
        np.testing.assert_array_equal(np.delete(tau, robot.actuated), 0)
        forces = np.array(list(multipliers.contact_forces.values()))
        close(forces.sum(axis=0), (0, 0, G * robot.total_mass), 1e-9)
        # The same forces on the feet, as wrenches from outside, leave the rest to the motors.
        points = {point.name: point for point in robot.contacts}
        wrenches, dense = {}, Kinematics(robot, q)
        for foot, force in multipliers.contact_forces.items():
            body = robot.body_index(points[foot].body)
            arm = dense.R[body] @ points[foot].position - (0, 0, points[foot].radius)
            wrenches[points[foot].body] = np.concatenate((force, np.cross(arm, force)))
        alone, _ = dynamics.constrained_inverse_dynamics(q, still, still, wrenches)
        close(alone, tau, 1e-8)
        a, _ = dynamics.constrained_acceleration(q, still, tau, contacts=feet)
        np.testing.assert_allclose(a, 0, atol=1e-10)

    def test_springs_of_a_joint_that_closes_a_loop(self):
        """Of a hinge over a hinge: stiffness, rest, damping and potential are those of the tree."""
        laws = {"stiffness": [5.0], "rest": [0.3], "damping": [0.7],
                "potential": Potential.sample(lambda x: x**3, -1, 1)}  # fmt: skip
        plain = arm()
        over = replace(plain.joints[0], name="over")
        loop = replace(plain, joints=(plain.joints[0], replace(over, **laws)))
        a, _ = Dynamics(loop).constrained_acceleration([0.5], [2.0], [1.0])
        close(a, Dynamics(arm(**laws)).forward_acceleration([0.5], [2.0], [1.0]), 1e-8)

    def test_potentials_of_a_chart_that_closes_a_loop(self):
        """Of a universal joint over a ball: as its springs of the same slopes."""
        place = {"child_position": (0.1, 0, 0.3)}
        ball = Joint("ball", "spherical", None, "a", **place)
        bodies = (Body("a", 1.0, 0.1 * np.eye(3)),)

        def accelerations(**laws):
            over = Joint("over", "universal", None, "a", **place, actuated=False, **laws)
            q = from_matrix(over.rotation((0.3, -0.4)))
            dynamics = Dynamics(Mechanism("gimbal", bodies, (ball, over)))
            return dynamics.constrained_acceleration(q, np.zeros(3), np.zeros(3))[0]

        wells = tuple(Potential.sample(lambda x, k=k: k * x**2, -4, 4) for k in (0.2, 0.5))
        sprung = accelerations(stiffness=(0.4, 1.0))
        close(accelerations(potential=wells), sprung, 1e-8)
        assert np.abs(sprung - accelerations()).max() > 0.1

    def test_a_motor_of_a_joint_that_closes_a_loop(self):
        plain = arm(actuated=False)
        over = replace(plain.joints[0], name="over", actuated=True, axis=(0, 1, 0))
        robot = replace(plain, joints=(plain.joints[0], over))
        assert robot.actuated_names == ("over",)
        tau, _ = Dynamics(robot).constrained_inverse_dynamics([0.5], [0], [2.0])
        close(tau, 2 * 0.25 * 2 + G * np.cos(0.5), 1e-8)

    def test_a_carrier_that_is_driven_needs_no_inertia(self):
        """Which the tree's mass matrix does, and what is free to move."""
        bodies = Body("a", 2.0, np.eye(3)), Body("b", 1.0, np.eye(3), carrier=True)
        joints = Joint("ja", "revolute", None, "a"), Joint("jb", "revolute", "a", "b")
        robot = Mechanism("carrier", bodies, joints)
        dynamics, state = Dynamics(robot), ([0, 0], [0, 0], [3.0, 0.0])
        a, multipliers = dynamics.constrained_acceleration(*state, accelerations={"jb": 5.0})
        close(a, (3, 5), 1e-12)
        assert multipliers.drive_forces["jb"] == pytest.approx(0, abs=1e-12)
        with pytest.raises(ModelError, match=r"coordinate 'jb'.*no inverse"):
            dynamics.constrained_acceleration(*state)


def test_a_state_that_is_nearly_closed():
    """Rows that depend on each other differ there; the answer is as near as the state."""
    robot, q = at_home(builders.minitaur)
    twice = [replace(joint, name=f"{joint.name} twice") for joint in robot.loop_joints]
    robot = replace(robot, joints=(*robot.joints, *twice))
    dynamics, rng = Dynamics(robot), np.random.default_rng(6)
    v, _ = allowed(robot, q, rng)
    tau, off = np.zeros(robot.nv), rng.normal(size=robot.nv)
    expected, _ = dynamics.constrained_acceleration(q, v, tau)
    for size in (1e-8, 1e-6, 1e-5):
        a, _ = dynamics.constrained_acceleration(dynamics.integrate(q, size * off), v, tau)
        close(a, expected, 100 * size)


def test_stabilization_pulls_a_state_back():
    """A gear that is off by g, and its rate by g': g'' = -2 w g' - w^2 g; without, g'' = 0."""
    dynamics = Dynamics(wheels(couplings=(Coupling("g", "jb", "ja"),)))
    for w in (0.0, 10.0):
        a, _ = dynamics.constrained_acceleration([0, 1e-4], [0, 0.3], [0, 0], stabilization=w)
        assert a[1] - a[0] == pytest.approx(-2 * w * 0.3 - w * w * 1e-4, abs=1e-12)


class TestRefusals:
    @pytest.mark.parametrize(("robot", "named"), DEPENDENT)
    def test_what_holds_for_a_tree_alone(self, robot, named):
        dynamics, x = Dynamics(robot), np.zeros(2)
        for call in (
            lambda d: d.inverse_dynamics(x, x, x),
            lambda d: d.forward_acceleration(x, x, x),
            lambda d: d.hybrid_dynamics(x, x, x, {"a": 1.0}),
            lambda d: d.gravity(x),
            lambda d: d.inverse_dynamics_derivatives(x, x, x),
            lambda d: d.forward_derivatives(x, x, x),
        ):
            told = rf"(?s){named}.*constrained_acceleration.*tree=True"
            with pytest.raises(ModelError, match=told):
                call(dynamics)
            call(Dynamics(robot, tree=True))
        a = Dynamics(robot, tree=True).forward_acceleration(x, x, np.ones(2))
        np.testing.assert_allclose(a, 1, rtol=1e-12)
        # Terms of the equations, and places.
        np.testing.assert_allclose(dynamics.mass_matrix(x), np.eye(2), rtol=1e-12)
        np.testing.assert_allclose(dynamics.solve_mass(x, [1, 2]), [1, 2], rtol=1e-12)
        np.testing.assert_allclose(dynamics.bias_forces(x, x), 0, atol=1e-12)
        assert dynamics.jacobian(x).shape == (2, 6, 2)

    @pytest.mark.parametrize(
        ("call", "error", "told"),
        [
            (lambda d, q, v: d.constrained_acceleration(q, v, v, limits=["nose"]),
             ModelError, "nothing named 'nose' has a limit"),
            (lambda d, q, v: d.constrained_acceleration(q, v, v, contacts=["nose"]),
             ModelError, "no contact point or frame 'nose'"),
            (lambda d, q, v: d.constrained_acceleration(q, v, v, accelerations={"nose": 1}),
             ModelError, "no joint 'nose' in its tree"),
            (lambda d, q, v: d.constrained_acceleration(q, v, v * np.nan),
             StateError, "tau must be finite; 'joint1a' is nan"),
            (lambda d, q, v: d.constrained_acceleration(q, v[1:], v), StateError, "v must have"),
            (lambda d, q, v: d.constrained_acceleration(q, np.stack([v] * 2), np.stack([v] * 3)),
             StateError, "tau has 3 rows, and other arguments have 2"),
            (lambda d, q, v: d.constrained_acceleration(
                q, np.stack([v] * 2), v, accelerations={"joint1a": np.ones((3, 1))}),
             StateError, "accelerations has 3 rows, and other arguments have 2"),
            (lambda d, q, v: d.constrained_acceleration(q, v, v, time=np.nan),
             StateError, "time must be a finite number, not nan"),
            (lambda d, q, v: d.constrained_acceleration(q, v, v, stabilization=-1),
             StateError, "stabilization must not be negative, not -1"),
            (lambda d, q, v: d.constrained_acceleration(q + 0.1 * (q == q[0]), v, v),
             StateError, r"joint 'loop1' is violated by 0\.1"),
            (lambda d, q, v: d.constrained_inverse_dynamics(q, v, v + 1, actuated=["joint1a"]),
             StateError, "a violates joint 'loop1' by"),
            (lambda d, q, v: d.constrained_inverse_dynamics(q, v, v, actuated=["joint1a"]),
             StateError, "coordinate 'joint1.' lacks"),
            (lambda d, q, v: d.constrained_inverse_dynamics(q, v, v), StateError, "lacks"),
            (lambda d, q, v: d.constrained_inverse_dynamics(q, v, v, actuated=["nose"]),
             ModelError, "no actuated coordinate 'nose' .known: joint1a"),
            (lambda d, q, v: d.constrained_inverse_dynamics(
                q, v, v, actuated=["joint1a"], weights={"joint1b": 1.0}),
             ModelError, r"no actuated coordinate 'joint1b' \(known: joint1a\)"),
            (lambda d, q, v: d.constrained_inverse_dynamics(
                q, v, v, actuated=["joint1a"], weights={"joint1a": 0}),
             StateError, "the weight of 'joint1a' must be positive, not 0"),
        ],
    )  # fmt: skip
    def test_wrong_arguments(self, call, error, told):
        robot, q = at_home(builders.rhombus)
        with pytest.raises(error, match=told):
            call(Dynamics(robot), q, np.zeros(robot.nv))

    def test_constraints_that_contradict_each_other(self):
        """A gear, and motions that would break it."""
        robot = wheels(couplings=(Coupling("g", "jb", "ja"),))
        with pytest.raises(StateError, match=r"contradict each other: .* would still"):
            Dynamics(robot).constrained_acceleration(
                [0, 0], [0, 0], [0, 0], accelerations={"ja": 1.0, "jb": 2.0}
            )

    def test_a_motion_at_another_time(self):
        with pytest.raises(StateError, match=r"drive 'j' is violated by 0\.5 .*time"):
            Dynamics(arm(motion=np.sin)).constrained_acceleration([0.5], [1], [0])

    def test_a_limit_that_is_not_closed(self):
        with pytest.raises(StateError, match=r"limit 'j' is violated by 0\.4 "):
            Dynamics(arm(lower=[0.1])).constrained_acceleration([0.5], [1], [0], limits=["j"])

    def test_laws_that_are_not_there(self):
        rotor = bar(joints=(Joint("pin", "spherical", "a", "b", armature=0.1),))
        spring = bar(joints=(Joint("pin", "spherical", "a", "b", stiffness=0.1),))
        x = np.zeros(2)
        with pytest.raises(ModelError, match="'pin': closes a loop and has an armature"):
            Dynamics(rotor).constrained_acceleration(x, x, x)
        with pytest.raises(ModelError, match=r"'pin': .*free rotation.*passive=False"):
            Dynamics(spring).constrained_acceleration(x, x, x)
        Dynamics(spring).constrained_acceleration(x, x, x, passive=False)


def test_a_tree_has_no_multipliers(a1):
    dynamics, rng = Dynamics(a1), np.random.default_rng(9)
    q, v, tau = np.array(a1.home), rng.normal(size=a1.nv), rng.normal(size=a1.nv)
    a, multipliers = dynamics.constrained_acceleration(q, v, tau)
    close(a, dynamics.forward_acceleration(q, v, tau))
    assert multipliers.rows.shape == (0,)
    assert multipliers.names == ()


def test_copies_and_simulations_have_it():
    robot = builders.rhombus()
    dynamics, q, x = Dynamics(robot, GRAVITY), np.array(robot.home), np.zeros(robot.nv)
    expected, _ = dynamics.constrained_acceleration(q, x, x)
    np.testing.assert_array_equal(copy.deepcopy(dynamics).constrained_acceleration(q, x, x)[0],
                                  expected)  # fmt: skip
    assert isinstance(robosim.dynamics.Multipliers, type)
