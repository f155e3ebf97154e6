"""Derivatives of undivided steps of trees in closed form, beside those by numbers that carry them.

Kernels are compiled once more for numbers that have derivatives, for some minutes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import random_body, random_joint, random_tree

from robosim import Mechanism, Simulation
from robosim.controllers import PD
from robosim.linearization.linearization import MaximalLinearizer
from robosim.models import builders
from robosim.runtime import duals

pytestmark = pytest.mark.slow

LAWS = {
    "nothing": {},
    "spring": {"stiffness": 10.0, "rest": 0.5},
    "damper": {"damping": 1.0},
    "rotor": {"armature": 0.3},
    "friction": {"friction": 0.1},
    "limit": {"lower": -0.5, "upper": 0.3},
}


def compare(sim, monkeypatch, within=1e-9, controller=None, torques=None):
    """Both, column by column; the first without a pass of numbers with derivatives."""

    def take():
        one = MaximalLinearizer(sim, None, (), controller is not None)
        found = one.at(sim, torques, controller)
        assert one._last is not None
        return found, int(one._last[0].parts.info["iterations"][0])

    closed, passes = take()
    assert passes == 0
    monkeypatch.setattr(duals, "in_closed_form", lambda *_: False)
    carried, passes = take()
    assert passes > 0
    for a, b in ((closed.A, carried.A), (closed.B, carried.B)):
        size = np.maximum(np.abs(b).max(axis=0), 1e-2) if b.size else 1.0
        np.testing.assert_allclose(a / size, b / size, rtol=0, atol=within)
    np.testing.assert_allclose(closed.q, carried.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(closed.v, carried.v, rtol=0, atol=1e-8)
    return closed


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("base", ["revolute", "planar", "cylindrical", "spherical", "floating"])
def test_joints_and_laws(base, kind, law, monkeypatch):
    """A body on a base of any kind, with a force or torque between them."""
    rng = np.random.default_rng(3)
    free = {"actuated": False} if base in ("spherical", "floating") else {}
    joints = (
        random_joint(rng, "j0", base, None, "b0", **free),
        random_joint(rng, "j1", kind, "b0", "b1", **LAWS[law]),
    )
    bodies = random_body(rng, "b0"), random_body(rng, "b1")
    robot = Mechanism("pair", bodies, joints)
    sim = Simulation(robot, tolerance=1e-13, contact_speed=1e-3)
    q = np.array(robot.home)
    q[-1] = 0.2999
    sim.set_state(q, np.linspace(0.5, 2.0, robot.nv))
    torques = np.zeros(robot.nv)
    torques[-1] = 0.7
    found = compare(sim, monkeypatch, 1e-8, torques=torques)
    assert bool(found.contacts) == (law in ("friction", "limit"))


def test_turns_that_are_long(monkeypatch):
    """Where arcs are longer than chords by per cents."""
    robot = builders.chain(4, "revolute")
    sim = Simulation(robot, 0.02, tolerance=1e-13)
    sim.set_state(np.linspace(0.1, 1.0, 4), [10.0, -15.0, 10.0, 5.0])
    compare(sim, monkeypatch, 1e-7)


@pytest.mark.parametrize("speed", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("controller", ["stand", "trot"])
def test_feet(a1, controller, speed, monkeypatch):
    """Feet that stick and slide, under the torques of the last step."""
    sim = Simulation(a1, tolerance=1e-12, contact_speed=speed)
    sim.run(0.45, controller)
    found = compare(sim, monkeypatch, 1e-7)
    assert {one.mode for one in found.contacts} & {"stick", "slide"}


def test_servos(a1, monkeypatch):
    """The closed loop of implicit PDs, which are part of the equations."""
    sim = Simulation(a1, tolerance=1e-12, contact_speed=1e-3)
    sim.run(0.2, "stand")
    pd = PD(a1, sim.q[7:], 50.0, 1.0, implicit=True)
    compare(sim, monkeypatch, 1e-7, pd)


@pytest.mark.parametrize("seed", range(6))
def test_trees_that_float(seed, monkeypatch):
    """Without motors at free rotations and slides in space, whose columns need passes."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 5, "floating", ("revolute", "cylindrical", "planar", "spherical"))
    still = [replace(one, actuated=False) if one.nv > 2 else one for one in robot.joints]
    robot = replace(robot, joints=tuple(still))
    sim = Simulation(robot, 2e-3, tolerance=1e-13)
    sim.set_state(None, rng.normal(size=robot.nv))
    compare(sim, monkeypatch, 1e-8)
