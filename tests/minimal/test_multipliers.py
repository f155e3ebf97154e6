"""Loops and couplings in joint coordinates, by multipliers: equations, starts, and motions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from closed_mechanisms import closed
from joint_lagrangian import (
    GRAVITY,
    Array,
    Written,
    moved,
    parts_of,
    put,
    residual,
    robot_for_tests,
    rows_of,
    simulation_for_tests,
    slopes,
)

from robosim import (
    Coupling,
    Mechanism,
    MinimalSimulation,
    ModelError,
    Simulation,
    StateError,
    linearize,
    second_derivatives,
)
from robosim.compiled.minimal import Multipliers
from robosim.experiments.four_bar import RATES, START, reference
from robosim.inverse_kinematics.pose_constraints import PoseConstraints
from robosim.models.builders import double_four_bar, minitaur, rhombus

DT = 0.05
INTEGRATORS = ("newton", "galerkin")
LOOPS = (("spherical", "b3", "b5"), ("planar", None, "b6"))


def robot_with_loops(free: bool = True, coupled: bool = False) -> tuple[Mechanism, Array, Array]:
    """The branched tree with two loops that are closed, and q, v."""
    robot, q, v = robot_for_tests(free=free)
    robot = closed(np.random.default_rng(3), robot, q, LOOPS, actuated=False)
    if coupled:
        at = dict(zip((j.name for j in robot.tree_joints), robot.q_offsets, strict=False))
        offset = q[at["j5"]] + 0.7 * q[at["j2"]]
        robot = replace(robot, couplings=(Coupling("gear", "j5", "j2", -0.7, float(offset)),))
    return robot, q, v


def multipliers_of(sim: MinimalSimulation) -> Multipliers:
    held = parts_of(sim).work.multipliers
    assert held is not None
    return held


def dense(sim: MinimalSimulation, rows: Array) -> Array:
    """Rows by links as rows by velocities (m, nv)."""
    moving, columns = rows_of(sim)
    out = np.zeros((len(rows), sim.robot.nv))
    out[:, columns] = rows[:, moving]
    return out


@pytest.mark.parametrize(
    "kind",
    ["fixed", "prismatic", "planar_fixed_orientation", "fixed_orientation", "revolute",
     "cylindrical", "planar", "axis_rotation", "spherical", "cylindrical_free_orientation",
     "planar_free_orientation"],
)  # fmt: skip
def test_rows_are_those_of_the_joint(kind: str) -> None:
    """Of all kinds: the same motions are allowed as by the constraints of starts."""
    robot, q, _ = robot_for_tests()
    robot = closed(np.random.default_rng(1), robot, q, ((kind, "b3", "b5"),), actuated=False)
    sim = MinimalSimulation(robot, DT)
    sim.set_state(q)
    np.testing.assert_allclose(sim.q, q, rtol=0, atol=1e-12)
    found = dense(sim, multipliers_of(sim).begin)
    values, expected, _ = PoseConstraints(robot, {}).at(q)
    assert np.abs(values).max() < 1e-12
    assert len(found) == len(expected) == robot.loop_joints[0].n_constraints
    rank = np.linalg.matrix_rank(expected, tol=1e-9)
    assert np.linalg.matrix_rank(found, tol=1e-9) == rank
    assert np.linalg.matrix_rank(np.vstack((found, expected)), tol=1e-9) == rank
    assert sim.constraint_violation() < 1e-13


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("free", [True, False])
def test_equations_are_those_of_a_lagrangian_with_multipliers(integrator: str, free: bool) -> None:
    """-(D_2 L_d + D_1 (L_d + lambda . g)), with g as starts have it; and g itself at the end."""
    robot, q, v = robot_with_loops(free, coupled=not free)
    robot = replace(robot, joints=tuple(replace(j, damping=0.0) for j in robot.joints))
    sim = MinimalSimulation(robot, DT, GRAVITY, integrator=integrator)
    sim.set_state(q, v)
    q, v, held = np.array(sim.q), sim.v, multipliers_of(sim)
    x = DT * v + 0.02 * np.random.default_rng(1).normal(size=robot.nv)
    constraints = PoseConstraints(robot, {})
    _, jacobian, _ = constraints.at(q)
    impulses = np.random.default_rng(2).normal(size=len(jacobian))
    # The same impulses along our rows, which span the same.
    ours = dense(sim, held.begin).T
    held.impulse[:] = np.linalg.lstsq(ours, jacobian.T @ impulses, rcond=1e-9)[0]
    found, _ = residual(sim, x[None])
    tree = Written(replace(robot, joints=robot.tree_joints, couplings=(), home=None), q, DT)

    def action(whole: Array) -> float:
        if integrator == "newton":
            free_action = tree.on_group(whole)
        else:
            free_action = tree.by_points(whole, np.full(2, 0.5), np.array([[-1, 1], [-1, 1]]))
        return free_action + float(impulses @ constraints.at(moved(robot, q, whole[0]))[0])

    whole = np.vstack((np.zeros(robot.nv), x))
    expected = slopes(action, whole, 3e-3)[: robot.nv] + sim.p
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    ends = slopes(lambda x: constraints.at(moved(robot, q, x))[0], x, 3e-3)
    mine = slopes(lambda x: values_at(sim, x), x, 3e-3)
    residual(sim, x[None])
    np.testing.assert_allclose(dense(sim, held.end), mine, rtol=0, atol=1e-9)
    slides = parts_of(sim).model.constraints["kind"] != 1  # type: ignore[index]
    np.testing.assert_allclose(mine[slides], ends[slides], rtol=0, atol=1e-9)


def values_at(sim: MinimalSimulation, x: Array) -> Array:
    residual(sim, x[None])
    return np.array(multipliers_of(sim).value)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_newton_direction_with_multipliers_is_that_of_a_dense_solve(integrator: str) -> None:
    """Of coordinates and impulses at once, with forces that depend on velocities."""
    robot, q, v = robot_with_loops(free=False, coupled=True)
    sim = simulation_for_tests(robot, q, v, DT, integrator, 2)
    held, nv = multipliers_of(sim), robot.nv
    x = DT * sim.v + 0.02 * np.random.default_rng(1).normal(size=nv)
    impulses = np.random.default_rng(2).normal(size=len(held.impulse))

    def equations(unknowns: Array) -> Array:
        held.impulse[:] = unknowns[nv:]
        rows, _ = residual(sim, unknowns[None, :nv])
        return np.concatenate((rows[0], held.value))

    here = np.concatenate((x, impulses))
    jacobian = slopes(equations, here, 3e-3)
    expected = np.linalg.solve(jacobian, -equations(here))
    put(sim, x[None])
    assert sim.engine.calls.direction(sim.engine.address) == 0
    found = np.concatenate((dense(sim, parts_of(sim).work.step.dx.T)[0], held.change))
    for part in (slice(0, nv), slice(nv, None)):
        size = np.abs(expected[part]).max()
        np.testing.assert_allclose(found[part], expected[part], rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_loop_moves_as_in_maximal_coordinates(integrator: str) -> None:
    """The rhombus, planar and so with redundant rows: the difference falls by the second order."""
    robot, seconds, differences = rhombus(), 0.6, []
    for steps in (150, 300):
        ends = []
        for sim in (
            MinimalSimulation(robot, seconds / steps, integrator=integrator),
            Simulation(robot, seconds / steps),
        ):
            sim.run(seconds)
            ends.append(np.concatenate((sim.q, sim.v)))
        differences.append(np.abs(ends[0] - ends[1]).max())
    assert differences[1] < 2e-4
    assert np.log2(differences[0] / differences[1]) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_four_bars_pass_their_singular_poses(integrator: str) -> None:
    """[Bruedigam2023, Fig. 12] at 10 ms, ten times, and on the branch that they are on."""
    sim = MinimalSimulation(double_four_bar(), 1e-2, integrator=integrator)
    sim.set_state(START, RATES)
    energy = sim.energy()
    log = sim.run(10.0)
    q = log.q
    tilt = np.stack((q[:, 0] + q[:, 1], q[:, 2] + q[:, 3])) - 1.5 * np.pi
    assert np.abs(tilt).max() < 1e-8
    assert np.abs(q[:, 0] - START[0] - reference(10.0)(log.t)[0]).max() < 0.05
    assert abs(sim.energy() - energy) < 0.1
    assert sim.constraint_violation() < 1e-11


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_energy_of_a_loop_has_no_trend(integrator: str) -> None:
    """And the loop does not open, over 20 000 steps; velocities stay along it."""
    sim = MinimalSimulation(rhombus(), 5e-3, integrator=integrator)
    energy, energies, open_by = sim.energy(), [], []
    for _ in range(200):
        sim.run(0.5)
        energies.append(sim.energy() - energy)
        open_by.append(sim.constraint_violation())
        rates = multipliers_of(sim).begin @ sim.v
        assert np.abs(rates).max() < 1e-10
    halves = np.array(energies).reshape(2, -1).mean(axis=1)
    assert np.abs(energies).max() < 3e-3
    assert abs(halves[1] - halves[0]) < 3e-4
    assert max(open_by) < 1e-11


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_momenta_of_a_robot_with_loops_stay(integrator: str) -> None:
    """A quadruped with four closed legs that tumbles without gravity, to rounding."""
    robot = minitaur()
    sim = MinimalSimulation(
        robot, 2e-3, (0, 0, 0), integrator=integrator, ignore=("contacts", "limits", "friction")
    )
    sim.set_state(None, np.random.default_rng(0).normal(size=robot.nv))
    before = np.concatenate(sim.momentum())
    sim.run(1.0)
    np.testing.assert_allclose(
        np.concatenate(sim.momentum()), before, rtol=0, atol=1e-12 * np.abs(before).max()
    )
    assert sim.constraint_violation() < 1e-12


def test_starts_close_loops_as_those_of_maximal_coordinates() -> None:
    """By the smallest motion, also with a joint held; what cannot close changes nothing."""
    robot = rhombus()
    sim, other = MinimalSimulation(robot, 1e-3), Simulation(robot, 1e-3)
    rng = np.random.default_rng(4)
    q, v = robot.home + 0.1 * rng.normal(size=4), rng.normal(size=4)
    for hold in ((), ("joint1a",)):
        for one in (sim, other):
            one.set_state(q, v, hold=hold)
        np.testing.assert_allclose(sim.q, other.q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(sim.v, other.v, rtol=0, atol=1e-9)
        assert sim.constraint_violation() < 1e-12
    assert sim.q[0] == q[0]
    before = [sim.q, sim.v, sim.p]
    with pytest.raises(StateError):
        sim.set_state([0.0, 0.0, np.pi, 0.0], hold=[joint.name for joint in robot.tree_joints])
    for one, now in zip(before, (sim.q, sim.v, sim.p), strict=True):
        np.testing.assert_array_equal(one, now)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_copies_of_loops_take_the_same_steps(integrator: str) -> None:
    """To the last bit, and so do states that are restored."""
    sim = MinimalSimulation(rhombus(), 5e-3, integrator=integrator)
    sim.run(0.1)
    other, third = sim.copy(), MinimalSimulation(sim.robot, 5e-3, integrator=integrator)
    third.restore(sim)
    for one in (sim, other, third):
        one.run(0.2)
        for name in ("q", "v", "p"):
            np.testing.assert_array_equal(getattr(one, name), getattr(sim, name))
        assert one.constraint_violation() == sim.constraint_violation()


def test_couplings_hold() -> None:
    """A geared pair of pendulums beside the same one in maximal coordinates."""
    from robots import chain

    robot = replace(
        chain(2, "revolute"), couplings=(Coupling("gear", "j1", "j0", -0.5, 0.2),), home=(0.4, 0.0)
    )
    differences = []
    for steps in (200, 400):
        ends = []
        for sim in (MinimalSimulation(robot, 1.0 / steps), Simulation(robot, 1.0 / steps)):
            sim.run(1.0)
            ends.append(np.concatenate((sim.q, sim.v)))
        differences.append(np.abs(ends[0] - ends[1]).max())
        assert ends[0][1] == pytest.approx(-0.5 * ends[0][0] + 0.2, abs=1e-13)
        assert ends[0][3] == pytest.approx(-0.5 * ends[0][2], abs=1e-10)
    assert np.log2(differences[0] / differences[1]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ({"integrator": "riqn"}, {}, "joint 'loop1': closes a loop, which integrator='riqn'"),
        ({"integrator": "galerkin", "order": 4}, {}, "closes a loop, which .* of order 4 does not"),
        ({}, {"stiffness": 1.0}, "joint 'loop1': closes a loop and has stiffness"),
        ({}, {"damping": 1.0}, "closes a loop and has damping"),
        ({}, {"armature": 1.0}, "closes a loop and has armature"),
        ({}, {"actuated": True}, "closes a loop and is actuated"),
        ({}, {"friction": 1.0}, "joint 'loop1': has dry friction"),
        ({}, {"motion": np.sin}, "joint 'loop1': is driven along a motion"),
        ({}, {"kind": "screw"}, "joint 'loop1': closes a loop and is a chart"),
    ],
)
def test_what_loops_do_not_have_is_refused_by_name(
    options: dict[str, object], change: dict[str, object], message: str
) -> None:
    """With what to use instead."""
    robot = rhombus()
    joints = tuple(
        replace(joint, **change) if joint in robot.loop_joints else joint  # type: ignore[arg-type]
        for joint in robot.joints
    )
    with pytest.raises(ModelError, match=message):
        MinimalSimulation(replace(robot, joints=joints), **options)  # type: ignore[arg-type]


def test_forces_of_a_run_fit_where_they_are_held():
    """Those on the coordinates of joints that close loops, too, which kernels copy along."""
    robot = rhombus()
    sim = MinimalSimulation(robot, 1e-3)
    assert robot.v_offsets[-1] > robot.nv
    assert len(sim.engine.parts.loads.tau) == robot.v_offsets[-1]


def test_loops_are_closed_as_well_as_the_tolerance_asks_for() -> None:
    """And in as few iterations: to rounding only where that is asked for."""
    coarse, fine = (MinimalSimulation(rhombus(), 0.01, tolerance=t) for t in (1e-4, 1e-12))
    iterations = [int(sim.run(0.3).iterations.sum()) for sim in (coarse, fine)]
    assert 2 * iterations[0] <= iterations[1]
    assert fine.constraint_violation() < 1e-13 < coarse.constraint_violation() < 1e-4 * 0.01


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", ["planar", "free", "coupled"])
def test_derivatives_of_steps_with_loops(integrator: str, name: str) -> None:
    """Differences of steps along what constraints leave free; starts are projected onto these."""
    if name == "planar":  # with redundant rows
        robot = double_four_bar(2.5)
        sim = MinimalSimulation(robot, 2e-3, integrator=integrator, tolerance=1e-12)
        sim.run(0.05)
    else:
        robot, q, v = robot_with_loops(name == "free", name == "coupled")
        sim = simulation_for_tests(robot, q, v, 0.01, integrator, 2)
        sim.step(np.random.default_rng(1).normal(size=robot.nu))
    nv, tangent, tau, one = robot.nv, sim.dynamics, np.array(sim.torques)[: robot.nv], sim.copy()
    q, v = np.array(sim.q), np.array(sim.v)
    wrenches = sim.engine.parts.loads.external["w"].copy()
    rows = dense(sim, multipliers_of(sim).begin)
    left = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows, tol=1e-9) :].T  # free directions

    def start(x: Array) -> tuple[Array, Array]:
        one.set_state(tangent.integrate(q, x[:nv]), v + x[nv:])
        one.engine.parts.loads.external["w"] = wrenches
        return np.array(one.q), np.array(one.v)

    def end(x: Array, forces: Array) -> tuple[Array, Array]:
        start(x)
        one.step(forces)
        return np.array(one.q), np.array(one.v)

    nothing = np.zeros(2 * nv)
    here, there = start(nothing), end(nothing, tau)

    def change(before: tuple[Array, Array], after: tuple[Array, Array]) -> Array:
        return np.concatenate((tangent.difference(before[0], after[0]), after[1] - before[1]))

    found = linearize(sim, tau)
    changes = np.zeros((2 * nv, 2 * left.shape[1]))
    changes[:nv, : left.shape[1]] = changes[nv:, left.shape[1] :] = left

    def starts(y: Array) -> Array:
        return change(here, start(changes @ y))

    def ends(y: Array) -> Array:
        return change(there, end(changes @ y, tau))

    y = np.zeros(changes.shape[1])
    expected, begun = slopes(ends, y, 1e-3), slopes(starts, y, 1e-3)
    size = np.abs(expected).max()
    np.testing.assert_allclose(found.A @ begun, expected, rtol=0, atol=1e-7 * size)
    np.testing.assert_allclose(found.A @ changes, expected, rtol=0, atol=1e-7 * size)

    def forced(u: Array) -> Array:
        forces = tau.copy()
        forces[robot.actuated] += u
        return change(there, end(nothing, forces))

    if robot.nu:
        expected = slopes(forced, np.zeros(robot.nu), 1e-3)
        size = np.abs(expected).max()
        np.testing.assert_allclose(found.B, expected, rtol=0, atol=1e-7 * size)
    with pytest.raises(ModelError, match="second derivatives are for trees") as raised:
        second_derivatives(sim, nothing)
    assert raised.value.element is not None
