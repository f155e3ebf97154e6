"""Steps with derivatives beside every number (`robosim.kernels.compiler.duals`)."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from robosim.compiled.arrays import in_lines
from robosim.compiled.kinds import BALL, CHART, DRIVEN, DRIVEN_CHART, FREE, RATE
from robosim.compiled.memory import Guesses
from robosim.compiled.model import Options
from robosim.compiled.records.block import ALONG, BLOCK, TOUCH
from robosim.compiled.records.column import ANSWER, COLUMN, CONTACT_COLUMN, LINK
from robosim.compiled.records.step import INFO
from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler.addresses import TYPES, load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.duals import duals
from robosim.kernels.compiler.jit import entry
from robosim.kernels.compiler.lanes import WIDTH, lanes
from robosim.kernels.step.linearize import linearized_starts
from robosim.runtime.features import provide
from robosim.runtime.handles import INFO_TYPE, Handle, Parts, scheme_for, solver
from robosim.runtime.known import may_follow, translations
from robosim.runtime.wide import in_lanes, laned_type, vector_of, words_between
from robosim.validation import Array


class DualParts(NamedTuple):
    """The data of a step with derivatives.

    Floats in fields of type Any, in `guesses` and in `pd` have derivatives.
    """

    model: Any
    state: Any
    memory: Any
    loads: Any
    work: Any
    options: Options
    guesses: Guesses  # at the start of the step
    nq: int
    nv: int
    begins: Array  # q, v and torques of all coordinates at the start of the step
    along: Array  # (n, k) directions: changes of `begins`, then of targets, kp and kd
    ends: Array  # (nq + nv,) q and v at the end of the step
    slopes: Array  # (n, nq + nv) derivatives of `ends` along the directions
    gains: NDArray[np.void]  # GAINS of a PD that acts, without derivatives
    pd: NDArray[np.void]  # the same gains with derivatives
    held: NDArray[np.int64]  # coordinates that are held or driven at the start
    goal: Any
    rate: Any
    closes: bool  # whether loops, couplings or motions have to be closed at the start
    info: Any  # (1,) INFO
    by_state: bool  # whether the first 2 nv directions are those of q, in the tangent, and v
    places: NDArray[np.int64]  # (nv,) place in q of each velocity, -1 in free rotations
    turns: NDArray[np.int64]  # (n, 2) where each free rotation begins in v and in q
    row: Array  # (4,) scratch
    mid: Array  # (nj, 6) rates of the joints at the start of the plain step
    chords: Array  # (nv,) rates of the chords at that start, or close to them
    plain_info: NDArray[np.void]  # (1,) INFO of the plain step
    carried: NDArray[np.void]  # (n,) FIELD of the data copied from the plain step
    touching: NDArray[np.void]  # (n,) FIELD of the first contact of the plain step
    featured: NDArray[np.void]  # (n,) FIELD of the first feature of the plain step
    sizes: NDArray[np.int64]  # (4,) bytes of a contact, plain and dual, and of a feature
    at: NDArray[np.int64]  # (n,) row of each direction in `along` and `slopes`
    order: NDArray[np.int64]  # (n,) the direction of each row
    unknown: int  # number of rows to compute; the derivatives of later ones are known
    others: int  # the same if derivatives by torques follow from those by velocities
    follows: bool  # whether these follow, in undivided steps
    motors: NDArray[np.int64]  # (nu,) place of each torque in v; (0,) without a tree
    momenta: Array  # (nv, nv) derivatives by v of the momenta along the coordinates
    weights: Array  # (nv,) scratch
    impulse: Any  # (velocities,) scratch
    pushed: Any  # (velocities,) scratch


class Starts(NamedTuple):
    """Starts and results of steps, a row for each step."""

    begins: Array  # (n, nq + nv + velocities)
    external: Array  # (n, nb + 1, 6) wrenches
    gains: NDArray[np.void]  # (n, nu) GAINS of a PD
    solved: NDArray[np.int64]  # (n,) 1 where the plain step has been taken
    divided: NDArray[np.int64]  # (n,) number of substeps
    status: NDArray[np.int64]  # (n,)
    ends: Array  # (n, nq + nv)
    changes: Array  # (n, 2 nv, directions) in the tangent
    contacts: NDArray[np.void]  # (n, contacts) CONTACT_STATE
    count: NDArray[np.int64]  # type: ignore[assignment]  # (n,) number of `contacts`


class StartRow(NamedTuple):
    """Views of what one of some `Starts` begins with."""

    q: Array
    v: Array
    torques: Array  # of all coordinates
    external: Array
    gains: NDArray[np.void]


class Blocks(NamedTuple):
    """Derivatives in joint coordinates (`robosim.kernels.step.matrices`), of n coordinates.

    All matrices have a row for each coordinate. The last three have a column for each of m
    directions of q, v and torques, then some that mean nothing, and one of the barrier.
    """

    bodies: NDArray[np.void]  # (nb + 1,) BLOCK
    along: NDArray[np.void]  # (n,) ALONG
    touches: NDArray[np.void]  # (contacts,) TOUCH, by place among the contacts in the equations
    begin: NDArray[np.int64]  # (nb,) first coordinate of each joint
    last: NDArray[np.int64]  # (nb,) last coordinate on the way from the root to each body, or -1
    at: NDArray[np.int64]  # (nv,) coordinate of each velocity
    places: NDArray[np.int64]  # coordinates that belong together, as ALONG says
    origin: Array  # (3,)
    kappa: Array  # (n,) rows of the equations by the barrier
    H: Array  # (n, n) and by rates; then of the projection at the second knot
    M: Array  # (n, n) by rates before the first knot; then by coordinates at the second
    R: Array  # (n, n) by coordinates at the first knot
    E: Array  # (n, n) rates along arcs beyond those along chords, by rates of chords
    B: Array  # (n, n) and by coordinates
    Y: Array  # (n, 2 n or more) rates of chords at the first knot, by coordinates and velocities
    X: Array  # (n, m + 1 or more) changes of rates
    Q: Array  # (n, m + 1 or more) changes of coordinates at the second knot
    Z: Array  # (1, m + 1 or more) changes of the barrier


class Columns(NamedTuple):
    """Changes along all directions, eight at a time, where they are found in closed form.

    Floats in fields of type Any have lanes. The direction after the last is that of the barrier.
    """

    bodies: Any  # (nb + 1,) COLUMN
    contacts: Any  # (n,) CONTACT_COLUMN
    links: NDArray[np.void]  # (nb,) LINK
    answers: NDArray[np.void]  # (n,) ANSWER, by place among the contacts in the equations
    kappa: Any  # (1,) of the barrier
    last: NDArray[np.int64]  # (1,) lane of the barrier, -1 where columns are found with duals
    follows: Array  # (1,) 1 where the barrier follows the largest impulse
    floats: NDArray[np.int64]  # (1,) 1 where a body floats
    turns: Array  # (1,) square of the farthest turn over the interval before
    blocks: Blocks


LISTS = "bends", "related", "above", "beyond"  # fields of ALONG, in the order of `places`
CONTACT_STATE = np.dtype(  # of a contact that was in the equations, see CONTACT and CONTACT_GUESS
    [
        *((name, "i8") for name in ("slot", "kind", "resists", "body", "other", "joint")),
        *((name, "f8") for name in ("mass", "mu", "gamma", "s", "psi")),
        ("friction", "f8"),  # magnitude of the friction impulse
        ("step_back", "f8"),
    ]
)


class DualStep:
    """Steps from starts at q and v, with derivatives along directions of q, v and torques.

    Parameters
    ----------
    plain : Handle
        Handle of the Parts with which plain steps are taken.
    robot : Mechanism
    directions : int or None
        Number of directions, which change neither state nor torques. None: all directions of the
        state and of the actuated coordinates.
    gains : GAINS of a PD that acts
    closes : bool
    of_pd : int
        0: no directions of the gains; 1: of their targets; 3: of targets, kp and kd.

    Attributes
    ----------
    kind, address : int
        Those of `parts` for kernels.
    """

    def __init__(
        self,
        plain: Handle,
        robot: Mechanism,
        directions: int | None,
        gains: NDArray[np.void],
        closes: bool,
        of_pd: int = 0,
    ) -> None:
        parts: Parts = plain.values
        nq, nv, rates = robot.nq, robot.nv, len(parts.model.coordinates)
        guesses = widened(parts.memory.guesses)
        loads = widened(parts.loads)
        by_torques = 2 * nv + robot.nu
        by_state = by_torques + of_pd * len(gains)
        count = by_state if directions is None else directions
        along = np.zeros((count, nq + nv + rates + 3 * len(gains)))
        slopes = np.zeros((count, nq + nv))
        places, turns = tangent_places(robot)
        motors, known = np.asarray(robot.actuated, dtype=np.int64), []
        if directions is None:
            known = translations(robot, parts.model)
            singles = np.flatnonzero(places >= 0)
            along[singles, places[singles]] = 1.0
            along[range(nv, 2 * nv), range(nq, nq + nv)] = 1.0
            along[range(2 * nv, by_torques), nq + nv + motors] = 1.0
            aims = range(nq + nv + rates, nq + nv + rates + count - by_torques)
            along[range(by_torques, count), aims] = 1.0
        follows = directions is None and may_follow(robot, parts.model, parts.options, closes)
        torques = list(range(2 * nv, by_torques)) if directions is None else []
        first = [d for d in range(count) if d not in {*known, *torques}]
        order = np.array([*first, *torques, *known], dtype=np.int64)
        at = np.argsort(order)
        along = along[order]
        slopes[at[known], places[known]] = 1.0
        narrow = parts.memory.guesses
        # Contacts are copied one by one, as most of them are not active.
        rest = narrow._replace(contacts=narrow.contacts[:0], features=narrow.features[:0])
        wide_rest = guesses._replace(contacts=guesses.contacts[:0], features=guesses.features[:0])
        # External loads are those of the plain step.
        acting = [(one.external, one.motion, one.controls) for one in (parts.loads, loads)]
        friction = len(parts.model.facets) or 2
        arrays = narrow.contacts, guesses.contacts, narrow.features, guesses.features
        self.parts = DualParts(
            widened(parts.model),
            widened(parts.state),
            widened(parts.memory),
            loads,
            widened(parts.work),
            parts.options,
            guesses,
            nq,
            nv,
            np.zeros(nq + nv + rates),
            along,
            np.zeros(nq + nv),
            slopes,
            gains.copy(),
            widened(gains),
            np.zeros(rates, dtype=np.int64),
            widened(np.zeros(rates)),
            widened(np.zeros(rates)),
            closes,
            widened(np.zeros(1, dtype=INFO)),
            directions is None,
            places,
            turns,
            np.zeros(4),
            np.zeros((len(parts.model.joints), 6)),
            np.zeros(nv),
            np.zeros(1, dtype=INFO),
            words_between(
                (*acting[0], *rest),
                (*acting[1], *wide_rest),
                friction,
                duals,
            ),
            words_between((narrow.contacts[:1],), (guesses.contacts[:1],), friction, duals),
            words_between((narrow.features[:1],), (guesses.features[:1],), friction, duals),
            np.array([array.strides[0] for array in arrays]),
            at,
            order,
            count - len(known),
            len(first) if follows else count - len(known),
            follows,
            motors if parts.model.tree else motors[:0],
            np.zeros((nv, nv)),
            np.zeros(nv),
            widened(np.zeros(rates)),
            widened(np.zeros(rates)),
        )
        closed = directions is None and of_pd == 0 and not closes
        closed = closed and in_closed_form(robot, parts)
        self._columns = columns_for(robot, parts, closed)
        self.plain, self.robot = plain, robot
        self._starts: dict[int, Handle] = {}  # by their number
        self._rows: dict[Handle, list[StartRow]] = {}
        self._steps: dict[int, Any] = {}  # by the kind of the starts
        handle = Handle(self.parts)
        kind, dual = kind_of_duals(handle)
        self._handle, self.kind, self.address = handle, kind, handle.address
        self._info = dual.types[DualParts._fields.index("info")].dtype

    def starts(self, n: int) -> Handle:
        """Memory for n starts; the memory of the last call if n is the same."""
        if n in self._starts:
            return self._starts[n]
        on = self.parts
        made = Handle(
            Starts(
                np.zeros((n, len(on.begins))),
                np.zeros((n, len(on.loads.external), 6)),
                np.zeros((n, len(on.gains)), dtype=on.gains.dtype),
                np.zeros(n, dtype=np.int64),
                np.zeros(n, dtype=np.int64),
                np.zeros(n, dtype=np.int64),
                np.zeros((n, len(on.ends))),
                np.zeros((n, 2 * on.nv, len(on.along))),
                np.empty((n, len(on.work.slots)), dtype=CONTACT_STATE),
                np.zeros(n, dtype=np.int64),
            )
        )
        nq, nv = on.nq, on.nv
        parts = made.values
        each = zip(parts.begins, parts.external, parts.gains, strict=True)
        self._rows[made] = [
            StartRow(row[:nq], row[nq : nq + nv], row[nq + nv :], external, gains)
            for row, external, gains in each
        ]
        # Memory for one start is kept, as single steps come between others.
        self._starts = {k: known for k, known in self._starts.items() if k == 1} | {n: made}
        self._rows = {known: self._rows[known] for known in self._starts.values()}
        return made

    def rows(self, starts: Handle) -> list[StartRow]:
        """Where each of some starts is set."""
        return self._rows[starts]

    def take(self, starts: Handle, arc: float) -> None:
        """Take the steps from all starts along all directions; `status` tells which have failed."""
        columns, _ = self._columns
        take_steps = self._made(starts.kind)
        take_steps(self.plain.address, self._handle.address, starts.address, columns.address, arc)

    def make_ready(self) -> None:
        """Compile what takes the steps, if that has not been done."""
        self._made(self.starts(1).kind)

    def _made(self, starts_kind: int) -> Any:
        if starts_kind not in self._steps:
            self._steps[starts_kind] = self._step_function(starts_kind)
        return self._steps[starts_kind]

    def _step_function(self, starts_kind: int) -> Any:
        """Compiled code for starts of a kind; with what it calls for features of the model."""
        tree = self.parts.model.tree
        kinds = self.plain.kind, self.kind, starts_kind, self._columns[1]
        if (tree, *kinds) not in _STEP_FUNCTIONS:
            # With impacts in a step, the lengths of its parts have derivatives.
            solves = (
                solver(self.plain.kind, tree, INFO_TYPE),
                solver(self.kind, tree, self._info, duals),
            )
            others = (types.int64,) * 5 + (types.float64,)
            step_function = solves[1].bound_to(_make_step_function(tree, *kinds), others)
            _STEP_FUNCTIONS[tree, *kinds] = partial(step_function, solves[0].address())
        for model, kind, info in (
            (self.plain.values.model, self.plain.kind, INFO_TYPE),
            (self.parts.model, self.kind, self._info),
        ):
            provide(model, kind, scheme_for(model.tree), info)
        return _STEP_FUNCTIONS[tree, *kinds]


def in_closed_form(robot: Mechanism, parts: Parts) -> bool:
    """Whether steps may have their derivatives in closed form (`robosim.kernels.step.columns`).

    What acts within a step decides as well.
    """
    model, options = parts.model, parts.options
    joints, nb = model.joints, len(model.bodies)
    without = (
        model.loops.ties, model.charts.factors, model.restitution, model.couplings, model.drags,
        model.bearings.joint, model.facets, model.collision.pairs, model.actuators.laws,
        parts.loads.motion,
    )  # fmt: skip
    if not (model.tree and options.order == 2 and options.accuracy == 0.0 and len(joints) == nb):
        return False
    if any(len(one) for one in without) or (model.contacts["kind"] == RATE).any():
        return False
    kinds, floats = joints["kind"], joints["m_T"] == 3
    turns = np.isin(kinds, (BALL, FREE))
    acted = {v for j in np.flatnonzero(turns) for v in _velocities(joints[j])}
    return (
        nb > 0
        and not np.isin(kinds, (DRIVEN, CHART, DRIVEN_CHART)).any()
        and not (floats & (joints["parent"] != nb)).any()
        and not joints["distance"].any()
        and not acted & set(map(int, robot.actuated))
    )


def _velocities(joint: Any) -> range:
    begin = int(joint["v_begin"])
    return range(begin, begin + int(joint["m_T"] + joint["m_R"]))


def columns_for(robot: Mechanism, parts: Parts, closed: bool) -> tuple[Handle, int]:
    """Memory for closed forms, and its kind; next to none if there are no such."""
    nb, contacts = len(parts.model.bodies), len(parts.work.slots) + 1
    handle = Handle(
        Columns(
            in_lines(np.zeros(nb + 1, in_lanes(COLUMN, lanes)[0])),
            in_lines(np.zeros(contacts, in_lanes(CONTACT_COLUMN, lanes)[0])),
            np.zeros(nb, dtype=LINK),
            np.zeros(contacts, dtype=ANSWER),
            in_lines(np.zeros(1, vector_of(lanes))),
            np.array([0 if closed else -1]),
            np.zeros(1),
            np.array([int((parts.model.bodies["floats_with"] >= 0).any())]),
            np.zeros(1),
            blocks_for(robot, parts, closed),
        )
    )
    return handle, kind_of_lanes(handle, lanes)[0]


def blocks_for(robot: Mechanism, parts: Parts, closed: bool) -> Blocks:
    """Memory for derivatives in joint coordinates; next to none without closed forms."""
    joints, nb = parts.model.joints, len(parts.model.bodies)
    nv, contacts = robot.nv, len(parts.work.slots) + 1
    n = nv if closed else 0
    along, at = np.zeros(n, dtype=ALONG), np.zeros(nv, dtype=np.int64)
    begin, last = np.zeros(nb, dtype=np.int64), np.full(nb + 1, -1)
    count, places = 0, list[int]()
    for b in range(nb if closed else 0):
        begin[b], last[b] = count, last[joints[b]["parent"]]
        for row, v in enumerate(_velocities(joints[b])):
            one = along[count]
            one["body"], one["row"], one["up"], one["v"] = b, row, last[b], v
            at[v] = last[b] = count
            count += 1
    above: list[list[int]] = []
    for one in along:
        above.append([*above[one["up"]], int(one["up"])] if one["up"] >= 0 else [])
    floats = parts.model.bodies["floats_with"]
    for k, one in enumerate(along):
        beyond = [i for i in range(n) if k in above[i]]
        own = [i for i in range(n) if along["body"][i] == one["body"]]
        bends = sorted({*above[k], *own})
        if floats[one["body"]] == one["body"] and one["row"] < joints[one["body"]]["m_T"]:
            bends = sorted({*own, *beyond})
        for name, more in zip(LISTS, (bends, [k], above[k], beyond), strict=True):
            one[name] = len(places)
            places += more
        one["end"] = len(places)
    width, before = (WIDTH * -(-k // WIDTH) for k in (2 * n + robot.nu + 1, 2 * n))
    shapes = *((n, n),) * 5, (n, before), (n, width), (n, width), (1, width)
    return Blocks(
        np.zeros(nb + 1, dtype=BLOCK),
        along,
        np.zeros(contacts, dtype=TOUCH),
        begin,
        last[:nb].copy(),
        at,
        np.array(places, dtype=np.int64),
        np.zeros(3),
        np.zeros(n),
        *(in_lines(np.zeros(shape)) for shape in shapes),
    )


def tangent_places(robot: Mechanism) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`places` and `turns` of DualParts."""
    places = np.full(robot.nv, -1)
    turns = []
    for joint, at, v in zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False):
        n = joint.numbers
        places[v : v + n] = range(at, at + n)
        if joint.has_quaternion:
            turns.append((v + n, at + n))
    return places, np.array(turns, dtype=np.int64).reshape(-1, 2)


def kind_of_duals(handle: Handle) -> tuple[int, types.NamedTuple]:
    """Kind and numba type of values whose floats have derivatives."""
    return kind_of_lanes(handle, duals)


def kind_of_lanes(handle: Handle, of: Any) -> tuple[int, types.NamedTuple]:
    """Kind and numba type of values whose floats are lanes, or duals."""
    wide = laned_type(handle.values, of)
    digest = hashlib.sha256(f"{of} {handle.kind}".encode()).digest()
    kind = int.from_bytes(digest[:7], "little")
    return kind, TYPES.setdefault(kind, wide)


_STEP_FUNCTIONS: dict[tuple[bool, int, int, int, int], Any] = {}


def _make_step_function(
    tree: bool, plain_kind: int, kind: int, starts_kind: int, columns_kind: int
) -> Any:
    scheme = scheme_for(tree)

    @entry
    @named(int(tree), plain_kind, kind, starts_kind, columns_kind)
    def step_linearized(solver, plain_solver, plain, address, starts, columns, arc):  # type: ignore[no-untyped-def]
        linearized_starts(
            scheme,
            load(plain, plain_kind),
            load(address, kind),
            load(starts, starts_kind),
            load(columns, columns_kind),
            (plain_solver, plain),
            (solver, address),
            arc,
        )

    return step_linearized


def widened(value: Any) -> Any:
    """A copy of nested named tuples with derivatives beside all floats, which are zero."""
    if isinstance(value, tuple):
        return type(value)(*map(widened, value))
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.names:
        wide = in_lines(np.zeros(value.shape, in_lanes(value.dtype, duals)[0]))
    elif value.dtype == np.float64:
        wide = in_lines(np.zeros(value.shape, vector_of(duals)))
    else:
        return in_lines(value)
    assign_numbers(value, wide)
    return wide


def assign_numbers(source: Any, wide: Any, slopes: Any = None, k: int = 0) -> None:
    """Copy numbers of nested named tuples into tuples with derivatives, which become zero.

    With `slopes`, tuples like the source, only the derivatives in direction k are set.
    """
    if isinstance(source, tuple):
        for n, (part, target) in enumerate(zip(source, wide, strict=True)):
            assign_numbers(part, target, None if slopes is None else slopes[n], k)
    elif isinstance(source, np.ndarray) and source.dtype.names:
        for name in source.dtype.names:
            if source.dtype[name].base == np.float64:
                _assign(source[name], wide[name], None if slopes is None else slopes[name], k)
            elif slopes is None:
                wide[name] = source[name]
    elif isinstance(source, np.ndarray):
        if source.dtype == np.float64:
            _assign(source, wide["value"], slopes, k)
        elif slopes is None:
            wide[...] = source


def _assign(source: Array, wide: Array, slopes: Array | None, k: int) -> None:
    if slopes is None:
        wide[...] = 0.0
        wide[..., 0] = source
    else:
        wide[..., 1 + k] = slopes
