"""What is round and rolls: wheels, drums and coins on their rims, by hand.

A wheel that stands upright rolls on for ever; on a slope it gains what a rolling body does. A coin
rolls around in a circle, leaning inwards, where what gravity and the turning ask of it agree.
"""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import (
    Body,
    ContactPoint,
    Geometry,
    HalfSpace,
    HeightField,
    Joint,
    Mechanism,
    ModelError,
    Simulation,
    TriangleMesh,
)
from robosim.quaternions import rotation_matrix

G = 9.81
RADIUS, WIDTH, MASS = 0.3, 0.2, 2.0


def drum(friction: float = 0.8) -> Mechanism:
    """A cylinder along y, with what a loader makes of it."""
    spin, across = MASS * RADIUS**2 / 2, MASS * (RADIUS**2 / 4 + WIDTH**2 / 12)
    rims = [
        ContactPoint(f"rim{k}", "drum", (0, y, 0), RADIUS, friction, axis=(0, 1, 0))
        for k, y in enumerate((-WIDTH / 2, WIDTH / 2))
    ]
    angles = np.arange(12) * np.pi / 6
    points = [
        ContactPoint(
            f"point{k}{y}",
            "drum",
            (RADIUS * np.cos(a), y, RADIUS * np.sin(a)),
            friction=friction,
            axis=(0, 1, 0),
        )
        for k, a in enumerate(angles)
        for y in (-WIDTH / 2, WIDTH / 2)
    ]
    return Mechanism(
        "drum",
        (Body("drum", MASS, np.diag([across, spin, across])),),
        (Joint("root", "floating", None, "drum"),),
        (*rims, *points),
        home=(0, 0, RADIUS, 1, 0, 0, 0),
    )


def test_a_wheel_rolls_on():
    sim = Simulation(drum(), 1e-3)
    sim.set_state(sim.q, [1.0, 0, 0, 0, 1.0 / RADIUS, 0])
    sim.run(0.1)
    # A spin has the momentum of sin(omega dt) / dt: what that is off by is taken up at once.
    np.testing.assert_allclose(sim.v, [1.0, 0, 0, 0, 1.0 / RADIUS, 0], rtol=2e-6, atol=1e-9)
    once = sim.v
    sim.run(4.9)
    np.testing.assert_allclose(sim.v, once, rtol=0, atol=5e-8)  # no more than the tolerance
    assert sim.q[0] == pytest.approx(5.0, abs=1e-5)
    assert sim.min_gap() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("degrees", [5.0, 30.0])
def test_down_a_slope(degrees):
    """Two thirds of what slides without friction has, as long as tan(slope) < 3 mu."""
    slope = np.radians(degrees)
    gravity = (G * np.sin(slope), 0, -G * np.cos(slope))
    sim = Simulation(drum(), 1e-3, gravity=gravity)
    sim.run(1.0)
    assert sim.v[0] == pytest.approx(2 / 3 * G * np.sin(slope), rel=1e-4)
    assert sim.v[4] * RADIUS == pytest.approx(sim.v[0], rel=1e-4)


def test_down_a_steep_slope_it_slips():
    slope, friction = np.radians(40.0), 0.1
    gravity = (G * np.sin(slope), 0, -G * np.cos(slope))
    sim = Simulation(drum(friction), 1e-3, gravity=gravity)
    sim.run(0.5)
    force = friction * G * np.cos(slope)
    assert sim.v[0] == pytest.approx(0.5 * (G * np.sin(slope) - force), rel=1e-4)
    assert sim.v[4] * RADIUS == pytest.approx(0.5 * 2 * force, rel=1e-4)


def coin_error(dt: float) -> float:
    """How far a coin in a circle has strayed from it after 0.8 s, by place and by lean.

    With its face at `lean` to the ground, turning about the vertical by `rate`, its own momentum
    asks for a turn w3 about its axis of (I1 rate^2 sin cos - m g a cos) / ((I3 + m a^2) rate sin).
    """
    lean, rate, a = np.radians(70.0), 1.5, RADIUS
    inertia, spin = MASS * a**2 / 4, MASS * a**2 / 2
    sine, cosine = np.sin(lean), np.cos(lean)
    w3 = (inertia * rate**2 * sine * cosine - MASS * G * a * cosine) / (
        (spin + MASS * a**2) * rate * sine
    )
    coin = Mechanism(
        "coin",
        (Body("coin", MASS, np.diag([inertia, inertia, spin])),),
        (Joint("root", "floating", None, "coin"),),
        (ContactPoint("rim", "coin", (0, 0, 0), RADIUS, 5.0, axis=(0, 0, 1)),),
    )
    # e1 along the way, e2 in the face and upwards, e3 its axis, which leans towards -y.
    around = w3 * a / rate  # of the circle, signed
    half = 0.5 * lean
    q = np.array([0.0, around, a * sine, np.cos(half), np.sin(half), 0.0, 0.0])
    v = [-a * w3, 0.0, 0.0, 0.0, rate * sine, w3]
    sim = Simulation(coin, dt)
    sim.set_state(q, v)
    steps = round(0.8 / dt)
    sim.run(steps * dt)
    angle = rate * steps * dt
    place = around * np.array([-np.sin(angle), np.cos(angle)])
    axis = robosim.quaternions.rotation_matrix(sim.q[3:])[:, 2]
    leaning = cosine
    assert sim.min_gap() > -1e-9
    return float(np.hypot(*(sim.q[:2] - place)) + abs(sim.q[2] - a * sine) + abs(axis[2] - leaning))


def test_a_coin_rolls_in_a_circle_with_second_order():
    errors = [coin_error(dt) for dt in (4e-3, 2e-3, 1e-3)]
    assert errors[-1] < 2e-4
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.15)


@pytest.mark.parametrize("lean", [0.01, 0.3, 1.2])
def test_a_drum_that_tips_over_comes_to_rest_without_sinking(lean):
    """On its face, or on its side: however it fell, all of it stays above the ground."""
    sim = Simulation(drum(), 2e-3)
    q = sim.q.copy()
    q[2] = 0.45
    q[3:] = [np.cos(np.pi / 4 + lean / 2), np.sin(np.pi / 4 + lean / 2), 0, 0]
    sim.set_state(q)
    log = sim.run(6.0)
    assert log.gap.min() >= 0
    height = {True: WIDTH / 2, False: RADIUS}
    upright = abs(robosim.quaternions.rotation_matrix(sim.q[3:])[2, 1]) > 0.5
    assert sim.q[2] == pytest.approx(height[upright], abs=1e-4)
    assert abs(sim.v[2]) < 1e-3


def test_wrong_axes():
    with pytest.raises(ModelError, match="axis must not be zero"):
        ContactPoint("rim", "drum", (0, 0, 0), 0.1, axis=(0, 0, 0))
    with pytest.raises(ModelError, match="axis must be finite"):
        ContactPoint("rim", "drum", (0, 0, 0), 0.1, axis=(0, np.nan, 1))


def test_a_ball_on_a_turntable_circles_with_second_order():
    """A solid ball that rolls on what turns goes around at 2/7 of its rate, wherever it began."""
    rate, radius, seconds = 2.0, 0.05, 1.0
    plate = Geometry("box", (4, 4, 0.1), friction=0.8)
    table = Body("table", 50.0, np.diag([67, 67, 133.0]), collisions=(plate,))
    sphere = Geometry("sphere", (radius,), friction=0.8)
    ball = Body("ball", 0.2, 0.4 * 0.2 * radius**2 * np.eye(3), collisions=(sphere,))
    spin = Joint(
        "spin", "revolute", None, "table", (0, 0, 1), motion=lambda t: rate * t, actuated=False
    )
    joints = spin, Joint("base", "floating", None, "ball")
    robot = Mechanism("turntable", (table, ball), joints, contact_pairs=[("table", "ball")])
    v = np.array([0.0, 0.3])
    slip = rate * np.array([0.0, 0.5]) - v
    k = 2 / 7 * rate
    c, s = np.cos(k * seconds), np.sin(k * seconds)
    expected = np.array([0.5 - v[1] * (1 - c) / k, v[1] * s / k])
    errors = []
    for dt in (0.01, 0.005):
        sim = Simulation(robot, dt)
        turning = [slip[1] / radius, -slip[0] / radius, 0]
        sim.set_state([0, 0.5, 0, 0.05 + radius, 1, 0, 0, 0], [rate, *v, 0, *turning])
        sim.run(seconds)
        errors.append(np.linalg.norm(sim.state.x[1, :2] - expected))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def steadily(radius: float, height: float, mass: float, tilt: float) -> np.ndarray:
    """The angular velocity (3,) at which a cylinder rolls around its lower rim for ever.

    Its centre of mass is at rest: the moment of the ground's force turns its angular momentum.
    """
    across, along = mass * (3 * radius**2 + height**2) / 12, mass * radius**2 / 2
    c, s = np.cos(tilt), np.sin(tilt)
    axis = np.array([s, 0, c])
    arm = radius * np.array([c, 0, -s]) - height / 2 * axis
    momentum = across * (arm - (arm @ axis) * axis) + along * (arm @ axis) * axis
    turning = arm[2] - arm[0] / s * c
    square = np.cross(arm, [0, 0, mass * G])[1] / np.cross([0, 0, turning], momentum)[1]
    return -np.sqrt(square) * arm


@pytest.mark.parametrize("ground", ["half-space", "box"])
@pytest.mark.parametrize("tilt", [0.05, 0.15, 0.3])
def test_eulers_disk_goes_around_for_ever(tilt, ground):
    radius, height, mass = 0.05, 0.004, 0.2
    spin = steadily(radius, height, mass, tilt)
    inertia = mass * np.array([3 * radius**2 + height**2] * 2 + [6 * radius**2]) / 12
    shape = Geometry("cylinder", (radius, height), friction=2.0)
    disk = Body("disk", mass, np.diag(inertia), collisions=(shape,))
    under = Geometry("box", (2, 2, 1), position=(0, 0, -0.5), friction=2.0)
    obstacles = [HalfSpace(friction=2.0) if ground == "half-space" else under]
    joint = Joint("free", "floating", None, "disk")
    sim = Simulation(Mechanism("disk", (disk,), (joint,), obstacles=obstacles), 5e-4)
    q = np.array([np.cos(tilt / 2), 0, np.sin(tilt / 2), 0])
    z = radius * np.sin(tilt) + height / 2 * np.cos(tilt)
    sim.set_state([0, 0, z, *q], [0, 0, 0, *(rotation_matrix(q).T @ spin)])
    energy = sim.energy()
    sim.run(0.5)
    assert np.arccos(rotation_matrix(sim.state.q[0])[2, 2]) == pytest.approx(tilt, abs=1e-3)
    assert sim.energy() == pytest.approx(energy, rel=1e-3)


@pytest.mark.parametrize("ground", ["half-space", "box", "mesh", "field"])
@pytest.mark.parametrize("lean", [0.0, 0.1])
def test_a_cylinder_that_lands_gains_no_energy(ground, lean):
    radius, length = 0.1, 0.2
    half = np.sqrt(0.5)
    shape = Geometry("cylinder", (radius, length), friction=0.5, quaternion=(half, half, 0, 0))
    across, along = (3 * radius**2 + length**2) / 12, radius**2 / 2
    body = Body("c", 1.0, np.diag([across, along, across]), collisions=(shape,))
    flat = np.array([[-2.0, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    under = {
        "half-space": HalfSpace(friction=0.5),
        "box": Geometry("box", (4, 4, 1), position=(0, 0, -0.5), friction=0.5),
        "mesh": TriangleMesh(Geometry("mesh", vertices=flat, faces=faces), friction=0.5),
        "field": HeightField(np.zeros((21, 21)), (4.0, 4.0), friction=0.5),
    }[ground]
    joint = Joint("free", "floating", None, "c")
    sim = Simulation(Mechanism("c", (body,), (joint,), obstacles=[under]), 1e-3)
    q = [np.cos(lean / 2), np.sin(lean / 2), 0, 0]
    sim.set_state([-1.0, 0.033, 0.15 + radius * np.sin(lean), *q], [1.0, 0.2, 0, 0, 5.0, 0.3])
    energies = [sim.energy()]
    for _ in range(600):
        sim.step()
        energies.append(sim.energy())
    assert np.diff(energies).max() < 1e-6
    assert energies[-1] < energies[0] - 0.3
