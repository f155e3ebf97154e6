"""Meshes with fewer triangles, for pictures in which those of a mesh are smaller than pixels.

Vertices that lie in one cell of a grid, and whose normals point to the same side of a cube, become
one [Rossignac1993]. A picture takes the coarsest level whose cells are small within a pixel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from robosim.description.solids import is_closed, places
from robosim.viz.shapes import Triangles

FEWEST = 1000  # triangles of a mesh that has levels
FINEST = 1 / 512  # edge of the smallest cells, by the largest side of a mesh
SMALLER = 0.7  # share of the triangles of the level before that a level may have


class Level(NamedTuple):
    """A mesh, and the edge of the cells [m] whose vertices have become one."""

    cell: float
    mesh: Triangles


def levels_of(mesh: Triangles) -> list[Level]:
    """The mesh itself, and coarser ones; those with a texture have none, as it would tear."""
    levels = [Level(0.0, mesh)]
    if mesh.uv is not None or len(mesh.faces) < FEWEST:
        return levels
    cell = FINEST * float(np.ptp(mesh.positions, axis=0).max())
    while len(levels[-1].mesh.faces) > FEWEST:
        coarser = clustered(mesh, cell)
        if len(coarser.faces) < SMALLER * len(levels[-1].mesh.faces):
            levels.append(Level(cell, coarser))
        cell *= 2
    return levels


def clustered(mesh: Triangles, cell: float) -> Triangles:
    """The mesh with the vertices of each cell made one, at their mean."""
    axis = np.argmax(np.abs(mesh.normals), axis=1)
    up = np.take_along_axis(mesh.normals, axis[:, None], axis=1)[:, 0] > 0
    places = np.floor((mesh.positions - mesh.positions.min(axis=0)) / cell).astype(np.int64)
    key = ((places[:, 0] << 40) + (places[:, 1] << 20) + places[:, 2]) * 6 + 2 * axis + up
    _, merged, counts = np.unique(key, return_inverse=True, return_counts=True)

    def mean(values: NDArray[np.float32]) -> NDArray[np.float64]:
        columns = [np.bincount(merged, values[:, k], len(counts)) for k in range(3)]
        return np.column_stack(columns) / counts[:, None]

    normals = mean(mesh.normals)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    faces = merged[mesh.faces.astype(np.int64)]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    positions = mean(mesh.positions).astype(np.float32)
    return Triangles(positions, normals.astype(np.float32), faces.astype(np.uint32), None)


def is_solid(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> bool:
    """Whether triangles are the surfaces of solids, all of them seen from outside."""
    if not is_closed(vertices, faces, once=False):
        return False
    place = places(vertices)
    corners = place[faces]
    ends = np.concatenate((corners[:, :2], corners[:, 1:]))
    n = int(place.max()) + 1
    edges = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    count, part = connected_components(edges, directed=False)
    # From the middle, so that a mesh far from its origin loses no digits.
    a, b, c = ((vertices - vertices.mean(axis=0))[faces[:, k]] for k in range(3))
    volumes = np.einsum("ni,ni->n", a, np.cross(b, c))
    of_parts = np.bincount(part[corners[:, 0]], volumes, count)
    return bool(np.all(of_parts[np.unique(part[corners])] > 0))
