"""What is refused with an error that names it, and what is taken instead."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from touching import box, free

from robosim import (
    BatchSimulation,
    Body,
    ControllerError,
    Geometry,
    HalfSpace,
    Joint,
    Mechanism,
    ModelError,
    OptionError,
    Simulation,
    StateError,
)
from robosim.controllers import PD


def arm(motion=None, **options):
    body = Body("arm", 2.0, np.diag([0.1, 0.2, 0.3]))
    pivot = {"axis": (0, 1, 0), "child_position": (-0.5, 0, 0)}
    hinge = Joint("hinge", "revolute", None, "arm", motion=motion, **pivot, **options)
    return Mechanism("arm", (body,), (hinge,))


@pytest.mark.parametrize("what", ["force", "torque", "point"])
@pytest.mark.parametrize("value", ["up", ("a", "b", "c"), ((1, 2), (3,)), None, (1, 2, np.inf)])
def test_wrenches_are_numbers(what, value):
    sim = Simulation(free(box("a")))
    if what == "point" and value is None:
        sim.apply_wrench("a", point=None)
    else:
        with pytest.raises(StateError, match=f"{what} must be three finite numbers"):
            sim.apply_wrench("a", **{what: value})


@pytest.mark.parametrize("what", ["lower", "upper"])
@pytest.mark.parametrize("value", ["low", ((1, 2), (3,)), (1.0, 2.0), np.nan])
def test_limits_are_numbers(what, value):
    with pytest.raises(ModelError, match=f"joint 'hinge': {what} limits must be 1 numbers"):
        arm(**{what: value})


@pytest.mark.parametrize("what", ["velocity_limit", "effort_limit", "cone"])
def test_other_limits_are_numbers(what):
    with pytest.raises(ModelError, match=f"joint 'hinge': {what} must be a number.* not 'high'"):
        arm(**{what: "high"})


@pytest.mark.parametrize("time", [np.nan, np.inf, "now", None])
def test_times_are_finite(time):
    sim = Simulation(free(box("a")))
    with pytest.raises(StateError, match="time must be a finite number"):
        sim.set_state(time=time)
    with pytest.raises(StateError, match="time must be a finite number"):
        sim.set_body_state([[0, 0, 1]], [[1, 0, 0, 0]], time=time)
    assert sim.time == 0


def test_poses_of_bodies_are_numbers():
    sim = Simulation(free(box("a")))
    with pytest.raises(StateError, match=r"v must be finite numbers of shape \(1, 3\)"):
        sim.set_body_state([[0, 0, 1]], [[1, 0, 0, 0]], v="fast")


def test_hold_takes_names():
    with pytest.raises(StateError, match="hold takes names of joints"):
        Simulation(arm()).set_state(hold="hinge")


def test_a_single_obstacle_will_do():
    alone = free(box("a"), obstacles=HalfSpace())
    added = free(box("a")).with_contacts(HalfSpace())
    assert len(alone.obstacles) == len(added.obstacles) == 1


@pytest.mark.parametrize("value", [5, None, ["ground"], "ground"])
def test_obstacles_are_shapes(value):
    for make in (
        lambda: free(box("a"), obstacles=value),
        lambda: free(box("a")).with_contacts(value),
    ):
        with pytest.raises(ModelError, match=r"obstacles: .*known: HalfSpace"):
            make()


@pytest.mark.parametrize(
    ("motion", "message"),
    [
        (lambda t: np.nan if t > 0.0055 else t, "is nan at t = 0.006 s"),
        (lambda t: 1 / 0 if t > 0.0055 else t, "fails at t = 0.006 s: ZeroDivisionError"),
        (lambda t: None if t > 0.0055 else t, "fails at t = 0.006 s: TypeError"),
    ],
)
def test_a_motion_that_fails_says_where(motion, message):
    sim = Simulation(arm(motion), 2e-3)
    sim.step()
    sim.step()
    with pytest.raises(StateError, match=f"the motion of joint 'hinge' {message}"):
        sim.step()
    assert sim.steps == 2


def test_facets_are_those_of_the_linearized_cone():
    with pytest.raises(OptionError, match="friction_facets is for friction_cone='linearized'"):
        Simulation(arm(), friction_facets=8)
    Simulation(arm(), friction_cone="linearized", friction_facets=8)


@pytest.mark.parametrize(
    "go", [lambda sim: sim.step(), lambda sim: sim.run(0.002), lambda sim: [*sim.stream(0.002)]]
)
def test_a_warning_of_the_start_points_here(go):
    sim = Simulation(arm(lower=-1.0, upper=1.0))
    sim.set_state([1.5])
    with pytest.warns(UserWarning, match="beyond its upper limit") as caught:
        go(sim)
    assert [warning.filename for warning in caught] == [__file__]


BODY = Body("arm", 1.0, np.eye(3))
ROOT = Joint("root", "floating", None, "arm")
BALL = Geometry("sphere", (0.1,))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Mechanism("m", (ROOT,), (BODY,)), "bodies must be each a Body, not Joint"),
        (lambda: Mechanism("m", 3, (ROOT,)), "mechanism 'm': bodies must be each a Body, not 3"),
        (lambda: Mechanism("m", BODY, ROOT, couplings="x"), "must be each a Coupling, not 'x'"),
        (
            lambda: Mechanism("m", BODY, Joint("root", "floating", "world", "arm")),
            r"joint 'root': parent 'world' does not exist; the world is None \(known: arm\)",
        ),
        (lambda: Body("b", 1.0, np.eye(3), collisions="box"), "must be each a Geometry, not 'b'"),
        (lambda: Body("b", 1.0, np.eye(3), visuals=None), "body 'b': visuals must be each"),
    ],
)
def test_parts_that_a_mechanism_cannot_have(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_a_single_part_needs_no_tuple():
    one = Mechanism("m", Body("arm", 1.0, np.eye(3), collisions=BALL), ROOT)
    assert one.bodies[0].collisions == (BALL,)
    assert one.joints == (ROOT,)


def test_a_pd_of_another_robot():
    other = Mechanism(
        "two",
        (BODY, Body("hand", 1.0, np.eye(3))),
        (Joint("hinge", "revolute", None, "arm"), Joint("wrist", "revolute", "arm", "hand")),
    )
    sim = Simulation(arm())
    with pytest.raises(ControllerError, match="with 2 actuators, and 'arm' has 1"):
        sim.run(0.01, PD(other, [0.0, 0.0], 1.0, 1.0))
    assert sim.steps == 0


def test_a_joint_to_hold_that_is_not_there():
    with pytest.raises(ModelError, match="nonsense"):
        Simulation(arm()).set_state([0.0], hold=["nonsense"])


@pytest.mark.parametrize("index", [3, -4, 1.5, [0, 7]])
def test_a_state_that_a_batch_does_not_have(index):
    batch = BatchSimulation(arm(), 3)
    with pytest.raises(StateError, match=r"there is no state .* among 3"):
        batch.set_state([0.1], index=index)
    batch.set_state([0.1], index=-1)
    np.testing.assert_array_equal(batch.q[:, 0], [0.0, 0.0, 0.1])


def test_what_starts_inside_of_an_obstacle_is_warned_of():
    robot = Mechanism(
        "ball",
        Body("ball", 1.0, 0.01 * np.eye(3), collisions=BALL),
        Joint("root", "floating", None, "ball"),
        home=(0, 0, 0.05, 1, 0, 0, 0),
        obstacles=(HalfSpace(),),
    )
    words = "body 'ball' starts inside of 'ground' and is still 0.0499 m deep"
    for start in (lambda sim: sim.step(), lambda sim: sim.run(0.001)):
        sim = Simulation(robot)
        with pytest.warns(UserWarning, match=words):
            start(sim)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sim.run(0.01)


def test_a_limit_beyond_is_said_to_push_as_fast_as_it_does():
    robot = arm(lower=0.0, upper=1.0)
    sim = Simulation(robot, gravity=(0, 0, 0))
    sim.set_state([1.5])
    with pytest.warns(UserWarning, match="beyond its upper limit of 1") as caught:
        sim.run(0.05)
    (said,) = re.findall(r"at no more than (\S+) rad/s", str(caught[0].message))
    assert -sim.v[0] == pytest.approx(float(said), rel=0.01)


def test_torques_of_servos_are_those_of_the_log():
    robot = arm()
    sim = Simulation(robot)
    log = sim.run(0.02, PD(robot, [1.0], 2.0, 0.1, velocity=0.3, implicit=True))
    np.testing.assert_allclose(sim.torques, log.tau[-1], rtol=1e-12)
    assert abs(sim.torques[0]) > 1.0
    sim.run(0.01)
    assert sim.torques[0] == 0.0
