"""Mesh assets: files of all formats, including MuJoCo's, and vertices in the MJCF."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions, safe_xml
from robosim.description.solids import Solid
from robosim.errors import LoadError
from robosim.loaders.hulls import hull_faces
from robosim.loaders.meshes import MeshCache
from robosim.loaders.mjcf.compiler import Compiler
from robosim.loaders.mjcf.defaults import Defaults
from robosim.loaders.mjcf.files import Files, stem
from robosim.loaders.mjcf.mesh_inertia import WAYS, mass_properties
from robosim.loaders.mjcf.nodes import Node

Array = NDArray[np.float64]
Faces = NDArray[np.int64]

_HEADER = struct.Struct("<4i")


@dataclass(frozen=True)
class Mesh:
    """A mesh asset, in the frame of geoms.

    Attributes
    ----------
    node : Node
    vertices : (n, 3) [m], scale and reference frame applied; read-only
    faces : (m, 3), counterclockwise seen from outside; read-only
    way : str
        Method for its mass properties; see `mesh_inertia`.
    """

    node: Node
    vertices: Array
    faces: Faces
    way: str

    @cached_property
    def mass_properties(self) -> Solid:
        """Mass properties at unit density.

        Raises
        ------
        LoadError
            For a mesh without volume.
        """
        try:
            return mass_properties(self.vertices, self.faces, self.way)
        except ValueError as error:
            raise self.node.error(
                f"gives no mass, as {error}; set its inertia attribute", WAYS
            ) from None


class Meshes:
    """The mesh assets of a model by name; each is read on first use.

    Parameters
    ----------
    root : Node
        The model.
    compiler : Compiler
    defaults : Defaults
    files : Files

    Raises
    ------
    LoadError
        For a duplicate name.
    """

    def __init__(self, root: Node, compiler: Compiler, defaults: Defaults, files: Files) -> None:
        self._compiler, self._files = compiler, files
        self._cache = MeshCache()
        self._read: dict[str, Mesh] = {}
        self._nodes: dict[str, Node] = {}
        for asset in root.all("asset"):
            for node in asset.all("mesh"):
                node = defaults.resolve(node)
                name = node.name or stem(node.attributes.get("file", ""))
                if name in self._nodes:
                    raise node.error(f"the name '{name}' is used twice")
                self._nodes[name] = node

    def get(self, geom: Node) -> Mesh:
        """The mesh to which a geom refers.

        Raises
        ------
        LoadError
            If the mesh does not exist, or cannot be read.
        """
        node = geom.look_up("mesh", self._nodes, "mesh")
        name = geom.text("mesh")
        if name not in self._read:
            self._read[name] = self._make(node)
        return self._read[name]

    def _make(self, node: Node) -> Mesh:
        for attribute in ("builtin", "plugin"):
            if node.has(attribute) or next(node.all(attribute), None) is not None:
                raise node.error(f"a mesh made by '{attribute}' is not read; give a file")
        vertices, faces = self._file(node) if node.has("file") else _inline(node)
        # As in MuJoCo, which stores vertices in single precision.
        vertices = vertices.astype(np.float32).astype(np.float64)
        q = node.numbers("refquat", quaternions.IDENTITY)
        if not np.any(q):
            raise node.error("'refquat' must not be zero")
        R = quaternions.rotation_matrix(quaternions.normalized(q))
        scale = node.numbers("scale", np.ones(3))
        if not np.all(scale):
            raise node.error(f"'scale' must not be zero, not {scale.tolist()}")
        vertices = ((vertices - node.numbers("refpos", np.zeros(3))) @ R) * scale
        if np.prod(scale) < 0:
            faces = faces[:, ::-1]  # otherwise a mirrored mesh would be inverted
        vertices.setflags(write=False)
        faces = np.ascontiguousarray(faces)
        faces.setflags(write=False)
        return Mesh(node, vertices, faces, node.choice("inertia", WAYS, "legacy"))

    def _file(self, node: Node) -> tuple[Array, Faces]:
        path = self._files.asset(node, self._compiler.meshes, self._compiler.strip_paths)
        try:
            if path.suffix.lower() == ".msh":
                return read_msh(safe_xml.read_bytes(path, "mesh"), path)
            part = self._cache.outline(path, np.ones(3))
        except LoadError as error:
            raise node.error(f"mesh {error}") from error
        return np.asarray(part.vertices), np.asarray(part.faces)


def read_msh(data: bytes, path: Path) -> tuple[Array, Faces]:
    """Vertices (n, 3) and faces (m, 3) of MuJoCo's binary format.

    The file contains the numbers of vertices, normals, texture coordinates and faces, then these.
    Without faces, they are those of the convex hull.

    Raises
    ------
    LoadError
        If the sizes do not fit the file.
    """
    if len(data) < _HEADER.size:
        raise LoadError("the mesh is shorter than its header", file=path)
    n_vertices, n_normals, n_coordinates, n_faces = _HEADER.unpack_from(data)
    counts = (3 * n_vertices, 3 * n_normals, 2 * n_coordinates, 3 * n_faces)
    if min(counts) < 0 or _HEADER.size + 4 * sum(counts) != len(data):
        raise LoadError("the mesh is not as long as its header says", file=path)
    vertices = np.frombuffer(data, "<f4", counts[0], _HEADER.size).reshape(-1, 3)
    faces = np.frombuffer(data, "<i4", counts[3], len(data) - 4 * counts[3]).reshape(-1, 3)
    if not np.all(np.isfinite(vertices)):
        raise LoadError("the mesh has vertices that are not finite", file=path)
    vertices = vertices.astype(np.float64)
    if len(faces) == 0:
        try:
            return vertices, hull_faces(vertices)
        except ValueError as error:
            raise LoadError(f"the mesh has no faces, and {error}", file=path) from None
    if not 0 <= faces.min() <= faces.max() < len(vertices):
        raise LoadError("the mesh has faces of vertices that it does not have", file=path)
    return vertices, faces.astype(np.int64)


def _inline(node: Node) -> tuple[Array, Faces]:
    """Vertices and faces in the element; without faces, those of the convex hull."""
    vertices = node.some_numbers("vertex")
    if len(vertices) < 12 or len(vertices) % 3:
        raise node.error(
            f"'vertex' must hold 3 numbers for each of at least 4 vertices, not {len(vertices)}"
        )
    vertices = vertices.reshape(-1, 3)
    if not node.has("face"):
        try:
            return vertices, hull_faces(vertices)
        except ValueError as error:
            raise node.error(f"has no faces, and {error}") from None
    faces = node.some_numbers("face")
    if len(faces) % 3 or not len(faces):
        raise node.error(f"'face' must hold 3 indices for each face, not {len(faces)}")
    if np.any(faces != np.floor(faces)) or not 0 <= faces.min() <= faces.max() < len(vertices):
        raise node.error(f"'face' must hold indices of the {len(vertices)} vertices")
    return vertices, faces.astype(np.int64).reshape(-1, 3)
