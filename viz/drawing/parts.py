"""Shapes as triangles to draw, in flat arrays (`robosim.compiled.drawing`)."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.drawing import Meshes, to_linear
from robosim.compiled.records.drawing import PART, TEXTURE
from robosim.description.body import Geometry
from robosim.errors import ViewerError
from robosim.validation import Array
from robosim.viz.shapes import Triangles, triangles

SMALLEST = 1  # texels along an edge of the last level of a texture


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
    _known: dict[Any, tuple[int, int]] = field(default_factory=dict)
    _vertices: list[NDArray[np.float32]] = field(default_factory=list)
    _normals: list[NDArray[np.float32]] = field(default_factory=list)
    _uv: list[NDArray[np.float32]] = field(default_factory=list)
    _faces: list[NDArray[np.int32]] = field(default_factory=list)
    _ends: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    _textures: list[tuple[int, int, int]] = field(default_factory=list)
    _texels: list[NDArray[np.float32]] = field(default_factory=list)
    _images: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add_shape(self, body: int, shape: int, geometry: Geometry) -> int:
        """Add a shape of a body; returns the number of its part."""
        arrays = geometry.vertices, geometry.faces, geometry.uv
        key = (geometry.kind, geometry.size, *map(id, arrays))
        mesh = self._known.get(key)
        if mesh is None:
            mesh = self._known[key] = self.add_mesh(triangles(geometry))
        texture, levels = -1, 0
        if geometry.texture is not None and geometry.uv is not None:
            texture, levels = self._texture(geometry)
        turn = quaternions.rotation_matrix(np.asarray(geometry.quaternion))
        rgba = np.asarray(geometry.rgba, dtype=float)
        part = self.add_part(
            mesh, rgba[:3], body=body, opacity=float(rgba[3]), shape=shape, texture=texture
        )
        self._records[part]["levels"] = levels
        self.positions[part], self.turns[part] = np.asarray(geometry.position, dtype=float), turn
        return part

    def add_mesh(self, mesh: Triangles) -> tuple[int, int]:
        """Add triangles; returns the numbers by which parts know them."""
        vertices, faces = self._ends[-1]
        self._vertices.append(mesh.positions)
        self._normals.append(mesh.normals)
        uv = np.zeros((len(mesh.positions), 2), dtype=np.float32) if mesh.uv is None else mesh.uv
        self._uv.append(uv)
        self._faces.append(mesh.faces.astype(np.int32))
        self._ends.append((vertices + len(mesh.positions), faces + len(mesh.faces)))
        return len(self._ends) - 2, len(self._ends) - 1

    def add_part(
        self,
        mesh: tuple[int, int],
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
        (v0, f0), (v1, f1) = (self._ends[k] for k in mesh)
        record["vertices"], record["faces"] = (v0, v1), (f0, f1)
        record["color"] = to_linear(np.clip(np.array(list(color)), 0.0, 1.0))
        record["opacity"], record["texture"] = opacity, texture
        record["body"], record["shape"] = body, shape
        record["flat"], record["shown"], record["casts"] = flat, shown, casts
        self._records.append(record)
        self.bodies.append(body)
        self.positions.append(np.zeros(3))
        self.turns.append(np.eye(3))
        return len(self._records) - 1

    def fade(self, part: int, color: Iterable[float], opacity: float) -> None:
        """Make a part translucent, of one colour in sRGB, and without a shadow."""
        record = self._records[part]
        record["color"], record["opacity"] = to_linear(np.array(list(color))), opacity
        record["texture"], record["casts"] = -1, 0

    def first_vertex(self, mesh: tuple[int, int]) -> int:
        """The first vertex of a mesh among those of all."""
        return self._ends[mesh[0]][0]

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
        from PIL import Image, UnidentifiedImageError

        image = geometry.texture
        assert image is not None
        key = hash(bytes(image))
        if key in self._images:
            return self._images[key]
        try:
            with Image.open(io.BytesIO(bytes(image))) as file:
                texels = np.asarray(file.convert("RGB"), dtype=float) / 255.0
        except (UnidentifiedImageError, OSError) as error:
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
