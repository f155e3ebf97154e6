"""A cube that drops flat and sticks has derivatives in each step, at default options.

Kernels are compiled once more for numbers that have derivatives, for some minutes.
"""

from __future__ import annotations

import numpy as np
import pytest
from step_differences import compare, end_of_step

from robosim import Body, Geometry, HalfSpace, Joint, Mechanism, Simulation, linearize
from robosim.models import builders

pytestmark = pytest.mark.slow

EDGE = 0.2
Z, ROLL, PITCH = 2, 3, 4


def of_points():
    return builders.cube(edge=EDGE, friction=0.5)


def of_a_shape():
    box = Geometry("box", (EDGE,) * 3, friction=0.5)
    body = Body("box", 1.0, EDGE**2 / 6 * np.eye(3), collisions=(box,))
    robot = Mechanism("box", (body,), (Joint("free", "floating", None, "box"),))
    return robot.with_contacts([HalfSpace()], ground=False)


@pytest.mark.parametrize("make", [of_points, of_a_shape])
@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_a_cube_that_drops_flat(make, solver):
    sim = Simulation(make(), 1e-3, solver=solver)
    q = np.array(sim.robot.home)
    q[2] = 0.5 * EDGE + 1e-3
    sim.set_state(q)
    modes = []
    for _ in range(100):
        found = linearize(sim)
        assert np.isfinite(found.A).all()
        modes.append({one.mode for one in found.contacts})
        if modes[-1] == {"stick"} and sim.q[2] > 0.5 * EDGE + 1e-6:
            # It lands in this step, from higher up than the differences.
            compare(sim, step=1e-8)
        sim.step()
    landing = modes.index({"stick"})
    assert modes[landing:] == [{"stick"}] * (100 - landing)
    assert modes[:landing] == [set()] * 13 + [{"open"}]
    assert np.abs(sim.v).max() < 1e-8
    at_rest(sim)


def at_rest(sim):
    """By velocities to both sides; by positions where no corner goes down, as those beyond do."""
    found, nv, still = linearize(sim), 6, np.zeros(6)
    tau, tangent = np.zeros(6), sim.dynamics

    def end(dq, dv):
        return end_of_step(sim, tangent.integrate(sim.q, dq), sim.v + dv, tau)

    def change(begin, ahead):
        return np.concatenate((tangent.difference(begin[0], ahead[0]), ahead[1] - begin[1]))

    for k, along in enumerate(np.eye(nv)):
        begin, ahead = (end(still, way * 1e-5 * along) for way in (-1, 1))
        np.testing.assert_allclose(change(begin, ahead) / 2e-5, found.A[:, nv + k], atol=1e-6)
    raised, here = np.eye(nv)[Z], end(still, still)
    rolls, pitches = 3 * np.eye(nv)[[ROLL, PITCH]]  # by less than what corners are raised by
    for along in (raised, raised + rolls, raised - pitches, raised + rolls + pitches):
        # By a micrometre what a corner carries is no longer linear in how high it is raised.
        step = 1e-7 * along
        by = change(here, end(step, still)) / 1e-7
        np.testing.assert_allclose(by, found.A[:, :nv] @ along, atol=1e-3)
    for k in (0, 1, 5):
        along = 1e-6 * np.eye(nv)[k]
        by = change(end(-along, still), end(along, still)) / 2e-6
        np.testing.assert_allclose(by, found.A[:, k], atol=1e-5)
