"""Simplified hulls: what they lose is the Hausdorff distance that they tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from robosim import quaternions
from robosim.description import hulls
from robosim.description.qhull import hull_of
from robosim.loaders import disk_cache
from robosim.loaders import hulls as kept_hulls
from robosim.loaders.hulls import simplified_hull


def distance(point, corners):
    """From a point to the hull of corners, by least squares over their convex combinations."""
    weight = 1e5  # on the weights' sum, which must be one
    A = np.vstack(((corners - point).T, np.full(len(corners), weight)))
    weights, _ = nnls(A, np.array([0, 0, 0, weight]), maxiter=1000)
    return np.linalg.norm((corners - point).T @ weights)


def cloud(seed, n, flatness):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points *= (1, 0.5, flatness)
    return points @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + rng.normal(size=3)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 60), st.sampled_from([4, 8, 32]),
       st.sampled_from([1.0, 1e-3, 0.0]))  # fmt: skip
def test_the_loss_is_the_hausdorff_distance(seed, n, count, flatness):
    points = cloud(seed, n, flatness)
    hull = simplified_hull(points, count)
    assert len(hull.points) <= max(count, 1)
    assert all(np.any(np.all(point == points, axis=1)) for point in hull.points)
    farthest = max(distance(point, hull.points) for point in points)
    assert hull.loss == pytest.approx(farthest, abs=1e-8)


def test_more_points_lose_less_and_all_of_them_nothing():
    points = cloud(3, 300, 0.7)
    losses = [simplified_hull(points, count).loss for count in (14, 20, 32, 64, 128, 300)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 10 * losses[-2] > 0
    assert losses[-1] == 0
    assert simplified_hull(points, 32).vertices == 300


def test_inner_points_cost_nothing():
    box = np.array([(x, y, z) for x in (0, 1) for y in (0, 2) for z in (0, 3)], dtype=float)
    inside = np.random.default_rng(0).uniform(size=(500, 3)) * (1, 2, 3)
    hull = simplified_hull(np.vstack((inside, box)), 32)
    assert hull.loss == 0
    assert hull.vertices == 8
    np.testing.assert_array_equal(np.unique(hull.points, axis=0), np.unique(box, axis=0))


def test_nothing_has_no_hull():
    hull = simplified_hull(np.zeros((0, 3)))
    assert (len(hull.points), hull.loss, hull.vertices) == (0, 0, 0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_points_and_lines(n):
    points = np.outer(np.arange(n, dtype=float), (1, 2, 3)) + 1
    hull = simplified_hull(points)
    assert hull.loss == pytest.approx(0, abs=1e-14)
    assert len(hull.points) == min(n, 2)


def test_many_vertices_are_thinned_within_the_bound(monkeypatch):
    monkeypatch.setattr(hulls, "THINNED", 3000)
    monkeypatch.setattr(hulls, "_CELLS", 20)
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, size=(4000, 3)) * (1, 0.4, 0.3)
    points[2000] = (0.2, 0.1, 0.7)  # a spike, which must not be lost from the bounding box
    hull = hulls.simplified_hull(points, 32)
    np.testing.assert_array_equal(hull.points.max(axis=0), points.max(axis=0))
    np.testing.assert_array_equal(hull.points.min(axis=0), points.min(axis=0))
    farthest = max(distance(point, hull.points) for point in points)
    cell = np.sqrt(3) * np.ptp(points, axis=0).max() / 20
    assert farthest <= hull.loss <= farthest + 2 * cell
    assert hull.loss > cell


class TestDisk:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert disk_cache.folder() == tmp_path / "robosim" / "meshes"
        return disk_cache.folder()

    def test_a_hull_is_kept_and_read_back(self, folder, monkeypatch):
        points = cloud(1, 200, 1)
        first = simplified_hull(points)
        (entry,) = folder.iterdir()
        monkeypatch.setattr(hulls, "simplified_hull", lambda *_: pytest.fail("worked out again"))
        second = simplified_hull(points)
        np.testing.assert_array_equal(first.points, second.points)
        assert first[1:] == second[1:]
        monkeypatch.undo()
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent.parent))
        points = points.copy()
        points[0] *= 1 + 1e-15
        simplified_hull(points)
        assert len(list(folder.iterdir())) == 2
        assert entry.exists()

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda data: b"",
            lambda data: data[: len(data) // 2],
            lambda data: b"PK\x03\x04" + bytes(100),
            lambda data: bytes(b ^ 255 for b in data),
        ],
    )
    def test_a_broken_entry_is_worked_out_again(self, folder, spoil):
        points = cloud(1, 200, 1)
        first = simplified_hull(points)
        (entry,) = folder.iterdir()
        entry.write_bytes(spoil(entry.read_bytes()))
        np.testing.assert_array_equal(simplified_hull(points).points, first.points)
        # It has been replaced by a good one.
        assert kept_hulls._decoded(dict(np.load(entry))).loss == first.loss

    def test_an_entry_of_something_else_is_worked_out_again(self, folder):
        points = cloud(1, 200, 1)
        first = simplified_hull(points)
        (entry,) = folder.iterdir()
        for arrays in ({"points": points}, {"points": -points, "told": np.array([np.nan, 1])}):
            np.savez(entry, **arrays)
            np.testing.assert_array_equal(simplified_hull(points).points, first.points)

    def test_a_folder_that_cannot_be_written_is_no_hindrance(self, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        assert simplified_hull(cloud(1, 200, 1)).vertices == 200

    def test_the_size_is_bounded_and_what_was_used_last_stays(self, folder, monkeypatch):
        clouds = [cloud(seed, 200, 1) for seed in range(5)]
        simplified_hull(clouds[0])
        (first,) = folder.iterdir()
        size = first.stat().st_size
        monkeypatch.setattr(disk_cache, "LARGEST", 3 * size + size // 2)
        monkeypatch.setattr(disk_cache, "_MADE_ROOM", size)
        for points in clouds[1:]:
            simplified_hull(points)
            simplified_hull(clouds[0])  # used again
            assert sum(entry.stat().st_size for entry in folder.iterdir()) <= 3 * size + size // 2
        assert first.exists()
        assert all(entry.suffix == ".npz" for entry in folder.iterdir())


def _few_points() -> Iterator[np.ndarray]:
    """Points of shapes with faces that are no triangles, thin and turned ones, and random ones."""
    rng = np.random.default_rng(5)
    R = quaternions.rotation_matrix(quaternions.from_rpy((0.3, 1.1, -0.7)))
    box = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    yield box @ R.T
    yield np.vstack((box, 0.5 * box + (0.3, 0.0, 0.0))) @ R.T + 7.0
    yield (box * (1.0, 0.2, 1e-6)) @ R.T
    angles = 2 * np.pi * np.arange(12) / 12
    rim = np.column_stack((np.cos(angles), np.sin(angles), np.ones(12)))
    yield np.vstack((rim, rim * (1, 1, -1))) @ R.T
    for n in (4, 9, hulls.FEW):
        yield rng.normal(size=(n, 3))


def test_planes_of_few_points_are_those_of_qhull():
    """Heights above the hull of points anywhere, negative inside: the same without Qhull."""
    rng = np.random.default_rng(6)
    for points in _few_points():
        planes = hulls.planes(points)
        expected = hull_of(points).equations
        low, high = points.min(axis=0), points.max(axis=0)
        anywhere = np.vstack((points, rng.uniform(1.5 * low - 0.5 * high, high, (100, 3))))
        found, right = (
            (anywhere @ some[:, :3].T + some[:, 3]).max(axis=1) for some in (planes, expected)
        )
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-10 * np.ptp(points))


def test_flat_points_have_no_planes():
    square = np.array([(0.0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
    assert hulls.planes(square) is None
    assert hulls.planes(square[:3]) is None
    assert hulls.planes(np.repeat(square, 20, axis=0)) is None
