"""`Dynamics` against the dense `Kinematics`, on all kinds of joints; its rows and its errors."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest
from dependent_mechanisms import bar
from random_mechanisms import random_coordinates, random_joint, random_tree

import robosim
from robosim import (
    Body,
    Dynamics,
    Joint,
    Mechanism,
    ModelError,
    Simulation,
    StateError,
    Tendon,
)
from robosim.dynamics import Kinematics
from robosim.joints import KINDS
from robosim.tendons import Point, Term

GRAVITY = (0.7, -1.1, -9.0)


def rotors(rng, robot):
    """With a rotor on each coordinate."""
    joints = [replace(joint, armature=rng.uniform(0, 0.1, size=joint.nv)) for joint in robot.joints]
    return replace(robot, joints=tuple(joints))


def with_tendons(robot):
    """Tendons with inertia: a curved one along coordinates, and one from point to point."""
    first = next(joint for joint in robot.tree_joints if joint.nv == 1)
    last = robot.bodies[-1].name
    terms = Tendon("terms", (Term(first.name, 0.5, (0.3, 0.0, 0.0)),), armature=0.7)
    path = Tendon("path", (Point(None, (1, 1, 3)), Point(last, (0.1, 0.2, 0.0))), armature=0.4)
    return replace(robot, tendons=(terms, path))


def carrying(robot, index):
    """With one body a carrier."""
    bodies = list(robot.bodies)
    bodies[index] = replace(bodies[index], carrier=True)
    return replace(robot, bodies=tuple(bodies))


def every_kind(kind, seed=0):
    """Four bodies, of which the middle ones hang on joints of a kind."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 4, base="floating", kinds=("revolute", "spherical"))
    kinds = (robot.joints[0].kind, kind, kind, robot.joints[3].kind)
    joints = [
        random_joint(rng, joint.name, one, joint.parent, joint.child)
        for one, joint in zip(kinds, robot.joints, strict=True)
    ]
    return rotors(rng, replace(robot, joints=tuple(joints), home=None))


def universal():
    """Two hinges with a carrier between them, below a ball on the world."""
    rng = np.random.default_rng(3)
    kinds = ("spherical", "revolute", "revolute")
    robot = random_tree(rng, 3, base="spherical", kinds=("revolute",))
    joints = [
        random_joint(rng, f"j{k}", kind, None if k == 0 else f"b{k - 1}", f"b{k}")
        for k, kind in enumerate(kinds)
    ]
    return carrying(replace(robot, joints=tuple(joints), home=None), 1)


ROBOTS = {
    **{kind: lambda kind=kind: every_kind(kind) for kind in KINDS if kind != "fixed"},
    "fixed": lambda: every_kind("fixed", 1),
    "universal": universal,
    "tree": lambda: rotors(np.random.default_rng(5), random_tree(np.random.default_rng(5), 12)),
    "on the world": lambda: random_tree(np.random.default_rng(6), 8, base="planar"),
    "tendons": lambda: with_tendons(random_tree(np.random.default_rng(2), 6)),
    "a1": lambda: robosim.load("a1"),
}


@pytest.fixture(scope="module", params=ROBOTS, ids=str)
def case(request):
    """(robot, its dynamics, dense kinematics at q, q, v, a)."""
    robot = ROBOTS[request.param]()
    rng = np.random.default_rng(11)
    q = random_coordinates(rng, robot)
    v, a = rng.normal(size=(2, robot.nv))
    return robot, Dynamics(robot, GRAVITY), Kinematics(robot, q), q, v, a


def close(measured, expected, tolerance=1e-11):
    """Equal, in parts of the largest entry."""
    scale = max(float(np.abs(expected).max(initial=0.0)), 1e-3)
    np.testing.assert_allclose(measured, expected, rtol=0, atol=tolerance * scale)


def across_joints(robot, dense, v, a):
    """What acts on each body and all beyond it, (nb, 6), about its joint's point on it."""
    accelerations = dense.jacobian() @ a + dense.bias_accelerations(v)
    masses = np.array([0.0 if body.carrier else body.mass for body in robot.bodies])
    own = np.array([0.0 if body.carrier else 1.0 for body in robot.bodies])
    inertias, omega = own[:, None, None] * dense.inertias(), dense.twists(v)[:, 3:]
    forces = masses[:, None] * (accelerations[:, :3] - GRAVITY)
    moments = np.einsum("bij,bj->bi", inertias, accelerations[:, 3:])
    moments += np.cross(omega, np.einsum("bij,bj->bi", inertias, omega))
    names = [body.name for body in robot.bodies]
    out = np.zeros((len(names), 6))
    for b in range(len(names)):
        at = b
        while True:
            joint = robot.tree_joints[at]
            point = dense.x[at] + dense.R[at] @ np.asarray(joint.child_position)
            out[at, :3] += forces[b]
            out[at, 3:] += moments[b] + np.cross(dense.x[b] - point, forces[b])
            if joint.parent is None:
                break
            at = names.index(joint.parent)
    return out


class TestAgainstTheDenseOne:
    def test_mass_matrix(self, case):
        _, dynamics, dense, q, _, _ = case
        M = dynamics.mass_matrix(q)
        close(M, dense.mass_matrix())
        close(M, M.T, 1e-15)

    def test_forces_and_accelerations(self, case):
        _, dynamics, dense, q, v, a = case
        M, bias = dense.mass_matrix(), dense.bias_forces(v, GRAVITY)
        close(dynamics.bias_forces(q, v), bias)
        close(dynamics.inverse_dynamics(q, v, a, passive=False), M @ a + bias)
        tau = M @ a + bias
        close(dynamics.forward_acceleration(q, v, tau, passive=False), a, 1e-9)
        close(dynamics.solve_mass(q, M @ a), a, 1e-9)
        close(dynamics.gravity(q), dense.bias_forces(np.zeros_like(v), GRAVITY))

    def test_jacobians_and_centre_of_mass(self, case):
        _, dynamics, dense, q, v, _ = case
        close(dynamics.jacobian(q), dense.jacobian())
        close(dynamics.jacobian_rate(q, v) @ v, dense.bias_accelerations(v))
        close(dynamics.center_of_mass(q), dense.center_of_mass())

    def test_momentum_about_the_centre_of_mass(self, case):
        robot, dynamics, dense, q, v, _ = case
        momentum, matrix = dynamics.centroidal(q, v)
        masses = np.array([0.0 if body.carrier else body.mass for body in robot.bodies])
        inertias = np.array([0.0 if body.carrier else 1.0 for body in robot.bodies])
        twists, arms = dense.twists(v), dense.x - dense.center_of_mass()
        linear = masses[:, None] * twists[:, :3]
        spins = np.einsum("bij,bj->bi", dense.inertias() * inertias[:, None, None], twists[:, 3:])
        expected = np.concatenate((linear.sum(0), (spins + np.cross(arms, linear)).sum(0)))
        close(momentum, expected)
        close(matrix @ v, expected)

    def test_frames(self, case):
        robot, dynamics, dense, q, v, a = case
        for _, frame in list(robot.frames())[::3]:
            x, R = dynamics.frame(q, frame.name)
            close(x, dense.frame(frame.name)[0])
            close(R, dense.frame(frame.name)[1])
            J = dense.frame_jacobian(frame.name)
            close(dynamics.frame_jacobian(q, frame.name), J)
            close(dynamics.frame_velocity(q, v, frame.name), J @ v)
            expected = J @ a + dense.frame_bias_acceleration(frame.name, v)
            close(dynamics.frame_acceleration(q, v, a, frame.name), expected)

    def test_jacobian_rate_is_the_slope_of_the_jacobian(self, case):
        _, dynamics, _, q, v, _ = case
        ends = [dynamics.jacobian(dynamics.integrate(q, h * v)) for h in (1e-6, -1e-6)]
        close(dynamics.jacobian_rate(q, v), (ends[0] - ends[1]) / 2e-6, 1e-7)

    def test_wrenches_act_by_their_jacobians(self, case):
        robot, dynamics, dense, q, v, a = case
        y, z = np.random.default_rng(4).normal(size=(2, 6))
        body = len(robot.bodies) - 1
        frames = [f.name for _, f in robot.frames() if f.name not in {b.name for b in robot.bodies}]
        expected, wrenches = dense.jacobian()[body].T @ y, {robot.bodies[body].name: y}
        if frames:
            expected = expected + dense.frame_jacobian(frames[-1]).T @ z
            wrenches[frames[-1]] = z
        close(dynamics.transposed(q, wrenches), expected)
        free = dynamics.inverse_dynamics(q, v, a)
        close(dynamics.inverse_dynamics(q, v, a, wrenches), free - expected)
        pushed = dynamics.forward_acceleration(q, v, free - expected, wrenches)
        close(pushed, a, 1e-9)

    def test_integrate_and_difference(self, case):
        robot, dynamics, _, q, v, _ = case
        dv = 0.3 * v
        moved = dynamics.integrate(q, dv)
        close(dynamics.difference(q, moved), dv)
        close(dynamics.integrate(moved, -dv), q)
        close(dynamics.difference(q, q), np.zeros(robot.nv))

    @pytest.mark.parametrize("passive", [True, False])
    def test_derivatives_are_slopes(self, case, passive):
        """Central differences along the tangent; by a they are the mass matrix."""
        robot, dynamics, _, q, v, a = case
        by_q, by_v, M = dynamics.inverse_dynamics_derivatives(q, v, a, passive=passive)
        close(M, dynamics.mass_matrix(q))
        h, units = 1e-5, np.eye(robot.nv)

        def slope(f):
            return np.stack([(f(h * unit) - f(-h * unit)) / (2 * h) for unit in units], axis=-1)

        def forces(q, v):
            return dynamics.inverse_dynamics(q, v, a, passive=passive)

        close(by_q, slope(lambda d: forces(dynamics.integrate(q, d), v)), 1e-7)
        close(by_v, slope(lambda d: forces(q, v + d)), 1e-8)
        tau = forces(q, v)

        def accelerations(q, v, tau):
            return dynamics.forward_acceleration(q, v, tau, passive=passive)

        by_q, by_v, by_tau = dynamics.forward_derivatives(q, v, tau, passive=passive)
        close(by_q, slope(lambda d: accelerations(dynamics.integrate(q, d), v, tau)), 1e-6)
        close(by_v, slope(lambda d: accelerations(q, v + d, tau)), 1e-6)
        close(by_tau, np.linalg.inv(M), 1e-9)

    def test_hybrid_dynamics(self, case):
        """Every other joint has its acceleration given, the others their forces."""
        robot, dynamics, dense, q, v, a = case
        M, bias = dense.mass_matrix(), dense.bias_forces(v, GRAVITY)
        held, given = np.zeros(robot.nv, dtype=bool), {}
        for joint, begin in list(zip(robot.tree_joints, robot.v_offsets, strict=False))[::2]:
            if joint.nv > 0:
                held[begin : begin + joint.nv] = True
                given[joint.name] = a[begin : begin + joint.nv]
        tau = np.where(held, 7.0, M @ a + bias)  # what is held does not count
        found, forces, crossing = dynamics.hybrid_dynamics(q, v, tau, given, passive=False)
        np.testing.assert_array_equal(found[held], a[held])
        np.testing.assert_array_equal(forces[~held], tau[~held])
        close(found, a, 1e-9)
        close(forces, M @ a + bias, 1e-9)
        again = dynamics.forward_acceleration(q, v, forces, passive=False)
        close(again, found, 1e-9)
        close(crossing, across_joints(robot, dense, v, found), 1e-9)

    def test_rows_are_the_single_ones_to_the_bit(self, case):
        robot, dynamics, _, q, v, _ = case
        rng = np.random.default_rng(9)
        Q = np.stack([q, dynamics.integrate(q, 0.1 * v), dynamics.integrate(q, v)])
        V, A = rng.normal(size=(2, 3, robot.nv))
        name = robot.bodies[-1].name
        W = rng.normal(size=(3, 6))
        calls = {
            "inverse": lambda q, v, a, w: dynamics.inverse_dynamics(q, v, a, {name: w}),
            "forward": lambda q, v, a, w: dynamics.forward_acceleration(q, v, a, {name: w}),
            "alone": lambda q, v, a, w: dynamics.inverse_dynamics(q, v, a),
            "moved": lambda q, v, a, w: dynamics.forward_acceleration(q, v, a),
            "slopes": lambda q, v, a, w: dynamics.forward_derivatives(q, v, a)[0],
            "mass": lambda q, v, a, w: dynamics.mass_matrix(q),
            "solve": lambda q, v, a, w: dynamics.solve_mass(q, a),
            "energy": lambda q, v, a, w: dynamics.energy(q, v),
            "centroidal": lambda q, v, a, w: dynamics.centroidal(q, v)[1],
            "jacobian": lambda q, v, a, w: dynamics.jacobian(q),
            "rate": lambda q, v, a, w: dynamics.jacobian_rate(q, v),
            "integrate": lambda q, v, a, w: dynamics.integrate(q, v),
            "frame": lambda q, v, a, w: dynamics.frame_acceleration(q, v, a, name),
            "transposed": lambda q, v, a, w: dynamics.transposed(q, {name: w}),
        }
        for told, call in calls.items():
            many = call(Q, V, A, W)
            assert len(many) == 3
            for i in range(3):
                np.testing.assert_array_equal(many[i], call(Q[i], V[i], A[i], W[i]), told)


def test_random_poses_are_within_limits():
    rng = np.random.default_rng(2)
    joints = (
        Joint("a", "revolute", None, "a", lower=[-0.2], upper=[0.1]),
        Joint("b", "prismatic", "a", "b", lower=[3.0]),
        Joint("c", "spherical", "b", "c", cone=0.4),
        Joint("d", "spherical", "c", "d", largest_turn=0.3),
        Joint("e", "floating", "d", "e"),
        Joint("f", "spherical", "e", "f", cone=0.5, largest_turn=0.7),
    )
    bodies = tuple(Body(joint.child, 1.0, np.eye(3)) for joint in joints)
    dynamics = Dynamics(Mechanism("limits", bodies, joints))
    poses = np.array([dynamics.random(rng) for _ in range(200)])
    assert np.all((poses[:, 0] >= -0.2) & (poses[:, 0] <= 0.1))
    assert np.all((poses[:, 1] >= 3.0) & np.isfinite(poses[:, 1]))
    for begin, cone, most in ((2, 0.4, np.pi), (6, np.pi, 0.3), (17, 0.5, 0.7)):
        r = poses[:, begin : begin + 4]
        np.testing.assert_allclose(np.linalg.norm(r, axis=1), 1, rtol=1e-12)
        tilts = np.arccos(np.clip(1 - 2 * (r[:, 1] ** 2 + r[:, 2] ** 2), -1, 1))
        turns = 2 * np.arccos(np.clip(np.abs(r[:, 0]), 0, 1))
        assert tilts.max() <= cone + 1e-9
        assert turns.max() <= most + 1e-9
        assert tilts.max() > 0.5 * min(cone, most)
    assert np.ptp(poses[:, 10:13]) > 1
    np.testing.assert_array_equal(dynamics.random(3), dynamics.random(3))


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-5, 1.0, 3.1, np.pi])
def test_turns_of_all_sizes_come_back(angle):
    robot = Mechanism("ball", (Body("b", 1.0, np.eye(3)),), (Joint("j", "spherical", None, "b"),))
    dynamics = Dynamics(robot)
    way = np.array([2.0, -1.0, 2.0]) / 3
    q = np.array([0.5, -0.5, 0.5, 0.5])
    back = dynamics.difference(q, dynamics.integrate(q, angle * way))
    if angle == np.pi:
        back = back * np.sign(back[0])
    np.testing.assert_allclose(back, angle * way, rtol=1e-12, atol=1e-15)
    # The other sign of a quaternion is the same pose, and its length does not matter.
    np.testing.assert_allclose(dynamics.difference(q, -3 * q), 0, atol=1e-15)


class TestArguments:
    def test_one_row_goes_with_many(self, a1):
        dynamics = Dynamics(a1)
        q, v = np.array(a1.home), np.random.default_rng(1).normal(size=(4, a1.nv))
        many = dynamics.inverse_dynamics(q, v, np.zeros(a1.nv))
        assert many.shape == (4, a1.nv)
        one = dynamics.inverse_dynamics(q, v[2], np.zeros(a1.nv))
        np.testing.assert_array_equal(many[2], one)
        wrench = np.random.default_rng(1).normal(size=(4, 6))
        assert dynamics.transposed(q, {"FL_foot": wrench}).shape == (4, a1.nv)
        assert dynamics.mass_matrix(q[None]).shape == (1, a1.nv, a1.nv)

    def test_any_numbers_are_taken(self, a1):
        """Lists, whole numbers, other floats, read-only and strided memory."""
        dynamics = Dynamics(a1)
        q, v = np.array(a1.home), np.arange(a1.nv)
        expected = dynamics.bias_forces(q, v.astype(float))
        strided = np.zeros((2, 2 * a1.nv))[:, ::2]
        strided[:] = v
        for same in (v, list(v), v.astype(np.float32), strided[0]):
            np.testing.assert_array_equal(dynamics.bias_forces(a1.home, same), expected)
        np.testing.assert_array_equal(dynamics.bias_forces(q, strided)[1], expected)

    def test_results_are_new(self, a1):
        dynamics = Dynamics(a1)
        first = dynamics.gravity(a1.home)
        kept = first.copy()
        dynamics.bias_forces(a1.home, np.ones(a1.nv))
        np.testing.assert_array_equal(first, kept)

    def test_threads_do_not_disturb_each_other(self, a1):
        dynamics, n = Dynamics(a1), 300
        rng = np.random.default_rng(1)
        q = np.array([dynamics.random(rng) for _ in range(n)])
        v = rng.normal(size=(n, a1.nv))
        expected, wrong = dynamics.bias_forces(q, v), []

        def work(k):
            wrong.extend(
                not np.array_equal(dynamics.bias_forces(q[k:], v[k:]), expected[k:])
                for _ in range(20)
            )

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(wrong) == 80
        assert not any(wrong)

    @pytest.mark.parametrize(
        ("call", "told"),
        [
            (lambda d, q, v: d.bias_forces(q[:-1], v), r"q must have shape \(19,\) or \(n, 19\)"),
            (lambda d, q, v: d.bias_forces(q, v[None, None]), r"v must have shape \(18,\)"),
            (lambda d, q, v: d.bias_forces(np.stack([q] * 2), np.stack([v] * 3)), "3 rows.*2"),
            (lambda d, q, v: d.bias_forces(q[None][:0], v), "q has no rows"),
            (lambda d, q, v: d.bias_forces(q, [None] * 18), "v must be finite|v must be numbers"),
            (lambda d, q, v: d.bias_forces("q", v), "q must be numbers"),
            (lambda d, q, v: d.integrate(q, v * np.inf), "dv must be finite"),
            (lambda d, q, v: d.solve_mass(q, np.r_[v[:-1], np.nan]), "x must be finite; .*calf"),
            (lambda d, q, v: d.mass_matrix(q * np.r_[np.ones(3), np.zeros(4), np.ones(12)]),
             "q has a quaternion of length zero"),
            (lambda d, q, v: d.transposed(q, {"FL_foot": np.zeros(5)}), "'FL_foot' must have"),
            (lambda d, q, v: d.transposed(q, {"FL_foot": np.full(6, np.nan)}), "must be finite"),
            (lambda d, q, v: Dynamics(d.robot, (0, 0)), "gravity must be three finite"),
        ],
    )  # fmt: skip
    def test_what_is_no_state(self, a1, call, told):
        with pytest.raises(StateError, match=told):
            call(Dynamics(a1), np.array(a1.home), np.ones(a1.nv))

    def test_a_row_that_is_no_state_is_named(self, a1):
        v = np.zeros((3, a1.nv))
        v[1, 7] = np.nan
        with pytest.raises(StateError, match=rf"'{a1.v_names[7]}' is nan in row 1"):
            Dynamics(a1).bias_forces(a1.home, v)

    def test_given_accelerations_are_checked(self, a1):
        dynamics, q, v = Dynamics(a1), np.array(a1.home), np.zeros(a1.nv)
        for given, error, told in (
            ({"nose": 1.0}, ModelError, "no joint 'nose' in its tree"),
            ({"FL_hip_joint": [1.0, 2.0]}, StateError, r"of joint 'FL_hip_joint' must have shape"),
            ({"FL_hip_joint": np.nan}, StateError, "of joint 'FL_hip_joint' must be finite"),
        ):
            with pytest.raises(error, match=told):
                dynamics.hybrid_dynamics(q, v, v, given)

    def test_rows_of_given_accelerations(self, a1):
        dynamics, q, v = Dynamics(a1), np.array(a1.home), np.ones(a1.nv)
        given = np.array([[1.0], [2.0], [3.0]])
        many = dynamics.hybrid_dynamics(q, v, 2 * v, {"FL_hip_joint": given})
        one = dynamics.hybrid_dynamics(q, v, 2 * v, {"FL_hip_joint": 3.0})
        assert [part.shape for part in many] == [(3, a1.nv), (3, a1.nv), (3, len(a1.bodies), 6)]
        for part, row in zip(many, one, strict=True):
            np.testing.assert_array_equal(part[2], row)

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
    def test_copies_have_memory_of_their_own(self, a1, copied):
        dynamics, q = Dynamics(a1, GRAVITY), np.array(a1.home)
        expected = dynamics.gravity(q)
        other = copied(dynamics)
        del dynamics
        gc.collect()
        np.testing.assert_array_equal(other.gravity(q), expected)

    def test_of_a_simulation(self, a1):
        sim = Simulation(a1, gravity=GRAVITY)
        assert sim.dynamics is sim.dynamics
        close(sim.dynamics.gravity(sim.q), sim.kinematics().bias_forces(sim.v, GRAVITY))
        assert sim.copy().dynamics.robot is sim.robot
        np.testing.assert_array_equal(
            copy.deepcopy(sim).dynamics.gravity(sim.q), sim.dynamics.gravity(sim.q)
        )

    def test_a_robot_without_velocities(self):
        robot = Mechanism(
            "post", (Body("post", 1.0, np.eye(3)),), (Joint("f", "fixed", None, "post"),)
        )
        dynamics = Dynamics(robot)
        assert dynamics.mass_matrix([]).shape == (0, 0)
        assert dynamics.inverse_dynamics([], [], []).shape == (0,)
        assert dynamics.gravity(np.zeros((4, 0))).shape == (4, 0)

    def test_unknown_names(self, a1):
        dynamics = Dynamics(a1)
        with pytest.raises(ModelError, match=r"no frame 'nose' \(nearest of \d+: "):
            dynamics.frame(a1.home, "nose")
        with pytest.raises(ModelError, match=r"no body or frame 'nose' \(nearest of \d+: "):
            dynamics.transposed(a1.home, {"nose": np.zeros(6)})


def test_what_moves_nothing_is_named():
    bodies = (Body("a", 1.0, np.eye(3)), Body("b", 1.0, np.eye(3), carrier=True))
    joints = (Joint("upper", "revolute", None, "a"), Joint("lower", "revolute", "a", "b"))
    robot = Mechanism("idle", bodies, joints)
    for call in (
        lambda d: d.forward_acceleration(np.zeros(2), np.zeros(2), np.ones(2)),
        lambda d: d.solve_mass(np.zeros(2), np.ones(2)),
    ):
        with pytest.raises(ModelError, match=r"coordinate 'lower'.*no inverse"):
            call(Dynamics(robot))
    turning = replace(joints[1], armature=0.5)
    dynamics = Dynamics(replace(robot, joints=(joints[0], turning)))
    np.testing.assert_allclose(dynamics.solve_mass(np.zeros(2), np.ones(2)), [1, 2], rtol=1e-12)


def test_hinges_in_line_with_nothing_between_them_have_no_inverse():
    """Two axes of a carrier's joints fall together: either of them does what the other one does."""
    bodies = (Body("a", 1.0, np.eye(3), carrier=True), Body("b", 1.0, np.diag((1.0, 2.0, 2.5))))
    joints = (
        Joint("first", "revolute", None, "a", axis=(0, 0, 1)),
        Joint("second", "revolute", "a", "b", axis=(0, 0, 1)),
    )
    with pytest.raises(ModelError, match="coordinate 'first'"):
        Dynamics(Mechanism("line", bodies, joints)).solve_mass([0.3, 0.4], [1.0, 1.0])


def test_a_robot_of_carriers_has_no_centre():
    robot = carrying(bar(), 0)
    robot = carrying(robot, 1)
    for call in (Dynamics.center_of_mass, lambda d, q: d.centroidal(q, q)):
        with pytest.raises(ModelError, match="has no mass"):
            call(Dynamics(robot), np.zeros(2))
