"""The same simulation takes the same steps to the last bit, whatever memory held before."""

from __future__ import annotations

import numpy as np
import pytest
from spoiled import leave_junk

from robosim import Body, Joint, Mechanism, Simulation, Tendon
from robosim.tendons import Point

AXIS = 0, 1, 0


def rod(name: str) -> Body:
    return Body(name, 1.0, np.diag([1e-4, 1 / 12, 1 / 12]))


def hung_from_the_world(friction: float, limited: bool) -> Mechanism:
    """Two links, and a tendon from a point of the world to the second of them."""
    limits = {"lower": -1.0, "upper": 1.0} if limited else {}
    points = Point(None, (0.05, 0, 0.1)), Point("b", (0.1, 0, 0.03))
    joints = (
        Joint("j", "revolute", None, "a", AXIS, (0, 0, 0), (-0.5, 0, 0), friction=friction),
        Joint("k", "revolute", "a", "b", AXIS, (0.5, 0, 0), (-0.5, 0, 0), **limits),
    )
    rope = Tendon("rope", points, stiffness=50.0, rest_length=0.3, damping=1.0)
    return Mechanism("hung", (rod("a"), rod("b")), joints, home=(0.1, 0.2), tendons=(rope,))


def motion(robot: Mechanism, rng: np.random.Generator) -> bytes:
    sim = Simulation(robot, 2e-3)
    found = []
    leave_junk(rng)
    for _ in range(250):
        info = sim.step([0.3, 0.3])
        found.append([*sim.q, *sim.v, info.iterations, info.substeps])
    return np.array(found).tobytes()


@pytest.mark.parametrize(("friction", "limited"), [(0.1, False), (0.0, True), (0.1, True)])
def test_a_tendon_from_the_world_moves_the_same_each_time(friction, limited):
    robot, rng = hung_from_the_world(friction, limited), np.random.default_rng(0)
    assert len({motion(robot, rng) for _ in range(12)}) == 1
