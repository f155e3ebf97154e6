"""What URDF files hold beyond the format: capsules, elements of Gazebo and Drake, odd names."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_text import INERTIAL, LIMIT, joint_xml, link_xml, robot_xml

import robosim
from robosim import LoadError, quaternions
from robosim.cli.loading import Loading

BOX = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
A, B = link_xml("a", INERTIAL + BOX), link_xml("b", INERTIAL + BOX)
J = joint_xml("j", "a", "b")


def touching(robot):
    """The names of each two bodies whose shapes cannot pass each other."""
    return [{robot.bodies[a].name, robot.bodies[b].name}
            for (a, _), (b, _) in robot.touching_shapes()]  # fmt: skip


def about(robot, word):
    """The warnings that have a word."""
    return [text for text in robot.warnings if word in text]


class TestShapes:
    @pytest.mark.parametrize("tag", ["capsule", "drake:capsule"])
    def test_capsules(self, write, tag):
        inside = "".join(
            f'<{what}><origin xyz="1 2 3"/><geometry><{tag} radius="0.1" length="0.4"/></geometry>'
            f'</{what}><{what}><geometry><cylinder radius="0.1" length="0.4"/></geometry></{what}>'
            for what in ("visual", "collision")
        )
        body = robosim.load(write(link_xml("a", INERTIAL + inside))).bodies[0]
        for shapes in (body.visuals, body.collisions):
            assert [shape.kind for shape in shapes] == ["capsule", "cylinder"]
            assert shapes[0].size == (0.1, 0.4)
            np.testing.assert_allclose(shapes[0].position, (1, 2, 3))

    @pytest.mark.parametrize(
        "given", ['radius="-1" length="1"', 'radius="1"', 'radius="1" length="x"']
    )
    def test_wrong_capsules(self, write, given):
        inside = f"<collision><geometry><capsule {given}/></geometry></collision>"
        with pytest.raises(LoadError, match="line 1: link 'a': <collision>: <geometry>: <capsule>"):
            robosim.load(write(link_xml("a", inside)))


class TestQuaternions:
    @pytest.mark.parametrize("seed", range(5))
    def test_turn_as_they_say(self, write, seed):
        x, y, z, w = np.random.default_rng(seed).normal(size=4)
        origin = f'<origin xyz="1 0 0" quat_xyzw="{x} {y} {z} {w}"/>'
        robot = robosim.load(write(A, B, joint_xml("j", "a", "b", inside=origin + LIMIT)))
        R = quaternions.rotation_matrix(np.array([w, x, y, z]) / np.linalg.norm([w, x, y, z]))
        there = quaternions.rotation_matrix(np.asarray(robot.joints[1].offset))
        np.testing.assert_allclose(there, R, atol=1e-14)

    @pytest.mark.parametrize("quat", ["0 0.70710678118654752 0 0.70710678118654752",
                                      "0.5 -0.5 0.5 0.5"])  # fmt: skip
    def test_straight_up(self, write, quat):
        origin = f'<origin quat_xyzw="{quat}"/>'
        robot = robosim.load(write(A, B, joint_xml("j", "a", "b", inside=origin + LIMIT)))
        x, y, z, w = (float(word) for word in quat.split())
        there = quaternions.rotation_matrix(np.asarray(robot.joints[1].offset))
        np.testing.assert_allclose(there, quaternions.rotation_matrix(np.array([w, x, y, z])),
                                   atol=1e-14)  # fmt: skip

    @pytest.mark.parametrize(
        ("given", "said"),
        [('quat_xyzw="0 0 0 0"', "length zero"), ('quat_xyzw="0 0 1"', "4 number"),
         ('quat_xyzw="0 0 0 1" rpy="0 0 0"', "both")],
    )  # fmt: skip
    def test_wrong_ones(self, write, given, said):
        with pytest.raises(LoadError, match=f"line 1.*{said}"):
            robosim.load(write(A, B, joint_xml("j", "a", "b", inside=f"<origin {given}/>" + LIMIT)))


class TestFriction:
    def loaded(self, write, *parts):
        return robosim.load(write(A, B, J, *parts))

    @pytest.mark.parametrize(
        "inside",
        ["<mu1>0.3</mu1>", '<mu1 value="0.3"/>', "<mu1>0.3</mu1><mu2>0.3</mu2>", "<mu>0.3</mu>",
         "<collision><surface><friction><ode><mu>0.3</mu></ode></friction></surface></collision>"],
    )  # fmt: skip
    def test_of_gazebo(self, write, inside):
        robot = self.loaded(write, f'<gazebo reference="a">{inside}</gazebo>')
        frictions = {contact.body: contact.friction for contact in robot.contacts}
        assert frictions == {"a": 0.3, "b": 0.8}
        assert [body.collisions[0].friction for body in robot.bodies] == [0.3, 0.8]

    def test_of_bullet(self, write):
        inside = INERTIAL + BOX + '<contact><lateral_friction value="0.25"/></contact>'
        robot = robosim.load(write(link_xml("a", inside)))
        assert {contact.friction for contact in robot.contacts} == {0.25}

    @pytest.mark.parametrize(
        ("inside", "friction", "factors", "axes"),
        [('<mu1>0.4</mu1><mu2>0.8</mu2><fdir1 value="2 0 0"/>', 0.8, (0.5, 1.0), None),
         ('<mu>0.4</mu><mu2>0</mu2><fdir1 gz:expressed_in="b">1 0 0</fdir1>', 0.4, (1, 0), "b")],
    )  # fmt: skip
    @pytest.mark.parametrize("nested", [False, True])
    def test_by_direction(self, write, inside, friction, factors, axes, nested):
        if nested:
            inside = inside.replace("mu1>", "mu>")
            inside = f"<friction><ode>{inside}</ode></friction>"
            inside = f"<collision><surface>{inside}</surface></collision>"
        scheme = 'xmlns:gz="http://gazebosim.org/schema"'
        robot = self.loaded(write, f'<gazebo {scheme} reference="a">{inside}</gazebo>')
        points = [contact for contact in robot.contacts if contact.body == "a"]
        for part in (robot.bodies[0].collisions[0], *points):
            one = part.anisotropy
            assert part.friction == friction
            assert (one.along, one.across, one.axes) == (*factors, axes)
            np.testing.assert_array_equal(one.direction, (1, 0, 0))
        assert robot.bodies[1].collisions[0].anisotropy is None
        assert not about(robot, "lowest")
        assert not about(robot, "fdir1")

    def test_a_direction_in_axes_of_no_link(self, write):
        inside = '<mu1>1</mu1><mu2>0</mu2><fdir1 expressed_in="x">1 0 0</fdir1>'
        with pytest.raises(LoadError, match=r"fdir1.*'x', which is no link"):
            self.loaded(write, f'<gazebo reference="a">{inside}</gazebo>')

    def test_of_two_directions_is_the_lower_one(self, write):
        robot = self.loaded(write, '<gazebo reference="a"><mu1>0.9</mu1><mu2>0.4</mu2></gazebo>')
        assert robot.bodies[0].collisions[0].friction == 0.4
        assert about(robot, "lowest")

    @pytest.mark.parametrize(
        "more",
        [
            '<gazebo reference="a"><collision><surface><bounce><restitution_coefficient>0.7'
            "</restitution_coefficient></bounce></surface></collision></gazebo>",
            "",
        ],
    )
    def test_restitution_beside_it(self, write, more):
        inside = "" if more else '<contact><restitution value="0.7"/></contact>'
        robot = robosim.load(write(link_xml("a", INERTIAL + BOX + inside) + more), restitution=0.2)
        assert {contact.restitution for contact in robot.contacts} == {0.7}
        assert robot.bodies[0].collisions[0].restitution == 0.7
        robot = robosim.load(write(link_xml("a", INERTIAL + BOX)), restitution=0.2)
        assert {contact.restitution for contact in robot.contacts} == {0.2}

    def test_restitution_of_more_than_one(self, write):
        inside = INERTIAL + BOX + '<contact><restitution value="1.5"/></contact>'
        with pytest.raises(LoadError, match="<restitution>: must be from 0 to 1"):
            robosim.load(write(link_xml("a", inside)))

    @pytest.mark.parametrize("value", ["-1", "nan", "much", ""])
    def test_that_is_none(self, write, value):
        with pytest.raises(LoadError, match="line 1: gazebo 'a': <mu1>"):
            self.loaded(write, f'<gazebo reference="a"><mu1>{value}</mu1></gazebo>')


class TestJoints:
    def test_springs(self, write):
        robot = robosim.load(write(
            A, B, J, '<gazebo reference="j"><springStiffness>5</springStiffness>'
            "<springReference>0.2</springReference>"
            "<implicitSpringDamper>1</implicitSpringDamper></gazebo>",
        ))  # fmt: skip
        assert (robot.joints[1].stiffness, robot.joints[1].rest) == (5, 0.2)
        assert robot.warnings == ()

    def test_a_spring_needs_one_coordinate(self, write):
        robot = robosim.load(write(
            A, B, joint_xml("j", "a", "b", "planar", ""),
            '<gazebo reference="j"><springStiffness>5</springStiffness></gazebo>',
        ))  # fmt: skip
        assert np.all(robot.joints[1].stiffness == 0)
        assert about(robot, "single coordinate")

    def test_rotors_of_drake(self, write):
        robot = robosim.load(write(
            A, B, J, '<transmission name="t"><type>x</type><joint name="j"/><actuator name="m">'
            '<drake:rotor_inertia value="0.002"/><drake:gear_ratio value="10"/></actuator>'
            "</transmission>",
        ))  # fmt: skip
        assert robot.joints[1].armature == pytest.approx(0.2)
        assert robot.warnings == ()


class TestUnused:
    def test_is_told_once(self, write):
        robot = robosim.load(write(
            A.replace("<collision>", '<self_filter><capsule/></self_filter><collision name="c">'),
            B, joint_xml("j", "a", "b", inside=LIMIT.replace("<limit", '<limit jerk="3"')),
            '<gazebo reference="a"><kp>1</kp><kd>2</kd></gazebo>',
            '<gazebo reference="b"><kp>1</kp></gazebo><transmission name="t"/><transmission/>',
            "<sensor:camera><x/></sensor:camera>",
        ))  # fmt: skip
        (warning,) = robot.warnings
        assert warning == (
            "the simulation does not use: 'jerk' of <limit>, <gazebo><kd>, <gazebo><kp> (2), "
            "<link><self_filter>, <sensor:camera>, <transmission> (2)"
        )

    def test_a_misspelt_attribute_is_told(self, write):
        limit = '<limit lower="-1" uper="1" effort="1" velocity="1"/>'
        robot = robosim.load(write(A, B, joint_xml("j", "a", "b", inside=limit)))
        assert about(robot, "'uper' of <limit>")

    def test_of_elements_for_what_is_not_there(self, write):
        robot = robosim.load(write(A, '<gazebo reference="nobody"><mu1>1</mu1></gazebo>'))
        assert about(robot, "nobody")

    def test_strict(self, write):
        with pytest.raises(LoadError, match=r"strict=True.*<transmission>"):
            robosim.load(write(A, "<transmission/>"), strict=True)


class TestNames:
    @pytest.mark.parametrize(
        "name", ["a b", "a/b", "äöü", "a'b", "a&quot;b", "机器人", "-1", "a:b"]
    )
    def test_with_odd_characters(self, write, name):
        robot = robosim.load(
            write(link_xml(name, INERTIAL + BOX), B, joint_xml(f"{name} j", name, "b"))
        )
        plain = name.replace("&quot;", '"')
        assert robot.bodies[0].name == plain
        assert robot.joints[1].name == f"{plain} j"
        sim = robosim.Simulation(robot)
        sim.step()

    def test_prefixes_that_nobody_has_declared(self, tmp_path):
        path = tmp_path / "robot.urdf"
        path.write_text(robot_xml(A, "<controller:x y:z='1'/>"))
        assert robosim.load(path).total_mass == 1

    def test_nothing_is_said_of_attributes_with_such_prefixes(self, tmp_path, caplog):
        limit = LIMIT.replace("<limit", "<limit drake:acceleration='1'")
        path = tmp_path / "robot.urdf"
        path.write_text(robot_xml(A, B, joint_xml("j", "a", "b", inside=limit)))
        assert about(robosim.load(path), "'drake:acceleration' of <limit>")
        assert not caplog.records

    def test_real_mistakes_beside_them_are_still_told(self, tmp_path):
        path = tmp_path / "robot.urdf"
        path.write_text(robot_xml(A, "<controller:x><y></controller:x>"))
        with pytest.raises(LoadError, match="malformed XML"):
            robosim.load(path)


def test_lines_of_what_is_found_later(tmp_path):
    text = robot_xml(A, B, joint_xml("j", "a", "b", inside='<axis xyz="0 0 0"/>' + LIMIT))
    path = tmp_path / "robot.urdf"
    path.write_text(text.replace("<joint", "\n\n<joint"))
    with pytest.raises(LoadError, match=r"robot\.urdf: line 3: joint 'j': the axis") as caught:
        robosim.load(path)
    assert caught.value.line == 3


def test_safety_limits_are_kept(write):
    safety = '<safety_controller soft_lower_limit="-0.5" soft_upper_limit="0.4" k_velocity="7"/>'
    robot = robosim.load(write(A, B, joint_xml("j", "a", "b", inside=LIMIT + safety)))
    assert robot.joints[1].safety == (-0.5, 0.4, 0.0, 7.0)
    assert robot.joints[0].safety is None
    assert robot.warnings == ()


def test_what_the_file_wants_to_collide_is_told(write):
    """Gazebo wants both links of a pair to say so; neighbours never do."""
    c = link_xml("c", INERTIAL + BOX)
    along = f'<origin xyz="0 0 0.5"/>{LIMIT}'
    ab, bc = joint_xml("j", "a", "b", inside=along), joint_xml("k", "b", "c", inside=along)
    parts = (A, B, c, ab, bc)
    one = '<gazebo reference="a"><selfCollide>1</selfCollide></gazebo>'
    two = '<gazebo reference="c"><selfCollide>true</selfCollide></gazebo>'
    everything = "<gazebo><self_collide>true</self_collide></gazebo>"
    assert not about(robosim.load(write(*parts, one)), "collide")
    for said in ((one, two), (everything,)):
        assert about(robosim.load(write(*parts, *said)), "1 pairs of bodies to collide")
        (pair,) = touching(robosim.load(write(*parts, *said), self_collision="file"))
        assert pair == {"a", "c"}
    assert touching(robosim.load(write(*parts, one), self_collision="file")) == []
    more = link_xml("d", INERTIAL + BOX), joint_xml("l", "c", "d", inside=along)
    robot = robosim.load(write(*parts, *more, one, two), self_collision="file")
    assert touching(robot) == [{"a", "c"}]
    path = write(*parts, one, two)
    assert touching(Loading(selfcollide=True).load(str(path))) == [{"a", "c"}]
    assert touching(Loading().load(str(path))) == []
    with pytest.raises(LoadError, match="self_collision cannot be 'files'"):
        robosim.load(write(*parts), self_collision="files")
    no = '<gazebo reference="a"><selfCollide>false</selfCollide></gazebo>'
    assert not about(robosim.load(write(*parts, everything, no)), "collide")
    with pytest.raises(LoadError, match="line 1: gazebo 'a': <selfCollide>: must be true or false"):
        robosim.load(write(A, '<gazebo reference="a"><selfCollide>yes!</selfCollide></gazebo>'))


def test_what_calibration_says_is_told(write):
    inside = '<calibration rising="0.1"/>'
    robot = robosim.load(write(A, link_xml("b"), joint_xml("j", "a", "b", "continuous", inside)))
    assert about(robot, "'rising' of <calibration>")
