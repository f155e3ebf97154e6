"""Contact points of every collision geometry."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from urdf_text import INERTIAL, joint_xml, link_xml

import robosim
from robosim import Body, Geometry, quaternions
from robosim.errors import LoadError
from robosim.loaders import contacts
from robosim.loaders.contacts import contact_points
from robosim.loaders.hulls import HULL_POINTS, simplified_hull

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
    np.testing.assert_allclose(points[24:], [(0, 0, -3), (0, 0, 3)], atol=1e-13)  # of its rims
    points = points[:24]
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
    assert 0 < len(simplified_hull(vertices).points) <= HULL_POINTS


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(40, 400))
def test_a_simplified_hull_keeps_the_extent(seed, n):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(n, 3))
    vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)  # all on the hull
    points = simplified_hull(vertices).points
    assert len(points) == min(n, HULL_POINTS)
    np.testing.assert_array_equal(points.max(axis=0), vertices.max(axis=0))
    np.testing.assert_array_equal(points.min(axis=0), vertices.min(axis=0))
    assert all(np.any(np.all(point == vertices, axis=1)) for point in points)
    np.testing.assert_array_equal(points, simplified_hull(vertices).points)


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


def test_a_cylinder_rolls_on_its_rims_and_lies_on_their_points(write):
    rim = (
        INERTIAL
        + '<collision><origin xyz="0.01 0.02 0.03" rpy="1.5707963267948966 0 0"/>'
        + '<geometry><cylinder radius="0.1" length="0.05"/></geometry></collision>'
    )
    path = write(
        link_xml("cart"),
        link_xml("wheel", rim),
        joint_xml("axle", "cart", "wheel", "continuous", ""),
    )
    robot = robosim.load(path)
    assert not robot.warnings
    center = robot.body("wheel").frames[0].position + np.array([0.01, 0.02, 0.03])
    rims = [contact for contact in robot.contacts if contact.radius > 0]
    assert [contact.name for contact in rims] == ["wheel/rim0", "wheel/rim1"]
    for contact, side in zip(rims, (1, -1), strict=True):
        assert contact.radius == 0.1
        np.testing.assert_allclose(np.abs(contact.axis), [0, 1, 0], atol=1e-12)
        np.testing.assert_allclose(
            contact.position, center + np.array([0, side * 0.025, 0]), atol=1e-12
        )
    points = [contact for contact in robot.contacts if contact.radius == 0]
    assert len(points) == 24
    for contact in points:
        np.testing.assert_array_equal(contact.axis, rims[0].axis)
        assert np.linalg.norm((contact.position - center)[[0, 2]]) == pytest.approx(0.1)


def test_a_rim_inside_of_another_shape_is_left_out(write):
    both = (
        INERTIAL
        + '<collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision>'
        + '<collision><origin xyz="0 0 0.2"/>'
        + '<geometry><box size="0.3 0.3 0.1"/></geometry></collision>'
    )
    robot = robosim.load(write(link_xml("post", both)), floating_base=True)
    (rim,) = (contact for contact in robot.contacts if contact.radius > 0)
    np.testing.assert_allclose(rim.position, [0, 0, -0.2], atol=1e-12)
    (told,) = contacts.reasons(robot)
    assert told["points"] == 1 + 12 + 8
    assert told["why"] == (
        "1 rim and 24 points of a cylinder; 12 of them inside of the body or the same as another: "
        "left out, 8 points of a box"
    )


MESH = trimesh.creation.icosphere(subdivisions=3, radius=0.1)


def ball_mesh(at=(0, 0, 0), name="", faces=None):
    vertices, faces = np.array(MESH.vertices), np.array(MESH.faces if faces is None else faces)
    return Geometry("mesh", position=at, vertices=vertices, faces=faces, name=name)


class TestMeshesOfALink:
    def test_share_its_points(self):
        """Three meshes of one link have as many points as one, chosen from all of them."""
        pieces = [ball_mesh((x, 0, 0)) for x in (0, 1, 2)]
        points = points_of(*pieces)
        assert len(points) == HULL_POINTS
        assert np.ptp(points[:, 0]) == pytest.approx(2.2)
        apart = [ball_mesh((x, 0, 0), name=str(x)) for x in (0, 1, 2)]
        names = [contact.name for contact in contact_points(body(*apart))]
        first, middle, last = (sum(n.startswith(f"{x}/") for n in names) for x in (0, 1, 2))
        # Of those at the ends it is the halves outside that can touch first.
        assert 0 < middle < first <= HULL_POINTS
        assert first < HULL_POINTS
        assert first == last

    def test_what_they_lose_is_told(self):
        (shape,) = contacts.link_shapes(body(ball_mesh(), ball_mesh((0.5, 0, 0))))
        every = np.vstack((MESH.vertices, np.add(MESH.vertices, (0.5, 0, 0))))
        hull = simplified_hull(every)
        assert shape.loss == pytest.approx(hull.loss, rel=1e-9)
        assert shape.candidates == hull.vertices
        assert f"{1e3 * hull.loss:.2g} mm" in str(shape)

    def test_screws_inside_the_body_are_left_out(self):
        plate = Geometry("box", (1, 1, 0.1), name="plate")
        posts = [Geometry("box", (0.1, 0.1, 0.4), (x, 0, 0.25)) for x in (-0.4, 0.4)]
        screw = ball_mesh((0, 0, 0.15), name="screw")  # between the posts, above the plate
        names = {contact.name for contact in contact_points(body(plate, *posts, screw))}
        assert not any(name.startswith("screw") for name in names)
        assert len(names) == 8 + 8
        high = ball_mesh((0, 0, 0.5), name="screw")
        assert any(c.name.startswith("screw") for c in contact_points(body(plate, *posts, high)))


def lowest_point_of(mechanism, rng, n=50):
    """Heights of the lowest contact point at random orientations of the only body."""
    turns = rng.normal(size=(n, 4))
    for turn in turns / np.linalg.norm(turns, axis=1, keepdims=True):
        R = quaternions.rotation_matrix(turn)
        yield min((R @ np.asarray(c.position))[2] - c.radius for c in mechanism)


def test_what_is_left_out_never_touches_first():
    shapes = [
        Geometry("box", (1, 1, 0.1)),
        Geometry("cylinder", (0.1, 0.5), (0.3, 0, 0.1), TURN),
        Geometry("sphere", (0.05,), (0, 0.2, 0.1)),
        Geometry("capsule", (0.05, 0.3), (-0.2, 0.2, 0.1), TURN),
        ball_mesh((0, 0, 0.1)),
    ]
    kept = contact_points(body(*shapes))
    alone = [contact for shape in shapes for contact in contact_points(body(shape))]
    assert len(kept) < len(alone)
    rng = np.random.default_rng(0)
    ours = list(lowest_point_of(kept, rng))
    theirs = list(lowest_point_of(alone, np.random.default_rng(0)))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-14)


class TestChoice:
    def test_all_is_the_default(self):
        names = [contact.name for contact in robosim.load("a1").contacts]
        assert names == [c.name for c in robosim.load("a1", contacts="all").contacts]
        assert {"trunk", "FR_foot"} <= {name.partition("/")[0] for name in names}

    def test_feet_of_the_a1(self):
        robot = robosim.load("a1", contacts="feet")
        names = [contact.name for contact in robot.contacts]
        assert sorted(names) == [f"{leg}_foot/sphere0" for leg in ("FL", "FR", "RL", "RR")]
        np.testing.assert_array_equal(robot.home, robosim.load("a1").home)

    def test_feet_without_a_name_are_the_lowest_ends(self, write):
        def limb(name, z):
            box = '<geometry><box size="0.1 0.1 0.1"/></geometry>'
            shape = f"<collision>{box}</collision>"
            origin = f'<origin xyz="0 0 {z}"/><axis xyz="1 0 0"/><limit lower="-1" upper="1"/>'
            return link_xml(name, INERTIAL + shape), joint_xml(f"to_{name}", "a", name, "revolute",
                origin)  # fmt: skip

        path = write(link_xml("a", INERTIAL), *limb("arm", 0.5), *limb("leg", -1))
        with_feet = robosim.load(path, contacts="feet")
        assert {contact.body for contact in with_feet.contacts} == {"leg"}
        assert len(with_feet.contacts) == 8

    def test_none(self):
        assert robosim.load("a1", contacts="none").contacts == ()
        assert robosim.load("cube", contacts="none").contacts == ()

    def test_by_name(self):
        robot = robosim.load("a1", contacts=["trunk", "FR_foot"])
        assert {contacts.link_of(contact) for contact in robot.contacts} == {"trunk", "FR_foot"}

    def test_what_is_not_there_is_refused(self):
        with pytest.raises(robosim.LoadError, match=r"'tail'.*FR_foot"):
            robosim.load("a1", contacts=["tail"])
        with pytest.raises(robosim.LoadError, match=r"all, feet, none.*'toes'"):
            robosim.load("a1", contacts="toes")

    def test_nothing_like_a_foot_is_told(self):
        robot = robosim.load("pendulum", contacts="feet")
        assert robot.contacts == ()
        assert any("no link looks like a foot" in warning for warning in robot.warnings)


def test_reasons_name_every_link_with_shapes():
    robot = robosim.load("a1", contacts="feet")
    told = {reason["link"]: reason for reason in contacts.reasons(robot, "feet")}
    assert told["FR_foot"]["points"] == 1
    assert "name of a foot" in told["FR_foot"]["why"]
    assert told["trunk"]["points"] == 0
    assert told["trunk"]["why"] == "not a foot"
    every = {shape.name for b in robot.bodies for shape in b.collisions}
    assert set(told) == every
    whole = robosim.load("a1")
    reasons = contacts.reasons(whole)
    assert sum(reason["points"] for reason in reasons) == len(whole.contacts)


def test_open_collision_meshes_are_told(write, tmp_path):
    MESH.export(tmp_path / "closed.stl")
    trimesh.Trimesh(MESH.vertices, MESH.faces[3:]).export(tmp_path / "open.stl")

    def robot(name):
        shape = f'<collision><geometry><mesh filename="{name}.stl"/></geometry></collision>'
        return robosim.load(write(link_xml("a", INERTIAL + shape)))

    assert robot("closed").warnings == ()
    opened = robot("open")
    (warning,) = opened.warnings
    assert "not closed" in warning
    assert warning.endswith(": a")
    assert len(opened.contacts) == HULL_POINTS


class TestCorners:
    """How many vertices of a hull touch the ground is up to the user."""

    @staticmethod
    def urdf(tmp_path):
        MESH.export(tmp_path / "ball.stl")
        shape = '<collision><geometry><mesh filename="ball.stl"/></geometry></collision>'
        path = tmp_path / "robot.urdf"
        path.write_text(f'<robot name="r"><link name="a">{INERTIAL}{shape}</link></robot>')
        return path

    @staticmethod
    def mjcf(tmp_path):
        MESH.export(tmp_path / "ball.stl")
        path = tmp_path / "robot.xml"
        path.write_text(
            '<mujoco><asset><mesh name="m" file="ball.stl"/></asset><worldbody><geom type="plane" '
            'size="1 1 1"/><body name="a" pos="0 0 1"><freejoint/><geom type="mesh" mesh="m"/>'
            "</body></worldbody></mujoco>"
        )
        return path

    @pytest.mark.parametrize("file", ["urdf", "mjcf"])
    def test_more_of_them_lose_less(self, tmp_path, file):
        path = getattr(self, file)(tmp_path)
        losses = []
        for corners in (14, 32, 100, 10_000):
            robot = robosim.load(path, corners=corners)
            wanted = min(corners, len(MESH.vertices))
            assert len(robot.contacts) == wanted
            (told,) = contacts.reasons(robot, corners=corners)
            assert told["points"] == wanted
            losses.append(told["loss_m"])
        assert losses == sorted(losses, reverse=True)
        assert losses[0] > 5 * losses[2]
        assert losses[-1] < 1e-9
        assert len(robosim.load(path).contacts) == HULL_POINTS

    @pytest.mark.parametrize("corners", [20, 50])
    def test_meshes_of_one_link_have_as_many_together(self, tmp_path, corners):
        MESH.export(tmp_path / "ball.stl")
        shapes = "".join(
            f'<collision><origin xyz="{x} 0 0"/><geometry><mesh filename="ball.stl"/></geometry>'
            "</collision>"
            for x in (0, 1)
        )
        path = tmp_path / "robot.urdf"
        path.write_text(f'<robot name="r"><link name="a">{INERTIAL}{shapes}</link></robot>')
        assert len(robosim.load(path, corners=corners).contacts) == corners

    @pytest.mark.parametrize("corners", [13, 0, -1, 32.0, "32", None])
    def test_numbers_that_are_none_are_refused(self, tmp_path, corners):
        with pytest.raises(LoadError, match="corners must be 14 or more"):
            robosim.load(self.urdf(tmp_path), corners=corners)
