"""Laws, servos, couplings, motions, limits and loops: their derivatives by finite differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels_for_tests import continue_newton, factor_and_solve, law_at, parts_of, start_newton
from random_mechanisms import (
    Array,
    body_poses,
    closing_joint,
    multiply,
    random_body,
    random_coordinates,
    random_joint,
    random_mechanism,
    turned,
)
from test_newton_matrix import KAPPA, assert_newton_matrix, dense, used_rows

from robosim import Coupling, Joint, Mechanism, PointSpring, Potential, Simulation
from robosim.compiled.records.graph import ROW
from robosim.joints import KINDS
from robosim.quaternions import rotation_matrix, rotation_vector
from robosim.tendons import Point, Pulley, Tendon, Term

DT = 0.05
STEP = 1e-6
SLOW = 1e-3  # [rad/s, m/s], a limit of velocity that random motions exceed
MOVING = tuple(kind for kind in KINDS if kind != "fixed")
# Odd and even terms, so that nothing cancels by symmetry.
POTENTIAL = Potential.sample(lambda x: 2 * np.cos(3 * x) + 0.3 * x**3, -4.0, 4.0, 33)


def loaded(rng: np.random.Generator, joint: Joint, damped: bool = True) -> Joint:
    """The joint with springs, rotors and dampers of different sizes on all of its coordinates."""
    rest = rng.normal(size=joint.nv)
    if joint.has_quaternion:
        rest[joint.C_T.shape[1] :] = 0.0
    return replace(
        joint,
        stiffness=rng.uniform(1.0, 3.0, size=joint.nv),
        rest=rest,
        damping=rng.uniform(1.0, 3.0, size=joint.nv) if damped else 0.0,
        armature=rng.uniform(0.1, 0.5, size=joint.nv),
        potential=POTENTIAL if joint.nv == 1 else None,
    )


def coordinates_after(robot: Mechanism, q: Array, by: Array) -> Array:
    """q of the tree after a displacement (nv,), free rotations by vectors in child axes."""
    out = q.copy()
    for joint, i, k in zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False):
        n = joint.C_T.shape[1] if joint.has_quaternion else joint.nv
        out[i : i + n] += by[k : k + n]
        if joint.has_quaternion:
            turn = turned(np.array([1.0, 0, 0, 0]), by[k + n : k + n + 3])
            out[i + n : i + n + 4] = multiply(q[i + n : i + n + 4], turn)
    return out


class OneLaw:
    """One body on a joint to the world, over an interval between two sets of coordinates."""

    def __init__(self, kind: str, seed: int, damped: bool) -> None:
        rng = np.random.default_rng(seed)
        self.joint = loaded(rng, random_joint(rng, "j", kind, None, "b"), damped)
        self.robot = Mechanism("one", (random_body(rng, "b"),), (self.joint,))
        self.sim, self.other = Simulation(self.robot, DT), Simulation(self.robot, DT)
        self.q1 = random_coordinates(rng, self.robot)
        self.q2 = coordinates_after(self.robot, self.q1, rng.normal(size=self.robot.nv))
        self.sim.parts.state.joints["rotor"] = 0.0

    def evaluate(self, q1: Array, q2: Array) -> tuple[Array, Array, Array, Array]:
        """law, half, rotor and A for an interval from q1 to q2."""
        self.other.set_state(q2)
        self.sim.set_state(q1)
        self.sim.parts.state.joints["rotor"] = 0.0
        pose, work = self.sim.parts.work.pose2[0], self.sim.parts.work
        pose["x"], pose["q"] = self.other.state.x[0], self.other.state.q[0]
        pose["R"] = rotation_matrix(self.other.state.q[0])
        law_at(
            self.sim.parts.model,
            self.sim.parts.state,
            self.sim.parts.loads,
            work,
            0,
            DT,
        )
        w, n = work.joints[0], self.robot.nv
        rows = (w[name][:n].copy() for name in ("law", "half", "rotor"))
        return (*rows, w["A"][:n, :n].copy())

    def lagrangian(self, q1: Array, q2: Array) -> float:
        """Of an interval: rotors, less the energy of springs at its middle or at its ends."""
        joint, single = self.joint, self.joint.nv - (3 if self.joint.has_quaternion else 0)
        k, rest, armature = (
            joint.per_coordinate(name) for name in ("stiffness", "rest", "armature")
        )
        u, middle = (q2 - q1)[:single] / DT, (q1 + q2)[:single] / 2
        energy = 0.5 * k[:single] @ (middle - rest[:single]) ** 2
        total = 0.5 * armature[:single] @ u**2 - energy
        if joint.potential is not None:
            total -= joint.potential(middle[0])
        if joint.has_quaternion:
            n = joint.C_T.shape[1]
            turn = multiply(q1[n:] * [1, -1, -1, -1], q2[n:])[1:] * 2 / DT
            ends = [0.5 * k[n:] @ rotation_vector(q[n:]) ** 2 for q in (q1, q2)]
            total += 0.5 * armature[n:] @ turn**2 - sum(ends) / 2
        return float(DT * total)


@pytest.mark.parametrize("kind", MOVING)
def test_a_law_differentiates_its_lagrangian(kind):
    """What acts at either knot is the derivative of L_d there, so that energy has no trend."""
    case = OneLaw(kind, seed=1, damped=False)
    law, half, rotor, _ = case.evaluate(case.q1, case.q2)
    at_first, at_second = [], []
    for direction in np.eye(case.robot.nv):
        ends = [
            (
                case.lagrangian(coordinates_after(case.robot, case.q1, step * direction), case.q2),
                case.lagrangian(case.q1, coordinates_after(case.robot, case.q2, step * direction)),
            )
            for step in (STEP, -STEP)
        ]
        first, second = (np.array(ends[0]) - ends[1]) / (2 * STEP)
        at_first.append(first)
        at_second.append(second)
    # Of numbers up to 10, by differences that round at 1e-9.
    np.testing.assert_allclose(law, at_first, rtol=0, atol=2e-8)
    np.testing.assert_allclose(half + rotor, at_second, rtol=0, atol=2e-8)


def slope_of(case: OneLaw) -> Array:
    """How its law answers the rates of the coordinates over the interval, by differences."""
    columns = []
    for rate in np.eye(case.robot.nv):
        ends = [
            case.evaluate(case.q1, coordinates_after(case.robot, case.q2, DT * s * rate))[0]
            for s in (STEP, -STEP)
        ]
        columns.append((ends[0] - ends[1]) / (2 * STEP))
    return np.column_stack(columns)


@pytest.mark.parametrize("servo", [False, True])
@pytest.mark.parametrize("kind", MOVING)
def test_slope_of_a_law(kind, servo):
    """A: how the law answers the rates of the coordinates over the interval, servos included."""
    case = OneLaw(kind, seed=2, damped=True)
    if servo:
        servos = case.sim.parts.loads.servos
        for name, value in (("kp", 20.0), ("kd", 3.0), ("target", 0.7), ("target_rate", -0.4)):
            case.sim.held.release_servos = lambda: None  # set_state would take them out
            servos[name] = value
        if case.joint.has_quaternion:
            servos["kp"][-3:] = 0.0
        servos["limit"][::2] = 1e-3  # of every other one is more asked
    A = case.evaluate(case.q1, case.q2)[3]
    np.testing.assert_allclose(A, slope_of(case), rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", [kind for kind in MOVING if KINDS[kind][1] != "free"])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_slope_of_motors_whose_torque_falls_with_speed(kind, way):
    """Asked for more than they have, along the motion: what they give falls with the rate."""
    case = OneLaw(kind, seed=2, damped=True)
    rates = (case.q2 - case.q1) / DT
    case.q2 = case.q1 + np.abs(case.q2 - case.q1) * way
    servos = case.sim.parts.loads.servos
    case.sim.held.release_servos = lambda: None  # set_state would take them out
    servos["kp"], servos["kd"], servos["target"] = 20.0, 3.0, way * 1e3
    servos["limit"], servos["droop"] = 50.0, 50.0 / (1.5 * np.abs(rates))
    law, _, _, A = case.evaluate(case.q1, case.q2)
    servos["droop"] = 0.0
    more, _, _, full = case.evaluate(case.q1, case.q2)
    # At two thirds of their speeds they have a third of their torque left.
    np.testing.assert_allclose(more - law, way * DT * 50.0 * 2 / 3, rtol=1e-9)
    np.testing.assert_allclose(A - full, -DT * np.diag(50.0 / (1.5 * np.abs(rates))), rtol=1e-9)
    servos["droop"] = 50.0 / (1.5 * np.abs(rates))
    np.testing.assert_allclose(A, slope_of(case), rtol=0, atol=1e-6)


def test_dampers_act_against_the_rate_at_either_knot():
    """-dt/2 d u at both, u from the coordinates' change or 2 / dt of the turn's vector."""
    damping = np.array([2.0, 3.0, 0.5, 0.7, 0.9])
    case = OneLaw("planar_free_orientation", seed=3, damped=False)
    case.joint = replace(case.joint, stiffness=0.0, armature=0.0, damping=damping)
    case.robot = Mechanism("one", case.robot.bodies, (case.joint,))
    case.sim, case.other = Simulation(case.robot, DT), Simulation(case.robot, DT)
    law, half, rotor, _ = case.evaluate(case.q1, case.q2)
    turn = multiply(case.q1[2:] * [1, -1, -1, -1], case.q2[2:])[1:]
    u = np.concatenate(((case.q2 - case.q1)[:2], 2 * turn)) / DT
    np.testing.assert_allclose(law, -DT / 2 * damping * u, rtol=0, atol=1e-13)
    np.testing.assert_allclose(half, law, rtol=0, atol=0)
    assert not rotor.any()


def everything(rng: np.random.Generator) -> tuple[Mechanism, Array]:
    """A mechanism with one of each component, and a pose at which its loops are closed.

    Loops share bodies, one goes through the world; couplings share bodies, one is to the world.
    """
    kinds = {
        "base": ("floating", None, "b0"),
        "hinge": ("revolute", "b0", "b1"),
        "slide": ("prismatic", "b1", "b2"),
        "screw": ("cylindrical", "b2", "b3"),
        "plate": ("planar", "b0", "b4"),
        "ball": ("spherical", "b4", "b5"),
        "loose": ("planar_free_orientation", "b1", "b6"),
        "driven": ("revolute", "b0", "b7"),
        "gear": ("revolute", "b7", "b8"),
        "wheel": ("revolute", None, "b9"),
        "plain": ("revolute", "b8", "b10"),
        "free": ("floating", "b3", "b11"),
        "limited": ("prismatic", "b10", "b12"),
        "coned": ("spherical", "b5", "b13"),
        "turned": ("spherical", "b4", "b14"),
    }
    joints = [random_joint(rng, name, *rest) for name, rest in kinds.items()]
    bodies = tuple(random_body(rng, f"b{i}") for i in range(len(joints)))
    sprung = ("base", "hinge", "slide", "screw", "plate", "ball", "loose", "gear", "free")
    changes: dict[str, dict[str, Any]] = {
        "driven": {"motion": np.sin},
        "limited": {"lower": -2.0, "upper": 1.5, "friction": 0.8, "velocity_limit": SLOW},
        "wheel": {"velocity_limit": SLOW},
        "coned": {"cone": 3.0, "velocity_limit": SLOW},
        "turned": {"largest_turn": 3.0},
    }
    tree = Mechanism(
        "everything",
        bodies,
        tuple(
            replace(loaded(rng, j) if j.name in sprung else j, **changes.get(j.name, {}))
            for j in joints
        ),
    )
    q = random_coordinates(rng, tree)
    poses = body_poses(tree, q)
    loops = (
        closing_joint(rng, "pin", "spherical", ("b3", "b5"), poses),
        loaded(
            rng, closing_joint(rng, "strut", "cylindrical_free_orientation", ("b5", "b6"), poses)
        ),
        closing_joint(rng, "ground", "planar_free_orientation", (None, "b5"), poses),
    )
    springs = (
        PointSpring("two", "b2", "b7", (0.1, 0.2, 0), (0, 0, 0.3), 30.0, 0.5, 2.0, POTENTIAL),
        PointSpring("anchor", None, "b6", (1, 2, 3), (0.1, 0, 0), 20.0, 1.0, 1.0),
    )
    tendons = (
        Tendon("sum", (Term("hinge", 0.7), Term("wheel", -2.0), Term("slide", 0.5)),
               stiffness=20.0, damping=1.0, armature=0.2),
        Tendon("held", (Term("slide", 2.0), Term("plain", -1.0, (0.5, -0.2, 0.1)), Term("limited")),
               lower=0.4, upper=0.4),
        Tendon("rope", (Point("b6", (0.1, 0, 0.2)), Point(None, (1, 2, 0)), Pulley(-2.0),
                        Point("b2", (0, 0.1, 0)), Point("b7", (0.2, 0, 0))), lower=1.0, upper=1.0),
    )  # fmt: skip
    couplings = (
        Coupling("gears", "gear", "hinge", -2.0, 0.3),
        Coupling("mixed", "plain", "slide", 0.5),
        Coupling("worldly", "wheel", "gear", 3.0),
    )
    joints = (*tree.joints, *loops)
    return replace(tree, joints=joints, springs=springs, couplings=couplings, tendons=tendons), q


def started(seed: int) -> Simulation:
    """Newton's equations of everything, for a motion over a finite interval.

    The motion is one that the tree's joints allow: the derivative of an angle is that of the
    matrix only where the joint holds. Loops need not be closed.
    """
    rng = np.random.default_rng(seed)
    robot, q = everything(rng)
    sim, moved = Simulation(robot, DT, velocity_limits=True), Simulation(robot, DT)
    v = rng.normal(size=robot.nv)
    sim.start.place(q, v, 0.0)
    moved.start.place(coordinates_after(robot, q, DT * v), v, 0.0)
    sim.parts.loads.tau[:] = rng.normal(size=len(sim.parts.loads.tau))
    sim.parts.loads.external["w"][:-1] = rng.normal(size=(len(robot.bodies), 6))
    sim.parts.loads.motion["q2"], sim.parts.loads.motion["v2"] = 0.3, 1.0
    servo = sim.parts.loads.servos[robot.v_offsets[robot.joint_index("plain")]]
    servo["kp"], servo["kd"], servo["target"], servo["target_rate"] = 50.0, 2.0, 0.4, -1.0
    for array in (sim.parts.state.joints, sim.parts.state.couplings):
        array["impulse"] = rng.normal(size=array["impulse"].shape)
    info = sim.engine.single.values.infos[0]
    start_newton(*parts_of(sim), sim.parts.options, KAPPA, info)
    for w, x1, q1, x2, q2 in zip(
        sim.parts.work.bodies,
        sim.state.x,
        sim.state.q,
        moved.state.x,
        moved.state.q,
        strict=False,
    ):
        w["v"], w["P"] = (x2 - x1) / DT, multiply(q2, q1 * [1, -1, -1, -1])
    continue_newton(*parts_of(sim), DT, info)
    return sim


@pytest.mark.parametrize("seed", range(4))
def test_newton_matrix_of_everything(seed):
    sim = started(seed)
    rows = {
        joint.name: sim.parts.work.joints[j]["rows"] for j, joint in enumerate(sim.robot.joints)
    }
    assert [name for name, n in rows.items() if n < 6] == ["pin", "ground"]
    # Two limits, dry friction, a cone, a turn; rates of a slide, a hinge and a ball, either way.
    assert sim.parts.work.active[0] == 5 + 2 * (1 + 1 + 3)
    assert_newton_matrix(sim)


@pytest.mark.parametrize("seed", range(4))
def test_everything_against_a_dense_solve(seed):
    """Constraints, soft nodes and couplings of up to four bodies in one elimination."""
    sim = started(seed)
    F, rng = dense(sim), np.random.default_rng(seed)
    rhs = np.zeros(sim.parts.model.graph.n_nodes, dtype=ROW)
    rhs["w"] = np.where(used_rows(sim).reshape(-1, 6), rng.normal(size=(len(rhs), 6)), 0.0)
    expected = np.linalg.solve(F, rhs["w"].ravel())
    assert factor_and_solve(sim.parts.model.graph, sim.parts.memory.system.blocks, rhs) == 0
    scale = np.abs(expected).max()
    np.testing.assert_allclose(rhs["w"].ravel(), expected, rtol=0, atol=1e-9 * scale)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(0, 3), st.integers(0, 2))
def test_sparse_and_dense_newton_directions(seed, n, loops, copies):
    """Of the bodies; multipliers of redundant constraints are what their compliance makes them."""
    robot, q, v = random_mechanism(seed, n, loops, copies)
    sim = Simulation(robot, 1e-3, (0, 0, 0), solver="ldu")
    sim.set_state(q, v)
    sim.run(0.005)
    start_newton(*parts_of(sim), sim.parts.options, KAPPA, sim.engine.single.values.infos[0])
    rhs = np.zeros(sim.parts.model.graph.n_nodes, dtype=ROW)
    rhs["w"] = sim.parts.work.residual["w"]
    expected = np.linalg.solve(dense(sim), rhs["w"].ravel())[: 6 * n]
    assert factor_and_solve(sim.parts.model.graph, sim.parts.memory.system.blocks, rhs) == 0
    found = rhs["w"].ravel()[: 6 * n]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max() + 1e-15)
