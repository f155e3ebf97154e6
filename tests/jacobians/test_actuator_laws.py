"""Compiled laws of implicit actuators and of drag: their values, and what they differentiate to."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_for_tests import actuator_at, drag_at, law_at, parts_of

from robosim import Body, Joint, Mechanism, Simulation, quaternions
from robosim.actuators import Actuator
from robosim.muscles import HillMuscle, Muscle

DT = 0.02
HILL = HillMuscle(100.0, 0.1, 0.2, 10.0)
OF_MUJOCO = Muscle(100.0, (0.2, 0.5))


def slider() -> Mechanism:
    """A body on a slide, with one of each kind of actuator along it."""
    slide = Joint("slide", "prismatic", None, "b", axis=(1, 0, 0), stiffness=3.0, damping=0.5)
    actuators = (
        Actuator("hill", {"slide": 0.5}, muscle=HILL, implicit=True),
        Actuator("held", {"slide": 1.0}),
        Actuator("mujoco", {"slide": -0.6}, muscle=OF_MUJOCO, implicit=True),
        Actuator("servo", {"slide": 2.0}, (0, 0.5, -0.3), (0.1, -3, -0.2), implicit=True),
        Actuator("weak", {"slide": 1.0}, bias=(0, -9, 0), force_range=(-5.4, 5.4), implicit=True),
    )
    drag = np.diag(np.arange(1.0, 7.0)) + 0.3 * np.eye(6, k=2)
    body = Body("b", 1.0, np.diag((1.0, 1.2, 1.4)), drag=drag)
    return Mechanism("slider", (body,), (slide,), actuators=actuators)


def states(rng: np.random.Generator, n: int):  # type: ignore[no-untyped-def]
    """Coordinates, rates and controls over all pieces of the curves."""
    return zip(rng.uniform(-1, 1, n), rng.normal(size=n), rng.uniform(0, 1, n), strict=True)


@pytest.fixture(scope="module")
def sim() -> Simulation:
    return Simulation(slider(), DT)


def test_compiled_laws_are_those_of_the_description(sim: Simulation) -> None:
    robot, actuators = sim.robot, sim.parts.model.actuators
    implicit = [actuator for actuator in robot.actuators if actuator.implicit]
    saturated = 0
    for q, u, control in states(np.random.default_rng(0), 300):
        for n, actuator in enumerate(implicit):
            (gear,) = actuator.gears.values()
            force, stiffness, damping = actuator.law(control, gear * q, gear * u)
            expected = gear * force, gear**2 * stiffness, gear**2 * damping
            found = actuator_at(actuators, n, control, q, u)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)
            saturated += actuator.name == "weak" and stiffness == 0
    assert 0 < saturated < 300


def law(sim: Simulation, q1: float, q2: float) -> tuple[float, float, float]:
    """law, half and A over an interval."""
    work = sim.parts.work
    sim.parts.state.q[0] = q1
    sim.parts.state.joints["rotor"] = 0.0
    work.pose2[0]["x"], work.pose2[0]["R"] = (q2, 0, 0), np.eye(3)
    model, state, _, loads, work = parts_of(sim)
    law_at(model, state, loads, work, 0, DT)
    w = work.joints[0]
    return w["law"][0], w["half"][0], w["A"][0, 0]


def test_the_answer_to_a_rate_is_a_difference(sim: Simulation) -> None:
    """Half at either knot, of the force in the middle; A is the slope of the law by the rate."""
    controls, h = np.array([0.6, 0.0, 0.8, 0.4, 0.0]), 1e-6
    sim.set_controls(controls)
    for q1, q2 in ((0.53, 0.54), (-0.5, -0.505), (0.61, 0.6)):
        middle, u = (q1 + q2) / 2, (q2 - q1) / DT
        force = -3.0 * middle - 0.5 * u
        for actuator, control in zip(sim.robot.actuators, controls, strict=True):
            (gear,) = actuator.gears.values()
            if actuator.implicit:
                force += gear * actuator.law(control, gear * middle, gear * u)[0]
        found, half, A = law(sim, q1, q2)
        assert half == pytest.approx(0.5 * DT * force, rel=1e-12)
        assert found == pytest.approx(half, rel=1e-12)
        up, down = (law(sim, q1, q2 + s * h * DT)[0] for s in (1, -1))
        assert pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-9) == A


def test_drag_against_its_tangent(sim: Simulation) -> None:
    """What a knot takes, in world axes, and its derivative by (dv, psi): dP = dt/2 psi P."""
    rng, h, parts = np.random.default_rng(3), 1e-6, sim.parts
    poses, motions = parts.work.pose2.copy(), parts.work.bodies.copy()
    R = quaternions.rotation_matrix(quaternions.normalized(rng.normal(size=4)))
    P = quaternions.from_rotation_vector(0.1 * rng.normal(size=3))
    v = rng.normal(size=3)
    poses["R"][0], C, tangent, out = R, parts.work.drags.copy(), np.zeros((6, 6)), parts.work.known

    def taken(v: np.ndarray, P: np.ndarray) -> np.ndarray:
        motions["v"][0], motions["P"][0] = v, P
        drag_at(parts.model.drags, poses, motions, DT, C, tangent, out)
        return -out["w"][0]

    both = np.kron(np.eye(2), R)
    drag = both @ np.asarray(sim.robot.bodies[0].drag) @ both.T
    twist = np.concatenate((v, 2 / DT * P[1:]))
    np.testing.assert_allclose(taken(v, P), DT / 2 * drag @ twist, rtol=1e-12)
    slope = tangent.copy()
    for k in range(6):
        step = h * np.eye(6)[k]
        ends = []
        for sign in (1, -1):
            turn = quaternions.from_rotation_vector(sign * DT * step[3:])
            ends.append(taken(v + sign * step[:3], quaternions.multiply(turn, P)))
        np.testing.assert_allclose(slope[:, k], (ends[0] - ends[1]) / (2 * h), atol=1e-8)
