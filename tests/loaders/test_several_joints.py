"""Several MJCF joints on a body: one joint, of a kind of the table or a chart, and its names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mjcf_reference import compiled, differences

import robosim
from robosim import Body, Frame, Joint, Mechanism, Simulation, StateError, quaternions
from robosim.actuators import torques
from robosim.batch import BatchSimulation
from robosim.controllers import PD
from robosim.description.poses import body_poses
from robosim.dynamics import Kinematics
from robosim.joints import Composite, Euler, Hinge, Offset, Screw, Slide

# Half a person: hips and a shoulder of several hinges, whose anchors and references differ.
PERSON = """
<mujoco model="person"><compiler angle="degree"/><worldbody>
  <body name="pelvis" pos="0 0 1.2"><freejoint name="root"/>
    <geom size=".12" mass="8"/>
    <body name="torso" pos="0 0 .2">
      <joint name="waist_z" axis="0 0 1" pos="0 0 -.1" range="-45 45" damping="3" armature=".02"/>
      <joint name="waist_y" axis="0 1 0" pos=".01 0 -.08" range="-75 30" ref="-5" damping="2"/>
      <joint name="waist_x" axis="1 0 0" pos="0 0 -.1" range="-35 35" springref="4" stiffness="9"/>
      <geom type="capsule" fromto="0 -.1 .2 0 .1 .2" size=".09"/>
      <body name="arm" pos="0 .2 .25">
        <joint name="shoulder1" axis="2 1 1" range="-85 60" actuatorfrcrange="-7 9"/>
        <joint name="shoulder2" axis="0 -1 1" range="-85 60" frictionloss=".1"/>
        <geom type="capsule" fromto="0 0 0 .2 .1 -.2" size=".04"/>
      </body>
    </body>
    <body name="thigh" pos="0 .1 -.05" quat="1 .1 0 .05">
      <joint name="hip_x" axis="1 0 0" range="-25 5" armature=".01"/>
      <joint name="hip_z" axis="0 0 1" range="-60 35" armature=".02"/>
      <joint name="hip_y" axis="0 1 0" range="-110 20" armature=".03" ref="-10"/>
      <geom type="capsule" fromto="0 0 0 0 .01 -.34" size=".06"/>
      <body name="shin" pos="0 .01 -.4"><joint name="knee" axis="0 -1 0" range="-160 2"/>
        <joint name="stretch" type="slide" axis=".1 0 1" stiffness="900" damping="20"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".05"/></body>
    </body>
  </body></worldbody>
  <actuator>
    <motor name="m" joint="hip_y" gear="40" ctrlrange="-1 1" ctrllimited="true"/>
    <position name="p" joint="waist_z" kp="50" forcerange="-20 20" forcelimited="true"/>
    <motor name="s" joint="shoulder1"/>
  </actuator>
  <tendon><fixed name="both"><joint joint="hip_y" coef="2"/><joint joint="knee" coef="-1"/></fixed>
    <fixed name="one" stiffness="5" springlength="0"><joint joint="hip_x" coef="2"/></fixed>
  </tendon>
  <equality><joint name="e" joint1="shoulder2" joint2="waist_x" polycoef=".1 .5 0 0 0"/></equality>
  <sensor><jointpos name="hip" joint="hip_z"/><jointvel name="rate" joint="hip_z"/>
    <tendonpos name="sum" tendon="both"/></sensor>
  <keyframe><key name="sit" qpos="0 0 .5 1 0 0 0 .1 .2 .3 .4 .5 -.1 -.2 -.6 -.7 .01"/></keyframe>
</mujoco>"""
HINGES = ("waist_z", "waist_y", "waist_x", "shoulder1", "shoulder2", "hip_x", "hip_z", "hip_y",
          "knee", "stretch")  # fmt: skip


@pytest.fixture
def person(tmp_path):
    path = tmp_path / "person.xml"
    path.write_text(PERSON)
    return robosim.load(path, ground=False)


def body(joints, name="a", more=""):
    return f'<body name="{name}">{joints}<geom type="box" size=".1 .2 .3" mass="1"/>{more}</body>'


def load(folder, world, rest=""):
    path = folder / "m.xml"
    path.write_text(f"<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>")
    return robosim.load(path, ground=False)


def test_each_body_has_one_joint_and_moves_as_in_mujoco(person):
    assert [body.name for body in person.bodies] == ["pelvis", "torso", "arm", "thigh", "shin"]
    assert [joint.kind for joint in person.joints] == ["floating", *["composite"] * 4]
    assert person.joints[1].name == "waist_z+waist_y+waist_x"
    assert person.q_names[7:] == person.v_names[6:] == HINGES
    found = differences(replace(person, tendons=()), compiled(PERSON))
    assert max(found.values()) < 1e-10


def test_each_coordinate_has_what_its_joint_has(person):
    places = {name: (joint, k) for joint in person.joints[1:]
              for k, name in enumerate(joint.coordinate_names)}  # fmt: skip

    def value(what, name):
        joint, k = places[name]
        return joint.per_coordinate(what)[k]

    assert [value("damping", f"waist_{axis}") for axis in "zyx"] == [3, 2, 0]
    assert [value("armature", f"hip_{axis}") for axis in "xzy"] == [0.01, 0.02, 0.03]
    assert [value("stiffness", name) for name in ("waist_x", "hip_x", "stretch")] == [9, 20, 900]
    assert value("rest", "waist_x") == pytest.approx(np.radians(4))
    assert value("friction", "shoulder2") == 0.1
    joint, k = places["hip_y"]
    ends = np.array((joint.lower, joint.upper))[:, k]
    np.testing.assert_allclose(ends, np.radians((-110, 20)), rtol=1e-12)
    assert person.home[7 + HINGES.index("hip_y")] == pytest.approx(np.radians(-10))
    assert joint.units == ("rad",) * 3
    assert places["stretch"][0].units == ("rad", "m")


def test_what_drives_and_reads_them_goes_by_the_names_of_the_file(person):
    assert person.actuated_names == ("waist_z", "shoulder1", "hip_y")
    np.testing.assert_array_equal(person.effort_limits, (20, 9, 40))
    assert person.effort_ranges == {"shoulder1": (-7, 9)}
    q = person.configurations["sit"]
    np.testing.assert_array_equal(q[7:], (0.1, 0.2, 0.3, 0.4, 0.5, -0.1, -0.2, -0.6, -0.7, 0.01))
    found = torques(person, (0.5, 0.3, 2.0), q, np.zeros(person.nv))
    np.testing.assert_allclose(found, (50 * (0.3 - 0.1), 2.0, 20.0), rtol=1e-12)
    # shoulder2 + ref = 0.1 + 0.5 (waist_x), which a tendon of both holds.
    (held,) = (tendon for tendon in person.tendons if tendon.name == "e")
    assert held.lower == held.upper
    k = [tendon.name for tendon in person.tendons].index("e")
    arms = Kinematics(person, q).tendon_jacobian()[k]
    found = dict(zip(person.v_names, arms, strict=True))
    assert (found["shoulder2"], found["waist_x"]) == pytest.approx((1, -0.5))
    free = replace(person, tendons=[t for t in person.tendons if t.name != "e"], sensors=[
        sensor for sensor in person.sensors if sensor.name != "sum"])  # fmt: skip
    sim = Simulation(replace(free, tendons=()), 1e-3)
    sim.set_state(q, np.arange(16.0) / 10)
    assert (sim.sensor("hip"), sim.sensor("rate")) == (pytest.approx(-0.2), pytest.approx(1.2))
    log = sim.run(0.02, PD(sim.robot, target=(0.1, 0.4, -0.6), kp=40.0, kd=2.0))
    assert log.tau.shape[1] == 3


def test_written_to_mjcf_and_read_again(person, tmp_path):
    robosim.save(person, tmp_path / "again.xml")
    again = robosim.load(tmp_path / "again.xml", ground=False)
    assert (again.q_names, again.actuated_names) == (person.q_names, person.actuated_names)
    assert [joint.kind for joint in again.joints] == [joint.kind for joint in person.joints]
    np.testing.assert_allclose(again.home, person.home, atol=1e-12)
    np.testing.assert_array_equal(again.configurations["sit"], person.configurations["sit"])
    np.testing.assert_array_equal(again.effort_limits, person.effort_limits)
    assert_same(person, again)
    found = differences(replace(again, tendons=()), compiled(tmp_path / "again.xml"))
    assert max(found.values()) < 1e-9


def test_written_to_urdf_and_read_again(person, tmp_path):
    robosim.save(person, tmp_path / "again.urdf")
    again = robosim.load(tmp_path / "again.urdf", ground=False)
    assert (again.q_names, again.actuated_names) == (person.q_names, person.actuated_names)
    assert [body.name for body in again.bodies] == [body.name for body in person.bodies]
    np.testing.assert_allclose(again.configurations["home"], person.home, atol=1e-12)
    np.testing.assert_array_equal(again.effort_limits, person.effort_limits)
    assert_same(person, again)


def assert_same(a, b):
    """What acts on coordinates, and where bodies are and how heavy at a pose."""
    for what in ("damping", "stiffness", "rest", "friction", "armature"):
        for one, other in zip(a.joints, b.joints, strict=True):
            np.testing.assert_allclose(one.per_coordinate(what), other.per_coordinate(what))
    for one, other in zip(a.joints, b.joints, strict=True):
        np.testing.assert_allclose(one.lower, other.lower, atol=1e-12)
        np.testing.assert_allclose(one.upper, other.upper, atol=1e-12)
    q = a.configurations["sit"]
    for name in (body.name for body in a.bodies):
        ours, theirs = (body_poses(robot.tree_joints, q)[name] for robot in (a, b))
        np.testing.assert_allclose(ours[0], theirs[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=0, atol=1e-12)
    ours, theirs = (Kinematics(robot, q).mass_matrix() for robot in (a, b))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


CHAIN = """<joint name="x{n}" axis="1 0 0"/><joint name="y{n}" axis="0 1 0"/>
  <geom type="box" size=".05 .04 .2" pos="0 0 -.2" mass="1"/>"""


def test_a_chain_of_universal_joints_is_that_of_composites(tmp_path):
    """From a file, and built of `universal` and of `composite` joints: the same motion."""
    links = ""
    for n in (2, 1, 0):
        where = "0 0 -.4" if n else "0 0 2"
        links = f'<body name="b{n}" pos="{where}">{CHAIN.format(n=n)}{links}</body>'
    read = load(tmp_path, links)
    inertia = np.diag((0.04**2 + 0.2**2, 0.05**2 + 0.2**2, 0.05**2 + 0.04**2)) / 3
    bodies = [Body(f"b{n}", 1.0, inertia, frames=(Frame(f"b{n}", (0, 0, 0.2)),)) for n in range(3)]
    chart = Composite(Hinge((1, 0, 0)), Hinge((0, 1, 0)))
    built = []
    for options in ({"kind": "universal"}, {"kind": "composite", "chart": chart}):
        joints = [
            Joint(f"j{n}", parent=f"b{n - 1}" if n else None, child=f"b{n}",
                  parent_position=(0, 0, -0.2) if n else (0, 0, 2), child_position=(0, 0, 0.2),
                  **options)
            for n in range(3)
        ]  # fmt: skip
        built.append(Mechanism("chain", bodies, joints))
    assert [joint.kind for joint in read.joints] == ["composite"] * 3
    ends = []
    for robot in (read, *built):
        sim = Simulation(robot, 1e-3)
        sim.set_state([0.5, 0.3, -0.4, 0.2, 0.1, -0.6], [1, 2, -1, 0.5, 0, 1])
        sim.run(0.3)
        ends.append(np.concatenate((sim.q, sim.v)))
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ends[2], ends[0], rtol=0, atol=1e-9)
    assert np.abs(ends[0][:6] - (0.5, 0.3, -0.4, 0.2, 0.1, -0.6)).max() > 0.1


def test_kinds_of_the_table_stay(tmp_path):
    slides = "".join(
        f'<joint name="{name}" type="slide" axis="{axis}"/>' for name, axis in (
            ("x", "1 0 0"), ("z", "0 0 1"))
    )  # fmt: skip
    robot = load(tmp_path, body(slides + '<joint name="turn" axis="0 1 0"/>'))
    assert [(joint.kind, joint.name) for joint in robot.joints] == [("planar", "x+z+turn")]
    robot = load(tmp_path, body(slides + '<joint name="turn" axis="0 0 1"/>'))
    assert [(joint.kind, joint.name) for joint in robot.joints] == [("composite", "x+z+turn")]


@pytest.mark.parametrize(
    ("joints", "kinds"),
    [
        ('<joint name="a1"/><joint name="a2"/>', ["revolute", "revolute"]),
        ('<joint name="a1"/><joint name="a2" type="ball"/>', ["revolute", "spherical"]),
        ('<joint name="a1" axis="1 0 0"/><joint name="a2" axis="0 1 0"/><joint name="a3"/>'
         '<joint name="a4" axis="1 1 0"/>', ["revolute"] * 4),
    ],
)  # fmt: skip
def test_carriers_are_left_where_coordinates_depend_on_each_other(tmp_path, joints, kinds):
    robot = load(tmp_path, body(joints))
    assert [joint.kind for joint in robot.joints] == kinds
    assert [body.carrier for body in robot.bodies] == [True] * (len(kinds) - 1) + [False]
    assert any("bodies in between" in text for text in robot.warnings)


def test_gimbal_lock_at_home_is_told_before_the_first_step(tmp_path):
    lock = '<joint name="a"/><joint name="b" axis="0 1 0"/><joint name="c"/>'
    robot = load(tmp_path, body(lock))
    sim = Simulation(robot, 1e-3)
    for go in (sim.step, lambda: sim.run(0.01), lambda: BatchSimulation(robot, n=1).rollout(2)):
        with pytest.raises(StateError, match=r"joint 'a\+b\+c'.*gimbal lock.*set_state"):
            go()
    assert sim.time == 0
    sim.set_state([0.1, 0.4, 0.2])
    sim.run(0.01)


def test_coordinates_next_to_gimbal_lock_are_those_nearby(tmp_path):
    """Not the other ones of the same pose, with the middle angle on the other side."""
    joints = '<joint name="a"/><joint name="b" axis="1 0 0"/><joint name="c" axis="0 1 0"/>'
    robot = load(tmp_path, body(joints))
    kinematics, still = Kinematics(robot), np.zeros((1, 3))
    rng = np.random.default_rng(1)
    cases = [(1.57710525, 1.46366061, -0.60369733)]
    cases += [(a, 1.5708 + b, c) for a, b, c in rng.uniform(-1, 1, (40, 3)) * (3, 0.12, 3)]
    for q in cases:
        R, x = body_poses(robot.tree_joints, np.array(q))["a"]
        turn = quaternions.from_matrix(R)[None]
        found, _ = kinematics.read_coordinates(x[None], turn, still, still, np.add(q, 0.1))
        np.testing.assert_allclose(found, q, rtol=0, atol=1e-6)


def test_a_base_on_slides_is_raised_whatever_comes_behind_them(tmp_path):
    joints = '<joint name="z" type="slide" axis="0 0 1"/><joint name="x" axis="1 0 0"/>'
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/>'
        f'<body>{joints}<geom size=".1" mass="1"/></body></worldbody></mujoco>'
    )
    robot = robosim.load(path)
    assert robot.joints[0].kind == "composite"
    np.testing.assert_allclose(robot.home, (0.1, 0.0), atol=1e-12)
    assert robot.contacts


@pytest.mark.parametrize(
    "joint",
    [
        {"kind": "universal"},
        {"kind": "composite", "chart": Euler("zyx")},
        {"kind": "composite", "chart": Composite(
            Offset((0.1, 0, 0.2), (0.6, 0, 0.8, 0)), Hinge((1, 1, 0)), Offset((0, 0.3, 0)),
            Slide((0, 1, 1)), Hinge(), Offset((0.1, 0.1, 0), (0.8, 0.6, 0, 0)))},
    ],
)  # fmt: skip
@pytest.mark.parametrize("suffix", ["xml", "urdf"])
def test_charts_of_hinges_and_slides_are_written(tmp_path, joint, suffix):
    bodies = [Body("a", 1.0, np.diag((0.1, 0.2, 0.25)), frames=(Frame("a", (0.1, 0, 0.2)),))]
    hip = Joint("hip", parent=None, child="a", parent_position=(0, 0, 1), offset=(0.8, 0, 0.6, 0),
                child_position=(0.1, 0, 0.2), **joint)  # fmt: skip
    hip = replace(hip, actuated=[k > 0 for k in range(hip.nv)], lower=[-1.0] * hip.nv)
    robot = Mechanism("m", bodies, [hip], home=np.arange(hip.nv) / 5)
    robosim.save(robot, tmp_path / f"m.{suffix}")
    again = robosim.load(tmp_path / f"m.{suffix}")
    assert again.q_names == robot.q_names == tuple(f"hip.q{k}" for k in range(hip.nv))
    assert again.actuated_names == robot.actuated_names
    np.testing.assert_allclose(again.joints[0].lower, hip.lower, atol=1e-12)
    q = np.linspace(0.2, 0.7, hip.nv)
    first, second = (Kinematics(one, q) for one in (robot, again))
    # A URDF has the frame of a link at its joint, which is told.
    np.testing.assert_allclose(first.center_of_mass(), second.center_of_mass(), atol=1e-12)
    np.testing.assert_allclose(first.frame("a")[1], second.frame("a")[1], atol=1e-12)
    np.testing.assert_allclose(first.mass_matrix(), second.mass_matrix(), atol=1e-12)


@pytest.mark.parametrize("chart", [Composite(Hinge(), Screw((1, 0, 0), 0.1))])
def test_a_screw_among_others_is_refused(tmp_path, chart):
    robot = Mechanism("m", [Body("a", 1.0, np.eye(3))],
                      [Joint("hip", "composite", None, "a", chart=chart)])  # fmt: skip
    with pytest.raises(robosim.SaveError, match=r"'hip'.*'composite'.*Screw"):
        robosim.save(robot, tmp_path / "m.xml")
