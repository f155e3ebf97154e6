"""Meshes of a mechanism as OBJ files in a folder beside the model file, each once."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from robosim.description.body import Geometry
from robosim.loaders import disk_cache


class MeshFiles:
    """The meshes of one model file, ``robot_meshes/NAME-HASH.obj`` for ``robot.urdf``."""

    def __init__(self, model: Path) -> None:
        self._folder = model.with_name(f"{model.stem}_meshes")
        self._shapes: dict[str, Geometry] = {}
        self._names: dict[tuple[int, int], str] = {}

    def name(self, shape: Geometry) -> str:
        """The address of a mesh, relative to the model file; the mesh is written by `write`."""
        same = id(shape.vertices), id(shape.faces)
        if same not in self._names:
            content = disk_cache.digest("obj", shape.vertices, shape.faces)  # type: ignore[arg-type]
            stem = re.sub(r"[^A-Za-z0-9_]+", "_", shape.name) or "mesh"
            names = [name for name in self._shapes if name.endswith(f"-{content[:12]}.obj")]
            name = names[0] if names else f"{stem}-{content[:12]}.obj"
            self._shapes.setdefault(name, shape)
            self._names[same] = name
        return f"{self._folder.name}/{self._names[same]}"

    def write(self) -> None:
        """Write all meshes with an address.

        Raises
        ------
        OSError
            If the folder or a file cannot be written.
        """
        if not self._shapes:
            return
        self._folder.mkdir(exist_ok=True)
        for name, shape in self._shapes.items():
            with (self._folder / name).open("w", encoding="ascii") as stream:
                np.savetxt(stream, np.asarray(shape.vertices), fmt="v %.17g %.17g %.17g")
                np.savetxt(stream, np.asarray(shape.faces) + 1, fmt="f %d %d %d")
