"""What takes its steps in the lanes of vector registers: states, or limbs of one, side by side.

The memory of a group is that of its states with the lanes as the last axis of every float; kernels
see each as one number (`robosim.kernels.compiler.lanes`). `robosim.batch.group` has the groups of
a batch, `robosim.runtime.limbs` the limbs of a single state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from robosim.compiled.arrays import WORD, in_lines
from robosim.compiled.loads import Loads
from robosim.compiled.memory import Guesses, Memory
from robosim.compiled.model import Model, Options
from robosim.compiled.records.step import INFO
from robosim.compiled.state import State, arrays_of
from robosim.kernels.compiler import PLAIN
from robosim.kernels.compiler.addresses import TYPES, load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.kernels.compiler.lanes import Lanes, laned
from robosim.kernels.solve.status import COLD
from robosim.kernels.step.group import pack, run_group, unpack
from robosim.runtime.background import Apart
from robosim.runtime.handles import ADDRESSES, Handle, Parts, solver

# Steps that states which have parted take by themselves before they try again: at first, at most.
FIRST_REST, LONGEST_REST = 1, 32

FIELD = np.dtype(  # words that follow each other in a state, and in a lane
    [
        ("state", "i8"),  # address of the first one in the state's own memory
        ("lanes", "i8"),  # and in that of the lane
        ("count", "i8"),
        ("stride", "i8"),  # bytes from one to the next in the lane
        ("shared", "i8"),  # 1 for whole numbers, of which there is one for all lanes
    ]
)

Numbers = NDArray[np.int64]
GroupRunner = Callable[[Numbers, Numbers, Numbers, Numbers, int], None]
ROWS = types.Array(types.int64, 2, "C")
_RUNNERS: dict[tuple[int, int, int], GroupRunner] = {}
_LANED: dict[Any, tuple[np.dtype[Any], Any]] = {}  # record, lanes -> numpy dtype, numba type


class LaneParts(NamedTuple):
    """What the kernels of lanes work on; see `robosim.kernels.step.group`."""

    model: Any  # the states' own, or with lanes where they differ
    state: Any
    memory: Any
    loads: Any
    work: Any
    options: Options
    info: NDArray[np.void]  # (1,)
    carried: NDArray[np.void]  # (lanes, n) FIELD of what each brings along
    forces: NDArray[np.void]  # (lanes, n) of what drives it in each step
    servos: NDArray[np.void]  # (lanes, n) and of its servos
    told: NDArray[np.void]  # (lanes, n) of its coordinates and velocities


class Layout(NamedTuple):
    """Where words of a state are among some arrays, and in those of a lane."""

    which: NDArray[np.int64]  # (n,) array
    state: NDArray[np.int64]  # (n,) bytes from where that begins
    lanes: NDArray[np.int64]  # (n,) and in that of the lanes
    words: NDArray[np.int64]  # (n,) how many follow each other
    shared: NDArray[np.int64]  # (n,)


def suits_lanes(parts: Sequence[Parts]) -> bool:
    """Whether simulations take their steps in a way that lanes are made for, all in the same.

    By plain numba there are no lanes.
    """
    if PLAIN:
        return False
    before = parts[0].model
    for model, options in ((one.model, one.options) for one in parts):
        tree = model.tree and model.loops is None
        plain = model.collision is None and model.charts is None
        plain = plain and model.actuators is None and model.drags is None and model.bearings is None
        plain = plain and not np.any(model.coordinates["driven"] >= 0)
        if not (tree and plain and options.order == 2):
            return False
        if model is not before and whole_numbers(model) != whole_numbers(before):
            return False
    return True


def whole_numbers(values: Any) -> list[bytes]:
    """All whole numbers in nested named tuples: what is where, not how much of it."""
    found: list[bytes] = []
    for value in values:
        if isinstance(value, tuple):
            found += whole_numbers(value)
        elif isinstance(value, np.ndarray) and value.dtype.names:
            names = [name for name in value.dtype.names if value.dtype[name].base != np.float64]
            found += [value[name].tobytes() for name in names]
        elif not isinstance(value, np.ndarray):
            found.append(repr(value).encode())
        elif value.dtype != np.float64:
            found.append(value.tobytes())
    return found


class Together:
    """Lanes that take steps together, for one state each or for one in all.

    Parameters
    ----------
    parts : LaneParts
    kind : Lanes
        Of `parts`.
    like : Together or None
        Another one of the same types, which are then found out only once.
    """

    def __init__(self, parts: LaneParts, kind: Lanes, like: Together | None = None) -> None:
        self.rest = FIRST_REST
        self.handle: Handle
        self.kind: int
        self.solver: Apart
        if like is not None:
            self.handle, self.kind = Handle(parts), like.kind
            self.solver = like.solver
            return
        self.handle = Handle(parts)
        kinds = [laned_type(part, kind) for part in parts]
        digest = hashlib.sha256(f"{kind} {self.handle.kind}".encode()).digest()
        self.kind = int.from_bytes(digest[:7], "little")
        TYPES.setdefault(self.kind, types.NamedTuple(kinds, LaneParts))
        self.solver = solver(self.kind, kinds[LaneParts._fields.index("info")].dtype)

    @property
    def entrance(self) -> Handle:
        """The lanes as the next steps are to find them; by default states enter and leave."""
        return self.handle

    def moves(self) -> None:
        """Told before the lanes move the states."""

    def moved(self, by_lanes: bool) -> None:
        """Told when lanes have moved the states, or when each is about to go by itself."""

    def run(
        self,
        own: Callable[..., None],
        parts: NDArray[np.int64],
        parts_kind: int,
        runs: NDArray[np.int64],
        run_kind: int,
        done: NDArray[np.int64],
        end: int,
    ) -> None:
        """Take steps done[0] to `end`, as a `Runner` of the simulations, which is `own`, does."""
        take = group_runner(self.solver, self.kind, parts_kind, run_kind)
        rows = parts[None], runs[None], done[None]
        while done[0] < end:
            begin = int(done[0])
            # An interrupt may be raised when compiled code returns.
            self.moves()
            take(self.entrance.addresses, *rows, end)
            self.moved(True)
            if self.parted(own, parts, runs, begin, done, end):
                return

    def parted(
        self,
        own: Callable[..., None],
        parts: NDArray[np.int64],
        runs: NDArray[np.int64],
        begin: int,
        done: NDArray[np.int64],
        end: int,
    ) -> bool:
        """Go on by itself where lanes that began at a step have stopped; whether all is done."""
        reached = int(done[0])
        if reached > begin:
            self.rest = FIRST_REST
        if reached == end:
            return True
        self.moved(False)
        until = min(reached + self.rest, end)
        self.rest = min(2 * self.rest, LONGEST_REST)
        own(parts, runs, done, until)
        if np.any(done < until):
            left = np.flatnonzero(done == until)
            some = done[left]
            own(parts[left], runs[left], some, end)
            done[left] = some
            return True
        return False


def group_runner(solve: Apart, kind: int, parts_kind: int, run_kind: int) -> GroupRunner:
    """The function ``f(groups, parts, runs, done, end)`` for handles of these kinds, compiled.

    For groups (g,) of states, whose `parts`, `runs` and `done` are (g, states), it takes steps
    done[i, 0] to `end` and leaves in done[i], for all lanes, the step that the states of the group
    part at, or `end`. It does not hold the interpreter's lock.
    """
    kinds = kind, parts_kind, run_kind
    if kinds not in _RUNNERS:
        others = ADDRESSES, ROWS, ROWS, ROWS, types.int64
        _RUNNERS[kinds] = solve.given_to(_make_runner(*kinds), others)
    return _RUNNERS[kinds]


def _make_runner(kind: int, parts_kind: int, run_kind: int) -> Any:
    @entry
    @named(kind, parts_kind, run_kind)
    def run_together(solver, groups, parts, runs, done, end):  # type: ignore[no-untyped-def]
        for i in range(groups.shape[0]):
            group, solves = load(groups[i], kind), (solver, groups[i])
            run_group(group, solves, parts[i], parts_kind, runs[i], run_kind, done[i], end)

    return run_together


class Left(NamedTuple):
    """Where words of lanes are to be left, of some states one after the other."""

    fields: NDArray[np.void]  # (states, n) FIELD


def fields_at(
    wide: NDArray[Any], name: str, to: NDArray[np.int64], words: int, kind: Lanes
) -> NDArray[np.void]:
    """(lanes, rows) FIELD of so many words from a field of the first records on.

    `to` (lanes, rows) are the addresses at which they are left.
    """
    dtype, at = _places(wide.dtype)[name] if wide.dtype.names else (wide.dtype, 0)
    shared = dtype.base != np.float64
    fields = np.zeros(to.shape, dtype=FIELD)
    fields["state"], fields["count"], fields["shared"] = to, words, shared
    fields["lanes"] = wide.ctypes.data + at + wide.strides[0] * np.arange(to.shape[1])
    if not shared:
        fields["lanes"] += WORD * np.arange(kind.width)[:, None]
    fields["stride"] = WORD if shared else WORD * kind.width
    return fields


def leave(left: Handle) -> None:
    """Put back what the lanes of some states (`Left`) have."""
    if left.kind not in _LEAVERS:
        _LEAVERS[left.kind] = _make_leaver(left.kind)
        _LEAVERS[left.kind].compile((types.int64,))
    _LEAVERS[left.kind](left.address)


class Entering(NamedTuple):
    """What some states bring into their lanes."""

    fields: NDArray[np.void]  # (states, n) FIELD
    lanes: NDArray[np.int64]  # (states,) of each


def enter(entering: Handle) -> None:
    """Put what some states (`Entering`) have into their lanes."""
    if entering.kind not in _ENTERERS:
        _ENTERERS[entering.kind] = _make_enterer(entering.kind)
        _ENTERERS[entering.kind].compile((types.int64,))
    _ENTERERS[entering.kind](entering.address)


_LEAVERS: dict[int, Any] = {}
_ENTERERS: dict[int, Any] = {}


def _make_enterer(kind: int) -> Any:
    @entry
    @named(kind)
    def enter_lanes(address):  # type: ignore[no-untyped-def]
        entering = load(address, kind)
        for k in range(entering.fields.shape[0]):
            pack(entering.fields[k], entering.lanes[k])

    return enter_lanes


def _make_leaver(kind: int) -> Any:
    @entry
    @named(kind)
    def leave_lanes(address):  # type: ignore[no-untyped-def]
        fields = load(address, kind).fields
        for k in range(fields.shape[0]):
            unpack(fields[k])

    return leave_lanes


def make_parts(
    model: Any,
    wide: Moved,
    work: Any,
    options: Options,
    states: Sequence[Moved],
    layouts: Sequence[tuple[Layout, ...]],
    kind: Lanes,
) -> LaneParts:
    """LaneParts of lanes of a kind, each of which has a state and a `lay_out` of its own."""
    wide.memory.system.valid[:] = 0
    carried, forces, servos, told = (
        _fields([some(one) for one in states], some(wide), chosen, kind)
        for some, chosen in zip(BROUGHT, zip(*layouts, strict=True), strict=True)
    )
    # What is not solved by then, each state solves by itself.
    options = options._replace(last_attempt=min(options.last_attempt, COLD))
    info = widen([np.zeros(1, dtype=INFO)] * kind.width, kind)
    return LaneParts(model, *wide, work, options, info, carried, forces, servos, told)


def widen(values: Sequence[Any], kind: Lanes) -> Any:
    """Memory of lanes with what each of them has in nested named tuples, or one for all."""
    first = values[0]
    if isinstance(first, tuple):
        return type(first)(*(widen(parts, kind) for parts in zip(*values, strict=True)))
    if not isinstance(first, np.ndarray):
        return first
    if first.dtype.names:
        wide = in_lines(np.zeros(first.shape, in_lanes(first.dtype, kind)[0]))
        for name in first.dtype.names:
            columns = [value[name] for value in values]
            is_float = first.dtype[name].base == np.float64
            wide[name] = np.stack(columns, axis=-1) if is_float else columns[0]
        return wide
    if first.dtype == np.float64:
        wide = in_lines(np.zeros(first.shape, vector_of(kind)))
        wide["value"] = np.stack(values, axis=-1)
        return wide
    return in_lines(first)


def in_lanes(dtype: np.dtype[Any], kind: Lanes) -> tuple[np.dtype[Any], Any]:
    """`laned`, of which every record is asked for only once: its types are known by identity."""
    if (dtype, kind) not in _LANED:
        _LANED[dtype, kind] = laned(dtype, kind)
    return _LANED[dtype, kind]


def vector_of(kind: Lanes) -> np.dtype[Any]:
    """A float of lanes in memory."""
    return np.dtype([("value", "f8", (kind.width,))])


def laned_type(value: Any, kind: Lanes) -> Any:
    """numba's type of what `widen` has made, or of what is the same for all lanes."""
    if isinstance(value, tuple):
        return types.NamedTuple([laned_type(part, kind) for part in value], type(value))
    if not isinstance(value, np.ndarray):
        return typeof(value)
    known = dict(made for (_, of), made in _LANED.items() if of == kind)
    known[vector_of(kind)] = kind
    if value.dtype in known:
        return types.Array(known[value.dtype], value.ndim, "C")
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


def put_in_lane(values: Any, wide: Any, k: int) -> None:
    """Write floats of one state into its lane; whole numbers, the same in all lanes, stay."""
    for source, target in zip(values, wide, strict=True):
        if isinstance(source, tuple):
            put_in_lane(source, target, k)
        elif isinstance(source, np.ndarray) and source.dtype.names:
            for name in source.dtype.names:
                if source.dtype[name].base == np.float64:
                    target[name][..., k] = source[name]
        elif isinstance(source, np.ndarray) and source.dtype == np.float64:
            target["value"][..., k] = source


class Moved(NamedTuple):
    """What a step moves, of one state or of lanes."""

    state: State
    memory: Memory
    loads: Loads


def moved_of(parts: Parts) -> Moved:
    """What steps of a simulation move."""
    return Moved(parts.state, parts.memory, parts.loads)


def _carried(one: Moved) -> tuple[NDArray[Any], ...]:
    """What a state brings along: wrenches on it, its State, and what it is guessed from."""
    return one.loads.external, *arrays_of(one.state), *one.memory.guesses


# Of LaneParts: what a state brings along, what drives it, its servos, and what it tells.
BROUGHT: tuple[Callable[[Moved], tuple[NDArray[Any], ...]], ...] = (
    _carried,
    lambda one: (one.loads.tau,),
    lambda one: (one.loads.servos,),
    lambda one: (one.state.q, one.state.v),
)


class Rows(NamedTuple):
    """Which rows of a state's arrays are those of a lane; -1 where the state has none."""

    bodies: NDArray[np.int64]
    contacts: NDArray[np.int64]
    q: NDArray[np.int64]
    v: NDArray[np.int64]
    told_q: NDArray[np.int64]  # those that the lane tells, -1 for what another one does
    told_v: NDArray[np.int64]

    def beside(self, first: Rows) -> Rows:
        """The same beside another lane, which tells what both of them have."""
        told_q, told_v = (
            np.where(own == other, -1, own) for own, other in ((self.q, first.q), (self.v, first.v))
        )
        return self._replace(told_q=told_q, told_v=told_v)

    def brought(self) -> tuple[tuple[NDArray[np.int64] | None, ...], ...]:
        """Those of the arrays of `BROUGHT`."""
        bodies, none = self.bodies, np.zeros(0, dtype=np.int64)
        own = {"bodies": bodies, "joints": bodies, "couplings": none, "q": self.q, "v": self.v}
        own |= dict.fromkeys(("contacts", "active", "ids"), self.contacts) | {"features": none}
        # What is the same for all rows, such as trends, has no choice of them.
        # Pads of bearings are in no state that has lanes.
        of_states = [name for name in State._fields if name != "pressed"]
        state, guesses = (map(own.get, names) for names in (of_states, Guesses._fields))
        return (bodies, *state, *guesses), (self.v,), (self.v,), (self.told_q, self.told_v)


def lay_out(
    model: Model,
    one: Moved,
    wide: Moved,
    kind: Lanes,
    rows: Rows | None = None,
) -> tuple[Layout, ...]:
    """Layouts of what `BROUGHT` tells."""
    friction = 2 if model.facets is None else len(model.facets)
    found = []
    for n, some in enumerate(BROUGHT):
        arrays, in_lanes_too = some(one), some(wide)
        chosen = [None] * len(arrays) if rows is None else rows.brought()[n]
        every = (
            (which, *words)
            for which, parts in enumerate(zip(arrays, in_lanes_too, chosen, strict=True))
            for words in _words(*parts, friction)
        )
        merged = np.array(_merged(every, kind.width), dtype=np.int64)
        found.append(Layout(*merged.reshape(-1, 5).T))
    return tuple(found)


def words_between(
    values: Sequence[NDArray[Any]], wide: Sequence[NDArray[Any]], friction: int, kind: Lanes
) -> NDArray[np.void]:
    """(n,) FIELD of all words of some arrays, to go to the first of the lanes."""
    every = (
        (which, *words)
        for which, parts in enumerate(zip(values, wide, strict=True))
        for words in _words(*parts, None, friction)
    )
    merged = np.array(_merged(every, kind.width), dtype=np.int64).reshape(-1, 5)
    return _fields([tuple(values)], tuple(wide), [Layout(*merged.T)], kind)[0]


def _words(
    array: NDArray[Any], wide: NDArray[Any], rows: NDArray[np.int64] | None, friction: int
) -> Iterator[tuple[int, int, int, int]]:
    """(offset, offset in the lanes, count, whether they are shared) of words of some rows."""
    for n, row in enumerate(range(len(array)) if rows is None else rows.tolist()):
        if row < 0:
            continue
        begin, to = row * array.strides[0], n * wide.strides[0]
        if not array.dtype.names:
            yield begin, to, 1, int(array.dtype != np.float64)
            continue
        places = _places(array.dtype), _places(wide.dtype)
        for name, (base, at) in places[0].items():
            count = base.itemsize // WORD
            if name in ("beta", "eta"):
                count = min(count, friction)
            yield begin + at, to + places[1][name][1], count, int(base.base != np.float64)


def _merged(every: Iterator[tuple[int, ...]], width: int) -> list[list[int]]:
    """Words that follow each other in a state and in its lane as one."""
    out: list[list[int]] = []
    for which, at, to, count, shared in every:
        if out and shared == 0:
            before, at_last, to_last, words, was_shared = out[-1]
            ends = at_last + WORD * words, to_last + WORD * width * words
            if (before, *ends, was_shared) == (which, at, to, 0):
                out[-1][3] += count
                continue
        out.append([which, at, to, count, shared])
    return out


def _places(dtype: np.dtype[Any]) -> dict[str, tuple[np.dtype[Any], int]]:
    """Type and offset of each field of a record."""
    return {name: field[:2] for name, field in (dtype.fields or {}).items()}


def _fields(
    states: Sequence[tuple[NDArray[Any], ...]],
    wide: tuple[NDArray[Any], ...],
    layouts: Sequence[Layout],
    kind: Lanes,
) -> NDArray[np.void]:
    """(lanes, n) FIELD of some arrays of states."""
    fields = np.zeros((len(layouts), max(len(layout.which) for layout in layouts)), dtype=FIELD)
    begins = np.array([array.ctypes.data for array in wide])
    for k, (arrays, layout) in enumerate(zip(states, layouts, strict=True)):
        mine, whole = fields[k, : len(layout.which)], layout.shared != 0
        own = np.array([array.ctypes.data for array in arrays])
        mine["state"] = own[layout.which] + layout.state
        mine["lanes"] = begins[layout.which] + layout.lanes + np.where(whole, 0, WORD * k)
        mine["count"], mine["shared"] = layout.words, layout.shared
        mine["stride"] = np.where(whole, WORD, WORD * kind.width)
    return fields
