"""Groups of states of a batch that take their steps in the lanes of vector registers.

The memory of a group is that of its states with the lanes as the last axis of every float; kernels
see each as one number (`robosim.kernels.lanes`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from robosim.handles import Handle
from robosim.kernels.addresses import TYPES, load
from robosim.kernels.group import run_group
from robosim.kernels.interior_point import COLD
from robosim.kernels.jit import entry
from robosim.kernels.lanes import WIDTH, WORD, laned, lanes
from robosim.model import INFO, Options
from robosim.simulation import Simulation

# Steps that states which have parted take by themselves before they try again: at first, at most.
FIRST_REST, LONGEST_REST = 1, 32

FIELD = np.dtype(  # a field of a record, or an array, of one state
    [
        ("state", "i8"),  # address of its first word in the state's own memory
        ("lanes", "i8"),  # and in that of the group
        ("count", "i8"),  # its words
        ("shared", "i8"),  # 1 for whole numbers, of which the group has one for all states
    ]
)

GroupRunner = Callable[[int, NDArray[np.int64], NDArray[np.int64], int, int], int]
_RUNNERS: dict[tuple[int, int, int], GroupRunner] = {}
_LANED: dict[np.dtype[Any], tuple[np.dtype[Any], Any]] = {}  # record -> numpy dtype, numba type
_VECTOR = np.dtype([("value", "f8", (WIDTH,))])


class Parts(NamedTuple):
    """What the kernels of a group work on; see `robosim.kernels.group`."""

    model: Any  # the states' own, or with lanes where they differ
    state: Any
    work: Any
    options: Options
    info: NDArray[np.void]  # (1,)
    carried: NDArray[np.void]  # (WIDTH, n) FIELD of what a state brings along
    driven: NDArray[np.void]  # (WIDTH, 2) of what acts on it in each step
    told: NDArray[np.void]  # (WIDTH, 2) of its coordinates and velocities
    before: NDArray[np.int64]  # (nc + 1,) contacts in the last equations


def can_be_grouped(sim: Simulation) -> bool:
    """Whether a simulation takes its steps in a way that lanes are made for."""
    model = sim._model
    tree = sim.solver == "articulated" and model.loops is None
    return tree and model.collision is None and sim.order == 2


class Group:
    """`WIDTH` simulations that take their steps together.

    Parameters
    ----------
    sims : sequence of Simulation
        That `can_be_grouped`, of robots that differ in numbers only.
    like : Group or None
        Another one of the same batch, to find out the types of its memory only once.
    """

    def __init__(self, sims: Sequence[Simulation], like: Group | None = None) -> None:
        first = sims[0]
        self.sims = list(sims)
        self.works = [sim._work for sim in sims]
        self.rest = FIRST_REST
        self.ahead = False  # whether the lanes are newer than the scratch memory of the states
        alike = all(sim._model is first._model for sim in sims)
        model = first._model if alike else widen([sim._model for sim in sims])
        state, work = widen([sim._state for sim in sims]), widen(self.works)
        carried = _by_state(_carried(sim, state, work) for sim in sims)
        driven = _by_state(
            (_all_of(sim._work.tau, work.tau), _all_of(sim._work.drives, work.drives))
            for sim in sims
        )
        told = _by_state(
            (_all_of(sim._state.q, state.q), _all_of(sim._state.v, state.v)) for sim in sims
        )
        # What is not solved by then, each state solves by itself.
        options = first._options._replace(last_attempt=min(first._options.last_attempt, COLD))
        parts = Parts(
            model,
            state,
            work,
            options,
            widen([np.zeros(1, dtype=INFO)] * WIDTH),
            carried,
            driven,
            told,
            np.zeros(len(work.active), dtype=np.int64),
        )
        shared = ("options", "carried", "driven", "told", "before", *(("model",) if alike else ()))
        kinds = [
            typeof(part) if name in shared else laned_type(part)
            for name, part in parts._asdict().items()
        ]
        self.alike = alike
        known = None if like is None or like.alike != alike else like.handle
        self.handle: Handle = Handle(parts, known)
        digest = hashlib.sha256(f"lanes {self.handle.kind}".encode()).digest()
        self.kind = int.from_bytes(digest[:7], "little")
        TYPES.setdefault(self.kind, types.NamedTuple(kinds, Parts))

    def is_of(self, sims: Sequence[Simulation]) -> bool:
        """Whether these are its simulations, with the memory that they had."""
        return all(sim._work is work for sim, work in zip(sims, self.works, strict=True))

    def run(
        self,
        own: Callable[..., None],
        parts: NDArray[np.int64],
        runs: NDArray[np.int64],
        run_kind: int,
        done: NDArray[np.int64],
        end: int,
    ) -> None:
        """Take steps done[0] to `end`, as a `Runner` of the simulations, which is `own`, does."""
        parts_kind = self.sims[0]._parts.kind  # type: ignore[union-attr]
        take = group_runner(self.kind, parts_kind, run_kind)
        while done[0] < end:
            reached = take(self.handle.address, parts, runs, int(done[0]), end)
            self.ahead = True
            if reached > done[0]:
                self.rest = FIRST_REST
            done[:] = reached
            if reached == end:
                return
            self.ahead = False
            until = min(reached + self.rest, end)
            self.rest = min(2 * self.rest, LONGEST_REST)
            own(parts, runs, done, until)
            if np.any(done < until):
                left = np.flatnonzero(done == until)
                some = done[left]
                own(parts[left], runs[left], some, end)
                done[left] = some
                return

    def catch_up(self, k: int) -> None:
        """Bring the scratch memory of simulation k to where its lane is."""
        if self.ahead:
            narrow(self.handle.values.work, self.works[k], k)


def group_runner(kind: int, parts_kind: int, run_kind: int) -> GroupRunner:
    """The function ``f(group, parts, runs, begin, end)`` for handles of these kinds.

    It takes steps `begin` to `end` and returns the step that the states of the group part at, or
    `end`. It does not hold the interpreter's lock.
    """
    kinds = kind, parts_kind, run_kind
    if kinds not in _RUNNERS:
        _RUNNERS[kinds] = _make_runner(*kinds)
    return _RUNNERS[kinds]


def _make_runner(kind: int, parts_kind: int, run_kind: int) -> GroupRunner:
    @entry
    def run_together(group, parts, runs, begin, end):  # type: ignore[no-untyped-def]
        return run_group(load(group, kind), parts, parts_kind, runs, run_kind, begin, end)

    return run_together  # type: ignore[no-any-return]


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Zeros that begin where vectors may."""
    size, line = int(np.prod(shape)) * dtype.itemsize, WORD * WIDTH
    memory = np.zeros(size + line, dtype=np.uint8)
    begin = -memory.ctypes.data % line
    return memory[begin : begin + size].view(dtype).reshape(shape)


def widen(values: Sequence[Any]) -> Any:
    """Memory of a group with what each of its states has in nested named tuples."""
    first = values[0]
    if isinstance(first, tuple):
        return type(first)(*(widen(parts) for parts in zip(*values, strict=True)))
    if not isinstance(first, np.ndarray):
        return first
    if first.dtype.names:
        if first.dtype not in _LANED:
            _LANED[first.dtype] = laned(first.dtype)
        wide = aligned(first.shape, _LANED[first.dtype][0])
        for name in first.dtype.names:
            columns = [value[name] for value in values]
            is_float = first.dtype[name].base == np.float64
            wide[name] = np.stack(columns, axis=-1) if is_float else columns[0]
        return wide
    if first.dtype == np.float64:
        wide = aligned(first.shape, _VECTOR)
        wide["value"] = np.stack(values, axis=-1)
        return wide
    return first.copy()


def laned_type(value: Any) -> Any:
    """numba's type of what `widen` has made."""
    if isinstance(value, tuple):
        return types.NamedTuple([laned_type(part) for part in value], type(value))
    if not isinstance(value, np.ndarray):
        return typeof(value)
    kinds = dict([*_LANED.values(), (_VECTOR, lanes)])
    if value.dtype in kinds:
        return types.Array(kinds[value.dtype], value.ndim, "C")
    return typeof(value)


def narrow(wide: Any, values: Any, k: int) -> None:
    """Copy what state k has of the memory of its group into its own."""
    for source, target in zip(wide, values, strict=True):
        if isinstance(target, tuple):
            narrow(source, target, k)
        elif isinstance(target, np.ndarray) and target.dtype.names:
            for name in target.dtype.names:
                is_float = target.dtype[name].base == np.float64
                target[name] = source[name][..., k] if is_float else source[name]
        elif isinstance(target, np.ndarray):
            target[...] = source["value"][..., k] if target.dtype == np.float64 else source


def _by_state(fields: Iterable[Iterable[tuple[int, int, int, int]]]) -> NDArray[np.void]:
    """(WIDTH, n) FIELD."""
    return np.array([list(one) for one in fields], dtype=np.int64).view(FIELD)[..., 0]


def _all_of(array: NDArray[Any], wide: NDArray[Any]) -> tuple[int, int, int, int]:
    """FIELD of a whole array that holds nothing but floats."""
    return array.ctypes.data, wide.ctypes.data, array.nbytes // WORD, 0


def _carried(sim: Simulation, state: Any, work: Any) -> Iterator[tuple[int, int, int, int]]:
    """FIELD of all that a state brings along: its State, wrenches, and the last interval."""
    friction = 2 if sim._model.facets is None else len(sim._model.facets)
    nb = len(sim._model.bodies)
    yield _all_of(sim._state.q, state.q)
    yield _all_of(sim._state.v, state.v)
    yield _all_of(sim._work.external, work.external)
    yield _all_of(sim._work.last_dt, work.last_dt)
    for array, wide in zip(sim._state[:4], state[:4], strict=True):
        places = _places(array.dtype), _places(wide.dtype)
        for n in range(len(array)):
            begin, to = (a.ctypes.data + n * a.strides[0] for a in (array, wide))
            for name, (base, at) in places[0].items():
                words = base.itemsize // WORD
                if name in ("beta", "eta"):
                    words = min(words, friction)
                if name in ("G_a", "G_b") and n < nb:
                    continue  # joints of a tree have no use for them
                shared = int(base.base != np.float64)
                yield begin + at, to + places[1][name][1], words, shared


def _places(dtype: np.dtype[Any]) -> dict[str, tuple[np.dtype[Any], int]]:
    """Type and offset of each field of a record."""
    return {name: field[:2] for name, field in (dtype.fields or {}).items()}
