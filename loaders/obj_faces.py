"""Faces of OBJ files with more than three corners, in triangles.

Corners of such a face need not be in a plane, so that the volume of a mesh depends on the
triangles. They are those of tinyobjloader, which MuJoCo reads OBJ files with: a quadrilateral is
cut along its shorter diagonal, and of a polygon ears are cut off. A corner counts as convex if it
turns the way in which its first side passes the file's origin; this is no exact test, but the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Triangle = tuple[int, int, int]
Corners = NDArray[np.float32]

_SEVERAL = re.compile(rb"^[ \t]*f(?:[ \t]+[^\s#]+){4}", re.MULTILINE)
_MOST_CORNERS = 1000  # which bounds the time, as it grows with their square
_EPSILON = np.finfo(np.float32).eps


def triangulated(data: bytes) -> bytes:
    """The text of an OBJ file, with triangles in place of faces with more corners."""
    data = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
    if _SEVERAL.search(data) is None:
        return data
    lines = data.splitlines()
    vertices = _vertices(lines)
    told = 0  # vertices in the lines above
    out: list[bytes] = []
    for line in lines:
        words = line.partition(b"#")[0].split()
        told += bool(words) and words[0] == b"v"
        if len(words) <= 4 or words[0] != b"f":
            out.append(line)
            continue
        corners = words[1:]
        if len(corners) > _MOST_CORNERS:
            raise ValueError(
                f"a face with {len(corners)} corners; at most {_MOST_CORNERS} are read"
            )
        indices = [_index(corner, told) for corner in corners]
        if not all(0 <= index < len(vertices) for index in indices):
            out.append(line)  # refused by the reader of the mesh
            continue
        out += [b"f " + b" ".join(corners[k] for k in triangle)
                for triangle in triangles(vertices[indices])]  # fmt: skip
    return b"\n".join(out) + b"\n"


def _vertices(lines: list[bytes]) -> Corners:
    """Vertices (n, 3), in single precision as tinyobjloader has them."""
    rows = (line.split() for line in lines)
    return np.array([row[1:4] for row in rows if row[:1] == [b"v"]], dtype=np.float32)


def _index(corner: bytes, told: int) -> int:
    """The index of a corner's vertex; negative ones count from the last vertex above."""
    number = int(corner.partition(b"/")[0])
    return number - 1 if number > 0 else told + number


def triangles(corners: Corners) -> list[Triangle]:
    """The triangles of a face with corners (n, 3), as indices of corners."""
    if len(corners) == 4:
        first, second = (float(np.sum((corners[k + 2] - corners[k]) ** 2)) for k in (0, 1))
        return [(0, 1, 2), (0, 2, 3)] if first < second else [(0, 1, 3), (1, 2, 3)]
    return list(_ears(corners[:, _axes(corners)]))


def _axes(corners: Corners) -> list[int]:
    """The two axes of the plane in which a polygon is cut: by the normal of its first corner."""
    ahead = np.roll(corners, -1, axis=0) - corners
    for normal in np.abs(np.cross(ahead, np.roll(ahead, -1, axis=0))):
        if np.any(normal > _EPSILON):
            x, y, z = normal
            if x > y and x > z:
                return [1, 2]
            return [0, 1] if z > x and z > y else [0, 2]
    return [1, 2]


def _ears(points: Corners) -> Iterator[Triangle]:
    """Triangles of a polygon (n, 2); corners that no ear can be cut from are left out."""
    left = list(range(len(points)))
    before = tries = len(points)
    start = 0
    while len(left) > 3 and tries > 0:
        n = len(left)
        start %= n
        # An ear that the last try finds is the last one, as tries are counted before it is found.
        before, tries = n, n if n < before else tries - 1
        a, b, c = (left[(start + k) % n] for k in range(3))
        x, y = points[[a, b, c]].T
        turn = (x[1] - x[0]) * (y[2] - y[1]) - (y[1] - y[0]) * (x[2] - x[1])
        others = points[[left[(start + k) % n] for k in range(3, n)]]
        if turn * (x[0] * y[1] - y[0] * x[1]) < 0 or np.any(_hold(x, y, others)):
            start += 1
            continue
        yield a, b, c
        left.pop((start + 1) % n)
    if len(left) == 3:
        yield left[0], left[1], left[2]


def _hold(x: Corners, y: Corners, points: Corners) -> NDArray[np.bool_]:
    """For points (n, 2), whether a triangle has them: a ray crosses an odd number of its sides."""
    px, py = points.T
    inside = np.zeros(len(points), dtype=bool)
    for i in range(3):
        j = i - 1
        crossed = (y[i] > py) != (y[j] > py)
        if np.any(crossed):
            inside ^= crossed & (px < (x[j] - x[i]) * (py - y[i]) / (y[j] - y[i]) + x[i])
    return inside
