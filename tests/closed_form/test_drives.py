"""What it takes to move a joint along a given function of time."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism, Simulation

M, L, INERTIA, G, DT = 2.0, 0.5, 0.2, 9.81, 1e-3  # [kg], [m], [kg m^2], [m/s^2], [s]


def driven(motion, kind="revolute", **options):
    """An arm about y that hangs out along x at 0, or a slider along z."""
    body = Body("arm", M, INERTIA * np.eye(3))
    if kind == "revolute":
        options |= {"axis": (0, 1, 0), "child_position": (-L, 0, 0)}
    joint = Joint("drive", kind, None, "arm", motion=motion, **options)
    sim = Simulation(Mechanism("arm", (body,), (joint,)), DT, tolerance=1e-11)
    assert sim.drive_forces() == {"drive": 0.0}
    return sim


@pytest.mark.parametrize("angle", [0.0, 0.7, -2.0])
def test_an_arm_that_is_held_still(angle):
    sim = driven(lambda t: angle)
    for _ in range(5):
        sim.step()
        # Its weight turns it down, which is the way of y.
        assert sim.drive_forces()["drive"] == pytest.approx(-M * G * L * np.cos(angle), abs=1e-7)


def test_an_arm_that_turns_at_a_constant_rate():
    sim = driven(lambda t: 3.0 * t)
    sim.step()
    for _ in range(300):
        sim.step()
        angle = 3.0 * (sim.time - DT)
        expected = -M * G * L * np.cos(angle)
        # A step's chord is off by a share of (omega dt)^2.
        assert sim.drive_forces()["drive"] == pytest.approx(expected, abs=1e-4)


def test_an_arm_that_swings():
    rate = 5.0
    sim = driven(lambda t: 0.4 * np.sin(rate * t))
    sim.step()
    for _ in range(300):
        sim.step()
        angle = 0.4 * np.sin(rate * (sim.time - DT))
        expected = -(rate**2) * angle * (INERTIA + M * L * L) - M * G * L * np.cos(angle)
        # The second difference of the motion is off by (rate dt)^2 / 12 of it.
        assert sim.drive_forces()["drive"] == pytest.approx(expected, abs=1e-3)


def test_a_slider_that_accelerates():
    """2 m/s^2 up, so that second differences are exact."""
    sim = driven(lambda t: t * t, "prismatic", axis=(0, 0, 1))
    for _ in range(100):
        sim.step()
        assert sim.drive_forces()["drive"] == pytest.approx(M * (G + 2.0), rel=1e-6)


def test_torques_of_the_step_are_not_the_drive():
    sim = driven(lambda t: 0.0)
    for _ in range(3):
        sim.step([4.0])
    assert sim.drive_forces()["drive"] == pytest.approx(-M * G * L - 4.0, abs=1e-7)
