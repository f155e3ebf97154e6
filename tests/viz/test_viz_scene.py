"""The messages to the browser, decoded as the page decodes them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from robosim import Body, ContactPoint, Geometry, Joint, Mechanism, Soft, StateError, Strand
from robosim.joints import Composite, Hinge, Slide
from robosim.viz.scene import MAX_CONTACTS, Contacts, FrameEncoder, encode_scene, equivalent_box

TYPES = {"Float32Array": "<f4", "Uint32Array": "<u4", "Uint16Array": "<u2", "Int16Array": "<i2"}


def decode(message: bytes):
    length = int.from_bytes(message[:4], "little")
    header = json.loads(message[4 : 4 + length])

    def array(reference):
        kind, offset, count = reference
        assert (4 + length + offset) % 4 == 0, "the browser refuses an unaligned view"
        return np.frombuffer(message, TYPES[kind], count, 4 + length + offset)

    return header, array


def world_points(header, array, body: int, pose) -> np.ndarray:
    """Vertices of a body's first shape in the world, by the transforms that the page applies."""

    def rotate(q, points):
        w, v = q[0], np.asarray(q[1:])
        return points + 2 * np.cross(v, np.cross(v, points) + w * points)

    shape = header["bodies"][body]["shapes"][0]
    points = array(header["geometries"][shape["geometry"]]["position"]).reshape(-1, 3)
    in_body = rotate(shape["quaternion"], points) + shape["position"]
    return rotate(pose[3:], in_body) + pose[:3]


def test_shapes_land_where_the_mechanism_puts_them():
    # A cylinder along z of its frame, turned to lie along the body's y, on a body turned by 90
    # degrees about z: in the world it must lie along -x of its centre.
    half = np.sqrt(0.5)
    rod = Geometry("cylinder", (0.05, 1.0), position=(0, 0.5, 0), quaternion=(half, half, 0, 0))
    robot = Mechanism(
        "rod",
        (Body("rod", 1.0, np.eye(3), visuals=(rod,)),),
        (Joint("base", "floating", None, "rod"),),
    )
    header, array = decode(encode_scene(robot))
    frame = np.frombuffer(FrameEncoder(robot).encode(0.5, [[1, 2, 3]], [[half, 0, 0, half]]), "<f4")
    assert frame[0] == 0.5
    assert frame[1] == 0
    assert frame[2] == frame[3] == 0
    points = world_points(header, array, 0, frame[4:11])
    np.testing.assert_allclose(points.min(axis=0), [0.0, 1.95, 2.95], atol=1e-6)
    np.testing.assert_allclose(points.max(axis=0), [1.0, 2.05, 3.05], atol=1e-6)


def test_bodies_without_visuals_show_collisions_and_then_their_inertia(robot):
    header, array = decode(encode_scene(robot))
    assert [body["name"] for body in header["bodies"]] == ["box", "arm"]
    arm = world_points(header, array, 1, np.array([0, 0, 0, 1.0, 0, 0, 0]))
    np.testing.assert_allclose(np.ptp(arm, axis=0), [0.04, 0.04, 0.3], atol=1e-6)
    bare = Mechanism("bare", (Body("b", 1.0, np.eye(3)),), (Joint("j", "floating", None, "b"),))
    header, _ = decode(encode_scene(bare))
    assert len(header["bodies"][0]["shapes"]) == 1


def test_what_is_fixed_to_the_world_is_drawn_in_world_coordinates(robot):
    wall = Geometry("box", size=(1.0, 0.1, 1.0), position=(0.0, 2.0, 0.5))
    header, _ = decode(encode_scene(replace(robot, world_visuals=(wall,))))
    assert [shape["position"] for shape in header["fixed"]] == [[0.0, 2.0, 0.5]]
    assert len(header["bodies"]) == 2


def test_equivalent_box_has_the_inertia_of_the_body():
    mass, (a, b, c) = 3.0, (0.2, 0.5, 0.9)
    moments = mass / 12 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    box = equivalent_box(Body("b", mass, rotation @ np.diag(moments) @ rotation.T))
    np.testing.assert_allclose(sorted(box.size), [a, b, c], rtol=1e-9)


def test_nothing_is_drawn_of_what_stands_between_the_hinges_of_a_joint(robot):
    bare = Body("between", 1e-6, np.eye(3) * 1e-8)
    hinge = Joint("other", "revolute", "box", "between", axis=(1, 0, 0))
    for carrier, shapes in ((True, 0), (False, 1)):
        body = replace(bare, carrier=carrier)
        header, _ = decode(
            encode_scene(
                Mechanism("r", (*robot.bodies, body), (*robot.joints, hinge), robot.contacts)
            )
        )
        assert len(header["bodies"][2]["shapes"]) == shapes
        assert header["bodies"][2]["carrier"] is carrier


def test_equal_meshes_are_sent_once(robot):
    vertices = np.random.default_rng(1).normal(size=(500, 3))
    faces = np.arange(498)[:, None] + np.arange(3)

    def scene(n_bodies: int) -> bytes:
        mesh = Geometry("mesh", vertices=vertices, faces=faces)
        return encode_scene(
            Mechanism(
                "many",
                tuple(Body(f"b{k}", 1.0, np.eye(3), visuals=(mesh,)) for k in range(n_bodies)),
                tuple(Joint(f"j{k}", "floating", None, f"b{k}") for k in range(n_bodies)),
            )
        )

    assert len(scene(8)) < len(scene(1)) + 8 * 500


def test_texture_is_sent_with_its_type():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    for image, kind in ((b"\x89PNG....", "image/png"), (b"\xff\xd8\xff....", "image/jpeg")):
        mesh = Geometry(
            "mesh",
            vertices=vertices,
            faces=np.array([[0, 1, 2]]),
            uv=vertices[:, :2],
            texture=image,
        )
        robot = Mechanism(
            "t", (Body("b", 1, np.eye(3), visuals=(mesh,)),), (Joint("j", "floating", None, "b"),)
        )
        message = encode_scene(robot)
        header, _ = decode(message)
        got_kind, offset, count = header["bodies"][0]["shapes"][0]["texture"]
        start = 4 + int.from_bytes(message[:4], "little") + offset
        assert (got_kind, message[start : start + count]) == (kind, image)


def encode(encoder: FrameEncoder, state: dict, **more) -> bytes:
    contacts = Contacts(state["contact_positions"], state["contact_forces"])
    return encoder.encode(0.0, state["x"], state["q"], contacts, **more)


def contacts_of(frame: bytes, n_bodies: int) -> np.ndarray:
    values = np.frombuffer(frame, "<f4")
    rows = values[4 + 7 * n_bodies :].reshape(-1, 6)
    assert values[1] == len(rows)
    return rows


def test_contacts_far_up_are_left_out_and_leftover_forces_are_zero(robot, state):
    encoder = FrameEncoder(robot)
    state["contact_forces"][1] = [0, 0, 1e-6]  # what an interior-point solver leaves behind
    rows = contacts_of(encode(encoder, state), 2)
    np.testing.assert_allclose(rows[0], [0, 0.1, 0, 0, 1, 29.43], rtol=1e-6)
    np.testing.assert_array_equal(rows[1, 3:], 0)
    state["contact_positions"][1, 2] = 0.2
    assert len(contacts_of(encode(encoder, state), 2)) == 1


def test_of_very_many_contacts_the_strongest_are_sent():
    n = MAX_CONTACTS + 50
    robot = Mechanism(
        "spiny",
        (Body("b", 1.0, np.eye(3)),),
        (Joint("j", "floating", None, "b"),),
        tuple(ContactPoint(f"c{k}", "b", (0, 0, 0)) for k in range(n)),
    )
    forces = np.zeros((n, 3))
    forces[:, 2] = np.random.default_rng(2).permutation(n) + 1.0
    contacts = Contacts(np.zeros((n, 3)), forces)
    frame = FrameEncoder(robot).encode(0.0, [[0, 0, 0]], [[1, 0, 0, 0]], contacts)
    rows = contacts_of(frame, 1)
    assert sorted(rows[:, 5]) == list(range(n - MAX_CONTACTS + 1, n + 1))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"x": np.zeros((3, 3))}, r"x must have shape \(2, 3\), not \(3, 3\)"),
        ({"q": np.full((2, 4), np.nan)}, "q must be finite"),
        ({"q": "upright"}, "q must be numbers"),
        ({"contact_positions": np.zeros((2, 2))}, "contact_positions must have shape"),
        ({"contact_positions": np.zeros((1, 3))}, "contact_forces must have shape"),
        ({"contact_positions": None}, "contact_forces need contact_positions"),
    ],
)
def test_bad_states_are_refused_by_name(robot, state, change, what):
    with pytest.raises(StateError, match=what):
        encode(FrameEncoder(robot), {**state, **change})


def test_pulls_and_violations_follow_the_contacts(robot, state):
    pull, off = np.arange(9.0), [1e-12, 2e-3]
    frame = encode(FrameEncoder(robot), state, pulls=[pull], violations=off)
    values = np.frombuffer(frame, "<f4")
    np.testing.assert_array_equal(values[1:4], [2, 1, 2])
    np.testing.assert_allclose(values[-11:], [*pull, *off], rtol=1e-6)
    with pytest.raises(StateError, match="violations must have shape"):
        encode(FrameEncoder(robot), state, violations=[1.0])


def test_ghosts_are_further_bodies_of_the_same_shapes(robot, state):
    header, _ = decode(encode_scene(robot, ghosts=("MuJoCo",)))
    assert header["ghosts"] == ["MuJoCo"]
    assert len(header["bodies"]) == 2
    frame = FrameEncoder(robot, copies=2).encode(
        0.0, np.zeros((4, 3)), np.tile([1, 0, 0, 0], (4, 1))
    )
    assert len(frame) == 4 * (4 + 7 * 4)


def test_layers_are_told_what_they_draw(robot):
    header, _ = decode(encode_scene(robot))
    box, arm = header["bodies"]
    assert (box["mass"], len(box["collisions"]), len(arm["collisions"])) == (2.0, 0, 1)
    # 0.01 kg m^2 about every axis is a ball: 2/5 m r^2.
    np.testing.assert_allclose(arm["inertia"]["radii"], np.sqrt(2.5 * 0.01 / 1.0), rtol=1e-9)
    base, hinge = header["joints"]
    assert base["turns"] == base["slides"] == []
    assert (hinge["body"], hinge["turns"]) == (1, [[0.0, 1.0, 0.0]])
    assert [trail["body"] for trail in header["trails"]] == [1]


def test_axes_of_charts_are_their_columns_at_home():
    chart = Composite(Hinge((1, 0, 0)), Hinge((0, 1, 0)), Slide((0, 0, 1)))
    hip = Joint("hip", "composite", None, "b", chart=chart)
    robot = Mechanism("m", (Body("b", 1.0, np.eye(3)),), (hip,), home=(0.3, np.pi / 2, 0.2))
    (joint,) = decode(encode_scene(robot))[0]["joints"]
    # The first axis is seen from a child that the second hinge has turned by a quarter.
    np.testing.assert_allclose(joint["turns"], [[0, 0, 1], [0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(joint["slides"], [[0, 0, 1]], atol=1e-12)


def test_springs_are_lines_and_soft_solids_have_skins():
    """Numbers of an end are a body, -1 for the world, and a point of it; inner faces are none."""
    points = np.array(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1.0)))
    robot = Mechanism(
        "m",
        (),
        (),
        soft=(
            Strand("rope", ((0, 0, 3), (0, 0, 2), (0, 0, 1)), 1.0, 1.0, attached={0: None}),
            Soft("jelly", points, ((0, 1, 2, 3), (1, 2, 3, 4)), 1e4, 0.3, 1e3, attached={0: None}),
        ),
    )
    header, _ = decode(encode_scene(robot))
    assert header["lines"] == [[-1, 0, 0, 3, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0]]
    (skin,) = header["skins"]
    assert skin["nodes"] == [[-1, 0, 0, 0], *([k, 0, 0, 0] for k in (2, 3, 4, 5))]
    faces = np.reshape(skin["faces"], (-1, 3))
    assert sorted(map(sorted, faces.tolist())) == [
        [0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 4], [1, 3, 4], [2, 3, 4],
    ]  # fmt: skip
    # Seen from outside: the volume under them is that of both, 1/6 and 1/3.
    corners = points[faces]
    assert np.sum(np.linalg.det(corners)) / 6 == pytest.approx(0.5)
