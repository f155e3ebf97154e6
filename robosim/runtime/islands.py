"""Islands of a world: data for their kernels, and the calls of these."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.loads import Loads
from robosim.compiled.memory import Guesses, System
from robosim.compiled.state import State
from robosim.kernels.compiler.addresses import call_controller, load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.kernels.step.islands import (
    find_meetings,
    gather_state,
    go_back,
    hand_down,
    hand_loads_down,
    hand_up,
    hand_up_at_rest,
    join_rest,
    keep,
    stand,
)
from robosim.runtime.handles import Handle
from robosim.validation import Array

Indices = NDArray[np.int64]


class Places(NamedTuple):
    """Where the elements of an island are among those of its world."""

    bodies: Indices
    joints: Indices
    couplings: Indices
    q: Indices  # of all coordinates, those of the tree first
    v: Indices
    controls: Indices
    motions: Indices  # rows of the driven coordinates
    gains: Indices  # (nu, 4) row of the world's gains; the island's indices in q and v, and `turn`


class Kept(NamedTuple):
    """What an island goes back to."""

    state: State
    guesses: Guesses
    system: System


class World(NamedTuple):
    """What the islands of a world share.

    `order` has the units by where they begin along the first axis.
    """

    state: State  # that users see
    loads: Loads  # that users set
    boxes: NDArray[np.void]  # (nb,) BOX, what bodies have swept
    standing: NDArray[np.void]  # (nb,) BOX around bodies at a knot
    units: NDArray[np.void]  # (units,) BOX
    order: Indices
    island_of: Indices  # of each unit
    unit_of: Indices  # of each body
    unit_begin: Indices  # (units + 1,) in `unit_bodies`
    unit_bodies: Indices
    partner_begin: Indices  # (nb + 1,) in `partners`
    partners: Indices  # bodies of other units that each body may touch


class Calls:
    """The compiled calls for islands of one kind."""

    def __init__(self, parts: Handle, run: Handle, places: Handle, kept: Handle, world: Handle):
        kinds = parts.kind, run.kind, places.kind, kept.kind, world.kind
        if kinds not in _CALLS:
            _CALLS[kinds] = _make(*kinds)
        self.begin, self.end, self.rest, self.gather, self.go_back, self.meet = _CALLS[kinds]


_CALLS: dict[tuple[int, ...], tuple[Any, ...]] = {}


@entry
def ask(controller: Any, time: Any, q: Any, v: Any, tau: Any) -> None:
    """Call a compiled controller, which adds to the forces `tau`."""
    call_controller(controller, time, q, v, tau)


def _make(parts_kind: int, run_kind: int, to_kind: int, kept_kind: int, world_kind: int) -> Any:
    kinds = parts_kind, run_kind, to_kind, kept_kind, world_kind

    @entry
    @named(*kinds)
    def begin_islands(parts, runs, places, kept, world, run, torques, first, steps, loads, deep):  # type: ignore[no-untyped-def]
        whole = load(run, run_kind)
        for i in range(parts.shape[0]):
            on, own = load(parts[i], parts_kind), load(runs[i], run_kind)
            to, back = load(places[i], to_kind), load(kept[i], kept_kind)
            if loads:
                hand_loads_down(load(world, world_kind).loads, on.loads, to)
            hand_down(on.state, own, to, whole, torques, first, steps)
            keep(on.state, on.memory, back, deep)

    @entry
    @named(*kinds)
    def end_islands(parts, runs, places, world, run, first, steps):  # type: ignore[no-untyped-def]
        whole, shared = load(run, run_kind), load(world, world_kind)
        for i in range(parts.shape[0]):
            on, own = load(parts[i], parts_kind), load(runs[i], run_kind)
            to = load(places[i], to_kind)
            hand_up(on.state, on.loads, own, to, whole, shared, first, steps, i == 0)

    @entry
    @named(*kinds)
    def rest_islands(parts, places, run, info, first, steps, alone):  # type: ignore[no-untyped-def]
        whole = load(run, run_kind)
        for i in range(parts.shape[0]):
            on, to = load(parts[i], parts_kind), load(places[i], to_kind)
            hand_up_at_rest(on.state, on.loads, to, whole, first, steps)
        join_rest(info[0], whole, first, steps, alone)

    @entry
    @named(*kinds)
    def gather_islands(parts, places, world):  # type: ignore[no-untyped-def]
        state = load(world, world_kind).state
        for i in range(parts.shape[0]):
            gather_state(load(parts[i], parts_kind).state, load(places[i], to_kind), state)

    @entry
    @named(*kinds)
    def take_islands_back(parts, kept, deep):  # type: ignore[no-untyped-def]
        for i in range(parts.shape[0]):
            on = load(parts[i], parts_kind)
            go_back(on.state, on.memory, load(kept[i], kept_kind), deep)

    @entry
    @named(*kinds)
    def find_islands(world, far, same, met):  # type: ignore[no-untyped-def]
        on = load(world, world_kind)
        if far[0] < 0.0:
            return find_meetings(on.boxes, on, on.units, same, met)
        stand(on.state.bodies, on.standing, far)
        return find_meetings(on.standing, on, on.units, same, met)

    return begin_islands, end_islands, rest_islands, gather_islands, take_islands_back, find_islands


def indices(values: Any) -> Indices:
    """Whole numbers as kernels take them."""
    return np.array(values, dtype=np.int64).reshape(-1)


def far_from(part: float, time: float) -> Array:
    """How much wider than bodies boxes are: by a part of the radius, and the motion of a time."""
    return np.array([part, time])
