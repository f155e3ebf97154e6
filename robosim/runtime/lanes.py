"""Steps in the lanes of vector registers: of several states, or of the limbs of one state.

In the memory of lanes, every float has the lanes as its last axis (`robosim.runtime.wide`).
Kernels see the lanes of a float as one number (`robosim.kernels.compiler.lanes`). Groups of a
batch are in `robosim.batch.group`, limbs of a state in `robosim.runtime.limbs`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from robosim.compiled.kinds import ALONG, CHART, STAYS
from robosim.compiled.model import Model, Options
from robosim.compiled.records.step import INFO, LANES_PACE
from robosim.kernels.compiler.addresses import TYPES, load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.kernels.compiler.lanes import Lanes
from robosim.kernels.compiler.parts import address_of
from robosim.kernels.status import COLD
from robosim.kernels.step.group import pack, run_group, unpack
from robosim.runtime.background import Apart
from robosim.runtime.features import provide
from robosim.runtime.handles import (
    ADDRESSES,
    Handle,
    Parts,
    StepFunction,
    code_of,
    scheme_for,
    solver,
)
from robosim.runtime.wide import COPIED, Layout, Moved, fields_of, laned_type, widen

# Steps that states take alone after they parted, before they try lanes again: at first, at most.
FIRST_REST, LONGEST_REST = 1, 32

Numbers = NDArray[np.int64]
GroupStepFunction = Callable[[Numbers, Numbers, Numbers, Numbers, int], None]
ROWS = types.Array(types.int64, 2, "C")
GROUP_STEPS = ADDRESSES, ADDRESSES, ROWS, ROWS, ROWS, types.int64  # arguments after the solver
_STEP_FUNCTIONS: dict[tuple[int, int, int], GroupStepFunction] = {}


class LaneParts(NamedTuple):
    """The data that kernels in lanes work on; see `robosim.kernels.step.group`."""

    model: Any  # one for all states, or with lanes if their models differ
    state: Any
    memory: Any
    loads: Any
    work: Any
    options: Options
    info: NDArray[np.void]  # (1,)
    carried: NDArray[
        np.void
    ]  # (lanes, n) FIELD of a state's data, copied in at first and out at last
    forces: NDArray[np.void]  # (lanes, n) FIELD of its forces, copied in at each step
    servos: NDArray[np.void]  # (lanes, n) FIELD of its servos, copied in when they change
    shown: NDArray[np.void]  # (lanes, n) FIELD of its q and v, copied out at each step
    pace: NDArray[np.void]  # (1,) LANES_PACE
    behind: NDArray[np.int64]  # (lanes,) 1 if a state's own linear system is older than its lane's
    # (lanes, n) slots of the lanes that features in a state's slots of shapes have had last, or -1.
    places: NDArray[np.int64]


def suits_lanes(parts: Sequence[Parts]) -> bool:
    """Whether simulations can take their steps in lanes, all of them by the same kernels."""
    before = parts[0].model
    for model, options in ((one.model, one.options) for one in parts):
        others = model.actuators.laws, model.drags, model.bearings.joint
        plain = not any(map(len, others)) and has_plain_pairs(model) and has_plain_charts(model)
        plain = plain and not np.any(model.coordinates["driven"] >= 0)
        if not (model.tree and plain and options.order == 2 and options.accuracy == 0.0):
            return False
        if not (model is before or are_alike(model, before)):
            return False
    return True


def has_plain_pairs(model: Model) -> bool:
    """Whether pairs of shapes have hard contacts, which neither bounce nor resist turning.

    Nor may contacts with the ground resist turning beside pairs.
    """
    pairs = model.collision.pairs
    if not len(pairs):
        return True
    companions = np.any(pairs["companions"]) or np.any(model.contacts["companions"])
    return not (companions or np.any(pairs["compliant"]) or len(model.restitution))


def has_plain_charts(model: Model) -> bool:
    """Whether charts are of hinges and slides, and offsets between them, in the tree."""
    kinds, joints = model.charts.factors["kind"], model.joints["kind"]
    return bool(np.isin(kinds, (ALONG, STAYS)).all() and (joints[model.loops.joint] < CHART).all())


def are_alike(model: Model, other: Model) -> bool:
    """Whether two models differ only in floats but those of charts, and in addresses."""
    charts = zip(model.charts, other.charts, strict=True)
    if any(one.tobytes() != another.tobytes() for one, another in charts):
        return False
    return whole_numbers(placeless(model)) == whole_numbers(placeless(other))


def placeless(model: Model) -> Model:
    """A model without the addresses of compiled features and of charts."""
    joints = model.joints.copy()
    joints["factors"], joints["numbers"] = 0, 0
    return model._replace(calls=np.zeros(0, dtype=np.int64), joints=joints)


def whole_numbers(values: Any) -> list[bytes]:
    """All whole numbers in nested named tuples, such as indices, kinds and counts."""
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
    """Lanes that take steps together: each has a state, or all belong to one state.

    Parameters
    ----------
    parts : LaneParts
    kind : Lanes
        The lanes of `parts`.
    like : Together or None
        An object with parts of the same types, which then need not be determined again.
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

    def leave(self) -> None:
        """Called before each state takes steps alone."""

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
        take = group_step_function(self.solver, self.kind, parts_kind, run_kind, step_states)
        rows = parts[None], runs[None], done[None]
        while done[0] < end:
            begin = int(done[0])
            take(self.handle.addresses, *rows, end)
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
        """Take steps alone if lanes that began at step `begin` stopped; whether all are done."""
        reached = int(done.max())
        if reached > begin:
            self.rest = FIRST_REST
        if done.min() == end:
            return True
        self.leave()
        if done.min() < reached:
            go_on(step_states, parts, runs, done, reached, end)
            return True
        until = min(reached + self.rest, end)
        self.rest = min(2 * self.rest, LONGEST_REST)
        step_states(parts, runs, done, until)
        if np.any(done < until):
            go_on(step_states, parts, runs, done, until, end)
            return True
        return False


def go_on(
    step_states: StepFunction,
    parts: NDArray[np.int64],
    runs: NDArray[np.int64],
    done: NDArray[np.int64],
    reached: int,
    end: int,
) -> None:
    """Take the other steps of those that have `reached` a step, where others have failed before."""
    left = np.flatnonzero(done == reached)
    some = done[left]
    step_states(parts[left], runs[left], some, end)
    done[left] = some


def group_step_function(
    solve: Apart, kind: int, parts_kind: int, run_kind: int, step_states: StepFunction
) -> GroupStepFunction:
    """The function ``f(groups, parts, runs, done, end)``, compiled for handles of these kinds.

    `groups` (g,) are addresses of `LaneParts`; `parts`, `runs` and `done` are (g, states).
    The function takes steps done[i, 0] to `end` of group i. All of done[i] is then the step at
    which its states part, or `end`; a state that fails in a step which it took alone by
    `step_states` is a step behind. The interpreter's lock is not held.
    """
    kinds = kind, parts_kind, run_kind
    if kinds not in _STEP_FUNCTIONS:
        take = solve.bound_to(_make_step_function(*kinds), GROUP_STEPS)
        _STEP_FUNCTIONS[kinds] = partial(take, code_of(step_states))
    return _STEP_FUNCTIONS[kinds]


def group_code_of(step_groups: Any) -> tuple[int, int, Numbers]:
    """Of a `GroupStepFunction`: its address, that of its solver, and the (2,) of single states."""
    solve, alone = step_groups.args
    return address_of(step_groups.func.overloads[types.int64, *GROUP_STEPS]), solve, alone


def _make_step_function(kind: int, parts_kind: int, run_kind: int) -> Any:
    @entry
    @named(kind, parts_kind, run_kind)
    def step_groups(  # type: ignore[no-untyped-def]
        solver, alone, groups, parts, runs, done, end
    ):
        for i in range(groups.shape[0]):
            group, solves = load(groups[i], kind), (solver, groups[i])
            run_group(group, solves, alone, parts[i], parts_kind, runs[i], run_kind, done[i], end)

    return step_groups


class Leaving(NamedTuple):
    """Words to be copied from lanes to states."""

    fields: NDArray[np.void]  # (states, n) FIELD


def leave(left: Handle) -> None:
    """Copy words from lanes to states (`Leaving`)."""
    if left.kind not in _LEAVERS:
        _LEAVERS[left.kind] = _make_leaver(left.kind)
        _LEAVERS[left.kind].compile((types.int64,))
    _LEAVERS[left.kind](left.address)


class Entering(NamedTuple):
    """Words to be copied from states to their lanes."""

    fields: NDArray[np.void]  # (states, n) FIELD
    lanes: NDArray[np.int64]  # (states,) lane of each state


def enter(entering: Handle) -> None:
    """Copy words from states to their lanes (`Entering`)."""
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
    """LaneParts for lanes of a kind; lane k has state k and layouts k (`lay_out`)."""
    wide.memory.system.valid[:] = 0
    carried, forces, servos, outputs = (
        fields_of([some(one) for one in states], some(wide), chosen, kind)
        for some, chosen in zip(COPIED, zip(*layouts, strict=True), strict=True)
    )
    model = model._replace(calls=np.zeros_like(model.calls))
    # Later attempts at a step are left to each state alone.
    options = options._replace(last_attempt=min(options.last_attempt, COLD))
    info = widen([np.zeros(1, dtype=INFO)] * kind.width, kind)
    pace, behind = np.zeros(1, dtype=LANES_PACE), np.zeros(kind.width, dtype=np.int64)
    copied = carried, forces, servos, outputs
    places = np.full((kind.width, len(work.slots) - len(model.contacts)), -1)
    return LaneParts(model, *wide, work, options, info, *copied, pace, behind, places)
