"""<rangefinder> and depth of cameras, held to MuJoCo's at random states."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import LoadError, Simulation
from robosim.sensors import DepthCamera, RangeFinder

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

ALL = "dist dir origin point normal depth"
SHIFTED = 'sensorsize=".02 .015" focal=".01 .012" principal=".011 .007"'
PIXELS = 'sensorsize=".02 .015" focalpixel="4 5" principalpixel="2 1.5"'
WORLD = f"""
<worldbody>
  <geom name="floor" type="plane" size="0 0 1"/>
  <geom type="box" size=".1 2 2" pos="3 0 0"/>
  <geom name="pillar" type="cylinder" size=".3 1" pos="-1 2 1" euler="10 20 30"/>
  <geom name="unseen" type="sphere" size=".4" pos="1 1 1" rgba="1 1 1 0"/>
  <site name="on world" pos="0 0 2" euler="100 20 30"/>
  <body name="post" pos="-2 -1 0"><geom type="capsule" size=".1 1"/>
    <site name="on post" pos="0 0 1.5" euler="80 90 30"/>
    <camera name="eye" pos="0 0 2" xyaxes="0 -1 0 .5 0 1" resolution="9 7" fovy="70"/></body>
  <body name="base" pos="0 0 1"><freejoint/>
    <geom name="trunk" type="box" size=".2 .1 .05"/>
    <geom type="ellipsoid" size=".05 .1 .2" pos=".3 0 0" group="3"/>
    <site name="ahead" euler="0 90 0"/>
    <site name="down" pos=".1 0 0" euler="0 180 10"/>
    <camera name="front" euler="90 -80 0" resolution="8 6" {SHIFTED}/>
    <camera name="pixels" euler="0 -60 20" resolution="5 4" {PIXELS}/>
    <camera name="flat" euler="0 -60 20" resolution="6 5" fovy="1.5" projection="orthographic"/>
    <body name="mast" pos="0 0 .2"><geom type="sphere" size=".1"/>
      <site name="in mast" euler="90 0 0"/></body>
    <body name="leg" pos=".2 .1 0"><joint axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04"/>
      <site name="knee" pos="0 0 -.3" euler="150 0 0"/></body></body>
</worldbody>"""
SITES = ("on world", "on post", "ahead", "down", "in mast", "knee")
CAMERAS = ("eye", "front", "pixels", "flat")


def finders():
    for site in SITES:
        yield f'<rangefinder site="{site}"/>'
        yield f'<rangefinder site="{site}" cutoff=".7"/>'
        yield f'<rangefinder site="{site}" data="{ALL}"/>'
        yield f'<rangefinder site="{site}" data="dir depth" cutoff=".5"/>'
    for camera in CAMERAS:
        yield f'<rangefinder camera="{camera}"/>'
        yield f'<rangefinder camera="{camera}" data="{ALL}"/>'
        yield f'<rangefinder camera="{camera}" data="normal depth" cutoff="2"/>'
    yield '<framepos objtype="camera" objname="front"/>'
    yield '<framequat objtype="camera" objname="eye"/>'


def load(folder, text):
    path = folder / "m.xml"
    path.write_text(f"<mujoco>{text}</mujoco>")
    return robosim.load(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    text = f"{WORLD}<sensor>{''.join(finders())}</sensor>"
    robot = load(tmp_path_factory.mktemp("m"), text)
    return robot, mujoco.MjModel.from_xml_string(f"<mujoco>{text}</mujoco>")


def test_readings_are_mujocos(model):
    robot, theirs = model
    data, sim = mujoco.MjData(theirs), Simulation(robot)
    assert len(robot.sensors) == theirs.nsensor
    assert not any("ray" in text for text in robot.warnings)
    rng, met, missed = np.random.default_rng(0), 0, 0
    for _ in range(40):
        q = np.array([*rng.uniform((-1, -1, 0.8), (1, 1, 3)), *rng.normal(size=4), rng.normal()])
        q[3:7] /= np.linalg.norm(q[3:7])
        sim.set_state(q)
        data.qpos[:] = q
        mujoco.mj_forward(theirs, data)
        for k, sensor in enumerate(robot.sensors):
            begin = theirs.sensor_adr[k]
            expected = data.sensordata[begin : begin + theirs.sensor_dim[k]]
            found = np.ravel(sim.sensor(sensor.name))
            if sensor.kind == "framequat":
                found = found * np.sign(found @ expected)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9, err_msg=sensor.name)
            if isinstance(sensor, RangeFinder) and sensor.data == ("dist",):
                met += np.count_nonzero(found >= 0)
                missed += np.count_nonzero(found == -1)
    assert met > 500
    assert missed > 500


def test_delay_and_interval_are_mujocos(tmp_path):
    text = """<option timestep=".002" integrator="implicit"/>
    <worldbody><geom type="plane" size="0 0 1"/>
    <body pos="0 0 1"><freejoint/><geom type="sphere" size=".1"/><site name="s" euler="0 180 0"/>
    </body></worldbody><sensor><rangefinder name="late" site="s" delay=".01" nsample="6"/>
    <rangefinder name="seldom" site="s" interval=".02" nsample="2"/></sensor>"""
    robot = load(tmp_path, text)
    assert not any("at once" in one for one in robot.warnings)
    theirs = mujoco.MjModel.from_xml_string(f"<mujoco>{text}</mujoco>")
    data, sim = mujoco.MjData(theirs), Simulation(robot, 2e-3)
    sim.set_state(data.qpos)
    heights, found = [], []
    for _ in range(30):
        heights.append(sim.q[2])
        found.append([sim.sensor("late"), sim.sensor("seldom")])
        sim.step()
    told = np.array(found)
    np.testing.assert_allclose(told[5:, 0], heights[:-5], rtol=1e-14)
    np.testing.assert_allclose(told[:, 1], np.repeat(heights[::10], 10), rtol=1e-14)
    mine = []
    for _ in range(30):
        mujoco.mj_step(theirs, data)
        mine.append(data.sensordata.copy())
    # Both fall by other rounding of the motion, of first order in MuJoCo.
    np.testing.assert_allclose(told[5:], mine[5:], atol=2e-3)


def test_what_rays_do_not_meet_is_told(tmp_path):
    text = """<worldbody><geom name="floor" type="plane" size="2 3 1"/>
    <body name="b" pos="0 0 1"><freejoint/><geom size=".1"/><site name="s"/>
    <geom name="hint" size=".2" contype="0" conaffinity="0" group="4" mass="0"/></body></worldbody>
    <sensor><rangefinder site="s"/></sensor>"""
    told = load(tmp_path, text).warnings
    assert "planes are endless for rays: floor" in told
    assert "rays do not meet geoms that neither collide nor are drawn: hint" in told


def test_a_camera_with_depth_is_a_sensor(tmp_path):
    text = """<worldbody><geom name="wall" type="box" size="3 3 1" pos="0 0 -1"/>
    <body pos="0 0 1"><freejoint/><geom size=".1" pos="0 1 0"/>
    <camera name="eye" resolution="8 6" fovy="60" output="rgb depth"/>
    <camera name="other" resolution="8 6"/></body></worldbody>"""
    robot = load(tmp_path, text)
    (eye,) = robot.sensors
    assert isinstance(eye, DepthCamera)
    sim = Simulation(robot)
    sim.set_state([0, 0, 2, 1, 0, 0, 0])
    seen = sim.sensor("eye")
    assert seen.shape == (6, 8)
    np.testing.assert_allclose(seen[2:4, 3:5], 2.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("sensor", "told"),
    [
        ('<rangefinder name="x"/>', "needs either a site or a camera"),
        ('<rangefinder name="x" site="s" camera="c"/>', "needs either a site or a camera"),
        ('<rangefinder name="x" site="t"/>', "t"),
        ('<rangefinder name="x" camera="d"/>', "d"),
        ('<rangefinder name="x" site="s" data="point origin"/>', "data must be some of dist, dir"),
        ('<rangefinder name="x" site="s" cutoff="-1"/>', "cutoff must not be negative"),
        ('<rangefinder name="x" camera="c"/>', "resolution must be two whole numbers"),
        ('<rangefinder name="x" camera="huge"/>', "1000000000 measurements"),
        ('<rangefinder name="x" camera="wide"/>', "fovy must be between 0 and 180, not 180"),
    ],
)
def test_bad_range_finders_are_refused(tmp_path, sensor, told):
    text = f"""<worldbody><body><freejoint/><geom size=".1"/><site name="s"/>
    <camera name="c" resolution="0 4"/><camera name="huge" resolution="50000 20000"/>
    <camera name="wide" resolution="4 4" fovy="180"/>
    </body></worldbody><sensor>{sensor}</sensor>"""
    with pytest.raises(LoadError, match=told):
        load(tmp_path, text)


def test_a_camera_that_follows_is_told(tmp_path):
    text = """<worldbody><body name="b"><freejoint/><geom size=".1"/>
    <camera name="c" mode="track" resolution="4 4"/></body></worldbody>
    <sensor><rangefinder name="x" camera="c"/></sensor>"""
    robot = load(tmp_path, text)
    assert robot.sensors == ()
    assert any("cameras that follow something" in one and "'x'" in one for one in robot.warnings)
