"""Where two shapes may touch: distances by a peer, normals, invariances, terrain."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from robosim import ModelError, quaternions
from robosim.bodies import Geometry
from robosim.collision import HalfSpace, HeightField, TriangleMesh
from robosim.compiled.building.shapes import compile_shapes
from robosim.compiled.kinds import EDGE, OVAL, OVAL_EDGE, OVAL_PAIR, PLANE, RIM, RIM_EDGE, ROUND
from robosim.compiled.records.body import POSE
from robosim.compiled.records.narrow_phase import FEATURES
from robosim.compiled.records.shape import FEATURE, LOOK
from robosim.compiled.workspace import make_shape_scratch
from robosim.description.cones import pyramid
from robosim.kernels.compiler.jit import entry
from robosim.kernels.narrow_phase.find import find_features
from robosim.kernels.narrow_phase.rims import lowest_on_rim

EXACT = 1e-9  # [m], of distances of shapes of about 1 m; those of the peer hold to 1e-9
WORLD = np.zeros(1, dtype=POSE)[0]
WORLD["q"], WORLD["R"] = (1, 0, 0, 0), np.eye(3)


def hull(n, seed, radii=(0.5, 0.4, 0.3)):
    points = np.random.default_rng(seed).normal(size=(n, 3))
    points *= np.array(radii) / np.linalg.norm(points, axis=1)[:, None]
    return Geometry("mesh", vertices=points, faces=[[0, 1, 2]])


SHAPES = {
    "sphere": Geometry("sphere", (0.3,)),
    "capsule": Geometry("capsule", (0.2, 0.6)),
    "box": Geometry("box", (0.6, 0.8, 0.4)),
    "hull": hull(30, 1),
    "cylinder": Geometry("cylinder", (0.3, 0.5)),
    "ellipsoid": Geometry("ellipsoid", (0.25, 0.4, 0.15)),
    "cone": Geometry("cone", (0.3, 0.5)),
    "cup": Geometry("cone", (0.3, 0.4, 0.2)),
}
PAIRS = list(itertools.product(SHAPES, SHAPES))
ROUND_FACED = ("cylinder", "cone", "cup")
# Of these and of ellipsoids the peer's distances are approximate.
EXACT_PAIRS = [pair for pair in PAIRS if not {*ROUND_FACED, "ellipsoid"} & set(pair)]


def pose(x=(0, 0, 0), q=(1, 0, 0, 0)):
    record = np.zeros(1, dtype=POSE)[0]
    record["x"], record["q"] = x, np.array(q) / np.linalg.norm(q)
    record["R"] = quaternions.rotation_matrix(record["q"])
    return record


def random_pose(rng, spread):
    return pose(spread * rng.normal(size=3), rng.normal(size=4))


@entry
def features_of(shapes, data, pose_a, pose_b, a, b, margin, level, look, scratch, out):
    return find_features(shapes, data, pose_a, pose_b, a, b, margin, level, look, scratch, out)


class Scene(NamedTuple):
    """Some shapes, and what may touch of any two of them."""

    shapes: np.ndarray
    data: tuple
    scratch: tuple

    def find(self, pose_a, pose_b, a=0, b=1, margin=0.1, level=1e-10):
        out = np.zeros(FEATURES, dtype=FEATURE)
        places = (pose_a, pose_b, a, b)
        look = np.zeros(1, dtype=LOOK)[0]
        count = features_of(self.shapes, self.data, *places, margin, level, look, self.scratch, out)
        return out[:count]


def scene(*shapes):
    records, data = compile_shapes(shapes)
    return Scene(records, data, make_shape_scratch(records, data))


ALL = scene(*SHAPES.values())
INDEX = {name: i for i, name in enumerate(SHAPES)}


def to_world(pose, p):
    return pose["x"] + pose["R"] @ p


def nearest_points(a0, a1, b0, b1):
    """The nearest points of two segments: inside of both or at an end of one."""
    d, e, r = a1 - a0, b1 - b0, b0 - a0
    trials = [(s, np.clip((s * d - r) @ e / max(e @ e, 1e-300), 0, 1)) for s in (0.0, 1.0)]
    trials += [(np.clip((r + t * e) @ d / max(d @ d, 1e-300), 0, 1), t) for t in (0.0, 1.0)]
    matrix = np.array([[d @ d, -d @ e], [-d @ e, e @ e]])
    if np.linalg.det(matrix) > 1e-12 * (d @ d) * (e @ e):
        s, t = np.linalg.solve(matrix, [r @ d, -r @ e])
        if 0 <= s <= 1 and 0 <= t <= 1:
            trials.append((s, t))
    points = [(a0 + s * d, b0 + t * e) for s, t in trials]
    return min(points, key=lambda pair: np.linalg.norm(pair[1] - pair[0]))


def measure(feature, pose_a, pose_b, a=None, b=None):
    """Gap and normal (3,), A to B, of a feature, by its definition in robosim.compiled.records.

    `a` and `b` are the shapes, of which ellipsoids have their semi-axes.
    """
    a0, b0 = to_world(pose_a, feature["a0"]), to_world(pose_b, feature["b0"])
    if feature["kind"] in (OVAL_EDGE, OVAL_PAIR):
        return measure_oval(feature, pose_a, pose_b, a, b)
    if feature["kind"] in (PLANE, RIM, OVAL):
        (owner, mine), (other, theirs) = ("a", pose_a), ("b", pose_b)
        if feature["flip"] != 0:
            (owner, mine), (other, theirs) = (other, theirs), (owner, mine)
        n, reach = mine["R"] @ feature[f"{owner}1"], feature["radius"]
        if feature["kind"] == RIM:
            reach *= np.sqrt(1 - (n @ theirs["R"] @ feature[f"{other}1"]) ** 2)
        if feature["kind"] == OVAL:
            reach = np.linalg.norm((b if owner == "a" else a).size * (theirs["R"].T @ n))
        gap = n @ ((b0 - a0) if owner == "a" else (a0 - b0)) - reach
        return gap, n if owner == "a" else -n
    if feature["kind"] == ROUND:
        a1, b1 = to_world(pose_a, feature["a1"]), to_world(pose_b, feature["b1"])
        p, q = nearest_points(a0, a1, b0, b1)
        length = np.linalg.norm(q - p)
        return length - feature["radius"], (q - p) / length
    if feature["kind"] == RIM_EDGE:
        return measure_rim_edge(feature, pose_a, pose_b)
    n = feature["sign"] * np.cross(pose_a["R"] @ feature["a1"], pose_b["R"] @ feature["b1"])
    n /= np.linalg.norm(n)
    return n @ (b0 - a0), n


def measure_rim_edge(feature, pose_a, pose_b):
    """`measure` of a rim and an edge, by normals around the edge near the one it begins with."""
    edge, rim, edge_at, rim_at = ("a", "b", pose_a, pose_b)
    around = feature["radius_a"]
    if feature["flip"] != 0:
        edge, rim, edge_at, rim_at = ("b", "a", pose_b, pose_a)
        around = feature["radius"] - around
    radius, sign = feature["radius"] - around, 1 if edge == "a" else -1
    axis = rim_at["R"] @ feature[f"{rim}1"]
    w = to_world(rim_at, feature[f"{rim}0"]) - to_world(edge_at, feature[f"{edge}0"])
    d = feature[f"{edge}1"]
    if not d.any():
        across = -w - (-w @ axis) * axis
        n = w + radius * across / np.linalg.norm(across)
        return np.linalg.norm(n) - around, sign * n / np.linalg.norm(n)
    first = np.cross(np.cross(d, np.eye(3)[0 if abs(d[0]) < 0.9 else 1]), d)
    first /= np.linalg.norm(first)
    frame = edge_at["R"] @ np.column_stack((first, np.cross(d, first)))

    def apart(angle):
        n = frame @ (np.cos(angle), np.sin(angle))
        return n @ w - radius * np.sqrt(1 - (n @ axis) ** 2)

    near = feature["sign"] + np.array((-0.2, 0.2))
    best = minimize_scalar(
        lambda angle: -apart(angle), bounds=near, method="bounded", options={"xatol": 1e-12}
    ).x
    return apart(best) - around, sign * frame @ (np.cos(best), np.sin(best))


def measure_oval(feature, pose_a, pose_b, a, b):
    """`measure` of an ellipsoid and something else than a plane, by normals near the given one."""
    owner, mine, theirs, shape, body = "a", pose_a, pose_b, a, b
    around, other = feature["radius_a"], "b"
    if feature["flip"] != 0:
        owner, mine, theirs, shape, body, other = "b", pose_b, pose_a, b, a, "a"
        around = feature["radius"] - around
    w = to_world(theirs, feature[f"{other}0"]) - to_world(mine, feature[f"{owner}0"])
    d, start = mine["R"] @ feature[f"{owner}1"], theirs["R"] @ feature[f"{other}1"]
    is_edge = feature["kind"] == OVAL_EDGE and d.any()
    across = np.linalg.svd(d[None])[2][1:] if is_edge else np.eye(3)

    def overlap(x):
        n = x @ across / np.linalg.norm(x)
        reach = np.linalg.norm(body.size * (theirs["R"].T @ n))
        if feature["kind"] == OVAL_EDGE:
            reach += around
        elif shape.kind == "ellipsoid":
            reach += np.linalg.norm(shape.size * (mine["R"].T @ n))
        else:
            reach += around * np.linalg.norm(np.cross(d, n))
        return reach - n @ w

    options = {"xatol": 1e-13, "fatol": 1e-15, "maxiter": 4000, "maxfev": 4000}
    best = minimize(overlap, across @ start, method="Nelder-Mead", options=options)
    n = best.x @ across / np.linalg.norm(best.x)
    assert n @ start == pytest.approx(1.0, abs=1e-9)
    return -best.fun, n if owner == "a" else -n


def separation(a, pose_a, b, pose_b, trials=24):
    """How far two convex shapes are apart, or the negative of how far they overlap [m].

    It is the largest, over all normals, of what a normal parts them by.
    """
    rng = np.random.default_rng(0)

    def overlap(x):
        n = x / np.linalg.norm(x)
        return support(a, pose_a, n) + support(b, pose_b, -n)

    starts = [pose_b["x"] - pose_a["x"], *rng.normal(size=(trials, 3))]
    options = {"xatol": 1e-13, "fatol": 1e-14, "maxiter": 4000, "maxfev": 4000}
    best = min(
        (
            minimize(
                overlap,
                x / np.linalg.norm(x),
                method="Nelder-Mead",
                options={"xatol": 1e-4, "fatol": 1e-6},
            )
            for x in starts
        ),
        key=lambda result: result.fun,
    )
    return -minimize(overlap, best.x, method="Nelder-Mead", options=options).fun


def support(shape, pose, direction):
    """How far a convex shape reaches along a direction (3,) in the world."""
    local = pose["R"].T @ direction
    at = pose["x"] @ direction
    if shape.kind == "sphere":
        return at + shape.size[0]
    if shape.kind == "ellipsoid":
        return at + np.linalg.norm(shape.size * local)
    if shape.kind == "mesh":
        return at + (np.asarray(shape.vertices) @ local).max()
    if shape.kind == "box":
        return at + np.abs(local) @ np.array(shape.size) / 2
    radius, length = shape.size[0], (*shape.size, 0.0)[1]
    if shape.kind == "cone":
        across, half = np.hypot(local[0], local[1]), length / 2 * local[2]
        return at + max(radius * across - half, (*shape.size, 0.0)[2] * across + half)
    if shape.kind == "cylinder":
        return at + radius * np.hypot(local[0], local[1]) + length / 2 * abs(local[2])
    return at + radius + length / 2 * abs(local[2])


class Peer:
    """Distances of convex shapes by coal, which comes with Pinocchio."""

    def __init__(self):
        self.coal = pytest.importorskip("coal")
        self.request = self.coal.DistanceRequest()
        self.request.gjk_tolerance = 1e-13
        self.request.gjk_max_iterations = 1000
        self.shapes = {name: self.shape(shape) for name, shape in SHAPES.items()}

    def convex(self, points):
        vertices = self.coal.StdVec_Vec3s()
        vertices.extend(list(np.array(points)))
        return self.coal.Convex.convexHull(vertices, False, "")

    def shape(self, shape):
        if shape.kind == "sphere":
            return self.coal.Sphere(*shape.size)
        if shape.kind == "capsule":
            return self.coal.Capsule(*shape.size)
        if shape.kind == "box":
            return self.coal.Box(*shape.size)
        if shape.kind == "mesh":
            return self.convex(shape.vertices)
        if shape.kind == "ellipsoid":
            return self.coal.Ellipsoid(*shape.size)
        if shape.kind == "cone":
            return self.convex(pyramid(shape).vertices)
        # Its own distances of cylinders are off by up to 0.1 m: a prism of 720 sides is not.
        angles = 2 * np.pi * np.arange(720) / 720
        x, y = shape.size[0] * np.cos(angles), shape.size[0] * np.sin(angles)
        half = np.full(720, shape.size[1] / 2)
        return self.convex(
            np.vstack((np.column_stack((x, y, -half)), np.column_stack((x, y, half))))
        )

    def surface(self, mesh):
        """A triangle mesh that is not filled."""
        model = self.coal.BVHModelOBBRSS()
        model.beginModel(len(mesh.faces), len(mesh.vertices))
        vertices = self.coal.StdVec_Vec3s()
        vertices.extend(list(np.array(mesh.vertices)))
        triangles = self.coal.StdVec_Triangle()
        triangles.extend([self.coal.Triangle(*(int(v) for v in face)) for face in mesh.faces])
        model.addSubModel(vertices, triangles)
        model.endModel()
        return model

    def distance(self, a, pose_a, b, pose_b):
        places = [
            self.coal.Transform3s(np.array(p["R"]), np.array(p["x"])) for p in (pose_a, pose_b)
        ]
        result = self.coal.DistanceResult()
        return self.coal.distance(a, places[0], b, places[1], self.request, result)


@pytest.fixture(scope="module")
def peer():
    return Peer()


@pytest.mark.peer
@pytest.mark.parametrize(("a", "b"), EXACT_PAIRS)
def test_least_gap_is_the_distance(peer, a, b):
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(150):
        pose_a, pose_b = random_pose(rng, 0.1), random_pose(rng, 0.7)
        distance = peer.distance(peer.shapes[a], pose_a, peer.shapes[b], pose_b)
        if distance > 1e-6:
            features = ALL.find(pose_a, pose_b, INDEX[a], INDEX[b], margin=5.0)
            assert features["gap"].min() == pytest.approx(distance, abs=EXACT)
            compared += 1
    assert compared > 50


@pytest.mark.parametrize("one", ROUND_FACED)
@pytest.mark.parametrize("other", SHAPES)
def test_a_cylinder_is_as_near_as_the_best_normal_says(one, other):
    """Apart or a little inside, whatever edge, corner, cap, side, rim or apex touches."""
    rng = np.random.default_rng(4)
    compared = 0
    for _ in range(30):
        pose_a, pose_b = random_pose(rng, 0.1), random_pose(rng, 0.45)
        apart = separation(SHAPES[one], pose_a, SHAPES[other], pose_b, 6)
        if -1e-3 < apart < 0.5:
            features = ALL.find(pose_a, pose_b, INDEX[one], INDEX[other], margin=0.6)
            assert features["gap"].min() == pytest.approx(apart, abs=1e-7)
            compared += 1
    assert compared > 8


SHAPES_OF_ELLIPSOIDS = {
    "round": (0.25, 0.4, 0.15),
    "long": (0.05, 0.4, 0.07),
    "flat": (0.3, 0.35, 0.03),
    "ball": (0.2, 0.2, 0.2),
}


@pytest.mark.parametrize("kind", SHAPES_OF_ELLIPSOIDS)
@pytest.mark.parametrize("other", SHAPES)
def test_an_ellipsoid_is_as_near_as_the_best_normal_says(other, kind):
    """Apart or a little inside, to what dense optimisation finds, in either order."""
    rng = np.random.default_rng([4, len(kind), len(other)])
    one, compared = Geometry("ellipsoid", SHAPES_OF_ELLIPSOIDS[kind]), 0
    shapes = one, SHAPES[other]
    pair = scene(*shapes)
    for _ in range(20):
        pose_a, pose_b = random_pose(rng, 0.1), random_pose(rng, 0.45)
        apart = separation(one, pose_a, SHAPES[other], pose_b, 6)
        if -1e-3 < apart < 0.5:
            for order in ((pose_a, pose_b, 0, 1), (pose_b, pose_a, 1, 0)):
                (feature,) = pair.find(*order, margin=0.6)
                first, second = (shapes[k] for k in order[2:])
                n = measure(feature, *order[:2], first, second)[1]
                by_normal = -support(first, order[0], n) - support(second, order[1], -n)
                # No normal is better than the best, and this one is as good as its gap.
                assert feature["gap"] == pytest.approx(by_normal, abs=1e-10)
                assert feature["gap"] == pytest.approx(apart, abs=1e-7)
                assert feature["gap"] > apart - 1e-10
            compared += 1
    assert compared > 4


@pytest.mark.parametrize("other", ["disc", "box", "capsule", "sphere"])
def test_what_touches_a_cap_beside_its_border_is_as_near_as_it_is(other):
    """Where rounding decides whether it is over the cap, and which normal is the best."""
    compared = 0
    for seed in range(24):
        rng = np.random.default_rng([5, seed, len(other)])
        radius, size = rng.uniform(0.03, 0.15, 2)
        first = Geometry("cylinder", (radius, radius * 10 ** rng.uniform(-1.3, 0.5)))
        second = {
            "disc": Geometry("cylinder", (size, size * 10 ** rng.uniform(-1.3, 0.5))),
            "box": Geometry("box", tuple(rng.uniform(0.02, 0.2, 3))),
            "capsule": Geometry("capsule", (size, rng.uniform(0.05, 0.3))),
            "sphere": Geometry("sphere", (size,)),
        }[other]
        here, there = random_pose(rng, 0.0), random_pose(rng, 0.0)
        if rng.random() < 0.5:
            there = pose((0, 0, 0), here["q"] + 10 ** rng.uniform(-7, -1.5) * rng.normal(size=4))
        lean = 10 ** rng.uniform(-7, -1) * rng.choice([0, 1, 1, 1])
        n = here["R"] @ np.array([*(lean * rng.normal(size=2)), 1.0])
        n /= np.linalg.norm(n)
        beside = radius * (1 + rng.choice([0, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3, -0.1, 0.05]))
        angle = rng.uniform(0, 2 * np.pi)
        border = [beside * np.cos(angle), beside * np.sin(angle), first.size[1] / 2]
        lowest = [
            (reach_along(second, there, 1e-6 * e - n) - reach_along(second, there, -1e-6 * e - n))
            / 2e-6
            for e in np.eye(3)
        ]
        gap = rng.choice([0, 1e-4, 3e-3])
        there["x"] = here["R"] @ border + gap * n - lowest
        apart = separation(first, here, second, there, 4)
        if -1e-9 < apart < 0.4:
            features = scene(first, second).find(here, there, margin=0.6)
            assert features["gap"].min() == pytest.approx(apart, abs=1e-5)
            compared += 1
    assert compared > 8


def reach_along(shape, pose, direction):
    """`support` along a direction of any length, times that length."""
    length = np.linalg.norm(direction)
    return length * support(shape, pose, direction / length)


def reach_of(geometry, n):
    """How far a box, a hull or a cylinder reaches along directions (m, 3), in its own axes."""
    if geometry.kind == "cylinder":
        radius, length = geometry.size
        return radius * np.hypot(n[:, 0], n[:, 1]) + 0.5 * length * np.abs(n[:, 2])
    if geometry.kind == "box":
        return 0.5 * np.abs(n) @ np.asarray(geometry.size)
    return (n @ np.asarray(geometry.vertices).T).max(axis=1)


def overlap(a, b, pose_a, pose_b):
    """How deep two shapes overlap, along the best of all directions."""

    def along(n):
        n = n / np.linalg.norm(n, axis=1, keepdims=True)
        ends = reach_of(a, n @ pose_a["R"]) + reach_of(b, -n @ pose_b["R"])
        return ends - n @ (pose_b["x"] - pose_a["x"])

    axes = np.vstack((pose_a["R"].T, -pose_a["R"].T, pose_b["R"].T, -pose_b["R"].T))
    starts = np.vstack((axes, np.random.default_rng(0).normal(size=(4000, 3))))
    starts /= np.linalg.norm(starts, axis=1, keepdims=True)
    values = along(starts)
    best = values.min()
    for k in {*np.argsort(values)[:12].tolist(), *range(len(axes))}:
        sides = np.linalg.svd(starts[k, None])[2][1:]
        if values[k] < best + 0.03:
            found = minimize(
                lambda x, k=k, sides=sides: along((starts[k] + x @ sides)[None])[0],
                np.zeros(2),
                method="Nelder-Mead",
                options={"xatol": 1e-8, "fatol": 1e-11,
                         "initial_simplex": [[0, 0], [0.03, 0], [0, 0.03]]},
            )  # fmt: skip
            best = min(best, found.fun)
    return best


OVERLAPPING = [("box", "small"), ("hull", "small"), ("small", "disc"), ("hull", "can"),
               ("box", "can"), ("box", "disc"), ("hull", "disc")]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), OVERLAPPING)
def test_the_deepest_feature_is_as_deep_as_shapes_overlap(a, b):
    """Turned anyhow, or nearly flat on each other; and no two features have the same identifier."""
    kinds = {
        "box": Geometry("box", (0.4, 0.35, 0.2)),
        "small": Geometry("box", (0.2, 0.15, 0.1)),
        "hull": hull(14, 3, (0.1, 0.08, 0.06)),
        "can": Geometry("cylinder", (0.08, 0.1)),
        "disc": Geometry("cylinder", (0.1, 0.02)),
    }
    a, b = kinds[a], kinds[b]
    both, rng = scene(a, b), np.random.default_rng(4)
    for k in range(24):
        pose_a, pose_b = random_pose(rng, 0.0), random_pose(rng, 0.0)
        way = rng.normal(size=3)
        if k % 2:
            pose_a, way[2] = pose(), 3.0
            pose_b = pose(q=(1, *(rng.normal(size=3) * 10 ** rng.uniform(-3, -0.5))))
        low, high, wanted = 0.0, 1.0, 5e-3 * 10 ** rng.uniform(-2, 0)
        way /= np.linalg.norm(way)
        turns = pose_a["R"].T, pose_b["R"].T
        many = np.vstack((*turns, -turns[0], -turns[1], rng.normal(size=(2000, 3))))
        many /= np.linalg.norm(many, axis=1, keepdims=True)
        ends = reach_of(a, many @ pose_a["R"]) + reach_of(b, -many @ pose_b["R"])
        for _ in range(30):
            middle = 0.5 * (low + high)
            deep = (ends - middle * many @ way).min() > wanted
            low, high = (middle, high) if deep else (low, middle)
        pose_b["x"] = low * way
        found, depth = both.find(pose_a, pose_b, margin=1e-3), overlap(a, b, pose_a, pose_b)
        if depth < 1e-5:
            continue
        assert -found["gap"].min() == pytest.approx(depth, abs=5e-6)
        assert len(set(found["id"].tolist())) == len(found)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_features_measure_what_they_say(a, b):
    """Gap by definition, along a unit normal that parts the shapes by no more than the gap."""
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(100):
        pose_a, pose_b = random_pose(rng, 0.1), random_pose(rng, 0.6)
        features = ALL.find(pose_a, pose_b, INDEX[a], INDEX[b], margin=1.0)
        for k, feature in enumerate(features[np.argsort(features["gap"])]):
            if feature["kind"] == ROUND and feature["gap"] < -0.9 * feature["radius"]:
                continue
            gap, n = measure(feature, pose_a, pose_b, SHAPES[a], SHAPES[b])
            assert gap == pytest.approx(feature["gap"], abs=1e-12)
            assert np.linalg.norm(n) == pytest.approx(1, abs=1e-12)
            if k == 0 and gap > 1e-6:
                reach_a = support(SHAPES[a], pose_a, n)
                reach_b = -support(SHAPES[b], pose_b, -n)
                assert 0 < reach_b - reach_a <= gap + 0.006
            found += 1
    assert found > 50


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_moving_both_or_swapping_them_changes_nothing(a, b):
    rng = np.random.default_rng(6)
    for _ in range(40):
        pose_a, pose_b, motion = (random_pose(rng, s) for s in (0.1, 0.6, 3.0))
        gaps = ALL.find(pose_a, pose_b, INDEX[a], INDEX[b], margin=1.0)["gap"]
        moved = [
            pose(to_world(motion, p["x"]), quaternions.multiply(motion["q"], p["q"]))
            for p in (pose_a, pose_b)
        ]
        again = ALL.find(*moved, INDEX[a], INDEX[b], margin=1.0)["gap"]
        swapped = ALL.find(pose_b, pose_a, INDEX[b], INDEX[a], margin=1.0)["gap"]
        if len(gaps) and gaps.min() > 1e-6:
            # Of two polytopes the frame is that of the first: as near, along other features.
            slack = 0.006 if {a, b} <= set(ROUND_FACED) else EXACT
            assert again.min() == pytest.approx(gaps.min(), abs=EXACT)
            assert swapped.min() == pytest.approx(gaps.min(), abs=slack)


def test_a_shape_off_its_body_is_where_it_is_put():
    place = pose((0.3, -0.2, 0.5), (0.9, 0.1, -0.3, 0.2))
    size = (0.6, 0.8, 0.4)
    off = Geometry("box", size, position=place["x"], quaternion=place["q"])
    pair = scene(off, SHAPES["hull"], SHAPES["box"])
    body, other = pose((1, 2, 3), (0.5, 0.5, -0.1, 0.7)), pose((1.1, 2.3, 4.3), (1, 2, 0, 1))
    box = pose(to_world(body, place["x"]), quaternions.multiply(body["q"], place["q"]))
    features = pair.find(body, other, 0, 1, margin=2.0)
    expected = pair.find(box, other, 2, 1, margin=2.0)
    np.testing.assert_allclose(features["gap"], expected["gap"], atol=1e-12)
    for one, two in zip(features, expected, strict=True):
        gap, n = measure(one, body, other)
        assert gap == pytest.approx(one["gap"], abs=1e-12)
        np.testing.assert_allclose(n, measure(two, box, other)[1], atol=1e-9)


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 0.0, -1e-9, -1e-2])
@pytest.mark.parametrize("turn", [0.0, 0.3, np.pi / 4])
def test_stacked_boxes_touch_in_four_points(gap, turn):
    pair = scene(Geometry("box", (1, 1, 1)), Geometry("box", (0.5, 0.5, 0.5)))
    upper = pose((0.1, 0, 0.75 + gap), quaternions.from_axis_angle((0, 0, 1), turn))
    features = pair.find(WORLD, upper)
    assert len(features) == 4
    assert set(features["kind"]) == {PLANE}
    np.testing.assert_allclose(features["gap"], gap, atol=1e-12)
    for feature in features:
        np.testing.assert_allclose(measure(feature, WORLD, upper)[1], (0, 0, 1), atol=1e-12)
    points = features["b0"] if features["flip"][0] == 0 else features["a0"]
    widths = np.ptp(points, axis=0)
    assert np.sort(widths)[1:] == pytest.approx((0.5, 0.5), abs=1e-9)


def test_boxes_that_rest_on_each_other_touch_with_their_faces():
    """However near they are: differences of their corners are then nearly on lines."""
    rng = np.random.default_rng(0)
    for a, b in ((0.6732655185893088, 0.3428080423874833), *rng.uniform(0.1, 1.0, (10, 2))):
        pair = scene(Geometry("box", (a,) * 3), Geometry("box", (b,) * 3))
        for gap in 10.0 ** rng.uniform(-14.0, -7.0, 40):
            lower = pose(q=(1, *(1e-18 * rng.normal(size=3))))
            x = (*(1e-17 * rng.normal(size=2)), 0.5 * (a + b) + gap)
            features = pair.find(lower, pose(x, (1, *(1e-16 * rng.normal(size=3)))))
            np.testing.assert_allclose(features["gap"], [gap] * 4, rtol=0, atol=1e-12)


@pytest.mark.parametrize("turn", [0.0, 0.3, np.pi / 4])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.1, 0.0), (0.0, -0.3), (0.2, 0.15)])
def test_faces_that_lie_on_each_other_touch_with_the_same_in_each_step(turn, shift):
    """However they turn and move at rest, also where their borders lie on each other."""
    rng = np.random.default_rng(0)
    pair = scene(Geometry("box", (1, 1, 1)), Geometry("box", (1, 1, 1)))
    q = quaternions.from_axis_angle((0, 0, 1), turn)
    found = set()
    for _ in range(50):
        lean = quaternions.from_axis_angle(rng.normal(size=3), 1e-9 * rng.normal())
        x = np.array([*shift, 1.0]) + 1e-9 * rng.normal(size=3)
        features = pair.find(WORLD, pose(x, quaternions.multiply(lean, q)), level=1e-7)
        found.add(frozenset(features["id"].tolist()))
    assert len(found) == 1
    assert len(found.pop()) == 4


def test_a_box_that_hangs_over_is_held_where_they_overlap():
    pair = scene(Geometry("box", (1, 1, 1)), Geometry("box", (1, 1, 1)))
    features = pair.find(WORLD, pose((0.7, 0.2, 1.0)))
    assert len(features) == 4
    x = features["b0"][:, 0] + 0.7 if features["flip"][0] == 0 else features["a0"][:, 0]
    assert sorted(x) == pytest.approx([0.2, 0.2, 0.5, 0.5], abs=1e-12)


def test_crossing_edges():
    """Two boxes, each on an edge, crossed: the normal is the edges' common perpendicular."""
    pair = scene(Geometry("box", (1, 1, 1)), Geometry("box", (1, 1, 1)))
    lower = pose((0, 0, 0), quaternions.from_axis_angle((1, 0, 0), np.pi / 4))
    for gap in (1e-3, 1e-10, -1e-4):
        height = np.sqrt(2) + gap
        upper = pose((0.1, 0.2, height), quaternions.from_axis_angle((0, 1, 0), np.pi / 4))
        (feature,) = pair.find(lower, upper)
        assert feature["kind"] == EDGE
        assert feature["gap"] == pytest.approx(gap, abs=1e-12)
        np.testing.assert_allclose(measure(feature, lower, upper)[1], (0, 0, 1), atol=1e-12)


def test_parallel_edges_touch_at_both_ends_of_their_overlap():
    pair = scene(Geometry("box", (1, 1, 1)), Geometry("box", (1, 1, 1)))
    turn = quaternions.from_axis_angle((1, 0, 0), np.pi / 4)
    features = pair.find(pose(q=turn), pose((0.3, 0, np.sqrt(2) + 1e-3), turn))
    np.testing.assert_allclose(features["gap"], 1e-3, atol=1e-12)
    assert sorted(features["b0"][:, 0]) == pytest.approx([-0.5, 0.2], abs=1e-9)


def test_parallel_capsules_touch_at_both_ends_of_their_overlap():
    pair = scene(Geometry("capsule", (0.1, 1.0)), Geometry("capsule", (0.2, 1.0)))
    features = pair.find(WORLD, pose((0.35, 0, 0.4)))
    assert list(features["kind"]) == [ROUND, ROUND]
    np.testing.assert_allclose(features["gap"], 0.05, atol=1e-12)
    np.testing.assert_allclose(features["radius_a"], 0.1)


def test_capsules_that_are_nearly_parallel_touch_between_both_ends_at_a_point():
    """Where their axes are nearest runs from end to end as they turn by a thousandth."""
    pair = scene(Geometry("capsule", (0.03, 0.08)), Geometry("capsule", (0.03, 0.08)))
    for angle in (5e-4, 2e-3):
        turn = quaternions.from_axis_angle((1, 0, 0), angle)
        features = pair.find(WORLD, pose((0.06, 0, 0.03), turn), margin=1e-4)
        assert len(features) == 3
        middle = features[np.argmin(features["gap"])]
        assert middle["gap"] == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(middle["b0"], 0.0, atol=1e-9)
        np.testing.assert_array_equal(middle["b1"], middle["b0"])


@pytest.mark.parametrize("turn", [0.0, 1e-12, 4e-9])
@pytest.mark.parametrize("gap", [1e-4, 3e-6, -1e-5])
def test_a_capsule_over_a_rim_across_the_axis_of_that(gap, turn):
    """As the capsule is across, the distance has a kink where a normal is along the axis."""
    pair = scene(Geometry("cylinder", (0.05, 0.1)), Geometry("capsule", (0.03, 0.08)))
    across = quaternions.from_axis_angle((1, 0, 0), np.pi / 2 + turn)
    for lean in (1e-3, 0.01, 0.06, 0.2):
        r = 0.03 + gap
        place = 0.05 + r * np.sin(lean), 0.0, 0.05 + r * np.cos(lean)
        features = pair.find(WORLD, pose(place, across), margin=1e-2)
        assert features["gap"].min() == pytest.approx(gap, abs=1e-9)


@entry
def lowest_of_rim(axis, n, radius, out):
    lowest_on_rim(axis, n, radius, out)


@pytest.mark.parametrize("angle", [0.3, 1e-6, 3e-9, 1e-12, 1e-15, 0.0])
def test_the_lowest_point_of_a_rim_is_on_the_rim(angle):
    """However near a normal is to the axis."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        axis, across, _ = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        n = np.cos(angle) * axis + np.sin(angle) * across
        out = np.zeros(3)
        lowest_of_rim(axis, n, 0.05, out)
        np.testing.assert_allclose(out, -0.05 * across, atol=1e-2 * 0.05 if angle > 1e-13 else 0.1)
        assert np.linalg.norm(out) == pytest.approx(0.05, rel=1e-12)
        assert abs(out @ axis) < 1e-15


@pytest.mark.parametrize("below", ["half-space", "box", "cylinder"])
@pytest.mark.parametrize("lean", [0.0, 1e-16, 1e-12, 1.1e-10, 3e-9, 1e-7, 1e-4])
def test_a_rim_that_all_but_lies_flat_is_as_near_as_its_lowest_point(below, lean):
    """Not nearer by what rounding leaves of a direction next to the axis."""
    rng, radius, half = np.random.default_rng(4), 0.05, 0.1
    shapes = {
        "half-space": HalfSpace(),
        "box": Geometry("box", (1.0, 1.0, 1.0), position=(0, 0, -0.5)),
        "cylinder": Geometry("cylinder", (0.4, 1.0), position=(0, 0, -0.5)),
    }
    pair = scene(shapes[below], Geometry("cylinder", (radius, 2 * half)))
    for _ in range(20):
        # All turned together, so that nothing is along the axes.
        turn = random_pose(rng, 0.0)["q"].ravel()
        angle = rng.uniform(0, 2 * np.pi)
        leaning = quaternions.from_axis_angle((np.cos(angle), np.sin(angle), 0), lean)
        spun = quaternions.from_axis_angle((0, 0, 1), rng.uniform(0, 2 * np.pi))
        at = quaternions.multiply(turn, quaternions.multiply(leaning, spun))
        height = half * np.cos(lean) + radius * np.sin(lean)
        x = quaternions.rotation_matrix(turn) @ (0.02, -0.01, height)
        gaps = pair.find(pose(q=turn), pose(x, at), margin=1e-2)["gap"]
        # Any points of a rim will do that leans by less than 1e-10.
        assert gaps.min() == pytest.approx(0.0, abs=1e-11)


def test_nothing_beyond_the_margin():
    for a, b in PAIRS:
        assert len(ALL.find(WORLD, pose((2, 0.1, 0.2)), INDEX[a], INDEX[b], margin=0.05)) == 0


# The ground


@pytest.mark.parametrize("name", SHAPES)
def test_least_gap_to_the_ground(name):
    """By how far the shape reaches, with the ground as A and as B."""
    rng = np.random.default_rng(7)
    ground = HalfSpace(normal=(0.3, -0.2, 1.0), point=(0.1, 0.2, 0.3))
    pair = scene(ground, SHAPES[name])
    for _ in range(50):
        body = random_pose(rng, 0.5)
        features = pair.find(WORLD, body, margin=10.0)
        height = -support(SHAPES[name], body, -ground.normal) - ground.normal @ ground.point
        # A cylinder that hardly leans lies on four points of its rim.
        assert features["gap"].min() == pytest.approx(height, abs=1e-12)
        for feature in features:
            gap, n = measure(feature, WORLD, body, b=SHAPES[name])
            assert gap == pytest.approx(feature["gap"], abs=1e-12)
            np.testing.assert_allclose(n, ground.normal, atol=1e-12)
        swapped = pair.find(body, WORLD, 1, 0, margin=10.0)
        np.testing.assert_allclose(swapped["gap"], features["gap"])
        assert set(swapped["flip"]) == {1}


def test_a_cylinder_rolls_and_stands():
    pair = scene(HalfSpace(), SHAPES["cylinder"])
    lying = quaternions.from_axis_angle((1, 0, 0), np.pi / 2)
    features = pair.find(WORLD, pose((0, 0, 0.3), lying))
    assert sorted(features["b0"][:, 2]) == pytest.approx([-0.25, 0.25], abs=1e-12)
    # The points are on the axis, so that rolling leaves the gap as it is.
    np.testing.assert_allclose(features["b0"][:, :2], 0, atol=1e-12)
    np.testing.assert_allclose(features["radius"], 0.3)
    standing = pair.find(WORLD, pose((0, 0, 0.25)))
    assert len(standing) == 4
    np.testing.assert_allclose(standing["gap"], 0, atol=1e-12)


# Terrain


def bumpy(rng, n=9, size=2.0, height=0.3):
    return HeightField(height * rng.random((n, n + 2)), (size, size))


def as_mesh(field):
    """The triangles of a height field."""
    heights = np.asarray(field.heights)
    nx, ny = heights.shape
    x, y = (np.linspace(-s / 2, s / 2, n) for s, n in zip(field.size, (nx, ny), strict=True))
    vertices = np.column_stack((np.repeat(x, ny), np.tile(y, nx), heights.ravel()))
    faces = []
    for i, j in itertools.product(range(nx - 1), range(ny - 1)):
        k = i * ny + j
        faces += [[k, k + ny, k + ny + 1], [k, k + ny + 1, k + 1]]
    return Geometry("mesh", vertices=vertices, faces=faces)


@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_a_cylinder_on_its_side_touches_with_rims_and_where_the_ground_ends(beyond):
    """Not once more where a rim is over the ground, nor at edges between triangles of a terrain."""
    lies = pose((0.9 * beyond, 0.1, 0.3), quaternions.from_axis_angle((0, 1, 0), np.pi / 2))
    grounds = Geometry("box", (2, 2, 0.4)), HeightField(np.zeros((9, 9)), (2, 2))
    three = scene(*grounds, SHAPES["cylinder"])
    box = pose((0, 0, -0.2))
    for ground, place in ((0, box), (1, WORLD)):
        features = three.find(place, lies, ground, 2, margin=0.05)
        assert sorted(features["kind"]) == ([PLANE, RIM] if beyond else [RIM, RIM])
        np.testing.assert_allclose(features["gap"], 0.0, atol=1e-12)
        # From the cylinder's middle along its axis, which points along x: its rims, or the edge.
        along = np.where(features["flip"] == 0, features["b0"][:, 2], features["a0"][:, 2])
        ends = np.array([-0.25, 0.25])
        if beyond:
            ends[(beyond + 1) // 2] = 0.1 * beyond
        np.testing.assert_allclose(sorted(along), ends, atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_height_field_and_mesh_agree(name):
    rng = np.random.default_rng(8)
    field = bumpy(rng)
    mesh = TriangleMesh(as_mesh(field))
    three = scene(field, mesh, SHAPES[name])
    found = 0
    for _ in range(100):
        body = pose((*rng.uniform(-0.8, 0.8, 2), rng.uniform(0.4, 0.9)), rng.normal(size=4))
        one = three.find(WORLD, body, 0, 2, margin=0.2)
        two = three.find(WORLD, body, 1, 2, margin=0.2)
        assert (len(one) > 0) == (len(two) > 0)
        if len(one):
            # Of many candidates, as of deep overlaps, few are kept in the order in which they come.
            assert len(one) == len(two) or one["gap"].min() < -0.3
            assert one["gap"].min() == pytest.approx(two["gap"].min(), abs=1e-12)
            found += 1
    assert found > 20


@pytest.mark.peer
@pytest.mark.parametrize("name", ["sphere", "capsule", "box", "hull"])
def test_distance_to_terrain(peer, name):
    rng = np.random.default_rng(9)
    field = bumpy(rng)
    mesh = as_mesh(field)
    pair = scene(field, SHAPES[name])
    surface = peer.surface(mesh)
    compared = 0
    for _ in range(40):
        body = pose((*rng.uniform(-0.4, 0.4, 2), rng.uniform(0.5, 1.0)), rng.normal(size=4))
        distance = peer.distance(surface, WORLD, peer.shapes[name], body)
        if 1e-3 < distance < 0.3:
            gap = pair.find(WORLD, body, margin=1.0)["gap"].min()
            assert gap == pytest.approx(distance, abs=1e-8)
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("gap", [5e-3, 1e-9, -5e-3])
def test_flat_terrain_catches_nothing(name, gap):
    """On a flat grid, at any place on its edges, every normal is straight up."""
    field = HeightField(np.zeros((21, 21)), (2.0, 2.0))
    pair = scene(field, SHAPES[name])
    rng = np.random.default_rng(10)
    for _ in range(60):
        place = pose((*(rng.integers(-4, 4, 2) * 0.05), 1.0), rng.normal(size=4))
        place["x"][2] += gap + support(SHAPES[name], place, np.array([0, 0, -1.0]))
        features = pair.find(WORLD, place, margin=0.02)
        assert features["gap"].min() == pytest.approx(gap, abs=1e-9)
        for feature in features:
            n = measure(feature, WORLD, place, b=SHAPES[name])[1]
            np.testing.assert_allclose(n, (0, 0, 1), atol=1e-6)


def test_a_box_on_flat_terrain_stands_on_its_corners():
    field = HeightField(np.zeros((21, 21)), (2.0, 2.0))
    features = scene(field, SHAPES["box"]).find(WORLD, pose((0.013, 0.021, 0.2)), margin=0.01)
    np.testing.assert_allclose(features["gap"], 0, atol=1e-12)
    corners = {(x, y) for x, y in np.round(features["b0"][:, :2], 9)}
    assert corners == {(x, y) for x in (-0.3, 0.3) for y in (-0.4, 0.4)}


def test_both_walls_of_a_trough_are_touched():
    """A cylinder that lies along it touches each with a line."""
    vertices = [[x, y, abs(y)] for y in (-1.0, 0.0, 1.0) for x in (-2.0, 2.0)]
    faces = [[0, 1, 3], [0, 3, 2], [2, 3, 5], [2, 5, 4]]
    trough = TriangleMesh(Geometry("mesh", vertices=vertices, faces=faces))
    along = pose((0, 0, 0.3 * np.sqrt(2)), (np.sqrt(0.5), 0, np.sqrt(0.5), 0))
    features = scene(trough, SHAPES["cylinder"]).find(WORLD, along, margin=1e-3)
    np.testing.assert_allclose(features["gap"], 0.0, rtol=0, atol=1e-9)
    sides = [measure(feature, WORLD, along)[1][1] for feature in features]
    np.testing.assert_allclose(sorted(sides), np.sqrt(0.5) * np.array((-1, -1, 1, 1)), atol=1e-9)


def test_a_ridge_is_touched_as_an_edge():
    """A convex edge of the terrain has the normals between those of its sides."""
    roof = HeightField([[0, 0, 0], [0.5, 0.5, 0.5], [0, 0, 0]], (1.0, 1.0))
    ball, ridge = pose((0.05, 0.1, 0.8)), np.array([0, 0.1, 0.5])
    (feature,) = scene(roof, SHAPES["sphere"]).find(WORLD, ball)
    assert feature["kind"] == ROUND
    distance = np.linalg.norm(ball["x"] - ridge)
    assert feature["gap"] == pytest.approx(distance - 0.3, abs=1e-12)
    n = measure(feature, WORLD, ball)[1]
    np.testing.assert_allclose(n, (ball["x"] - ridge) / distance, atol=1e-12)


# Bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HalfSpace(normal=(0, 0, 0)), "normal must not be zero"),
        (lambda: HalfSpace(point=(0, 0, 0), position=(0, 0, 0)), "'point' and 'position' are the"),
        (lambda: HalfSpace(position=(0, 0)), "position"),
        (lambda: HalfSpace(friction=-1), "friction must not be negative, not -1.0"),
        (lambda: HeightField([[1.0, 2.0]], (1, 1)), r"at least 2 by 2, not \(1, 2\)"),
        (lambda: HeightField(np.zeros((3, 3)), (1, -1)), "size must be positive"),
        (lambda: HeightField([[0, np.nan], [0, 0]], (1, 1)), "heights must be finite"),
        (lambda: TriangleMesh(Geometry("sphere", (1,))), "must be a mesh, not a sphere"),
    ],
)
def test_bad_world_geometry_is_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_a_half_space_has_a_point_or_a_position():
    for made in (HalfSpace((0, 0, 2), (0, 1, 3)), HalfSpace((0, 0, 2), position=(0, 1, 3))):
        assert repr(made) == "HalfSpace(point=(0, 1, 3))"
        np.testing.assert_array_equal(made.position, (0, 1, 3))
        for again in (replace(made, friction=0.5), pickle.loads(pickle.dumps(made))):
            np.testing.assert_array_equal(again.point, (0, 1, 3))
    np.testing.assert_array_equal(replace(made, point=(1, 0, 0)).position, (1, 0, 0))
    assert HalfSpace().friction == 0.8
    np.testing.assert_array_equal(HalfSpace().point, 0)


def test_a_mesh_without_volume_is_refused():
    flat = Geometry(
        "mesh", vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], faces=[[0, 1, 2]]
    )
    with pytest.raises(ModelError, match="geometry: a mesh without volume"):
        compile_shapes([flat])
    line = Geometry("mesh", vertices=[[0, 0, 0], [1, 0, 0], [2, 0, 0]], faces=[[0, 1, 2]])
    with pytest.raises(ModelError, match="terrain '': a mesh without triangles"):
        compile_shapes([TriangleMesh(line)])


@pytest.mark.parametrize("seed", range(6))
def test_hulls_of_rounded_flat_faces_are_closed(seed):
    """Real meshes have flat faces of many points, each off by the rounding of single precision."""
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(60) / 60
    rim = np.column_stack((np.cos(angles), np.sin(angles), np.ones(60)))
    disc = np.vstack([rim * (r, r, h) for r in (1.0, 0.7, 0.2) for h in (-0.3, 0.0, 0.3)])
    points = disc @ quaternions.rotation_matrix(quaternions.normalized(rng.normal(size=4))).T
    points = points.astype(np.float32).astype(float) * 10.0 ** rng.integers(-3, 3)
    mesh = Geometry("mesh", vertices=points, faces=np.zeros((1, 3), dtype=np.int64))
    records, data = compile_shapes([mesh])
    (record,) = records
    n_vertices, n_edges, n_faces = (int(record[f"n_{k}"]) for k in ("vertices", "edges", "faces"))
    assert n_vertices - n_edges + n_faces == 2
    begin = int(record["face_begin"])
    normals = data.normals["p"][begin : begin + n_faces]
    faces = data.topology.faces[begin : begin + n_faces]
    first = int(record["vertex_begin"])
    corners = data.vertices["p"][first : first + n_vertices]
    for normal, (start, _) in zip(normals, faces, strict=True):
        heights = (corners - corners[data.topology.loops[start]]) @ normal
        assert heights.max() < 1e-5 * np.ptp(points)


def test_a_mesh_of_many_points_takes_little_memory():
    """A singular value decomposition made a matrix of all points by all points, 30 GB of them."""
    points = np.random.default_rng(0).normal(size=(60_000, 3))
    points[:, 2] *= 0.5
    mesh = Geometry("mesh", vertices=points, faces=np.zeros((1, 3), dtype=np.int64))
    records, _ = compile_shapes([mesh])
    assert records[0]["n_faces"] > 100


def test_a_feature_that_is_kept_is_listed_once():
    """Kept features come beside the four best ones, unless they are among these."""
    boxes = scene(SHAPES["box"], SHAPES["hull"])
    pair, at = boxes.scratch.pair[0], (pose(), pose((0.0, 0.0, 0.45)))
    best = boxes.find(*at, margin=0.3)["id"]
    pair["kept"], pair["keeps"] = best[0], 1
    assert boxes.find(*at, margin=0.3)["id"].tolist() == best.tolist()
    pair["keeps"] = 0


@pytest.mark.parametrize("by", [0.0, 0.3])
def test_a_cylinder_along_an_edge_touches_where_both_are(by):
    """At both ends of the part that it has in common with the edge, and at no rim beyond."""
    beam, roller = Geometry("box", (1.0, 0.2, 0.2)), Geometry("cylinder", (0.1, 0.8))
    edge_up = pose(q=(np.cos(np.pi / 8), np.sin(np.pi / 8), 0, 0))
    half = np.pi / 4 - 1e-6  # so that the rim over the edge is the nearest
    along = pose((by, 0.0, 0.1 * np.sqrt(2) + 0.1), (np.cos(half), 0, np.sin(half), 0))
    found = scene(beam, roller).find(edge_up, along, margin=0.01)
    np.testing.assert_allclose(found["gap"], 0.0, rtol=0, atol=1e-6)
    assert len(found) == 2


DRUMS = scene(Geometry("cylinder", (0.3, 0.5)), Geometry("cylinder", (0.2, 0.4)))


def test_rims_that_cross_in_a_point_touch_once():
    """A cylinder stands beside the axis of another one, by both radii."""
    assert len(DRUMS.find(pose(), pose((0.5, 0.0, 0.45)), margin=0.01)) == 1


@pytest.mark.parametrize("turn", [(-1, -0.6), (1, 1), (-1, 2), (2.4, -1.2)])
def test_a_cap_is_as_near_to_another_one_that_it_hardly_reaches(turn):
    """Nearly flat on that, and over no more of that than a part in a million of the radii."""
    lean, way = 1e-4 * np.array(turn), np.linalg.norm(turn)
    x = (*(0.4999995 * np.array((-turn[1], turn[0])) / way), 0.46)
    at = pose(x, (1.0, *lean, 0.0))
    found = DRUMS.find(pose(), at, margin=0.05)["gap"]
    drums = Geometry("cylinder", (0.3, 0.5)), Geometry("cylinder", (0.2, 0.4))
    assert found.min() == pytest.approx(separation(drums[0], pose(), drums[1], at), abs=1e-6)


DEEP = (
    ("box", "cylinder", (0.192, -0.136, 0.162), (0.598, 0.102, 0.217, 0.765)),
    ("cylinder", "box", (0.102, -0.051, -0.254), (0.342, -0.689, -0.307, -0.561)),
    ("hull", "cylinder", (0.219, -0.07, 0.116), (0.143, -0.985, 0.094, -0.023)),
)


@pytest.mark.parametrize(("a", "b", "x", "q"), DEEP)
def test_what_is_far_inside_is_told(a, b, x, q):
    """By a corner and a rim where nothing over a face, or over a cap, is as deep."""
    at = pose(), pose(x, q)
    found = ALL.find(*at, INDEX[a], INDEX[b])
    overlap = separation(SHAPES[a], at[0], SHAPES[b], at[1])
    assert overlap < -0.3
    assert found["gap"].min() < overlap + 1e-6
