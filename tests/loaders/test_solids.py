"""Volume, centre and inertia of meshes: closed forms, and trimesh."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from robosim import quaternions
from robosim.description.solids import convex_hull, enclosed
from robosim.loaders.solids import is_closed

TURN = quaternions.rotation_matrix(quaternions.from_rpy((0.3, -0.4, 0.5)))


def box(turned=False):
    mesh = trimesh.creation.box((1, 2, 3))
    vertices = np.array(mesh.vertices)
    return (vertices @ TURN.T + (100, -7, 3) if turned else vertices), np.array(mesh.faces)


def test_a_box_has_its_closed_form_wherever_it_is():
    vertices, faces = box(turned=True)
    for solid in (enclosed(vertices, faces), convex_hull(vertices)):
        assert solid.volume == pytest.approx(6, rel=1e-12)
        np.testing.assert_allclose(solid.center, (100, -7, 3), rtol=1e-13)
        exact = TURN @ np.diag([6 / 12 * 13, 6 / 12 * 10, 6 / 12 * 5]) @ TURN.T
        np.testing.assert_allclose(solid.inertia, exact, rtol=0, atol=1e-11)


def test_a_concave_mesh_against_trimesh():
    mesh = trimesh.creation.annulus(r_min=0.1, r_max=0.3, height=0.5)
    vertices, faces = np.array(mesh.vertices), np.array(mesh.faces)
    solid = enclosed(vertices, faces)
    assert is_closed(vertices, faces)
    assert solid.volume == pytest.approx(mesh.volume, rel=1e-12)
    np.testing.assert_allclose(solid.center, mesh.center_mass, atol=1e-13)
    np.testing.assert_allclose(solid.inertia, mesh.moment_inertia, atol=1e-13)
    assert convex_hull(vertices).volume == pytest.approx(mesh.convex_hull.volume, rel=1e-12)


def test_inside_out_is_negative():
    vertices, faces = box()
    assert enclosed(vertices, faces[:, ::-1]).volume == pytest.approx(-6)


def test_what_is_closed():
    vertices, faces = box()
    assert is_closed(vertices, faces)
    assert is_closed(vertices[faces].reshape(-1, 3), np.arange(36).reshape(-1, 3))  # as in STL
    assert is_closed(vertices, np.vstack((faces, [[0, 0, 1]])))  # a triangle without area
    assert not is_closed(vertices, faces[1:])
    turned = faces.copy()
    turned[0] = turned[0, ::-1]
    assert not is_closed(vertices, turned)
    assert not is_closed(vertices, np.vstack((faces, faces)))
    assert not is_closed(vertices, faces[:0])


def test_the_answer_for_a_large_mesh_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mesh = trimesh.creation.icosphere(subdivisions=4)
    vertices, faces = np.array(mesh.vertices), np.array(mesh.faces)
    for _ in range(2):
        assert is_closed(vertices, faces)
        assert not is_closed(vertices, faces[1:])
    assert len(list((tmp_path / "robosim" / "meshes").iterdir())) == 2


def test_what_is_flat_has_no_volume():
    vertices = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], dtype=float)
    faces = np.array([(0, 1, 2), (2, 1, 3)])
    for solid in (enclosed(vertices, faces), convex_hull(vertices)):
        assert solid.volume == 0
        assert not solid.inertia.any()
