"""Hermite-Simpson collocation as a compiled integrator, for comparison.

The accelerations at the middle and at the end of a step are found by fixed-point iteration.
Accelerations determine velocities and coordinates, which determine new accelerations. For motions
of angular frequency w, each iteration reduces the error by a factor of about (dt w)^2 / 12.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.errors import ConvergenceError
from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.minimal.knot import find_accelerations, settle
from robosim.minimal import MinimalSimulation
from robosim.validation import Array

MOST = 100  # iterations of a step
ROUNDING = 1e-11  # of the largest change of a velocity, that may be left


class Points(NamedTuple):
    """Begin, middle and end of a step."""

    q: Array  # (3, n)
    v: Array  # (3, n)
    a: Array  # (3, n)
    guess: Array  # (2, n)


@kernel
def accelerate(on, at, k):
    """at.a[k] at the point k; False where the mass matrix has no inverse."""
    segments = on.model.segments
    for i in range(segments.shape[0]):
        on.state.q[segments[i].q], on.state.v[segments[i].v] = at.q[k, i], at.v[k, i]
    if settle(on) != 0:
        return False
    find_accelerations(on)
    for i in range(segments.shape[0]):
        at.a[k, i] = on.work.acceleration[i]
    return True


@kernel
def place_points(at, dt):
    """Coordinates and velocities of the middle and the end, from the accelerations."""
    q, v, a = at.q, at.v, at.a
    for i in range(q.shape[1]):
        v[2, i] = v[0, i] + dt / 6.0 * (a[0, i] + 4.0 * a[1, i] + a[2, i])
        v[1, i] = 0.5 * (v[0, i] + v[2, i]) + 0.125 * dt * (a[0, i] - a[2, i])
        q[2, i] = q[0, i] + dt / 6.0 * (v[0, i] + 4.0 * v[1, i] + v[2, i])
        q[1, i] = 0.5 * (q[0, i] + q[2, i]) + 0.125 * dt * (v[0, i] - v[2, i])


@kernel
def collocate(on, at):
    """Take a step, and return the number of iterations, or -1 without convergence."""
    n, dt = at.q.shape[1], on.options.dt
    for iteration in range(1, MOST + 1):
        place_points(at, dt)
        for k in range(2):
            for i in range(n):
                at.guess[k, i] = at.a[k + 1, i]
            if not accelerate(on, at, k + 1):
                return -1
        change, size = 0.0, 0.0
        for k in range(2):
            for i in range(n):
                change = max(change, dt * abs(at.a[k + 1, i] - at.guess[k, i]))
                size = max(size, dt * abs(at.a[k + 1, i]))
        if change <= max(on.options.tolerance, ROUNDING * size):
            place_points(at, dt)
            return iteration
    return -1


@kernel
def go_on(at):
    """The end becomes the beginning; accelerations go on as the parabola through the last three."""
    for i in range(at.q.shape[1]):
        at.q[0, i], at.v[0, i] = at.q[2, i], at.v[2, i]
        a, b, c = at.a[0, i], at.a[1, i], at.a[2, i]
        at.a[0, i] = c
        at.a[1, i] = a - 3.0 * b + 3.0 * c
        at.a[2, i] = 3.0 * a - 8.0 * b + 6.0 * c


@entry
def take_collocated(on, at, rows):
    """Steps from at.q[0], at.v[0]: rows (steps + 1, n) of coordinates; how many were solved."""
    n = at.q.shape[1]
    for i in range(n):
        rows[0, i] = at.q[0, i]
    if not accelerate(on, at, 0):
        return 0
    for i in range(n):
        at.a[1, i] = at.a[2, i] = at.a[0, i]
    for k in range(1, rows.shape[0]):
        if collocate(on, at) < 0:
            return k - 1
        go_on(at)
        for i in range(n):
            rows[k, i] = at.q[0, i]
    return rows.shape[0] - 1


def collocated(sim: MinimalSimulation, steps: int) -> Array:
    """Coordinates (steps + 1, n) by Hermite-Simpson collocation from the state of a simulation.

    Parameters
    ----------
    sim : MinimalSimulation
        A simulation of a tree of joints with one coordinate each, under gravity alone. Its state,
        timestep and tolerance [rad/s or m/s] are used, and it serves as scratch memory.
    steps : int

    Raises
    ------
    ConvergenceError
        If the iterations do not converge.
    """
    parts = sim.engine.parts
    segments = parts.model.segments
    n = len(segments)
    at = Points(np.zeros((3, n)), np.zeros((3, n)), np.zeros((3, n)), np.zeros((2, n)))
    at.q[0], at.v[0] = sim.q[segments["q"]], sim.v[segments["v"]]
    rows = np.zeros((steps + 1, n))
    done = take_collocated(parts, at, rows)
    if done < steps:
        raise ConvergenceError(done * sim.timestep, np.inf, MOST, 1, sim.robot.bodies[0].name)
    out = np.empty_like(rows)
    out[:, segments["q"]] = rows
    return out
