"""<sensor>: readings by name, held to MuJoCo's at random states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import Place, Sensor, Zone, quaternions
from robosim.description.renaming import renamed
from robosim.sensors import KINDS, Part
from robosim.simulation import sensors

WORLD = """
<body name="base" pos="0 0 1"><freejoint name="free"/>
  <geom name="trunk" type="box" size=".2 .1 .05" euler="0 0 30" pos=".01 .02 0"/>
  <site name="imu" pos=".1 .05 .02" euler="20 -30 40"/>
  <body name="mast" pos="0 0 .1" euler="0 30 0"><geom name="mast" size=".03" pos="0 0 .1"/>
    <site name="top" pos="0 0 .2" quat=".8 .1 .5 -.2"/><camera name="eye" mode="track"/></body>
  <body name="thigh" pos=".2 0 0"><joint name="hip" axis="0 1 0" ref="10"/>
    <joint name="hip2" axis="1 0 0"/>
    <geom type="capsule" fromto="0 0 0 .05 0 -.3" size=".03"/>
    <body name="shank" pos=".05 0 -.3"><joint name="knee" axis="0 1 0"/>
      <geom name="shank" type="capsule" fromto="0 0 0 0 0 -.3" size=".02"/>
      <site name="foot" pos="0 0 -.3" euler="90 0 0"/></body></body>
  <body name="arm" pos="-.2 0 0"><joint name="ball" type="ball"/>
    <geom name="arm" type="ellipsoid" size=".05 .1 .2" pos="0 0 .1"/>
    <body name="slider" pos="0 0 .3"><joint name="slide" type="slide" axis="1 1 0"/>
      <geom name="slider" size=".05"/></body></body></body>"""
REST = """
<tendon><fixed name="both"><joint joint="hip" coef="2"/><joint joint="knee" coef="-.5"/></fixed>
</tendon>
<actuator><motor name="m" joint="knee" gear="3"/><motor name="t" tendon="both" gear="2"/></actuator>
"""


def test_every_kind_of_sensor_has_a_reader():
    assert set(sensors.READERS) == set(KINDS)


def frames(kind: str) -> list[str]:
    places = ['objtype="site" objname="imu"', 'objtype="site" objname="foot"',
              'objtype="xbody" objname="shank"', 'objtype="geom" objname="trunk"']  # fmt: skip
    if kind in ("framepos", "framelinvel", "frameangvel"):
        places += ['objtype="body" objname="arm"', 'objtype="body" objname="base"']
    seen_from = ("", 'reftype="site" refname="top"', 'reftype="xbody" refname="slider"')
    return [f"<{kind} {place} {ref}/>" for place in places for ref in seen_from]


SENSORS = [
    '<jointpos joint="hip"/>', '<jointpos joint="slide"/>', '<jointvel joint="hip2"/>',
    '<jointpos joint="knee" cutoff=".1"/>', '<jointvel joint="knee"/>',
    '<ballquat joint="ball"/>', '<ballangvel joint="ball"/>',
    '<tendonpos tendon="both"/>', '<tendonvel tendon="both"/>',
    '<actuatorpos actuator="m"/>', '<actuatorvel actuator="t"/>',
    '<gyro site="imu"/>', '<velocimeter site="foot"/>', '<gyro site="top"/>',
    '<velocimeter site="top"/>',
    *(text for kind in ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis",
                        "framelinvel", "frameangvel") for text in frames(kind)),
    *(f'<{kind} body="{body}"/>' for body in ("base", "thigh", "arm", "slider")
      for kind in ("subtreecom", "subtreelinvel", "subtreeangmom")),
]  # fmt: skip


def text(sensors: str, world: str = WORLD, rest: str = REST) -> str:
    worldbody = f"<worldbody>{world}</worldbody>"
    return f"<mujoco>{worldbody}{rest}<sensor>{sensors}</sensor></mujoco>"


def load(folder, sensors: str, world: str = WORLD, rest: str = REST, **options):
    path = folder / "m.xml"
    path.write_text(text(sensors, world, rest))
    return robosim.load(path, ground=False, **options)


@pytest.mark.peer
def test_readings_are_mujocos(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    named = [s.replace(" ", f' name="s{k}" ', 1) for k, s in enumerate(SENSORS)]
    robot = load(tmp_path, "".join(named))
    assert len(robot.sensors) == len(SENSORS)
    model = mujoco.MjModel.from_xml_string(text("".join(named)))
    data, sim = mujoco.MjData(model), robosim.Simulation(robot)
    rng = np.random.default_rng(5)
    for _ in range(3):
        q, v = rng.standard_normal(robot.nq), rng.standard_normal(robot.nv)
        for joint, start in zip(robot.tree_joints, robot.q_offsets, strict=False):
            if joint.has_quaternion:
                end = start + joint.nq
                q[end - 4 : end] = quaternions.normalized(q[end - 4 : end])
        sim.set_state(q, v)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        for k, element in enumerate(SENSORS):
            ours, theirs = np.asarray(sim.sensor(f"s{k}")), data.sensor(f"s{k}").data
            if "quat" in element and ours @ theirs < 0:
                ours = -ours  # the same rotation
            # Carriers, which have a millionth of the mass, are none of MuJoCo's.
            np.testing.assert_allclose(ours, theirs.squeeze(), rtol=0, atol=1e-9, err_msg=element)


def test_forces_of_actuators(tmp_path):
    robot = load(
        tmp_path,
        '<actuatorfrc name="f" actuator="m"/><jointactuatorfrc name="j" joint="knee"/>',
        rest='<actuator><motor name="m" joint="knee" gear="3"/></actuator>',
    )
    sim = robosim.Simulation(robot)
    assert sim.sensor("f") == sim.sensor("j") == 0.0
    sim.step(np.array([0.6]))
    assert sim.sensor("j") == pytest.approx(0.6)
    assert sim.sensor("f") == pytest.approx(0.2)


def test_touch_weighs_what_lies_on_it(tmp_path):
    world = """<geom type="plane" size="1 1 1"/>
      <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" density="1000"/>
      <site name="under" type="box" size=".2 .2 .01" pos="0 0 -.1"/>
      <site name="corner" size=".02" pos=".1 .1 -.1"/><site name="off" size=".02" pos="0 0 .5"/>
      </body>"""
    names = ("under", "corner", "off")
    path = tmp_path / "m.xml"
    sensors = "".join(f'<touch name="{n}" site="{n}"/>' for n in names)
    path.write_text(text(sensors + '<clock name="time"/>', world, ""))
    sim = robosim.Simulation(robosim.load(path), timestep=1e-3)
    sim.run(0.5)
    under, corner, off = (sim.sensor(name) for name in names)
    assert under == pytest.approx(8 * 9.81, rel=1e-6)
    assert corner == pytest.approx(2 * 9.81, rel=1e-3)
    assert off == 0.0
    assert sim.sensor("time") == pytest.approx(0.5)


def test_touch_looks_into_its_own_body(tmp_path):
    """Of two boxes on each other both feel the upper one's weight, in zones away from the other."""
    boxes = "".join(
        f'''<body pos="0 0 {z}"><freejoint/><geom type="box" size=".1 .1 .1" density="1000"/>
        <site name="{name}" type="box" size=".2 .2 .01" pos="0 0 {side}"/></body>'''
        for name, z, side in (("lower", 0.1, 0.05), ("upper", 0.3, -0.05))
    )
    world = '<geom type="plane" size="1 1 1"/>' + boxes
    sensors = '<touch name="lower" site="lower"/><touch name="upper" site="upper"/>'
    path = tmp_path / "m.xml"
    path.write_text(text(sensors, world, ""))
    sim = robosim.Simulation(robosim.load(path), timestep=1e-3)
    sim.run(0.2)
    weight = 8 * 9.81
    assert sim.sensor("upper") == pytest.approx(weight, rel=1e-6)
    # And what the ground gives to the lower one, whose zone is above that.
    assert sim.sensor("lower") == pytest.approx(3 * weight, rel=1e-6)


@pytest.mark.parametrize(
    ("zone", "start", "direction", "meets"),
    [
        (Zone("sphere", (0.1, 0, 0)), (0, 0.05, 0), (0, 1, 0), True),
        (Zone("sphere", (0.1, 0, 0)), (0, 0.05, -3), (0, 0, 1), True),
        (Zone("sphere", (0.1, 0, 0)), (0, 0.05, -3), (0, 0, -1), False),
        (Zone("sphere", (0.1, 0, 0)), (0, 0.11, -3), (0, 0, 1), False),
        (Zone("box", (0.1, 0.2, 0.3)), (0.09, 0.19, 5), (0, 0, -1), True),
        (Zone("box", (0.1, 0.2, 0.3)), (0.11, 0.19, 5), (0, 0, -1), False),
        (Zone("ellipsoid", (0.1, 0.2, 0.3)), (0, 0, 0.29), (0, 0, 1), True),
        (Zone("ellipsoid", (0.1, 0.2, 0.3)), (0, 0.15, 0.29), (0, 1, 0), False),
        (Zone("capsule", (0.1, 0.2, 0)), (0, 0, 0.29), (0, 0, 1), True),
        (Zone("capsule", (0.1, 0.2, 0)), (0.09, 0, 0.29), (0, 0, 1), False),
        (Zone("cylinder", (0.1, 0.2, 0)), (0.09, 0, 0.19), (0, 0, 1), True),
        (Zone("cylinder", (0.1, 0.2, 0)), (0.09, 0, 0.21), (0, 0, 1), False),
    ],
)
def test_rays_and_volumes(zone, start, direction, meets):
    assert zone.meets(np.array(start, float), np.array(direction, float)) is meets


@pytest.mark.parametrize(
    "sensor",
    [
        '<insidesite name="x" site="imu" objtype="body" objname="arm"/>',
        '<jointpos name="x" joint="free"/>', '<framequat name="x" objtype="body" objname="arm"/>',
        '<subtreecom name="x" body="mast"/>', '<actuatorfrc name="x" actuator="t"/>',
        '<framepos name="x" objtype="camera" objname="eye"/>',
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_by_name(tmp_path, sensor):
    robot = load(tmp_path, sensor)
    assert robot.sensors == ()
    assert "'x'" in "; ".join(robot.warnings)
    with pytest.raises(robosim.LoadError, match="left out"):
        load(tmp_path, sensor, strict=True)


@pytest.mark.parametrize(
    ("sensor", "told"),
    [
        ('<jointpos joint="nee"/>', "joint 'nee' does not exist"),
        ('<gyro site="x"/>', "site 'x' does not exist"),
        ('<framepos objtype="xbody" objname="x"/>', "body 'x' does not exist"),
        ('<framepos objname="x"/>', "'objtype' cannot be ''"),
        ('<tendonpos tendon="x"/>', "tendon 'x' does not exist"),
        ('<actuatorpos actuator="x"/>', "actuator 'x' does not exist"),
        ('<clock name="a"/><clock name="a"/>', "the name 'a' is used twice"),
    ],
)
def test_faults_are_errors(tmp_path, sensor, told):
    with pytest.raises(robosim.LoadError, match=told):
        load(tmp_path, sensor)


class TestSensorsInPython:
    def robot(self, *sensors: Sensor) -> robosim.Mechanism:
        from dataclasses import replace

        return replace(robosim.load("a1", ground=False), sensors=sensors)

    def test_a_place_by_the_name_of_a_frame(self):
        robot = robosim.load("a1", ground=False)
        robot = self.robot(Sensor("foot", "framepos", place=Place.of_frame(robot, "FR_foot")))
        sim = robosim.Simulation(robot)
        assert sim.sensor("foot")[2] < robot.home[2]

    @pytest.mark.parametrize(
        ("fields", "told"),
        [
            ({"kind": "smell"}, "no kind of sensor"),
            ({"kind": "gyro", "place": Place("tail")}, "body 'tail' does not exist"),
            ({"kind": "jointpos", "of": {"tail": 1.0}}, "no coordinate 'tail'"),
            ({"kind": "subtreecom", "bodies": ("tail",)}, "body 'tail' does not exist"),
        ],
    )
    def test_faults_are_errors(self, fields, told):
        with pytest.raises(robosim.ModelError, match=told):
            self.robot(Sensor("s", **fields))

    def test_names_are_unique_and_known(self):
        with pytest.raises(robosim.ModelError, match="used twice"):
            self.robot(Sensor("s", "clock"), Sensor("s", "clock"))
        with pytest.raises(robosim.ModelError, match="no sensor 'x'"):
            robosim.Simulation(self.robot(Sensor("s", "clock"))).sensor("x")


def test_a_foot_on_the_ground_feels_the_weight_above_it(tmp_path):
    feet = "".join(f'<geom size=".02" pos="{x} {y} -.08" mass=".25"/>'
                   for x in (-0.2, 0.2) for y in (-0.2, 0.2))  # fmt: skip
    text = f"""<mujoco><worldbody><geom type="plane" size="1 1 1"/>
      <body name="foot" pos="0 0 .1"><freejoint/>{feet}
        <body name="leg"><joint axis="0 1 0"/><site name="knee" pos="0 0 .1"/>
          <geom size=".05" pos="0 0 .5" mass="3" contype="0" conaffinity="0"/></body></body>
      </worldbody><sensor><force site="knee"/><torque site="knee"/>
      <accelerometer site="knee"/></sensor></mujoco>"""
    (tmp_path / "m.xml").write_text(text)
    sim = robosim.Simulation(robosim.load(tmp_path / "m.xml"))
    sim.apply_wrench("leg", force=(0, 2.0, -10.0))
    sim.run(0.02)
    force, torque, felt = (sim.sensor(sensor.name) for sensor in sim.robot.sensors)
    np.testing.assert_allclose(force, (0, -2.0, 3 * 9.81 + 10), rtol=1e-5, atol=1e-4)
    # The push is at the centre of mass, 0.4 m above the site.
    np.testing.assert_allclose(torque, (0.8, 0, 0), atol=1e-3)
    np.testing.assert_allclose(felt, (0, 0, 9.81), rtol=1e-5, atol=1e-4)


WRIST = """<body name="upper" pos="0 0 2"><joint name="a" axis="0 1 0"/>
  <geom size=".04" fromto="0 0 0 .4 0 0" type="capsule"/><site name="shoulder"/>
  <body name="fore" pos=".4 0 0" euler="10 20 30"><joint name="b" axis="0 1 0"/>
    <joint name="c" axis="0 0 1"/><geom size=".03" fromto="0 0 0 .3 0 0" type="capsule"/>
    <site name="elbow"/>
    <body name="hand" pos=".3 0 0" euler="40 50 60">
      <site name="wrist" euler="0 90 10" pos=".1 0 0"/>
      <geom name="palm" size=".05" pos=".05 .02 0"/>
      <body name="tool" pos=".1 0 0"><geom type="box" size=".02 .03 .1"/><site name="mount"/></body>
      <body name="finger" pos=".05 .05 0"><joint name="d" axis="1 0 0"/>
        <geom size=".01" fromto="0 0 0 .1 .05 0" type="capsule"/><site name="knuckle"/>
        <body name="tip" pos=".1 .05 0"><joint name="e" axis="0 1 0"/>
          <geom size=".02" pos=".03 0 0"/></body></body></body></body></body>"""
SITES = ("shoulder", "elbow", "wrist", "mount", "knuckle")


@pytest.mark.peer
def test_forces_between_bodies_without_a_joint_are_mujocos(tmp_path):
    """As of the usual wrist sensor: a hand that is fixed to the forearm, with fingers that move."""
    mujoco = pytest.importorskip("mujoco")
    told = "".join(f'<{k} name="{k} {s}" site="{s}"/>' for s in SITES for k in ("force", "torque"))
    robot = load(tmp_path, told, WRIST, "")
    assert len(robot.sensors) == 2 * len(SITES)
    model = mujoco.MjModel.from_xml_string(text(told, WRIST, ""))
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(7)
    for _ in range(3):
        q, v = rng.uniform(-1, 1, robot.nq), 3 * rng.standard_normal(robot.nv)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        # So short that the mean acceleration over the step is the one at its beginning.
        sim = robosim.Simulation(robot, timestep=1e-6)
        sim.set_state(q, v)
        sim.step()
        for sensor in robot.sensors:
            theirs = data.sensor(sensor.name).data
            np.testing.assert_allclose(
                sim.sensor(sensor.name), theirs, atol=2e-3 * (1 + np.abs(theirs).max())
            )


def test_contacts_of_a_part_are_on_the_part_alone(tmp_path):
    """A body that stands on its soles: what they carry is above them, and the ground below."""
    soles = "".join(f'<geom size=".02" pos="{x} {y} -.08" mass=".25"/>'
                    for x in (-0.2, 0.2) for y in (-0.2, 0.2))  # fmt: skip
    world = f"""<geom type="plane" size="1 1 1"/>
      <body name="trunk" pos="0 0 .1"><freejoint/><geom size=".05" pos="0 0 .5" mass="3"/>
        <body name="soles"><site name="ankle"/>{soles}</body>
        <body name="head" pos=".1 0 .8"><site name="neck"/><geom size=".01" mass=".5"/></body>
      </body>"""
    sensors = "".join(f'<{k} site="{s}"/>' for s in ("ankle", "neck") for k in ("force", "torque"))
    path = tmp_path / "m.xml"
    path.write_text(text(sensors, world, ""))
    sim = robosim.Simulation(robosim.load(path))
    sim.run(0.02)
    ankle, ankle_torque, neck, neck_torque = (sim.sensor(s.name) for s in sim.robot.sensors)
    np.testing.assert_allclose(ankle, (0, 0, -3.5 * 9.81), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(neck, (0, 0, 0.5 * 9.81), rtol=1e-4, atol=1e-3)
    # The head is beside the trunk, so that the soles feel its moment about the ankle.
    np.testing.assert_allclose(ankle_torque, (0, 0.1 * 0.5 * 9.81, 0), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(neck_torque, 0, atol=1e-3)


def test_a_part_that_is_the_whole_body_feels_what_the_body_does(tmp_path):
    robot = load(tmp_path, '<force name="f" site="knuckle"/><torque name="t" site="knuckle"/>',
                 WRIST, "")  # fmt: skip
    finger = robot.body("finger")
    names = {shape.name for shape in finger.collisions}
    part = Part(finger.mass, (0, 0, 0), finger.inertia, tuple(names))
    parts = [
        replace(s, name=f"{s.name} of part", bodies=("tip",), part=part) for s in robot.sensors
    ]
    robot = replace(robot, sensors=(*robot.sensors, *parts))
    sim = robosim.Simulation(robot)
    sim.set_state(robot.home, np.arange(1.0, robot.nv + 1))
    sim.run(0.05)
    for name in "ft":
        np.testing.assert_allclose(sim.sensor(f"{name} of part"), sim.sensor(name), rtol=1e-12)
    with pytest.raises(robosim.ModelError, match="a part needs a place on a body"):
        Sensor("s", "force", part=part)
    with pytest.raises(robosim.ModelError, match="mass must not be negative"):
        Part(-1.0)


def test_parts_keep_their_readings_with_other_names(tmp_path):
    robot = load(tmp_path, '<force name="f" site="wrist"/>', WRIST, "")
    left = renamed(robot, "left_")
    first, second = robosim.Simulation(robot), robosim.Simulation(left)
    first.run(0.05)
    second.run(0.05)
    np.testing.assert_allclose(second.sensor("left_f"), first.sensor("f"), rtol=1e-12)
    shapes = {shape.name for body in left.bodies for shape in body.collisions}
    assert set(left.sensors[0].part.links) <= shapes
