"""Where the files are that a model file refers to: package://, model://, file:// and paths.

Nothing is ever fetched from the network, and nothing is read outside of the folders that
`robosim.loaders.folders` allows.
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


_DECLARATIONS = ("package.xml", "manifest.xml", "model.config")
_NAME = re.compile(r"<name>\s*([^<>\s]+)\s*</name>")
# Of the folders beside a model file, so many are looked into for packages with other names.
_MOST_FOLDERS = 500


def declared_name(folder: Path) -> str | None:
    """What a package calls itself in its package.xml, or None if it does not say."""
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


# scheme, rest; "$(find NAME)/path" is what xacro makes of "package://NAME/path".
_ADDRESS = re.compile(
    r"(?:(?:file:/{2,})?\$\(find\s+|(package|model|file):/+|([A-Za-z][\w+.-]*):/{2,})(.*)",
    re.DOTALL,
)
# Before the path; a third slash is part of it.
_FILE = re.compile(r"^file:(?://)?")


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
    folders : Folders
        From which files may be read.
    mesh_folders : list of pathlib.Path
        Where the model file says that meshes are, for addresses that lead nowhere.
    used : list of pathlib.Path
        The folders in which packages were found so far, in the order of their first use.
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
            For an address that leads out of the folders that may be read, or to the network.
        MissingFileError
            If there is no such file; it says where it was looked for.
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
        """`find` of one spelling, where it says that the file is."""
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
        """A sentence for whatever had to be guessed so far."""
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
            Paths in it that are asked for. If the model's own folder has one of these, and nothing
            is called like the package, that folder is guessed.

        Raises
        ------
        LoadError
            If it has an impossible name.
        MissingFileError
            If it is not found.
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
            f"'{package}' as package_dirs, or put it in ROS_PACKAGE_PATH",
            file=self.file,
            element=element,
            alternatives=tuple(str(root) for root in roots),
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
        """Learn what the packages call themselves that are where packages are looked for.

        Folders are often renamed, and `package.xml` has the name that others know a package by.
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
        """Folders that are called otherwise, and that call themselves so."""
        self.look_around()
        return list(dict.fromkeys((self._declared or {}).get(package, ())))

    def _roots(self, package: str, certain: list[Path], guesses: list[Path]) -> Iterator[Path]:
        """Where a package may be; what folders call themselves is looked up if that is needed."""
        yield from certain
        yield from self._renamed(package)
        yield from guesses

    def _named_by_user(self, package: str) -> list[Path]:
        """Where the package is by what the user says, or in an installed collection."""
        roots = []
        for folder in self.folders.allowed:
            roots += [folder / package, *([folder] if folder.name == package else [])]
        return roots if self._share is None else [*roots, self._share / package]

    def _around(self, package: str) -> list[Path]:
        """Where the package is if the model file is in it, or in one beside it."""
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
