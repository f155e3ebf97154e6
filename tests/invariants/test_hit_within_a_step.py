"""What is hit, kicked or driven within a step meets what lay out of its reach before."""

from __future__ import annotations

import numpy as np
import pytest
from touching import ball, box, free, poses

from robosim import Body, Geometry, HalfSpace, Joint, Mechanism, Simulation


def narrowest(sim: Simulation, seconds: float) -> float:
    return min(sim.step().gap for _ in range(round(seconds / sim.timestep)))


@pytest.mark.parametrize("dt", [1e-3, 0.01, 0.02])
@pytest.mark.parametrize("between", [1e-4, 3e-3])
def test_a_row_of_balls(dt, between):
    """Without a bounce all go on together, at the speed that momentum says."""
    robot = free(*(ball(name, 0.1) for name in "abc"), contact_pairs=[("a", "b"), ("b", "c")])
    sim = Simulation(robot, dt, gravity=(0, 0, 0))
    sim.set_state(poses((-0.03, 0, 0), (0.2, 0, 0), (0.4 + between, 0, 0)), [2.0] + [0] * 17)
    assert narrowest(sim, 0.5) > -1e-9
    np.testing.assert_allclose(sim.v[::6], 2 / 3, rtol=0, atol=1e-4)


@pytest.mark.parametrize("shape", ["ball", "box"])
def test_what_is_hit_stops_at_a_wall(shape):
    make = ball if shape == "ball" else lambda name, size: box(name, (2 * size,) * 3)
    robot = free(
        make("a", 0.1), make("b", 0.1), contact_pairs=[("a", "b")], obstacles=[
            HalfSpace(point=(0.305, 0, 0), normal=(-1, 0, 0))
        ]
    )  # fmt: skip
    sim = Simulation(robot, 0.01, gravity=(0, 0, 0))
    sim.set_state(poses((-0.03, 0, 0), (0.2, 0, 0)), [3.0] + [0] * 11)
    assert narrowest(sim, 0.3) > -1e-9
    np.testing.assert_allclose(sim.state.x[:, 0], [0.005, 0.205], rtol=0, atol=1e-5)


@pytest.mark.parametrize("dt", [2e-3, 0.01])
@pytest.mark.parametrize("shape", ["box", "sphere", "capsule"])
def test_fingers_that_snap_shut_hold_what_is_between_them(shape, dt):
    size = {"box": (0.04,) * 3, "sphere": (0.02,), "capsule": (0.02, 0.03)}[shape]
    fingers = [box(name, (0.01, 0.02, 0.04), 0.02) for name in ("left", "right")]
    held = Body("held", 0.1, 3e-5 * np.eye(3), collisions=(Geometry(shape, size),))
    joints = (
        Joint("l", "prismatic", None, "left", axis=(1, 0, 0)),
        Joint("r", "prismatic", None, "right", axis=(-1, 0, 0)),
        Joint("c", "floating", None, "held"),
    )
    pairs = [("left", "held"), ("right", "held"), ("left", "right")]
    sim = Simulation(Mechanism("g", (*fingers, held), joints, contact_pairs=pairs), dt, (0, 0, 0))
    sim.set_state([-0.055, -0.055, 0, 0, 0, 1, 0, 0, 0])
    for _ in range(round(0.3 / dt)):
        assert sim.step([40.0, 40.0]).gap > -1e-9
    np.testing.assert_allclose(sim.state.x[:2, 0], [-0.025, 0.025], rtol=0, atol=1e-6)


def test_small_balls_do_not_pass_through_each_other():
    """Each flies by more than both diameters in a step."""
    robot = free(ball("a", 0.01), ball("b", 0.01), contact_pairs=[("a", "b")])
    sim = Simulation(robot, 0.01, gravity=(0, 0, 0))
    sim.set_state(poses((-0.06, 0, 0), (0.06, 0.002, 0)), [8.0, 0, 0, 0, 0, 0, -8.0, 0, 0, 0, 0, 0])
    assert narrowest(sim, 0.1) > -1e-9
    # They meet a little off the middle: a tenth of the speed goes on across, and of that along x.
    assert 0.05 < sim.v[0] < 0.15
    assert sim.v[6] == pytest.approx(-sim.v[0])
    assert sim.v[1] < -0.5


def test_what_flies_past_is_not_stopped():
    """Beside what has a plane where it was nearest to it, and beyond the plane a step later."""
    robot = free(box("a", (0.1,) * 3), box("b", (0.1,) * 3), ball("c", 0.05), contact_pairs=[
        ("a", "b"), ("b", "c")
    ])  # fmt: skip
    sim = Simulation(robot, 0.02, gravity=(0, 0, 0))
    sim.set_state(poses((0, 0, 0), (0.11, 0, 0), (0.3, 0.13, 0)), [20.0] + [0] * 17)
    for _ in range(20):
        sim.step()
    np.testing.assert_allclose(sim.v[12:], 0, rtol=0, atol=1e-8)
    assert sim.v[0] == pytest.approx(10.0, abs=1e-3)
