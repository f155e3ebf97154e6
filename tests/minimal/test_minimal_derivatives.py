"""Derivatives of steps in joint coordinates beside differences, and where they are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from joint_lagrangian import robot_for_tests, simulation_for_tests, slopes
from robots import EVERYTHING, Array, chain, top

from robosim import (
    Body,
    ControllerError,
    ConvergenceError,
    Joint,
    Mechanism,
    MinimalSimulation,
    OptionError,
    linearize,
)
from robosim.controllers import PD
from robosim.derivatives import Linearization
from robosim.linearization.parameters import parameter

SCHEMES = [("newton", 2), ("riqn", 2), ("galerkin", 2), ("galerkin", 4)]
TOLERANCE = 1e-12  # [m/s] of the steps that differences are of
STEP = 3e-3  # of differences, whose error is of its sixth power


def simulation(robot: Mechanism, scheme: tuple[str, int], timestep: float) -> MinimalSimulation:
    return MinimalSimulation(
        robot,
        timestep,
        integrator=scheme[0],
        order=scheme[1],
        tolerance=TOLERANCE,
        ignore=EVERYTHING,
    )


def by_differences(sim: MinimalSimulation, controller: PD | None = None) -> Array:
    """(2 nv, 2 nv + nu) of the simulation's own steps."""
    robot, nv, tangent = sim.robot, sim.robot.nv, sim.dynamics
    q, v, tau, one = sim.q, sim.v, np.array(sim.torques), sim.copy()

    def end(x: Array) -> tuple[Array, Array]:
        one.set_state(tangent.integrate(q, x[:nv]), v + x[nv : 2 * nv], time=sim.time)
        one.engine.parts.loads.external["w"] = sim.engine.parts.loads.external["w"]
        if controller is None:
            forces = tau.copy()
            forces[robot.actuated] += x[2 * nv :] if len(x) > 2 * nv else 0.0
            one.step(forces)
        else:
            one.run(one.timestep, controller)
        return one.q, one.v

    middle = end(np.zeros(2 * nv))

    def change(x: Array) -> Array:
        there = end(x)
        return np.concatenate((tangent.difference(middle[0], there[0]), there[1] - middle[1]))

    return slopes(change, np.zeros(2 * nv + (0 if controller else robot.nu)), STEP)


def compare(sim: MinimalSimulation, controller: PD | None = None) -> Linearization:
    """To 1e-8 of the largest entry of each column."""
    found = linearize(sim, controller=controller)
    expected = by_differences(sim, controller)
    matrix = found.A if controller else np.hstack((found.A, found.B))
    off = np.abs(matrix - expected).max(axis=0) / np.maximum(np.abs(expected).max(axis=0), 1e-2)
    assert off.max() < 1e-8
    assert found.contacts == ()
    assert found.margin == np.inf
    return found


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: f"{s[0]}-{s[1]}")
def test_a_branched_tree_with_all_forces(scheme: tuple[str, int]) -> None:
    """A free base, springs, dampers, rotors, drag, wrenches and torques."""
    robot, q, v = robot_for_tests()
    # Iterations of RIQN do not know that drag resists.
    sim = simulation_for_tests(robot, q, v, 0.002 if scheme[0] == "riqn" else 0.01, *scheme)
    sim.step(np.random.default_rng(1).normal(size=robot.nv))
    compare(sim)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: f"{s[0]}-{s[1]}")
def test_bodies_that_spin(scheme: tuple[str, int], a1: Mechanism) -> None:
    """A top, balls that hang on each other, and the A1 in the air; the step that is predicted."""
    rng = np.random.default_rng(2)
    for robot, timestep in ((top(), 0.02), (chain(3), 0.01), (a1, 0.005)):
        sim = simulation(robot, scheme, timestep)
        sim.set_state(v=2.0 * rng.normal(size=robot.nv))
        sim.step(rng.normal(size=robot.nu))
        found = compare(sim)
        sim.step(sim.torques)
        np.testing.assert_allclose(found.q, sim.q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(found.v, sim.v, rtol=0, atol=1e-10)
        assert found.inputs == tuple(robot.actuated_names)


@pytest.mark.parametrize("implicit", [False, True], ids=["held", "servo"])
@pytest.mark.parametrize("scheme", [("riqn", 2), ("galerkin", 4)], ids=["riqn", "galerkin"])
def test_the_closed_loop(scheme: tuple[str, int], implicit: bool, a1: Mechanism) -> None:
    sim = simulation(a1, scheme, 1e-3)
    rng = np.random.default_rng(3)
    sim.set_state(v=rng.normal(size=a1.nv), time=0.4)
    moving = PD(a1, lambda t: 0.3 * np.sin(np.outer(t, np.arange(12))), 20.0, 0.3,
                implicit=implicit)  # fmt: skip
    for pd in (PD(a1, 0.1, 20.0, 0.3, limit=8.0, implicit=implicit), moving):
        found = compare(sim, pd)
        assert np.abs(found.A - linearize(sim).A).max() > 1e-3
    np.testing.assert_array_equal(sim.torques, 0.0)


@pytest.mark.parametrize("scheme", [("newton", 2), ("galerkin", 4)], ids=["newton", "galerkin"])
def test_parameters(scheme: tuple[str, int]) -> None:
    robot, q, v = robot_for_tests()
    names = ["damping", "stiffness:j1", "damping:j5", "armature:j3", "mass:b0", "mass:b3"]
    joints = {"j1": {"stiffness": 0.7}, "j5": {"damping": 0.3}, "j3": {"armature": 0.1}}
    robot = replace(
        robot,
        joints=tuple(replace(j, **joints[j.name]) if j.name in joints else j for j in robot.joints),
    )
    # As many as take the directions twice.
    names += ["stiffness", "armature", "mass:b5"]

    def end(name: str, change: float) -> Array:
        value, varied = parameter(robot, name)
        sim = simulation(varied(value + change), scheme, 0.01)
        sim.set_state(q, v)
        sim.step()
        return np.concatenate((sim.q, sim.v))

    sim = simulation(robot, scheme, 0.01)
    sim.set_state(q, v)
    found = linearize(sim, parameters=names)
    assert found.parameters == tuple(names)
    for k, name in enumerate(names):
        expected = slopes(lambda x, name=name: end(name, x[0]), np.zeros(1), STEP)[:, 0]
        by_velocity = expected[robot.nq :]
        size = np.abs(by_velocity).max()
        assert size > 1e-6, name
        np.testing.assert_allclose(
            found.P[robot.nv :, k], by_velocity, rtol=0, atol=1e-7 * size, err_msg=name
        )


@pytest.mark.parametrize("scheme", [("newton", 2), ("galerkin", 2)], ids=["newton", "galerkin"])
def test_a_pendulum(scheme: tuple[str, int]) -> None:
    """One hinge makes Verlet's method of both schemes of order two.

    q' = q + h v - h^2 w / 2 sin q + h^2 u / (2 I), and v' = v - h w (sin q + sin q') / 2 + h u / I.
    """
    mass, length, inertia, h, g = 1.4, 0.3, 0.02, 0.05, 9.81
    body = Body("bob", mass, inertia * np.eye(3))
    hinge = Joint("hinge", "revolute", None, "bob", axis=(0, 1, 0), child_position=(0, 0, length))
    sim = simulation(Mechanism("pendulum", (body,), (hinge,)), scheme, h)
    q, v, u = 0.8, -1.7, 0.6
    sim.set_state([q], [v])
    found = linearize(sim, [u], parameters=("mass:bob",))
    about = inertia + mass * length**2
    w = mass * g * length / about
    end = q + h * v - h**2 * w / 2 * np.sin(q) + h**2 * u / (2 * about)
    by_mass, by_inertia = g * length * inertia / about**2, -(length**2) / about**2
    # Derivatives of q' and v' by q, v, u and the mass.
    bend, half = h**2 / 2, h / 2
    by_q = 1 - bend * w * np.cos(q), -half * w * np.cos(q)
    by_u = bend / about, h / about
    by_m = (
        -bend * np.sin(q) * by_mass + bend * u * by_inertia,
        -half * (np.sin(q) + np.sin(end)) * by_mass + h * u * by_inertia,
    )
    rows, rates = np.array((by_q, (h, 1.0), by_u, by_m)).T
    rates -= half * w * np.cos(end) * rows
    assert found.q[0] == pytest.approx(end, abs=1e-13)
    np.testing.assert_allclose(
        np.hstack((found.A, found.B, found.P)), (rows, rates), rtol=0, atol=1e-10
    )


def test_several_at_once_and_what_is_refused(a1: Mechanism) -> None:
    robot = chain(2)
    sims = [simulation(robot, ("newton", 2), h) for h in (1e-2, 1e-2, 2e-2)]
    sims[1].set_state(v=np.ones(robot.nv))
    found = linearize(sims)
    assert found.A.shape == (3, 2 * robot.nv, 2 * robot.nv)
    for k, sim in enumerate(sims):
        np.testing.assert_array_equal(found.A[k], linearize(sim).A)
    air = simulation(a1, ("newton", 2), 1e-3)
    for options, told in (
        ({"parameters": ("friction:FR_foot",)}, "friction:FR_foot.*neither"),
        ({"parameters": ("dry_friction",)}, "dry_friction.*neither"),
        ({"parameters": ("mass:nobody",)}, "mass:nobody"),
        ({"parameters": ("damping:FR_hip_joint",)}, "is zero"),
        ({"contact_speed": 1e-3}, "contact_speed"),
        ({"contact_speed": 0.0}, "contact_speed"),
        ({"controller": "stand"}, "controller must be a PD"),
    ):
        with pytest.raises(OptionError, match=told):
            linearize(air, **options)
    with pytest.raises(ControllerError, match="linearize was given shape"):
        linearize(air, np.zeros(5))
    with pytest.raises(ControllerError, match="12 actuators"):
        linearize(sims[0], controller=PD(a1, 0.0, 1.0, 1.0))
    with pytest.raises(OptionError, match="without any"):
        linearize([])


def test_a_step_that_fails_has_no_derivatives() -> None:
    sim = simulation(chain(3), ("newton", 2), 0.2)
    sim.set_state(v=40.0 * np.ones(9), time=2.0)
    with pytest.raises(ConvergenceError) as failed:
        sim.step()
    with pytest.raises(ConvergenceError) as raised:
        linearize(sim)
    assert raised.value.time == failed.value.time == 2.0
