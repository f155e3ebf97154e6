"""Rolling and torsional friction by hand: balls that come to rest, and tops that spin down.

A solid ball that rolls without slip, against a moment mu_r N, slows at 5/7 mu_r g / r. Spinning in
its place against mu_s N it slows at mu_s m g / I. Both stop, and stay.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from touching_ground import WAYS, on_something

from robosim import BatchSimulation, Geometry, HalfSpace, Mechanism, ModelError, Simulation

G, DT = 9.81, 1e-3
RADIUS, MASS = 0.1, 2.0
INERTIA = 0.4 * MASS * RADIUS**2
ROLLING, TORSION = 0.01, 0.02
LINEARIZED = {"friction_cone": "linearized"}


def ball(way: str = "point", **surface) -> Mechanism:
    shape = Geometry("sphere", (RADIUS,), friction=0.8, **surface)
    return on_something(shape, MASS, INERTIA * np.eye(3), RADIUS, way)


def started(robot: Mechanism, velocity, solver: str = "articulated", **options) -> Simulation:
    """The first body at a velocity (6,)."""
    sim = Simulation(robot, DT, solver=solver, **options)
    sim.set_state(sim.q, np.append(velocity, np.zeros(robot.nv - 6)))
    return sim


def energies_of(sim: Simulation, time: float) -> np.ndarray:
    found = [sim.energy()]
    for _ in range(round(time / DT)):
        sim.step()
        found.append(sim.energy())
    return np.array(found)


@pytest.mark.parametrize(
    ("way", "solver", "options"),
    [*((*way, {}) for way in WAYS), (*WAYS[0], LINEARIZED)],
)
def test_a_ball_rolls_to_a_stop(way, solver, options):
    speed, slowing = 0.3, 5 / 7 * ROLLING * G / RADIUS
    sim = started(ball(way, rolling_friction=ROLLING),
                  (speed, 0, 0, 0, speed / RADIUS, 0), solver, **options)  # fmt: skip
    log = sim.run(speed / slowing + 0.1)
    expected = np.maximum(speed - slowing * log.t, 0.0)
    # The step in which it stops does so somewhere within it: slowing * DT^2 / 2 of way.
    rolls = expected > slowing * DT
    np.testing.assert_allclose(log.v[rolls, 0], expected[rolls], rtol=0, atol=1e-6)
    np.testing.assert_allclose(log.v[rolls, 4], expected[rolls] / RADIUS, rtol=0, atol=1e-5)
    assert sim.q[0] == pytest.approx(speed**2 / (2 * slowing), abs=slowing * DT**2)
    np.testing.assert_allclose(sim.v[:6], 0, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("way", "solver"), WAYS)
def test_a_ball_spins_down(way, solver):
    spin, slowing = 5.0, TORSION * MASS * G / INERTIA
    sim = started(ball(way, torsional_friction=TORSION), (0, 0, 0, 0, 0, spin), solver)
    log = sim.run(spin / slowing + 0.1)
    expected = np.maximum(spin - slowing * log.t, 0.0)
    spins = expected > slowing * DT
    # A turn's chord and its arc differ by (spin * DT)^2 / 24 of it.
    np.testing.assert_allclose(log.v[spins, 5], expected[spins], rtol=0, atol=1e-4)
    np.testing.assert_allclose(sim.v[:6], 0, rtol=0, atol=1e-9)
    angle = 2 * np.arctan2(sim.q[6], sim.q[3])
    assert angle == pytest.approx(spin**2 / (2 * slowing), abs=slowing * DT**2)


def test_moments_are_read():
    sim = started(ball(rolling_friction=ROLLING, torsional_friction=TORSION),
                  (0.3, 0, 0, 0, 3.0, 5.0))  # fmt: skip
    sim.step()
    sim.step()
    (contact,) = sim.contacts()
    weight = MASS * G
    # About an axis that turns by 5 mrad a step.
    np.testing.assert_allclose(
        contact.moment, (0, -ROLLING * weight, -TORSION * weight), rtol=1e-3, atol=2e-3
    )
    assert contact.force[2] == pytest.approx(weight, rel=1e-6)
    sim = started(ball(), (0.3, 0, 0, 0, 3.0, 5.0))
    sim.step()
    assert not sim.contacts()[0].moment.any()


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_ball_on_a_slope_stays_up_to_the_angle_of_rolling_friction(share):
    """It rolls where r sin(a) > mu_r cos(a), at 5/7 g (sin(a) - mu_r / r cos(a))."""
    angle = np.arctan(share * ROLLING / RADIUS)
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    robot = ball("half-space", rolling_friction=ROLLING)
    robot = replace(
        robot,
        obstacles=(HalfSpace(normal),),
        home=(*(RADIUS * normal), 1, 0, 0, 0),
    )
    sim = started(robot, np.zeros(6))
    sim.run(1.0)
    rate = 5 / 7 * G * (np.sin(angle) - ROLLING / RADIUS * np.cos(angle))
    way = 0.5 * max(rate, 0.0)
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    # At rest it creeps at some 1e-10 m/s, ten times that as rolling friction has a short arm.
    np.testing.assert_allclose(sim.q[:3] - sim.robot.home[:3], way * down, rtol=0, atol=1e-7)
    assert (way > 0) == (share > 1)


def test_energy_never_rises():
    """A ball thrown with spin bounces, slides, rolls and spins down, against both frictions."""
    robot = ball(rolling_friction=ROLLING, torsional_friction=TORSION)
    sim = started(robot, (1.0, 0.5, 0.0, 3.0, -10.0, 20.0))
    sim.set_state((0, 0, RADIUS + 0.02, 1, 0, 0, 0), sim.v)
    energies = energies_of(sim, 1.5)
    start = energies[0] - MASS * G * RADIUS
    # In flight the knot's energy swings by rounding and by (omega DT)^2 of what turns.
    assert np.diff(energies).max() < 1e-6 * start
    assert energies[-1] - MASS * G * RADIUS < 1e-6 * start


def test_friction_against_turning_is_that_of_the_lower_shape():
    """As for slip; a shape that has none leaves it to the other one."""
    shape = Geometry("sphere", (RADIUS,), rolling_friction=ROLLING)
    robot = on_something(shape, MASS, INERTIA * np.eye(3), RADIUS, "half-space")
    for other, expected in (
        (None, ROLLING),
        (0.5 * ROLLING, 0.5 * ROLLING),
        (1.0, ROLLING),
        (0, 0),
    ):
        scene = replace(robot, obstacles=(HalfSpace(rolling_friction=other),))
        sim = started(scene, (0.3, 0, 0, 0, 3.0, 0))
        sim.run(0.1)
        slowing = 5 / 7 * expected * G / RADIUS
        assert sim.v[0] == pytest.approx(0.3 - 0.1 * slowing, abs=1e-6)


def test_without_it_nothing_changes():
    """Zero coefficients are none, to the last bit."""
    runs = []
    for surface in ({}, {"rolling_friction": 0.0, "torsional_friction": 0.0}):
        sim = started(ball("point", **surface), (0.3, 0.1, 0, 0, 0.0, 5.0))
        runs.append(sim.run(0.2))
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    np.testing.assert_array_equal(runs[0].v, runs[1].v)


@pytest.mark.parametrize("what", ["rolling_friction", "torsional_friction"])
@pytest.mark.parametrize("make", [
    lambda **surface: Geometry("sphere", (1.0,), name="x", **surface),
    lambda **surface: HalfSpace(name="x", **surface),
    lambda **surface: replace(ball().contacts[0], name="x", **surface),
])  # fmt: skip
def test_impossible_coefficients_are_refused(what, make):
    with pytest.raises(ModelError, match=f"'x'.*{what} must not be negative, not -0.1"):
        make(**{what: -0.1})


@pytest.mark.parametrize("lanes", [False, True])
def test_batches_do_what_each_does_alone(lanes):
    robot = ball(rolling_friction=ROLLING, torsional_friction=TORSION)
    speeds, n = np.linspace(0.0, 0.3, 11), 11
    batch = BatchSimulation(robot, n, DT, threads=1, lanes=lanes)
    v = np.zeros((n, 6))
    v[:, 0], v[:, 4], v[:, 5] = speeds, speeds / RADIUS, 3.0
    batch.set_state(np.tile(robot.home, (n, 1)), v)
    out = batch.rollout(300)
    for i in (0, 4, 10):
        sim = started(robot, v[i])
        sim.run(300 * DT)
        # In lanes all go on until the last of them is within the tolerance.
        within = 1e-9 if lanes else 0.0
        np.testing.assert_allclose(out.q[i, -1], sim.q, rtol=0, atol=within)
        np.testing.assert_allclose(out.v[i, -1], sim.v, rtol=0, atol=within)


def test_copies_go_on_to_the_last_bit():
    sim = started(ball(rolling_friction=ROLLING, torsional_friction=TORSION),
                  (0.3, 0, 0, 0, 3.0, 5.0))  # fmt: skip
    sim.run(0.1)
    other, kept = sim.copy(), sim.copy()
    sim.run(0.1)
    end = sim.q.copy()
    other.run(0.1)
    np.testing.assert_array_equal(other.q, end)
    sim.restore(kept)
    sim.run(0.1)
    np.testing.assert_array_equal(sim.q, end)
