"""Gradients passed back through steps beside those by the matrices of the same steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import random_body, random_joint, random_tree

from robosim import BatchSimulation, Mechanism, Simulation
from robosim.batch.gradients import Gradients
from robosim.controllers import PD
from robosim.runtime.adjoint import Backward

pytestmark = pytest.mark.slow

LAWS = {
    "spring": {"stiffness": 10.0, "rest": 0.5, "damping": 0.3},
    "rotor": {"armature": 0.3},
    "friction": {"friction": 0.1},
    "limit": {"lower": -0.5, "upper": 0.3},
}
STEPS = 3


def compare(batch, monkeypatch, within=1e-9, controller=None, torques=None) -> Gradients:
    """Both, where not one step is passed by its matrices in the first."""
    nu, nv, n = batch.robot.nu, batch.robot.nv, len(batch)
    given = {"controller": controller} if controller else {"torques": torques}
    if torques is None and not controller:
        given = {"torques": np.zeros((n, STEPS, nu))}
    run = batch.rollout(STEPS, tape=True, **given)
    rng = np.random.default_rng(0)
    dq, dv = rng.normal(size=(2, n, STEPS + 1, nv))
    take, left = Backward.take, []
    with monkeypatch.context() as patch:
        patch.setattr(Backward, "take", lambda *a: left.append(take(*a)) or left[-1])
        passed = run.vjp(dq, dv)
    assert left
    assert not any(left)
    with monkeypatch.context() as patch:
        patch.setattr(Backward, "may_take", staticmethod(lambda *_: False))
        expected = run.vjp(dq, dv)
    for name in ("q", "v", "torques", "targets", "kp", "kd"):
        ours, theirs = getattr(passed, name), getattr(expected, name)
        size = np.nanmax(np.abs(theirs), initial=1e-2)
        np.testing.assert_allclose(ours / size, theirs / size, rtol=0, atol=within, err_msg=name)
    np.testing.assert_array_equal(passed.changes, expected.changes)
    return passed


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("base", ["revolute", "planar", "cylindrical", "spherical", "floating"])
def test_joints_and_laws(base, law, monkeypatch):
    """A hinge and a slide on a base of any kind, with a force or torque between them."""
    rng = np.random.default_rng(3)
    free = {"actuated": False} if base in ("spherical", "floating") else {}
    joints = (
        random_joint(rng, "j0", base, None, "b0", **free),
        random_joint(rng, "j1", "revolute", "b0", "b1", **LAWS[law]),
        random_joint(rng, "j2", "prismatic", "b0", "b2", **LAWS[law]),
    )
    robot = Mechanism("three", tuple(random_body(rng, f"b{k}") for k in range(3)), joints)
    batch = BatchSimulation(robot, 1, 2e-3, tolerance=1e-13, contact_speed=1e-3, threads=1)
    q = np.array(robot.home)
    q[-2:] = 0.2999
    batch.set_state(q, np.linspace(0.5, 2.0, robot.nv))
    torques = rng.normal(size=(1, STEPS, robot.nu))
    compare(batch, monkeypatch, 1e-8, torques=torques)


@pytest.mark.parametrize("seed", range(3))
def test_trees_that_float(seed, monkeypatch):
    """Bodies that turn far, so that arcs are longer than chords."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 5, "floating", ("revolute", "prismatic"))
    robot = replace(robot, joints=(replace(robot.joints[0], actuated=False), *robot.joints[1:]))
    batch = BatchSimulation(robot, 2, 5e-3, tolerance=1e-13, threads=1)
    batch.set_state(None, 3.0 * rng.normal(size=(2, robot.nv)))
    compare(batch, monkeypatch, 1e-8)


@pytest.mark.parametrize("mode", ["torques", "held", "implicit"])
@pytest.mark.parametrize("speed", [1e-3, 1e-6])
def test_feet(a1, speed, mode, monkeypatch):
    """Feet that stick and slide; two threads."""
    sim = Simulation(a1, tolerance=1e-12, contact_speed=speed)
    sim.run(0.45, "trot")
    batch = BatchSimulation(a1, 2, tolerance=1e-12, contact_speed=speed, threads=2)
    batch.set_state(sim.q, np.stack((sim.v, 0.9 * sim.v)))
    pd = None if mode == "torques" else PD(a1, sim.q[7:], 50.0, 1.0, implicit=mode == "implicit")
    torques = np.tile(sim.torques[a1.actuated], (2, STEPS, 1))
    compare(batch, monkeypatch, 1e-7, pd, torques)
