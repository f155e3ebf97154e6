"""Mocap bodies that follow a function of time, and what hangs on them or is welded to them."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import Simulation
from robosim.errors import LoadError

FILE = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
<body name="stand"><geom name="post" type="box" size=".1 .1 .2" pos="0 0 .2"/></body>
<body name="hand" mocap="true" pos="0 0 1" quat="1 0 0 0"><geom size=".05" mass="0"/>
  <site name="tip" pos="0 0 -.1"/>
  <body name="rope" pos="0 0 -.1"><joint name="swing" axis="0 1 0"/>
    <geom name="bob" size=".03" pos="0 0 -.3" mass="1"/></body></body>
<body name="other" mocap="true" pos="2 0 1"><geom size=".05"/></body>
<body name="cube" pos=".5 0 1"><freejoint name="root"/><geom type="box" size=".1 .1 .1"/></body>
</worldbody><equality>{weld}</equality>
<keyframe><key name="k" qpos="0.3 0.5 0 2 1 0 0 0" qvel="1 2 3 4 5 6 7" mpos="1 2 3 4 5 6"/>
</keyframe></mujoco>"""
WELD = '<weld body1="hand" body2="cube" relpose="0 0 .5 1 0 0 0"/>'


def circling(time):
    """A circle of 0.2 m, in which the hand turns about z."""
    turn = (np.cos(time), 0.0, 0.0, np.sin(time))
    return np.array((0.2 * np.cos(2 * time), 0.2 * np.sin(2 * time), 1.2, *turn))


def loaded(tmp_path, weld="", **options):
    (tmp_path / "m.xml").write_text(FILE.format(weld=weld))
    return robosim.load(tmp_path / "m.xml", **options)


def test_without_motions_they_stay(tmp_path):
    robot = loaded(tmp_path)
    assert robot.nq == 8
    told = [one for one in robot.warnings if "mocap bodies stay" in one]
    assert len(told) == 1
    assert "hand" in told[0]
    assert "other" in told[0]


def test_a_body_follows_its_motion(tmp_path):
    robot = loaded(tmp_path, mocap={"hand": circling})
    assert robot.nq == 15
    assert robot.nu == 0
    told = [one for one in robot.warnings if "mocap bodies stay" in one]
    assert "other" in told[0]
    assert "hand" not in told[0]
    sim = Simulation(robot, 1e-3)
    for _ in range(3):
        sim.run(0.1)
        pose = circling(sim.time)
        position, turn = sim.frame("hand")
        assert position == pytest.approx(pose[:3], abs=1e-9)
        assert np.abs(turn @ (0, 0, 1) - (0, 0, 1)).max() < 1e-9
        assert turn[:2, 0] == pytest.approx((np.cos(2 * sim.time), np.sin(2 * sim.time)), abs=1e-9)
        tip, _ = sim.frame("tip")
        assert tip == pytest.approx(pose[:3] - (0, 0, 0.1), abs=1e-9)


def test_what_hangs_on_it_swings_as_on_a_moving_support(tmp_path):
    """In the frame of a support with a constant acceleration, gravity is tilted."""

    def pulled(time):
        return np.array((1.5 * time**2, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0))  # 3 m/s^2

    robot = loaded(tmp_path, mocap={"hand": pulled})
    sim = Simulation(robot, 1e-3)
    log = sim.run(2.0)
    q = log.q[:, robot.q_names.index("swing")]
    # It swings about the tilted direction, from where it hung to as far beyond.
    tilt = np.arctan2(3.0, 9.81)
    assert np.abs(q).max() == pytest.approx(2 * tilt, abs=2e-3)
    assert q.min() > -1e-6


def test_what_is_welded_follows(tmp_path):
    robot = loaded(tmp_path, WELD, mocap={"hand": circling})
    sim = Simulation(robot, 1e-3)
    sim.run(0.5)
    hand, turn = sim.frame("hand")
    cube, _ = sim.frame("cube")
    assert hand == pytest.approx(circling(0.5)[:3], abs=1e-8)
    assert cube == pytest.approx(hand + turn @ (0, 0, 0.5), abs=1e-8)


def test_it_meets_bodies_and_nothing_that_is_fixed(tmp_path):
    """It pushes the cube, and passes through post and floor."""

    def down(time):
        return np.array((0.5, 0.0, 0.9 - 0.8 * np.sin(time) ** 2, 1, 0, 0, 0))

    text = FILE.format(weld="").replace('pos=".5 0 1"><freejoint', 'pos=".5 0 .6"><freejoint')
    text = text.replace('<body name="rope"', '<body name="rope" gravcomp="1"')
    text = text.replace('<geom name="bob"', '<geom name="bob" contype="0" conaffinity="0"')
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml", mocap={"hand": down})
    assert not any(contact.body == "hand" for contact in robot.contacts)
    met = {frozenset(pair) for pair in robot.contact_pairs}
    assert frozenset(("hand", "cube")) in met
    assert ("hand", "post") in robot.excluded_pairs

    def through(time):
        return np.array((0.0, 0.0, 1.0 - 1.2 * np.sin(time) ** 2, 1, 0, 0, 0))

    log = Simulation(robosim.load(tmp_path / "m.xml", mocap={"hand": through}), 1e-3).run(1.5)
    assert log.q[-1, 2] == pytest.approx(through(1.5)[2], abs=0.01)


def test_keyframes_leave_it_at_its_place(tmp_path):
    robot = loaded(tmp_path, mocap={"hand": circling})
    now = robot.keyframe("k")
    start = robot.q_names.index("swing")
    assert now.q[start] == 0.3
    assert now.q[:3].tolist() == [0.0, 0.0, 1.0]
    assert now.q[start + 1 :].tolist() == [0.5, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0]
    assert now.v.tolist() == [0.0] * 6 + [1, 2, 3, 4, 5, 6, 7]
    assert any("'mpos' of <key>" in warning for warning in robot.warnings)


def test_a_body_after_it_is_put_on_the_ground(tmp_path):
    text = FILE.format(weld="").replace('pos=".5 0 1"><freejoint', 'pos=".5 0 -1"><freejoint')
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml", mocap={"hand": circling})
    assert robot.home[robot.q_names.index("swing") + 3] == pytest.approx(0.1)
    assert robot.home[:3].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("source", "mocap", "told"),
    [
        (None, {"hands": circling}, "'hands', which is no mocap body .*hand"),
        (None, {"cube": circling}, "'cube', which is no mocap body"),
        ("a1", {"hand": circling}, "'mocap' is for MJCF files"),
        ("double_pendulum", {"hand": circling}, "'mocap' is for MJCF files"),
    ],
)
def test_what_is_no_mocap_body_is_refused(tmp_path, source, mocap, told):
    with pytest.raises(LoadError, match=told):
        loaded(tmp_path, mocap=mocap) if source is None else robosim.load(source, mocap=mocap)
