"""Second derivatives of steps in joint coordinates, beside differences and where they are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from joint_lagrangian import robot_for_tests, simulation_for_tests, slopes
from random_mechanisms import random_tree, sprung
from robots import Array

from robosim import (
    Body,
    Joint,
    Mechanism,
    MinimalSimulation,
    OptionError,
    Simulation,
    linearize,
    second_derivatives,
)
from robosim.minimal.curvature import CurvedStep

STEP = 3e-3  # of differences, whose error is of its sixth power
SECOND = (-490.0, 270.0, -27.0, 2.0)  # of second differences over seven places, times 180


def tree_for_tests(seed: int, kinds: tuple[str, ...]) -> tuple[Mechanism, np.random.Generator]:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 6, kinds[0], kinds)
    joints = tuple(
        replace(sprung(rng, one), armature=0.1, damping=0.2, actuated=i != 2)
        for i, one in enumerate(robot.joints)
    )
    return replace(robot, joints=joints), rng


@pytest.mark.parametrize("order", [2, 4, 6])
def test_trees_of_hinges_and_slides(order: int) -> None:
    """Differences of first derivatives; springs, dampers, rotors, wrenches, torques, a branch."""
    for seed, kinds in enumerate((("revolute", "prismatic"), ("revolute",))):
        robot, rng = tree_for_tests(seed, kinds)
        sim = MinimalSimulation(robot, 0.05, integrator="galerkin", order=order, tolerance=1e-12)
        assert CurvedStep.may_take(sim.engine.parts)
        nv, one = robot.nv, sim.copy()
        q, v = rng.normal(size=(2, nv))
        sim.set_state(q, v)
        tau, weights = rng.normal(size=robot.nu), rng.normal(size=(2, 2 * nv))
        wrenches = rng.normal(size=(len(robot.bodies), 6))
        sim.engine.parts.loads.external["w"][: len(wrenches)] = wrenches

        def first(x, one=one, q=q, v=v, tau=tau, nv=nv, wrenches=wrenches, weights=weights):
            one.set_state(q + x[:nv], v + x[nv : 2 * nv])
            one.engine.parts.loads.external["w"][: len(wrenches)] = wrenches
            there = linearize(one, tau + x[2 * nv :])
            return weights @ np.hstack((there.A, there.B))

        found = second_derivatives(sim, weights, tau)
        expected = slopes(first, np.zeros(2 * nv + robot.nu), STEP)
        for H, same in zip(found.H, expected, strict=True):
            np.testing.assert_allclose(H, same, rtol=0, atol=1e-8 * np.abs(same).max())
            np.testing.assert_array_equal(H, H.T)
        plain = linearize(sim, tau)
        np.testing.assert_allclose(found.first.A, plain.A, rtol=0, atol=1e-13)
        np.testing.assert_allclose(found.first.B, plain.B, rtol=0, atol=1e-13)
        again = second_derivatives(sim, weights[1], tau)
        np.testing.assert_array_equal(again.H, found.H[1])
        assert again.xx.shape == (2 * nv, 2 * nv)
        assert again.ux.shape == (robot.nu, 2 * nv)
        assert again.uu.shape == (robot.nu, robot.nu)


@pytest.mark.parametrize("scheme", [("newton", 2), ("galerkin", 4)], ids=["newton", "galerkin"])
def test_what_has_no_closed_form(scheme: tuple[str, int]) -> None:
    """Free rotations, drag and all forces: how far steps from states on a line are apart."""
    robot, q, v = robot_for_tests()
    sim = simulation_for_tests(robot, q, v, 0.01, *scheme)
    assert not CurvedStep.may_take(sim.engine.parts)
    rng, nv, move = np.random.default_rng(2), robot.nv, sim.dynamics
    weights, tau, one = rng.normal(size=2 * nv), rng.normal(size=robot.nu), sim.copy()
    wrenches = sim.engine.parts.loads.external["w"].copy()

    def end(x: Array) -> tuple[Array, Array]:
        one.set_state(move.integrate(q, x[:nv]), v + x[nv : 2 * nv])
        one.engine.parts.loads.external["w"] = wrenches
        one.step(tau + x[2 * nv :])
        return one.q, one.v

    found = second_derivatives(sim, weights, tau)
    middle = end(np.zeros(2 * nv + robot.nu))
    for _ in range(3):
        along, total = rng.normal(size=2 * nv + robot.nu), 0.0
        for places, factor in enumerate(SECOND):
            for sign in (1.0, -1.0) if places else (0.0,):
                there = end(sign * places * 0.01 * along)
                moved = move.difference(middle[0], there[0]), there[1] - middle[1]
                total += factor * float(weights @ np.concatenate(moved)) / (180.0 * 0.01**2)
        expected = along @ found.H @ along
        assert total == pytest.approx(expected, abs=1e-7 * np.abs(found.H).max() * len(along))


def test_a_pendulum() -> None:
    """One hinge, whose step of order two is Verlet's method; also of what the torque bends."""
    mass, length, inertia, h, g = 1.4, 0.3, 0.02, 0.05, 9.81
    body = Body("bob", mass, inertia * np.eye(3))
    hinge = Joint("hinge", "revolute", None, "bob", axis=(0, 1, 0), child_position=(0, 0, length))
    robot = Mechanism("pendulum", (body,), (hinge,))
    sim = MinimalSimulation(robot, h, integrator="galerkin", tolerance=1e-13)
    q, v, u = 0.8, -1.7, 0.6
    sim.set_state([q], [v])
    about = inertia + mass * length**2
    w = mass * g * length / about
    # q' = q + h v - h^2 w / 2 sin q + h^2 u / (2 I), v' = v - h w (sin q + sin q') / 2 + h u / I.
    end = q + h * v - h**2 * w / 2 * np.sin(q) + h**2 * u / (2 * about)
    by = np.array((1 - h**2 * w / 2 * np.cos(q), h, h**2 / (2 * about)))
    bends = np.zeros((2, 3, 3))
    bends[0, 0, 0] = h**2 * w / 2 * np.sin(q)
    bends[1] = h * w / 2 * (np.sin(end) * np.outer(by, by) - np.cos(end) * bends[0])
    bends[1, 0, 0] += h * w / 2 * np.sin(q)
    found = second_derivatives(sim, np.eye(2), [u])
    np.testing.assert_allclose(found.H, bends, rtol=0, atol=1e-12)


@pytest.mark.parametrize("integrator", ["newton", "galerkin"])
def test_no_multipliers_have_no_second_derivatives(integrator: str) -> None:
    robot, _ = tree_for_tests(0, ("revolute",))
    sim = MinimalSimulation(robot, 0.01, integrator=integrator)
    size = 2 * robot.nv + robot.nu
    found = second_derivatives(sim, np.zeros((0, 2 * robot.nv)))
    assert found.H.shape == (0, size, size)
    assert found.xx.shape == (0, 2 * robot.nv, 2 * robot.nv)


def test_what_is_refused() -> None:
    robot, _ = tree_for_tests(0, ("revolute",))
    sim = MinimalSimulation(robot, 0.01, integrator="galerkin", order=4)
    complex_ones = np.ones(12) + 1e-9j
    for wrong in (np.ones(5), np.ones((2, 2, 12)), np.full(12, np.nan), "all", 1.0, complex_ones):
        with pytest.raises(OptionError, match=r"multipliers must be \(12,\) or \(m, 12\) finite"):
            second_derivatives(sim, wrong)
    with pytest.raises(OptionError, match=r"takes a MinimalSimulation.*not Simulation"):
        second_derivatives(Simulation(robot), np.ones(12))
