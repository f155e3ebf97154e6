"""When a PD can hold its torques over a step, and what `stand` makes of it."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim.controllers import PD, holds_over, stand
from robosim.dynamics import mass_matrix

STEP = 0.01


def wheel():
    """A body of 0.5 kg m^2 on a hinge through its centre of mass."""
    body = robosim.Body("wheel", 1.0, 0.5 * np.eye(3))
    return robosim.Mechanism("wheel", (body,), (robosim.Joint("hinge", "revolute", None, "wheel"),))


def grows(robot, pd, steps=400):
    """Whether a small deviation grows, with torques held over the step."""
    sim = robosim.Simulation(robot, STEP, gravity=(0, 0, 0))
    sim.set_state(np.full(robot.nq, 1e-6), np.full(robot.nv, 1e-6))
    sizes = []
    for _ in range(steps):
        sim.step(pd(sim))
        sizes.append(np.abs(sim.v).max())
    return max(sizes[steps // 2 :]) > max(sizes[: steps // 2])


@pytest.mark.parametrize("side", [0.99, 1.01])
@pytest.mark.parametrize("bound", ["damping", "stiffness"])
def test_the_bound_is_the_simulations_own(bound, side):
    robot = wheel()
    # h kd < 2 inertia, and h kp < 2 kd.
    kp, kd = (0.0, side * 2 * 0.5 / STEP) if bound == "damping" else (side * 2 * 0.1 / STEP, 0.1)
    pd = PD(robot, 0.0, kp, kd)
    assert holds_over(pd, mass_matrix(robot, robot.home), STEP) == (side < 1)
    assert grows(robot, pd) == (side > 1)


def test_the_a1_is_a_servo_from_two_milliseconds_on():
    a1 = robosim.load("a1")
    assert not stand(a1).gains["implicit"].any()
    assert not stand(a1, 1e-3).gains["implicit"].any()
    assert stand(a1, 2e-3).gains["implicit"].all()
    assert stand(a1, 1e-3, implicit=True).gains["implicit"].all()
    assert not stand(a1, 1e-2, implicit=False).gains["implicit"].any()


def test_rotors_make_it_steadier():
    robot = wheel()
    pd = PD(robot, 0.0, 0.0, 150.0)
    rotor = mass_matrix(robot, robot.home) + 0.5
    assert not holds_over(pd, mass_matrix(robot, robot.home), STEP)
    assert holds_over(pd, rotor, STEP)


@pytest.mark.parametrize("timestep", [0.0, -1e-3, float("nan")])
def test_a_timestep_that_is_none(timestep):
    with pytest.raises(robosim.OptionError, match="timestep must be a positive number"):
        stand(robosim.load("a1"), timestep)


@pytest.mark.parametrize(
    ("name", "pose"),
    [
        ("go2_description", "home"),
        ("go2_description", "standing"),
        ("anymal_b_simple_description/anymal", "standing"),
        ("hyq_description", "standing"),
        ("talos_data/talos_reduced", "home"),
    ],
)
def test_robots_without_a_stance_stand(name, pose):
    """Gains for what hangs on a joint alone let all of them sink to the ground."""
    robot = robosim.load(name)
    q = np.array(robot.poses[pose])
    sim = robosim.Simulation(robot)
    sim.set_state(q)
    q[2] -= sim.min_gap() - 1e-4
    sim.set_state(q)
    sim.run(1.5, stand(robot, sim.timestep, q=q))
    assert abs(sim.q[2] - q[2]) < 0.04 * q[2]
    assert np.abs(sim.v).max() < 0.05


def test_feet_that_are_shapes_on_an_obstacle_count():
    robot = robosim.load("go2_description")
    on_points = stand(robot).gains["kp"]
    scene = robot.with_contacts(obstacles=[robosim.HalfSpace()], ground=False)
    np.testing.assert_allclose(stand(scene).gains["kp"], on_points, rtol=0.2)


def test_what_hangs_on_a_joint_is_all_that_an_arm_carries():
    robot = robosim.load("panda_description/panda", floating_base=False)
    ours = stand(robot).gains
    carried = np.diag(mass_matrix(robot, robot.home))[ours["v_index"]]
    np.testing.assert_allclose(ours["kp"], carried * (10 * np.pi) ** 2, rtol=1e-12)
