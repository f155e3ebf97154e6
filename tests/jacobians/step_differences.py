"""Derivatives of steps by differences of `Simulation.step` itself, from starts near its state."""

from __future__ import annotations

import numpy as np

from robosim import linearize


def end_of_step(sim, q, v, tau=None, controller=None):
    """q and v after a step of a copy that starts at q, v."""
    one = sim.copy()
    one.set_state(q, v, time=sim.time)
    if controller is None:
        one.step(tau)
    else:
        one.run(one.timestep, controller)
    return one.q, one.v


def by_steps(sim, step, tau, controller=None):
    """(2 nv, 2 nv + nu) by central differences; velocities and torques by thousandfold steps."""
    robot, nv, tangent = sim.robot, sim.robot.nv, sim.dynamics
    q, v = sim.q, sim.v
    sizes = [step] * nv + [1e3 * step] * (nv + (0 if controller else robot.nu))
    columns = []
    for k, size in enumerate(sizes):
        ends = []
        for change in (-size, size):
            dx, forces = np.zeros(2 * nv + robot.nu), tau.copy()
            dx[k] = change
            forces[robot.actuated] += dx[2 * nv :]
            at = tangent.integrate(q, dx[:nv]), v + dx[nv : 2 * nv]
            ends.append(end_of_step(sim, *at, forces, controller))
        low, high = ends
        by = np.concatenate((tangent.difference(low[0], high[0]), high[1] - low[1]))
        columns.append(by / (2 * size))
    return np.array(columns).T


def compare(sim, tau=None, controller=None, step=1e-7, within=1e-5):
    """`linearize` beside the differences, column by column, and where both say the step leads."""
    robot = sim.robot
    tau = np.zeros(robot.nv) if tau is None else tau
    found = linearize(sim, None if controller else tau, controller)
    matrix = found.A if controller else np.hstack((found.A, found.B))
    expected = by_steps(sim, step, tau, controller)
    size = np.maximum(np.abs(expected).max(axis=0), 1e-2)
    off = np.abs(matrix - expected).max(axis=0) / size
    assert off.max() < within, f"column {off.argmax()}: {off.max():.1e}"
    return found
