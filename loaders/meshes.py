"""Mesh files (COLLADA, STL, OBJ) to vertices and faces, each file read once.

COLLADA: ``<unit>`` scales the mesh to metres and ``<up_axis>`` is ignored, both as in RViz, since
robot files are drawn to look right there.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import trimesh
from lxml import etree
from numpy.typing import NDArray

from robosim.errors import LoadError
from robosim.loaders import safe_xml

Array = NDArray[np.float64]
Colour = tuple[float, float, float, float]

FORMATS = (".dae", ".stl", ".obj")
_IMAGE_STARTS = (b"\x89PNG", b"\xff\xd8\xff")
_WHITE: Colour = (1.0, 1.0, 1.0, 1.0)


class MeshPart(NamedTuple):
    """A piece of a mesh that has one material; arrays are read-only and shared."""

    vertices: Array  # (n, 3) [m], scaled
    faces: NDArray[np.int64]  # (m, 3)
    colour: Colour | None
    uv: Array | None  # (n, 2)
    texture: bytes | None  # PNG or JPEG


class MeshCache:
    """The meshes of one model file; the same file at the same scale is kept once."""

    def __init__(self) -> None:
        self._parts: dict[tuple[Path, tuple[float, ...]], tuple[MeshPart, ...]] = {}
        self._outlines: dict[tuple[Path, tuple[float, ...]], MeshPart] = {}

    def parts(self, path: Path, scale: Array) -> tuple[MeshPart, ...]:
        """The parts of a mesh file, scaled by `scale` (3,).

        Raises
        ------
        LoadError
            If the file cannot be read, or holds no triangles.
        """
        key = (path.resolve(), tuple(float(s) for s in scale))
        if key not in self._parts:
            self._parts[key] = _read(path, np.asarray(scale, dtype=float))
        return self._parts[key]

    def outline(self, path: Path, scale: Array) -> MeshPart:
        """The whole mesh in one part, without looks: for contact."""
        key = (path.resolve(), tuple(float(s) for s in scale))
        if key not in self._outlines:
            self._outlines[key] = _joined(self.parts(path, scale))
        return self._outlines[key]


def _joined(parts: tuple[MeshPart, ...]) -> MeshPart:
    if len(parts) == 1:
        return parts[0]._replace(colour=None, uv=None, texture=None)
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    vertices = np.vstack([part.vertices for part in parts])
    faces = np.vstack([part.faces + n for part, n in zip(parts, starts, strict=True)])
    return MeshPart(_frozen(vertices), faces, None, None, None)


def _frozen(array: Any) -> Array:
    copy = np.array(array, dtype=np.float64)
    copy.setflags(write=False)
    return copy


class _Textures(trimesh.resolvers.FilePathResolver):  # type: ignore[misc]
    """Finds the files that a mesh refers to, and keeps the bytes of the images among them."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.images: dict[str, bytes] = {}

    def get(self, name: str) -> bytes:
        data: bytes = super().get(name)
        if data.startswith(_IMAGE_STARTS):
            self.images[name] = data
        return data


def _read(path: Path, scale: Array) -> tuple[MeshPart, ...]:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise LoadError(f"unknown mesh format '{path.suffix}'", file=path, alternatives=FORMATS)
    data = safe_xml.read_bytes(path, "mesh")
    root = None
    if suffix == ".dae":
        root = safe_xml.parse(data, path, large=True)
        scale = scale * _collada_unit(root, path)
    try:
        parts = _parse(data, path, scale)
        if not parts and root is not None:
            # Looks that refer to something missing make pycollada drop the shape as well.
            etree.strip_elements(root, "{*}bind_material")
            parts = _parse(etree.tostring(root), path, scale)
    except LoadError:
        raise
    except Exception as error:  # whatever a parser of three formats finds wrong
        raise LoadError(f"the mesh cannot be read: {error!r}", file=path) from error
    if not parts:
        raise LoadError("the mesh has no triangles", file=path)
    return parts


def _parse(data: bytes, path: Path, scale: Array) -> tuple[MeshPart, ...]:
    textures = _Textures(path)
    scene = trimesh.load(
        io.BytesIO(data), file_type=path.suffix.lower()[1:], resolver=textures, force="scene"
    )
    return tuple(_scene_parts(scene, scale, path, textures.images))


def _collada_unit(root: etree._Element, path: Path) -> float:
    """Metres per unit of a COLLADA file."""
    unit = root.find("{*}asset/{*}unit")
    text = "1" if unit is None else unit.get("meter", "1")
    try:
        metres = float(text)
    except ValueError:
        metres = np.nan
    if not (np.isfinite(metres) and metres > 0):
        raise LoadError(f"'meter' must be positive, not '{text}'", file=path, element="<unit>")
    return metres


def _scene_parts(scene: Any, scale: Array, path: Path, images: dict[str, bytes]) -> list[MeshPart]:
    parts = []
    for node in scene.graph.nodes_geometry:
        matrix, name = scene.graph[node]
        mesh = scene.geometry[name]
        if len(getattr(mesh, "faces", ())) == 0:
            continue  # lines and points
        transform = np.diag([*scale, 1.0]) @ matrix
        vertices = mesh.vertices @ transform[:3, :3].T + transform[:3, 3]
        if not np.all(np.isfinite(vertices)):
            raise LoadError("vertices must be finite", file=path, element=f"mesh '{name}'")
        faces = np.asarray(mesh.faces, dtype=np.int64)
        if np.linalg.det(transform[:3, :3]) < 0:
            faces = faces[:, ::-1]  # a mirrored mesh would be inside out
        faces = np.ascontiguousarray(faces)
        faces.setflags(write=False)
        colour, uv, texture = _looks(mesh, images)
        parts.append(MeshPart(_frozen(vertices), faces, colour, uv, texture))
    return parts


def _looks(mesh: Any, images: dict[str, bytes]) -> tuple[Colour | None, Array | None, bytes | None]:
    """(colour, texture coordinates, texture) of a trimesh mesh, where it has them."""
    visual = mesh.visual
    if not visual.defined:
        return None, None, None
    if visual.kind != "texture":
        return _colour(visual.main_color), None, None
    material = visual.material
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if image is not None and visual.uv is not None and len(visual.uv) == len(mesh.vertices):
        return _WHITE, _frozen(visual.uv), _encoded(image, images)
    colour = getattr(material, "baseColorFactor", None)
    return _colour(material.main_color if colour is None else colour), None, None


def _encoded(image: Any, images: dict[str, bytes]) -> bytes:
    """An image as PNG or JPEG; where the mesh has a single one, as the file has it."""
    if len(images) == 1:
        return next(iter(images.values()))
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def _colour(rgba: Any) -> Colour:
    r, g, b, a = (float(c) / 255.0 for c in np.asarray(rgba)[:4])
    return r, g, b, a
