"""Simulations in files: the data from which one continues, exact bit for bit.

A file is an npz archive without pickles: State, Memory, Loads and counters, as in
`robosim.simulation.checkpoint`. A header contains the robot, the options and the version of
robosim. Only a simulation for which all these are equal can load the file.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import assign_all, bytes_of
from robosim.compiled.memory import contact_rows
from robosim.errors import StateError
from robosim.runtime.handles import Parts
from robosim.simulation.checkpoint import Counters
from robosim.simulation.digest import digest
from robosim.simulation.engine import Engine
from robosim.simulation.worlds import Worlds
from robosim.validation import Array
from robosim.version import __version__

FORMAT = "robosim simulation"
SUFFIX = ".npz"
HEADER = "header"
LAST, DROVE, CONTROLLER = "counters.last", "counters.drove", "controller."


def save(
    engine: Engine | Worlds,
    options: Mapping[str, Any],
    torques: Array,
    path: str | Path,
    memory: Mapping[str, NDArray[Any]] | None,
) -> None:
    """Write the data from which a simulation continues, with its last torques (nv,).

    `memory` is that of a controller, by names.
    """
    path = _checked(path)
    counters = engine.counters.copied(torques)
    arrays = dict(_arrays(engine))
    arrays |= {name: array[rows] for name, array, rows in _contacts(engine)}
    if counters.last is not None:
        arrays[LAST] = counters.last[0]
    assert counters.drove is not None
    arrays[DROVE] = counters.drove[1]
    arrays |= {CONTROLLER + name: array for name, array in (memory or {}).items()}
    header = _header(engine, options) | {"counters": _numbers(counters)}
    header["controller"] = memory is not None
    if isinstance(engine, Engine):
        header |= _settings(engine)
    else:
        header["patience"] = engine.patience.saved()
        header["sleep"] = [] if engine.sleep is None else engine.sleep.saved()
        header["islands"] = [
            {"units": one.units, "counters": _numbers(one.engine.counters), **_settings(one.engine)}
            for one in engine.islands
        ]
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    aside = path.with_name(path.name + ".writing")
    try:
        with open(aside, "wb") as file:
            np.savez(file, **{HEADER: text}, **arrays)  # type: ignore[arg-type]
        os.replace(aside, path)
    except OSError as error:
        raise StateError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        aside.unlink(missing_ok=True)


def _numbers(counters: Counters) -> dict[str, Any]:
    """Counters without the results of the last step."""
    names = [one.name for one in fields(counters) if one.name not in ("last", "drove")]
    return {name: _plain(getattr(counters, name)) for name in names}


def _settings(engine: Engine) -> dict[str, Any]:
    """The solver of a system, and the pairs of shapes that have entries in it."""
    near = engine.connected.tolist() if len(engine.parts.model.collision.pairs) else None
    return {"solver": engine.solver, "near": near}


def load(
    engine: Engine | Worlds,
    options: Mapping[str, Any],
    trial: Any,
    path: str | Path,
    remembers: bool,
) -> dict[str, NDArray[Any]]:
    """Load the state in a file into an engine; see `Simulation.load`.

    A copy is tried first, so that an invalid file leaves the engine unchanged. So does one without
    the memory of a controller that `remembers`.

    Returns
    -------
    memory : dict
        That of a controller.
    """
    path = _checked(path)
    header, arrays = _read(path)
    _compare(path, header, _header(engine, options))
    if remembers and not header.get("controller"):
        raise StateError(f"{path}: has no memory of a controller: it was saved without one")
    _take(trial, header, arrays, path)
    _take(engine, header, arrays, path)
    return {
        name.removeprefix(CONTROLLER): array
        for name, array in arrays.items()
        if name.startswith(CONTROLLER)
    }


def _take(engine: Any, header: dict[str, Any], arrays: dict[str, NDArray[Any]], path: Path) -> None:
    """Set an engine to the data that were read."""
    try:
        if isinstance(engine, Engine):
            engine.be_at(str(header["solver"]), header.get("near"))
        else:
            each = header["islands"]
            units = [tuple(map(int, one["units"])) for one in each]
            engine.be_in(units, header["patience"], header["sleep"])
            for island, one in zip(engine.islands, each, strict=True):
                island.engine.be_at(str(one["solver"]), one["near"])
                island.engine.counters.assign(Counters(**one["counters"]))
        for name, target in _arrays(engine):
            _assign(name, arrays[name], target)
        for name, target, rows in _contacts(engine):
            given = np.empty(len(rows), dtype=target.dtype)
            _assign(name, arrays[name], given)
            bytes_of(target)[rows] = bytes_of(given)
        counters = Counters(**header["counters"])
        counters.drove = counters.steps, arrays[DROVE]
        if LAST in arrays:
            counters.last = arrays[LAST], 0
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"{path}: damaged, or not what Simulation.save writes: {error}") from None
    engine.counters.assign(counters)


def _assign(name: str, given: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy an array that was read to one of the same layout."""
    if given.dtype != target.dtype or given.shape != target.shape:
        raise ValueError(f"'{name}' has another layout")
    assign_all(given, target)


def _systems(engine: Engine | Worlds) -> Iterator[tuple[str, Engine]]:
    """What is solved by itself, and what its arrays' names begin with."""
    if isinstance(engine, Engine):
        yield "", engine
    else:
        for n, one in enumerate(engine.islands):
            yield f"island {n}.", one.engine


def _arrays(engine: Engine | Worlds) -> Iterator[tuple[str, NDArray[Any]]]:
    """All arrays on which a step depends, by name, but for records of contacts."""
    if not isinstance(engine, Engine):
        yield from _named("state", engine.parts.state)
        yield from _named("loads", engine.parts.loads)
    for prefix, one in _systems(engine):
        yield from _parts(prefix, one.parts)


def _contacts(engine: Engine | Worlds) -> Iterator[tuple[str, NDArray[Any], NDArray[np.int64]]]:
    """Records of contacts by name, and which of them a step depends on."""
    for prefix, one in _systems(engine):
        for n, (array, rows) in enumerate(contact_rows(one.parts.memory)):
            yield f"{prefix}contacts {n}", array, rows


def _parts(prefix: str, parts: Parts) -> Iterator[tuple[str, NDArray[Any]]]:
    guesses = parts.memory.guesses._replace(contacts=None, features=None)  # type: ignore[arg-type]
    system = parts.memory.system._replace(contacts=None)  # type: ignore[arg-type]
    for what in (parts.state, guesses, system, parts.loads):
        yield from _named(prefix + type(what).__name__.lower(), what)


def _named(name: str, value: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays in nested named tuples, by their names."""
    if isinstance(value, tuple):
        for field, one in zip(value._fields, value, strict=True):  # type: ignore[attr-defined]
            yield from _named(f"{name}.{field}", one)
    elif value is not None:
        yield name, value


def _header(engine: Engine | Worlds, options: Mapping[str, Any]) -> dict[str, Any]:
    """Properties that must be equal in a simulation that loads the file."""
    return {
        "format": FORMAT,
        "version": __version__,
        "robot": engine.robot.name,
        "numbers": digest(engine.described()),
        "options": {name: _plain(value) for name, value in options.items()},
    }


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _compare(path: Path, header: dict[str, Any], own: dict[str, Any]) -> None:
    """Refuse a file with another version, robot or options; the error names the difference."""
    if header.get("format") != FORMAT:
        raise StateError(f"{path}: not what Simulation.save writes")
    if header["version"] != own["version"]:
        raise StateError(
            f"{path}: written by robosim {header['version']}, and this is {own['version']}: what a "
            "step starts from is not the same; start from q, v and time with set_state"
        )
    if header["robot"] != own["robot"]:
        raise StateError(
            f"{path}: of robot '{header['robot']}', and this is a simulation of '{own['robot']}'"
        )
    for name, value in own["options"].items():
        if header["options"].get(name) != value:
            raise StateError(
                f"{path}: with {name}={header['options'].get(name)!r}, and this simulation has "
                f"{value!r}: make one with the same options"
            )
    if header["numbers"] != own["numbers"]:
        raise StateError(
            f"{path}: of another robot that is called '{own['robot']}' as well: masses, joints, "
            "contacts or obstacles differ from this one's"
        )


def _checked(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix.lower() != SUFFIX:
        raise StateError(f"{path}: a simulation is saved as {SUFFIX}, not as '{path.suffix}'")
    return path


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = dict(found)
        header = json.loads(arrays.pop(HEADER).tobytes())
        if not isinstance(header, dict):
            raise ValueError("its header is invalid")
        return header, arrays
    except OSError as error:
        raise StateError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise StateError(f"{path}: damaged, or not what Simulation.save writes: {error}") from None
