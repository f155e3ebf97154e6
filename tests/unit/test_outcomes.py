"""What benchmarks of falls and heaps count."""

from __future__ import annotations

import numpy as np
import pytest
from touching import ball, free

from benchmarks.outcomes import energy
from robosim import Simulation


def test_the_energy_of_momenta_does_not_depend_on_how_a_step_is_divided():
    """A ball that turns by 0.3 rad in a step has the momentum of the chord of that turn."""
    robot, dt, spin = free(ball("ball")), 0.01, 30.0
    inertia = robot.bodies[0].inertia[0, 0]
    sim = Simulation(robot, dt, gravity=(0, 0, 0))
    sim.set_state(robot.home, [0, 0, 0, spin, 0, 0])
    chord = 0.5 * inertia * (np.sin(spin * dt) / dt) ** 2
    for _ in range(3):
        assert energy(sim) == pytest.approx(chord, rel=1e-12)
        assert sim.energy() == pytest.approx(0.5 * inertia * spin**2, rel=1e-12)
        sim.step()
