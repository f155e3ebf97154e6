"""Cylinders that roll over kerbs: no energy from nothing, and no sinking."""

from __future__ import annotations

import numpy as np
import pytest
from touching import G, free

from robosim import Body, Geometry, Simulation, TriangleMesh

LYING = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)


def stairs(heights, width=0.25):
    """A mesh of steps along x, 2 m wide, open at both ends."""
    vertices, faces = [], []

    def add(*corners):
        begin = len(vertices)
        vertices.extend(corners)
        faces.extend(((begin, begin + 1, begin + 2), (begin, begin + 2, begin + 3)))

    for k, z in enumerate(heights):
        x0, x1 = k * width, (k + 1) * width
        add((x0, -1, z), (x1, -1, z), (x1, 1, z), (x0, 1, z))
        if k + 1 < len(heights):
            up = heights[k + 1]
            add((x1, -1, z), (x1, -1, up), (x1, 1, up), (x1, 1, z))
    shape = Geometry("mesh", vertices=np.array(vertices, float), faces=np.array(faces))
    return TriangleMesh(shape, friction=0.6)


def roller(radius, length, mass=1.0):
    """A cylinder along y."""
    across, along = mass * (3 * radius**2 + length**2) / 12, mass * radius**2 / 2
    shape = Geometry("cylinder", (radius, length), friction=0.6, quaternion=LYING)
    return Body("roller", mass, np.diag([across, along, across]), collisions=(shape,))


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 30))]
)
def test_a_cylinder_over_kerbs_gains_no_energy_and_sinks_nowhere(seed):
    """0.3 % of m g r at most, which the knot of an impact may be read too low by."""
    rng = np.random.default_rng(seed)
    dt, radius = (0.001, 0.002, 0.005)[seed % 3], rng.uniform(0.05, 0.15)
    length = rng.uniform(0.2, 4.0) * radius
    ground = stairs(np.cumsum(rng.uniform(-0.12, 0.04, 10)))
    sim = Simulation(free(roller(radius, length), obstacles=[ground]), dt)
    half = rng.uniform(-0.3, 0.3)
    spin = rng.uniform(-3, 3, 3)
    sim.set_state(
        [0.1, 0, 0.4, np.cos(half), 0, 0, np.sin(half)],
        [rng.uniform(0.3, 2), rng.uniform(-0.2, 0.2), 0, *spin],
    )
    energy = sim.energy()
    for _ in range(round(1.2 / dt)):
        if not 0 < sim.q[0] < 2.4 or abs(sim.q[1]) > 0.9:
            break
        assert sim.step().gap > -1e-7
        after = sim.energy()
        assert after < energy + 3e-3 * G * radius
        energy = after
