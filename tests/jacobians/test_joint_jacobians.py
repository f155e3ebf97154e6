"""Joint constraints of all twelve kinds of Table B.2 and their derivatives by body twists."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_for_tests import joint_at
from random_mechanisms import multiply, random_body, random_joint, random_quaternion, turned

from robosim import Mechanism, Simulation
from robosim.compiled.building.model import compile_model
from robosim.compiled.workspace import make_workspace
from robosim.joints import KINDS
from robosim.quaternions import rotation_matrix

STEP = 1e-6  # central differences: error some 1e-12 from the step, 1e-10 from rounding
CASES = [(kind, parent) for kind in KINDS for parent in (None, "b0")]


class OneJoint:
    """A joint between the world, or a floating body, and a child, at poses that a test sets."""

    def __init__(self, kind: str, parent: str | None, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        joints = [] if parent is None else [random_joint(rng, "j0", "floating", None, "b0")]
        joints.append(random_joint(rng, "j1", kind, parent, "b1"))
        bodies = [random_body(rng, name) for name in ("b0", "b1")][-len(joints) :]
        self.robot = Mechanism("one joint", tuple(bodies), tuple(joints))
        self.model = compile_model(self.robot)
        self.work = make_workspace(self.robot, self.model)
        self.j = len(joints) - 1
        self.joint = self.robot.joints[self.j]
        # Parent and child as places of the pose arrays; the world is the last one.
        self.a, self.b = (self.j + 1, self.j) if parent is None else (0, 1)
        self.q = np.zeros(self.robot.nq)

    def put(self, body: int, x: np.ndarray, q: np.ndarray) -> None:
        pose = self.work.pose2[body]
        pose["x"], pose["q"], pose["R"] = x, q, rotation_matrix(q)

    def randomly(self) -> OneJoint:
        """Both bodies anywhere: the joint is violated."""
        for body in {self.b} if self.joint.parent is None else {self.a, self.b}:
            self.put(body, self.rng.normal(size=3), random_quaternion(self.rng))
        return self

    def on_joint(self, seed: int) -> OneJoint:
        """Both bodies anywhere that the joint allows."""
        rng = np.random.default_rng(seed)
        sim = Simulation(self.robot)
        q = rng.uniform(-1, 1, size=self.robot.nq)
        for start, joint in zip(self.robot.q_offsets, self.robot.joints, strict=False):
            if joint.has_quaternion:
                begin = start + joint.C_T.shape[1]
                q[begin : begin + 4] = random_quaternion(rng)
        sim.set_state(q)
        for body in range(len(self.robot.bodies)):
            self.put(body, sim.state.x[body], sim.state.q[body])
        self.q = q
        return self

    def evaluate(self) -> tuple[np.ndarray, ...]:
        q = self.q.copy()
        joint_at(self.model, self.work, self.j, q)
        w, t = self.work.joints[self.j], self.work.scratch[0]
        rows = self.joint.nv
        arrays = (w["g"], w["G_a"], w["G_b"], t["S_a"][:rows], t["S_b"][:rows])
        own = q[self.robot.q_offsets[self.j] :]
        return (*(array.copy() for array in arrays), own)

    def difference(self, body: int, column: int, of: int) -> np.ndarray:
        """Central difference of a result by column `column` of the world twist of a body."""
        x, q = (self.work.pose2[body][name].copy() for name in ("x", "q"))
        ends = []
        for step in (STEP, -STEP):
            twist = np.zeros(6)
            twist[column] = step
            self.put(body, x + twist[:3], turned(q, twist[3:]))
            ends.append(self.evaluate()[of])
        self.put(body, x, q)
        return (ends[0] - ends[1]) / (2 * STEP)


def own_bodies(case: OneJoint) -> list[tuple[int, int]]:
    """(place, index of its Jacobian among the results) of the bodies that can move."""
    return [(case.b, 2)] if case.joint.parent is None else [(case.a, 1), (case.b, 2)]


@pytest.mark.parametrize(("kind", "parent"), CASES)
def test_constraint_jacobian(kind, parent):
    case = OneJoint(kind, parent, seed=1).randomly()
    results = case.evaluate()
    rows = case.joint.n_constraints
    assert not results[0][rows:].any()
    for body, which in own_bodies(case):
        G = results[which]
        assert not G[rows:].any()
        numeric = np.column_stack([case.difference(body, k, 0) for k in range(6)])
        np.testing.assert_allclose(G, numeric, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("kind", "parent"), CASES)
def test_residual_is_the_formula(kind, parent):
    """Eqs. (B.1), (B.3) written with matrices, both in the joint frame on the parent's side."""
    case = OneJoint(kind, parent, seed=2).randomly()
    a, b, joint = case.work.pose2[case.a], case.work.pose2[case.b], case.joint
    back = np.array([1, -1, -1, -1])
    R_J = a["R"] @ rotation_matrix(joint.offset)
    g_T = R_J.T @ (b["x"] + b["R"] @ joint.child_position - a["x"] - a["R"] @ joint.parent_position)
    g_R = multiply(joint.offset * back, multiply(a["q"] * back, b["q"]))[1:]
    expected = np.concatenate((joint.D_T.T @ g_T, joint.D_R.T @ g_R))
    np.testing.assert_allclose(case.evaluate()[0][: len(expected)], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("kind", "parent"), CASES)
def test_motion_map_is_the_rate_of_the_coordinates(kind, parent):
    """For every way that the two bodies can move, those that break the joint included."""
    case = OneJoint(kind, parent, seed=3).on_joint(seed=4)
    results = case.evaluate()
    translations = case.joint.C_T.shape[1]
    for body, which in own_bodies(case):
        S = results[which + 2]
        rates = [case.difference(body, k, 5) for k in range(6)]
        if case.joint.has_quaternion:
            # r' = r (0, omega) / 2, with omega in child axes.
            r = results[5][translations:] * [1, -1, -1, -1]
            rates = [
                np.concatenate((rate[:translations], 2 * multiply(r, rate[translations:])[1:]))
                for rate in rates
            ]
        np.testing.assert_allclose(S, np.column_stack(rates), rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_motion_respects_the_joint(kind):
    """Joint velocities move the bodies along the constraint: G S^+ = 0, and S S^+ = 1."""
    case = OneJoint(kind, "b0", seed=5).on_joint(seed=6)
    _, _, G_b, _, S_b, _ = case.evaluate()
    rows = case.joint.n_constraints
    full = np.vstack((G_b[:rows], S_b))
    assert np.linalg.cond(full) < 1e3
    motion = np.linalg.inv(full)[:, rows:]
    np.testing.assert_allclose(G_b[:rows] @ motion, 0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_common_rigid_motion_changes_nothing(kind):
    """Internal impulses add no momentum: G_a and G_b cancel for any twist of the whole."""
    case = OneJoint(kind, "b0", seed=7).randomly()
    _, G_a, G_b, S_a, S_b, _ = case.evaluate()
    a, b = case.work.pose2[case.a], case.work.pose2[case.b]
    for pair in ((G_a, G_b), (S_a, S_b)):
        for twist in np.eye(6):
            moved = []
            for pose in (a, b):
                linear = twist[:3] + np.cross(twist[3:], pose["x"])
                moved.append(np.concatenate((linear, twist[3:])))
            np.testing.assert_allclose(pair[0] @ moved[0] + pair[1] @ moved[1], 0, atol=1e-12)
