"""Drawn surfaces against closed forms: extents along the right axes, volume, outward normals."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Geometry
from robosim.viz.shapes import triangles

SHAPES = [
    (Geometry("box", size=(0.2, 0.4, 0.6)), (0.2, 0.4, 0.6), 0.048),
    (Geometry("sphere", size=(0.5,)), (1.0, 1.0, 1.0), 4 / 3 * np.pi * 0.125),
    (Geometry("cylinder", size=(0.1, 0.8)), (0.2, 0.2, 0.8), np.pi * 0.01 * 0.8),
    (
        Geometry("capsule", size=(0.1, 0.8)),
        (0.2, 0.2, 1.0),
        np.pi * 0.01 * 0.8 + 4 / 3 * np.pi * 0.001,
    ),
]


def volume(positions: np.ndarray, faces: np.ndarray) -> float:
    """By the divergence theorem: positive where faces are counter-clockwise from outside."""
    a, b, c = (positions[faces[:, k]].astype(float) for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


@pytest.mark.parametrize(("geometry", "extent", "expected"), SHAPES)
def test_primitive_has_its_size_volume_and_outward_normals(geometry, extent, expected):
    shape = triangles(geometry)
    np.testing.assert_allclose(np.ptp(shape.positions, axis=0), extent, atol=1e-6)
    np.testing.assert_allclose(shape.positions.max(axis=0), np.array(extent) / 2, atol=1e-6)
    # 48 segments inscribed in a circle lose 0.3 % of its area; a sphere twice that.
    assert volume(shape.positions, shape.faces) == pytest.approx(expected, rel=8e-3)
    np.testing.assert_allclose(np.linalg.norm(shape.normals, axis=1), 1.0, atol=1e-6)
    a, b, c = (shape.positions[shape.faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    area = np.linalg.norm(across, axis=1)
    drawn = area > 1e-9
    outward = across[drawn] / area[drawn, None]
    for k in range(3):
        agreement = np.einsum("ij,ij->i", outward, shape.normals[shape.faces[drawn, k]])
        assert agreement.min() > 0.98


def cube() -> Geometry:
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    faces = np.array(
        [
            [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
            [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
        ]
    )  # fmt: skip
    return Geometry("mesh", vertices=corners, faces=faces)


def test_mesh_edges_stay_sharp():
    shape = triangles(cube())
    assert len(shape.positions) == 24  # each corner once for each of its three sides
    assert volume(shape.positions, shape.faces) == pytest.approx(1.0)
    np.testing.assert_allclose(np.sort(np.abs(shape.normals), axis=1), [[0, 0, 1]] * 24, atol=1e-6)


def test_smooth_mesh_with_vertices_repeated_for_each_face_gets_smooth_normals():
    ball = triangles(Geometry("sphere", size=(1.0,)))
    split = ball.positions[ball.faces.reshape(-1)].astype(float)
    faces = np.arange(len(split)).reshape(-1, 3)
    shape = triangles(Geometry("mesh", vertices=split, faces=faces))
    agreement = np.einsum("ij,ij->i", shape.normals, shape.positions)
    assert agreement.min() > 0.995


def test_mesh_keeps_the_texture_coordinates_of_its_vertices():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    uv = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    shape = triangles(Geometry("mesh", vertices=vertices, faces=np.array([[2, 0, 1]]), uv=uv))
    for position, coordinate in zip(shape.positions, shape.uv, strict=True):
        np.testing.assert_allclose(position[:2], coordinate)


def test_degenerate_and_empty_meshes_are_drawn_without_nan():
    flat = Geometry("mesh", vertices=np.zeros((3, 3)), faces=np.array([[0, 1, 2]]))
    assert np.isfinite(triangles(flat).normals).all()
    empty = Geometry("mesh", vertices=np.zeros((0, 3)), faces=np.zeros((0, 3), dtype=int))
    assert len(triangles(empty).faces) == 0
