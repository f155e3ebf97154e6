"""What MJCF says beyond bodies: contacts, equalities, tendons, actuators, keyframes, home."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import HalfSpace, HeightField
from robosim.actuators import torques
from robosim.errors import LoadError, StateError

ARM = """
<body name="upper" pos="0 0 1"><joint name="a" axis="0 1 0" ref="10"/>
  <geom name="upper" type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
  <body name="lower" pos=".4 0 0"><joint name="b" axis="0 1 0" range="-90 90"/>
    <geom name="lower" type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
    <site name="tip" pos=".4 0 0"/>
  </body></body>"""
BALL = '<body name="ball" pos="0 0 {z}"><freejoint/><geom name="ball" size=".1" {more}/></body>'


def load(folder: Path, world: str, rest: str = "", **options) -> robosim.Mechanism:
    path = folder / "m.xml"
    path.write_text(f"<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>")
    return robosim.load(path, **options)


def ball(z: float = 1.0, more: str = "") -> str:
    return BALL.format(z=z, more=more)


@pytest.mark.parametrize(
    ("floor", "geom", "friction"),
    [
        ("", "", 1.0),
        ('friction=".3"', 'friction=".7"', 0.7),
        ('friction=".3" priority="1"', 'friction=".7"', 0.3),
        ('condim="1"', 'condim="1"', 0.0),
        ('condim="1"', "", 1.0),
    ],
)
def test_friction_is_that_of_both(tmp_path, floor, geom, friction):
    robot = load(tmp_path, f'<geom type="plane" size="1 1 1" {floor}/>{ball(more=geom)}')
    assert [contact.friction for contact in robot.contacts] == [friction]
    assert robot.contacts[0].radius == pytest.approx(0.1)
    assert robot.obstacles == ()


@pytest.mark.parametrize(
    ("floor", "geom", "rest"),
    [
        ('contype="2" conaffinity="2"', "", ""),
        ("", 'contype="0" conaffinity="0"', ""),
        ("", "", '<contact><exclude body1="world" body2="ball"/></contact>'),
        ("", "", '<option><flag contact="disable"/></option>'),
    ],
)
def test_what_does_not_touch_the_ground(tmp_path, floor, geom, rest):
    world = f'<geom name="floor" type="plane" size="1 1 1" {floor}/>{ball(more=geom)}'
    assert load(tmp_path, world, rest).contacts == ()
    pair = '<contact><pair geom1="floor" geom2="ball" friction=".2 .2"/></contact>'
    if "flag" not in rest:
        assert load(tmp_path, world, rest + pair).contacts[0].friction == pytest.approx(0.2)


def test_a_world_without_anything_solid_has_ground_for_what_floats(tmp_path):
    assert len(load(tmp_path, ball()).contacts) == 1
    assert load(tmp_path, ball(), ground=False).contacts == ()
    assert load(tmp_path, ARM).contacts == ()


def test_the_rest_of_the_world_is_obstacles(tmp_path):
    world = f"""<geom name="ramp" type="plane" size="1 1 1" euler="0 20 0"/>
      <geom name="hills" type="hfield" hfield="h" pos="3 0 0"/>
      <geom name="step" type="box" size=".1 .2 .3" pos="1 0 0"/>
      <geom name="ghost" type="box" size="1 1 1" contype="0" conaffinity="0"/>{ball()}"""
    field = """<asset><hfield name="h" nrow="2" ncol="3" size="3 1 .5 .1"
      elevation="0 1 2 3 4 5"/></asset>"""
    ramp, hills, step = load(tmp_path, world, field).obstacles
    assert isinstance(ramp, HalfSpace)
    np.testing.assert_allclose(ramp.normal, (np.sin(np.pi / 9), 0, np.cos(np.pi / 9)))
    assert isinstance(hills, HeightField)
    assert hills.size == (6.0, 2.0)
    # The first row of the file is the one with the largest y, as in an image.
    np.testing.assert_allclose(hills.heights, 0.1 * np.array([[3, 0], [4, 1], [5, 2]]))
    assert step.size == (0.2, 0.4, 0.6)


def test_a_robot_does_not_touch_what_holds_it(tmp_path):
    base = f'<body name="base"><geom name="base" type="box" size=".5 .5 1.2"/>{ARM}</body>'
    robot = load(tmp_path, base + ball(z=3))
    assert robot.obstacles[0].name == "base"
    assert {robot.bodies[i].name for _, (i, _) in robot.touching_shapes()} == {"ball"}


def test_what_cannot_leave_its_height_does_not_touch_level_planes(tmp_path):
    world = """<geom type="plane" size="1 1 1"/><body name="cart" pos="0 0 .1">
      <joint type="slide" axis="1 0 0"/><joint axis="0 0 1"/><geom size=".1"/></body>"""
    assert load(tmp_path, world).contacts == ()


def test_pairs_and_exclusions_of_bodies(tmp_path):
    second = ball(z=5).replace('"ball"', '"other"')
    rest = (
        '<contact><pair geom1="upper" geom2="ball"/><exclude body1="ball" body2="lower"/></contact>'
    )
    robot = load(tmp_path, ARM + ball() + second, rest)
    others = (("upper", "other"), ("lower", "other"), ("ball", "other"))
    assert robot.contact_pairs == (("upper", "ball"), *others)
    assert ("lower", "ball") in robot.excluded_pairs
    touching = load(tmp_path, ARM + ball(z=3) + second, self_collision=True).touching_shapes()
    assert len(touching) == 5  # every two of four bodies but the neighbours


def pairs(robot):
    """The pairs of bodies that may touch, sorted."""
    names = [body.name for body in robot.bodies]
    found = robot.touching_shapes()
    return sorted({(names[a], names[b]) for (a, _), (b, _) in found if a is not None})


def test_free_bodies_and_robots_touch_each_other_as_in_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    world = f"""<geom type="plane" size="5 5 .1"/>{ARM}
      <body name="box" pos="1 0 .1"><freejoint/><geom type="box" size=".2 .2 .1" mass="1"/></body>
      <body name="ball" pos="1 0 .35"><freejoint/><geom size=".1" mass=".1"/></body>"""
    robot = load(tmp_path, world)
    assert pairs(robot) == [
        ("box", "ball"), ("lower", "ball"), ("lower", "box"), ("upper", "ball"), ("upper", "box"),
    ]  # fmt: skip
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{world}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    while data.time < 0.5:
        mujoco.mj_step(model, data)
    sim = robosim.Simulation(robot, timestep=2e-3)
    sim.run(0.5)
    ball = robot.q_names.index("ball/joint0.z")
    assert sim.q[ball] == pytest.approx(data.qpos[-5], abs=5e-3)
    assert sim.q[ball] == pytest.approx(0.3, abs=1e-4)


@pytest.mark.parametrize(
    ("a", "b", "touch"),
    [
        ("", "", True),
        ('contype="0"', "", True),
        ('conaffinity="0"', "", True),
        ('contype="0"', 'contype="0"', False),
        ('contype="2"', 'conaffinity="2"', True),
        ('contype="2" conaffinity="2"', "", False),
        ('contype="0" conaffinity="0"', "", False),
    ],
)
def test_bits_say_which_free_bodies_touch(tmp_path, a, b, touch):
    world = "".join(
        f'<body name="{name}" pos="0 0 {z}"><freejoint/><geom size=".1" {bits}/></body>'
        for name, z, bits in (("a", 1, a), ("b", 2, b))
    )
    assert pairs(load(tmp_path, world)) == [("a", "b")] * touch
    apart = load(tmp_path, world, '<contact><exclude body1="a" body2="b"/></contact>')
    assert pairs(apart) == []


def test_pairs_of_one_robot_that_do_not_touch_are_told(tmp_path):
    """A robot is what hangs on one body of the world, or what a loop ties to it."""
    geom = '<geom size=".1" pos=".5 0 0"/>'
    chain = f"""<body name="a"><joint axis="0 1 0"/>{geom}<body name="b" pos="1 0 0">
      <joint axis="0 1 0"/>{geom}<body name="c" pos="1 0 0"><joint axis="0 1 0"/>{geom}
      <body name="d" pos="1 0 0"><joint axis="0 1 0"/>{geom}</body></body></body></body>"""
    (warning,) = load(tmp_path, chain).warnings
    assert warning.startswith("3 pairs of bodies of one robot do not collide")  # ac, ad, bd
    assert "self_collision=True" in warning
    assert load(tmp_path, chain, self_collision=False).warnings == ()
    assert pairs(load(tmp_path, chain)) == []
    told = load(tmp_path, chain, '<contact><exclude body1="a" body2="d"/></contact>').warnings
    assert told[0].startswith("2 pairs")
    asked = load(tmp_path, chain, self_collision=True)
    assert asked.warnings == ()
    assert pairs(asked) == [("a", "c"), ("a", "d"), ("b", "d")]

    hand = f"""<body name="palm"><geom size=".1"/><body name="f"><joint axis="0 1 0"/>{geom}</body>
      <body name="g" pos="0 1 0"><joint axis="0 1 0"/>{geom}</body></body>"""
    fingers = load(tmp_path, hand)
    assert pairs(fingers) == []
    assert fingers.warnings[0].startswith("1 pairs")

    two = f"""<body name="f"><joint axis="0 1 0"/>{geom}</body>
      <body name="g" pos="1 0 0"><joint axis="0 1 0"/>{geom}</body>"""
    assert pairs(load(tmp_path, two)) == [("f", "g")]
    tie = '<equality><connect body1="f" body2="g" anchor="1 0 0"/></equality>'
    assert pairs(load(tmp_path, two, tie)) == []


def test_shapes_that_touch_although_their_bits_say_no_are_told(tmp_path):
    world = """<body name="a" pos="0 0 1"><freejoint/><geom size=".1"/>
      <geom size=".2" contype="0" conaffinity="0"/><geom size=".1" pos="1 0 0" contype="0"
      conaffinity="2"/></body><body name="b" pos="0 0 3"><freejoint/><geom size=".1"/></body>"""
    robot = load(tmp_path, world)
    assert pairs(robot) == [("a", "b")]
    assert any("all collision geometry of these bodies" in text for text in robot.warnings)


@pytest.mark.parametrize("most", ["1.79769e308", "1e200"])
@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_ranges_as_large_as_a_double_are_none(tmp_path, kind, most):
    mujoco = pytest.importorskip("mujoco")
    ends = f'range="-{most} {most}"'
    world = f'<body><joint name="j" type="{kind}" {ends}/><geom size=".1"/></body>'
    rest = f"""<actuator><motor joint="j" ctrl{ends} force{ends}/></actuator>
      <tendon><fixed {ends}><joint joint="j" coef="1"/></fixed></tendon>
      <compiler angle="radian"/>"""
    mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>")
    robot = load(tmp_path, world, rest)
    (joint,) = robot.joints
    assert (float(joint.lower[0]), float(joint.upper[0])) == (-np.inf, np.inf)
    sim = robosim.Simulation(robot, timestep=1e-3)
    sim.run(0.1)
    assert np.all(np.isfinite(sim.q))
    with pytest.raises(LoadError, match="'pos' must hold finite numbers"):
        load(tmp_path, f'<body pos="0 0 {most}"><joint/><geom size=".1"/></body>')


def test_the_base_is_raised_out_of_the_ground_and_no_more(tmp_path):
    floor = '<geom type="plane" size="1 1 1"/>'
    assert load(tmp_path, floor + ball(z=0.02)).home[2] == pytest.approx(0.1)
    assert load(tmp_path, floor + ball(z=0.7)).home[2] == pytest.approx(0.7)
    sunk = load(tmp_path, floor + ARM.replace('pos="0 0 1"', 'pos="0 0 0"'))
    assert sunk.contacts == ()
    assert "upper, lower" in "; ".join(sunk.warnings) or "lower, upper" in "; ".join(sunk.warnings)


def test_connect_closes_a_loop_where_the_reference_has_it(tmp_path):
    pytest.importorskip("numba")
    from robosim.dynamics import Kinematics

    second = ARM.replace('"upper"', '"u2"').replace('"lower"', '"l2"').replace('"tip"', '"t2"')
    second = (
        second.replace('"a"', '"c"').replace('"b"', '"d"').replace('pos="0 0 1"', 'pos="0 0 2"')
    )
    rest = """<equality><connect name="loop" body1="lower" body2="l2" anchor=".4 0 0"/>
      <weld name="held" body1="lower"/><weld name="sites" site1="tip" site2="t2"/>
      <connect name="off" body1="lower" body2="l2" anchor="0 0 0" active="false"/></equality>"""
    robot = load(tmp_path, ARM + second, rest)
    assert [(j.name, j.kind) for j in robot.loop_joints] == [
        ("loop", "spherical"), ("held", "fixed"), ("sites", "fixed"),
    ]  # fmt: skip
    kinematics = Kinematics(robot)
    loop, held = robot.loop_joints[:2]

    def point(name: str | None, position) -> np.ndarray:
        if name is None:
            return np.asarray(position)
        i = robot.body_index(name)
        return kinematics.x[i] + kinematics.R[i] @ position

    for joint in (loop, held):
        ends = point(joint.parent, joint.parent_position), point(joint.child, joint.child_position)
        np.testing.assert_allclose(*ends, atol=1e-12)
    tip = kinematics.frame("tip")[0]
    np.testing.assert_allclose(point(loop.child, loop.child_position), tip, atol=1e-12)
    assert "off" in "; ".join(robot.warnings)


def test_equalities_of_joints_and_tendons_are_gears(tmp_path):
    rest = """<tendon><fixed name="sum">
        <joint joint="a" coef="2"/><joint joint="b" coef="-4"/></fixed></tendon>
      <equality>{}</equality>"""
    joint = '<joint joint1="b" joint2="a" polycoef=".1 2 0 0 0"/>'
    robot = load(tmp_path, ARM, rest.format(joint))
    ref = np.pi / 18
    (gear,) = robot.couplings
    assert (gear.joint, gear.source, gear.ratio) == ("b", "a", 2.0)
    assert gear.offset == pytest.approx(0.1 - 2 * ref)
    np.testing.assert_allclose(robot.home, (ref, 0.1), atol=1e-15)

    (gear,) = load(tmp_path, ARM, rest.format('<tendon tendon1="sum"/>')).couplings
    assert (gear.joint, gear.source, gear.ratio) == ("a", "b", 2.0)
    assert gear.offset == pytest.approx(ref)

    held = load(tmp_path, ARM, rest.format('<joint joint1="b" polycoef=".3 0 0 0 0"/>'))
    assert held.joints[1].motion(0.0) == pytest.approx(0.3)

    curved = load(
        tmp_path, ARM, rest.format('<joint name="x" joint1="b" joint2="a" polycoef="0 1 2 0 0"/>')
    )
    assert (curved.couplings, curved.warnings) == ((), ())
    (curve,) = curved.tendons
    assert (curve.name, curve.lower) == ("x", curve.upper)
    assert curve.path[1].higher == pytest.approx((-2.0, 0.0, 0.0))


def test_limits_of_joints_that_follow(tmp_path):
    """At the file's reference b is at 1.7, beyond its limit of a quarter turn."""
    rest = '<equality><joint joint1="b" joint2="a" polycoef="1.7 -2 0 0 0"/></equality>'
    robot = load(tmp_path, ARM, rest)
    assert not any("led" in warning or "farther" in warning for warning in robot.warnings)
    a, b = robot.home
    assert b == pytest.approx(np.pi / 2, abs=1e-12)
    assert a - np.pi / 18 == pytest.approx((1.7 - b) / 2, abs=1e-12)
    assert (robot.joints[1].lower, robot.joints[1].upper) == pytest.approx((-np.pi / 2, np.pi / 2))
    sim = robosim.Simulation(robot)
    reached = []
    sim.run(1.0, controller=lambda sim: reached.append(sim.q[1]))
    assert max(reached) == pytest.approx(np.pi / 2, abs=1e-8)
    assert min(reached) == pytest.approx(-np.pi / 2, abs=1e-8)


def test_tendons_act_where_they_can(tmp_path):
    world = ARM.replace('ref="10"', 'ref="10" springref="10"') + '<site name="wall" pos="1 0 1"/>'
    rest = """<tendon>
      <fixed name="one" stiffness="3" damping="2" frictionloss="1" range="-1 1" springlength=".5">
        <joint joint="a" coef="2"/></fixed>
      <fixed name="two" stiffness="3"><joint joint="a" coef="1"/><joint joint="b" coef="1"/></fixed>
      <spatial name="line" stiffness="7"><site site="wall"/><site site="tip"/></spatial>
      <spatial name="rope" range="0 1"><site site="wall"/><site site="tip"/></spatial></tendon>"""
    robot = load(tmp_path, world, rest)
    a = robot.joints[0]
    assert (a.stiffness, a.rest, a.damping, a.friction) == (12.0, 0.25, 8.0, 2.0)
    assert (a.lower, a.upper) == (-0.5, 0.5)
    (spring,) = robot.springs
    assert (spring.parent, spring.child, spring.stiffness) == (None, "lower", 7.0)
    tip = np.array((0.8 * np.cos(np.pi / 18) * 0 + 0.8, 0.0, 1.0))
    assert spring.rest_length == pytest.approx(np.linalg.norm(tip - (1, 0, 1)))
    two, rope = robot.tendons
    assert (two.name, two.stiffness, rope.name, rope.upper) == ("two", 3.0, "rope", 1.0)
    assert [(term.coordinate, term.factor) for term in two.path] == [("a", 1.0), ("b", 1.0)]
    assert [point.body for point in rope.path] == [None, "lower"]
    assert robot.warnings == ()


def test_tendons_that_cannot_be_are_refused(tmp_path):
    world = ARM + BALL.format(z=1, more="")
    for rest, told in (
        ('<fixed><joint joint="b" coef="1"/><joint joint="ball/joint0" coef="1"/></fixed>', "free"),
        ('<spatial><site site="tip"/></spatial>', "two sites or more"),
        ('<spatial><site site="tip"/><geom geom="upper"/><site site="tip"/></spatial>', "capsule"),
        ('<spatial><site site="tip"/><pulley divisor="0"/></spatial>', "divisor"),
        ('<spatial stiffness="1" springlength="2 1"><site site="tip"/><site site="tip"/></spatial>',
         "springlength"),
    ):  # fmt: skip
        with pytest.raises(LoadError, match=told):
            load(tmp_path, world, f"<tendon>{rest}</tendon>")


def test_actuators_make_torques_of_controls(tmp_path):
    rest = """<tendon><fixed name="sum">
        <joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed></tendon><actuator>
      <motor name="m" joint="b" gear="5" ctrlrange="-1 1"/>
      <position name="p" joint="b" kp="10" kv="1" forcerange="-4 4"/>
      <velocity name="v" tendon="sum" kv="3" gear="2"/>
      <general name="g" joint="b" gainprm="2" biastype="affine" biasprm="1 2 3"/></actuator>"""
    robot = load(tmp_path, ARM, rest)
    assert robot.actuated_names == ("a", "b")
    q, v = np.array((0.1, 0.2)), np.array((0.3, -0.4))
    rate = 2 * (0.3 + 0.8)
    expected = 2 * 3 * (0.5 - rate)
    servo = np.clip(10 * (1.0 - 0.2) + 0.4, -4, 4)
    own = 5 * 1.0 + servo + (2 * 0.7 + 1 + 2 * 0.2 - 3 * 0.4)
    got = torques(robot, (3.0, 1.0, 0.5, 0.7), q, v)
    np.testing.assert_allclose(got, (expected, own - 2 * expected), rtol=1e-12)
    with pytest.raises(StateError, match=r"controls must have shape \(4,\)"):
        torques(robot, (1.0,), q, v)
    motor = load(tmp_path, ARM, '<actuator><motor joint="b" gear="5" ctrlrange="-1 2"/></actuator>')
    assert motor.joints[1].effort_limit == 10.0
    assert motor.nu == 1


def test_keyframes_are_configurations(tmp_path):
    rest = """<keyframe><key name="bent" qpos="1 2"/><key/></keyframe>"""
    robot = load(tmp_path, ARM, rest)
    np.testing.assert_array_equal(robot.configurations["bent"], (1, 2))
    np.testing.assert_allclose(robot.configurations["key1"], (np.pi / 18, 0))


def test_the_base_as_the_user_wants_it(tmp_path):
    base = f'<body name="base"><geom size=".1"/>{ARM}</body>'
    floating = load(tmp_path, base, floating_base=True)
    assert (floating.joints[0].name, floating.joints[0].kind) == ("floating_base", "floating")
    np.testing.assert_allclose(floating.home[2], 0.1)
    fixed = load(tmp_path, ball() + ARM, floating_base=False)
    assert [body.name for body in fixed.bodies] == ["upper", "lower"]
    other = base
    for name in ("base", "upper", "lower", "a", "b", "tip"):
        other = other.replace(f'name="{name}"', f'name="{name}2"')
    with pytest.raises(robosim.LoadError, match="needs one body that is fixed to the world, not 2"):
        load(tmp_path, base + other, floating_base=True)


def test_carriers_have_mass_in_simulations_only(tmp_path):
    from robosim.dynamics import mass_matrix

    world = """<body name="leg" pos="0 0 1">
      <joint name="x" axis="1 0 0"/><joint name="y" type="ball"/>
      <geom size=".1" mass="3" pos="0 0 -.2"/></body>"""
    robot = load(tmp_path, world)
    assert [body.name for body in robot.bodies] == ["leg/carrier0", "leg"]
    assert [body.carrier for body in robot.bodies] == [True, False]
    assert robot.total_mass == 3.0
    inertia = 0.4 * 3 * 0.1**2 + 3 * 0.2**2
    M = mass_matrix(robot, (0, 1, 0, 0, 0))
    np.testing.assert_allclose(M[:2, :2], inertia * np.ones((2, 2)), rtol=1e-12)
    assert "leg" in robot.warnings[0]


def test_spring_and_damper_from_a_time_constant(tmp_path):
    world = """<body name="leg"><joint axis="0 1 0" springdamper="2 .5" armature=".1"/>
      <geom size=".1" mass="3" pos="0 0 -.2"/></body>"""
    joint = load(tmp_path, world).joints[0]
    inertia = 0.1 + 0.4 * 3 * 0.1**2 + 3 * 0.2**2
    np.testing.assert_allclose((joint.stiffness, joint.damping), (inertia, inertia), rtol=1e-12)


def test_bodies_in_between_are_heavier_where_shapes_touch_each_other(tmp_path):
    """With less, hands of gymnasium-robotics and a fly of dm_control could not be stepped."""
    world = """<body name="a"><joint axis="1 0 0"/><joint name="a2" axis="1 0 0"/>
      <geom name="a" size=".1"/></body><body name="b" pos="0 0 1"><joint name="b1" axis="1 0 0"/>
      <geom name="b" size=".1"/></body>"""
    pair = '<contact><pair geom1="a" geom2="b"/></contact>'
    wall = '<geom type="box" size="1 1 1" pos="3 0 0"/>'
    floor = '<geom type="plane" size="1 1 1"/>'
    gear = '<equality><joint joint1="a2" joint2="b1"/></equality>'
    shares = []
    for more, rest, options in (
        ("", "", {}), ("", gear, {}), (floor, "", {}), (floor, "", {"ground": False}),
        ("", pair, {}), (wall, "", {}), ("", "", {"self_collision": True}),
    ):  # fmt: skip
        rest = rest or '<contact><exclude body1="a" body2="b"/></contact>'
        robot = load(tmp_path, world + more, rest, **options)
        shares.append(robot.bodies[0].mass / robot.body("a").mass)
        assert robot.bodies[0].carrier
    assert shares == pytest.approx([1e-6, 1e-3, 1e-5, 1e-6, 1e-3, 1e-3, 1e-3])


def test_a_finger_does_not_touch_the_palm_that_it_is_mounted_on(tmp_path):
    """As drawn they overlap; what hangs further down, or floats, does touch."""
    finger = """<body name="finger" pos="0 0 .1"><joint/><geom name="finger" size=".05"/>
      <body name="tip" pos="0 0 .2"><joint/><geom size=".04"/></body></body>"""
    world = f"""<body name="hand"><body name="palm"><geom name="palm" type="box" size=".1 .1 .1"/>
      </body>{finger}</body><body name="table"><geom name="table" type="box" size=".1 .1 .1"
      pos="0 0 -1"/></body>{ball(2)}"""
    robot = load(tmp_path, world)
    apart = {frozenset(pair) for pair in robot.excluded_pairs}
    assert frozenset(("finger", "palm")) in apart
    for pair in (("tip", "palm"), ("ball", "palm"), ("finger", "table")):
        assert frozenset(pair) not in apart


def test_servos_reach_as_far_as_their_joints_do(tmp_path):
    servo = '<actuator><position joint="b" inheritrange="{}" {}/></actuator>'
    robot = load(tmp_path, ARM, servo.format(0.5, ""))
    assert robot.actuators[0].control_range == pytest.approx((-np.pi / 4, np.pi / 4))
    assert robot.warnings == ()
    for wrong in (servo.format(-1, ""), servo.format(1, 'ctrlrange="0 1"')):
        with pytest.raises(robosim.LoadError, match="'inheritrange' of"):
            load(tmp_path, ARM, wrong)
    with pytest.raises(robosim.LoadError, match="needs a joint with a range"):
        load(tmp_path, ARM, servo.format(1, "").replace('"b"', '"a"'))
    tendon = '<tendon><fixed name="t"><joint joint="b" coef="2"/></fixed></tendon>'
    robot = load(tmp_path, ARM, tendon + servo.format(1, "").replace('joint="b"', 'tendon="t"'))
    assert any("actuators of tendons, sites and ball joints" in text for text in robot.warnings)


SPRUNG = """<body name="b" pos="0 0 1"><freejoint/><geom size=".1"/>
  <body pos=".3 0 0"><joint name="k" axis="0 1 0" springdamper=".2 1" armature=".02"/>
    <geom size=".1" pos=".3 0 0"/>
    <body pos=".3 0 .1"><joint name="s" type="slide" axis="1 0 1" springdamper=".5 .3"/>
      <geom size=".08" pos=".1 .2 0"/></body></body></body>
  <body name="c" pos="1 0 1"><joint name="h" axis="0 1 0" springdamper=".1 1"/>
    <geom size=".1" pos=".3 0 0"/>
    <body pos=".3 0 0"><joint name="i" axis="0 1 0" damping="2"/><geom size=".1" pos=".3 0 0"/>
    </body></body>"""


def test_springs_and_dampers_from_time_constants_are_those_of_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    robot = load(tmp_path, SPRUNG)
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{SPRUNG}</worldbody></mujoco>")
    for joint in robot.joints:
        if joint.kind == "floating":
            continue
        theirs = model.joint(joint.name)
        expected = float(theirs.stiffness[0]), float(theirs.damping[0])
        np.testing.assert_allclose((joint.stiffness, joint.damping), expected, rtol=1e-9)
    assert robot.joints[1].stiffness > 0


@pytest.mark.parametrize(
    "place", ["<default>{}</default>", '<default><default class="off">{}</default></default>']
)
@pytest.mark.parametrize(
    "equality",
    [
        '<joint {} joint1="j" joint2="k"/>',
        '<joint {} joint1="j"/>',
        '<weld {} body1="a" body2="b"/>',
        '<tendon {} tendon1="t"/>',
    ],
)
def test_equalities_that_are_off_by_default(tmp_path, place, equality):
    world = """<body name="a" pos="0 0 1"><joint name="j" axis="0 1 0"/><geom size=".1"/></body>
      <body name="b" pos="1 0 1"><joint name="k" axis="0 1 0"/><geom size=".1"/></body>"""
    defaults = place.format('<equality active="false"/>')
    chosen = 'class="off"' if "class" in place else ""
    tendon = '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>'
    rest = f"{tendon}<equality>{equality.format(chosen)}</equality>{defaults}"
    robot = load(tmp_path, world, rest)
    assert not robot.couplings
    assert not robot.loop_joints
    assert all(np.isinf(joint.lower).all() for joint in robot.joints)
    assert any("equal" in warning for warning in robot.warnings)


ACTUATOR_DEFAULTS = [
    "<general/>",
    '<general gainprm="4"/>',
    '<general gainprm="4" biastype="affine" biasprm="1 -4 -3"/>',
    '<general gaintype="affine" gainprm="4 2 3"/>',
    '<general dyntype="filter" dynprm=".1"/>',
    '<motor gear="2"/>',
    '<position kp="20" kv="1"/>',
    '<position kp="20" dampratio="1"/>',
    '<position timeconst=".1"/>',
    '<intvelocity kp="7"/>',
    '<velocity kv="5"/>',
    '<cylinder area="2" bias="1 2 3" timeconst=".3"/>',
    '<cylinder diameter="2"/>',
    '<cylinder diameter="2"/><default class="inner"><cylinder area="3"/></default>',
    '<position kv="2"/><default class="inner"><position dampratio="1"/></default>',
    '<position kp="3" gear="2"/><default class="inner"><velocity kv="4" gear="3"/></default>',
    '<velocity kv="4"/><default class="inner"><position kp="3"/></default>',
    '<general gainprm="9"/><default class="inner"><velocity/></default>',
    '<position kp="3" kv="2"/><default class="inner"><general gainprm="5"/></default>',
    '<velocity kv="4"/><default class="m"><motor/>'
    '<default class="inner"><velocity/></default></default>',
]


SERVOS = [
    (kind, own)
    for kind in ("position", "intvelocity")
    for own in ('kp="50"', 'kv="3"', 'dampratio=".5"')
]


@pytest.mark.parametrize("default", ACTUATOR_DEFAULTS)
@pytest.mark.parametrize(
    ("kind", "own"),
    [(kind, "") for kind in ("general", "motor", "velocity", "cylinder", "position", "intvelocity")]
    + SERVOS,
)
def test_actuators_inherit_from_other_kinds_as_in_mujoco(tmp_path, default, kind, own):
    mujoco = pytest.importorskip("mujoco")
    chosen = 'class="inner"' if "inner" in default else ""
    integrates = kind == "intvelocity" or (kind == "general" and "intvelocity" in default)
    more = 'actrange="-1 1"' if integrates else ""
    world = '<body pos="0 0 1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>'
    rest = (
        f"<default>{default}</default>"
        f'<actuator><{kind} {chosen} joint="j" {own} {more}/></actuator>'
    )
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>")
    (actuator,) = load(tmp_path, world, rest).actuators
    np.testing.assert_allclose(actuator.gain, model.actuator_gainprm[0][:3], atol=1e-12)
    np.testing.assert_allclose(actuator.bias, model.actuator_biasprm[0][:3], rtol=1e-9, atol=1e-12)
    assert actuator.gears == {"j": model.actuator_gear[0][0]}
    names = {0: None, 1: "integrator", 2: "filter", 3: "filterexact"}
    dynamics = names[int(model.actuator_dyntype[0])]
    assert (actuator.activation.kind if actuator.activation else None) == dynamics
    if dynamics in ("filter", "filterexact"):
        assert actuator.activation.constants[0] == model.actuator_dynprm[0][0]


OF_MUSCLES = '<muscle scale="150" range=".65 1.1" lmin=".3" timeconst=".02 .03"/>'
GENERAL_MUSCLE = """<general gaintype="muscle" biastype="muscle" dyntype="muscle"
  dynprm=".02 .03 .1" gainprm=".6 1.1 30 150 .4 1.5 1.4 1.2 1.1"
  biasprm=".6 1.1 30 150 .4 1.5 1.4 1.2 1.1"/>"""
MUSCLE_DEFAULTS = {
    "muscle": OF_MUSCLES,
    "muscle, motor": OF_MUSCLES + '<motor ctrlrange="-1 1"/>',
    "motor, muscle": '<motor ctrlrange="-1 1"/>' + OF_MUSCLES,
    "muscle, position": OF_MUSCLES + '<position kp="7" timeconst=".3"/>',
    "cylinder, muscle": '<cylinder area="2" bias="1 2 3" timeconst=".3"/>' + OF_MUSCLES,
    "muscle, general": OF_MUSCLES + '<general gear="2"/>',
    "muscle, general with times": OF_MUSCLES + '<general dynprm=".5 .6 .2"/>',
    "muscle, fixed general": OF_MUSCLES + '<general gaintype="fixed" biastype="none"/>',
    "muscle, adhesion": OF_MUSCLES + '<adhesion gain="3" ctrlrange="0 1"/>',
    "general": '<general gainprm="5 6 7" biasprm="1 2 3" dynprm="4 5 6"/>',
    "general muscle": GENERAL_MUSCLE,
    "motor within": OF_MUSCLES + '<default class="inner"><motor/></default>',
    "position within": OF_MUSCLES + '<default class="inner"><position kp="3"/></default>',
    "both within": OF_MUSCLES
    + '<default class="inner"><motor/><muscle lmin=".2" timeconst=".05 .06"/></default>',
    "general within": GENERAL_MUSCLE + '<default class="inner"><velocity/></default>',
}


@pytest.mark.parametrize("kind", ["muscle", "general", "motor", "position"])
@pytest.mark.parametrize("default", MUSCLE_DEFAULTS)
def test_muscles_inherit_from_other_kinds_as_in_mujoco(tmp_path, default, kind):
    mujoco = pytest.importorskip("mujoco")
    text = MUSCLE_DEFAULTS[default]
    chosen = 'class="inner"' if "inner" in text else ""
    world = '<body pos="0 0 1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>'
    rest = (
        f"<default>{text}</default>"
        f'<actuator><{kind} {chosen} joint="j" lengthrange="-1 2"/></actuator>'
    )
    try:
        model = mujoco.MjModel.from_xml_string(
            f"<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>"
        )
    except ValueError:
        with pytest.raises(robosim.LoadError):
            load(tmp_path, world, rest)
        return
    (actuator,) = load(tmp_path, world, rest).actuators
    gain, times = model.actuator_gainprm[0], model.actuator_dynprm[0]
    is_muscle = model.actuator_gaintype[0] == mujoco.mjtGain.mjGAIN_MUSCLE
    assert (actuator.muscle is not None) == is_muscle
    if not is_muscle:
        assert model.actuator_gaintype[0] == mujoco.mjtGain.mjGAIN_FIXED
        assert actuator.gain[0] == gain[0]
        affine = model.actuator_biastype[0] == mujoco.mjtBias.mjBIAS_AFFINE
        np.testing.assert_array_equal(actuator.bias, affine * model.actuator_biasprm[0][:3])
        return
    force = gain[2] if gain[2] >= 0 else gain[3] / model.actuator_acc0[0]
    own = actuator.muscle
    found = (*own.range, own.force, own.shortest, own.longest, own.fastest, own.passive,
             own.lengthening)  # fmt: skip
    np.testing.assert_allclose(found, (*gain[:2], force, *gain[4:9]), rtol=1e-9)
    assert actuator.activation.kind == "muscle"
    np.testing.assert_allclose(actuator.activation.constants, times[:3])


@pytest.mark.parametrize("last", ["", " 0", " 7"])
def test_the_tenth_number_of_a_muscle_is_unused(tmp_path, last):
    """MuJoCo's arrays have ten numbers, of which nine describe the muscle."""
    mujoco = pytest.importorskip("mujoco")
    world = '<body pos="0 0 1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".5 0 0"/></body>'
    numbers = f".8 1.1 100 200 .4 1.7 1.4 1.2 1.1{last}"
    rest = f"""<actuator><general joint="j" gaintype="muscle" biastype="muscle" dyntype="muscle"
      lengthrange="-1.5 1.5" gainprm="{numbers}" biasprm="{numbers}"/></actuator>"""
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>")
    (actuator,) = load(tmp_path, world, rest).actuators
    data = mujoco.MjData(model)
    for activation, length, rate in ((0.4, 0.3, 0.2), (0.0, 1.4, 0.0), (1.0, -0.5, -1.0)):
        data.qpos[:], data.qvel[:], data.act[:] = length, rate, activation
        mujoco.mj_forward(model, data)
        force = actuator.muscle.law(activation, length, rate)[0]
        np.testing.assert_allclose(force, data.actuator_force[0], rtol=1e-12)


def test_a_default_that_is_no_number_is_told(tmp_path):
    world = '<body pos="0 0 1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>'
    rest = '<default><position kp="much"/></default><actuator><general joint="j"/></actuator>'
    with pytest.raises(robosim.LoadError, match=r"what is no number.*much"):
        load(tmp_path, world, rest)
