"""Robots of an MJCF that begin below the ground are raised, each by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robosim

BOX = (
    '<body name="{name}" pos="{x} 0 {z}"><freejoint/><geom type="box" size="0.1 0.1 0.1"/>'
    '<site name="{name}_top" pos="0 0 0.1"/></body>'
)


def boxes(*heights: float, more: str = "") -> robosim.Mechanism:
    """Boxes of 0.2 m side by side, with their centres at some heights in the file."""
    bodies = "".join(BOX.format(name=f"b{k}", x=k, z=z) for k, z in enumerate(heights))
    world = f'<worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody>'
    return robosim.load(f"<mujoco>{world}{more}</mujoco>")


@pytest.mark.parametrize(
    ("given", "home"),
    [
        ((0.1, 0.0), (0.1, 0.1)),
        ((0.0, 0.1), (0.1, 0.1)),
        ((0.05, 0.3), (0.1, 0.3)),
        ((-1.0, 0.5, 0.02), (0.1, 0.5, 0.1)),
    ],
)
def test_each_box_is_raised_by_its_own_depth(
    given: tuple[float, ...], home: tuple[float, ...]
) -> None:
    robot = boxes(*given)
    assert np.allclose(np.asarray(robot.home)[2::7], home, rtol=0, atol=1e-12)
    assert robot.warnings == ()
    assert robosim.Simulation(robot).min_gap() > -1e-12


def test_boxes_that_a_loop_ties_are_raised_together() -> None:
    more = '<equality><connect site1="b0_top" site2="b1_top"/></equality>'
    robot = boxes(0.4, 0.0, 0.3, more=more)
    assert np.allclose(np.asarray(robot.home)[2::7], (0.5, 0.1, 0.3), rtol=0, atol=1e-12)


BODY = robosim.Body("arm", 1.0, np.diag((0.02, 0.02, 0.01)))
TIP = robosim.ContactPoint("tip", "arm", (0.0, 0.0, -0.3), friction=0.5)


def test_a_point_that_touches_the_ground_does_so_in_a_written_file(tmp_path: Path) -> None:
    """The file has a small sphere in its place, which would reach below the ground."""
    at = {"parent_position": (0, 0, 0.5), "child_position": (0, 0, 0.3)}
    hinge = robosim.Joint("hinge", "revolute", None, "arm", axis=(0, 1, 0), **at)
    home = [float(np.arccos(0.5 / 0.6))]
    arm = robosim.Mechanism("arm", (BODY,), (hinge,), contacts=(TIP,), home=home)
    robosim.save(arm, tmp_path / "arm.xml")
    again = robosim.load(tmp_path / "arm.xml")
    assert again.warnings == ()
    (point,) = again.contacts
    assert point.radius == 0.0
    assert robosim.Simulation(again).min_gap() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kind", ["urdf", "xml"])
def test_a_free_body_on_a_point_keeps_its_height(tmp_path: Path, kind: str) -> None:
    free = robosim.Joint("free", "floating", None, "arm")
    home = (0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0)
    body = robosim.Mechanism("top", (BODY,), (free,), contacts=(TIP,), home=home)
    robosim.save(body, tmp_path / f"top.{kind}")
    again = robosim.load(tmp_path / f"top.{kind}")
    assert [point.radius for point in again.contacts] == [0.0]
    assert np.allclose(again.home, home, rtol=0, atol=1e-12)
