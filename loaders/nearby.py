"""What an error says of a model file that does not exist: what there is instead."""

from __future__ import annotations

import difflib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from robosim.loaders.kinds import SUFFIXES

_MOST_LISTED = 6
_MOST_FOLDERS = 300  # in which models are searched for


def of_file(path: Path) -> str:
    """Where a file is missing, and what there is instead: to follow "the file does not exist"."""
    path = path.absolute()
    folder = next(one for one in path.parents if one.is_dir())
    wanted = path.relative_to(folder).parts[0]
    where = f" in '{folder}'"
    if folder != path.parent:
        where = f": there is no '{wanted}'{where}"
        inside = sorted(entry.name for entry in _entries(folder) if entry.is_dir())
    else:
        files = (entry for entry in _entries(folder) if entry.is_file())
        inside = sorted(file.name for file in files if file.suffix in SUFFIXES)
    # By stems, as names with the same suffix are always similar.
    stems = dict.fromkeys(Path(name).stem for name in inside)
    like = difflib.get_close_matches(Path(wanted).stem, stems, n=3, cutoff=0.5)
    close = [name for stem in like for name in inside if Path(name).stem == stem]
    if close:
        return f"{where}; did you mean {' or '.join(map(repr, close))}?"
    return f"{where}, which has {_listed(inside)}" if inside else where


def of_name(name: str) -> str:
    """Models in a folder, or in an installed Python package, of that name; "" if there is none."""
    path = Path(name).expanduser()
    if os.path.isdir(path):  # False for names that no folder can have
        inside = [str(file) for file in _models(path)]
        return f"a folder is called so: give {_listed(inside) if inside else 'a file'}"
    module = name.replace("-", "_")
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    folders = [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    found = [str(file) for folder in folders for file in _models(folder)]
    if not found:
        return ""
    return f"'{module}' is a Python package: give one of its files, {_listed(found)}"


def _models(folder: Path) -> list[Path]:
    """Model files in a folder and below, of the likeliest kind that there is."""
    found: dict[str, list[Path]] = {suffix: [] for suffix in SUFFIXES}
    for place, _, names in islice(os.walk(folder), _MOST_FOLDERS):
        for name in names:
            if Path(name).suffix in found:
                found[Path(name).suffix].append(Path(place) / name)
    return sorted(next(filter(None, found.values()), []))


def _entries(folder: Path) -> Iterator[Path]:
    try:
        yield from folder.iterdir()
    except OSError:  # not to be listed
        return


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
