"""Watching of model files, to reload a robot when a file changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from robosim.errors import OptionError
from robosim.loaders import kinds
from robosim.loaders.folders import own_folder

MODELS = (*kinds.SUFFIXES, ".mjcf", ".srdf", ".yaml", ".yml")
MESHES = (".stl", ".obj", ".dae", ".glb", ".gltf", ".ply", ".msh", ".mtl", ".png", ".jpg", ".jpeg")
SUFFIXES = frozenset((*MODELS, *MESHES))
MAX_FILES = 2000
MAX_LOOKED_AT = 20_000  # entries of folders
DEEPEST = 4  # folders below that of the model


class Watch:
    """Loads a robot again after its files have changed.

    A call of the watch checks the files. The robot is loaded if files have changed, and are the
    same as in the previous call. So files are not read while they are being written.

    Parameters
    ----------
    files : iterable of paths
        Model files. Models and meshes in the folders of these files are watched too, at most 2000
        files.
    load : callable() -> anything
        Loads the robot. A call of the watch returns its result after a change, and else None.

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
        """The result of `load` if the files have changed since its last call, else None."""
        now = self._state()
        settled, self._seen = now == self._seen, now
        # A file that is being written, or moved into its place, must not be read yet.
        if now == self._used or not settled or any(file not in now for file in self.files):
            return None
        self._used = now
        return self._load()

    def _state(self) -> dict[Path, tuple[int, int]]:
        """Time of the last change [ns] and size [bytes] of each file."""
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
