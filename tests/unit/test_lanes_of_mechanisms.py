"""States in lanes of mechanisms with closed loops, couplings, and several hinges in a joint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robosim
from robosim import BatchSimulation, Mechanism, Simulation
from robosim.description.joint import Joint
from robosim.description.springs import Coupling
from robosim.joints import Composite, ExponentialBall, Hinge, Offset
from robosim.kernels.compiler.lanes import WIDTH
from robosim.models.builders import chain

HIP = Composite(Hinge((1, 0, 0)), Offset((0, 0, 0.05)), Hinge((0, 1, 0)), Hinge((0, 0, 1)))


def with_chart(chart: Any, damping: float = 0.1) -> Mechanism:
    """A chain whose second joint is a chart, before one with a spring."""
    robot = chain(4)
    joints = list(robot.joints)
    old = joints[1]
    ends = {"parent_position": old.parent_position, "child_position": old.child_position}
    made = Joint(old.name, "composite", old.parent, old.child, chart=chart, damping=damping, **ends)
    joints[1], joints[2] = made, replace(joints[2], stiffness=5.0)
    return replace(robot, joints=tuple(joints), home=np.zeros(6))


def with_hip() -> Mechanism:
    return with_chart(HIP)


def coupled() -> Mechanism:
    robot = chain(3)
    names = [joint.name for joint in robot.joints]
    return replace(robot, couplings=(Coupling("gear", names[0], names[2], 0.5),))


def both(robot: Any, q: Any, timestep: float, steps: int) -> list[Any]:
    """The same steps in lanes and alone."""
    runs = []
    for lanes in (True, False):
        batch = BatchSimulation(robot, None if isinstance(robot, list) else WIDTH, timestep,
                                threads=1, lanes=lanes)  # fmt: skip
        batch.set_state(q)
        runs.append(batch.rollout(steps))
        if lanes:
            (group,) = batch._stepping.groups.values()
            assert group.handle.values.pace["steps"][0] == steps
    assert not runs[0].failed.any()
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(runs[0].v, runs[1].v, rtol=0, atol=1e-5)
    return runs


def test_closed_loops() -> None:
    """Eight Minitaurs, with a loop in each leg, that land one after the other."""
    robot = robosim.load("minitaur")
    q = np.tile(robot.home, (WIDTH, 1))
    q[:, 2] += np.linspace(0.0, 0.05, WIDTH)
    both(robot, q, 1e-3, 60)


def test_states_with_loops_keep_every_bit_beside_their_like() -> None:
    robot = robosim.load("minitaur")
    batch, sim = BatchSimulation(robot, WIDTH, threads=1), Simulation(robot)
    batch.set_state(robot.home)
    sim.set_state(robot.home)
    together, alone = batch.rollout(40), sim.run(0.04)
    np.testing.assert_array_equal(together.q[5, :-1], alone.q)
    assert batch[5].energy() == sim.energy()
    for name, wrench in sim.joint_wrenches().items():
        np.testing.assert_array_equal(batch[5].joint_wrenches()[name], wrench)
    np.testing.assert_array_equal(batch[5].run(0.02).q, sim.run(0.02).q)


@pytest.mark.parametrize("make", [with_hip, coupled])
def test_hinges_between_two_bodies_and_couplings(make: Any) -> None:
    robot = make()
    q = np.random.default_rng(0).uniform(-0.4, 0.4, (WIDTH, robot.nq))
    if robot.couplings:
        sim = Simulation(robot)
        for row in q:
            sim.set_state(row)
            row[:] = sim.q
    both(robot, q, 2e-3, 100)


def test_numbers_of_charts_are_shared_by_states() -> None:
    """Masses may differ in lanes, but not the axes of hinges that are one joint."""
    robot = with_hip()
    body = robot.bodies[2]
    heavy = replace(robot, bodies=(*robot.bodies[:2], replace(body, mass=2.0 * body.mass),
                                   *robot.bodies[3:]))  # fmt: skip
    q = np.random.default_rng(0).uniform(-0.4, 0.4, (WIDTH, robot.nq))
    both([robot, heavy] * (WIDTH // 2), q, 2e-3, 50)
    other = with_chart(Composite(*HIP.charts[:2], Hinge((0, 1, 0.1)), HIP.charts[3]))
    batch = BatchSimulation([robot, other] * (WIDTH // 2), timestep=2e-3, threads=1)
    batch.set_state(q)
    batch.rollout(2)
    assert batch._stepping.groups == {}


def test_rotation_vectors_are_stepped_alone() -> None:
    robot = with_chart(ExponentialBall(), 0.0)
    batch = BatchSimulation(robot, WIDTH, 2e-3, threads=1)
    batch.set_state(np.full(robot.nq, 0.1))
    batch.rollout(2)
    assert batch._stepping.groups == {}
