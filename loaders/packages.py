"""Resolution of addresses in a model file: package://, model://, file:// and paths.

No files are fetched from the network, or read outside of the folders that `robosim.loaders.folders`
allows.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from robosim import safe_xml
from robosim.errors import LoadError, MissingFileError
from robosim.loaders.folders import MARKERS, Folders, ancestors
from robosim.loaders.spellings import somewhere_below, spellings


def example_robot_data() -> Path | None:
    """The ``share`` folder that contains ``example-robot-data``, or None if it is not installed.

    The Python module of the package is located but not imported, as that would import Pinocchio.
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


_DECLARATIONS = ("package.xml", "manifest.xml", "model.config")
_NAME = re.compile(r"<name>\s*([^<>\s]+)\s*</name>")
# Number of folders beside a model file that are searched for packages with other names.
_MOST_FOLDERS = 500


def declared_name(folder: Path) -> str | None:
    """The name of a package in its package.xml, or None."""
    for file in _DECLARATIONS:
        if not safe_xml.is_file(folder / file):
            continue
        try:
            with (folder / file).open("rb") as stream:
                found = _NAME.search(stream.read(1 << 16).decode(errors="replace"))
        except OSError:
            continue
        if found is not None:
            return found[1]
    return None


def _folders_in(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())[:_MOST_FOLDERS]
    except OSError:
        return []


# scheme, rest; xacro converts "package://NAME/path" to "$(find NAME)/path".
_ADDRESS = re.compile(
    r"(?:(?:file:/{2,})?\$\(find\s+|(package|model|file):/+|([A-Za-z][\w+.-]*):/{2,})(.*)",
    re.DOTALL,
)
# Prefix of the path; a third slash belongs to the path.
_FILE = re.compile(r"^file:(?://)?(?:/(?=[A-Za-z]:))?")  # without the slash before a drive


class FileFinder:
    """Resolves the addresses in one model file.

    Parameters
    ----------
    file : pathlib.Path
        The model file.
    package_dirs : iterable of paths
        Folders that contain packages (or are packages), searched first.

    Attributes
    ----------
    folders : Folders
        Folders from which files may be read.
    mesh_folders : list of pathlib.Path
        Folders of meshes according to the model file, for addresses without a file.
    used : list of pathlib.Path
        Folders in which packages have been found, in the order of their first use.
    """

    def __init__(self, file: Path, package_dirs: Iterable[str | os.PathLike[str]] = ()) -> None:
        self.file = file
        self.folders = Folders(file, package_dirs)
        self.mesh_folders: list[Path] = []
        self.used: list[Path] = []
        self._guesses: dict[str, Path] = {}
        self._declared: dict[str, list[Path]] | None = None
        there = Path(os.path.abspath(file))
        above = [there.parent, *ancestors(there), there.resolve().parent]
        self._above = list(dict.fromkeys([*above, *ancestors(there.resolve())]))
        self._share = example_robot_data()

    def find(self, address: str, element: str) -> Path:
        """The file behind an address.

        Raises
        ------
        LoadError
            For an address outside of the allowed folders, or in the network.
        MissingFileError
            If there is no such file; lists where it was searched for.
        """
        missing: MissingFileError | None = None
        for spelt in spellings(address):
            try:
                return self._find(spelt, element)
            except MissingFileError as error:
                missing = missing or error
        tops = (*self.mesh_folders, self.file.parent, *self.folders.own, *self.folders.allowed)
        guess = somewhere_below(tops, address)
        if guess is not None and self.folders.contains(guess):
            self._guesses.setdefault(os.path.dirname(address) or ".", guess.parent)
            return guess
        raise missing or MissingFileError(f"'{address}' does not exist", file=self.file)

    def _find(self, address: str, element: str) -> Path:
        """`find` for one spelling of an address."""
        match = _ADDRESS.match(address)
        scheme, rest = (match[1] or match[2], match[3]) if match else ("", address)
        if match and scheme in (None, "package", "model"):
            package, _, inside = rest.replace(")", "/", scheme is None).partition("/")
            return self._in_package(address, package.strip(), inside.lstrip("/"), element)
        if scheme not in ("", "file"):
            raise LoadError(
                f"'{address}' is not a local file, and nothing is fetched from the network",
                file=self.file,
                element=element,
                alternatives=("package://", "model://", "file://", "a path"),
            )
        path = self.file.parent / (unquote(_FILE.sub("", address)) if scheme else address)
        if safe_xml.is_file(path):
            self.folders.check(path, address, element)
            return path
        raise MissingFileError(
            f"'{address}' does not exist (looked for {path})", file=self.file, element=element
        )

    def warnings(self) -> list[str]:
        """A warning for each guess that was made."""
        return [
            f"files of '{name}' are not where the model file says; guessed: {folder}"
            for name, folder in self._guesses.items()
        ]

    def package(self, name: str, element: str, inside: Iterable[str] = ()) -> Path:
        """The folder of a package.

        Parameters
        ----------
        name, element : str
        inside : iterable of str
            Requested paths in the package. If the model's folder has one of these, and no folder
            has the package's name, the model's folder is guessed.

        Raises
        ------
        LoadError
            If the name is invalid.
        MissingFileError
            If the package is not found.
        """
        self._check_inside(name, name, "", element)
        certain = [*self._named_by_user(name), *self._around(name)]
        for root in (*(folder for folder in certain if folder.is_dir()), *self._renamed(name)):
            return root
        for root in self.folders.own:
            if any(safe_xml.is_file(root / path) for path in inside):
                self._guesses.setdefault(f"package {name}", root)
                return root
        raise self._missing(name, name, element, certain)

    def _check_inside(self, address: str, package: str, inside: str, element: str) -> None:
        plain = package not in ("", ".", "..") and not set(package) & {"/", "\\", "\0"}
        if not plain or os.path.normpath(inside).startswith(("..", os.sep)):
            raise LoadError(
                f"'{address}' leads out of its package", file=self.file, element=element
            )

    def _missing(
        self, address: str, package: str, element: str, roots: list[Path]
    ) -> MissingFileError:
        return MissingFileError(
            f"'{address}' is in none of the package folders; pass the folder that holds "
            f"'{package}' as package_dirs (--package-dir), or put it in ROS_PACKAGE_PATH",
            file=self.file,
            element=element,
            alternatives=tuple(dict.fromkeys(os.path.normpath(root) for root in roots)),
        )

    def _in_package(self, address: str, package: str, inside: str, element: str) -> Path:
        self._check_inside(address, package, inside, element)
        named = self._named_by_user(package)
        certain = [*named, *self._around(package)]
        guesses = [folder for folder in self._above if self._owns(folder)]
        for root in self._roots(package, certain, guesses):
            path = root / inside
            if not safe_xml.is_file(path):
                continue
            if root not in named and not path.resolve().is_relative_to(root.resolve()):
                self.folders.check(path, address, element)
            if root in certain and root.name == package and root.parent not in self.used:
                self.used.append(root.parent)
            if root in guesses and root not in certain and declared_name(root) != package:
                self._guesses.setdefault(f"package {package}", root)
            return path
        raise self._missing(address, package, element, [*certain, *guesses])

    def look_around(self) -> None:
        """Read the names in `package.xml` of packages in all searched folders.

        Folders are often renamed, while other files refer to a package by the name in
        `package.xml`.
        """
        if self._declared is not None:
            return
        self._declared = {}
        for folder in dict.fromkeys((*self.folders.allowed, *self._above)):
            for place in (folder, *_folders_in(folder)):
                name = declared_name(place)
                if name is not None:
                    self._declared.setdefault(name, []).append(place)

    def _renamed(self, package: str) -> list[Path]:
        """Folders with other names, whose `package.xml` has this name."""
        self.look_around()
        return list(dict.fromkeys((self._declared or {}).get(package, ())))

    def _roots(self, package: str, certain: list[Path], guesses: list[Path]) -> Iterator[Path]:
        """Candidates for the folder of a package; each `package.xml` is read only if needed."""
        yield from certain
        yield from self._renamed(package)
        yield from guesses

    def _named_by_user(self, package: str) -> list[Path]:
        """Folders of the package in those that the user named, and in an installed collection."""
        roots = []
        for folder in self.folders.allowed:
            roots += [folder / package, *([folder] if folder.name == package else [])]
        return roots if self._share is None else [*roots, self._share / package]

    def _around(self, package: str) -> list[Path]:
        """Folders of the package that contain the model file, or are beside one that does."""
        roots = []
        for folder in self._above:
            beside = folder / package
            if folder.name == package:
                roots.append(folder)
            if self._owns(beside) or any((beside / marker).exists() for marker in MARKERS):
                roots.append(beside)
        return roots

    def _owns(self, folder: Path) -> bool:
        return any(folder.is_relative_to(own) for own in self.folders.own)
