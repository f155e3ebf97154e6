"""Contact points of every collision geometry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from urdf_text import INERTIAL, joint_xml, link_xml

import robosim
from robosim import Body, Geometry, quaternions
from robosim.loaders.contacts import HULL_POINTS, contact_points, hull_points

TURN = quaternions.from_rpy((0.3, -0.4, 0.5))
PLACE = (0.1, 0.2, 0.3)


def body(*shapes):
    return Body("b", 1.0, np.eye(3), collisions=shapes)


def points_of(*shapes):
    return np.array([contact.position for contact in contact_points(body(*shapes))])


def local(points):
    return (points - PLACE) @ quaternions.rotation_matrix(TURN)


def test_sphere():
    (contact,) = contact_points(body(Geometry("sphere", (0.2,), PLACE, TURN)))
    np.testing.assert_allclose(contact.position, PLACE)
    assert contact.radius == 0.2
    assert contact.name == "b/sphere0"


def test_box():
    points = local(points_of(Geometry("box", (2, 4, 6), PLACE, TURN)))
    assert len(points) == 8
    np.testing.assert_allclose(np.abs(points), np.tile((1, 2, 3), (8, 1)), atol=1e-14)
    assert len(np.unique(np.sign(points), axis=0)) == 8


def test_cylinder():
    points = local(points_of(Geometry("cylinder", (2, 6), PLACE, TURN)))
    assert len(points) == 24
    np.testing.assert_allclose(np.hypot(points[:, 0], points[:, 1]), 2, atol=1e-13)
    np.testing.assert_allclose(np.sort(points[:, 2]), [-3] * 12 + [3] * 12, atol=1e-13)
    angles = np.sort(np.arctan2(points[:12, 1], points[:12, 0]))
    np.testing.assert_allclose(np.diff(angles), np.pi / 6, atol=1e-12)


def test_capsule():
    contacts = contact_points(body(Geometry("capsule", (0.5, 2), PLACE, TURN)))
    points = local(np.array([contact.position for contact in contacts]))
    np.testing.assert_allclose(points, [(0, 0, -1), (0, 0, 1)], atol=1e-14)
    assert [contact.radius for contact in contacts] == [0.5, 0.5]


def test_mesh():
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 5)] * 3), axis=-1).reshape(-1, 3)
    mesh = Geometry("mesh", position=PLACE, quaternion=TURN, vertices=grid, faces=[[0, 1, 2]])
    points = local(points_of(mesh))
    assert len(points) == 8
    np.testing.assert_allclose(np.abs(points), 1)


@pytest.mark.parametrize("n", [1, 2, 3, 60])
def test_a_flat_mesh_has_contacts_too(n):
    t = np.linspace(0, 6, n)
    vertices = np.column_stack((np.cos(t), np.sin(t), np.zeros(n)))
    assert 0 < len(hull_points(vertices)) <= HULL_POINTS


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(40, 400))
def test_a_simplified_hull_keeps_the_extent(seed, n):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(n, 3))
    vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)  # all on the hull
    points = hull_points(vertices)
    assert len(points) == min(n, HULL_POINTS)
    np.testing.assert_array_equal(points.max(axis=0), vertices.max(axis=0))
    np.testing.assert_array_equal(points.min(axis=0), vertices.min(axis=0))
    assert all(np.any(np.all(point == vertices, axis=1)) for point in points)
    np.testing.assert_array_equal(points, hull_points(vertices))


class TestLeftOut:
    def test_corners_inside_a_foot(self):
        foot = Geometry("sphere", (0.02,), (0, 0, -0.2), name="foot")
        shank = Geometry("box", (0.016, 0.016, 0.2), (0, 0, -0.1), name="shank")
        names = [contact.name for contact in contact_points(body(shank, foot))]
        assert names == [f"shank/box{k}" for k in range(4)] + ["foot/sphere0"]

    @pytest.mark.parametrize(
        "outer",
        [
            Geometry("box", (2, 2, 2), PLACE, TURN),
            Geometry("sphere", (1,), PLACE, TURN),
            Geometry("cylinder", (1, 2), PLACE, TURN),
            Geometry("capsule", (1, 0.5), PLACE, TURN),
            Geometry(
                "mesh",
                position=PLACE,
                quaternion=TURN,
                vertices=2 * np.vstack((np.eye(3), -np.eye(3))),
                faces=[[0, 1, 2]],
            ),
        ],
        ids=lambda shape: shape.kind,
    )
    def test_whole_shapes_inside_another(self, outer):
        inner = Geometry("sphere", (0.3,), PLACE)
        alone = contact_points(body(outer))
        assert len(contact_points(body(outer, inner))) == len(alone)
        assert len(contact_points(body(inner, outer))) == len(alone)
        too_large = Geometry("sphere", (1.6,), PLACE)
        assert any(c.name == "b/sphere0" for c in contact_points(body(too_large, outer)))
        beside = Geometry("sphere", (0.3,), np.add(PLACE, (5, 0, 0)))
        assert len(contact_points(body(outer, beside))) == len(alone) + 1

    def test_not_what_is_on_the_surface(self):
        flush = Geometry("box", (1, 1, 1), (0.5, 0.5, 0.5))
        around = Geometry("box", (2, 2, 2))
        # One corner of the small box is inside, one is shared, six lie on faces and edges.
        assert len(contact_points(body(around, flush))) == 8 + 6

    def test_the_same_shape_twice_counts_once(self):
        box = Geometry("box", (1, 1, 1))
        assert len(contact_points(body(box, box))) == 8


def test_friction_is_the_models_or_the_default(write):
    def ball(at):
        return (
            f'<collision><origin xyz="{at} 0 0"/><geometry><sphere radius="0.1"/></geometry>'
            "</collision>"
        )

    path = write(
        link_xml("a", INERTIAL + ball(0) + ball(1)),
        link_xml("b", INERTIAL + ball(3)),
        joint_xml("f", "a", "b", "fixed", ""),
        '<gazebo reference="b"><mu1>0.3</mu1></gazebo><gazebo><mu1>9</mu1></gazebo>',
    )
    robot = robosim.load(path, friction=0.6)
    assert {contact.name: contact.friction for contact in robot.contacts} == {
        "a/sphere0": 0.6,
        "a/sphere1": 0.6,
        "b/sphere0": 0.3,
    }
    assert {contact.friction for contact in robosim.load(path).contacts} == {0.8, 0.3}
    with pytest.raises(robosim.ModelError, match="friction must not be negative"):
        robosim.load(path, friction=-1)


def test_a_cylinder_as_a_wheel_is_warned_of(write):
    rim = (
        INERTIAL
        + '<collision><geometry><cylinder radius="0.1" length="0.05"/></geometry></collision>'
    )
    path = write(
        link_xml("cart"),
        link_xml("wheel", rim),
        joint_xml("axle", "cart", "wheel", "continuous", ""),
    )
    (warning,) = robosim.load(path).warnings
    assert "rolls like a prism" in warning
    assert "wheel" in warning
    fixed = write(link_xml("cart"), link_xml("post", rim), joint_xml("axle", "cart", "post"))
    assert not robosim.load(fixed).warnings
