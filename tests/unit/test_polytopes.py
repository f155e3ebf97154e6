"""Convex hulls as polytopes: closed, all points behind all faces, nothing lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from robosim import ModelError, quaternions
from robosim.description import polytopes
from robosim.description.polytopes import convex_hull

OUT = 3e-7  # of the size: what is within 1e-7 of a face's plane is put into it


def turned(points, rng):
    return points @ quaternions.rotation_matrix(quaternions.normalized(rng.normal(size=4))).T


def lattice(rng, n):
    return rng.integers(-2, 3, size=(n, 3)).astype(float)


def ball(rng, n):
    points = rng.normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def drum(rng, n):
    angles = 2 * np.pi * np.arange(n) / n
    return np.column_stack((np.cos(angles), np.sin(angles), rng.integers(0, 2, size=n)))


def doubled(rng, n):
    points = rng.integers(-1, 2, size=(n, 3)).astype(float)
    return np.vstack((points, points))


def cloud(kind, seed, n, noise, flatness, offset, single):
    """Points with noise, thinned along axes, turned and shifted, in single precision or not."""
    rng = np.random.default_rng(seed)
    points = np.vstack((kind(rng, n), np.eye(3), -np.eye(3)))
    points = (points + noise * rng.normal(size=points.shape)) * flatness
    points = turned(points, rng) + offset
    return points.astype(np.float32).astype(float) if single else points


def clouds():
    noise = st.one_of(st.just(0.0), st.floats(-14, -5).map(lambda e: 10.0**e))
    flatness = st.tuples(*[st.sampled_from([1.0, 1.0, 1e-3, 1e-6])] * 3)
    return st.builds(cloud, st.sampled_from((lattice, ball, drum, doubled)),
                     st.integers(0, 10**6), st.integers(4, 150), noise, flatness,
                     st.sampled_from([0.0, 0.0, 10.0]), st.booleans())  # fmt: skip


def check(points, found):
    """The polytope is closed, a sphere, holds all points and has the volume of Qhull's hull."""
    size = np.ptp(points, axis=0).max()
    sides = [(v, w) for face in found.faces for v, w in zip(face, face[1:] + face[:1], strict=True)]
    assert len(set(sides)) == len(sides)
    assert {(w, v) for v, w in sides} == set(sides)
    assert len(found.vertices) - len(sides) // 2 + len(found.faces) == 2
    assert {v for side in sides for v in side} == set(range(len(found.vertices)))
    np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1, atol=1e-12)
    middle, volume = points.mean(axis=0), 0.0
    for face, normal in zip(found.faces, found.normals, strict=True):
        corners = found.vertices[face] - middle
        assert ((points - middle - corners[0]) @ normal).max() < OUT * size
        spokes = corners - corners[0]
        area = np.cross(spokes, np.roll(spokes, -1, axis=0)).sum(axis=0)
        volume += corners[0] @ area / 6
        # No face is folded over itself.
        assert area @ normal > -OUT * size**2
    # Shaken a little, as the plain way fails for points that are nearly in a plane.
    exact = ConvexHull((points - middle) / size, qhull_options="QJ")
    assert volume / size**3 == pytest.approx(exact.volume, abs=OUT * exact.area)


@settings(max_examples=150, deadline=None)
@given(clouds())
@example(cloud(drum, 1, 4, 1e-9, (1.0, 1.0, 1e-6), 0.0, False))  # where Qhull fails at first
def test_any_hull_is_closed_and_holds_its_points(points):
    points = np.unique(points, axis=0)
    size = np.ptp(points, axis=0).max()
    if polytopes._thickness(points) > 1e-9 * size:
        check(points, convex_hull(points, "hull"))
    else:
        with pytest.raises(ModelError, match="without volume"):
            convex_hull(points, "hull")


@pytest.mark.parametrize("noise", [0.0, 1e-13, 1e-11, 1e-9, 1e-8])
def test_a_cube_with_noise_has_six_faces(noise):
    x = np.linspace(-1, 1, 9)
    rng = np.random.default_rng(1)
    points = np.array([(a, b, c) for a in x for b in x for c in x])
    points = turned(points, rng) + noise * rng.normal(size=points.shape)
    found = convex_hull(points, "cube")
    assert len(found.faces) == 6
    check(points, found)


def test_triangles_that_do_not_close_are_found_again(monkeypatch):
    closed, asked = polytopes._closed, []

    def first_fails(*arguments):
        asked.append(closed(*arguments))
        return asked[-1] if len(asked) > 1 else None

    monkeypatch.setattr(polytopes, "_closed", first_fails)
    rng = np.random.default_rng(2)
    points = turned(np.vstack((lattice(rng, 200), 2 * np.eye(3))), rng)
    check(points, convex_hull(points, "hull"))
    assert len(asked) == 2


@pytest.mark.parametrize(
    "triangles",
    [
        [[0, 1, 2], [0, 1, 3], [0, 2, 3]],  # a side is missing
        [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]] * 2,  # twice
    ],
)
def test_what_is_not_closed_is_no_hull(triangles):
    points = np.vstack((np.zeros(3), np.eye(3)))
    assert polytopes._closed(points, np.array(triangles), np.ones((len(triangles), 3))) is None


def test_a_tetrahedron_by_triangles_in_any_order():
    points = np.vstack((np.zeros(3), np.eye(3)))
    corners = np.array([[0, 1, 2], [0, 1, 3], [2, 0, 3], [1, 2, 3]])
    normals = np.vstack((-np.eye(3)[[2, 1, 0]], np.ones((1, 3))))
    found = polytopes._closed(points, corners, normals)
    for triangle, around, normal in zip(*found, strict=True):
        assert polytopes._area(points[triangle]) @ normal > 0
        for k in range(3):
            side = {triangle[k], triangle[(k + 1) % 3]}
            assert side <= set(found.corners[around[k]])


def test_a_hull_that_is_refused_names_what_it_belongs_to():
    flat = np.random.default_rng(3).normal(size=(20, 3)) * (1, 1, 1e-11)
    with pytest.raises(ModelError, match="plate: a mesh without volume"):
        convex_hull(flat, "plate")
    with pytest.raises(ModelError, match="dot: a mesh without volume"):
        convex_hull(np.ones((10, 3)), "dot")
