"""Geometry as records of shapes, and arrays of their vertices, faces and edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.kinds import (
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    POLYTOPE,
    SPHERE,
)
from robosim.compiled.model import ShapeData, Topology
from robosim.compiled.records.shape import NODE, POINT, SHAPE
from robosim.description.body import Geometry
from robosim.description.cones import slant, top_of
from robosim.description.obstacles import AnyShape, HalfSpace, HeightField, TriangleMesh
from robosim.description.polytopes import Polytope, convex_hull, polytope
from robosim.errors import ModelError
from robosim.validation import Array


def compile_shapes(shapes: Sequence[AnyShape]) -> tuple[NDArray[np.void], ShapeData]:
    """Shapes as records for the kernels, (n,) SHAPE read-only, and their vertices, faces, edges.

    The meshes of geometry count as their convex hulls. World geometry is placed in world axes,
    geometry in the axes of its body from the centre of mass.

    Raises
    ------
    ModelError
        For a mesh without volume, or a terrain without triangles.
    """
    builder = _Builder()
    records = np.zeros(len(shapes), dtype=SHAPE)
    records["R"], records["slant"] = np.eye(3), (1.0, 0.0)
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
    elif shape.kind == "ellipsoid":
        half = np.array(shape.size)
        record["kind"], record["radius"], record["reach"] = ELLIPSOID, half.max(), half.max()
        record["lower"], record["upper"] = -half, half
    else:
        kinds = {"sphere": SPHERE, "capsule": CAPSULE, "cylinder": CYLINDER, "cone": CYLINDER}
        radius, length = shape.size[0], shape.size[1] if len(shape.size) > 1 else 0.0
        record["kind"] = kinds[shape.kind]
        record["radius"], record["half_length"] = radius, length / 2
        record["top"], flat = radius, shape.kind in ("cylinder", "cone")
        if shape.kind == "cone":
            record["top"], record["slant"] = top_of(shape.size), slant(shape.size)
        half = np.array([radius, radius, length / 2 + (0.0 if flat else radius)])
        record["lower"], record["upper"] = -half, half
        record["reach"] = np.hypot(radius, half[2]) if flat else half[2]


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


def _box(half: Array) -> Polytope:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    faces = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return polytope(signs * half, faces)


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
        self.sides: list[NDArray[np.int64]] = []  # (n, 3) pairs of vertices, and edges
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
        own = np.arange(record["edge_begin"], len(self.edges))[:, None]
        ends = np.array(self.edges[record["edge_begin"] :], dtype=np.int64)[:, :2]
        self.sides.append(np.hstack((int(record["vertex_begin"]) + ends, own)))

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
        ends = begin + np.vstack([faces[:, [k, (k + 1) % 3]] for k in range(3)])
        self.sides.append(np.hstack((ends, np.full((len(ends), 1), -1))))
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
        sides = np.vstack((*self.sides, nothing[:, :3]))
        sides = np.unique(np.vstack((sides, sides[:, [1, 0, 2]])), axis=0)
        topology = Topology(
            faces=np.column_stack((begins, ends)).astype(np.int64),
            loops=np.array([v for loop in self.loops for v in loop], dtype=np.int64),
            edges=np.array(self.edges, dtype=np.int64),
            ring_begin=np.searchsorted(sides[:, 0], np.arange(self.n_vertices + 2)),
            rings=sides[:, 1].copy(),
            ring_edges=sides[:, 2].copy(),
        )
        arrays = ShapeData(
            vertices=_points(np.vstack((*self.vertices, np.zeros((1, 3))))),
            normals=_points(np.vstack(self.normals)),
            topology=topology,
            heights=np.concatenate((*self.heights, np.zeros(1))),
            triangles=np.vstack((*self.triangles, nothing)).astype(np.int64),
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
