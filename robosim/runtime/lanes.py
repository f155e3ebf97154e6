"""What takes its steps in the lanes of vector registers: states, or limbs of one, side by side.

The memory of a group is that of its states with the lanes as the last axis of every float
(`robosim.runtime.wide`); kernels see each as one number (`robosim.kernels.compiler.lanes`).
`robosim.batch.group` has the groups of a batch, `robosim.runtime.limbs` the limbs of a state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from robosim.compiled.model import Model, Options
from robosim.compiled.records.step import INFO
from robosim.kernels.compiler.addresses import TYPES, load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.kernels.compiler.lanes import Lanes
from robosim.kernels.status import COLD
from robosim.kernels.step.group import pack, run_group, unpack
from robosim.runtime.background import Apart
from robosim.runtime.features import provide
from robosim.runtime.handles import ADDRESSES, Handle, Parts, StepFunction, scheme_for, solver
from robosim.runtime.wide import BROUGHT, Layout, Moved, fields_of, laned_type, widen

# Steps that states which have parted take by themselves before they try again: at first, at most.
FIRST_REST, LONGEST_REST = 1, 32

Numbers = NDArray[np.int64]
GroupStepFunction = Callable[[Numbers, Numbers, Numbers, Numbers, int], None]
ROWS = types.Array(types.int64, 2, "C")
_STEP_FUNCTIONS: dict[tuple[int, int, int], GroupStepFunction] = {}


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


def suits_lanes(parts: Sequence[Parts]) -> bool:
    """Whether simulations take their steps in a way that lanes are made for, all in the same."""
    before = parts[0].model
    for model, options in ((one.model, one.options) for one in parts):
        tree = model.tree and not len(model.loops.ties)
        others = model.collision.pairs, model.actuators.laws, model.drags, model.bearings.joint
        plain = not any(len(one) for one in (*others, model.charts.factors))
        plain = plain and not np.any(model.coordinates["driven"] >= 0)
        if not (tree and plain and options.order == 2):
            return False
        if not (model is before or are_alike(model, before)):
            return False
    return True


def are_alike(model: Model, other: Model) -> bool:
    """Whether two models differ in floats alone, and in where features are compiled."""
    none = np.zeros(0, dtype=np.int64)
    return whole_numbers(model._replace(calls=none)) == whole_numbers(other._replace(calls=none))


def whole_numbers(values: Any) -> list[bytes]:
    """All whole numbers in nested named tuples: what is where, not how much of it."""
    numbers: list[bytes] = []
    for value in values:
        if isinstance(value, tuple):
            numbers += whole_numbers(value)
        elif isinstance(value, np.ndarray) and value.dtype.names:
            names = [name for name in value.dtype.names if value.dtype[name].base != np.float64]
            numbers += [value[name].tobytes() for name in names]
        elif not isinstance(value, np.ndarray):
            numbers.append(repr(value).encode())
        elif value.dtype != np.float64:
            numbers.append(value.tobytes())
    return numbers


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
            parts.model.calls[:] = like.handle.values.model.calls
            return
        self.handle = Handle(parts)
        kinds = [laned_type(part, kind) for part in parts]
        digest = hashlib.sha256(f"{kind} {self.handle.kind}".encode()).digest()
        self.kind = int.from_bytes(digest[:7], "little")
        TYPES.setdefault(self.kind, types.NamedTuple(kinds, LaneParts))
        info = kinds[LaneParts._fields.index("info")].dtype
        self.solver = solver(self.kind, True, info)
        provide(parts.model, self.kind, scheme_for(True), info)

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
        step_states: StepFunction,
        parts: NDArray[np.int64],
        parts_kind: int,
        runs: NDArray[np.int64],
        run_kind: int,
        done: NDArray[np.int64],
        end: int,
    ) -> None:
        """Take steps done[0] to `end`: in lanes, or by `step_states` where these part."""
        take = group_step_function(self.solver, self.kind, parts_kind, run_kind)
        rows = parts[None], runs[None], done[None]
        while done[0] < end:
            begin = int(done[0])
            # An interrupt may be raised when compiled code returns.
            self.moves()
            take(self.entrance.addresses, *rows, end)
            self.moved(True)
            if self.parted(step_states, parts, runs, begin, done, end):
                return

    def parted(
        self,
        step_states: StepFunction,
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
        step_states(parts, runs, done, until)
        if np.any(done < until):
            left = np.flatnonzero(done == until)
            some = done[left]
            step_states(parts[left], runs[left], some, end)
            done[left] = some
            return True
        return False


def group_step_function(
    solve: Apart, kind: int, parts_kind: int, run_kind: int
) -> GroupStepFunction:
    """The function ``f(groups, parts, runs, done, end)`` for handles of these kinds, compiled.

    For groups (g,) of states, whose `parts`, `runs` and `done` are (g, states), it takes steps
    done[i, 0] to `end` and leaves in done[i], for all lanes, the step that the states of the group
    part at, or `end`. It does not hold the interpreter's lock.
    """
    kinds = kind, parts_kind, run_kind
    if kinds not in _STEP_FUNCTIONS:
        others = ADDRESSES, ROWS, ROWS, ROWS, types.int64
        _STEP_FUNCTIONS[kinds] = solve.given_to(_make_step_function(*kinds), others)
    return _STEP_FUNCTIONS[kinds]


def _make_step_function(kind: int, parts_kind: int, run_kind: int) -> Any:
    @entry
    @named(kind, parts_kind, run_kind)
    def step_groups(solver, groups, parts, runs, done, end):  # type: ignore[no-untyped-def]
        for i in range(groups.shape[0]):
            group, solves = load(groups[i], kind), (solver, groups[i])
            run_group(group, solves, parts[i], parts_kind, runs[i], run_kind, done[i], end)

    return step_groups


class Left(NamedTuple):
    """Where words of lanes are to be left, of some states one after the other."""

    fields: NDArray[np.void]  # (states, n) FIELD


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
    carried, forces, servos, outputs = (
        fields_of([some(one) for one in states], some(wide), chosen, kind)
        for some, chosen in zip(BROUGHT, zip(*layouts, strict=True), strict=True)
    )
    model = model._replace(calls=np.zeros_like(model.calls))
    # What is not solved by then, each state solves by itself.
    options = options._replace(last_attempt=min(options.last_attempt, COLD))
    info = widen([np.zeros(1, dtype=INFO)] * kind.width, kind)
    return LaneParts(model, *wide, work, options, info, carried, forces, servos, outputs)
