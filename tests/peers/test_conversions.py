"""Coordinates to and from Pinocchio and MuJoCo, without either: stated values and round trips."""

from __future__ import annotations

import branched
import numpy as np
import pytest

import robosim
from robosim import PeerError, StateError, quaternions
from robosim.bodies import Body
from robosim.comparison import random_state
from robosim.conversions import velocity_drift_from_pinocchio, velocity_map_from_pinocchio
from robosim.joints import Composite, Hinge, Joint, Offset, Slide
from robosim.mechanism import Mechanism

A1_ROOT_AND_LEGS = 7 + 12


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    """Every joint type that URDF has, on a floating base."""
    folder = tmp_path_factory.mktemp("branched")
    return robosim.load(branched.write(folder, branched.FLOATING, branched.TURNED_OVER))


def one_joint(kind, **options):
    joint = Joint("joint", kind, None, "body", **options)
    return Mechanism("one", (Body("body", 1.0, np.eye(3)),), (joint,))


def test_a_floating_base_in_words():
    robot = one_joint("floating")
    # A quarter turn about z: body x points along world y.
    c = np.sqrt(0.5)
    q, v = robosim.to_pinocchio(robot, [1, 2, 3, c, 0, 0, c], [0, 5, 0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(q, [1, 2, 3, 0, 0, c, c], atol=1e-15)
    np.testing.assert_allclose(v, [5, 0, 0, 0.1, 0.2, 0.3], atol=1e-14)
    # MuJoCo has both as we do.
    q, v = robosim.to_mujoco(robot, [1, 2, 3, c, 0, 0, c], [0, 5, 0, 0.1, 0.2, 0.3])
    np.testing.assert_array_equal(q, [1, 2, 3, c, 0, 0, c])
    np.testing.assert_array_equal(v, [0, 5, 0, 0.1, 0.2, 0.3])


def test_a_continuous_joint_is_cosine_and_sine_and_a_limited_one_an_angle():
    continuous = one_joint("revolute", axis=(0, 1, 0))
    limited = one_joint("revolute", axis=(0, 1, 0), lower=[-4], upper=[4])
    np.testing.assert_allclose(robosim.to_pinocchio(continuous, [2.0]), [np.cos(2), np.sin(2)])
    np.testing.assert_allclose(robosim.from_pinocchio(continuous, [0.0, -1.0]), [-np.pi / 2])
    np.testing.assert_array_equal(robosim.to_pinocchio(limited, [2.0]), [2.0])


def test_a_spherical_joint_has_its_scalar_last():
    q, v = robosim.to_pinocchio(one_joint("spherical"), [0.5, 0.1, 0.7, 0.5], [1, 2, 3])
    np.testing.assert_array_equal(q, [0.1, 0.7, 0.5, 0.5])
    np.testing.assert_array_equal(v, [1, 2, 3])


def test_siblings_go_by_the_names_of_their_joints_in_pinocchio():
    def chain_link(name, parent):
        return Joint(name, "revolute", parent, f"{name}_body", lower=[-1], upper=[1])

    # Depth first as given: d, c, a, b; by names: d, a, c, b -> upper case first.
    joints = (chain_link("d", None), chain_link("c", "d_body"), chain_link("a", "c_body"))
    joints += (chain_link("b", "d_body"), chain_link("Z", "d_body"))
    bodies = tuple(Body(joint.child, 1.0, np.eye(3)) for joint in joints)
    robot = Mechanism("tree", bodies, joints)
    assert [joint.name for joint in robot.joints] == ["d", "c", "a", "b", "Z"]
    ours = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    np.testing.assert_array_equal(robosim.to_pinocchio(robot, ours), [0.1, 0.5, 0.4, 0.2, 0.3])


def test_a_merged_fixed_joint_decides_the_order_too(robot):
    at = {joint.name: robot.v_offsets[j] for j, joint in enumerate(robot.joints)}
    T = velocity_map_from_pinocchio(robot, robot.neutral())
    place = {name: int(np.flatnonzero(T[begin])[0]) for name, begin in at.items()}
    # "aa" hangs on the fixed "abc", which comes before its sibling "alpha"; "Gamma" and "xi" hang
    # on the fixed "mast".
    order = ["floating_base", "beta", "aa", "alpha", "Gamma", "loose", "xi", "plate", "zeta"]
    assert sorted(place, key=place.__getitem__) == [*order, "tray"]


@pytest.mark.parametrize("seed", range(20))
def test_round_trips(robot, seed):
    q, v = random_state(robot, np.random.default_rng(seed))
    q_back, v_back = robosim.from_pinocchio(robot, *robosim.to_pinocchio(robot, q, v))
    np.testing.assert_allclose(q_back, q, atol=1e-14)
    np.testing.assert_allclose(v_back, v, atol=1e-14)
    np.testing.assert_array_equal(
        robosim.from_pinocchio(robot, robosim.to_pinocchio(robot, q)), q_back
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_velocity_map_is_orthogonal_and_its_drift_is_its_rate(robot, seed):
    q, v = random_state(robot, np.random.default_rng(seed))
    T = velocity_map_from_pinocchio(robot, q)
    np.testing.assert_allclose(T.T @ T, np.eye(robot.nv), atol=1e-14)
    h = 1e-5
    rate = (
        velocity_map_from_pinocchio(robot, advanced(robot, q, v, h))
        - velocity_map_from_pinocchio(robot, advanced(robot, q, v, -h))
    ) / (2 * h)
    drift = velocity_drift_from_pinocchio(robot, q, v)
    assert np.abs(drift).max() > 0.1
    np.testing.assert_allclose(drift, rate @ T.T @ v, atol=1e-8)


def advanced(robot, q, v, h):
    """q after moving at v for h, each joint by itself."""
    q = q.copy()
    for joint, i, k in zip(robot.joints, robot.q_offsets, robot.v_offsets, strict=False):
        n = joint.C_T.shape[1]
        if joint.has_quaternion:
            q[i : i + n] += h * v[k : k + n]
            w = v[k + n : k + n + 3]
            turn = quaternions.from_axis_angle(w, h * np.linalg.norm(w))
            q[i + n : i + n + 4] = quaternions.multiply(q[i + n : i + n + 4], turn)
        else:
            q[i : i + joint.nq] += h * v[k : k + joint.nv]
    return q


def test_the_a1_has_the_same_order_in_mujoco_but_not_in_pinocchio():
    robot = robosim.load("a1")
    q = robot.neutral()
    q[7:] = np.arange(12)
    names = [joint.name for joint in robot.joints[1:]]
    np.testing.assert_array_equal(robosim.to_mujoco(robot, q), q)
    by_name = sorted(range(12), key=lambda k: (names[k].partition("_")[0], k))
    np.testing.assert_array_equal(robosim.to_pinocchio(robot, q)[7:], by_name)
    assert len(q) == A1_ROOT_AND_LEGS


@pytest.mark.parametrize(
    "convert",
    [robosim.to_pinocchio, robosim.from_pinocchio, robosim.to_mujoco, robosim.from_mujoco],
)
def test_wrong_shapes_and_values_are_refused(convert):
    robot = one_joint("floating")
    with pytest.raises(StateError, match=r"shape \(7,\), not \(6,\)"):
        convert(robot, np.zeros(6))
    with pytest.raises(StateError, match=r"shape \(6,\), not \(7,\)"):
        convert(robot, robot.neutral(), np.zeros(7))
    with pytest.raises(StateError, match="finite"):
        convert(robot, np.full(7, np.nan))


def test_joints_without_a_counterpart_are_refused():
    with pytest.raises(PeerError, match="'joint': Pinocchio has no joint of kind 'cylindrical'"):
        robosim.to_pinocchio(one_joint("cylindrical"), [0, 0])
    for convert in (robosim.to_pinocchio, robosim.to_mujoco):
        with pytest.raises(PeerError, match=r"'joint': .* has no joint of kind 'screw'"):
            convert(one_joint("screw", pitch=0.1), [0])
    with pytest.raises(PeerError, match="takes z for the normal"):
        robosim.to_pinocchio(one_joint("planar", axis=(1, 0, 0)), np.zeros(3))
    down = one_joint("planar", axis=(0, 0, -1))
    assert robosim.to_pinocchio(down, np.zeros(3)).shape == (4,)
    with pytest.raises(PeerError, match="MuJoCo takes z"):
        robosim.to_mujoco(down, np.zeros(3))


def several(continuous=False):
    """A universal joint and a hinge with a slide behind it, as of several joints of a file."""
    limits = {} if continuous else {"lower": [-2.0, -2.0], "upper": [2.0, 2.0]}
    chart = Composite(Hinge((0, 1, 0)), Offset((0, 0, 0.1)), Slide((1, 0, 1)))
    joints = [
        Joint("hip", "universal", None, "b", **limits),
        Joint("leg", "composite", "b", "c", chart=chart, coordinate_names=("knee", "reach")),
        Joint("arm", "revolute", "b", "d", lower=-1, upper=1),
    ]
    return Mechanism("several", [Body(name, 1.0, np.eye(3)) for name in "bcd"], joints)


def test_charts_of_hinges_and_slides_are_chains():
    """With a joint for each coordinate, siblings by name: the arm comes before the knee."""
    q = [0.3, 0.4, 0.5, 0.6, 0.7]
    found, v = robosim.to_pinocchio(several(), q, [1, 2, 3, 4, 5])
    np.testing.assert_allclose(found, [0.3, 0.4, 0.7, np.cos(0.5), np.sin(0.5), 0.6])
    np.testing.assert_array_equal(v, [1, 2, 5, 3, 4])
    back, v = robosim.from_pinocchio(several(), found, v)
    np.testing.assert_allclose(back, q)
    np.testing.assert_array_equal(v, [1, 2, 3, 4, 5])
    found = robosim.to_pinocchio(several(continuous=True), q)
    np.testing.assert_allclose(found[:4], [np.cos(0.3), np.sin(0.3), np.cos(0.4), np.sin(0.4)])
    np.testing.assert_array_equal(robosim.to_mujoco(several(), q), q)
    np.testing.assert_array_equal(robosim.from_mujoco(several(), q), q)
    T = velocity_map_from_pinocchio(several(), q)
    np.testing.assert_array_equal(T @ [1, 2, 5, 3, 4], [1, 2, 3, 4, 5])


@pytest.mark.parametrize(("peer", "suffix"), [("pinocchio", "urdf"), ("mujoco", "xml")])
def test_written_charts_agree_with_peers(tmp_path, peer, suffix):
    """Models found by name, coordinate by coordinate, in the file that they are written to.

    MuJoCo refuses the links without mass of a URDF.
    """
    pytest.importorskip(peer)
    robosim.save(several(), tmp_path / f"several.{suffix}")
    robot = robosim.load(tmp_path / f"several.{suffix}")
    assert [joint.kind for joint in robot.joints] == ["composite", "composite", "revolute"]
    compared = robosim.compare(robot, peer, states=20)
    assert all(row.ok for row in compared.rows), compared.rows
