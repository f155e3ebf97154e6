"""What a converged step knows can be asked for after it, by name, without running it again."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import Simulation


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_last_step_tells_what_the_readings_tell(solver: str) -> None:
    """Contacts, impulses and velocities are those that forces and coordinates are read from."""
    robot = robosim.load("a1")
    sim = Simulation(robot, solver=solver)
    assert sim.last_step is None
    q = np.array(robot.home)
    q[2] += 0.002
    sim.set_state(q)
    before = np.array(sim.state.x)
    for _ in range(60):
        before = np.array(sim.state.x)
        sim.step()
    known = sim.last_step
    assert known is not None
    assert known.interval == sim.timestep
    # The velocity over the interval is what the bodies have moved with.
    moved = (np.array(sim.state.x) - before) / sim.timestep
    np.testing.assert_allclose(known.velocities[:, :3], moved, atol=1e-9)
    touching = np.linalg.norm(sim.contact_forces(), axis=1) > 1.0
    assert touching.any()
    assert np.all(known.active[: len(robot.contacts)][touching] != 0)
    assert (known.tree is None) == (solver == "ldu")
    with pytest.raises(ValueError, match="read-only"):
        known.velocities[0, 0] = 1.0


def test_last_step_goes_on_with_the_simulation() -> None:
    """Views, not copies: they cost nothing, and belong to the last step only."""
    sim = Simulation(robosim.load("double_pendulum"))
    sim.set_state([1.0, 0.5])
    sim.step()
    first = sim.last_step
    assert first is not None
    seen = first.velocities.copy()
    sim.step()
    assert not np.array_equal(seen, first.velocities)
