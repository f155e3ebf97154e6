"""The main job: the A1 stands on hard contacts, put down gently or dropped."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import ConvergenceError, Mechanism, Simulation
from robosim.controllers import stand
from robosim.quaternions import from_rpy, rotation_matrix

LANDED = 1e-3  # a foot nearer to the ground than this has landed [m]


def feet(robot: Mechanism) -> list[int]:
    found = [k for k, contact in enumerate(robot.contacts) if "foot" in contact.name]
    assert len(found) == 4
    return found


def rolling(sim: Simulation) -> np.ndarray:
    """How far the feet roll in a step at their present angular velocity, (4, 2) [m]."""
    out = []
    for k in feet(sim.robot):
        contact = sim.robot.contacts[k]
        body = sim.robot.body_index(contact.body)
        omega = rotation_matrix(sim.state.q[body]) @ sim.state.omega[body]
        out.append(contact.radius * sim.timestep * np.array([omega[1], -omega[0]]))
    return np.array(out)


def test_it_has_the_gains_of_the_issue(a1):
    gains = stand(a1).gains
    np.testing.assert_array_equal(gains["target"], [0, 0.8, -1.6] * 4)
    np.testing.assert_array_equal(gains["kp"], [100, 80, 60] * 4)
    np.testing.assert_array_equal(gains["kd"], [5, 4, 3] * 4)


def test_standing_for_ten_seconds(a1, record_property):
    """From 1 cm: no step fails, nothing sinks, the feet stay, the joints hold."""
    sim = Simulation(a1, 1e-3)
    q = np.array(a1.home)
    q[2] += 0.01
    sim.set_state(q)
    landing = sim.run(1.0, stand(a1)).samples
    before = last = sim.contact_positions()[feet(a1)]
    slip = np.zeros((4, 2))
    resting = []
    for chunk in sim.stream(9.0, stand(a1), chunk_steps=1):
        resting.append(chunk)
        now = sim.contact_positions()[feet(a1)]
        slip += (now - last)[:, :2] - rolling(sim)
        last = now
    assert sim.steps == 10_000
    for samples in (landing, *resting):
        assert samples.substeps.min() == samples.substeps.max() == 1
        assert samples.gap.min() >= 0
        assert samples.violation.max() < 1e-8
    gap = sim.contact_positions()[feet(a1), 2].max()
    record_property("largest resting gap [m]", float(gap))
    record_property("drift of the feet [m]", float(np.abs(last - before).max()))
    record_property("slip of the feet [m]", float(np.abs(slip).max()))
    assert gap < 50e-6
    # The feet are balls: most of the drift is rolling, while the trunk comes to rest.
    assert np.abs(last - before).max() < 1e-4
    assert np.abs(slip).max() < 1e-5
    # It stands: upright, at its height, its weight on its feet.
    assert rotation_matrix(sim.q[3:7])[2, 2] > 0.99
    assert sim.q[2] == pytest.approx(0.29, abs=0.02)
    weight = 9.81 * a1.total_mass
    assert sim.contact_forces()[feet(a1), 2].sum() == pytest.approx(weight, rel=1e-3)


@pytest.mark.parametrize(
    "tilt", [(0.3, 0, 0), (-0.3, 0, 0), (0, 0.3, 0), (0, -0.3, 0)], ids=lambda t: f"{t}"
)
def test_dropped_and_tilted(a1, tilt):
    """From 0.3 m, tilted by 0.3 rad: lands on its feet, without a failed step or penetration."""
    sim = Simulation(a1, 1e-3)
    q = np.array(a1.home)
    q[2] += 0.3
    q[3:7] = from_rpy(tilt)
    sim.set_state(q)
    samples = sim.run(3.0, stand(a1)).samples
    assert sim.steps == 3000
    assert samples.gap.min() >= 0
    assert samples.violation.max() < 1e-8
    assert samples.substeps.max() == 1
    assert rotation_matrix(sim.q[3:7])[2, 2] > 0.99
    assert np.all(sim.contact_positions()[feet(a1), 2] < LANDED)
    assert np.abs(sim.v).max() < 0.05


@pytest.mark.parametrize("seed", range(12))
def test_dropped_in_any_attitude(a1, seed):
    """From wherever it falls, onto whatever it falls: steps are divided rather than failed."""
    rng = np.random.default_rng(seed)
    sim = Simulation(a1, 1e-3)
    q = np.array(a1.home)
    q[2] = rng.uniform(0.6, 1.0)
    q[3:7] = rng.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    q[7:] += rng.uniform(-0.3, 0.3, size=12)
    v = rng.normal(size=a1.nv)
    sim.set_state(q, v)
    try:
        samples = sim.run(1.5, stand(a1)).samples
    except ConvergenceError as error:  # a figure worth reading in the report
        pytest.fail(f"{error}")
    assert samples.gap.min() >= 0
    assert samples.violation.max() < 1e-7
