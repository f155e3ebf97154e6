"""Random mechanisms of all joints, trees and loops, with springs: what holds for every one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_mechanisms import random_mechanism

from robosim import Simulation

NO_GRAVITY = (0.0, 0.0, 0.0)
DT = 1e-3
STEPS = 100
SEEDS = st.integers(0, 2**32 - 1)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(SEEDS, st.integers(1, 7), st.integers(0, 3), st.integers(0, 2))
def test_free_motion(seed, n, loops, copies):
    """Closure, momentum to rounding, energy in a band of second order; no step in parts."""
    robot, q, v = random_mechanism(seed, n, loops, copies)
    sim = Simulation(robot, DT, NO_GRAVITY)
    sim.set_state(q, v)
    np.testing.assert_allclose(sim.q, q, rtol=0, atol=1e-8)  # it was closed already
    assert sim.constraint_violation() < 1e-12
    before, energy = np.concatenate(sim.momentum()), sim.energy()
    log = sim.run(STEPS * DT)
    assert log.substeps.max() == 1
    assert log.violation.max() < 1e-9
    scale = 1.0 + np.abs(before).max()
    np.testing.assert_allclose(np.concatenate(sim.momentum()), before, rtol=0, atol=1e-11 * scale)
    assert abs(sim.energy() - energy) < 1e-3 * (energy + 1e-3)


@settings(deadline=None, max_examples=20, derandomize=True)
@given(SEEDS, st.integers(2, 7), st.integers(0, 2))
def test_dampers_only_take_energy(seed, n, loops):
    """With dampers on all joints the motion between the bodies dies, and no momentum does."""
    robot, q, v = random_mechanism(seed, n, loops, 0)
    joints = tuple(
        joint if joint.parent is None else replace(joint, damping=0.5) for joint in robot.joints
    )
    sim = Simulation(replace(robot, joints=joints), DT, NO_GRAVITY)
    sim.set_state(q, v)
    before, energies = np.concatenate(sim.momentum()), [sim.energy()]
    for _ in range(10):
        sim.run(10 * DT)
        energies.append(sim.energy())
    # What the scheme makes the energy swing is of second order.
    assert np.diff(energies).max() < 1e-4 * energies[0]
    scale = 1.0 + np.abs(before).max()
    np.testing.assert_allclose(np.concatenate(sim.momentum()), before, rtol=0, atol=1e-11 * scale)
