"""Shapes of bodies as triangles to draw, in the shape's frame, with z as the axis of rotation.

Spheres, cylinders, cones and capsules are profiles (r, z) rotated about z. A mesh keeps its
vertices. Normals of a mesh are smoothed across edges with an angle below ``CREASE``, and sharp
across others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.body import Geometry
from robosim.description.cones import slant, top_of

Array = NDArray[np.float64]

SEGMENTS = 48
CREASE = np.deg2rad(35.0)
# Above this number of pairs of triangles that share a corner, normals are smoothed everywhere.
_MAX_PAIRS = 20_000_000


class Triangles(NamedTuple):
    """An indexed triangle list with one normal per vertex, counter-clockwise from outside."""

    positions: NDArray[np.float32]  # (n, 3) [m]
    normals: NDArray[np.float32]  # (n, 3), unit
    faces: NDArray[np.uint32]  # (m, 3)
    uv: NDArray[np.float32] | None  # (n, 2), where a mesh has them


def triangles(geometry: Geometry) -> Triangles:
    """The surface of `geometry` in its own frame; sizes as in ``Geometry``."""
    if geometry.kind == "box":
        return _box(np.asarray(geometry.size))
    if geometry.kind == "sphere":
        return turned([arc(geometry.size[0], 0.0, -90.0, 90.0, SEGMENTS // 2)])
    if geometry.kind == "cylinder":
        return turned(_cylinder_profile(*geometry.size))
    if geometry.kind == "cone":
        return turned(_cone_profile(geometry.size))
    if geometry.kind == "capsule":
        radius, length = geometry.size
        lower = arc(radius, -length / 2, -90.0, 0.0, SEGMENTS // 4)
        upper = arc(radius, length / 2, 0.0, 90.0, SEGMENTS // 4)
        return turned([np.vstack((lower, upper))])
    if geometry.kind == "ellipsoid":
        return _ellipsoid(np.array(geometry.size))
    return _mesh(geometry)


def _ellipsoid(half: Array) -> Triangles:
    ball = turned([arc(1.0, 0.0, -90.0, 90.0, SEGMENTS // 2)])
    normals = ball.normals / half
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return _pack(ball.positions * half, normals, ball.faces)


def _box(size: Array) -> Triangles:
    positions: list[Array] = []
    normals: list[Array] = []
    faces: list[tuple[int, int, int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            across = np.roll(np.eye(3), -axis - 1, axis=0)[:2]
            corners = ((-1, -1), (1, -1), (1, 1), (-1, 1))
            start = len(positions)
            positions += [normal + a * across[0] + b * sign * across[1] for a, b in corners]
            normals += [normal] * 4
            faces += [(start, start + 1, start + 2), (start, start + 2, start + 3)]
    return _pack(np.array(positions) * size / 2, normals, faces)


def arc(radius: float, z: float, start: float, end: float, steps: int) -> Array:
    """Profile (r, z, normal_r, normal_z) of a circle about (0, z), angles in degrees."""
    angles = np.deg2rad(np.linspace(start, end, steps + 1))
    c, s = np.cos(angles), np.sin(angles)
    return np.column_stack((radius * c, z + radius * s, c, s))


def _cylinder_profile(radius: float, length: float) -> list[Array]:
    half = length / 2
    return [
        np.array([[0, -half, 0, -1], [radius, -half, 0, -1]]),
        np.array([[radius, -half, 1, 0], [radius, half, 1, 0]]),
        np.array([[radius, half, 0, 1], [0, half, 0, 1]]),
    ]


def _cone_profile(size: tuple[float, ...]) -> list[Array]:
    half, base, top, (c, s) = size[1] / 2, size[0], top_of(size), slant(size)
    disc = [np.array([[top, half, 0, 1], [0, half, 0, 1]])] if top > 0 else []
    return [
        np.array([[0, -half, 0, -1], [base, -half, 0, -1]]),
        np.array([[base, -half, c, s], [top, half, c, s]]),
        *disc,
    ]


def turned(profiles: list[Array], segments: int = SEGMENTS) -> Triangles:
    """Profiles of rows (r, z, normal_r, normal_z), outline upwards, turned about z."""
    angles = np.linspace(0.0, 2 * np.pi, segments + 1)
    c, s = np.cos(angles), np.sin(angles)
    positions, normals, faces = [], [], []
    start = 0
    for profile in profiles:
        r, z, normal_r, normal_z = (column[:, None] for column in profile.T)
        flat = np.ones_like(c)
        positions.append(np.stack((r * c, r * s, z * flat), axis=-1).reshape(-1, 3))
        normals.append(
            np.stack((normal_r * c, normal_r * s, normal_z * flat), axis=-1).reshape(-1, 3)
        )
        row, column = np.mgrid[0 : len(profile) - 1, 0:segments]
        a = (start + row * (segments + 1) + column).ravel()
        b = a + segments + 1
        faces.append(np.column_stack((a, a + 1, b + 1)))
        faces.append(np.column_stack((a, b + 1, b)))
        start += len(profile) * (segments + 1)
    return _pack(np.vstack(positions), np.vstack(normals), np.vstack(faces))


def _mesh(geometry: Geometry) -> Triangles:
    vertices = np.asarray(geometry.vertices, dtype=np.float64)
    faces = np.asarray(geometry.faces, dtype=np.int64).reshape(-1, 3)
    corner_normals = _crease_normals(vertices, faces).reshape(-1, 3)
    corners = faces.reshape(-1)
    # A vertex is split only where its corners have normals that differ visibly.
    rounded = np.round(corner_normals * 127).astype(np.int64) + 128
    key = ((corners * 256 + rounded[:, 0]) * 256 + rounded[:, 1]) * 256 + rounded[:, 2]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    uv = None
    if geometry.uv is not None:
        uv = np.asarray(geometry.uv, dtype=np.float32)[corners[first]]
    return _pack(vertices[corners[first]], corner_normals[first], inverse.reshape(-1, 3), uv)


def _crease_normals(vertices: Array, faces: NDArray[np.int64]) -> Array:
    """A unit normal for each corner of each face, (m, 3, 3).

    The mean, weighted by area, over the faces at that point that bend less than CREASE from it.
    Points are compared by place, as files often repeat a vertex for each face.
    """
    if len(faces) == 0:
        return np.zeros((0, 3, 3))
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    unit = area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), 1e-300)
    _, place = np.unique(np.round(vertices, 7), axis=0, return_inverse=True)
    point = place.reshape(-1)[faces].reshape(-1)
    order = np.argsort(point, kind="stable")
    counts = np.bincount(point)
    everywhere = np.sum(counts.astype(float) ** 2) > _MAX_PAIRS
    if everywhere:
        smooth = np.zeros((len(counts), 3))
        np.add.at(smooth, point, np.repeat(area, 3, axis=0))
        return _unit(smooth)[point].reshape(-1, 3, 3)
    # Every ordered pair of corners at one point: `one` takes from `other`.
    group = counts[point[order]]
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    one = np.repeat(np.arange(len(order)), group)
    within = np.arange(len(one)) - np.repeat(np.cumsum(group) - group, group)
    other = np.repeat(starts, group) + within
    face_one, face_other = order[one] // 3, order[other] // 3
    near = np.einsum("ij,ij->i", unit[face_one], unit[face_other]) > np.cos(CREASE)
    near |= ~unit.any(axis=1)[face_one]  # a face without an area bends from nothing
    total = np.zeros((len(order), 3))
    for k in range(3):
        weights = np.where(near, area[face_other, k], 0.0)
        total[order, k] = np.bincount(one, weights=weights, minlength=len(order))
    flat = np.repeat(unit, 3, axis=0)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 0, total / np.maximum(length, 1e-300), flat).reshape(-1, 3, 3)


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)


def _pack(
    positions: Array, normals: ArrayLike, faces: ArrayLike, uv: NDArray[np.float32] | None = None
) -> Triangles:
    return Triangles(
        np.ascontiguousarray(positions, dtype=np.float32),
        np.ascontiguousarray(normals, dtype=np.float32),
        np.ascontiguousarray(faces, dtype=np.uint32),
        None if uv is None else np.ascontiguousarray(uv, dtype=np.float32),
    )
