"""Derivatives of Galerkin integrators in closed form, beside differences of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from joint_lagrangian import slopes
from random_mechanisms import random_tree, sprung

from robosim import MinimalSimulation, linearize
from robosim.minimal.columns import ColumnStep
from robosim.models.builders import double_pendulum

STEP = 3e-3  # of differences, whose error is of its sixth power


@pytest.mark.parametrize("order", [2, 4, 6])
def test_trees_of_hinges_and_slides(order: int) -> None:
    """Springs, dampers, rotors, wrenches and torques, on more columns than are taken at once."""
    for seed, kinds in enumerate((("revolute", "prismatic"), ("revolute",))):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 7, kinds[0], kinds)
        joints = tuple(replace(sprung(rng, one), armature=0.1, damping=0.2) for one in robot.joints)
        robot = replace(robot, joints=joints)
        sim = MinimalSimulation(robot, 0.01, integrator="galerkin", order=order, tolerance=1e-12)
        assert ColumnStep.may_take(sim.engine.parts)
        nv, tau, one = robot.nv, rng.normal(size=robot.nu), sim.copy()
        q, v = rng.normal(size=(2, nv))
        sim.set_state(q, v)
        wrenches = rng.normal(size=(len(robot.bodies), 6))
        sim.engine.parts.loads.external["w"][: len(wrenches)] = wrenches

        def end(x, one=one, q=q, v=v, tau=tau, nv=nv, sim=sim):
            one.set_state(q + x[:nv], v + x[nv : 2 * nv])
            one.engine.parts.loads.external["w"] = sim.engine.parts.loads.external["w"]
            one.step(tau + x[2 * nv :])
            return np.concatenate((one.q, one.v))

        found = linearize(sim, tau)
        expected = slopes(end, np.zeros(2 * nv + robot.nu), STEP)
        off = np.abs(np.hstack((found.A, found.B)) - expected).max(axis=0)
        assert (off / np.maximum(np.abs(expected).max(axis=0), 1e-2)).max() < 1e-8
        there = end(np.zeros(2 * nv + robot.nu))
        np.testing.assert_allclose(np.concatenate((found.q, found.v)), there, rtol=0, atol=1e-10)


def test_results_stay_when_the_next_are_found() -> None:
    """Also those of a single motor, whose column is stored as a row is."""
    links = double_pendulum()
    acrobot = replace(links, joints=(replace(links.joints[0], actuated=False), links.joints[1]))
    sim = MinimalSimulation(acrobot, 0.01, integrator="galerkin", order=4)
    sim.set_state((0.3, 0.4), (1.0, -2.0))
    first = linearize(sim, (0.1,))
    kept = first.A.copy(), first.B.copy()
    sim.set_state((1.3, -0.4), (-1.0, 2.0))
    assert np.abs(linearize(sim, (0.2,)).B - first.B).max() > 1e-6
    np.testing.assert_array_equal(first.A, kept[0])
    np.testing.assert_array_equal(first.B, kept[1])
