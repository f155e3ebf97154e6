"""Robots of an installed robot_descriptions: names, and model files.

Each of its modules downloads a robot when it is imported, so it is imported only on request.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from robosim.errors import LoadError, known
from robosim.version import install

PACKAGE = "robot_descriptions"
ENDING = "_description"
LIKE = 0.7  # smallest similarity of a name to be proposed, at most 1


class Found(NamedTuple):
    """A model file, the folders of packages to which it may refer, and arguments of xacro."""

    path: Path
    folders: tuple[str, ...]
    xacro_args: Mapping[str, str]


def names() -> list[str]:
    """Names in an installed robot_descriptions, without importing its modules."""
    spec = importlib.util.find_spec(PACKAGE)
    places = () if spec is None else spec.submodule_search_locations or ()
    stems = {file.stem for place in places for file in Path(place).glob(f"*{ENDING}.py")}
    return sorted(stem for stem in stems if not stem.startswith("_"))


def named(name: str) -> str | None:
    """The full name of a robot, whose ending may be omitted; None if there is none."""
    there = names()
    return next((full for full in (name, f"{name}{ENDING}") if full in there), None)


def proposed(name: str) -> str:
    """A proposal for an unknown robot: one of robot_descriptions with this or a similar name.

    Without that package, only its ending of names is known.
    """
    if importlib.util.find_spec(PACKAGE) is None and name.endswith(ENDING):
        return (
            f"{PACKAGE} has names like this, and is not installed: {install('descriptions')}, then "
            f"'{PACKAGE}:{name}' may download it"
        )
    if full := named(name):
        return f"'{PACKAGE}:{full}' loads it from {PACKAGE} and may download it"
    short = {full.removesuffix(ENDING): full for full in names()}
    close = difflib.get_close_matches(name.removesuffix(ENDING), short, n=3, cutoff=LIKE)
    if not close:
        return ""
    told = " or ".join(f"'{PACKAGE}:{short[one]}'" for one in close)
    return f"{PACKAGE} has {told}, and may download it"


def find(name: str) -> Found:
    """The model of a robot, which is downloaded if necessary.

    Raises
    ------
    LoadError
        If the package or the robot does not exist, or cannot be downloaded.
    """
    if importlib.util.find_spec(PACKAGE) is None:
        raise LoadError(
            f"'{PACKAGE}:{name}' needs the package {PACKAGE}: {install('descriptions')}"
        )
    full = named(name)
    if full is None:
        raise LoadError(f"{PACKAGE} has no '{name}' ({known(name, names())})")
    try:
        module = importlib.import_module(f"{PACKAGE}.{full}")
    except Exception as error:  # git and the network can fail in many ways
        raise LoadError(f"{PACKAGE} could not provide '{full}': {error!r}") from error
    return _model_of(module, full)


def _model_of(module: Any, name: str) -> Found:
    """The robot's URDF, MJCF or xacro file, in this order of preference."""
    packages = [getattr(module, what, None) for what in ("PACKAGE_PATH", "REPOSITORY_PATH")]
    packages += getattr(module, "XACRO_PACKAGE_PATHS", {}).values()
    folders = tuple(dict.fromkeys(str(folder) for folder in packages if folder is not None))
    for what in ("URDF_PATH", "MJCF_PATH", "XACRO_PATH"):
        if (path := getattr(module, what, None)) is not None:
            if not Path(path).is_file():
                raise LoadError(f"what {PACKAGE} has downloaded of '{name}' lacks it", file=path)
            xacro_args = getattr(module, "XACRO_ARGS", {}) if what == "XACRO_PATH" else {}
            return Found(Path(path), folders, dict(xacro_args))
    raise LoadError(f"'{PACKAGE}:{name}' has no model file that robosim reads (URDF, MJCF, xacro)")
