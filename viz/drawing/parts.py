"""Shapes as triangles to draw, in flat arrays (`robosim.compiled.drawing`)."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.drawing import Meshes, to_linear
from robosim.compiled.records.drawing import PART, TEXTURE
from robosim.description.body import Geometry
from robosim.errors import ViewerError
from robosim.extras import needed
from robosim.validation import Array
from robosim.viz.drawing.levels import Level, is_solid, levels_of
from robosim.viz.shapes import Triangles, triangles

SMALLEST = 1  # texels along an edge of the last level of a texture


class Whole(NamedTuple):
    """The triangles of a shape.

    Attributes
    ----------
    levels : list of Level
        The finest first.
    closed : bool
        Whether they are all of a solid, seen from outside.
    """

    levels: list[Level]
    closed: bool


def made_once(geometry: Geometry) -> Whole:
    """The triangles of a shape, which meshes of one robot or several may share."""
    if geometry.kind != "mesh":
        return Whole([Level(0.0, triangles(geometry))], True)
    if geometry not in _WHOLE:
        vertices, faces = np.asarray(geometry.vertices), np.asarray(geometry.faces)
        _WHOLE[geometry] = Whole(levels_of(triangles(geometry)), is_solid(vertices, faces))
    return _WHOLE[geometry]


_WHOLE: WeakKeyDictionary[Geometry, Whole] = WeakKeyDictionary()


@dataclass
class Gathered:
    """Triangles of shapes, each once, and the parts that are made of them.

    Attributes
    ----------
    bodies, positions, turns
        Of each part its body, and its place on it: (n, 3) [m] and (n, 3, 3), scaled.
    """

    bodies: list[int] = field(default_factory=list)
    positions: list[Array] = field(default_factory=list)
    turns: list[Array] = field(default_factory=list)
    _records: list[NDArray[np.void]] = field(default_factory=list)
    _known: dict[Any, list[tuple[float, int]]] = field(default_factory=dict)
    _of_parts: list[list[tuple[float, int]]] = field(default_factory=list)
    _vertices: list[NDArray[np.float32]] = field(default_factory=list)
    _normals: list[NDArray[np.float32]] = field(default_factory=list)
    _uv: list[NDArray[np.float32]] = field(default_factory=list)
    _faces: list[NDArray[np.int32]] = field(default_factory=list)
    _ends: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    _closed: list[bool] = field(default_factory=list)
    _textures: list[tuple[int, int, int]] = field(default_factory=list)
    _texels: list[NDArray[np.float32]] = field(default_factory=list)
    _images: dict[bytes, tuple[int, int]] = field(default_factory=dict)

    def add_shape(self, body: int, shape: int, geometry: Geometry) -> int:
        """Add a shape of a body; returns the number of its part."""
        arrays = geometry.vertices, geometry.faces, geometry.uv
        key = (geometry.kind, geometry.size, *map(id, arrays))
        levels = self._known.get(key)
        if levels is None:
            levels = self._known[key] = self.add_levels(geometry)
        texture, images = -1, 0
        if geometry.texture is not None and geometry.uv is not None:
            texture, images = self._texture(geometry)
        turn = quaternions.rotation_matrix(np.asarray(geometry.quaternion))
        rgba = np.asarray(geometry.rgba, dtype=float)
        part = self.add_part(
            levels, rgba[:3], body=body, opacity=float(rgba[3]), shape=shape, texture=texture
        )
        self._records[part]["levels"] = images
        self.positions[part], self.turns[part] = np.asarray(geometry.position, dtype=float), turn
        return part

    def add_levels(self, geometry: Geometry) -> list[tuple[float, int]]:
        """Add the triangles of a shape, and coarser ones."""
        whole = made_once(geometry)
        return [
            (level.cell, self.add_mesh(level.mesh, whole.closed)[0][1]) for level in whole.levels
        ]

    def add_mesh(self, mesh: Triangles, closed: bool = False) -> list[tuple[float, int]]:
        """Add triangles, as the only level of what parts are made of."""
        vertices, faces = self._ends[-1]
        self._vertices.append(mesh.positions)
        self._normals.append(mesh.normals)
        uv = np.zeros((len(mesh.positions), 2), dtype=np.float32) if mesh.uv is None else mesh.uv
        self._uv.append(uv)
        self._faces.append(mesh.faces.astype(np.int32))
        self._ends.append((vertices + len(mesh.positions), faces + len(mesh.faces)))
        self._closed.append(closed)
        return [(0.0, len(self._closed) - 1)]

    def add_part(
        self,
        levels: list[tuple[float, int]],
        color: Iterable[float],
        *,
        body: int,
        opacity: float = 1.0,
        shape: int = -1,
        texture: int = -1,
        flat: bool = False,
        shown: bool = True,
        casts: bool = True,
    ) -> int:
        """Add a part of a colour in sRGB; returns its number."""
        record = np.zeros((), dtype=PART)
        record["vertices"], record["faces"] = self.ranges(levels[0][1])
        record["closed"] = self._closed[levels[0][1]]
        record["color"] = to_linear(np.clip(np.array(list(color)), 0.0, 1.0))
        record["opacity"], record["texture"] = opacity, texture
        record["body"], record["shape"] = body, shape
        record["flat"], record["shown"], record["casts"] = flat, shown, casts
        self._records.append(record)
        self._of_parts.append(levels)
        self.bodies.append(body)
        self.positions.append(np.zeros(3))
        self.turns.append(np.eye(3))
        return len(self._records) - 1

    def fade(self, part: int, color: Iterable[float], opacity: float) -> None:
        """Make a part translucent, of one colour in sRGB, and without a shadow."""
        record = self._records[part]
        record["color"], record["opacity"] = to_linear(np.array(list(color))), opacity
        record["texture"], record["casts"] = -1, 0

    def ranges(self, mesh: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """First, and behind the last, of the vertices and of the faces of a mesh."""
        (v0, f0), (v1, f1) = self._ends[mesh], self._ends[mesh + 1]
        return (v0, v1), (f0, f1)

    def cells(self) -> tuple[Array, NDArray[np.int64]]:
        """Of each part and level the edge of its cells [m], and its ranges (2, 2).

        Returns
        -------
        (n, m), inf for levels that a part does not have; (n, m, 2, 2)
        """
        m = max(map(len, self._of_parts), default=1)
        cells = np.full((len(self._of_parts), m), np.inf)
        ranges = np.zeros((len(self._of_parts), m, 2, 2), dtype=np.int64)
        for part, levels in enumerate(self._of_parts):
            for k, (cell, mesh) in enumerate(levels):
                cells[part, k], ranges[part, k] = cell, self.ranges(mesh)
        return cells, ranges

    def parts(self) -> NDArray[np.void]:
        """All parts (n,) PART, with the numbers of their triangles."""
        out = np.zeros(len(self._records), dtype=PART)
        for k, record in enumerate(self._records):
            out[k] = record
        vertices = out["vertices"][:, 1] - out["vertices"][:, 0]
        faces = out["faces"][:, 1] - out["faces"][:, 0]
        out["placed"], out["number"] = np.cumsum(vertices) - vertices, np.cumsum(faces) - faces
        return out

    def meshes(self) -> Meshes:
        """The triangles of all parts."""
        textures = np.zeros(len(self._textures), dtype=TEXTURE)
        for k, one in enumerate(self._textures):
            textures[k] = one
        none = np.zeros((0, 3), dtype=np.float32)
        return Meshes(
            np.concatenate([*self._vertices, none]),
            np.concatenate([*self._normals, none]),
            np.concatenate([*self._uv, none[:, :2]]),
            np.concatenate([*self._faces, np.zeros((0, 3), dtype=np.int32)]),
            textures,
            np.concatenate([*self._texels, none]),
        )

    def _texture(self, geometry: Geometry) -> tuple[int, int]:
        """(first, number) of the levels of a texture: the image, and half as large each time."""
        image = geometry.texture
        assert image is not None
        key = bytes(image)
        if key in self._images:
            return self._images[key]
        Image = needed("PIL.Image", "textures in pictures need Pillow", "pictures")
        try:
            with Image.open(io.BytesIO(key)) as file:
                texels = np.asarray(file.convert("RGB"), dtype=float) / 255.0
        except OSError as error:
            raise ViewerError(f"the texture of '{geometry.name}' cannot be read: {error}") from None
        level, first = to_linear(texels), len(self._textures)
        while True:
            height, width = level.shape[:2]
            begin = sum(len(one) for one in self._texels)
            self._textures.append((begin, width, height))
            self._texels.append(level.reshape(-1, 3).astype(np.float32))
            if min(height, width) <= SMALLEST or height % 2 or width % 2:
                break
            level = level.reshape(height // 2, 2, width // 2, 2, 3).mean(axis=(1, 3))
        self._images[key] = first, len(self._textures) - first
        return self._images[key]
