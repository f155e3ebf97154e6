"""SRDF beside a URDF: named poses, pairs that do not collide, passive joints."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_text import INERTIAL, LIMIT, joint_xml, link_xml, robot_xml

import robosim
from robosim import LoadError
from robosim.loaders.packages import example_robot_data

BOX = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
PARTS = (
    link_xml("a", INERTIAL + BOX), link_xml("b", INERTIAL + BOX), link_xml("c", INERTIAL + BOX),
    link_xml("d", INERTIAL + BOX),
    joint_xml("j", "a", "b", inside=f'<origin xyz="0 0 1"/>{LIMIT}'),
    joint_xml("k", "b", "c", "continuous", '<origin xyz="0 0 1"/>'),
    joint_xml("f", "a", "d", "fixed", '<origin xyz="1 0 0"/>'),
)  # fmt: skip


def srdf(*inside, name="r"):
    return f'<robot name="{name}">{"".join(inside)}</robot>'


def state(name, **joints):
    inside = "".join(f'<joint name="{joint}" value="{value}"/>' for joint, value in joints.items())
    return f'<group_state name="{name}" group="all">{inside}</group_state>'


@pytest.fixture
def load(write):
    def load(*inside, **options):
        path = write(*PARTS)
        path.with_suffix(".srdf").write_text(srdf(*inside))
        return robosim.load(path, **options)

    return load


class TestPoses:
    def test_joints_where_they_say_and_the_rest_at_home(self, load):
        robot = load(state("bent", j="0.5"), state("turned", k="2"))
        assert set(robot.configurations) == {"bent", "turned"}
        np.testing.assert_allclose(robot.configurations["bent"][7:], (0.5, 0))
        np.testing.assert_allclose(robot.configurations["turned"][7:], (0, 2))
        np.testing.assert_allclose(robot.configurations["bent"][:7], robot.home[:7])
        assert robot.warnings == ()

    def test_a_base_that_is_given(self, load):
        """Pinocchio's root_joint: position, then the quaternion as (x, y, z, w)."""
        robot = load(state("up", root_joint="1 2 3 0 0 0.6 0.8", j="0.5"))
        np.testing.assert_allclose(
            robot.configurations["up"], (1, 2, 3, 0.8, 0, 0, 0.6, 0.5, 0), atol=1e-15
        )

    def test_a_base_that_is_fixed_needs_none(self, load):
        robot = load(state("up", root_joint="1 2 3 0 0 0.6 0.8", j="0.5"), floating_base=False)
        np.testing.assert_allclose(robot.configurations["up"], (0.5, 0))

    def test_a_virtual_joint_names_the_base(self, load):
        robot = load(
            '<virtual_joint name="world_joint" type="floating" parent_frame="w" child_link="a"/>',
            state("up", world_joint="1 2 3 0 0 0 1"),
        )
        np.testing.assert_allclose(robot.configurations["up"][:3], (1, 2, 3))
        assert robot.warnings == ()

    def test_one_pose_of_several_groups(self, load):
        robot = load(state("home", j="0.5"), state("home", k="1"))
        np.testing.assert_allclose(robot.configurations["home"][7:], (0.5, 1))

    def test_cosine_and_sine_of_a_continuous_joint(self, load):
        robot = load(state("home", k=f"{np.cos(2)} {np.sin(2)}"))
        assert robot.configurations["home"][8] == pytest.approx(2, abs=1e-15)

    def test_joints_that_mimic_follow(self, write):
        mimic = LIMIT + '<mimic joint="j" multiplier="2" offset="0.1"/>'
        path = write(*PARTS[:5], joint_xml("k", "b", "c", inside=mimic),
                     joint_xml("f", "a", "d", "fixed", ""))  # fmt: skip
        path.with_suffix(".srdf").write_text(srdf(state("bent", j="0.3")))
        np.testing.assert_allclose(robosim.load(path).configurations["bent"][7:], (0.3, 0.7))

    def test_names_that_do_not_move_are_told(self, load):
        robot = load(state("bent", nobody="1", f="1"))
        (warning,) = robot.warnings
        assert "nobody, f" in warning

    @pytest.mark.parametrize(
        ("value", "said"),
        [("", "number"), ("x", "must be a number"), ("1 2 3", "1 coordinate"), ("nan", "finite")],
    )
    def test_wrong_values(self, load, value, said):
        with pytest.raises(LoadError, match=rf"robot\.srdf.*group_state 'bent'.*'j'.*{said}"):
            load(state("bent", j=value))

    def test_a_simulation_starts_there(self, load):
        robot = load(state("bent", j="0.5"))
        sim = robosim.Simulation(robot)
        sim.set_state(robot.configurations["bent"])
        np.testing.assert_allclose(sim.q, robot.configurations["bent"], atol=1e-12)


def apart(*pairs):
    return "".join(
        f'<disable_collisions link1="{a}" link2="{b}" reason="Never"/>' for a, b in pairs
    )


class TestPairs:
    def test_of_bodies(self, load):
        assert load(apart("bc", "xc")).excluded_pairs == (("b", "c"),)

    def test_links_that_do_not_exist_are_told(self, load):
        told = load(apart("bc", "xc", "by")).warnings
        assert any("pairs of links that do not exist are left out: x, y" in text for text in told)
        assert not any("do not exist" in text for text in load(apart("bc")).warnings)

    def test_of_merged_links_only_together(self, load):
        """a and d are one body: it passes through c only if both do."""
        assert load(apart("ac")).excluded_pairs == ()
        assert load(apart("ac", "cd")).excluded_pairs == (("a", "c"),)
        assert load(apart("ad")).excluded_pairs == ()

    def test_what_is_excluded_does_not_touch(self, load):
        robot = load(apart("ac", "cd"), self_collision=True)
        shapes = [(pair[0][0], pair[1][0]) for pair in robot.touching_shapes()]
        assert shapes == []


class TestPassive:
    def test_joints_have_no_actuator(self, load):
        robot = load('<passive_joint name="k"/>')
        assert robot.actuated_names == ("j",)

    def test_unknown_ones_are_told(self, load):
        assert any("m" in text for text in load('<passive_joint name="m"/>').warnings)


class TestFiles:
    @pytest.mark.parametrize("place", ["robot.srdf", "srdf/robot.srdf", "../srdf/robot.srdf"])
    def test_where_it_is_looked_for(self, tmp_path, place):
        folder = tmp_path / "urdf"
        folder.mkdir()
        (folder / "robot.urdf").write_text(robot_xml(*PARTS))
        file = folder / place
        file.parent.mkdir(exist_ok=True)
        file.write_text(srdf(state("bent", j="0.5"), name="other"))
        robot = robosim.load(folder / "robot.urdf")
        assert list(robot.configurations) == ["bent"]
        assert robot.warnings == ()

    def test_the_only_one_for_that_robot_is_a_guess(self, write, tmp_path):
        path = write(*PARTS)
        (tmp_path / "one.srdf").write_text(srdf(state("bent", j="0.5")))
        (tmp_path / "two.srdf").write_text(srdf(state("bent", j="0.6"), name="other"))
        (tmp_path / "broken.srdf").write_text("<robot")
        robot = robosim.load(path)
        assert list(robot.configurations) == ["bent"]
        assert str(tmp_path / "one.srdf") in robot.warnings[0]
        (tmp_path / "three.srdf").write_text(srdf(state("bent", j="0.7")))
        assert robosim.load(path).configurations == {}

    def test_a_folder_called_srdf_counts_once(self, tmp_path):
        (tmp_path / "srdf").mkdir()
        (tmp_path / "srdf" / "robot.urdf").write_text(robot_xml(*PARTS))
        (tmp_path / "srdf" / "one.srdf").write_text(srdf(state("bent", j="0.5")))
        assert list(robosim.load(tmp_path / "srdf" / "robot.urdf").configurations) == ["bent"]

    def test_another_one_on_request(self, write, tmp_path):
        path = write(*PARTS)
        path.with_suffix(".srdf").write_text(srdf(state("bent", j="0.5")))
        file = tmp_path / "x.srdf"
        file.write_text(srdf(state("straight", j="0")))
        assert list(robosim.load(path, srdf=file).configurations) == ["straight"]
        with pytest.raises(LoadError, match=r"none\.srdf: the file does not exist"):
            robosim.load(path, srdf=tmp_path / "none.srdf")

    def test_a_broken_one_beside_it_is_told(self, write):
        path = write(*PARTS)
        path.with_suffix(".srdf").write_text("<robot>\n<group_state/></robot>")
        with pytest.raises(LoadError, match=r"robot\.srdf: line 2: <group_state>.*'name'"):
            robosim.load(path)

    def test_what_is_not_used_is_told(self, load):
        robot = load('<group name="g"/><end_effector/><rotor_params/><rotor_params/>')
        assert robot.warnings == ("robot.srdf: the simulation does not use: <rotor_params>",)


@pytest.mark.peer
@pytest.mark.skipif(example_robot_data() is None, reason="needs example-robot-data")
class TestRealOnes:
    @pytest.mark.parametrize(
        ("name", "pose", "base"),
        [
            ("go2", "standing", 0.335),
            ("bolt", "standing", 0.35487417),
            ("solo12", "standing", None),
        ],
    )
    def test_poses(self, name, pose, base):
        robot = robosim.load(f"example-robot-data:{name}")
        q = robot.configurations[pose]
        assert len(q) == robot.nq
        assert np.linalg.norm(q[3:7]) == pytest.approx(1)
        if base is not None:
            assert q[2] == pytest.approx(base, abs=1e-6)

    def test_as_pinocchio_reads_them(self):
        """Every joint of every pose of a humanoid and of an arm with continuous joints."""
        pinocchio = pytest.importorskip("pinocchio")
        share = example_robot_data() / "example-robot-data" / "robots"
        for urdf, srdf, base in (
            ("talos_data/robots/talos_reduced.urdf", "talos_data/srdf/talos.srdf", True),
            ("kinova_description/robots/kinova.urdf", "kinova_description/srdf/kinova.srdf", False),
            ("pr2_description/urdf/pr2.urdf", "pr2_description/srdf/pr2.srdf", False),
        ):
            root = [pinocchio.JointModelFreeFlyer()] if base else []
            model = pinocchio.buildModelFromUrdf(str(share / urdf), *root)
            pinocchio.loadReferenceConfigurations(model, str(share / srdf), False)
            robot = robosim.load(share / urdf, srdf=share / srdf)
            names = {item.key() for item in model.referenceConfigurations}
            assert set(robot.configurations) == names
            led = {coupling.joint for coupling in robot.couplings}
            for name, q in robot.configurations.items():
                theirs = model.referenceConfigurations[name]
                for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
                    if joint.nq != 1 or joint.name in led:
                        continue
                    there = model.joints[model.getJointId(joint.name)]
                    values = theirs[there.idx_q : there.idx_q + there.nq]
                    if there.nq == 2:
                        np.testing.assert_allclose((np.cos(q[start]), np.sin(q[start])), values)
                    else:
                        np.testing.assert_allclose(q[start], values[0])
