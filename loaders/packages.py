"""Where the files are that a model file refers to: package://, file:// and plain paths.

Nothing is ever fetched from the network.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from robosim.errors import LoadError
from robosim.loaders import safe_xml


def example_robot_data() -> Path | None:
    """The ``share`` folder that holds ``example-robot-data``, or None if it is not installed.

    Its Python module is located but not imported, as that would import Pinocchio.
    """
    for share in _share_candidates():
        if (share / "example-robot-data" / "robots").is_dir():
            return share
    return None


def _share_candidates() -> Iterator[Path]:
    try:
        distribution = importlib.metadata.distribution("example-robot-data")
        yield Path(str(distribution.locate_file("cmeel.prefix/share")))
    except importlib.metadata.PackageNotFoundError:
        pass
    spec = importlib.util.find_spec("example_robot_data")
    if spec is not None and spec.origin is not None:
        for parent in Path(spec.origin).parents:
            yield parent / "share"
    yield Path(sys.prefix) / "share"


class FileFinder:
    """Resolves the addresses in one model file.

    Parameters
    ----------
    file : pathlib.Path
        The model file.
    package_dirs : iterable of paths
        Folders that hold packages (or are one), searched first.

    Attributes
    ----------
    used : list of pathlib.Path
        The folders in which packages were found so far, in the order of their first use.
    """

    def __init__(self, file: Path, package_dirs: Iterable[str | os.PathLike[str]] = ()) -> None:
        self.file = file
        self.used: list[Path] = []
        self._roots = [Path(directory).expanduser() for directory in package_dirs]
        for variable, below in (("ROS_PACKAGE_PATH", "."), ("AMENT_PREFIX_PATH", "share")):
            entries = os.environ.get(variable, "").split(os.pathsep)
            self._roots += [Path(entry) / below for entry in entries if entry]
        self._roots += file.resolve().parents
        share = example_robot_data()
        if share is not None:
            self._roots.append(share)

    def find(self, address: str, element: str) -> Path:
        """The file behind an address, or a LoadError that says where it was looked for."""
        scheme = urlsplit(address).scheme if "://" in address else ""
        if scheme == "package":
            return self._find_in_package(address, element)
        if scheme == "file":
            path = Path(unquote(address.removeprefix("file://")))
        elif scheme:
            raise LoadError(
                f"'{address}' is not a local file, and nothing is fetched from the network",
                file=self.file,
                element=element,
                alternatives=("package://", "file://", "a path"),
            )
        else:
            path = Path(address)
        path = self.file.parent / path
        if not safe_xml.is_file(path):
            raise LoadError(
                f"'{address}' does not exist (looked for {path})", file=self.file, element=element
            )
        return path

    def _find_in_package(self, address: str, element: str) -> Path:
        package, _, rest = address.removeprefix("package://").lstrip("/").partition("/")
        for root in self._roots:
            inside = root / package / rest
            itself = root / rest if root.name == package else inside
            for path, holder in ((inside, root), (itself, root.parent)):
                if safe_xml.is_file(path):
                    if holder not in self.used:
                        self.used.append(holder)
                    return path
        raise LoadError(
            f"'{address}' is in none of the package folders; pass the folder that holds "
            f"'{package}' as package_dirs, or put it in ROS_PACKAGE_PATH",
            file=self.file,
            element=element,
            alternatives=tuple(str(root) for root in self._roots),
        )
