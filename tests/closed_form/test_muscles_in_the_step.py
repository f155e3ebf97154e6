"""Muscles that are laws of their length within a step, and drag, against motions on paper.

All robots here have a muscle and a body with drag, so that they share their compiled kernels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism, ModelError, Simulation, StateError, Tendon, linearize
from robosim.actuators import Actuator, Drive
from robosim.minimal import MinimalSimulation
from robosim.muscles import Activation, HillMuscle
from robosim.tendons import Point, Wrap

G = 9.81
FALL = (0.0, 0.0, -G)
MUSCLE = HillMuscle(100.0, 0.1, 0.2, 100.0)
BALL = Body("ball", 1.5, np.diag((0.2, 0.3, 0.4)), drag=0.6)
FREE = Joint("free", "floating", None, "ball", parent_position=(5, 0, 0))


def robot_of(body: Body, joint: Joint, actuator: Actuator, tendons: tuple[Tendon, ...] = ()):  # type: ignore[no-untyped-def]
    return Mechanism("m", (body, BALL), (joint, FREE), tendons=tendons, actuators=(actuator,))


def lifter(on: str) -> Mechanism:
    """A weight of 2 kg that hangs on a muscle, along its slide or along a tendon's path."""
    slide = Joint("slide", "prismatic", None, "weight", axis=(0, 0, -1))
    path = Tendon("path", (Point(None), Point("weight")))
    actuator = Actuator("muscle", {on: 1.0}, muscle=MUSCLE, implicit=True)
    body = Body("weight", 2.0, 0.01 * np.eye(3))
    return robot_of(body, slide, actuator, (path,) if on == "path" else ())


def holding(length: float) -> float:
    """The activation at which the weight hangs at this length."""
    resting, full = (MUSCLE.law(a, length, 0.0)[0] for a in (0.0, 1.0))
    return (2.0 * G + resting) / (resting - full)


ON = ["slide", "path"]  # by the articulated solver, and by that with multipliers


@pytest.mark.parametrize("on", ON)
def test_a_weight_hangs_still(on: str) -> None:
    """Where a f_L(l) f_max = m g."""
    sim = Simulation(lifter(on), 0.01)
    assert sim.solver == ("ldu" if on == "path" else "articulated")
    for length in (0.28, 0.3, 0.32):
        a = holding(length)
        f_L, f_P = MUSCLE.active.at(length * 10 - 2)[0], MUSCLE.passive.at(length * 10 - 2)[0]
        assert 100 * (a * f_L + f_P) == pytest.approx(2 * G)
        q = [length, *sim.robot.home[1:]]
        sim.set_state(q)
        sim.set_controls([a])
        sim.run(0.2)
        assert sim.q[0] == pytest.approx(length, abs=1e-9)
        assert sim.v[0] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("on", ON)
def test_small_motions_decay_with_the_roots_of_stiffness_and_damping(on: str) -> None:
    """Of m s^2 + D s + K, with an error of second order in the timestep."""
    length, small, seconds = 0.28, 1e-4, 0.2
    a = holding(length)
    _, stiffness, damping = MUSCLE.law(a, length, 0.0)
    assert stiffness < 0
    assert damping < 0
    roots = np.roots((2.0, -damping, -stiffness)).astype(complex)
    assert roots[0].imag
    # At x' = 0: x = small (r1 exp(r0 t) - r0 exp(r1 t)) / (r1 - r0).
    waves = np.exp(roots * seconds)
    exact = small * (roots[1] * waves[0] - roots[0] * waves[1]) / (roots[1] - roots[0])
    errors = []
    for dt in (0.01, 0.005, 0.0025):
        sim, ends = Simulation(lifter(on), dt, tolerance=1e-12), []
        for sign in (1, -1):
            sim.set_state([length + sign * small, *sim.robot.home[1:]])
            sim.set_controls([a])
            sim.run(seconds)
            ends.append(sim.q[0])
        # Of both sides what is odd: curvature of the law drops out.
        errors.append((ends[0] - ends[1]) / 2 - exact.real)
    rates = np.log2(np.abs(errors[:-1]) / np.abs(errors[1:]))
    np.testing.assert_allclose(rates, 2.0, atol=0.1)
    assert abs(errors[-1]) < 1e-3 * small


def arm(implicit: bool) -> Mechanism:
    """A forearm of 0.3 kg in a horizontal plane, between two muscles of 1500 N."""
    body = Body("forearm", 0.3, np.diag((1e-4, 2e-3, 2e-3)))
    elbow = Joint(
        "elbow", "revolute", None, "forearm", axis=(0, 0, 1), child_position=(-0.15, 0, 0)
    )
    # Around the elbow, so that arms are of 3 cm at all angles; at 0 the path is 401 mm long.
    strong = HillMuscle(1500.0, 0.1, 0.31, 10.0)
    fast = Activation("muscle", (0.01, 0.04, 0.0), (0.0, 1.0))
    tendons, muscles = [], []
    for name, side in (("flexor", 0.02), ("extensor", -0.02)):
        around = Wrap("cylinder", None, 0.03, side=Point(None, (0, 5 * side, 0)))
        path = (Point(None, (-0.3, side, 0)), around, Point("forearm", (-0.05, side, 0)))
        tendons.append(Tendon(name, path))
        one = {"activation": fast, "muscle": strong, "implicit": implicit}
        muscles.append(Actuator(f"{name}_muscle", {name: 1.0}, **one))
    robot = robot_of(body, elbow, muscles[0], tuple(tendons))
    return replace(robot, actuators=tuple(muscles))


def test_a_light_arm_with_strong_muscles_is_stable_at_ten_milliseconds() -> None:
    """Where forces that are held over the step never come to rest."""
    left = {}
    for implicit in (True, False):
        robot = arm(implicit)
        sim = Simulation(robot, 0.01)
        sim.set_state([0.3, *robot.home[1:]])
        log = sim.run(1.5, Drive(robot, lambda _: (0.6, 0.5), (0.6, 0.5)))
        left[implicit] = np.abs(log.v[-30:, 0]).max()
    assert left[True] < 1e-3
    assert left[False] > 1


def test_controls_are_held_carried_and_forgotten() -> None:
    """By `Drive` activations go on step by step; copies have them, and starts take them away."""
    robot = arm(True)
    sim = Simulation(robot, 0.01)
    drive = Drive(robot, lambda _: (1.0, 0.0))
    sim.run(0.05, drive)
    activation = robot.actuators[0].activation
    assert activation is not None
    value = 0.0
    for _ in range(4):
        value = activation.advanced(1.0, value, 0.01)
    np.testing.assert_allclose(sim.controls, (value, 0.0), rtol=1e-15)
    assert activation.advanced(1.0, value, 0.01) == drive.activations[0]
    other = sim.copy()
    sim.run(0.05)
    other.run(0.05)
    np.testing.assert_array_equal(sim.q, other.q)
    sim.restore(other)
    np.testing.assert_array_equal(sim.controls, other.controls)
    sim.set_controls([2.0, -1.0])
    np.testing.assert_array_equal(sim.controls, (1.0, 0.0))  # as far as activations go
    sim.set_state()
    np.testing.assert_array_equal(sim.controls, (0.0, 0.0))
    with pytest.raises(StateError, match=r"controls must be finite numbers of shape \(2,\)"):
        sim.set_controls([1.0])


@pytest.mark.parametrize("on", ON)
def test_drag_stops_a_body_and_what_it_falls_to(on: str) -> None:
    """v decays with d/m, a fall ends at m g / d, a spin about a principal axis decays with d/J."""
    d, m, J, seconds = 0.6, 1.5, np.array((0.2, 0.3, 0.4)), 0.5
    errors = []
    for dt in (0.02, 0.01):
        sim = Simulation(lifter(on), dt, tolerance=1e-12)
        robot = sim.robot
        v = np.zeros(robot.nv)
        v[1:] = 2.0, 0.0, 1.0, 0.0, 0.0, 3.0
        sim.set_state(robot.home, v)
        sim.run(seconds)
        slow = np.exp(-d / m * seconds)
        expected = 2.0 * slow, 0.0, -m * G / d + (1.0 + m * G / d) * slow
        spin = 3.0 * np.exp(-d / J[2] * seconds)
        errors.append(np.abs(sim.v[1:] - (*expected, 0.0, 0.0, spin)).max())
        assert sim.step().iterations <= 3
    assert errors[1] < 5e-4
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def tumbler(drag: np.ndarray) -> Mechanism:
    """A body that turns about all axes as drag of all kinds acts on it."""
    robot = lifter("slide")
    ball = replace(BALL, drag=drag)
    return replace(robot, bodies=(robot.bodies[0], ball))


def test_drag_of_a_tumbling_body_is_that_of_joint_coordinates() -> None:
    """Not isotropic, and not symmetric, by another formulation that has it, at fine steps."""
    drag = 0.3 * (np.diag(np.arange(1.0, 7.0)) + 0.3 * np.eye(6, k=3) - 0.2 * np.eye(6, k=-2))
    robot = tumbler(drag)
    v = np.array((0.0, 1.0, 2.0, -1.0, 3.0, -2.0, 4.0))
    other = MinimalSimulation(replace(robot, actuators=()), 2e-3)
    other.set_state(v=v)
    other.run(0.4)
    differences = []
    for dt in (0.02, 0.01):
        sim = Simulation(robot, dt, tolerance=1e-12)
        sim.set_state(v=v)
        sim.run(0.4)
        differences.append(np.abs(sim.q[1:] - other.q[1:]).max())
    assert differences[1] < 3e-3
    assert np.log2(differences[0] / differences[1]) == pytest.approx(2.0, abs=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("on", ON)
def test_drag_and_muscles_have_derivatives(on: str) -> None:
    """Of a step, exact, against differences of steps from states nearby."""
    robot, h = lifter(on), 1e-5
    sim = Simulation(robot, 0.01, tolerance=1e-13)
    q, v = robot.home.copy(), np.zeros(robot.nv)
    q[0], v[0], v[4] = 0.285, 0.3, 2.0
    sim.set_state(q, v)
    sim.set_controls([0.4])
    A = linearize(sim).A
    for k, at in ((0, q), (robot.nv, v), (robot.nv + 1, v), (robot.nv + 4, v)):
        ends = []
        for sign in (1, -1):
            at[k % robot.nv] += sign * h
            sim.set_state(q, v)
            sim.set_controls([0.4])
            sim.step()
            ends.append(np.concatenate((sim.q[:1], sim.v)))
            at[k % robot.nv] -= sign * h
        rows = [0, *range(robot.nv, 2 * robot.nv)]
        np.testing.assert_allclose(A[rows, k], (ends[0] - ends[1]) / (2 * h), atol=1e-5)


def test_what_does_not_have_them_refuses_them() -> None:
    with pytest.raises(ModelError, match=r"actuator 'muscle'.*is implicit"):
        MinimalSimulation(lifter("slide"))
    sim = Simulation(lifter("slide"), 0.01, lanes=True)
    assert not sim.lanes
    with pytest.raises(ModelError, match=r"body 'a'.*drag must not give energy"):
        Body("a", 1.0, np.eye(3), drag=-1.0)
