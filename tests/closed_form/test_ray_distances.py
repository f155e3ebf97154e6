"""Rays against shapes: points of surfaces that are known, from outside and from within."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, Geometry, Joint, Mechanism, quaternions
from robosim.collision import HalfSpace, HeightField, TriangleMesh
from robosim.rays import Scene

SHAPES = {
    "box": Geometry("box", (0.4, 0.7, 1.1)),
    "sphere": Geometry("sphere", (0.6,)),
    "cylinder": Geometry("cylinder", (0.4, 1.3)),
    "capsule": Geometry("capsule", (0.3, 0.9)),
    "ellipsoid": Geometry("ellipsoid", (0.3, 0.5, 0.9)),
}
N = 400


def turn(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def units(rng, n=N):
    u = rng.normal(size=(n, 3))
    return u / np.linalg.norm(u, axis=1, keepdims=True)


def surface(kind, size, rng):
    """Points of a surface and normals there, (N, 3) each, in the axes of the shape."""
    u = units(rng)
    if kind == "sphere":
        return size[0] * u, u
    if kind == "ellipsoid":
        normals = u / np.array(size)
        return u * size, normals / np.linalg.norm(normals, axis=1, keepdims=True)
    if kind == "box":
        half, rows = np.array(size) / 2, np.arange(N)
        points, normals = rng.uniform(-half, half, (N, 3)), np.zeros((N, 3))
        axis, sign = rng.integers(0, 3, N), rng.choice((-1.0, 1.0), N)
        points[rows, axis], normals[rows, axis] = sign * half[axis], sign
        return points, normals
    radius, half = size[0], size[1] / 2
    angle, z = rng.uniform(0, 2 * np.pi, N), rng.uniform(-half, half, N)
    ring = np.column_stack((np.cos(angle), np.sin(angle), np.zeros(N)))
    side = radius * ring + z[:, None] * (0, 0, 1), ring
    end = np.sign(z)[:, None] * (0, 0, 1)
    if kind == "cylinder":
        other = half * end + ring * rng.uniform(0, radius, N)[:, None], end
    else:
        u[:, 2] = np.abs(u[:, 2]) * np.sign(z)
        other = half * end + radius * u, u
    first = rng.random(N) < 0.5
    return tuple(np.where(first[:, None], a, b) for a, b in zip(side, other, strict=True))


def placed(shape, rng):
    """A scene with a shape on a body that is somewhere, and the axes of the shape there."""
    shape = Geometry(
        shape.kind, shape.size, rng.normal(size=3), turn(rng),
        vertices=shape.vertices, faces=shape.faces,
    )  # fmt: skip
    body = Body("b", 1.0, np.eye(3), collisions=(shape,))
    robot = Mechanism("m", (body,), (Joint("j", "floating", None, "b"),))
    x, q = rng.normal(size=3), turn(rng)
    R = quaternions.rotation_matrix(q)
    axes = R @ quaternions.rotation_matrix(np.asarray(shape.quaternion))
    return Scene(robot).at(np.concatenate((x, q))), x + R @ np.asarray(shape.position), axes


def check(hits, distance, points, normals):
    np.testing.assert_allclose(hits.distance, distance, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(hits.point, points, rtol=0, atol=2e-12)
    np.testing.assert_allclose(hits.normal, normals, rtol=0, atol=1e-11)
    assert np.all(hits.body == 0)
    assert np.all(hits.geometry == 0)


@pytest.mark.parametrize("kind", SHAPES)
def test_from_outside(kind):
    rng = np.random.default_rng(1)
    scene, x, R = placed(SHAPES[kind], rng)
    p, n = surface(kind, SHAPES[kind].size, rng)
    d = units(rng)
    d *= -np.sign(np.sum(d * n, axis=1))[:, None]
    d = np.where(np.sum(d * n, axis=1)[:, None] < -0.1, d, -n)
    away = rng.uniform(0.0, 4.0, N)
    points, ways = x + p @ R.T, d @ R.T
    hits = scene.cast(points - away[:, None] * ways, rng.uniform(0.1, 9.0, N)[:, None] * ways)
    check(hits, away, points, n @ R.T)


@pytest.mark.parametrize("kind", SHAPES)
def test_from_within(kind):
    rng = np.random.default_rng(2)
    scene, x, R = placed(SHAPES[kind], rng)
    p, n = surface(kind, SHAPES[kind].size, rng)
    inside = 0.9 * surface(kind, SHAPES[kind].size, rng)[0] * rng.random((N, 1))
    points, origins = x + p @ R.T, x + inside @ R.T
    ways = points - origins
    clear = np.sum((p - inside) * n, axis=1) > 0.1 * np.linalg.norm(ways, axis=1)
    assert clear.sum() > 0.8 * N
    hits = scene.cast(origins[clear], ways[clear])
    check(hits, np.linalg.norm(ways, axis=1)[clear], points[clear], (n @ R.T)[clear])


@pytest.mark.parametrize("kind", SHAPES)
def test_away_and_beside(kind):
    """Rays that leave a surface, and that pass it by a part in 10^9 of the size or touch it."""
    rng = np.random.default_rng(3)
    scene, x, R = placed(SHAPES[kind], rng)
    p, n = surface(kind, SHAPES[kind].size, rng)
    d = units(rng)
    d *= np.sign(np.sum(d * n, axis=1))[:, None]
    hits = scene.cast(x + (p + 1e-9 * n) @ R.T, d @ R.T)
    assert np.all(np.isinf(hits.distance))
    assert np.all(hits.body == -1)
    assert np.all(hits.geometry == -1)
    assert np.all(np.isnan(hits.point))
    assert np.all(np.isnan(hits.normal))
    across = np.cross(n, d)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    beside = x + (p + 1e-9 * n - 2.0 * across) @ R.T
    assert np.all(np.isinf(scene.cast(beside, across @ R.T).distance))
    if kind not in ("box", "cylinder"):  # where the surface bends away
        within = x + (p - 1e-6 * n - 2.0 * across) @ R.T
        assert np.all(scene.cast(within, across @ R.T).distance < 2.0)


@pytest.mark.parametrize("kind", ["cylinder", "capsule", "box"])
def test_along_the_axis(kind):
    """Parallel to faces, from outside, from within, from behind and beside."""
    shape = SHAPES[kind]
    body = Body("b", 1.0, np.eye(3), collisions=(shape,))
    scene = Scene(Mechanism("m", (body,), (Joint("j", "floating", None, "b"),)))
    top = {"cylinder": 0.65, "capsule": 0.45 + np.sqrt(0.09 - 0.01), "box": 0.55}[kind]
    o = np.array([[0.1, 0, 3], [0.1, 0, 0], [0.1, 0, -3], [0.5, 0, 3], [0.1, 0, top]])
    hits = scene.cast(o, (0.0, 0.0, -2.0))
    np.testing.assert_allclose(
        hits.distance, (3 - top, top, np.inf, np.inf, 0.0), rtol=1e-14, atol=1e-14
    )


def test_a_half_space_is_met_from_outside_only():
    rng = np.random.default_rng(4)
    n = units(rng, 1)[0]
    plane = HalfSpace(n, (0.3, -0.2, 0.5), name="slope")
    body = Body("b", 1.0, np.eye(3), collisions=(Geometry("sphere", (0.01,), (90.0, 0, 0)),))
    robot = Mechanism("m", (body,), (Joint("j", "floating", None, "b"),), obstacles=(plane,))
    scene = Scene(robot)
    across = np.cross(n, units(rng))
    points, d = np.asarray(plane.point) + across, units(rng)
    d *= -np.sign(d @ n)[:, None]
    d -= 0.1 * n
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    away = rng.uniform(0, 4, N)
    hits = scene.cast(points - away[:, None] * d, d)
    np.testing.assert_allclose(hits.distance, away, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(hits.normal, np.tile(n, (N, 1)), atol=1e-15)
    assert np.all(hits.body == 1)
    below = scene.cast(points + away[:, None] * d, -d)
    assert np.all(np.isinf(below.distance) | (below.body == 0))


def tetrahedron(rng):
    vertices = rng.normal(size=(4, 3))
    if np.linalg.det(vertices[1:] - vertices[0]) < 0:
        vertices[[0, 1]] = vertices[[1, 0]]
    return Geometry("mesh", vertices=vertices, faces=[(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def test_a_mesh():
    """From outside of a convex one, from within, and through edges and corners."""
    rng = np.random.default_rng(5)
    shape = tetrahedron(rng)
    scene, x, R = placed(shape, rng)
    corners = shape.vertices[shape.faces[rng.integers(0, 4, N)]]
    weights = rng.dirichlet((1, 1, 1), N)
    p = np.einsum("nk,nki->ni", weights, corners)
    n = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    d = units(rng)
    d *= -np.sign(np.sum(d * n, axis=1))[:, None]
    d = np.where(np.sum(d * n, axis=1)[:, None] < -0.1, d, -n)
    away = rng.uniform(0.1, 4.0, N)
    hits = scene.cast(x + (p - away[:, None] * d) @ R.T, d @ R.T)
    check(hits, away, x + p @ R.T, n @ R.T)
    middle = shape.vertices.mean(axis=0)
    ways = p - middle
    hits = scene.cast(x + R @ middle, ways @ R.T)
    check(hits, np.linalg.norm(ways, axis=1), x + p @ R.T, n @ R.T)


def test_no_ray_passes_between_triangles():
    """From within through edges and corners of a box that is a mesh, along axes and not."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    faces = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    triangles = [part for f in faces for part in (f[:3], [f[0], f[2], f[3]])]
    rng = np.random.default_rng(6)
    shape = Geometry("mesh", vertices=signs * (0.3, 0.7, 1.1), faces=triangles)
    for scene, x, R in (placed(shape, rng), placed(shape, rng)):
        grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 9)] * 3), -1).reshape(-1, 3)
        grid = grid[np.abs(grid).max(axis=1) == 1] * (0.3, 0.7, 1.1)
        for inside in (np.zeros(3), np.array((0.1, 0.2, -0.3))):
            hits = scene.cast(x + R @ inside, (grid - inside) @ R.T)
            away = np.linalg.norm(grid - inside, axis=1)
            np.testing.assert_allclose(hits.distance, away, rtol=1e-12)


def field_and_mesh(rng):
    """A height field, and its triangles as a mesh."""
    heights = 0.3 * rng.random((7, 10))
    place = {"position": rng.normal(size=3), "quaternion": turn(rng)}
    field = HeightField(heights, (2.4, 3.1), **place)
    x, y = np.linspace(-1.2, 1.2, 7), np.linspace(-1.55, 1.55, 10)
    vertices = np.stack((*np.meshgrid(x, y, indexing="ij"), heights), -1).reshape(-1, 3)
    corner = (np.arange(6)[:, None] * 10 + np.arange(9)).reshape(-1, 1)
    faces = np.vstack((corner + np.array((0, 10, 11)), corner + np.array((0, 11, 1))))
    return field, TriangleMesh(Geometry("mesh", vertices=vertices, faces=faces, **place)), vertices


def scene_of(obstacle):
    body = Body("b", 1.0, np.eye(3), collisions=(Geometry("sphere", (0.01,)),))
    joint = Joint("j", "floating", None, "b")
    return Scene(Mechanism("m", (body,), (joint,), obstacles=(obstacle,))).at(
        (99.0, 0, 0, 1, 0, 0, 0)
    )


def test_a_height_field_is_its_triangles():
    rng = np.random.default_rng(7)
    field, mesh, vertices = field_and_mesh(rng)
    R = quaternions.rotation_matrix(np.asarray(field.quaternion))
    at = vertices[rng.integers(0, len(vertices), 4000)] + rng.normal(scale=0.2, size=(4000, 3))
    d = rng.normal(size=(4000, 3)) * rng.choice(((1, 1, 1), (1, 1, 0.05), (1, 0.01, 0.1)), 4000)
    d[:500, rng.integers(0, 2)] = 0.0
    d[:200] = (0.0, 0.0, -1.0)
    o = at - d * rng.uniform(0, 3, (4000, 1))
    origins, ways = np.asarray(field.position) + o @ R.T, d @ R.T
    ours, theirs = scene_of(field).cast(origins, ways), scene_of(mesh).cast(origins, ways)
    assert 0.3 < np.isfinite(theirs.distance).mean() < 0.98
    np.testing.assert_allclose(ours.distance, theirs.distance, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(ours.normal, theirs.normal, atol=1e-11)


def test_a_scan_of_a_height_field_from_above():
    """Along z of an upright field: at points of the grid the heights, between them planes."""
    rng = np.random.default_rng(8)
    heights = rng.random((5, 4))
    scene = scene_of(HeightField(heights, (4.0, 3.0), position=(0.5, 0.25, 1.0)))
    i, j = np.meshgrid(np.arange(5), np.arange(4), indexing="ij")
    origins = np.stack((i - 2 + 0.5, j - 1.5 + 0.25, np.full((5, 4), 9.0)), -1).reshape(-1, 3)
    down = scene.cast(origins, (0.0, 0.0, -3.0))
    np.testing.assert_allclose(down.point[:, 2], 1.0 + heights.ravel(), rtol=1e-14)
    origins[:, 2] = -9.0
    up = scene.cast(origins, (0.0, 0.0, 3.0))
    np.testing.assert_allclose(up.point[:, 2], 1.0 + heights.ravel(), rtol=1e-14)
    # In the cell (2, 1): below its diagonal and above.
    a, b, c, d = heights[2, 1], heights[3, 1], heights[2, 2], heights[3, 2]
    first = scene.cast((0.5 + 0.75, -0.25 + 0.25, 9.0), (0, 0, -1))
    assert first.point[2] == pytest.approx(1 + a + 0.75 * (b - a) + 0.25 * (d - b), rel=1e-14)
    other = scene.cast((0.5 + 0.25, -0.25 + 0.5, 9.0), (0, 0, -1))
    assert other.point[2] == pytest.approx(1 + a + 0.5 * (c - a) + 0.25 * (d - c), rel=1e-14)
    across = np.array([(1.0, 0.0, b - a), (0.0, 1.0, d - b)])
    np.testing.assert_allclose(across @ first.normal, 0.0, atol=1e-14)
    beside = scene.cast([(2.6, 0.0, 9.0), (0.0, -1.3, 9.0)], (0, 0, -1))
    assert np.all(np.isinf(beside.distance))
