"""Obstacles as they are drawn: where they are, and what stands for the ground."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_viz_scene import decode

from robosim import Geometry, HalfSpace, HeightField, TriangleMesh
from robosim.quaternions import rotation_matrix
from robosim.viz.obstacles import drawn_obstacles
from robosim.viz.scene import encode_scene


def world_vertices(shape: Geometry) -> np.ndarray:
    R = rotation_matrix(np.asarray(shape.quaternion))
    return np.asarray(shape.vertices) @ R.T + np.asarray(shape.position)


def face_normals(shape: Geometry) -> np.ndarray:
    a, b, c = np.moveaxis(world_vertices(shape)[shape.faces], 1, 0)
    normals = np.cross(b - a, c - a)
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def test_a_half_space_is_a_square_of_its_surface_that_faces_out(robot):
    plane = HalfSpace(normal=(1, 2, -3), point=(0.5, 0.2, 0.1))
    (shape,) = drawn_obstacles(replace(robot, obstacles=(plane,)))
    above = (world_vertices(shape) - plane.point) @ plane.normal
    np.testing.assert_allclose(above, 0, atol=1e-12)
    np.testing.assert_allclose(face_normals(shape), [plane.normal] * 2, atol=1e-12)
    np.testing.assert_allclose(world_vertices(shape).mean(axis=0), plane.point, atol=1e-12)
    assert 0 < shape.rgba[3] < 1


def test_a_height_field_is_drawn_through_its_heights(robot):
    heights = np.arange(6.0).reshape(2, 3)
    turned = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    field = HeightField(heights, (1.0, 4.0), position=(0, 0, 2.0), quaternion=turned)
    (shape,) = drawn_obstacles(replace(robot, obstacles=(field,)))
    # x of the field runs along y of the world, y along -x.
    expected = [[-y, x, 2 + h] for x, row in zip((-0.5, 0.5), heights, strict=True)
                for y, h in zip((-2, 0, 2), row, strict=True)]  # fmt: skip
    np.testing.assert_allclose(world_vertices(shape), expected, atol=1e-12)
    assert len(shape.faces) == 2 * 1 * 2
    assert np.all(face_normals(shape)[:, 2] > 0)


def test_meshes_and_primitives_are_drawn_as_they_are(robot):
    mesh = Geometry("mesh", vertices=np.eye(3), faces=[[0, 1, 2]], position=(1, 0, 0))
    block = Geometry("box", (1, 1, 1), position=(3, 0, 0))
    header, _ = decode(encode_scene(replace(robot, obstacles=(TriangleMesh(mesh), block))))
    assert [shape["position"] for shape in header["fixed"]] == [[1, 0, 0], [3, 0, 0]]


@pytest.mark.parametrize(
    ("contacts", "obstacles", "drawn", "others"),
    [
        (True, (), True, 0),
        (False, (), True, 0),
        (True, (HalfSpace(normal=(0.1, 0, 1)),), True, 1),
        (False, (HalfSpace(normal=(0.1, 0, 1)),), False, 1),
        (False, (HalfSpace(normal=(0, 0, 2), point=(3, 4, 0)),), True, 0),
        (False, (HalfSpace(point=(0, 0, 0.1)),), False, 1),
    ],
)
def test_the_ground_is_drawn_where_something_holds_at_zero(
    robot, contacts, obstacles, drawn, others
):
    points = robot.contacts if contacts else ()
    scene = replace(robot, contacts=points, obstacles=obstacles)
    header, _ = decode(encode_scene(scene))
    assert header["ground"] is drawn
    assert header["solid"] is (contacts or (drawn and bool(obstacles)))
    assert len(header["fixed"]) == others
    assert decode(encode_scene(scene, ground=False))[0]["ground"] is False
