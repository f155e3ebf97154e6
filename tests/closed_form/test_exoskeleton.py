"""The exoskeleton: its loops, its task, and the elbow torques of the authors' experiment."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import ModelError, Simulation
from robosim.models.builders import exoskeleton, rehabilitation


def test_both_cuffs_are_at_rest_at_home():
    robot = exoskeleton()
    sim = Simulation(robot, gravity=(0.0, 0.0, 0.0))
    assert [joint.name for joint in robot.loop_joints] == ["upper_cuff", "lower_cuff"]
    assert sim.constraint_violation() < 1e-15
    sim.run(0.1)
    np.testing.assert_allclose(sim.q, robot.home, rtol=0, atol=1e-9)
    assert robosim.load("exoskeleton").total_mass == pytest.approx(
        2.25 + 1.5 + 3.487 + 1.663 + 0.494
    )


@pytest.mark.parametrize(
    ("patient", "scale", "damp_rate", "peak"),
    [
        ("healthy", 1.0, True, 2.75),
        ("healthy", 1 / 4.75, True, 2.48),
        ("spastic", 1.0, True, 6.86),
        ("spastic", 1 / 4.75, True, 4.95),
        ("spastic", 1.0, False, 6.87),
        ("spastic", 1 / 4.75, False, 4.97),
    ],
)
def test_the_elbow_feels_what_the_authors_elbow_felt(patient, scale, damp_rate, peak):
    """What they ran damps the rate; Algorithm 8 as printed damps what differs from the task's."""
    robot = exoskeleton(patient)
    sim = Simulation(robot)
    log = sim.run(5.0, rehabilitation(robot, scale, damp_rate=damp_rate))
    torque = np.abs(log.column("eFE.torque"))
    # The first instant of the task as printed asks for its whole rate at once.
    assert torque[100:].max() == pytest.approx(peak, abs=0.03)
    assert log.violation.max() < 1e-9


def test_without_a_patient_it_is_a_tree():
    robot = exoskeleton(None)
    assert not robot.loop_joints
    assert robot.nv == 2
    sim = Simulation(robot)
    sim.run(1.0, rehabilitation(robot))
    target = rehabilitation(robot).targets([1.0])[0]
    assert np.abs(sim.q - target).max() < 0.2


def test_what_there_is_not_is_refused():
    with pytest.raises(ModelError, match="healthy"):
        exoskeleton("tired")
    with pytest.raises(ModelError, match="scale"):
        exoskeleton(scale=0.0)
    with pytest.raises(ModelError, match="sFE"):
        rehabilitation(robosim.load("a1"))
