"""What does not matter to how a robot moves stops no load: looks, and what says nothing."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_text import INERTIAL, LIMIT, joint_xml, link_xml

import robosim
from robosim import Geometry, LoadError, Simulation

A, B = link_xml("a"), link_xml("b")
BOX = '<geometry><box size="1 1 1"/></geometry>'
RED, GREEN = '<color rgba="1 0 0 1"/>', '<color rgba="0 1 0 1"/>'


def visual(inside):
    return link_xml("a", f"{INERTIAL}<visual>{inside}</visual>")


def about(robot, words):
    return [text for text in robot.warnings if words in text]


# What a visual holds, what is told, how many shapes are left and in what colour.
LOOKS = {
    "two materials": (
        f'{BOX}<material name="m">{RED}</material><material name="n">{GREEN}</material>',
        "several <material>", (1, 0, 0, 1),
    ),
    "two colours": (f'{BOX}<material name="m">{RED}{GREEN}</material>', "several <color>",
                    (1, 0, 0, 1)),
    "two shapes": (f'{BOX}<geometry><sphere radius="1"/></geometry>', "several <geometry>", None),
    "two places": (f'{BOX}<origin xyz="0 0 1"/><origin/>', "several <origin>", None),
    "three numbers": (f'{BOX}<material><color rgba="0 .5 1"/></material>', "three numbers",
                      (0, 0.5, 1, 1)),
    "no numbers": (f'{BOX}<material name="m"><color/></material>', "'rgba' is missing", None),
    "words": (f'{BOX}<material name="m"><color rgba="red"/></material>', "4 number(s)", None),
    "nothing": ("", "<geometry> is missing", False),
    "no shape": ("<geometry/>", "must hold one shape", False),
    "an unknown shape": ("<geometry><torus/></geometry>", "torus", False),
    "no size": ('<geometry><box size="0 0 0"/></geometry>', "'0 0 0'", False),
    "no radius": ('<geometry><sphere radius="0"/></geometry>', "positive, not '0'", False),
    "no length": ('<geometry><cylinder radius="1" length="0"/></geometry>', "positive", False),
    "less than none": ('<geometry><box size="1 -1 1"/></geometry>', "positive", False),
    "no scale": ('<geometry><mesh filename="x" scale="0 0 0"/></geometry>', "'0 0 0'", False),
    "no file": ("<geometry><mesh/></geometry>", "'filename' is missing", False),
    "nan": (f'{BOX}<origin xyz="0 nan 0"/>', "nan", False),
}  # fmt: skip


@pytest.mark.parametrize("case", LOOKS)
def test_looks_stop_no_load(write, case):
    inside, said, colour = LOOKS[case]
    robot = robosim.load(write(visual(inside)))
    (told,) = about(robot, said)
    assert "link 'a'" in told
    shapes = robot.bodies[0].visuals
    assert len(shapes) == (colour is not False)
    if colour:
        assert shapes[0].rgba == colour
    with pytest.raises(LoadError, match="strict"):
        robosim.load(write(visual(inside)), strict=True)


def test_looks_of_the_whole_robot(write):
    materials = '<material name="m"><color rgba="0 1 0"/></material><material name="n"><color/>'
    parts = visual(f'{BOX}<material name="m"/>'), f"{materials}</material>"
    robot = robosim.load(write(*parts))
    assert robot.bodies[0].visuals[0].rgba == (0, 1, 0, 1)
    assert about(robot, "material 'm'")
    assert about(robot, "material 'n'")


def test_looks_of_many_links_are_one_sentence(write):
    parts = [visual(""), visual("").replace('"a"', '"b"'), joint_xml("j", "a", "b")]
    (told,) = about(robosim.load(write(*parts)), "<geometry> is missing")
    assert told.endswith("link 'a', link 'b'")


@pytest.mark.parametrize(
    "inside",
    ["<axis/>", '<axis xyz=""/>', '<axis xyz="0 0 0"/>', '<limit lower="x"/>', "<mimic/>",
     '<calibration rising="x"/>', '<dynamics damping="nan"/>', "<axis/><axis/>"],
)  # fmt: skip
def test_what_fixed_joints_have_no_use_for(write, inside):
    robot = robosim.load(write(A, B, joint_xml("j", "a", "b", "fixed", inside)))
    assert len(robot.bodies) == 1
    assert bool(about(robot, "joint 'j'")) == ('"0 0 0"' not in inside)


@pytest.mark.parametrize("kind", ["floating", "spherical"])
def test_kinds_without_an_axis(write, kind):
    robot = robosim.load(write(A, B, joint_xml("j", "a", "b", kind, "<axis/>")))
    assert about(robot, "joint 'j'")
    for moving in ("revolute", "prismatic", "planar"):
        with pytest.raises(LoadError, match="'xyz' is missing"):
            robosim.load(write(A, B, joint_xml("j", "a", "b", moving, "<axis/>" + LIMIT)))


@pytest.mark.parametrize("floating_base", [None, False])
@pytest.mark.parametrize("moments", ["0 0 0", "-1 1 1", "0 1 1"])
def test_the_inertia_of_what_stays_is_not_asked_about(write, moments, floating_base):
    ixx, iyy, izz = moments.split()
    inertia = f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/>'
    base = link_xml("base", f'<inertial><mass value="3"/>{inertia}</inertial>')
    parts = [base, A, joint_xml("j", "base", "a")]
    if floating_base is None:
        parts += [link_xml("world", ""), joint_xml("f", "world", "base", "fixed", "")]
    robot = robosim.load(write(*parts), floating_base=floating_base)
    assert (robot.nv, robot.total_mass) == (1, 4)
    assert about(robot, "not positive definite")
    assert robot.bodies[0].principal_moments[0] > 0
    assert robosim.load(write(*parts), floating_base=True).bodies[0].principal_moments[0] <= 0


def test_spheres_without_a_radius_are_contact_points(write):
    shapes = "".join(
        f'<collision><origin xyz="{x} 0.05 -0.08"/><geometry><sphere radius="0.0"/></geometry>'
        "</collision>" for x in (-0.1, 0.1, 0.3)
    )  # fmt: skip
    robot = robosim.load(write(link_xml("a", INERTIAL + shapes)))
    assert [contact.radius for contact in robot.contacts] == [0, 0, 0]
    np.testing.assert_allclose([c.position for c in robot.contacts],
                               [(x, 0.05, -0.08) for x in (-0.1, 0.1, 0.3)])  # fmt: skip
    assert not about(robot, "without a volume")


PLACE = '<origin xyz="0.1 0 0" rpy="0 1.5707963267948966 0"/>'  # its z is the link's x
# A shape, what it becomes, and how far its ends are from the middle along x.
FLAT = {
    '<capsule radius="0" length="0.4"/>': ("sphere", (0,), 0.2),
    '<capsule radius="0.3" length="0"/>': ("sphere", (0.3,), 0),
    '<capsule radius="0" length="0"/>': ("sphere", (0,), 0),
    '<cylinder radius="0" length="0.4"/>': ("sphere", (0,), 0.2),
    '<cylinder radius="0.3" length="0"/>': ("cylinder", (0.3, 1e-6), 0),
    '<cylinder radius="0" length="0"/>': ("sphere", (0,), 0),
    '<box size="0 0 0.4"/>': ("sphere", (0,), 0.2),
    '<box size="0.3 0.2 0"/>': ("box", (0.3, 0.2, 1e-6), 0),
    '<box size="0 0 0"/>': ("sphere", (0,), 0),
}


@pytest.mark.parametrize("shape", FLAT)
def test_collision_shapes_without_a_volume(write, shape):
    kind, size, reach = FLAT[shape]
    part = f"<collision>{PLACE}<geometry>{shape}</geometry></collision>"
    robot = robosim.load(write(link_xml("a", INERTIAL + part)))
    (told,) = about(robot, "without a volume")
    assert told.endswith(": a")
    found = robot.bodies[0].collisions
    assert {(one.kind, one.size) for one in found} == {(kind, size)}
    ends = sorted({0.1 - reach, 0.1 + reach})
    assert [one.position[0] for one in found] == pytest.approx(ends)
    lowest = min(contact.position[2] - contact.radius for contact in robot.contacts)
    across = size[0] / 2 if kind == "box" else size[0]
    assert lowest == pytest.approx(-across, abs=2e-6)


def test_they_touch_what_the_world_has(write):
    """A ball of no radius that falls onto a box: it stops where the box begins."""
    point = '<collision><geometry><sphere radius="0"/></geometry></collision>'
    block = Geometry("box", (1.0, 1.0, 1.0), (0.0, 0.0, 0.5))
    robot = robosim.load(write(link_xml("a", INERTIAL + point)), obstacles=block, ground=False)
    sim = Simulation(robot, 1e-3)
    sim.set_state([0.0, 0.0, 1.05, 1, 0, 0, 0])
    sim.run(0.3)
    assert sim.q[2] == pytest.approx(1.0, abs=1e-6)


TYPES = {
    "spherical": ("spherical", 4), "ball": ("spherical", 4), "planaraxis": ("planar", 3),
    "fixedorientation": ("fixed_orientation", 3), "cylindrical": ("cylindrical", 2),
    "cylindricalfree": ("cylindrical_free_orientation", 5), "freerevolute": ("axis_rotation", 4),
    "planarfree": ("planar_free_orientation", 6), "axis_rotation": ("axis_rotation", 4),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_joint_types_of_other_programs(write, name):
    kind, nq = TYPES[name]
    inside = '<axis xyz="0 1 0"/><origin xyz="0 0 1"/><dynamics damping="0.1"/>'
    robot = robosim.load(write(A, B, joint_xml("j", "a", "b", name, inside)), floating_base=False)
    assert (robot.joints[1].kind, robot.nq, robot.warnings) == (kind, nq, ())
    sim = Simulation(robot, 1e-3)
    sim.run(0.05)
    assert np.all(np.isfinite(sim.q))


@pytest.mark.parametrize("kind", ["continuous", "planar", "floating", "spherical"])
def test_bounds_that_mean_nothing_are_told(write, kind):
    parts = A, B, joint_xml("j", "a", "b", kind)
    robot = robosim.load(write(*parts), floating_base=False)
    (told,) = about(robot, "mean nothing")
    assert "joint 'j'" in told
    assert f"'{kind}'" in told
    assert np.all(np.isinf(robot.joints[1].upper))


@pytest.mark.parametrize("kind", ["continuous", "ball"])
def test_bounds_of_loops_that_mean_nothing_are_told(write, kind):
    loop = (f'<loop_joint name="pin" type="{kind}"><link1 link="b" xyz="0 0 1"/>'
            '<link2 link="c" xyz="0 0 1"/><axis xyz="0 1 0"/><limit lower="0" upper="1"/>'
            "</loop_joint>")  # fmt: skip
    robot = robosim.load(write(A, B, link_xml("c"), joint_xml("j", "a", "b"),
                               joint_xml("k", "a", "c"), loop))  # fmt: skip
    assert about(robot, "'pin': 'lower' and 'upper'")
    assert np.all(np.isinf(robot.loop_joints[0].upper))


@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize(("kind", "ours"), [("ball", "spherical"), ("planar", "planar")])
def test_joints_of_drake(write, kind, ours, prefixed):
    p = "drake:" if prefixed else ""
    joint = (
        f'<drake:joint xmlns:drake="http://drake.mit.edu" name="j" type="{kind}">'
        f'<{p}parent link="a"/><{p}child link="b"/><{p}origin xyz="0 0 1"/></drake:joint>'
    )
    robot = robosim.load(write(A, B, joint), floating_base=False)
    assert (robot.joints[1].name, robot.joints[1].kind) == ("j", ours)
    np.testing.assert_array_equal(robot.joints[1].parent_position, (0, 0, 1))


@pytest.mark.parametrize("kind", ["curvilinear", "what"])
def test_joints_of_drake_that_are_none_here_say_so(write, kind):
    joint = f'<drake:joint name="j" type="{kind}"><parent link="a"/><child link="b"/></drake:joint>'
    with pytest.raises(LoadError, match=rf"drake:joint 'j': joints of type '{kind}'") as caught:
        robosim.load(write(A, B, joint))
    assert caught.value.line == 1


class TestMadeUpNames:
    """They step aside for those that the file has."""

    def test_of_the_base(self, write):
        links = [link_xml(name) for name in "abcd"]
        names = ("floating_base", "root_joint", "floating_base_")
        joints = [joint_xml(name, "a", link) for name, link in zip(names, "bcd", strict=True)]
        robot = robosim.load(write(*links, *joints))
        assert robot.joints[0].name == "floating_base__"

    def test_of_the_base_beside_a_loop(self, write):
        loop = ('<loop_joint name="floating_base" type="ball"><link1 link="b" xyz="0 0 1"/>'
                '<link2 link="c" xyz="0 0 1"/></loop_joint>')  # fmt: skip
        robot = robosim.load(write(A, B, link_xml("c"), joint_xml("j", "a", "b"),
                                   joint_xml("k", "a", "c"), loop))  # fmt: skip
        assert robot.joints[0].name == "root_joint"
        assert robot.loop_joints[0].name == "floating_base"

    def test_of_balls(self, write):
        parts = (f'<drake:ball_constraint_body_{x} name="{link}"/>'
                 f'<drake:ball_constraint_p_{x}{y} value="0 0 1"/>'
                 for x, y, link in (("A", "P", "b"), ("B", "Q", "c")))  # fmt: skip
        ball = f"<drake:ball_constraint>{''.join(parts)}</drake:ball_constraint>"
        robot = robosim.load(write(A, B, link_xml("c"), joint_xml("ball_constraint0", "a", "b"),
                                   joint_xml("k", "a", "c"), ball))  # fmt: skip
        assert robot.loop_joints[0].name == "ball_constraint0_"


def hinged(limit=LIMIT, inside=INERTIAL):
    """Two links and the hinge between them."""
    return A, link_xml("b", inside), joint_xml("j", "a", "b", "revolute", limit)


@pytest.mark.parametrize("high", ["1.79769e+308", "1.7976931348623157e308", "1e101"])
def test_limits_as_large_as_a_double_are_none(write, high):
    limit = f'<limit lower="-{high}" upper="{high}" effort="{high}" velocity="{high}"/>'
    joint = robosim.load(write(*hinged(limit))).joints[-1]
    assert (float(joint.lower[0]), float(joint.upper[0])) == (-np.inf, np.inf)
    assert (joint.effort_limit, joint.velocity_limit) == (np.inf, np.inf)


@pytest.mark.parametrize("word", ["1e400", "inf", "nan"])
def test_limits_that_no_double_has_are_refused(write, word):
    with pytest.raises(LoadError, match=f"not '{word}'"):
        robosim.load(write(*hinged(f'<limit lower="0" upper="{word}" effort="1" velocity="1"/>')))


@pytest.mark.parametrize("what", ["velocity", "effort"])
def test_minus_one_is_no_limit(write, what):
    values = {"effort": "3", "velocity": "2"} | {what: "-1"}
    limit = '<limit lower="0" upper="1" effort="{effort}" velocity="{velocity}"/>'
    robot = robosim.load(write(*hinged(limit.format(**values))))
    (told,) = about(robot, "of -1 is taken as unlimited")
    assert f"'{what}'" in told
    joint = robot.joints[-1]
    found = {"effort": joint.effort_limit, "velocity": joint.velocity_limit}
    assert found == {"effort": 3.0, "velocity": 2.0} | {what: np.inf}


def test_of_two_inertials_the_first_counts_as_in_pinocchio(write):
    pinocchio = pytest.importorskip("pinocchio")
    second = INERTIAL.replace('<mass value="', '<mass value="7')
    assert second != INERTIAL
    path = write(*hinged(inside=INERTIAL + second + second))
    robot = robosim.load(path)
    (told,) = about(robot, "several <inertial>")
    assert "link 'b'" in told
    model = pinocchio.buildModelFromUrdf(str(path))
    np.testing.assert_allclose(robot.body("b").mass, model.inertias[1].mass)
    np.testing.assert_allclose(robot.body("b").inertia, model.inertias[1].inertia)


@pytest.mark.parametrize(
    "inside",
    [
        "<collision/>",
        '<collision name="c"><origin xyz="0 0 1"/></collision>',
        "<collision><geometry/></collision>",
        "<collision/><collision><geometry><box size='1 1 1'/></geometry></collision><collision/>",
    ],
)
def test_collisions_without_a_shape_are_left_out(write, inside):
    robot = robosim.load(write(link_xml("a", INERTIAL + inside)))
    (told,) = about(robot, "no shape: <collision>")
    assert "link 'a'" in told
    assert len(robot.bodies[0].collisions) == inside.count("box")


MISSING = '<collision><geometry><mesh filename="none.stl"/></geometry></collision>'


def test_a_collision_mesh_that_nothing_touches_may_be_missing(write):
    path = write(link_xml("a", INERTIAL + MISSING))
    robot = robosim.load(path, contacts="none")
    assert about(robot, "collision meshes that do not exist are left out: none.stl")
    assert robot.bodies[0].collisions == ()
    more = {"obstacles": robosim.HalfSpace()}, {"self_collision": True}
    for touches in ({}, {"ground": False}, *({"contacts": "none", **one} for one in more)):
        with pytest.raises(robosim.errors.MissingFileError, match=r"none\.stl"):
            robosim.load(path, **touches)


def test_a_prop_of_one_link_without_mass_is_there_and_does_not_move(write):
    shape = f"<visual>{BOX}</visual><collision>{BOX}</collision>"
    path = write(link_xml("a", shape))
    robot = robosim.load(path)
    assert robot.warnings == ("link 'a' has no mass and no joint: nothing in the robot can move",)
    assert (robot.nq, len(robot.bodies[0].visuals)) == (0, 1)
    sim = Simulation(robot)
    sim.run(0.01)
    assert sim.energy() == 0
    with pytest.raises(LoadError, match="cannot float"):
        robosim.load(path, floating_base=True)
