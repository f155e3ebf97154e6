"""Folders from which a model file may read.

A model file is often from an unknown source. Such a file may refer to files in its own folder, and
in folders that the user has named: `package_dirs` and ROS's environment variables. All other files
are refused, whether they are given by an absolute path, by "..", or by a link.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from robosim.errors import LoadError

# Files that mark the top folder of a package, and folders in which packages keep model files.
MARKERS = (
    "package.xml",
    "manifest.xml",
    "model.config",
    "CMakeLists.txt",
    "pyproject.toml",
    ".git",
)
SUBFOLDERS = frozenset(("urdf", "urdfs", "xacro", "robots", "mjcf", "xml", "sdf", "srdf"))
# Largest number of levels between a model file and the top of its package.
LEVELS = 4
_ENVIRONMENT = (
    ("ROS_PACKAGE_PATH", "."),
    ("AMENT_PREFIX_PATH", "share"),
    ("GZ_SIM_RESOURCE_PATH", "."),
    ("GAZEBO_MODEL_PATH", "."),
)


def from_environment() -> list[Path]:
    """The folders of packages in the environment variables of ROS and Gazebo."""
    return [
        Path(entry) / below
        for variable, below in _ENVIRONMENT
        for entry in os.environ.get(variable, "").split(os.pathsep)
        if entry
    ]


def ancestors(file: Path) -> list[Path]:
    """Up to LEVELS folders above a file, the nearest first, without shared folders.

    The home folder, that of temporary files, and folders above these do not belong to a package.
    """
    shared = _shared()
    return [folder for folder in file.parents[1 : LEVELS + 1] if folder not in shared]


def _shared() -> set[Path]:
    """The home folder, that of temporary files, and folders above these."""
    shared: set[Path] = set()
    for folder in (Path.home(), Path(tempfile.gettempdir())):
        shared |= {folder, folder.resolve(), *folder.parents, *folder.resolve().parents}
    return shared


def own_folder(file: Path) -> Path:
    """The folder that belongs to a model file.

    The result is the top folder of the file's package. Without a package, the result is the parent
    folder if the file's folder is named "urdf", "robots" or similar, and otherwise the file's
    folder.
    """
    above = ancestors(file)
    for folder in (file.parent, *above):
        if any((folder / marker).exists() for marker in MARKERS):
            return folder
    for folder, parent in zip((file.parent, *above[:1]), above[:2], strict=False):
        if folder.name.lower() in SUBFOLDERS:
            return parent
    return file.parent


class Folders:
    """The folders that one model file may read from.

    Parameters
    ----------
    file : pathlib.Path
        The model file. If it is a link, the folders of the link and of its target count.
    allowed : iterable of paths
        Folders named by the user, in addition to those of the environment.

    Attributes
    ----------
    own : tuple of pathlib.Path
        The model's own folders; links out of them are refused.
    allowed : tuple of pathlib.Path
        Folders named by the user, which may contain links to other folders.
    """

    def __init__(self, file: Path, allowed: Iterable[str | os.PathLike[str]] = ()) -> None:
        self.file = file
        there = Path(os.path.abspath(file))
        self.own = tuple(dict.fromkeys((own_folder(there), own_folder(there.resolve()))))
        named = [Path(os.path.abspath(Path(folder).expanduser())) for folder in allowed]
        self.allowed = (*named, *(Path(os.path.abspath(folder)) for folder in from_environment()))

    def allow(self, folder: Path) -> None:
        """Add a folder to those named by the user."""
        self.allowed = (*self.allowed, Path(os.path.abspath(folder)))

    def contains(self, path: Path) -> bool:
        """Whether a file may be read."""
        lexical = Path(os.path.abspath(path))
        if any(lexical.is_relative_to(folder) for folder in self.allowed):
            return True
        real = lexical.resolve()
        return any(real.is_relative_to(folder.resolve()) for folder in (*self.own, *self.allowed))

    def check(self, path: Path, address: str, element: str | None = None) -> None:
        """Raise a LoadError if the file of an element's `address` may not be read."""
        if not self.contains(path):
            real = path.resolve()
            raise LoadError(
                f"'{address}' leads out of the model's own folder, {self.own[0]}, to "
                f"{real}; package_dirs=['{self._around(real)}'] allows that",
                file=self.file,
                element=element,
            )

    def _around(self, path: Path) -> Path:
        """The lowest folder with the model and a file, unless that holds more than models."""
        common = next(one for one in path.parents if self.own[-1].is_relative_to(one))
        return path.parent if common in _shared() else common
