"""Limits and contacts that push and never pull, against all sets of them by themselves."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from random_mechanisms import random_coordinates, random_tree

import robosim
from robosim import Body, ContactPoint, Dynamics, Joint, Mechanism, Simulation, StateError, Tendon
from robosim.dynamics import Kinematics
from robosim.dynamics.constraints import Constraints
from robosim.dynamics.lengths import Lengths
from robosim.dynamics.one_sided import least_distance
from robosim.kinematics.recursion import Recursion
from robosim.models import builders
from robosim.tendons import Term

GRAVITY = (0.0, 0.0, -9.81)
G = 9.81


def close(measured, expected, tolerance=1e-9):
    """Equal, in parts of the largest entry."""
    scale = max(float(np.abs(expected).max(initial=0.0)), 1e-3)
    np.testing.assert_allclose(measured, expected, rtol=0, atol=tolerance * scale)


def sets(n):
    """All sets of n things, as masks."""
    return [np.array(one, dtype=bool) for one in product((True, False), repeat=n)]


class TestLeastDistance:
    @pytest.mark.parametrize("seed", range(20))
    def test_against_all_active_sets(self, seed):
        """Rows that depend on each other, of sizes from 1e-3 to 1e3, among them one of zeros."""
        rng = np.random.default_rng(seed)
        G = rng.normal(size=(5, 3)) @ np.diag((1.0, 1.0, seed % 2))
        G[4] = G[0] + G[1]
        h = G @ rng.normal(size=3) - rng.uniform(0, 1, size=5)
        scales = 10 ** rng.uniform(-3, 3, size=5)
        G, h = np.vstack((G * scales[:, None], np.zeros(3))), np.append(h * scales, -1.0)
        x, multipliers = least_distance(G, h)
        candidates = [np.linalg.pinv(G[one]) @ h[one] for one in sets(6)]
        size = 1e-9 * (1 + np.abs(G) @ np.ones(3))
        kept = [y for y in candidates if np.all(G @ y >= h - size)]
        assert np.linalg.norm(x) == pytest.approx(min(map(np.linalg.norm, kept)), abs=1e-10)
        assert np.all(G @ x >= h - size)
        assert multipliers.min() >= 0
        np.testing.assert_allclose(G.T @ multipliers, x, atol=1e-10)
        np.testing.assert_allclose(multipliers * (G @ x - h), 0, atol=1e-9)

    def test_what_is_not_possible(self):
        G = np.array([[1.0, 0.0], [-1.0, 0.0]])
        assert least_distance(G, np.array([1.0, 1.0])) is None
        assert least_distance(np.zeros((1, 2)), np.array([1.0])) is None
        x, _ = least_distance(G, np.array([1.0, -1.0]))
        np.testing.assert_allclose(x, (1, 0), atol=1e-12)


def rows_of(robot, q, v, limits=(), contacts=()):
    return Constraints(Recursion(robot, GRAVITY), Lengths(robot), limits, contacts).rows(q, v)


def allowed(robot, q, rng, **asked):
    """Velocities at which nothing that is closed opens or closes further."""
    J = rows_of(robot, q, np.zeros(robot.nv), **asked).jacobian
    _, S, V = np.linalg.svd(J)
    free = V[np.sum(S > 1e-8) :]
    return free.T @ (free @ rng.normal(size=robot.nv))


def of_all_sets(robot, q, v, tau, rows, groups, sliding=False):
    """Accelerations of all sets of groups of rows that push, with the others opening.

    Groups are rows that are held or let go together, of which the last is one-sided. `sliding`:
    or are held by that row alone.
    """
    at = Kinematics(robot, q)
    M, b, found = at.mass_matrix(), at.bias_forces(v, GRAVITY), []
    target = rows.acceleration - rows.bias
    for modes in product((0, 1, 2) if sliding else (0, 2), repeat=len(groups)):
        kept = np.ones(len(target), dtype=bool)
        for group, mode in zip(groups, modes, strict=True):
            kept[group[:-1]], kept[group[-1]] = mode == 2, mode > 0
        J, m = rows.jacobian[kept], int(kept.sum())
        matrix = np.block([[M, -J.T], [J, np.zeros((m, m))]])
        right = np.concatenate((tau - b, target[kept]))
        solution = np.linalg.lstsq(matrix, right, rcond=1e-11)[0]
        if np.abs(matrix @ solution - right).max() > 1e-8 * np.abs(right).max():
            continue
        a, forces = solution[: robot.nv], np.zeros(len(target))
        forces[kept] = solution[robot.nv :]
        ends = np.array([group[-1] for group in groups])
        sides = rows.sides[ends]
        opening = sides * (rows.jacobian @ a - target)[ends]
        if np.all(sides * forces[ends] >= -1e-8) and np.all(opening >= -1e-8):
            found.append(a)
    return found


def check_multipliers(robot, q, v, tau, a, multipliers, rows):
    """What is left of Newton's equations is the multipliers' part, on their sides."""
    at = Kinematics(robot, q)
    left = at.mass_matrix() @ a + at.bias_forces(v, GRAVITY) - tau
    size = 1e-9 * (1 + np.abs(left).max())
    np.testing.assert_allclose(rows.jacobian.T @ multipliers.rows, left, atol=size)
    opening = rows.jacobian @ a + rows.bias - rows.acceleration
    largest = np.abs(multipliers.rows).max(initial=1.0)
    assert np.all(rows.sides * multipliers.rows >= -1e-7 * largest)
    assert np.all(rows.sides * opening >= -1e-8 * (1 + np.abs(opening).max()))
    one = rows.sides != 0
    np.testing.assert_allclose((multipliers.rows * opening)[one] / largest, 0, atol=1e-7)


def at_limits(seed):
    """A tree at limits of its hinges and slides and of a tendon, lower and upper ones in turn."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 6, base="floating", kinds=("revolute", "prismatic", "spherical"))
    q = random_coordinates(rng, tree)
    joints, names, terms = [], [], []
    for j, joint in enumerate(tree.joints):
        if joint.nv == 1:
            value, names = float(q[tree.q_offsets[j]]), [*names, joint.name]
            side = "lower" if len(names) % 2 else "upper"
            joint = replace(joint, **{side: [value]})
            terms.append((Term(joint.name, 0.5 + len(terms)), value))
        joints.append(joint)
    length = sum(term.factor * value for term, value in terms)
    tendon = Tendon("rope", tuple(term for term, _ in terms), upper=length)
    return replace(tree, joints=tuple(joints), tendons=(tendon,)), q, (*names, "rope")


@pytest.mark.parametrize("seed", range(8))
def test_limits_of_a_tree(seed):
    """The tendon's limit depends on those of its joints."""
    robot, q, names = at_limits(seed)
    rng, dynamics = np.random.default_rng(seed), Dynamics(robot, GRAVITY)
    v = allowed(robot, q, rng, limits=names)
    rows = rows_of(robot, q, v, limits=names)
    for _ in range(3):
        tau = 20 * rng.normal(size=robot.nv)
        a, multipliers = dynamics.constrained_acceleration(q, v, tau, limits=names)
        found = of_all_sets(robot, q, v, tau, rows, [[k] for k in range(len(names))])
        assert found
        for one in found:
            close(a, one, 1e-8)
        check_multipliers(robot, q, v, tau, a, multipliers, rows)


@pytest.mark.parametrize(("lower", "upper"), [(0.4, np.inf), (-np.inf, 0.4)])
@pytest.mark.parametrize("tau", [3.0, 12.0])
def test_a_pendulum_at_its_limit(lower, upper, tau):
    """A point of 2 kg, 0.5 m from its hinge: weight and torque push at one bound, or leave it."""
    joint = Joint("j", "revolute", None, "b", (0, -1, 0), (0, 0, 0), (-0.5, 0, 0), lower=[lower],
                  upper=[upper])  # fmt: skip
    robot = Mechanism("arm", (Body("b", 2.0, 1e-9 * np.eye(3)),), (joint,))
    a, multipliers = Dynamics(robot).constrained_acceleration([0.4], [0], [tau], limits="j")
    left = tau - G * np.cos(0.4)
    pushed = left < 0 if np.isfinite(lower) else left > 0
    close(a, 0.0 if pushed else left / 0.5, 1e-7)
    assert multipliers.limit_forces["j"] == pytest.approx(-left if pushed else 0.0, abs=1e-7)


@pytest.mark.parametrize("torque", [2.0, -2.0])
def test_a_limit_of_a_closed_loop(torque):
    """Of a four-bar's crank, and of the same angle as its neighbour has it."""
    robot = builders.rhombus()
    q, v = np.array(robot.home), np.zeros(robot.nv)
    names = robot.v_names[0], robot.v_names[2]
    joints = [
        replace(joint, lower=[q[robot.q_offsets[j]]]) if joint.name in names else joint
        for j, joint in enumerate(robot.joints)
    ]
    robot = replace(robot, joints=tuple(joints))
    dynamics, tau = Dynamics(robot, GRAVITY), np.zeros(robot.nv)
    tau[0] = 10 * torque
    a, multipliers = dynamics.constrained_acceleration(q, v, tau, limits=names)
    rows = rows_of(robot, q, v, limits=names)
    n = len(rows.value)
    found = of_all_sets(robot, q, v, tau, rows, [[n - 2], [n - 1]])
    assert found
    close(a, found[0])
    check_multipliers(robot, q, v, tau, a, multipliers, rows)


def box(**parts):
    """A box of 3 kg with a contact point at each lower corner."""
    size = np.array((0.2, 0.15, 0.1))
    points = tuple(
        ContactPoint(f"{x:+}{y:+}", "box", size * (x, y, -1)) for x in (1, -1) for y in (1, -1)
    )
    body = Body("box", 3.0, np.diag((0.02, 0.03, 0.04)))
    joint = Joint("base", "floating", None, "box")
    return Mechanism("box", (body,), (joint,), tuple(replace(p, **parts) for p in points))


class TestBoxOnItsCorners:
    @pytest.mark.parametrize("seed", range(12))
    def test_against_all_sets_of_corners(self, seed):
        """What holds pushes, what does not lifts; at rest, as it lifts, tips and falls."""
        robot, rng = box(), np.random.default_rng(seed)
        dynamics, names = Dynamics(robot, GRAVITY), [point.name for point in robot.contacts]
        q, v = np.array((0, 0, 0.1, 1, 0, 0, 0)), np.zeros(6)
        tau = rng.normal(size=6) * (15, 15, 30, 3, 3, 3)
        a, multipliers = dynamics.constrained_acceleration(q, v, tau, contacts=names)
        rows = rows_of(robot, q, v, contacts=names)
        groups = [list(range(3 * k, 3 * k + 3)) for k in range(4)]
        found = of_all_sets(robot, q, v, tau, rows, groups)
        if seed == 4:
            # Held, a corner would lift; let go, it would sink: it slides.
            assert not found
            found = of_all_sets(robot, q, v, tau, rows, groups, sliding=True)
        assert min(np.abs(a - one).max() for one in found) < 1e-8 * (1 + np.abs(a).max())
        normal = np.array([multipliers.contact_forces[name][2] for name in names])
        assert normal.min() >= -1e-9
        lifted = (rows.jacobian @ a)[2::3] > 1e-7
        for name, open_ in zip(names, lifted, strict=True):
            if open_:
                np.testing.assert_array_equal(multipliers.contact_forces[name], 0)

    def test_corners_share_the_weight(self):
        """Alike, as the least forces do; with a moment, as far as none of them pulls."""
        dynamics, q, still = Dynamics(box()), (0, 0, 0.1, 1, 0, 0, 0), np.zeros(6)
        names = [point.name for point in dynamics.robot.contacts]
        _, multipliers = dynamics.constrained_acceleration(q, still, still, contacts=names)
        forces = np.array(list(multipliers.contact_forces.values()))
        close(forces, np.tile((0, 0, 3 * G / 4), (4, 1)), 1e-8)
        # Nearly at tipping over a corner: least shares would have another one pull.
        moments = 3 * G * np.array((0.9 * 0.15, -0.9 * 0.2)) / 2
        push = np.array((0, 0, 0, *moments, 0))
        a, multipliers = dynamics.constrained_acceleration(q, still, push, contacts=names)
        np.testing.assert_allclose(a, 0, atol=1e-9)
        normal = np.array([force[2] for force in multipliers.contact_forces.values()])
        assert normal.min() >= 0
        assert normal.sum() == pytest.approx(3 * G)

    @pytest.mark.parametrize("push", [(0, 0, 10, 0, 0, 0), (0, 0, 0, 0, 9, 0), (0, 0, 45, 0, 0, 0)])
    def test_against_a_step_of_the_simulation(self, push):
        """Resting, tipping over an edge, and lifted off."""
        robot = box(friction=10.0)
        q, names = np.array((0, 0, 0.1, 1, 0, 0, 0)), [p.name for p in robot.contacts]
        wrench, found = {"box": push}, []
        for dt in (2e-4, 1e-4):
            sim = Simulation(robot, dt)
            sim.set_state(q, np.zeros(6))
            sim.apply_wrench("box", push[:3], push[3:])
            sim.step()
            found.append(sim.v / dt)
        a, _ = Dynamics(robot).constrained_acceleration(
            q, np.zeros(6), np.zeros(6), wrench, contacts=names
        )
        np.testing.assert_allclose(2 * found[1] - found[0], a, atol=2e-3 * (1 + np.abs(a).max()))


@pytest.mark.parametrize("lift", [-20.0, 100.0])
def test_a_frame_pushes_as_a_contact_and_pulls_as_a_grasp(lift):
    dynamics, still = Dynamics(box()), np.zeros(6)
    q, up = (0, 0, 0.1, 1, 0, 0, 0), np.array((0, 0, lift, 0, 0, 0))
    needed = 3 * G - lift
    a, multipliers = dynamics.constrained_acceleration(q, still, up, contacts="box")
    np.testing.assert_allclose(a, [0, 0, max(-needed / 3, 0), 0, 0, 0], atol=1e-9)
    assert multipliers.contact_forces["box"][2] == pytest.approx(max(needed, 0), abs=1e-9)
    a, multipliers = dynamics.constrained_acceleration(q, still, up, grasps="box")
    np.testing.assert_allclose(a, 0, atol=1e-9)
    assert multipliers.contact_forces["box"][2] == pytest.approx(needed)


def test_limits_that_contradict_a_motion():
    joint = Joint("j", "revolute", None, "b", upper=[0.0], motion=lambda t: t * t)
    dynamics = Dynamics(Mechanism("arm", (Body("b", 1.0, np.eye(3)),), (joint,)))
    with pytest.raises(StateError, match="contradict each other: limit 'j' cannot all be kept"):
        dynamics.constrained_acceleration([0], [0], [0], limits="j")


class TestLeastForces:
    def feet(self):
        robot = robosim.load("a1")
        return robot, [point.name for point in robot.contacts if "_foot" in point.name]

    def test_three_feet_that_carry_only_if_one_pulls_are_refused(self):
        """Also if they are named by the frames of their links, as robots with shapes have them."""
        robot, feet = self.feet()
        dynamics, q, still = Dynamics(robot), np.array(robot.home), np.zeros(robot.nv)
        frames = ["FR_foot", "FL_foot", "RR_foot"]
        points = [foot for foot in feet if not foot.startswith("RL")]
        for three in (points, frames):
            with pytest.raises(StateError, match="limits or contacts would have to pull"):
                dynamics.constrained_inverse_dynamics(q, still, still, contacts=three)
        _, multipliers = dynamics.constrained_inverse_dynamics(q, still, still, grasps=frames)
        assert multipliers.contact_forces["FR_foot"][2] < -1

    @pytest.mark.parametrize("push", [(0, 0, 60, 8, 8, 0), (0, 0, 90, 4.5, 6, 0)])
    def test_feet_do_not_pull(self, push):
        """The least torques of all sets of feet that carry."""
        robot, feet = self.feet()
        dynamics, q, still = Dynamics(robot), np.array(robot.home), np.zeros(robot.nv)
        wrench = {"trunk": np.array(push, dtype=float)}
        tau, multipliers = dynamics.constrained_inverse_dynamics(
            q, still, still, wrench, contacts=feet
        )
        normal = np.array([multipliers.contact_forces[foot][2] for foot in feet])
        assert normal.min() >= -1e-9
        rows = rows_of(robot, q, still, contacts=feet)
        force = dynamics.inverse_dynamics(q, still, still, wrench)
        close(tau + rows.jacobian.T @ multipliers.rows, force, 1e-8)
        # Each set of feet with a normal force, the others with none.
        ways, costs, pulls = np.eye(robot.nv)[:, robot.actuated], [], []
        for held in sets(4):
            kept = np.ones(12, dtype=bool)
            kept[2::3] = held
            J = rows.jacobian[kept].T
            across = np.eye(len(J)) - J @ np.linalg.pinv(J)
            efforts = np.linalg.lstsq(across @ ways, across @ force, rcond=1e-9)[0]
            forces = np.linalg.lstsq(J, force - ways @ efforts, rcond=1e-9)[0]
            off = np.abs(J @ forces + ways @ efforts - force).max()
            whole = np.zeros(12)
            whole[kept] = forces
            if off < 1e-7:
                pulls.append(whole[2::3].min() < -1e-9)
                costs.append(np.inf if pulls[-1] else efforts @ efforts)
        assert pulls[0]  # of all feet held both ways, some pull
        assert tau @ tau == pytest.approx(min(costs), rel=1e-8)

    def test_what_would_have_to_pull_is_refused(self):
        robot, feet = self.feet()
        dynamics, q, still = Dynamics(robot), np.array(robot.home), np.zeros(robot.nv)
        push = {"trunk": np.array((0, 0, 200.0, 0, 0, 0))}
        with pytest.raises(StateError, match="limits or contacts would have to pull"):
            dynamics.constrained_inverse_dynamics(q, still, still, push, contacts=feet)

    def test_what_leaves_has_no_force(self):
        """A limit that an acceleration opens, and one that it would pass."""
        joint = Joint("j", "revolute", None, "b", lower=[0.0])
        dynamics = Dynamics(Mechanism("arm", (Body("b", 2.0, np.eye(3)),), (joint,)))
        tau, multipliers = dynamics.constrained_inverse_dynamics([0], [0], [3.0], limits="j")
        close(tau, 3.0)
        assert multipliers.limit_forces["j"] == 0
        with pytest.raises(StateError, match="a violates limit 'j' by -3 "):
            dynamics.constrained_inverse_dynamics([0], [0], [-3.0], limits="j")
