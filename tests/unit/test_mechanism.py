"""Mechanisms: what they refuse and how they say so, their order and their names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import Body, ContactPoint, Frame, Geometry, Joint, Mechanism, ModelError


def body(name: str = "b", **changes) -> Body:
    return Body(**{"name": name, "mass": 1.0, "inertia": np.eye(3), **changes})


def hinge(name: str, parent: str | None, child: str, kind: str = "revolute", **changes) -> Joint:
    return Joint(name, kind, parent, child, **changes)


BAD_BODIES = [
    ({"mass": 0}, r"mass must be positive, not 0"),
    ({"mass": -2.5}, r"mass must be positive, not -2.5"),
    ({"mass": np.nan}, r"mass must be finite, not nan"),
    ({"mass": "heavy"}, r"mass must be numbers, not 'heavy'"),
    ({"inertia": np.eye(2)}, r"inertia must have shape \(3, 3\), not \(2, 2\)"),
    ({"inertia": np.diag([1, 1, np.inf])}, r"inertia must be finite"),
    ({"inertia": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, r"inertia must be symmetric"),
    ({"frames": (Frame("b", quaternion=(0, 1, 0, 0)),)}, r"must have the axes of the body"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_BODIES)
def test_bad_bodies(changes, message):
    with pytest.raises(ModelError, match=message) as caught:
        body("trunk", **changes)
    assert caught.value.element == "body 'trunk'"
    assert "trunk" in str(caught.value)


BAD_JOINTS = [
    ({"kind": "rope"}, r"unknown joint kind 'rope' \(known: fixed, prismatic"),
    ({"axis": (0, 0, 0)}, r"axis must be a finite vector other than zero"),
    ({"axis": (0, np.nan, 0)}, r"axis must be finite"),
    ({"axis": (0, 1)}, r"axis must have shape \(3,\), not \(2,\)"),
    ({"parent_position": (0, 0, np.inf)}, r"parent_position must be finite"),
    ({"child_position": (0, 0)}, r"child_position must have shape"),
    ({"offset": (2, 0, 0, 0)}, r"offset must have unit norm, not 2"),
    ({"lower": 1.0, "upper": -1.0}, r"limits are the wrong way round: lower \[1.0\], upper \[-1"),
    ({"lower": np.nan}, r"lower limits must be 1 numbers, not \[nan\]"),
    ({"upper": (1.0, 2.0)}, r"upper limits must be 1 numbers, not \[1.0, 2.0\]"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_JOINTS)
def test_bad_joints(changes, message):
    with pytest.raises(ModelError, match=message) as caught:
        hinge("knee", None, "b", **changes)
    assert caught.value.element == "joint 'knee'"


BAD_CONTACTS = [
    ({"position": (0, 0, np.nan)}, "position must be finite"),
    ({"radius": -0.1}, "radius must not be negative, not -0.1"),
    ({"friction": -1.0}, "friction must not be negative, not -1.0"),
    ({"friction": np.inf}, "friction must be finite, not inf"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_CONTACTS)
def test_bad_contacts(changes, message):
    with pytest.raises(ModelError, match=message) as caught:
        ContactPoint(**{"name": "heel", "body": "b", "position": (0, 0, 0), **changes})
    assert caught.value.element == "contact 'heel'"


BAD_GEOMETRY = [
    ({"kind": "torus"}, r"unknown geometry kind 'torus' \(known: box"),
    ({"kind": "box", "size": (1, 1)}, r"size of a box must have shape \(3,\)"),
    ({"kind": "sphere", "size": (-1,)}, r"size of a sphere must be positive, not \[-1.0\]"),
    ({"kind": "mesh"}, "a mesh needs vertices and faces"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_GEOMETRY)
def test_bad_geometry(changes, message):
    with pytest.raises(ModelError, match=message) as caught:
        Geometry(name="shell", **changes)
    assert "shell" in str(caught.value)


BAD_MECHANISMS = [
    ((), (), (), "mechanism 'm': has no bodies"),
    (("a", "a"), [(None, "a")], (), "body 'a': the name is used twice"),
    (("a",), (), (), "body 'a': has no joint to the world"),
    (("a",), [(None, "x")], (), r"joint 'j0': child 'x' does not exist \(known: a\)"),
    (("a",), [("x", "a")], (), r"joint 'j0': parent 'x' does not exist \(known: a\)"),
    (("a",), [(None, None)], (), "joint 'j0': child 'None' does not exist"),
    (("a",), [("a", "a")], (), "joint 'j0': connects a body with itself"),
    (("a", "b"), [("b", "a"), ("a", "b")], (), r"joints \['j0', 'j1'\] form a cycle"),
    (("a",), [(None, "a")], ("x",), r"contact 'c0': body 'x' does not exist \(known: a\)"),
]


@pytest.mark.parametrize(("bodies", "joints", "contacts", "message"), BAD_MECHANISMS)
def test_bad_mechanisms(bodies, joints, contacts, message):
    with pytest.raises(ModelError, match=message):
        Mechanism(
            "m",
            tuple(body(name) for name in bodies),
            tuple(hinge(f"j{k}", *ends) for k, ends in enumerate(joints)),
            tuple(ContactPoint(f"c{k}", on, (0, 0, 0)) for k, on in enumerate(contacts)),
        )


def test_joint_names_are_unique():
    with pytest.raises(ModelError, match="joint 'j': the name is used twice"):
        Mechanism("m", (body("a"), body("b")), (hinge("j", None, "a"), hinge("j", "a", "b")))


@pytest.mark.parametrize("home", [(1.0, 2.0), (np.nan,)])
def test_a_home_that_is_none(home):
    with pytest.raises(ModelError, match="home must"):
        Mechanism("m", (body("a"),), (hinge("j", None, "a"),), home=home)


def test_an_inertia_that_no_body_has_is_noticed():
    robot = Mechanism("m", (body("rod", inertia=np.diag([1, 1, 3])),), (hinge("j", None, "rod"),))
    (warning,) = robot.warnings
    assert "'rod'" in warning
    assert "triangle inequality" in warning


def branched() -> Mechanism:
    """Given in no order: the tree is a(b(d), c), e."""
    return Mechanism(
        "branched",
        tuple(body(name) for name in "dcbae"),
        (
            hinge("to_d", "b", "d", "spherical", actuated=False),
            hinge("to_b", "a", "b"),
            hinge("to_c", "a", "c", "cylindrical"),
            hinge("to_a", None, "a", "floating"),
            hinge("to_e", None, "e", "planar"),
        ),
    )


def test_tree_order():
    """Depth first, parents first, brothers in the order given; body i hangs on joint i."""
    robot = branched()
    assert [joint.name for joint in robot.joints] == ["to_a", "to_b", "to_d", "to_c", "to_e"]
    assert [b.name for b in robot.bodies] == list("abdce")


def test_offsets_names_and_actuation():
    robot = branched()
    assert robot.q_offsets == (0, 7, 8, 12, 14, 17)
    assert robot.v_offsets == (0, 6, 7, 10, 12, 15)
    assert (robot.nq, robot.nv, robot.nu) == (17, 15, 6)
    assert robot.q_names[:7] == tuple(f"to_a.{s}" for s in ("x", "y", "z", "qw", "qx", "qy", "qz"))
    assert robot.v_names[:6] == tuple(f"to_a.{s}" for s in ("vx", "vy", "vz", "wx", "wy", "wz"))
    assert robot.q_names[7] == robot.v_names[6] == "to_b"
    assert robot.q_names[12:14] == robot.v_names[10:12] == ("to_c.t0", "to_c.r")
    assert robot.q_names[14:] == robot.v_names[12:] == ("to_e.t0", "to_e.t1", "to_e.r")
    assert len(set(robot.q_names)) == robot.nq
    # Neither the floating base nor the passive ball.
    np.testing.assert_array_equal(robot.actuated, [6, 10, 11, 12, 13, 14])
    np.testing.assert_array_equal(robot.neutral()[:8], [0, 0, 0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(robot.neutral()[8:12], [1, 0, 0, 0])


def test_looking_up_by_name():
    robot = branched()
    assert robot.body_index("d") == 2
    assert robot.joint_index("to_c") == 3
    assert robot.frame("d")[0] == 2
    for look_up in (robot.body_index, robot.joint_index, robot.frame):
        with pytest.raises(ModelError, match=r"no .* 'nobody' \(known: "):
            look_up("nobody")


def test_nothing_can_be_changed_afterwards():
    robot = branched()
    with pytest.raises(AttributeError):
        robot.name = "other"
    for array in (robot.home, robot.bodies[0].inertia, robot.joints[1].axis, robot.joints[1].D_R):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_what_was_handed_in_is_not_kept():
    inertia = np.eye(3)
    made = body(inertia=inertia)
    inertia[0, 0] = 5
    assert made.inertia[0, 0] == 1


@pytest.mark.parametrize(
    ("faces", "message"),
    [([[0, 1, 2]], "must index 1 vertices, not 0 to 2"), ([0, 0, 0], r"must have shape \(m, 3\)")],
)
def test_faces_that_are_not_there(faces, message):
    with pytest.raises(ModelError, match=message):
        Geometry("mesh", vertices=np.zeros((1, 3)), faces=np.array(faces), name="link")


def test_configurations_are_poses_of_the_right_length():
    q = np.array([0.5])
    robot = Mechanism(
        "arm", (body(),), (hinge("knee", None, "b"),), configurations={"bent": q, "straight": (0,)}
    )
    q[0] = 9.0
    assert list(robot.configurations) == ["bent", "straight"]
    np.testing.assert_array_equal(robot.configurations["bent"], [0.5])
    with pytest.raises(
        ModelError, match=r"configuration 'bent' must have shape \(1,\), not \(2,\)"
    ):
        replace(robot, configurations={"bent": (0.0, 1.0)})
