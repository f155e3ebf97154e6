"""What a variational integrator keeps: momentum, energy without a trend, reversibility."""

from __future__ import annotations

import numpy as np
import pytest
from random_mechanisms import random_coordinates, random_tree

from robosim import Mechanism, Simulation
from robosim.models.builders import chain, cube, double_pendulum, free_body

NO_GRAVITY = (0.0, 0.0, 0.0)
KINDS = ("revolute", "spherical", "prismatic", "planar", "fixed", "cylindrical")


def floating_tree(seed: int, n: int = 8) -> tuple[Mechanism, Simulation]:
    """A random branched tree of moving bodies, spherical joints among its joints."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, "floating", KINDS)
    while not any(joint.kind == "spherical" for joint in robot.joints):
        robot = random_tree(rng, n, "floating", KINDS)
    sim = Simulation(robot, 1e-3, NO_GRAVITY)
    v = rng.normal(size=robot.nv)
    for start, joint in zip(robot.v_offsets, robot.joints, strict=False):
        # Slides are slow: they never come back.
        v[start : start + joint.C_T.shape[1]] *= 0.1
    sim.set_state(random_coordinates(rng, robot), v)
    return robot, sim


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_momentum_of_a_floating_tree(seed, record_property):
    """Linear and angular, over 10 000 steps; the energy stays in a band and the joints hold."""
    _, sim = floating_tree(seed)
    before, energy = np.concatenate(sim.momentum()), sim.energy()
    assert np.abs(before).min() > 1e-3
    drift, deviation, violation = 0.0, 0.0, 0.0
    for chunk in sim.stream(10.0, chunk_steps=100):
        drift = max(drift, np.abs(np.concatenate(sim.momentum()) - before).max())
        deviation = max(deviation, abs(sim.energy() - energy))
        violation = max(violation, chunk.violation.max())
        assert chunk.substeps.max() == 1
    assert sim.steps == 10_000
    record_property("momentum drift", float(drift))
    assert drift < 1e-10
    assert deviation < 1e-4 * energy  # second order in the timestep, at turns of 1e-3 rad a step
    assert violation < 1e-10


def test_momentum_under_internal_motors():
    """Motors between bodies change no momentum, whatever they do."""
    robot, sim = floating_tree(3)
    before = np.concatenate(sim.momentum())
    rng = np.random.default_rng(0)
    tau = np.zeros(robot.nv)
    for _ in range(1000):
        tau[6:] = 0.05 * rng.normal(size=robot.nv - 6)
        sim.step(tau)
    np.testing.assert_allclose(np.concatenate(sim.momentum()), before, rtol=0, atol=1e-11)


def test_momentum_falls_with_gravity():
    """Of a floating tree: by m g t, and the moment by the centre of mass's lever."""
    robot, sim = floating_tree(4)
    gravity = np.array([1.0, -2.0, -9.81])
    falling = Simulation(robot, 1e-3, gravity)
    falling.set_state(sim.q, sim.v)
    linear, _ = falling.momentum()
    falling.run(1.0)
    np.testing.assert_allclose(
        falling.momentum()[0], linear + robot.total_mass * gravity, rtol=0, atol=1e-10
    )


def test_double_pendulum_for_ten_minutes(record_property):
    """No trend of the energy over 60 000 steps of 10 ms: its slope drowns in its fluctuation.

    Chaos makes every slope a random number, of about a tenth of the fluctuation; so it is the mean
    of six starts that has to be small, and what a single run may gain is bounded besides.
    """
    slopes, steps_up, largest = [], [], 0.0
    for angle in (1.45, 1.5, 1.55, np.pi / 2, 1.6, 1.65):
        sim = Simulation(double_pendulum(), 1e-2)
        sim.set_state([angle, 0.0])
        start = sim.energy()
        deviation = np.array([sim.energy() - start for _ in sim.stream(600.0, chunk_steps=10)])
        t = np.arange(1, len(deviation) + 1) / len(deviation)
        halves = deviation.reshape(2, -1).mean(axis=1)
        slopes.append(np.polyfit(t, deviation, 1)[0] / deviation.std())
        steps_up.append((halves[1] - halves[0]) / deviation.std())
        largest = max(largest, np.abs(deviation).max())
    print(f"largest deviation of the energy {largest:.4f} J, slopes over it {np.round(slopes, 3)}")
    record_property("largest deviation of the energy [J]", float(largest))
    assert abs(np.mean(slopes)) < 0.1
    assert abs(np.mean(steps_up)) < 0.1
    assert np.abs(slopes).max() < 0.5
    assert largest < 0.05 * 2 * 9.81  # of the energy that swings, m g l


def test_energy_error_is_second_order():
    """The band of the energy narrows fourfold when the timestep halves."""
    bands = []
    for dt in (0.01, 0.005, 0.0025):
        sim = Simulation(double_pendulum(), dt)
        sim.set_state([1.0, 0.5])
        start = sim.energy()
        bands.append(max(abs(sim.energy() - start) for _ in sim.stream(2.0, chunk_steps=1)))
    assert np.log2(np.divide(bands[:-1], bands[1:])) == pytest.approx(2.0, abs=0.2)


def test_spinning_cube_keeps_energy_and_momentum():
    """All moments equal: the spin is steady, about any axis, to rounding."""
    sim = Simulation(cube(), 1e-2, NO_GRAVITY, tolerance=1e-12)
    sim.set_state([0, 0, 5, 1, 0, 0, 0], [0.1, 0.2, 0.3, 1.0, -2.0, 3.0])
    energy, momentum = sim.energy(), np.concatenate(sim.momentum())
    log = sim.run(10.0)
    assert sim.energy() == pytest.approx(energy, rel=1e-10)
    np.testing.assert_allclose(np.concatenate(sim.momentum()), momentum, rtol=0, atol=1e-12)
    np.testing.assert_allclose(log.v, np.tile(log.v[0], (1000, 1)), rtol=0, atol=1e-10)


@pytest.mark.parametrize("robot", [double_pendulum(), chain(3, "spherical")], ids=lambda r: r.name)
def test_smooth_motion_runs_backwards(robot):
    """With the velocities turned round at a knot the robot goes back the way that it came."""
    rng = np.random.default_rng(0)
    sim = Simulation(robot, 5e-3)
    q0, v0 = random_coordinates(rng, robot), 0.5 * rng.normal(size=robot.nv)
    sim.set_state(q0, v0)
    sim.run(0.5)
    assert np.abs(sim.q - q0).max() > 0.1
    sim.set_state(sim.q, -sim.v)
    sim.run(0.5)
    # Exact but for the solver's tolerance, 1e-8 m/s, grown on the way.
    np.testing.assert_allclose(sim.q, q0, rtol=0, atol=1e-7)
    np.testing.assert_allclose(sim.v, -v0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("every", [1, 7])
def test_interrupting_a_run_does_not_change_it(every):
    """Read at a knot and set again, q and v are all that there is to a smooth motion."""
    robot = double_pendulum()
    straight, stopped = Simulation(robot, 1e-2), Simulation(robot, 1e-2)
    for sim in (straight, stopped):
        sim.set_state([1.0, 0.5], [0.3, -0.4])
    straight.run(1.0)
    while stopped.time < 1.0 - 1e-6:
        for _ in range(min(every, 100 - round(stopped.time * 100))):
            stopped.step()
        stopped.set_state(stopped.q, stopped.v, time=stopped.time)
    np.testing.assert_allclose(stopped.q, straight.q, rtol=0, atol=1e-7)
    np.testing.assert_allclose(stopped.v, straight.v, rtol=0, atol=1e-6)


def test_a_spin_too_fast_for_the_timestep_is_divided():
    """Beyond a quarter turn a step the discrete momentum of a spin falls again."""
    robot = free_body()
    sim = Simulation(robot, 0.02, gravity=(0, 0, 0))
    sim.set_state(robot.home, [0, 0, 0, 0, 0, 60.0])
    before = sim.momentum()[1]
    infos = [sim.step() for _ in range(20)]
    assert all(info.substeps == 2 for info in infos)
    np.testing.assert_allclose(sim.momentum()[1], before, rtol=1e-9)
