"""Groups of states of a batch that take their steps in the lanes of vector registers.

The memory of a group is that of its states with the lanes as the last axis of every float; kernels
see each as one number (`robosim.kernels.lanes`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from robosim.apart import Apart
from robosim.handles import ADDRESSES, Handle, solver
from robosim.kernels.addresses import TYPES, load
from robosim.kernels.group import run_group
from robosim.kernels.interior_point import COLD
from robosim.kernels.jit import entry, named
from robosim.kernels.lanes import WIDTH, laned, lanes
from robosim.model import INFO, WORD, Options
from robosim.simulation import Simulation, in_lines

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


def can_be_grouped(sims: Sequence[Simulation]) -> bool:
    """Whether simulations take their steps in a way that lanes are made for, all in the same."""
    for sim in sims:
        model, before = sim._model, sims[0]._model
        tree = sim.solver == "articulated" and model.loops is None
        if not (tree and model.collision is None and sim.order == 2):
            return False
        if model is not before and _whole_numbers(model) != _whole_numbers(before):
            return False
    return True


def _whole_numbers(values: Any) -> list[bytes]:
    """All whole numbers in nested named tuples: what is where, not how much of it."""
    found: list[bytes] = []
    for value in values:
        if isinstance(value, tuple):
            found += _whole_numbers(value)
        elif isinstance(value, np.ndarray) and value.dtype.names:
            names = [name for name in value.dtype.names if value.dtype[name].base != np.float64]
            found += [value[name].tobytes() for name in names]
        elif not isinstance(value, np.ndarray):
            found.append(repr(value).encode())
        elif value.dtype != np.float64:
            found.append(value.tobytes())
    return found


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
        # Whether the scratch memory of each state is older than what its lane has.
        self.behind = np.zeros(WIDTH, dtype=bool)
        alike = all(sim._model is first._model for sim in sims)
        model = first._model if alike else widen([sim._model for sim in sims])
        # What each state brings along follows when they take steps; all else is scratch.
        state, work = widen([first._state]), widen([first._work])
        work = work._replace(slots=widen([sim._work.slots for sim in sims]))
        work.factored[:] = 0
        self.layout: list[tuple[int, int, int, int, int]] = (
            list(_layout(first, state, work)) if like is None else like.layout
        )
        carried = _fields(sims, _carried, state, work, self.layout)
        driven, told = (
            _fields(sims, some, state, work, _whole(some(first._state, first._work)))
            for some in (_driven, _told)
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
            in_lines(np.zeros(len(work.active), dtype=np.int64)),
        )
        self.alike = alike
        self.handle: Handle
        self.kind: int
        self.solver: Apart
        if like is not None and like.alike == alike:
            self.handle, self.kind = Handle(parts, like.handle), like.kind
            self.solver = like.solver
            return
        self.handle = Handle(parts)
        shared = ("options", "carried", "driven", "told", "before", *(("model",) if alike else ()))
        kinds = [
            typeof(part) if name in shared else laned_type(part)
            for name, part in parts._asdict().items()
        ]
        digest = hashlib.sha256(f"lanes {self.handle.kind}".encode()).digest()
        self.kind = int.from_bytes(digest[:7], "little")
        TYPES.setdefault(self.kind, types.NamedTuple(kinds, Parts))
        self.solver = solver(self.kind, kinds[Parts._fields.index("info")].dtype)

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
        take = group_runner(self.solver, self.kind, parts_kind, run_kind)
        while done[0] < end:
            reached = take(self.handle.address, parts, runs, int(done[0]), end)
            self.behind[:] = True
            if reached > done[0]:
                self.rest = FIRST_REST
            done[:] = reached
            if reached == end:
                return
            self.behind[:] = False
            until = min(reached + self.rest, end)
            self.rest = min(2 * self.rest, LONGEST_REST)
            own(parts, runs, done, until)
            if np.any(done < until):
                left = np.flatnonzero(done == until)
                some = done[left]
                own(parts[left], runs[left], some, end)
                done[left] = some
                return

    def catch_up(self, k: int, anew: bool) -> None:
        """Bring the scratch memory of simulation k to where its lane is, unless it is set anew."""
        if self.behind[k] and not anew:
            narrow(self.handle.values.work, self.works[k], k)
        self.behind[k] = False


def group_runner(solve: Apart, kind: int, parts_kind: int, run_kind: int) -> GroupRunner:
    """The function ``f(group, parts, runs, begin, end)`` for handles of these kinds, compiled.

    It takes steps `begin` to `end` and returns the step that the states of the group part at, or
    `end`. It does not hold the interpreter's lock.
    """
    kinds = kind, parts_kind, run_kind
    if kinds not in _RUNNERS:
        others = types.int64, ADDRESSES, ADDRESSES, types.int64, types.int64
        _RUNNERS[kinds] = solve.given_to(_make_runner(*kinds), others)
    return _RUNNERS[kinds]


def _make_runner(kind: int, parts_kind: int, run_kind: int) -> Any:
    @entry
    @named(kind, parts_kind, run_kind)
    def run_together(solver, group, parts, runs, begin, end):  # type: ignore[no-untyped-def]
        solves = solver, group
        return run_group(load(group, kind), solves, parts, parts_kind, runs, run_kind, begin, end)

    return run_together


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
        wide = in_lines(np.zeros(first.shape, _LANED[first.dtype][0]))
        for name in first.dtype.names:
            columns = [value[name] for value in values]
            is_float = first.dtype[name].base == np.float64
            wide[name] = np.stack(columns, axis=-1) if is_float else columns[0]
        return wide
    if first.dtype == np.float64:
        wide = in_lines(np.zeros(first.shape, _VECTOR))
        wide["value"] = np.stack(values, axis=-1)
        return wide
    return in_lines(first)


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


def _carried(state: Any, work: Any) -> tuple[NDArray[Any], ...]:
    """What a state brings along: wrenches on it, the last interval, and its State."""
    return work.external, work.last_dt, work.stale, *state


def _driven(state: Any, work: Any) -> tuple[NDArray[Any], ...]:
    return work.tau, work.drives


def _told(state: Any, work: Any) -> tuple[NDArray[Any], ...]:
    return state.q, state.v


def _fields(
    sims: Sequence[Simulation],
    some: Callable[[Any, Any], tuple[NDArray[Any], ...]],
    state: Any,
    work: Any,
    layout: Any,
) -> NDArray[np.void]:
    """(WIDTH, n) FIELD of some arrays, from (which array, two offsets, words, shared) of each."""
    which, at, to, count, shared = np.array(layout, dtype=np.int64).T
    fields = np.zeros((len(sims), len(which)), dtype=FIELD)
    begins = np.array([array.ctypes.data for array in some(state, work)])
    fields["lanes"], fields["count"], fields["shared"] = begins[which] + to, count, shared
    for k, sim in enumerate(sims):
        own = np.array([array.ctypes.data for array in some(sim._state, sim._work)])
        fields["state"][k] = own[which] + at
    return fields


def _whole(arrays: tuple[NDArray[Any], ...]) -> list[tuple[int, int, int, int, int]]:
    """What `_fields` asks for of arrays that hold nothing but floats, as wholes."""
    return [(which, 0, 0, array.nbytes // WORD, 0) for which, array in enumerate(arrays)]


def _layout(sim: Simulation, state: Any, work: Any) -> Iterator[tuple[int, int, int, int, int]]:
    """What `_fields` asks for of all that a state brings along."""
    friction = 2 if sim._model.facets is None else len(sim._model.facets)
    nb, own = len(sim._model.bodies), _carried(sim._state, sim._work)
    for which, (array, wide) in enumerate(zip(own, _carried(state, work), strict=True)):
        if not array.dtype.names:
            yield which, 0, 0, array.size, 0
            continue
        places = _places(array.dtype), _places(wide.dtype)
        for n in range(len(array)):
            for name, (base, at) in places[0].items():
                words = base.itemsize // WORD
                if name in ("beta", "eta"):
                    words = min(words, friction)
                if name in ("G_a", "G_b") and n < nb:
                    continue  # joints of a tree have no use for them
                begin, to = n * array.strides[0] + at, n * wide.strides[0] + places[1][name][1]
                yield which, begin, to, words, int(base.base != np.float64)


def _places(dtype: np.dtype[Any]) -> dict[str, tuple[np.dtype[Any], int]]:
    """Type and offset of each field of a record."""
    return {name: field[:2] for name, field in (dtype.fields or {}).items()}
