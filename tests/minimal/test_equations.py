"""Residuals are derivatives of discrete Lagrangians; directions are those of a dense solve."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from joint_lagrangian import (
    GRAVITY,
    Written,
    parts_of,
    put,
    residual,
    robot_for_tests,
    rows_of,
    simulation_for_tests,
    slopes,
)

from robosim import MinimalSimulation
from robosim.compiled.building.segments import lobatto

DT = 0.05
SCHEMES = [("newton", 2), ("galerkin", 2), ("galerkin", 4), ("galerkin", 6)]


def points(seed: int, stages: int, v: np.ndarray) -> np.ndarray:
    """Control points (s, nv) near a motion, none of them special."""
    rng = np.random.default_rng(seed)
    times = lobatto(stages).c[1:, None] * DT
    return times * v + 0.02 * rng.normal(size=(stages, len(v)))


@pytest.mark.parametrize(("integrator", "order"), SCHEMES)
def test_residuals_are_derivatives_of_the_discrete_lagrangian(integrator: str, order: int) -> None:
    """[Lee2016] as reconstructed: -(D_2 L_d + D_1 L_d); [Fan2018, Eq. 5] from Algorithm 1."""
    robot, q, v = robot_for_tests(turning=acting_on(integrator)[:-1])
    # Forces that are no part of a Lagrangian are left out, and so are dampers.
    robot = replace(robot, joints=tuple(replace(j, damping=0.0) for j in robot.joints))
    sim = MinimalSimulation(robot, DT, GRAVITY, integrator=integrator, order=order)
    sim.set_state(q, v)
    stages = order // 2
    x = points(1, stages, v)
    found, ends = residual(sim, x)
    written = Written(robot, q, DT)
    rule = lobatto(stages)
    whole = np.concatenate((np.zeros((1, robot.nv)), x))
    if integrator == "newton":
        expected = slopes(written.on_group, whole, 3e-3)
    else:
        expected = slopes(lambda x: written.by_points(x, rule.w, rule.b), whole, 3e-3)
    expected = expected.reshape(stages + 1, robot.nv)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(ends, expected[-1], rtol=0, atol=1e-9 * scale)
    expected[0] += sim.p
    np.testing.assert_allclose(found, expected[:-1], rtol=0, atol=1e-9 * scale)


def acting_on(integrator: str) -> tuple[str, ...]:
    """What free rotations have, dampers last."""
    rotors = ("armature",) if integrator == "galerkin" else ()
    return ("stiffness", *rotors, "damping")


@pytest.mark.parametrize(("integrator", "order"), SCHEMES)
def test_newton_direction_is_that_of_a_dense_solve(integrator: str, order: int) -> None:
    """On a branched tree, with forces that depend on velocities: misprints (b) to (f) show."""
    robot, q, v = robot_for_tests(turning=acting_on(integrator))
    sim = simulation_for_tests(robot, q, v, DT, integrator, order)
    # Far from where the step begins: free rotations turn by half a radian.
    x = points(2, order // 2, v) + 0.3 * np.linspace(0, 1, order // 2 + 1)[1:, None]
    parts_of(sim).loads.tau[:] = np.random.default_rng(3).normal(size=robot.nv)
    servos = parts_of(sim).loads.servos
    servos["kp"][-2:], servos["kd"][-2:], servos["target"][-2:] = 3.0, 0.5, 0.7
    here, _ = residual(sim, x)
    jacobian = slopes(lambda x: residual(sim, x)[0].reshape(-1), x, 3e-3)
    expected = np.linalg.solve(jacobian, -here.reshape(-1)).reshape(x.shape)
    put(sim, x)
    residual(sim, x)
    assert sim.engine.calls.direction(sim.engine.address) == 0
    moving, columns = rows_of(sim)
    found = np.zeros(x.shape)
    found[:, columns] = parts_of(sim).work.step.dx[moving].T
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_momenta_are_those_of_the_mass_matrix() -> None:
    """p = M v, and v is read back from p."""
    robot, q, v = robot_for_tests()
    sim = MinimalSimulation(robot, DT, GRAVITY)
    sim.set_state(q, v)
    written = Written(robot, q, DT)
    expected = slopes(lambda v: written.kinetic(q, v), v, 0.1)
    np.testing.assert_allclose(sim.p, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    assert sim.engine.calls.settle(sim.engine.address) == 0
    np.testing.assert_allclose(sim.v, v, rtol=0, atol=1e-12)
    energy = written.kinetic(q, v) + written.potential(q)
    assert sim.energy() == pytest.approx(energy, rel=1e-13)


@pytest.mark.parametrize(("integrator", "order"), SCHEMES)
def test_newtons_method_converges_quadratically(integrator: str, order: int) -> None:
    """From a guess, over a step in which free rotations turn."""
    robot, q, v = robot_for_tests(turning=acting_on(integrator))
    sim = simulation_for_tests(robot, q, v, DT, integrator, order)
    calls, address, work = sim.engine.calls, sim.engine.address, parts_of(sim).work
    calls.guess(address)
    calls.residual(address)
    sizes = [np.abs(work.residual).max()]
    for _ in range(4):
        assert calls.direction(address) == 0
        work.x[1:] += work.step.dx.T
        calls.residual(address)
        sizes.append(np.abs(work.residual).max())
    falling = [b / a**2 for a, b in itertools.pairwise(sizes) if b > 1e-12]
    assert len(falling) >= 2
    assert max(falling) < 10.0
    assert sizes[-1] < 1e-11
