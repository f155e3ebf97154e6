"""Mesh files (COLLADA, STL, OBJ, glTF) as vertices and faces; each file is read once.

For COLLADA, ``<unit>`` scales the mesh to metres and ``<up_axis>`` is ignored, both as in RViz, for
which robot files are made. The axes of glTF are also kept, although its y axis is up.

Results are cached on disk (`robosim.loaders.disk_cache`) by the hash of the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from robosim import safe_xml
from robosim.description.body import Geometry
from robosim.errors import LoadError
from robosim.extras import is_there, needed
from robosim.loaders import disk_cache
from robosim.loaders.hulls import hull_faces
from robosim.loaders.obj_faces import triangulated
from robosim.version import install

Array = NDArray[np.float64]
Colour = tuple[float, float, float, float]
GREY: Colour = (0.7, 0.7, 0.7, 1.0)
"""Colour of what has none in its file."""

FORMATS = (".dae", ".stl", ".obj", ".glb", ".gltf")
# Larger files are refused, which bounds time and memory; docs/loading.md has measurements.
LARGEST_FILE = 112 << 20  # of a mesh, or of a file to which it refers [bytes]
LARGEST_XML = 48 << 20  # of a COLLADA mesh, which needs twice the memory
MOST_FACES = 1 << 23  # of all parts, counted for each instance in a scene
MOST_INSTANCES = 10_000
_WORTH_KEEPING = 32 << 10  # bytes; parsing smaller files is faster than the cache

_IMAGE_STARTS = (b"\x89PNG", b"\xff\xd8\xff")
_LINE = re.compile(rb"^[ \t]*l[ \t]", re.MULTILINE)  # of an OBJ file
_WHITE: Colour = (1.0, 1.0, 1.0, 1.0)


class MeshPart(NamedTuple):
    """A piece of a mesh with one material; arrays are read-only and shared."""

    vertices: Array  # (n, 3) [m], scaled
    faces: NDArray[np.int64]  # (m, 3)
    colour: Colour | None
    uv: Array | None  # (n, 2)
    texture: bytes | None  # PNG or JPEG


def drawn(
    parts: Sequence[MeshPart], colour: Colour | None, place: Mapping[str, Any]
) -> list[Geometry]:
    """Parts of a mesh as geometries, with the fields of `place`.

    A colour of the model file has precedence over the mesh's, but not over its texture.
    """
    return [
        Geometry(
            "mesh",
            vertices=part.vertices,
            faces=part.faces,
            rgba=(None if part.texture else colour) or part.colour or GREY,
            uv=part.uv,
            texture=part.texture,
            **place,
        )
        for part in parts
    ]


class MeshCache:
    """The meshes of one model file; each file is kept once for each scale."""

    def __init__(self) -> None:
        self._parts: dict[tuple[Path, tuple[float, ...]], tuple[MeshPart, ...]] = {}
        self._outlines: dict[tuple[Path, tuple[float, ...]], MeshPart] = {}

    def parts(self, path: Path, scale: Array) -> tuple[MeshPart, ...]:
        """The parts of a mesh file, scaled by `scale` (3,).

        Raises
        ------
        LoadError
            If the file cannot be read, is too large, or has no triangles.
        """
        key = (path.resolve(), tuple(float(s) for s in scale))
        if key not in self._parts:
            parts = read_mesh(path)
            self._parts[key] = tuple(_scaled(part, np.asarray(key[1]), path) for part in parts)
        return self._parts[key]

    def outline(self, path: Path, scale: Array) -> MeshPart:
        """The whole mesh as one part, without materials, for contacts."""
        key = (path.resolve(), tuple(float(s) for s in scale))
        if key not in self._outlines:
            self._outlines[key] = _joined(self.parts(path, scale))
        return self._outlines[key]


def _scaled(part: MeshPart, scale: Array, path: Path) -> MeshPart:
    vertices, faces = part.vertices * scale, part.faces
    if not np.all(np.isfinite(vertices)):
        raise LoadError("vertices must be finite", file=path)
    if np.prod(np.sign(scale)) < 0:
        faces = faces[:, ::-1]  # otherwise a mirrored mesh would be inverted
    return part._replace(vertices=_frozen(vertices), faces=_frozen(faces, np.int64))


def _joined(parts: tuple[MeshPart, ...]) -> MeshPart:
    if len(parts) == 1:
        return parts[0]._replace(colour=None, uv=None, texture=None)
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    vertices = np.vstack([part.vertices for part in parts])
    faces = np.vstack([part.faces + n for part, n in zip(parts, starts, strict=True)])
    return MeshPart(_frozen(vertices), _frozen(faces, np.int64), None, None, None)


def _frozen(array: Any, dtype: type = np.float64) -> Any:
    copy: NDArray[Any] = np.array(array, dtype=dtype, order="C")
    copy.setflags(write=False)
    return copy


def read_mesh(path: Path) -> tuple[MeshPart, ...]:
    """The parts of a mesh file in its units, or in metres if the file has a unit.

    Raises
    ------
    LoadError
        If the file cannot be read, is too large, or has no triangles.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise LoadError(f"unknown mesh format '{path.suffix}'", file=path, alternatives=FORMATS)
    largest = LARGEST_XML if suffix == ".dae" else LARGEST_FILE
    data = safe_xml.read_bytes(path, "mesh", largest)
    neighbours = _Neighbours(path)

    def compute() -> disk_cache.Arrays:
        return _encoded(_parse(data, path, suffix, neighbours), neighbours)

    def decode(arrays: disk_cache.Arrays) -> tuple[MeshPart, ...]:
        return _decoded(arrays, neighbours)

    # Without Pillow the parts have no textures, and these would be missed once it is there.
    if len(data) < _WORTH_KEEPING or not (suffix == ".stl" or is_there("PIL")):
        return _parse(data, path, suffix, neighbours)
    return disk_cache.cached(disk_cache.digest(f"mesh {suffix}", data), compute, decode)


class _Neighbours:
    """Finds the files to which a mesh refers, for trimesh; keeps the bytes of images.

    The files must be in the folder of the mesh, in its parent folder, or below these.

    Attributes
    ----------
    images : dict of str to bytes
    seen : dict of str to str
        The hash of the file for each requested name, or "" for a missing file.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.resolve().parent
        self.images: dict[str, bytes] = {}
        self.seen: dict[str, str] = {}

    def hash(self, name: str) -> str:
        """The hash of a file by its name, "" for a missing file."""
        try:
            return hashlib.sha256(self._read(name)).hexdigest()
        except (OSError, ValueError):
            return ""

    def get(self, name: str) -> bytes:
        self.seen[name] = self.hash(name)
        data = self._read(name)
        if data.startswith(_IMAGE_STARTS):
            self.images[name] = data
        return in_utf8(data) if name.lower().endswith(".mtl") else data

    __getitem__ = get

    def _read(self, name: str) -> bytes:
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder.parent):
            raise ValueError(f"{name} is not near the mesh")
        if not path.is_file() or path.stat().st_size > LARGEST_FILE:
            raise FileNotFoundError(name)
        return path.read_bytes()


def _parse(data: bytes, path: Path, suffix: str, neighbours: _Neighbours) -> tuple[MeshPart, ...]:
    scale = 1.0
    if suffix == ".dae":
        needed("collada", ".dae meshes need pycollada", "collada")
        root = safe_xml.parse(data, path, large=True)
        scale = _collada_unit(root, path)
        _refuse_many_instances(root, path)
        del root  # needs several times the memory of the file
    try:
        parts = _scene_parts(data, path, suffix, scale, neighbours)
        if not parts and suffix == ".dae":
            # Materials that refer to missing files make pycollada drop the shape as well.
            root = safe_xml.parse(data, path, large=True)
            etree.strip_elements(root, "{*}bind_material")
            parts = _scene_parts(etree.tostring(root), path, suffix, scale, neighbours)
    except LoadError:
        raise
    except Exception as error:  # exceptions of parsers of several formats
        raise LoadError(f"the mesh cannot be read: {error!r}", file=path) from error
    if not parts:
        raise LoadError("the mesh has no triangles", file=path)
    if not is_there("PIL") and (neighbours.images or b'"images"' in data):
        warnings.warn(
            f"{path.name}: textures are left out, as they need Pillow: {install('pictures')}",
            stacklevel=2,
        )
    for part in parts:
        n = len(part.vertices)
        if not 0 <= part.faces.min() <= part.faces.max() < n:
            raise LoadError(
                f"has a triangle with a corner that is not one of its {n} vertices", file=path
            )
    return parts


def in_utf8(data: bytes) -> bytes:
    """A text in UTF-8, which comments of some programs are not; other data as they are."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data if b"\0" in data else data.decode("latin-1").encode()
    return data


def _scene_parts(
    data: bytes, path: Path, suffix: str, scale: float, neighbours: _Neighbours
) -> tuple[MeshPart, ...]:
    if suffix == ".stl" and (part := _binary_stl(data)) is not None:
        return (part,) if len(part.faces) else ()
    import trimesh  # imported here, as binary STL files and shapes do not need it

    if suffix in (".obj", ".stl"):
        data = in_utf8(data)
    if suffix == ".obj":
        data = triangulated(data)

    # OBJ defines which corners are one vertex; nearby ones are not merged. Files with materials are
    # different: trimesh reads some of these only if it may merge vertices.
    plain = suffix == ".obj" and b"\nvt " not in data and b"usemtl" not in data
    options = {"process": False, "maintain_order": True} if plain else {}
    scene = trimesh.load(
        io.BytesIO(data), file_type=suffix[1:], resolver=neighbours, force="scene", **options
    )
    shown = [
        (matrix, scene.geometry[name])
        for matrix, name in (scene.graph[node] for node in scene.graph.nodes_geometry)
        if len(getattr(scene.geometry[name], "faces", ()))  # without lines and points
    ]
    if not shown and suffix == ".obj" and not _LINE.search(data):
        return _hull_of_points(scene)
    n_faces = sum(len(mesh.faces) for _, mesh in shown)
    if n_faces > MOST_FACES:
        raise LoadError(
            f"the mesh has {n_faces} triangles; more than {MOST_FACES} are not read", file=path
        )
    return tuple(_part(matrix, mesh, scale, neighbours.images) for matrix, mesh in shown)


def _hull_of_points(scene: Any) -> tuple[MeshPart, ...]:
    """The convex hull of an OBJ file of points alone, as MuJoCo reads such files."""
    for cloud in scene.geometry.values():
        vertices = np.asarray(cloud.vertices, dtype=np.float64)
        return (MeshPart(vertices, hull_faces(vertices), None, None, None),)
    return ()


def _binary_stl(data: bytes) -> MeshPart | None:
    """The mesh of a binary STL file, in which triangles repeat corners; None for other files."""
    count = int.from_bytes(data[80:84], "little")
    if len(data) != 84 + 50 * count:
        return None
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("colour", "<u2")])
    corners = np.frombuffer(data, record, count, 84)["corners"].reshape(-1, 3) + np.float32(0)
    # Corners at equal positions are one vertex: those with equal hashes, which are compared.
    bits = corners.view(np.uint32).astype(np.uint64)
    mixed = np.zeros(len(bits), dtype=np.uint64)
    for k in range(3):
        mixed = (mixed ^ bits[:, k]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    _, first, same = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(corners[first[same]], corners, equal_nan=True):
        first = same = np.arange(len(corners))
    return MeshPart(corners[first].astype(np.float64), same.reshape(-1, 3), None, None, None)


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


def _refuse_many_instances(root: etree._Element, path: Path) -> None:
    """Refuse COLLADA nodes that instantiate each other without end, or too often."""
    nodes = {node.get("id"): node for node in root.iter("{*}node") if node.get("id")}
    counts: dict[etree._Element, int] = {}

    def count(node: etree._Element) -> int:
        """The number of instances of nodes in this one."""
        if node not in counts:
            counts[node] = MOST_INSTANCES  # the value if the node contains itself
            below = list(node.iterchildren("{*}node"))
            for instance in node.iterchildren("{*}instance_node"):
                target = nodes.get(instance.get("url", "").removeprefix("#"))
                below += [] if target is None else [target]
            counts[node] = min(1 + sum(count(child) for child in below), MOST_INSTANCES)
        return counts[node]

    try:
        most = max(map(count, root.iter("{*}visual_scene")), default=0)
    except RecursionError:
        most = MOST_INSTANCES
    if most >= MOST_INSTANCES:
        raise LoadError(
            f"shows {MOST_INSTANCES} nodes or more, or a node within itself",
            file=path,
            element="<visual_scene>",
        )


def _part(matrix: Array, mesh: Any, scale: float, images: dict[str, bytes]) -> MeshPart:
    transform = matrix[:3] * scale
    vertices = mesh.vertices @ transform[:, :3].T + transform[:, 3]
    faces = np.asarray(mesh.faces, dtype=np.int64)
    if np.linalg.det(transform[:, :3]) < 0:
        faces = faces[:, ::-1]
    return MeshPart(vertices, faces, *_looks(mesh, images))


def _looks(mesh: Any, images: dict[str, bytes]) -> tuple[Colour | None, Array | None, bytes | None]:
    """(colour, texture coordinates, texture) of a trimesh mesh, or None."""
    visual = mesh.visual
    if not visual.defined:
        return None, None, None
    if visual.kind != "texture":
        return _colour(visual.main_color), None, None
    material = visual.material
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if image is not None and visual.uv is not None and len(visual.uv) == len(mesh.vertices):
        return _WHITE, _frozen(visual.uv), _image_bytes(image, images)
    colour = getattr(material, "baseColorFactor", None)
    return _colour(material.main_color if colour is None else colour), None, None


def _image_bytes(image: Any, images: dict[str, bytes]) -> bytes:
    """An image as PNG or JPEG; unchanged from the file if the mesh has only one."""
    if len(images) == 1:
        return next(iter(images.values()))
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def _colour(rgba: Any) -> Colour:
    r, g, b, a = (float(c) / 255.0 for c in np.asarray(rgba)[:4])
    return r, g, b, a


def _encoded(parts: tuple[MeshPart, ...], neighbours: _Neighbours) -> disk_cache.Arrays:
    """The parts of a mesh as arrays, with the hashes of other files that they depend on."""
    told = {"seen": neighbours.seen, "colours": [part.colour for part in parts]}
    arrays: disk_cache.Arrays = {"told": np.frombuffer(json.dumps(told).encode(), np.uint8)}
    for k, part in enumerate(parts):
        arrays[f"vertices{k}"] = part.vertices
        arrays[f"faces{k}"] = part.faces.astype(np.int32)
        if part.uv is not None and part.texture is not None:
            arrays[f"uv{k}"] = part.uv
            arrays[f"texture{k}"] = np.frombuffer(part.texture, np.uint8)
    return arrays


def _decoded(arrays: disk_cache.Arrays, neighbours: _Neighbours) -> tuple[MeshPart, ...]:
    told = json.loads(arrays["told"].tobytes())
    if any(neighbours.hash(name) != found for name, found in told["seen"].items()):
        raise ValueError("a file that the mesh refers to has changed")
    return tuple(_decoded_parts(arrays, told["colours"]))


def _decoded_parts(arrays: disk_cache.Arrays, colours: list[Any]) -> Iterator[MeshPart]:
    for k, colour in enumerate(colours):
        vertices = arrays[f"vertices{k}"].astype(np.float64, casting="no").reshape(-1, 3)
        faces = arrays[f"faces{k}"].astype(np.int64, casting="safe").reshape(-1, 3)
        if not 0 <= faces.min() <= faces.max() < len(vertices):
            raise ValueError("faces without vertices")
        uv = texture = None
        if f"uv{k}" in arrays:
            uv = _frozen(arrays[f"uv{k}"].astype(np.float64, casting="no").reshape(-1, 2))
            texture = arrays[f"texture{k}"].tobytes()
        rgba = None if colour is None else tuple(float(c) for c in colour)
        yield MeshPart(vertices, faces, rgba, uv, texture)  # type: ignore[arg-type]
