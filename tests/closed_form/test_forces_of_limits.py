"""What limits, gears and held lengths carry, read from wherever they are in a mechanism."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, Coupling, Joint, Mechanism, ModelError, Simulation
from robosim.tendons import Point, Tendon, Term

Y, R, L = (0, 1, 0), 0.1, 0.35


def body(name):
    return Body(name, 1.0, 0.1 * np.eye(3))


def slider_crank(rail_in_tree, **rail):
    bodies = body("crank"), body("rod"), body("slider")
    crank = Joint("main", "revolute", None, "crank", Y, (0, 0, 0), (-R / 2, 0, 0))
    pin = Joint("pin", "revolute", "crank", "rod", Y, (R / 2, 0, 0), (-L / 2, 0, 0))
    wrist = Joint("wrist", "revolute", "rod", "slider", Y, (L / 2, 0, 0), (0, 0, 0))
    rail = Joint("rail", "prismatic", None, "slider", (1, 0, 0), **rail)
    last = (rail, wrist) if rail_in_tree else (wrist, rail)
    start = 0.8, -1.0, 0.4 if rail_in_tree else 0.2
    return Mechanism("slider_crank", bodies, (crank, pin, *last), home=start)


@pytest.mark.parametrize("rail_in_tree", [True, False])
def test_a_crank_against_the_end_of_its_rail(rail_in_tree):
    """By virtual work: torque times the crank's rate is force times the slider's."""
    sim = Simulation(slider_crank(rail_in_tree, lower=0.40), 1e-3, gravity=(0, 0, 0))
    for _ in range(3000):
        sim.step([2.0, *np.zeros(sim.robot.nu - 1)])
    angle = sim.q[0]
    z = R * np.sin(angle)
    slope = -R * np.sin(angle) - z * R * np.cos(angle) / np.sqrt(L * L - z * z)
    assert abs(sim.v).max() < 1e-6
    force = sim.limit_forces_of("rail")
    assert force.shape == (1,)
    assert force[0] == pytest.approx(-2.0 / slope, rel=1e-6)
    if rail_in_tree:
        assert force[0] == sim.limit_forces()[2]
    np.testing.assert_array_equal(sim.limit_forces_of("main"), 0.0)


def test_a_rope_carries_its_load():
    rope = Tendon("rope", (Point(None, (0, 0, 1)), Point("weight")), upper=1.0)
    joint = Joint("rail", "prismatic", None, "weight", (0, 0, 1))
    sim = Simulation(Mechanism("hanging", (body("weight"),), (joint,), tendons=(rope,)))
    sim.run(0.2)
    assert sim.limit_forces_of("rope")[0] == pytest.approx(-9.81, rel=1e-9)
    np.testing.assert_array_equal(sim.limit_forces(), 0.0)
    with pytest.raises(ModelError, match="no joint 'string'"):
        sim.limit_forces_of("string")


def test_a_gear_between_two_wheels():
    """1 - 2 f = I a, f = 2 I a: what the tooth gives to the driven wheel."""
    joints = [Joint("j" + n, "revolute", None, n, Y) for n in "ab"]
    gear = Coupling("gear", "jb", "ja", ratio=2.0)
    bodies = body("a"), body("b")
    sim = Simulation(Mechanism("gears", bodies, tuple(joints), couplings=(gear,)))
    assert sim.coupling_forces() == {"gear": 0.0}
    for _ in range(5):
        sim.step([1.0, 0.0])
    assert sim.coupling_forces()["gear"] == pytest.approx(0.4, rel=1e-6)


def test_a_held_tendon_tells_its_force():
    """The same gear as a sum of coordinates that is held at zero."""
    joints = [Joint("j" + n, "revolute", None, n, Y) for n in "ab"]
    held = Tendon("sum", (Term("jb"), Term("ja", -2.0)), lower=0.0, upper=0.0)
    bodies = body("a"), body("b")
    sim = Simulation(Mechanism("gears", bodies, tuple(joints), tendons=(held,)))
    for _ in range(5):
        sim.step([1.0, 0.0])
    assert sim.drive_forces()["sum"] == pytest.approx(0.4, rel=1e-6)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_a_limit_is_not_passed_in_a_step_that_starts_at_rest(solver):
    """Nothing foretells it: a torque turns a hinge by 0.8 rad, and the limit is at 0.5 rad."""
    body = Body("arm", 1.0, np.eye(3))
    hinge = Joint("hinge", "revolute", None, "arm", (0, 0, 1), upper=0.5)
    sim = Simulation(Mechanism("arm", (body,), (hinge,)), 0.1, solver=solver)
    sim.step([160.0])
    assert sim.q[0] == pytest.approx(0.5, abs=1e-6)
