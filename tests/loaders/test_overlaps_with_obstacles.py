"""Obstacles that overlap a robot at home: tied to the world it may have no way out of them."""

from __future__ import annotations

import pytest

import robosim
from robosim import Geometry, Simulation
from robosim.errors import StateError
from robosim.overlaps import overlapping_pairs

ARM = """<mujoco>
  <worldbody>
    {world}
    <body name="upper" pos="0 0 .5">
      {joint}<geom type="box" size=".05 .05 .2" pos="0 0 -.2"/>
      <body name="lower" pos="0 0 -.4"><joint name="elbow" axis="0 1 0"/>
        <geom type="box" size=".05 .05 .2" pos="0 0 -.25"/></body>
    </body>
  </worldbody>
</mujoco>"""
HINGE = '<joint name="shoulder" axis="0 1 0"/>'
TABLE = '<geom name="table" type="box" size=".4 .4 .1" pos="0 0 .2"/>'
WALL = '<geom name="wall" type="box" size=".1 1 1" pos=".3 0 0"/>'


def load(tmp_path, **parts: str):
    file = tmp_path / "arm.xml"
    file.write_text(ARM.format(**parts))
    return robosim.load(file)


def told(robot) -> list[str]:
    return [warning for warning in robot.warnings if "overlaps at home" in warning]


def test_what_a_hinge_ties_into_an_obstacle_is_left_out_and_listed(tmp_path):
    robot = load(tmp_path, world=TABLE + WALL, joint=HINGE)
    (warning,) = told(robot)
    assert "table - upper" in warning
    assert "wall" not in warning
    sim = Simulation(robot, 2e-3)
    sim.set_state(None, [2.0, -1.0])
    for _ in range(300):
        assert sim.step().gap > -1e-9
    assert {contact.other for contact in sim.contacts()} <= {"wall"}


def test_what_floats_comes_out(tmp_path):
    robot = load(tmp_path, world=TABLE, joint="<freejoint/>")
    assert told(robot) == []
    assert any(None in (a[0], b[0]) for a, b in robot.touching_shapes())


def test_obstacles_that_share_a_name_stay(tmp_path):
    """A pair would name them all."""
    boxes = [Geometry("box", (0.8, 0.8, 0.2), position=(x, 0, 0.2)) for x in (0, 3)]
    robot = load(tmp_path, world="", joint=HINGE)
    assert [*overlapping_pairs(robot.with_contacts(boxes[:1]))] == [("box", "upper")]
    assert [*overlapping_pairs(robot.with_contacts(boxes))] == []


def test_what_no_simulation_can_start_with_is_loaded_and_told(tmp_path):
    """A loop that cannot close: there is no pose to look for overlaps in, but one to look at."""
    loop = '<equality><weld name="far" body1="lower" relpose="0 0 9 1 0 0 0"/></equality></mujoco>'
    file = tmp_path / "arm.xml"
    file.write_text(ARM.format(world=TABLE, joint=HINGE).replace("</mujoco>", loop))
    robot = robosim.load(file)
    (warning,) = (told for told in robot.warnings if "may overlap at home" in told)
    assert "far" in warning
    with pytest.raises(StateError, match="cannot be satisfied"):
        Simulation(robot)
