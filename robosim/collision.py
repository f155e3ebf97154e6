"""Shapes for contact: world geometry, and all shapes of a scene compiled to flat arrays.

`compile_shapes` turns geometry into records for `robosim.kernels.shapes.find_features`, which
finds where two shapes may touch during a step. What it finds are features, FEATURE records:

- PLANE (0): a point with a radius against a plane, gap = n . (p - o) - radius. The plane belongs
  to shape A if `flip` is 0: o is `a0`, n is `a1` and p is `b0`. If `flip` is 1 it belongs to B:
  o is `b0`, n is `b1` and p is `a0`. n points away from the plane's owner.
- ROUND (1): segments with radii, gap = distance of (a0, a1) and (b0, b1) - radius. A point is a
  segment whose ends are equal.
- EDGE (2): edges of polytopes, through `a0` along the unit vector `a1` and through `b0` along
  `b1`; n = sign a1 x b1 / |a1 x b1| points from A to B, gap = n . (b0 - a0).

Points and directions are in the axes of the bodies that the shapes belong to, from their centres
of mass. `radius` is the sum of both radii and `radius_a` is A's share: the shapes touch at
distance `radius_a` from the point or segment on A. `id` stays the same from step to step while
the same parts of the same pair of shapes are near.

Accuracy: all is exact but a cylinder. That is exact against planes, faces and spheres, and where
its round side is touched between its ends. Where its rim meets an edge, a corner or a curved side
it counts as the prism of 24 sides around it, up to 0.87 % of the radius nearer than it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.body import Geometry
from robosim.description.obstacles import (  # noqa: F401 the documented place of obstacles
    AnyShape,
    HalfSpace,
    HeightField,
    TriangleMesh,
    as_obstacles,
    obstacle_name,
)
from robosim.description.polytopes import Polytope, convex_hull, polytope
from robosim.errors import ModelError
from robosim.validation import Array

SPHERE, CAPSULE, CYLINDER, POLYTOPE, HALF_SPACE, HEIGHT_FIELD, MESH = range(7)
PLANE, ROUND, EDGE = range(3)

CYLINDER_SIDES = 24

SHAPE = np.dtype(
    [
        ("kind", "i8"),
        ("x", "f8", (3,)),  # origin in body axes from the centre of mass
        ("R", "f8", (3, 3)),  # shape to body axes
        ("radius", "f8"),  # of a sphere, a capsule or a cylinder
        ("half_length", "f8"),  # of the axis, along z
        ("reach", "f8"),  # farthest point from the origin, inf for a half-space
        ("lower", "f8", (3,)),  # bounds in the shape's axes
        ("upper", "f8", (3,)),
        ("vertex_begin", "i8"),
        ("n_vertices", "i8"),
        ("face_begin", "i8"),
        ("n_faces", "i8"),
        ("edge_begin", "i8"),
        ("n_edges", "i8"),
        ("grid", "i8", (2,)),  # points of a height field along x and y
        ("spacing", "f8", (2,)),
        ("height_begin", "i8"),
        ("node_begin", "i8"),  # of a mesh's tree of bounds
        ("node_end", "i8"),
    ]
)
NODE = np.dtype(
    [
        ("lower", "f8", (3,)),
        ("upper", "f8", (3,)),
        ("skip", "i8"),  # the node after this one and all below it
        ("triangle", "i8"),  # of a leaf, else -1
    ]
)
FEATURE = np.dtype(
    [
        ("kind", "i8"),
        ("flip", "i8"),  # 1: the plane belongs to B
        ("sign", "f8"),  # of a1 x b1
        ("id", "i8"),
        ("radius", "f8"),
        ("radius_a", "f8"),
        ("gap", "f8"),  # when it was found [m]
        ("a0", "f8", (3,)),
        ("a1", "f8", (3,)),
        ("b0", "f8", (3,)),
        ("b1", "f8", (3,)),
    ]
)
POINT = np.dtype([("p", "f8", (3,)), ("height", "f8")])  # height: scratch
CORNER = np.dtype([("p", "f8", (3,)), ("tag", "i8")])
CANDIDATE = np.dtype(
    [
        ("kind", "i8"),
        ("owner", "i8"),  # of the plane: 0 the first shape, 1 the second
        ("sign", "f8"),
        ("id", "i8"),
        ("gap", "f8"),
        ("stand_in", "f8"),  # inf, or the gap of another one that makes this one superfluous
        ("radius_1", "f8"),
        ("radius_2", "f8"),
        ("a0", "f8", (3,)),
        ("a1", "f8", (3,)),
        ("b0", "f8", (3,)),
        ("b1", "f8", (3,)),
        ("normal", "f8", (3,)),  # from the first shape to the second
        ("point", "f8", (3,)),  # where they would touch
    ]
)
POLY = np.dtype(
    [
        ("kind", "i8"),
        ("n_vertices", "i8"),
        ("n_faces", "i8"),
        ("n_edges", "i8"),
        ("face_begin", "i8"),
        ("edge_begin", "i8"),
        ("radius", "f8"),  # around the vertices
        ("level", "f8"),  # height from which a vertex is in reach of the other shape
        ("x", "f8", (3,)),  # the shape in the frame of the first
        ("R", "f8", (3, 3)),
        ("touch", "f8"),  # around the points of the last outline
        ("rim", "f8"),  # radius of a cylinder
        ("half_length", "f8"),
        ("axis", "f8", (3,)),
        ("lower", "f8", (3,)),
        ("upper", "f8", (3,)),
    ]
)
PAIR = np.dtype(
    [
        ("R_1", "f8", (3, 3)),  # shapes to world
        ("R_2", "f8", (3, 3)),
        ("margin", "f8"),
        ("scale", "f8"),  # a length of the shapes, for tolerances
        ("count", "i8"),  # of candidates
        ("picks", "i8", (4,)),  # the best of them
        ("cursor", "i8"),  # to the next piece of the first shape
        ("owner", "i8"),  # of the plane of the next ones: 0 the first shape, 1 the second
        ("one_sided", "i8"),  # 1: the first shape is a triangle of a terrain
        ("triangle", "i8"),
        ("has_opposite", "i8", (3,)),  # whether there is a neighbour at an edge
        ("ring", "i8", (4,)),  # where the corners around each corner begin and end
        ("cells", "i8", (4,)),  # of a height field: first and last but one along x, along y
        ("W", "f8", (4, 3)),  # simplex of the difference second - first
        ("ia", "i8", (4,)),
        ("ib", "i8", (4,)),
        ("weight", "f8", (4,)),
        ("v", "f8", (3,)),
        ("n", "f8", (3,)),
        ("pa", "f8", (3,)),
        ("pb", "f8", (3,)),
        ("shift", "f8", (3,)),  # of the second shape, 0 but for a while
        ("separation", "f8"),
        ("best_kind", "i8"),
        ("best_1", "i8"),
        ("best_2", "i8"),
        ("axis", "f8", (3,)),
        ("e", "f8", (3,)),
        ("g", "f8", (3,)),
        ("m", "f8", (3,)),
        ("ba", "f8", (3,)),
        ("dc", "f8", (3,)),
    ]
)


class Topology(NamedTuple):
    """Faces and edges of all polytopes. A tuple of its own: what a kernel is handed is copied."""

    faces: NDArray[np.int64]  # (n, 2) begin and end in loops
    loops: NDArray[np.int64]  # vertices around the faces, counterclockwise from outside
    edges: NDArray[np.int64]  # (n, 4) two vertices, two faces


class ShapeData(NamedTuple):
    """What the shapes of a scene are made of, read-only. Indices count within a shape."""

    vertices: NDArray[np.void]  # (n,) POINT in the shape's axes
    normals: NDArray[np.void]  # (n,) POINT, of faces, outwards
    topology: Topology
    heights: Array  # (n,) of height fields, y runs first
    triangles: NDArray[np.int64]  # (n, 6) corners, and their neighbours' opposite corners or -1
    ring_begin: NDArray[np.int64]  # (n + 1,) where the vertices around a vertex of a mesh begin
    rings: NDArray[np.int64]  # (m,) those vertices
    nodes: NDArray[np.void]  # (n,) NODE


class ShapeScratch(NamedTuple):
    """Scratch memory of one narrow phase."""

    pair: NDArray[np.void]  # (1,) PAIR
    poly: NDArray[np.void]  # (2,) POLY
    vertices: NDArray[np.void]  # (2, most vertices) POINT
    normals: NDArray[np.void]  # (2, most faces) POINT
    opposite: NDArray[np.void]  # (3,) POINT, corners of a triangle's neighbours
    around: NDArray[np.void]  # (n,) POINT, corners around each corner of a triangle
    polygon: NDArray[np.void]  # (2, corners of a clipped face) CORNER
    near: NDArray[np.int64]  # (most edges,)
    candidates: NDArray[np.void]  # (n,) CANDIDATE
    chosen: NDArray[np.void]  # (4,) CANDIDATE


class _Builder:
    """Lists that the shapes are appended to."""

    def __init__(self) -> None:
        self.vertices: list[Array] = []
        self.normals: list[Array] = []
        self.loops: list[list[int]] = [[0, 1, 2]]
        # The faces and edges of a triangle of a terrain; its normals are found when it is met.
        self.edges: list[tuple[int, int, int, int]] = [(0, 1, 0, 1), (1, 2, 0, 2), (2, 0, 0, 3)]
        self.heights: list[Array] = []
        self.triangles: list[NDArray[np.int64]] = []
        self.sides: list[NDArray[np.int64]] = []  # of meshes, pairs of vertices
        self.nodes: list[tuple[Array, Array, int, int]] = []
        self.n_vertices = 0
        self.n_heights = 0
        self.n_triangles = 0
        self.normals.append(np.zeros((1, 3)))

    def add_vertices(self, record: np.void, vertices: Array) -> None:
        record["vertex_begin"], record["n_vertices"] = self.n_vertices, len(vertices)
        self.vertices.append(vertices)
        self.n_vertices += len(vertices)
        record["lower"], record["upper"] = vertices.min(axis=0), vertices.max(axis=0)
        record["reach"] = np.linalg.norm(vertices, axis=1).max()

    def add_polytope(self, record: np.void, shape: Polytope) -> None:
        self.add_vertices(record, shape.vertices)
        record["face_begin"], record["n_faces"] = len(self.loops), len(shape.faces)
        self.loops += shape.faces
        self.normals.append(shape.normals)
        sides: dict[tuple[int, int], int] = {}
        for f, face in enumerate(shape.faces):
            for v, w in zip(face, face[1:] + face[:1], strict=True):
                sides[v, w] = f
        record["edge_begin"] = len(self.edges)
        self.edges += [(v, w, f, sides[w, v]) for (v, w), f in sides.items() if v < w]
        record["n_edges"] = len(self.edges) - record["edge_begin"]

    def add_mesh(self, record: np.void, vertices: Array, faces: NDArray[np.int64]) -> None:
        """A triangle mesh with its tree of bounds."""
        begin, first = self.n_vertices, self.n_triangles
        self.add_vertices(record, vertices)
        opposite = np.full((len(faces), 3), -1, dtype=np.int64)
        sides: dict[tuple[int, int], tuple[int, int]] = {}
        for f, face in enumerate(faces.tolist()):
            for k in range(3):
                sides[face[k], face[(k + 1) % 3]] = f, face[(k + 2) % 3]
        for (v, w), (f, _) in sides.items():
            if (w, v) in sides:
                k = faces[f].tolist().index(v)
                opposite[f, k] = begin + sides[w, v][1]
        self.triangles.append(np.hstack((faces + begin, opposite)))
        self.sides.append(begin + np.vstack([faces[:, [k, (k + 1) % 3]] for k in range(3)]))
        self.n_triangles += len(faces)
        corners = vertices[faces]
        record["node_begin"] = len(self.nodes)
        self._add_node(corners.min(axis=1), corners.max(axis=1), np.arange(len(faces)), first)
        record["node_end"] = len(self.nodes)

    def _add_node(self, lower: Array, upper: Array, which: NDArray[np.int64], first: int) -> None:
        """A node over some triangles, and all below it: halves along the longest side."""
        low, high = lower[which].min(axis=0), upper[which].max(axis=0)
        here = len(self.nodes)
        triangle = first + int(which[0]) if len(which) == 1 else -1
        self.nodes.append((low, high, 0, triangle))
        if len(which) > 1:
            axis = int(np.argmax(high - low))
            order = which[np.argsort((lower + upper)[which, axis], kind="stable")]
            for part in (order[: len(order) // 2], order[len(order) // 2 :]):
                self._add_node(lower, upper, part, first)
        self.nodes[here] = (low, high, len(self.nodes), triangle)

    def data(self) -> ShapeData:
        ends = np.cumsum([len(loop) for loop in self.loops])
        begins = ends - [len(loop) for loop in self.loops]
        nothing = np.zeros((0, 6), dtype=np.int64)
        sides = np.vstack((*self.sides, nothing[:, :2]))
        sides = np.unique(np.vstack((sides, sides[:, ::-1])), axis=0)
        topology = Topology(
            faces=np.column_stack((begins, ends)).astype(np.int64),
            loops=np.array([v for loop in self.loops for v in loop], dtype=np.int64),
            edges=np.array(self.edges, dtype=np.int64),
        )
        arrays = ShapeData(
            vertices=_points(np.vstack((*self.vertices, np.zeros((1, 3))))),
            normals=_points(np.vstack(self.normals)),
            topology=topology,
            heights=np.concatenate((*self.heights, np.zeros(1))),
            triangles=np.vstack((*self.triangles, nothing)).astype(np.int64),
            ring_begin=np.searchsorted(sides[:, 0], np.arange(self.n_vertices + 2)),
            rings=sides[:, 1].copy(),
            nodes=np.array(self.nodes, dtype=NODE),
        )
        for array in (*topology, *arrays):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
        return arrays


def _points(array: Array) -> NDArray[np.void]:
    """Rows of (n, 3) as records."""
    points = np.zeros(len(array), dtype=POINT)
    points["p"] = array
    return points


def _prism(radius: float, half_length: float) -> Polytope:
    """The prism with CYLINDER_SIDES sides around a cylinder."""
    n = CYLINDER_SIDES
    angles = 2 * np.pi * np.arange(n) / n
    outer = radius / np.cos(np.pi / n)
    ring = np.column_stack((outer * np.cos(angles), outer * np.sin(angles)))
    bottom = np.column_stack((ring, np.full(n, -half_length)))
    top = np.column_stack((ring, np.full(n, half_length)))
    sides = [[k, (k + 1) % n, n + (k + 1) % n, n + k] for k in range(n)]
    faces = [list(range(n))[::-1], list(range(n, 2 * n)), *sides]
    return polytope(np.vstack((bottom, top)), faces)


def _box(half: Array) -> Polytope:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    faces = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return polytope(signs * half, faces)


def _add_geometry(builder: _Builder, record: np.void, shape: Geometry) -> None:
    element = f"geometry of '{shape.name}'" if shape.name else "geometry"
    record["x"] = shape.position
    record["R"] = quaternions.rotation_matrix(np.asarray(shape.quaternion))
    if shape.kind == "box":
        record["kind"] = POLYTOPE
        builder.add_polytope(record, _box(np.array(shape.size) / 2))
    elif shape.kind == "mesh":
        hull = convex_hull(np.asarray(shape.vertices), element)
        middle = (hull.vertices.min(axis=0) + hull.vertices.max(axis=0)) / 2
        record["kind"] = POLYTOPE
        record["x"] += record["R"] @ middle
        builder.add_polytope(record, hull._replace(vertices=hull.vertices - middle))
    else:
        kinds = {"sphere": SPHERE, "capsule": CAPSULE, "cylinder": CYLINDER}
        radius, length = shape.size[0], shape.size[1] if len(shape.size) > 1 else 0.0
        record["kind"] = kinds[shape.kind]
        record["radius"], record["half_length"] = radius, length / 2
        if shape.kind == "cylinder":
            builder.add_polytope(record, _prism(radius, length / 2))
        else:
            half = np.array([radius, radius, radius + length / 2])
            record["lower"], record["upper"], record["reach"] = -half, half, half[2]


def _add_half_space(record: np.void, shape: HalfSpace) -> None:
    normal = np.asarray(shape.normal)
    across = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    across /= np.linalg.norm(across)
    record["kind"], record["x"], record["reach"] = HALF_SPACE, shape.point, np.inf
    record["R"] = np.column_stack((across, np.cross(normal, across), normal))
    record["lower"], record["upper"] = -np.inf, (np.inf, np.inf, 0.0)


def _add_height_field(builder: _Builder, record: np.void, shape: HeightField) -> None:
    heights = np.asarray(shape.heights)
    half = np.array(shape.size) / 2
    record["kind"], record["x"] = HEIGHT_FIELD, shape.position
    record["R"] = quaternions.rotation_matrix(np.asarray(shape.quaternion))
    record["grid"], record["spacing"] = heights.shape, 2 * half / (np.array(heights.shape) - 1)
    record["lower"], record["upper"] = (*-half, heights.min()), (*half, heights.max())
    record["reach"] = np.linalg.norm((*half, np.abs(heights).max()))
    record["height_begin"] = builder.n_heights
    builder.heights.append(heights.ravel())
    builder.n_heights += heights.size


def _add_mesh(builder: _Builder, record: np.void, shape: TriangleMesh) -> None:
    geometry = shape.geometry
    vertices, faces = np.asarray(geometry.vertices), np.asarray(geometry.faces)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    solid = np.linalg.norm(np.cross(b - a, c - a), axis=1) > 0
    if not np.any(solid):
        raise ModelError("a mesh without triangles", element=f"terrain '{geometry.name}'")
    record["kind"], record["x"] = MESH, geometry.position
    record["R"] = quaternions.rotation_matrix(np.asarray(geometry.quaternion))
    # Files often repeat vertices, but neighbours are known by the vertices that they share.
    merged, index = np.unique(vertices, axis=0, return_inverse=True)
    builder.add_mesh(record, merged, index.reshape(-1)[faces[solid]])


def compile_shapes(shapes: Sequence[AnyShape]) -> tuple[NDArray[np.void], ShapeData]:
    """Shapes as records for the kernels, (n,) SHAPE read-only, and what they are made of.

    The meshes of geometry count as their convex hulls. World geometry is placed in world axes,
    geometry in the axes of its body from the centre of mass.

    Raises
    ------
    ModelError
        For a mesh without volume, or a terrain without triangles.
    """
    builder = _Builder()
    records = np.zeros(len(shapes), dtype=SHAPE)
    records["R"] = np.eye(3)
    for record, shape in zip(records, shapes, strict=True):
        if isinstance(shape, Geometry):
            _add_geometry(builder, record, shape)
        elif isinstance(shape, HalfSpace):
            _add_half_space(record, shape)
        elif isinstance(shape, HeightField):
            _add_height_field(builder, record, shape)
        else:
            _add_mesh(builder, record, shape)
    records.setflags(write=False)
    return records, builder.data()


def make_shape_scratch(shapes: NDArray[np.void], data: ShapeData) -> ShapeScratch:
    """Scratch memory for the narrow phase of any two of the shapes."""
    convex = shapes[shapes["kind"] <= POLYTOPE]
    # A segment has 2 vertices, a triangle 3 and, with its neighbours, 4 normals.
    n_vertices = max([3, *convex["n_vertices"]])
    n_faces = max([4, *convex["n_faces"]])
    n_edges = max([3, *convex["n_edges"]])
    # Every side of a face that cuts a polygon adds one point to it.
    n_corners = max(6, 2 * int(np.diff(data.topology.faces).max()) + 2)
    poly = np.zeros(2, dtype=POLY)
    poly["R"] = np.eye(3)
    return ShapeScratch(
        pair=np.zeros(1, dtype=PAIR),
        poly=poly,
        vertices=np.zeros((2, n_vertices), dtype=POINT),
        normals=np.zeros((2, n_faces), dtype=POINT),
        opposite=np.zeros(3, dtype=POINT),
        around=np.zeros(3 * max(6, int(np.diff(data.ring_begin).max())) + 1, dtype=POINT),
        polygon=np.zeros((2, n_corners), dtype=CORNER),
        near=np.zeros(n_edges, dtype=np.int64),
        candidates=np.zeros(64 + max(2 * n_corners, n_vertices), dtype=CANDIDATE),
        chosen=np.zeros(4, dtype=CANDIDATE),
    )
