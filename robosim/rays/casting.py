"""Calls of the kernels in `robosim.kernels.rays`, with errors by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.compiled.rays import make_casting
from robosim.description.mechanism import Mechanism
from robosim.description.surfaces import WORLD
from robosim.errors import OptionError, StateError
from robosim.kernels.rays.entries import cast_rays
from robosim.rays.hits import Hits, empty_hits, reshaped
from robosim.rays.skins import Loose, meet_skins
from robosim.rays.targets import Compiled, compiled
from robosim.runtime.handles import Handle
from robosim.runtime.notice import CompileNotice
from robosim.runtime.threads import do_all
from robosim.validation import Array, count

FEWEST = 512  # rays for which another thread is worth while


def cast_some(against: Compiled | Loose, excluded: NDArray[np.int64], *given: Any) -> int:
    """`cast_rays` with these arguments behind the address; threads share no scratch memory."""
    try:
        handle = against.free.pop()
    except IndexError:
        handle = Handle(make_casting(against.arrays, against.bodies))
    handle.values.excluded[:] = excluded
    bad = cast_rays(handle.address, *given)
    against.free.append(handle)
    return int(bad)


class Excluded(NamedTuple):
    """What rays pass.

    Attributes
    ----------
    bodies : (nb + 1,) 1 for bodies that they pass; the last is the world
    body : int
    shapes : tuple of str
        Names of shapes of that body that they pass, too.
    """

    bodies: NDArray[np.int64]
    body: int = -1
    shapes: tuple[str, ...] = ()

    def flags(self, against: Compiled) -> NDArray[np.int64]:
        """1 for shapes (m,) that rays pass."""
        found = self.bodies[against.arrays.shapes["body"]]
        if self.shapes:
            own = against.arrays.shapes["body"] == self.body
            rigid = against.targets[: len(own)]
            named = [target.name in self.shapes for target in rigid]
            found |= own & np.array(named, dtype=bool)
        return found


def excluded_bodies(robot: Mechanism, names: str | Iterable[str]) -> NDArray[np.int64]:
    """Flags (nb + 1,) of bodies by their names or those of their frames; "world" for the world.

    Raises
    ------
    OptionError
        If the names are no names.
    ModelError
        For an unknown name.
    """
    out = np.zeros(len(robot.bodies) + 1, dtype=np.int64)
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if not isinstance(name, str):
            raise OptionError(f"exclude must be names of bodies, not {name!r}")
        if name == WORLD:
            out[-1] = 1
        if name != WORLD or any(body.name == WORLD for body in robot.bodies):
            out[robot.body_index(name)] = 1
    return out


def checked_limit(max_distance: float) -> float:
    """A distance, or an OptionError."""
    if not (isinstance(max_distance, Real) and float(max_distance) > 0):
        raise OptionError(f"max_distance must be a positive number, not {max_distance!r}")
    return float(max_distance)


def rays_of(
    origins: ArrayLike, directions: ArrayLike, states: int | None
) -> tuple[Array, Array, tuple[int, ...]]:
    """Origins and directions (s, n, 3), and the shape of their hits before the last axis.

    Parameters
    ----------
    origins, directions : (3,) or (n, 3), or (states, n, 3) of a batch
    states : int or None
        The number of states of a batch.

    Raises
    ------
    StateError
        For wrong shapes, or other things than numbers.
    """
    found = [_vectors("origins", origins, states), _vectors("directions", directions, states)]
    single = all(np.ndim(one) == 1 for one in found)
    whole = [one.reshape((1,) * (3 - one.ndim) + one.shape) for one in found]
    a, b = (one.shape[1] for one in whole)
    if 1 not in (a, b) and a != b:
        raise StateError(f"there are {a} origins and {b} directions: give as many, or one of them")
    n = b if a == 1 else a
    return whole[0], whole[1], (() if single else (n,))


def _vectors(name: str, value: Any, states: int | None) -> Array:
    """Vectors in memory of the type that kernels are compiled for."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise StateError(f"{name} must be numbers, not {value!r}") from None
    most = 2 if states is None else 3
    wrong = array.ndim == 0 or array.ndim > most or array.shape[-1] != 3
    if wrong or (array.ndim == 3 and len(array) not in (1, states)):
        shapes = "(3,) or (n, 3)" if states is None else f"(3,), (n, 3) or ({states}, n, 3)"
        raise StateError(f"{name} must have shape {shapes}, not {array.shape}")
    usable = array.flags.c_contiguous and array.flags.aligned and array.flags.writeable
    return array if usable else np.array(array, order="C")


def cast_states(
    targets: Sequence[tuple[Compiled, NDArray[np.int64] | None]],
    x: Array,
    q: Array,
    rays: tuple[Array, Array],
    n: int,
    limit: float,
    excluded: Excluded,
    threads: int,
    do: Callable[[Sequence[Callable[[], None]]], None],
) -> Hits:
    """Cast rays of states, each against the shapes of its own robot.

    Parameters
    ----------
    targets : sequence of (Compiled, states)
        What rays of these states meet; None for all of them.
    x, q : (s, nb, 3) and (s, nb, 4)
    rays : origins and directions (s or 1, n or 1, 3)
    n : int
        Number of rays of a state.
    excluded : Excluded
    threads : int
    do : callable
        Does jobs, in threads if there are several.

    Returns
    -------
    Hits with axes (s, n)

    Raises
    ------
    StateError
        For a direction of length zero, or a number that is not finite.
    """
    origins, directions = rays
    s = len(x)
    hits = empty_hits(s, n)
    bad: list[int] = []

    def cast(against: Compiled, states: tuple[int, int], share: tuple[int, int]) -> None:
        given = x, q, origins, directions, limit, states, share
        found = cast_some(against, excluded.flags(against), *given, *hits)
        if found >= 0:
            bad.append(found)
        for row in range(*states) if against.skins and found < 0 else ():
            cast_at_skins(against, row, share)

    def cast_at_skins(against: Compiled, row: int, share: tuple[int, int]) -> None:
        nowhere = np.zeros((1, 0, 3)), np.zeros((1, 0, 4))
        rays = [one[row : row + 1] if len(one) > 1 else one for one in (origins, directions)]

        def meet(loose: Loose, out: Hits) -> None:
            passed = np.zeros(len(loose.arrays.shapes), dtype=np.int64)
            cast_some(loose, passed, *nowhere, *rays, limit, (0, 1), share, *out)

        poses, first = (x[row], q[row]), len(against.targets) - len(against.skins)
        meet_skins(against.skins, first, poses, excluded.bodies, meet, hits, row)

    jobs: list[Callable[[], None]] = []
    for against, some in targets:
        for begin, end in _runs(some, s):
            shares = max(1, min(threads, (end - begin) * n // FEWEST))
            if end - begin >= shares:
                ends = np.linspace(begin, end, shares + 1).astype(int).tolist()
                jobs += [partial(cast, against, pair, (0, n)) for pair in pairwise(ends)]
            else:
                ends = np.linspace(0, n, shares + 1).astype(int).tolist()
                jobs += [partial(cast, against, (begin, end), pair) for pair in pairwise(ends)]
    do(jobs)
    if bad:
        raise _error(origins, directions, min(bad), n)
    return hits


def _runs(states: NDArray[np.int64] | None, s: int) -> list[tuple[int, int]]:
    """States as ranges from the first to behind the last of those that follow each other."""
    if states is None:
        return [(0, s)]
    parts = np.split(states, np.flatnonzero(np.diff(states) != 1) + 1)
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]


def _error(origins: Array, directions: Array, at: int, n: int) -> StateError:
    """The error of a ray that is none, counted through all states."""
    s, k = divmod(at, n)
    where = f"ray {k}" if max(len(origins), len(directions)) == 1 else f"ray {k} of state {s}"
    for name, array in (("origin", origins), ("direction", directions)):
        rows = array[s if len(array) > 1 else 0]
        value = rows[k if len(rows) > 1 else 0]
        if not np.all(np.isfinite(value)):
            return StateError(f"the {name} of {where} must be finite, not {value.tolist()}")
    return StateError(f"the direction of {where} must not be zero")


def cast_from(
    robot: Mechanism,
    geometry: str,
    poses: tuple[ArrayLike, ArrayLike],
    rays: tuple[ArrayLike, ArrayLike],
    max_distance: float,
    exclude: str | Iterable[str],
    threads: int,
) -> Hits:
    """`Scene.cast` for poses x (nb, 3) and q (nb, 4) of the bodies, and origins and directions."""
    starts, ways, shape = rays_of(*rays, None)
    limit, excluded = checked_limit(max_distance), Excluded(excluded_bodies(robot, exclude))
    threads = count("threads", threads)
    CompileNotice.install()
    x, q = (np.array(part)[None] for part in poses)
    n = shape[0] if shape else 1
    targets = [(compiled(robot, geometry), None)]
    hits = cast_states(targets, x, q, (starts, ways), n, limit, excluded, threads, in_threads)
    return reshaped(hits, *shape)


def in_threads(jobs: Sequence[Callable[[], None]]) -> None:
    """Do jobs, each in a thread of its own if there are several."""
    if len(jobs) == 1:
        jobs[0]()
        return
    with ThreadPoolExecutor(len(jobs)) as pool:
        do_all(pool, jobs)
