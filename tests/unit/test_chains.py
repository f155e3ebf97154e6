"""Chains of joints as one joint, joints of several coordinates as chains; per coordinate values."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism, Potential, quaternions
from robosim.description.chains import is_of_hinges_and_slides, taken_apart, united
from robosim.description.poses import body_poses
from robosim.errors import ModelError
from robosim.joints import Composite, Euler, ExponentialBall, Hinge, Offset, Screw, Slide

RNG = np.random.default_rng(3)


def turn():
    return quaternions.normalized(RNG.normal(size=4))


def offset():
    return Offset(RNG.normal(size=3), turn())


def place():
    return {
        "parent_position": RNG.normal(size=3),
        "child_position": RNG.normal(size=3),
        "offset": turn(),
    }


def chain():
    """A hinge, a plane with directions of its own, a universal joint."""
    rail = np.linalg.qr(np.column_stack(((1, 2, 2), RNG.normal(size=(3, 2)))))[0].T[1:]
    return [
        Joint("a", "revolute", None, "x", axis=(1, 2, 3), lower=-1, upper=2, effort_limit=3,
              stiffness=4, rest=0.5, **place()),
        Joint("b", "planar", "x", "y", axis=(1, 2, 2), directions=rail, damping=(1, 2, 3),
              coordinate_names=("p", "q", "r"), actuated=False, **place()),
        Joint("c", "universal", "y", "z", velocity_limit=7, armature=(0.1, 0.2),
              coordinate_names=("s", "t"), **place()),
    ]  # fmt: skip


def poses(joints, q):
    return body_poses(joints, np.asarray(q))[joints[-1].child]


def assert_same_poses(first, second):
    n = sum(joint.nq for joint in first)
    for q in RNG.uniform(-2, 2, (5, n)):
        for ours, theirs in zip(poses(first, q), poses(second, q), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


def test_a_chain_is_one_joint_with_all_that_its_joints_have():
    parts = chain()
    joint = united(parts, "all")
    assert_same_poses(parts, [joint])
    assert (joint.parent, joint.child, joint.kind) == (None, "z", "composite")
    assert joint.coordinate_names == ("a", "p", "q", "r", "s", "t")
    assert joint.units == ("rad", "m", "m", "rad", "rad", "rad")
    inf = np.inf
    np.testing.assert_array_equal(joint.lower, [-1, *[-inf] * 5])
    np.testing.assert_array_equal(joint.effort_limit, [3, *[inf] * 5])
    np.testing.assert_array_equal(joint.velocity_limit, [*[inf] * 4, 7, 7])
    np.testing.assert_array_equal(joint.damping, [0, 1, 2, 3, 0, 0])
    np.testing.assert_array_equal(joint.armature, [0, 0, 0, 0, 0.1, 0.2])
    np.testing.assert_array_equal(joint.rest, [0.5, 0, 0, 0, 0, 0])
    assert joint.has_motor == (True, False, False, False, True, True)


@pytest.mark.parametrize(
    "chart",
    [
        Euler("xzx"),
        Composite(offset(), Hinge((1, 2, 3)), offset(), Slide((3, 2, 1)), offset()),
        Composite(Slide((1, 2, 3)), offset(), offset(), Hinge((3, 2, 1)), offset()),
    ],
)
def test_a_chart_of_hinges_and_slides_is_a_chain(chart):
    well = Potential.sample(np.cos, -3, 3)
    joint = Joint("j", "composite", None, "z", chart=chart, lower=[-1] * chart.nv, friction=0.3,
                  potential=[well, *[None] * (chart.nv - 1)], via=("f",), **place())  # fmt: skip
    names = list("abc")[: chart.nv]
    parts = taken_apart(joint, names, list("xy")[: chart.nv - 1])
    assert_same_poses([joint], parts)
    assert [part.name for part in parts] == names
    assert [part.units for part in parts] == [(unit,) for unit in chart.units]
    assert all(float(part.per_coordinate("friction")[0]) == 0.3 for part in parts)
    assert [part.potential for part in parts] == [well, *[None] * (chart.nv - 1)]
    assert (parts[0].via, parts[-1].via) == (("f",), ())
    again = united(parts, "j")
    assert_same_poses([joint], [again])
    assert again.potentials == joint.potentials


def test_what_is_no_chain():
    hinge = Joint("j", "revolute", None, "a")
    assert not is_of_hinges_and_slides(hinge)
    for chart in (ExponentialBall(), Screw(pitch=0.1), Composite(Hinge(), Screw((1, 0, 0), 1))):
        assert not is_of_hinges_and_slides(Joint("j", "composite", None, "a", chart=chart))
    assert is_of_hinges_and_slides(Joint("j", "universal", None, "a"))


def test_efforts_speeds_and_actuators_are_one_or_one_for_each_coordinate():
    robot = Mechanism("m", [Body("a", 1.0, np.eye(3))], [
        Joint("j", "universal", None, "a", effort_limit=(2, 5), velocity_limit=(3, 3),
              actuated=(False, True))])  # fmt: skip
    (joint,) = robot.joints
    assert joint.velocity_limit == 3.0
    assert joint.has_motor == joint.actuated == (False, True)
    assert robot.actuated_names == ("j.q1",)
    np.testing.assert_array_equal(robot.effort_limits, (5,))
    assert Joint("j", "universal", None, "a", actuated=(True, True)).actuated is True
    floating = Joint("j", "floating", None, "a", actuated=[True] * 6)
    assert floating.actuated is False
    for what in ("effort_limit", "velocity_limit"):
        for wrong in ((1, 2, 3), np.nan, "high"):
            with pytest.raises(ModelError, match=rf"'j': {what} must be a number"):
                Joint("j", "universal", None, "a", **{what: wrong})
    with pytest.raises(ModelError, match="actuated must be a bool or 2 of them"):
        Joint("j", "universal", None, "a", actuated=(True, False, True))
