"""A play behind gears: a motor that runs through it, meets its link, and drives it on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import Body, Joint, Mechanism, Simulation
from robosim.controllers import PD
from robosim.errors import ModelError
from robosim.mechanism import with_backlash

H = 1e-4
ROTOR, LINK, PLAY, TORQUE = 0.02, 0.01, 0.1, 1.0  # [kg m^2], [kg m^2], [rad], [N m]


def arm(**of_joint) -> Mechanism:
    """A link on a motor with gears."""
    joint = Joint("hinge", "revolute", None, "link", axis=(0, 1, 0), armature=ROTOR, **of_joint)
    return Mechanism("arm", (Body("link", 1.0, LINK * np.eye(3)),), (joint,))


def simulated(robot: Mechanism) -> Simulation:
    return Simulation(robot, H, gravity=(0.0, 0.0, 0.0))


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_the_motor_meets_its_link_at_the_end_of_the_play(restitution):
    """Half the play alone, then an impact by Newton's law of the rotor and the link."""
    robot = with_backlash(arm(), {"hinge": PLAY}, restitution)
    assert robot.q_names == ("hinge", "hinge_play")
    assert robot.actuated_names == ("hinge",)
    log = simulated(robot).run(0.06, lambda sim: np.array([TORQUE]))
    motor, link = log.v[:, 0], log.v.sum(axis=1)
    met = int(np.argmax(np.abs(link) > 1e-6))
    assert log.t[met] == pytest.approx(np.sqrt(PLAY * ROTOR / TORQUE), abs=3 * H)
    assert np.abs(link[: met - 2]).max() < 1e-12
    speed = TORQUE / ROTOR * log.t[met]
    common = ROTOR * speed / (ROTOR + LINK)
    expected = common + restitution * speed * np.array((ROTOR, -LINK)) / (ROTOR + LINK)
    found = link[met + 1], motor[met + 1]
    assert found == pytest.approx(expected, abs=0.01 * speed)
    assert np.abs(log.q[:, 1]).max() < PLAY / 2 + 1e-6
    # All of the torque's momentum is in both together.
    momentum = ROTOR * motor + LINK * link
    assert momentum == pytest.approx(TORQUE * log.t, rel=2e-3, abs=2e-3 * momentum[-1])


def test_a_held_motor_leaves_its_link_the_play():
    robot = with_backlash(arm(), {"hinge": PLAY})
    sim = simulated(robot)
    hold = PD(robot, 0.0, kp=1e5, kd=1e2, implicit=True)
    for side in (1, -1):
        sim.apply_wrench("link", torque=(0.0, 0.5 * side, 0.0))
        log = sim.run(0.5, hold)
        assert log.q[-1] == pytest.approx((0.0, side * PLAY / 2), abs=1e-4)


def test_named_poses_and_what_names_the_joint_stay_with_the_motor():
    robot = replace(
        arm(lower=(-1.0,), upper=(1.0,), damping=0.1, friction=0.2),
        home=(0.3,), configurations={"up": (0.5,)},
    )  # fmt: skip
    made = with_backlash(robot, {"hinge": PLAY})
    assert np.asarray(made.home).tolist() == [0.3, 0.0]
    assert np.asarray(made.configurations["up"]).tolist() == [0.5, 0.0]
    motor, play = made.joints
    assert (motor.lower[0], motor.upper[0]) == (-1.0, 1.0)
    assert (play.lower[0], play.upper[0]) == (-PLAY / 2, PLAY / 2)
    for what in ("damping", "friction", "armature"):
        assert not np.any(getattr(play, what))
    assert made.total_mass == robot.total_mass
    assert with_backlash(robot, {}) is robot
    (play,) = with_backlash(robot, {"hinge": np.float32(0.5)}).joints[1].upper
    assert play == 0.25


def test_a_slide_has_a_play_as_well():
    slide = Joint("rail", "prismatic", None, "link", axis=(1, 0, 0), armature=2.0)
    robot = Mechanism("slide", (Body("link", 1.0, LINK * np.eye(3)),), (slide,))
    robot = with_backlash(robot, {"rail": 0.01})
    log = simulated(robot).run(0.3, lambda sim: np.array([3.0]))
    assert log.q[-1, 1] == pytest.approx(-0.005, abs=1e-6)
    assert log.v[-1].sum() == pytest.approx(3.0 * 0.3 / 3.0, rel=5e-3)  # momentum over mass


@pytest.mark.parametrize(
    ("plays", "told"),
    [
        ({"hing": 0.1}, "hinge"),
        ({"hinge": 0.0}, "above zero"),
        ({"hinge": np.nan}, "above zero"),
        ({"hinge": "1"}, "above zero"),
        ({"hinge": True}, "above zero"),
    ],
)
def test_plays_that_are_none_are_refused(plays, told):
    with pytest.raises(ModelError, match=told):
        with_backlash(arm(), plays)


def test_joints_without_a_rotor_or_of_several_coordinates_are_refused():
    bare = replace(arm(), joints=(replace(arm().joints[0], armature=0.0),))
    with pytest.raises(ModelError, match="armature"):
        with_backlash(bare, {"hinge": PLAY})
    a1 = robosim.load("a1")
    with pytest.raises(ModelError, match="a hinge or a slide"):
        with_backlash(a1, {"floating_base": PLAY})
    moved = replace(arm(), joints=(replace(arm().joints[0], motion=np.sin),))
    with pytest.raises(ModelError, match="motion"):
        with_backlash(moved, {"hinge": PLAY})
