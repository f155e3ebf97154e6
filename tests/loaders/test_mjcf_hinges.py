"""Two points that are held together are a hinge."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import Joint, quaternions
from robosim.loaders.mjcf.hinges import with_hinges

LINKAGE = """
<mujoco><worldbody>
  <body name="a"><joint name="ja" axis="0 1 0"/><geom size="0.1" pos="0.5 0 0"/>
    <body name="b" pos="1 0 0"><joint name="jb" axis="0 1 0"/><geom size="0.1" pos="0 0 1"/></body>
  </body>
  <body name="c" pos="2 0 0"><joint name="jc" axis="0 1 0"/><geom size="0.1" pos="0 0 0.5"/></body>
</worldbody><equality>
  <connect name="pin" body1="b" body2="c" anchor="0 {} 1"/>
  <connect name="pin2" body1="{}" body2="{}" anchor="{} {} 1"/>
</equality></mujoco>
"""


def loops(tmp_path, *values):
    (tmp_path / "x.xml").write_text(LINKAGE.format(*values))
    return robosim.load(tmp_path / "x.xml").loop_joints


def test_two_connects_between_the_same_bodies(tmp_path):
    (hinge,) = loops(tmp_path, "-0.1", "b", "c", "0", "0.1")
    assert (hinge.name, hinge.kind, hinge.parent, hinge.child) == ("pin", "revolute", "b", "c")
    np.testing.assert_allclose(hinge.axis, (0, 1, 0), atol=1e-15)
    # From the centres of mass of both.
    np.testing.assert_allclose(hinge.parent_position, (0, 0, 0), atol=1e-15)
    np.testing.assert_allclose(hinge.child_position, (-1, 0, 0.5), atol=1e-15)
    assert not hinge.actuated


@pytest.mark.parametrize(
    "values", [("0", "a", "c", "1", "0"), ("0", "b", "c", "0", "0")], ids=["others", "same point"]
)
def test_not_between_other_bodies_or_at_one_point(tmp_path, values):
    assert [joint.kind for joint in loops(tmp_path, *values)] == ["spherical", "spherical"]


def ball(name, parent_position, child_position, offset=(1, 0, 0, 0)):
    return Joint(name, "spherical", "a", "b", parent_position=parent_position,
                 child_position=child_position, offset=offset, actuated=False)  # fmt: skip


def test_a_hinge_keeps_its_axis_on_both_bodies_and_turns_as_little_as_can_be():
    offset = quaternions.from_rpy((0.3, -0.2, 0.5))
    first = ball("1", (0, 0, 0), (1, 1, 1), offset)
    for end in ((0, 2, 0), (0, 0, -2), (2, 0, 0)):
        second = ball("2", end, (1, 1, 3), offset)
        (hinge,) = with_hinges([first, second])
        R = quaternions.rotation_matrix(hinge.offset)
        np.testing.assert_allclose(R @ hinge.axis, np.divide(end, 2), atol=1e-12)
        np.testing.assert_allclose(hinge.axis, (0, 0, 1), atol=1e-15)
        turn = R @ quaternions.rotation_matrix(offset).T
        least = quaternions.rotation_matrix(offset)[:, 2] @ np.divide(end, 2)
        assert (np.trace(turn) - 1) / 2 == pytest.approx(least, abs=1e-12)


def test_points_that_are_farther_apart_on_one_body_stay_two():
    both = [ball("1", (0, 0, 0), (0, 0, 0)), ball("2", (0, 0, 1), (0, 0, 1.1))]
    assert with_hinges(both) == both


def test_the_third_of_three_stays():
    three = [ball(str(k), (0, k, k * k), (0, k, k * k)) for k in range(3)]
    assert [joint.kind for joint in with_hinges(three)] == ["revolute", "spherical"]
