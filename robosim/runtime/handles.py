"""How kernels are called: with the address of their data, which is unpacked only once.

A call from Python spends some 0.1 us on each array argument, to look up its type and to unpack
it, and a step needs some seventy arrays. A `Handle` unpacks them once and stores the result in a
block of memory. A call passes the address of this block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, typeof, types
from numpy.typing import NDArray

from robosim.compiled.loads import Loads
from robosim.compiled.memory import Memory
from robosim.compiled.model import Model, Options
from robosim.compiled.records.island import BOX
from robosim.compiled.records.step import INFO
from robosim.compiled.state import State
from robosim.compiled.workspace import Workspace
from robosim.kernels.compiler.addresses import kind_of, leave, load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry, part
from robosim.kernels.compiler.parts import address_of
from robosim.kernels.solve.attempts import find_motion
from robosim.kernels.solve.graph import scheme as graphs
from robosim.kernels.solve.tree import scheme as trees
from robosim.kernels.step.anew import run_anew
from robosim.kernels.step.run import run_steps
from robosim.runtime.background import Apart
from robosim.runtime.features import provide

Array = NDArray[np.float64]
NOTHING_SWEPT = np.zeros(0, dtype=BOX)
StepFunction = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int], None]


class Parts(NamedTuple):
    """The data that the kernels of one simulation work on."""

    model: Model
    state: State
    memory: Memory
    loads: Loads
    work: Workspace
    options: Options


class RunBuffers(NamedTuple):
    """Inputs and results of a run, which is a sequence of steps; row k belongs to step k.

    Row k of the log (q, v and tau) belongs to step k * `every`.
    """

    gains: NDArray[np.void]  # (nu,) GAINS of robosim.controllers, zeros for none
    targets: Array  # (n, nu) targets of the gains; without rows those in the gains
    rates: Array  # (n, nu) target velocities of the gains; without rows those in the gains
    torques: Array  # (n or 1, rates) forces beside the gains'; one row holds for all steps
    motions: Array  # (n + 1, nd, 2) values and rates of the driven coordinates at the knots
    controller: NDArray[np.int64]  # (1,) address of a compiled controller, or 0
    start: Array  # (1,) time of knot 0 [s]
    every: NDArray[np.int64]  # (1,) steps from one row of the log to the next
    q: Array  # (rows, nq) result: coordinates at the knot where the step begins
    v: Array  # (rows, nv) result: velocities at that knot
    tau: Array  # (rows, rates) result: forces on the coordinates over the step
    infos: NDArray[np.void]  # (n,) result: INFO
    swept: NDArray[np.void]  # (nb,) result: BOX, swept by bodies of an island; (0,) of others


def make_run_buffers(
    n: int,
    widths: tuple[int, int, int],
    gains: NDArray[np.void],
    torques: Array,
    targets: Array | None = None,
    rates_of_targets: Array | None = None,
    motions: Array | None = None,
    controller: int = 0,
    start: float = 0.0,
    every: int = 1,
) -> RunBuffers:
    """Buffers for n steps of a robot with `widths` coordinates, velocities and forces."""
    nq, nv, rates = widths
    rows = -(-n // every)
    return RunBuffers(
        gains,
        np.zeros((0, len(gains))) if targets is None else targets,
        np.zeros((0, len(gains))) if rates_of_targets is None else rates_of_targets,
        torques,
        np.zeros((0, 0, 2)) if motions is None else motions,
        np.array([controller]),
        np.array([start]),
        np.array([every]),
        np.empty((rows, nq)),
        np.empty((rows, nv)),
        np.empty((rows, rates)),
        np.zeros(n, dtype=INFO),
        NOTHING_SWEPT,
    )


class Handle:
    """Arrays and numbers, in nested named tuples, for kernels to read by address.

    Parameters
    ----------
    values : NamedTuple

    Attributes
    ----------
    values : NamedTuple
    address : int
        Address of the values for kernels, valid as long as this object exists.
    addresses : (1,)
        The address as an array, as a `StepFunction` takes it.
    kind : int
        Kind of the values' types (`robosim.kernels.compiler.addresses`).
    """

    def __init__(self, values: Any) -> None:
        seen = _layout(values)
        if seen not in _KINDS:
            kind = kind_of(typeof(values))
            _KINDS[seen] = kind, int(store(np.zeros(0, dtype=np.int64), values))
        self.kind, self._words = _KINDS[seen]
        self.values = values
        self._memory = np.zeros(self._words, dtype=np.int64)
        store(self._memory, values)
        self.address = int(self._memory.ctypes.data)
        self.addresses = np.array([self.address])


_KINDS: dict[Any, tuple[int, int]] = {}  # layout -> kind of its type, and the words that it needs
_SOLVERS: dict[tuple[int, bool], Apart] = {}
_STEP_FUNCTIONS: dict[tuple[int, bool, int, bool], StepFunction] = {}
INFO_TYPE = from_dtype(INFO)
ADDRESSES = types.Array(types.int64, 1, "C")
SINGLE_STEPS = ADDRESSES, ADDRESSES, ADDRESSES, types.int64  # arguments after the solver


# Flags of an array that are part of its type: contiguous in C or in Fortran, aligned, writable.
_C, _FORTRAN = 0x1, 0x2
_FLAGS = _C | _FORTRAN | 0x100 | 0x400


def _layout(values: Any) -> Any:
    """A key that determines numba's type of values; numba takes milliseconds to find the type."""
    if isinstance(values, tuple):
        return (type(values), *map(_layout, values))
    if isinstance(values, np.ndarray):
        flags = values.flags.num & _FLAGS
        # numba takes arrays that are contiguous both ways, such as empty ones, for C arrays.
        return values.dtype, values.ndim, flags & ~_FORTRAN if flags & _C else flags
    return type(values)


@entry
def store(memory: Any, values: Any) -> int:
    """Store values in memory if there is room; returns the number of words that they need."""
    return leave(memory, values)


def solver(kind: int, tree: bool, info: Any, length: Any = types.float64) -> Apart:
    """The part that solves the equations of a step, by the scheme for trees or for graphs.

    `kind` is that of the `Parts`, `info` numba's type of an INFO, and `length` that of the length
    of an interval. The first call begins to compile the part.
    """
    if (kind, tree) not in _SOLVERS:
        make = partial(_make_solver, tree)
        _SOLVERS[kind, tree] = Apart(make, (kind,), (types.int64, length, info))
    return _SOLVERS[kind, tree]


def scheme_for(tree: bool) -> Any:
    """The module of the scheme for trees or for graphs; see `robosim.kernels.solve`."""
    return trees if tree else graphs


def _make_solver(tree: bool, kind: int) -> Any:
    scheme = scheme_for(tree)

    @part
    @named(kind, int(tree))
    def solve(address, dt, info):  # type: ignore[no-untyped-def]
        on = load(address, kind)
        return find_motion(
            scheme, on.model, on.state, on.memory, on.loads, on.work, on.options, dt, info
        )

    return solve


def begin_compiling(parts: Handle) -> None:
    """Begin to compile the solver for these parts in another process, as it takes the longest."""
    solver(parts.kind, parts.values.model.tree, INFO_TYPE)


def step_function(parts: Handle, run: Handle, anew: bool = False) -> StepFunction:
    """The function ``f(parts, runs, done, end)``, compiled for the kinds of two handles.

    `parts` (n,) are addresses of `Parts`, and `runs` (n,) are addresses of `RunBuffers`.
    The function takes the steps of one state after the other. State i takes steps done[i] to `end`
    of its run; done[i] is then the step that failed, or `end`. The interpreter's lock is not held.
    With `anew`, each step begins anew at the q and v of its knot.
    """
    tree = parts.values.model.tree
    key = parts.kind, tree, run.kind, anew
    if key not in _STEP_FUNCTIONS:
        made = _make_step_function(parts.kind, tree, run.kind, run_anew if anew else run_steps)
        _STEP_FUNCTIONS[key] = solver(parts.kind, tree, INFO_TYPE).bound_to(made, SINGLE_STEPS)
    provide_features(parts)
    return _STEP_FUNCTIONS[key]


def code_of(step_states: Any) -> NDArray[np.int64]:
    """(2,) addresses of a `StepFunction` that `step_function` has made, and of its solver."""
    compiled = step_states.func.overloads[types.int64, *SINGLE_STEPS]
    return np.array([address_of(compiled), *step_states.args])


def provide_features(parts: Handle) -> None:
    """Compile the features that the model of these parts needs."""
    model, accurate = parts.values.model, parts.values.options.accuracy > 0.0
    provide(model, parts.kind, scheme_for(model.tree), INFO_TYPE, accurate)


def _make_step_function(parts_kind: int, tree: bool, run_kind: int, take: Any) -> Any:
    scheme = scheme_for(tree)

    @entry
    @named(parts_kind, int(tree), run_kind, take.__name__)
    def step_states(solver, parts, runs, done, end):  # type: ignore[no-untyped-def]
        for i in range(parts.shape[0]):
            model, state, memory, loads, work, options = load(parts[i], parts_kind)
            run, solves = load(runs[i], run_kind), (solver, parts[i])
            done[i] = take(
                scheme, model, state, memory, loads, work, options, solves, run, done[i], end
            )

    return step_states
