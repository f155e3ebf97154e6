"""Which folders a model file may read from.

A model file is often somebody else's. It may name files of its own folder, and of folders that
the user has named: `package_dirs` and ROS's environment variables. Whatever else it names is
refused, by an absolute path, by "..", or by a link.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from robosim.errors import LoadError

# What tells the top folder of a package, and the folders in which packages keep model files.
MARKERS = (
    "package.xml",
    "manifest.xml",
    "model.config",
    "CMakeLists.txt",
    "pyproject.toml",
    ".git",
)
SUBFOLDERS = frozenset(("urdf", "urdfs", "xacro", "robots", "mjcf", "xml", "sdf", "srdf"))
# How far above a model file the top of its package may be.
LEVELS = 4
_ENVIRONMENT = (
    ("ROS_PACKAGE_PATH", "."),
    ("AMENT_PREFIX_PATH", "share"),
    ("GZ_SIM_RESOURCE_PATH", "."),
    ("GAZEBO_MODEL_PATH", "."),
)


def from_environment() -> list[Path]:
    """The folders that hold packages according to the variables of ROS and Gazebo."""
    return [
        Path(entry) / below
        for variable, below in _ENVIRONMENT
        for entry in os.environ.get(variable, "").split(os.pathsep)
        if entry
    ]


def ancestors(file: Path) -> list[Path]:
    """The folders above a file, the nearest first, at most LEVELS; none that many things share.

    The home folder, the one for temporary files and what is above them are nobody's package.
    """
    shared: set[Path] = set()
    for folder in (Path.home(), Path(tempfile.gettempdir())):
        shared |= {folder, folder.resolve(), *folder.parents, *folder.resolve().parents}
    return [folder for folder in file.parents[1 : LEVELS + 1] if folder not in shared]


def own_folder(file: Path) -> Path:
    """The folder that belongs to a model file.

    It is the top of the package that the file is in. Without one it is the folder above, for a
    file in a folder that is called "urdf", "robots" or the like, else the file's own folder.
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
        The model file. Where it is a link, the folders of both ends are its own.
    allowed : iterable of paths
        Folders that the user has named, in addition to those of the environment.

    Attributes
    ----------
    own : tuple of pathlib.Path
        The model's own folders; links out of them are refused.
    allowed : tuple of pathlib.Path
        Those named by the user, who may also have links in them.
    """

    def __init__(self, file: Path, allowed: Iterable[str | os.PathLike[str]] = ()) -> None:
        self.file = file
        there = Path(os.path.abspath(file))
        self.own = tuple(dict.fromkeys((own_folder(there), own_folder(there.resolve()))))
        named = [Path(os.path.abspath(Path(folder).expanduser())) for folder in allowed]
        self.allowed = (*named, *(Path(os.path.abspath(folder)) for folder in from_environment()))

    def allow(self, folder: Path) -> None:
        """Add a folder to those that the user has named."""
        self.allowed = (*self.allowed, Path(os.path.abspath(folder)))

    def contains(self, path: Path) -> bool:
        """Whether the file may be read from."""
        lexical = Path(os.path.abspath(path))
        if any(lexical.is_relative_to(folder) for folder in self.allowed):
            return True
        real = lexical.resolve()
        return any(real.is_relative_to(folder.resolve()) for folder in (*self.own, *self.allowed))

    def check(self, path: Path, address: str, element: str | None = None) -> None:
        """Raise a LoadError if the file that `address` of an element stands for may not be read."""
        if not self.contains(path):
            raise LoadError(
                f"'{address}' leads out of the model's own folder, {self.own[0]}, to "
                f"{path.resolve()}; package_dirs=['{path.resolve().parent}'] allows that",
                file=self.file,
                element=element,
            )
