"""What a URDF file becomes: joints, frames, limits, the base, the pose to start from."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_text import INERTIAL, LIMIT, joint_xml, link_xml

import robosim
from robosim import quaternions
from robosim.dynamics import Kinematics
from robosim.loaders import placement

A, B, C = link_xml("a"), link_xml("b"), link_xml("c")
J = joint_xml("j", "a", "b")
BALL = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'


def off_center(x, y, z):
    return INERTIAL.replace('xyz="0 0 0"', f'xyz="{x} {y} {z}"')


@pytest.mark.parametrize(
    ("urdf", "kind", "nq", "nv"),
    [
        ("revolute", "revolute", 1, 1),
        ("continuous", "revolute", 1, 1),
        ("prismatic", "prismatic", 1, 1),
        ("planar", "planar", 3, 3),
        ("floating", "floating", 7, 6),
    ],
)
def test_joint_types(write, urdf, kind, nq, nv):
    inside = '<axis xyz="0 3 0"/>' + LIMIT
    robot = robosim.load(write(A, B, joint_xml("j", "a", "b", urdf, inside)), floating_base=False)
    joint = robot.joints[1]
    assert (joint.kind, joint.nq, joint.nv) == (kind, nq, nv)
    assert joint.actuated == (urdf != "floating")
    if urdf in ("revolute", "prismatic"):
        assert (joint.lower, joint.upper) == (-1, 1)
    else:
        assert np.all(np.isinf(joint.lower))
        assert np.all(np.isinf(joint.upper))
    if urdf != "floating":
        np.testing.assert_allclose(joint.axis, (0, 1, 0))


def test_the_axis_is_x_without_one(write):
    joint = robosim.load(write(A, B, J)).joints[1]
    np.testing.assert_array_equal(joint.axis, (1, 0, 0))


@pytest.mark.parametrize("bounds", ["", 'lower="0" upper="0"', 'lower="0.3" upper="0.3"'])
def test_limits_without_room_between_them_are_none_and_told(write, bounds):
    limit = f'<limit {bounds} effort="1" velocity="2"/>'
    robot = robosim.load(write(A, B, joint_xml("j", "a", "b", inside=limit)))
    joint = robot.joints[1]
    assert (joint.lower, joint.upper) == (-np.inf, np.inf)
    assert (joint.effort_limit, joint.velocity_limit) == (1, 2)
    assert any("joint 'j'" in text and "unlimited" in text for text in robot.warnings)
    # Pinocchio knows it by its type, which so must be kept.
    assert len(robosim.to_pinocchio(robot, robot.home)) == robot.nq


def test_joint_geometry_is_from_the_centres_of_mass(write):
    inside = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>' + LIMIT
    robot = robosim.load(
        write(
            link_xml("a", off_center(0.1, 0.2, 0.3)),
            link_xml("b", off_center(0.4, 0.5, 0.6)),
            joint_xml("j", "a", "b", inside=inside),
        )
    )
    joint = robot.joints[1]
    np.testing.assert_allclose(joint.parent_position, (0.9, 1.8, 2.7), atol=1e-15)
    np.testing.assert_allclose(joint.child_position, (-0.4, -0.5, -0.6), atol=1e-15)
    np.testing.assert_allclose(joint.offset, quaternions.from_rpy((0.1, 0.2, 0.3)), atol=1e-15)
    np.testing.assert_allclose(robot.bodies[1].reference_position, (-0.4, -0.5, -0.6), atol=1e-15)


def test_order_is_depth_first_by_the_order_of_the_joints(write):
    names = "abcdefg"
    pairs = ["ag", "ab", "bd", "bc", "gf", "de"]  # in this order
    joints = [joint_xml(f"j_{pair}", *pair) for pair in pairs]
    robot = robosim.load(write(*map(link_xml, names), *joints))
    assert "".join(body.name for body in robot.bodies) == "agfbdec"
    assert [joint.name for joint in robot.joints][1:] == [
        "j_ag", "j_gf", "j_ab", "j_bd", "j_de", "j_bc"
    ]  # fmt: skip


def test_a_long_chain_is_no_trouble(write):
    links = [link_xml(f"l{k}") for k in range(1500)]
    joints = [joint_xml(f"j{k}", f"l{k}", f"l{k + 1}", "continuous", "") for k in range(1499)]
    robot = robosim.load(write(*links, *joints))
    assert robot.nv == 1499 + 6


class TestBase:
    def test_a_root_with_mass_floats(self, write):
        robot = robosim.load(write(A, B, joint_xml("j", "a", "b")))
        assert robot.floating_base
        assert robot.joints[0].name == "floating_base"
        assert robot.joints[0].parent is None
        assert robot.nv == 7

    def test_another_name_if_a_moving_joint_has_it(self, write):
        robot = robosim.load(write(A, B, joint_xml("floating_base", "a", "b")))
        assert [joint.name for joint in robot.joints] == ["root_joint", "floating_base"]

    def test_a_fixed_joint_of_that_name_is_no_hindrance(self, write):
        robot = robosim.load(write(A, B, joint_xml("floating_base", "a", "b", "fixed", "")))
        assert [joint.name for joint in robot.joints] == ["floating_base"]

    def test_a_massless_world_is_the_world(self, write):
        path = write(link_xml("world", ""), B, joint_xml("j", "world", "b"))
        robot = robosim.load(path, ground=False)
        assert not robot.floating_base
        assert [body.name for body in robot.bodies] == ["b"]
        assert robot.joints[0].parent is None
        assert [frame.name for frame in robot.world_frames] == ["world"]
        assert robot.warnings == ()
        with pytest.raises(robosim.ModelError, match="world_frames"):
            robot.frame("world")

    def test_what_is_fixed_to_a_massless_world_is_fixed(self, write):
        path = write(
            link_xml("world", ""), A, B,
            joint_xml("f", "world", "a", "fixed", '<origin xyz="0 0 1"/>'),
            joint_xml("j", "a", "b"),
        )  # fmt: skip
        robot = robosim.load(path)
        assert [joint.kind for joint in robot.joints] == ["fixed", "revolute"]
        assert robot.total_mass == 2
        assert robosim.load(path, floating_base=True).floating_base

    def test_a_massless_root_that_moves_something_is_the_world_with_a_warning(self, write):
        box = '<visual><origin xyz="0 0 2"/><geometry><box size="1 1 1"/></geometry></visual>'
        path = write(link_xml("stand", box), B, joint_xml("j", "stand", "b"))
        robot = robosim.load(path)
        assert any("'stand'" in text and "no mass" in text for text in robot.warnings)
        np.testing.assert_array_equal(robot.world_visuals[0].position, (0, 0, 2))
        assert robosim.load(path, floating_base=False, ground=False).warnings == ()
        with pytest.raises(robosim.LoadError, match=r"link 'stand'.*no mass"):
            robosim.load(path, floating_base=True)

    @pytest.mark.parametrize("inertial", [off_center(-0.3, 0, 0.2), INERTIAL])
    @pytest.mark.parametrize("above", [False, True])
    def test_where_the_inertia_of_a_massless_root_is_moves_nothing(self, write, inertial, above):
        stand = link_xml("stand", inertial.replace('mass value="1"', 'mass value="0"'))
        origin = '<origin xyz="0 0 0.5"/>'
        parts = [stand, B, joint_xml("j", "stand", "b", inside=origin + LIMIT)]
        if above:
            origin = '<origin xyz="0.1 0 0"/>'
            parts += [link_xml("world", ""), joint_xml("f", "world", "stand", "fixed", origin)]
        robot = robosim.load(write(*parts), ground=False)
        position, _ = Kinematics(robot, [0.0]).frame("b")
        np.testing.assert_allclose(position, (0.1 * above, 0, 0.5), atol=1e-15)

    def test_a_single_body_without_mass_does_not_move(self, write):
        robot = robosim.load(write(link_xml("a", "")))
        assert [(body.name, body.carrier) for body in robot.bodies] == [("a", True)]
        assert robot.nq == 0
        assert any("nothing in the robot can move" in text for text in robot.warnings)

    def test_a_fixed_base_on_demand(self, write):
        robot = robosim.load(write(A, B, joint_xml("j", "a", "b")), floating_base=False)
        assert robot.joints[0].kind == "fixed"
        assert robot.nv == 1


class TestHome:
    def test_zero_or_the_nearest_limit(self, write):
        limit = '<limit lower="{}" upper="{}" effort="1" velocity="1"/>'.format
        robot = robosim.load(
            write(
                A, B, C, link_xml("d"),
                joint_xml("j", "a", "b", inside=limit(0.2, 0.5)),
                joint_xml("k", "b", "c", inside=limit(-0.5, -0.3)),
                joint_xml("l", "c", "d", inside=limit(-0.5, 0.3)),
            ),
            floating_base=False,
        )  # fmt: skip
        np.testing.assert_array_equal(robot.home, (0.2, -0.3, 0))

    def test_the_lowest_point_touches_the_ground(self, write):
        inside = '<origin xyz="0.3 0 -1" rpy="0.5 0 0"/>' + LIMIT
        ball = link_xml("b", off_center(1, 2, -3) + BALL)
        path = write(A, ball, joint_xml("j", "a", "b", inside=inside))
        robot = robosim.load(path)
        assert robot.home[2] == pytest.approx(1.1, abs=1e-14)
        gap = placement.lowest_gap(robot.joints, robot.contacts, robot.home)
        assert gap == pytest.approx(0, abs=1e-14)
        assert robosim.load(path, ground=False).home[2] == 0
        assert robosim.load(path, ground=False).contacts == ()

    def test_a_fixed_base_in_the_ground_is_loaded_without_contacts(self, write):
        below = '<origin xyz="0 0 -1"/>' + LIMIT
        path = write(A, link_xml("b", INERTIAL + BALL), joint_xml("j", "a", "b", inside=below))
        robot = robosim.load(path, floating_base=False)
        assert robot.contacts == ()
        assert any("1.1 m below the ground" in text for text in robot.warnings)

    def test_what_cannot_move_has_no_contacts(self, write):
        above = '<origin xyz="0 0 1"/>' + LIMIT
        path = write(
            link_xml("a", INERTIAL + BALL),
            link_xml("b", INERTIAL + BALL),
            joint_xml("j", "a", "b", inside=above),
        )
        robot = robosim.load(path, floating_base=False)
        assert [contact.body for contact in robot.contacts] == ["b"]


def test_materials_by_name_and_by_colour(write):
    def visual(material):
        return f'<visual><geometry><box size="1 1 1"/></geometry>{material}</visual>'

    robot = robosim.load(
        write(
            '<material name="red"><color rgba="1 0 0 1"/></material>',
            link_xml(
                "a",
                INERTIAL
                + visual('<material name="red"/>')
                + visual('<material name="blue"><color rgba="0 0 1 0.5"/></material>')
                + visual('<material name="blue"/>')
                + visual('<material name="unheard of"/>')
                + visual(""),
            ),
        )
    )
    colours = [shape.rgba for shape in robot.bodies[0].visuals]
    blue, grey = (0, 0, 1, 0.5), (0.7, 0.7, 0.7, 1)
    assert colours == [(1, 0, 0, 1), blue, blue, grey, grey]


def test_the_file_is_not_changed_and_is_named(write):
    path = write(A)
    before = path.read_bytes()
    assert robosim.load(path).source == str(path)
    assert path.read_bytes() == before
