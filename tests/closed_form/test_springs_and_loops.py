"""Springs, dampers, rotors, gears, motions and a closed loop, against their own equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from robosim import Body, Coupling, Dynamics, Joint, Mechanism, PointSpring, Potential, Simulation
from robosim.controllers import PD
from robosim.models.builders import pendulum
from robosim.quaternions import rotation_vector

Array = NDArray[np.float64]
G = 9.81
NO_GRAVITY = (0.0, 0.0, 0.0)
TIMESTEPS = (0.02, 0.01, 0.005)


def exact_motion(acceleration: Callable, q: float, v: float, seconds: float) -> Callable:
    """(q, v) as a function of t of q'' = acceleration(t, q, v)."""
    solution = solve_ivp(
        lambda t, y: (y[1], acceleration(t, *y)),
        (0, seconds),
        (q, v),
        "DOP853",
        rtol=1e-12,
        atol=1e-12,
        dense_output=True,
    )
    return lambda t: solution.sol(np.minimum(t, seconds))


def assert_second_order(
    robot: Mechanism, q: Array, v: Array, acceleration: Callable, seconds: float = 1.5, **options
) -> None:
    """The first coordinate against its own equation of motion, at the knots, and its rate."""
    exact = exact_motion(acceleration, q[0], v[0], seconds)
    errors = []
    for dt in TIMESTEPS:
        sim = Simulation(robot, dt, **options)
        sim.set_state(q, v)
        log = sim.run(seconds)
        found = np.array((np.append(log.q[:, 0], sim.q[0]), np.append(log.v[:, 0], sim.v[0])))
        difference = np.abs(found - exact(np.append(log.t, sim.time)))
        errors.append(difference.max(axis=1))
    assert errors[-1].min() > 1e-9  # not a comparison of rounding errors
    for coarse, fine in pairwise(errors):
        assert np.log2(coarse / fine) == pytest.approx([2.0, 2.0], abs=0.1)


@pytest.mark.parametrize(
    "components",
    [
        {"stiffness": 8.0, "rest": 0.4},
        {"damping": 0.3},
        {"armature": 0.2},
        {"potential": Potential.sample(lambda x: 2 * np.cos(3 * x), -7.0, 7.0, 513)},
        {"stiffness": 3.0, "rest": -0.2, "damping": 0.1, "armature": 0.5},
    ],
    ids=lambda components: "-".join(components),
)
def test_a_pendulum_with_what_acts_along_its_hinge(components):
    """(m l^2 / 3 + I) q'' = -m g l / 2 sin q - k (q - rest) - V'(q) - d q'."""
    (joint,) = pendulum().joints
    robot = replace(pendulum(), joints=(replace(joint, **components),))
    k, rest, d, rotor = (components.get(s, 0) for s in ("stiffness", "rest", "damping", "armature"))

    def acceleration(_: float, q: float, v: float) -> float:
        slope = -6 * np.sin(3 * q) if "potential" in components else 0.0
        return (-G / 2 * np.sin(q) - k * (q - rest) - slope - d * v) / (1 / 3 + rotor)

    assert_second_order(robot, np.array([1.2]), np.array([0.5]), acceleration)


def ball(stiffness, inertia: float = 0.1, **changes) -> Mechanism:
    """A round body held at its centre, with a spring that turns it back."""
    joint = Joint("ball", "spherical", None, "b", stiffness=stiffness, **changes)
    return Mechanism("ball", (Body("b", 1.0, inertia * np.eye(3)),), (joint,))


def test_the_spring_of_a_ball_joint():
    """About a fixed axis I a'' = -k a, for angles up to nearly half a turn."""
    axis = np.array([1.0, 2.0, -2.0]) / 3
    errors = []
    for dt in TIMESTEPS:
        sim = Simulation(ball(2.0, damping=0.05, armature=0.1), dt, NO_GRAVITY)
        sim.set_state(np.append(np.cos(1.3), np.sin(1.3) * axis))
        log = sim.run(1.0)
        exact = exact_motion(lambda t, q, v: (-2.0 * q - 0.05 * v) / 0.2, 2.6, 0.0, 1.0)(log.t)
        vectors = np.array([rotation_vector(q) for q in log.q])
        np.testing.assert_allclose(np.cross(vectors, axis), 0, atol=1e-9)
        errors.append(
            (np.abs(vectors @ axis - exact[0]).max(), np.abs(log.v @ axis - exact[1]).max())
        )
    for coarse, fine in pairwise(errors):
        assert np.log2(np.divide(coarse, fine)) == pytest.approx([2.0, 2.0], abs=0.1)


def test_a_ball_joint_with_three_springs_and_rotors_keeps_its_energy():
    """Different about every axis: forces that are no energy's derivative would show as a trend."""
    robot = ball((1.0, 2.0, 4.0), armature=(0.05, 0.1, 0.3))
    ends = []
    for dt in (0.01, 0.005):
        sim = Simulation(robot, dt, NO_GRAVITY)
        sim.set_state([np.cos(0.5), np.sin(0.5) * 0.6, 0.0, np.sin(0.5) * 0.8], [1.0, 2.0, -1.0])
        start = sim.energy()
        ends.append([sim.energy() - start for _ in sim.stream(40.0, chunk_steps=10)])
    largest = [np.abs(e).max() for e in ends]
    assert largest[0] < 0.02 * start
    assert largest[0] / largest[1] == pytest.approx(4.0, rel=0.3)
    halves = np.array(ends[0]).reshape(2, -1).mean(axis=1)
    assert abs(halves[1] - halves[0]) < np.std(ends[0]) / 3


def wagon(motion: Callable[[float], float]) -> Mechanism:
    """A rod of 1 m and 1 kg hanging from a cart that is driven along x."""
    inertia = np.diag([1 / 12, 1 / 12, 1e-3])
    return Mechanism(
        "wagon",
        (Body("cart", 2.0, np.eye(3)), Body("rod", 1.0, inertia)),
        (
            Joint("rail", "prismatic", None, "cart", axis=(1, 0, 0), motion=motion),
            Joint("hinge", "revolute", "cart", "rod", (0, 1, 0), child_position=(0, 0, 0.5)),
        ),
    )


def test_a_driven_joint_is_where_it_is_driven():
    """At every knot, whatever hangs on it, and its rate is the motion's."""
    sim = Simulation(wagon(lambda t: 0.3 * np.sin(5 * t)), 0.01)
    sim.set_state([0.0, 0.8])
    log = sim.run(2.0)
    # Within the tolerance of a step: 1e-8 m/s times the step.
    np.testing.assert_allclose(log.q[:, 0], 0.3 * np.sin(5 * log.t), rtol=0, atol=1e-10)
    # Rates are differences over a thousandth of the step.
    np.testing.assert_allclose(log.v[:, 0], 1.5 * np.cos(5 * log.t), rtol=0, atol=1e-8)


def test_what_hangs_on_a_driven_joint():
    """A rod whose pivot moves: q'' = -3/2 (g sin q - x'' cos q)."""
    exact = exact_motion(
        lambda t, q, v: -1.5 * (G * np.sin(q) + 7.5 * np.sin(5 * t) * np.cos(q)), 0.8, 0.0, 1.5
    )
    errors = []
    for dt in TIMESTEPS:
        sim = Simulation(wagon(lambda t: 0.3 * np.sin(5 * t)), dt)
        sim.set_state([0.0, 0.8], [1.5, 0.0])
        log = sim.run(1.5)
        errors.append(np.abs(np.array((log.q[:, 1], log.v[:, 1])) - exact(log.t)).max(axis=1))
    for coarse, fine in pairwise(errors):
        assert np.log2(coarse / fine) == pytest.approx([2.0, 2.0], abs=0.1)


@pytest.mark.parametrize("own", [{}, {"stiffness": 3.0, "damping": 0.5, "armature": 0.4}])
def test_the_drive_is_what_hybrid_dynamics_says(own):
    """The mean over a step, at order two; springs and rotors of a rail are in its drive."""
    robot = wagon(lambda t: 0.3 * np.sin(5 * t))
    rail, hinge = robot.joints
    hinge = replace(hinge, stiffness=2.0, rest=0.3, damping=0.2, armature=0.1)
    robot = replace(robot, joints=(replace(rail, **own), hinge))
    dynamics, torque, errors = Dynamics(robot, tree=True), [0.0, 0.7], []
    k, d, rotor = (own.get(what, 0.0) for what in ("stiffness", "damping", "armature"))
    for dt in TIMESTEPS:
        sim = Simulation(robot, dt)
        sim.set_state([0.0, 0.8], [1.5, 0.0])
        needed, found = [], []
        for n in range(round(1.5 / dt) + 1):
            if n:
                sim.step(torque)
                found.append(sim.drive_forces()["rail"])
            q, v, a = sim.q.copy(), sim.v.copy(), -7.5 * np.sin(5 * sim.time)
            _, tau, _ = dynamics.hybrid_dynamics(q, v, torque, {"rail": a})
            needed.append(tau[0] - k * q[0] - d * v[0] - rotor * a)
        means = 0.5 * (np.array(needed[1:]) + needed[:-1])
        errors.append(np.abs(found - means).max())
    assert errors[-1] < 4e-3
    for coarse, fine in pairwise(errors):
        assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.1)


def test_a_step_in_parts_ends_where_it_is_driven():
    """Of order four, with parts that go beyond the step and back."""
    sim = Simulation(wagon(lambda t: 0.3 * np.sin(5 * t)), 0.02, order=4)
    sim.set_state([0.0, 0.8])
    log = sim.run(1.0)
    np.testing.assert_allclose(log.q[:, 0], 0.3 * np.sin(5 * log.t), rtol=0, atol=1e-9)


def gears(ratio: float, offset: float) -> Mechanism:
    """An eccentric wheel, geared to a round one of 0.3 kg m^2."""
    return Mechanism(
        "gears",
        (Body("heavy", 1.0, 0.2 * np.eye(3)), Body("round", 1.0, 0.3 * np.eye(3))),
        (
            Joint("a", "revolute", None, "heavy", (0, 1, 0), child_position=(0, 0, 0.5)),
            Joint("b", "revolute", None, "round", (0, 1, 0), parent_position=(2, 0, 0)),
        ),
        couplings=(Coupling("gear", "b", "a", ratio, offset),),
    )


@pytest.mark.parametrize(("ratio", "offset"), [(-2.0, 0.0), (0.5, 0.3)])
def test_a_gear_train(ratio, offset):
    """(m l^2 + I + r^2 I') q'' = -m g l sin q."""
    q, v = np.array([1.0, ratio + offset]), np.array([0.4, 0.4 * ratio])
    inertia = 0.25 + 0.2 + ratio**2 * 0.3
    assert_second_order(gears(ratio, offset), q, v, lambda t, q, v: -G * 0.5 * np.sin(q) / inertia)
    sim = Simulation(gears(ratio, offset), 0.01)
    sim.set_state(q, v)
    log = sim.run(1.0)
    np.testing.assert_allclose(log.q[:, 1], ratio * log.q[:, 0] + offset, rtol=0, atol=1e-9)
    np.testing.assert_allclose(log.v[:, 1], ratio * log.v[:, 0], rtol=0, atol=1e-9)


CRANK, ROD = 0.3, 0.8


def rod(name: str, length: float) -> Body:
    return Body(name, 1.0, np.diag([1e-3, length**2 / 12, length**2 / 12]))


def slider_crank(**components) -> Mechanism:
    """Angles turn x towards z; held in its plane by every hinge, the loop is overconstrained."""
    across = (0.0, -1.0, 0.0)
    turning = Joint("crank", "revolute", None, "crank", across, (0, 0, 0), (-CRANK / 2, 0, 0))
    return Mechanism(
        "slider-crank",
        (rod("crank", CRANK), rod("rod", ROD), Body("slider", 0.5, np.eye(3))),
        (
            replace(turning, **components),
            Joint("pin", "revolute", "crank", "rod", across, (CRANK / 2, 0, 0), (-ROD / 2, 0, 0)),
            Joint("slide", "prismatic", None, "slider", (1, 0, 0)),
            Joint("wrist", "revolute", "rod", "slider", across, (ROD / 2, 0, 0)),
        ),
    )


def slider_crank_state(angle: float, rate: float) -> tuple[Array, Array]:
    """q and v of the tree's joints from the crank's angle and rate."""
    tilt = -np.arcsin(CRANK * np.sin(angle) / ROD)
    turn = -CRANK * np.cos(angle) / (ROD * np.cos(tilt))  # d tilt / d angle
    x = CRANK * np.cos(angle) + ROD * np.cos(tilt)
    slide = -CRANK * np.sin(angle) - ROD * np.sin(tilt) * turn
    return np.array([angle, tilt - angle, x]), rate * np.array([1.0, turn - 1.0, slide])


def slider_crank_inertia(angle: complex) -> complex:
    """M of the kinetic energy M a'^2 / 2; of a complex angle, for its derivative."""
    sine = -CRANK * np.sin(angle) / ROD
    cosine = np.sqrt(1 - sine**2)
    turn = -CRANK * np.cos(angle) / (ROD * cosine)
    centre_x = -CRANK * np.sin(angle) - ROD / 2 * sine * turn
    centre_z = CRANK * np.cos(angle) + ROD / 2 * cosine * turn
    slide = -CRANK * np.sin(angle) - ROD * sine * turn
    rods = CRANK**2 / 3 + ROD**2 / 12 * turn**2 + centre_x**2 + centre_z**2
    return rods + 0.5 * slide**2


def test_a_slider_crank():
    """M a'' + M' a'^2 / 2 + V' = 0 of its single degree of freedom, through both dead centres."""

    def acceleration(_: float, a: float, rate: float) -> float:
        inertia = slider_crank_inertia(a)
        slope = slider_crank_inertia(a + 1e-30j).imag / 1e-30
        # The rod's centre is as high as half of the crank's end.
        weight = G * (CRANK / 2 + CRANK / 2) * np.cos(a)
        return float((-0.5 * slope * rate**2 - weight) / inertia)

    q, v = slider_crank_state(0.5, 8.0)
    assert_second_order(slider_crank(), q, v, acceleration, seconds=1.0)


def test_a_slider_crank_stays_closed_and_keeps_its_energy():
    """With a spring, round and round: closure at the tolerance of a step, no trend."""
    sim = Simulation(slider_crank(stiffness=0.05, armature=0.01), 0.01)
    sim.set_state(*slider_crank_state(0.5, 8.0))
    start, errors, violation = sim.energy(), [], 0.0
    for chunk in sim.stream(40.0, chunk_steps=1):
        errors.append(sim.energy() - start)
        violation = max(violation, chunk.violation.max())
        assert chunk.substeps.max() == 1
    assert violation < 1e-9
    assert np.abs(errors).max() < 0.02 * start
    slope = np.polyfit(np.linspace(0, 1, len(errors)), errors, 1)[0]
    assert abs(slope) < np.std(errors) / 5


def test_point_spring_between_free_bodies():
    """Centres on a line: mu l'' = -k (l - rest) - d l', with the reduced mass mu."""
    bodies = (Body("a", 1.0, np.eye(3)), Body("b", 3.0, np.eye(3)))
    joints = tuple(Joint(body.name, "floating", None, body.name) for body in bodies)
    spring = PointSpring("s", "a", "b", stiffness=20.0, rest_length=0.7, damping=0.4)
    home = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0])
    robot = Mechanism("two", bodies, joints, springs=(spring,), home=home)
    exact = exact_motion(lambda t, q, v: (-20 * (q - 0.7) - 0.4 * v) / 0.75, 1.0, -0.5, 1.5)
    errors = []
    for dt in TIMESTEPS:
        sim = Simulation(robot, dt, NO_GRAVITY)
        q, v = robot.neutral(), np.zeros(robot.nv)
        q[7:10], v[6:9] = np.array([2.0, 1.0, -2.0]) / 3, -0.5 * np.array([2.0, 1.0, -2.0]) / 3
        sim.set_state(q, v)
        log = sim.run(1.5)
        length = np.linalg.norm(log.q[:, 7:10] - log.q[:, :3], axis=1)
        rate = np.einsum("ti,ti->t", log.q[:, 7:10] - log.q[:, :3], log.v[:, 6:9] - log.v[:, :3])
        found = np.array((length, rate / length))
        errors.append(np.abs(found - exact(log.t)).max(axis=1))
    for coarse, fine in pairwise(errors):
        assert np.log2(coarse / fine) == pytest.approx([2.0, 2.0], abs=0.1)


def test_a_servo_sags_by_the_weight_over_its_gain():
    """A stiff implicit PD comes to rest there at once; what it gives is the weight."""
    (joint,) = pendulum().joints
    robot = replace(pendulum(), joints=(replace(joint, actuated=True),))
    sim = Simulation(robot, 0.01, tolerance=1e-12)
    sim.set_state([0.7])
    log = sim.run(5.0, PD(robot, 0.7, kp=1e5, kd=1e3, implicit=True))
    assert sim.q[0] == pytest.approx(0.7 - G / 2 * np.sin(sim.q[0]) / 1e5, abs=1e-12)
    assert log.tau[-1, 0] == pytest.approx(G / 2 * np.sin(sim.q[0]), rel=1e-7)
    assert sim.v[0] == pytest.approx(0.0, abs=1e-9)
