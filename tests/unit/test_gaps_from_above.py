"""Gaps of a shape that is let down on another one, against heights that are found otherwise.

How far a convex shape can be let down is exact for polytopes: a corner of one meets a face of the
other, or two edges cross. A little above that height the gap must be there and positive, a little
below it must be as small: a normal that parts the two where they do not touch gives millimetres.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from test_shapes import WORLD, Geometry, HeightField, as_mesh, hull, pose, scene

from robosim import quaternions

ABOVE = (1e-3, 1e-6, 1e-9, 1e-10, 1e-12, 0.0, -1e-12, -1e-10, -1e-8, -1e-6)  # [m]
ALIKE = 3e-8  # [m], 1e-7 of the sizes of both shapes
ROUNDING = 5e-11  # [m], of gaps: the narrow phase takes axes for equal below 1e-10 of the shapes
SIDES = 240  # of the cylinder here, inside of the true one by 1e-4 of its radius


def prism(sides, radius, length):
    angles = 2 * np.pi * np.arange(sides) / sides
    ring = radius * np.column_stack((np.cos(angles), np.sin(angles)))
    return np.vstack(
        [np.column_stack((ring, np.full(sides, z))) for z in (-length / 2, length / 2)]
    )


def mesh(points):
    return Geometry("mesh", vertices=points, faces=[[0, 1, 2]])


SHAPES = {
    "box": Geometry("box", (0.2, 0.2, 0.2)),
    "plate": Geometry("box", (0.4, 0.3, 0.03)),
    "hull": hull(20, 1, (0.2, 0.15, 0.1)),
    "corner": mesh(0.2 * np.vstack((np.zeros(3), np.eye(3))) - 0.05),
    "prism": mesh(prism(24, 0.12, 0.2)),
    "cylinder": Geometry("cylinder", (0.12, 0.2)),
}


def corners(shape):
    if shape.kind == "box":
        return np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * np.array(shape.size)
    if shape.kind == "cylinder":
        return prism(SIDES, *shape.size)
    return np.asarray(shape.vertices)


HULLS = {name: ConvexHull(corners(shape)) for name, shape in SHAPES.items()}


def edges_of(faces):
    pairs = np.vstack([faces[:, [k, (k + 1) % 3]] for k in range(3)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def facing(name, R, up):
    """Triangles of a shape that look up (1) or down (-1)."""
    shape = HULLS[name]
    return shape.simplices[up * (shape.equations[:, :3] @ R.T)[:, 2] > 1e-12]


def heights(points, triangles):
    """Heights of triangles (m, 3, 3) at points (n, 2+), (n, m); inf where they are not."""
    a = triangles[:, 0]
    d, e = triangles[:, 1] - a, triangles[:, 2] - a
    p = points[:, None, :2] - a[None, :, :2]
    with np.errstate(divide="ignore", invalid="ignore"):
        size = d[:, 0] * e[:, 1] - d[:, 1] * e[:, 0]
        s = (p[..., 0] * e[:, 1] - p[..., 1] * e[:, 0]) / size
        t = (d[:, 0] * p[..., 1] - d[:, 1] * p[..., 0]) / size
        z = a[:, 2] + s * d[:, 2] + t * e[:, 2]
    return np.where((s >= -1e-13) & (t >= -1e-13) & (s + t <= 1 + 1e-13), z, np.nan)


def clearance(upper, upper_faces, lower, lower_faces):
    """By how much one surface can be let down until it touches the other one [m]."""
    over, under = upper[upper_faces], lower[lower_faces]
    best = np.nanmin(upper[:, 2:] - heights(upper, under), initial=np.inf)
    best = min(best, np.nanmin(heights(lower, over) - lower[:, 2:], initial=np.inf))
    h, e = upper[edges_of(upper_faces)], lower[edges_of(lower_faces)]
    a, d = h[:, None, 0], (h[:, 1] - h[:, 0])[:, None]
    b, g = e[None, :, 0], (e[:, 1] - e[:, 0])[None]
    r = b - a
    with np.errstate(divide="ignore", invalid="ignore"):
        size = d[..., 0] * g[..., 1] - d[..., 1] * g[..., 0]
        s = (r[..., 0] * g[..., 1] - r[..., 1] * g[..., 0]) / size
        t = (r[..., 0] * d[..., 1] - r[..., 1] * d[..., 0]) / size
        z = a[..., 2] + s * d[..., 2] - b[..., 2] - t * g[..., 2]
    return min(best, z[(s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)].min(initial=np.inf))


def let_down(pair, base, body, depth, rounds):
    """Compare gaps just above and below where a body touches; `rounds` of the two are cylinders."""
    start = body["x"][2]
    nearer = farther = 1e-4 * 0.12 * rounds + ROUNDING
    for above in ABOVE:
        body["x"][2] = start - depth + above
        gap = pair.find(base, body, margin=0.02)["gap"].min(initial=np.inf)
        # Along a normal that leans a body is less deep, and nearer, than from above. One that parts
        # the shapes by next to nothing less than the best one may be taken.
        assert min(1.1 * above, 0.0) - nearer - ALIKE <= gap <= max(above, 0.0) + farther


x = np.linspace(-3, 3, 61)
TERRAINS = {
    "hills": HeightField(0.1 * np.cos(2 * x)[:, None] * np.cos(1.5 * x), (6.0, 6.0)),
    "rough": HeightField(0.05 * np.random.default_rng(0).random((31, 31)), (3.0, 3.0)),
    "jagged": HeightField(0.3 * np.random.default_rng(1).random((13, 13)), (3.0, 3.0)),
}


@pytest.mark.parametrize("terrain", TERRAINS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_let_down_on_terrain(terrain, name):
    field, rng = TERRAINS[terrain], np.random.default_rng(2)
    pair, surface = scene(field, SHAPES[name]), as_mesh(field)
    ground, faces = np.asarray(surface.vertices), np.asarray(surface.faces)
    for trial in range(60):
        # Nearly level, too, and as often along lines of the grid.
        q = rng.normal(size=4) if trial % 3 else np.array([1, 0, 0, 0]) + 0.05 * rng.normal(size=4)
        body = pose((*rng.uniform(-0.6, 0.6, 2), 2.0), q)
        if trial % 2:
            body["x"][:2] = np.round(body["x"][:2] * 20) / 20
        points = body["x"] + corners(SHAPES[name]) @ body["R"].T
        near = np.all(np.abs(ground[faces][..., :2].mean(axis=1) - body["x"][:2]) < 0.6, axis=1)
        used, local = np.unique(faces[near], return_inverse=True)
        depth = clearance(points, facing(name, body["R"], -1), ground[used], local.reshape(-1, 3))
        let_down(pair, WORLD, body, depth, name == "cylinder")


def some_turn(rng, noise):
    """A turn that makes faces and edges parallel, but for noise."""
    q = np.array([1.0, 0.0, 0.0, 0.0])
    for _ in range(rng.integers(0, 3)):
        axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.7 else (np.sqrt(0.5), np.sqrt(0.5), 0)
        angle = rng.choice([np.pi / 2, np.pi / 4, np.pi, np.pi / 12, np.arctan(np.sqrt(2))])
        q = quaternions.multiply(q, quaternions.from_axis_angle(axis, angle))
    return q + noise * rng.normal(size=4)


@pytest.mark.parametrize(("upper", "lower"), list(itertools.product(SHAPES, SHAPES)))
def test_a_shape_let_down_on_another_one(upper, lower):
    """Faces, edges and corners that meet each other, but for 1e-12 or more."""
    rng, pair = np.random.default_rng(3), scene(SHAPES[lower], SHAPES[upper])
    touched = 0
    for trial in range(30):
        noise = (0.0, 1e-12, 1e-9, 1e-6, 1e-4)[trial % 5]
        base = pose(q=some_turn(rng, noise))
        place = rng.choice([-0.15, -0.1, -0.05, 0, 0.05, 0.1, 0.15], 2) + noise * rng.normal(size=2)
        body = pose((*place, 1.0), some_turn(rng, noise) if trial % 7 else rng.normal(size=4))
        points = body["x"] + corners(SHAPES[upper]) @ body["R"].T
        depth = clearance(
            points,
            facing(upper, body["R"], -1),
            corners(SHAPES[lower]) @ base["R"].T,
            facing(lower, base["R"], 1),
        )
        if np.isfinite(depth):
            let_down(pair, base, body, depth, (upper == "cylinder") + (lower == "cylinder"))
            touched += 1
    assert touched > 15


def test_a_corner_that_touches_hills():
    """It had been given a gap of -6 mm, to the plane of a triangle that it is not over."""
    pair = scene(TERRAINS["hills"], SHAPES["box"])
    q = [0.3162574245891093, 0.6952883656699493, 0.2779304126947545, -0.5825032323134339]
    for above in (0.0, 1e-12, 1e-9, 1e-6):
        body = pose((-0.5295427230816261, -0.1620000013135586, 0.14875053717325507 + above), q)
        gap = pair.find(WORLD, body, margin=0.1)["gap"].min()
        assert above / 2 < gap < above + 3e-12


@pytest.mark.parametrize("gap", [1e-4, 1e-9, 0.0, -1e-9, -1e-6])
@pytest.mark.parametrize("lean", [0.0, 1e-12, 1e-9])
def test_a_cylinder_stands_with_its_axis_beyond_an_edge(gap, lean):
    """The nearest point of the axis is across it, and inside: a capsule would be entered."""
    pair = scene(SHAPES["box"], SHAPES["cylinder"])
    turn = quaternions.from_axis_angle((0, 1, 0), lean)
    features = pair.find(WORLD, pose((0.15, 0, 0.2 + gap), turn), margin=0.02)
    assert features["gap"].min() == pytest.approx(gap, abs=2e-10)


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-7, 1e-6, 1e-4])
def test_a_cylinder_lies_across_an_edge(tilt):
    """Its side is round however it lies: no prism, which would be nearer by 1 mm."""
    pair = scene(SHAPES["box"], SHAPES["cylinder"])
    edge = pose(q=quaternions.from_axis_angle((1, 0, 0), np.pi / 4))
    across = quaternions.from_axis_angle((1, 0, 0), np.pi / 2)
    turn = quaternions.multiply(quaternions.from_axis_angle((1, 0, 0), tilt), across)
    features = pair.find(edge, pose((0.01, 0, 0.1 * np.sqrt(2) + 0.12 / np.cos(tilt)), turn))
    assert features["gap"].min() == pytest.approx(0, abs=1e-12)
