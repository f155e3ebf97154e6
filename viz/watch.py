"""Watching of model files, to reload a robot when one of them changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from robosim.errors import OptionError
from robosim.loaders.folders import own_folder

MODELS = (".urdf", ".xacro", ".xml", ".mjcf", ".srdf", ".yaml", ".yml")
MESHES = (".stl", ".obj", ".dae", ".glb", ".gltf", ".ply", ".msh", ".mtl", ".png", ".jpg", ".jpeg")
SUFFIXES = frozenset((*MODELS, *MESHES))
MAX_FILES = 2000
MAX_LOOKED_AT = 20_000  # entries of folders
DEEPEST = 4  # folders below that of the model


class Watch:
    """Loads a robot again once its files have changed, and have stayed so for one look.

    Parameters
    ----------
    files : iterable of paths
        Model files. Beside them, the files of models and meshes in the folders that belong to
        them are watched, at most 2000.
    load : callable() -> anything
        Called for each change; what it gives is what calling the watch gives.

    Raises
    ------
    OptionError
        If one of the files does not exist.
    """

    def __init__(self, files: Iterable[str | os.PathLike[str]], load: Callable[[], Any]) -> None:
        self.files = tuple(Path(os.path.abspath(Path(file).expanduser())) for file in files)
        for file in self.files:
            if not file.is_file():
                raise OptionError(f"{file} cannot be watched: there is no such file")
        self._load = load
        self._used = self._seen = self._state()

    def __call__(self) -> Any:
        """What `load` gives if the files have changed since it was called last, else None."""
        now = self._state()
        settled, self._seen = now == self._seen, now
        # A file that is just being written, or moved into its place, is not read half.
        if now == self._used or not settled or any(file not in now for file in self.files):
            return None
        self._used = now
        return self._load()

    def _state(self) -> dict[Path, tuple[int, int]]:
        """Time of the last change [ns] and size of each file."""
        found = {}
        for file in (*self.files, *self._around()):
            try:
                there = file.stat()
            except OSError:
                continue
            found[file] = there.st_mtime_ns, there.st_size
        return found

    def _around(self) -> Iterator[Path]:
        looked_at = taken = 0
        for folder in dict.fromkeys(own_folder(file) for file in self.files):
            for path, folders, names in os.walk(folder):
                deep = len(Path(path).relative_to(folder).parts) >= DEEPEST
                folders[:] = [] if deep else sorted(f for f in folders if not f.startswith("."))
                looked_at += len(folders) + len(names)
                for name in sorted(names):
                    if os.path.splitext(name)[1].lower() in SUFFIXES and taken < MAX_FILES:
                        taken += 1
                        yield Path(path) / name
                if looked_at > MAX_LOOKED_AT or taken >= MAX_FILES:
                    return
