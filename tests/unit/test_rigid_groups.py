"""What cannot move against what it would touch is no contact of it."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, ContactPoint, Geometry, HalfSpace, Joint, Mechanism, Simulation


def block(name: str) -> Body:
    return Body(name, 2.0, 0.02 * np.eye(3), collisions=(Geometry("box", (0.2, 0.2, 0.2)),))


def arm(root: str) -> Mechanism:
    """On a base that stands on the ground, bolted to a second block beside it."""
    return Mechanism(
        "arm",
        (block("base"), block("beside"), block("arm")),
        (
            Joint("root", root, None, "base", (0, 0, 1), (0, 0, 0.1 if root == "fixed" else 0)),
            Joint("bolt", "fixed", "base", "beside", (0, 0, 1), (0.2, 0, 0)),
            Joint("hinge", "revolute", "base", "arm", (0, 1, 0), (0, 0, 0.1), (0, 0, -0.3)),
        ),
        contacts=(ContactPoint("corner", "beside", (0.1, 0.1, -0.1)),),
        obstacles=[HalfSpace()],
        contact_pairs=[("base", "beside"), ("arm", "beside")],
        home=(0.0,) if root == "fixed" else (0, 0, 0.1, 1, 0, 0, 0, 0),
    )


def test_groups():
    assert arm("fixed").rigid_groups == {None: None, "base": None, "beside": None, "arm": "arm"}
    groups = arm("floating").rigid_groups
    assert groups["base"] == groups["beside"] not in (None, "arm")


@pytest.mark.parametrize("root", ["fixed", "floating"])
def test_pairs_that_are_rigidly_joined_are_left_out(root):
    robot = arm(root)
    names = {
        tuple(None if body is None else robot.bodies[body].name for body, _ in sides)
        for sides in robot.touching_shapes()
    }
    expected = {(None, "arm"), ("beside", "arm")}
    if root == "floating":
        expected |= {(None, "base"), (None, "beside")}
    assert names == expected


def test_what_is_fixed_to_the_world_does_not_push_the_world():
    sim = Simulation(arm("fixed"), 2e-3)
    sim.set_state([0.4])
    for _ in range(20):
        sim.step()
    assert sim.contacts() == []
    assert sim.min_gap() > 0
    np.testing.assert_array_equal(sim.contact_forces(), 0.0)
