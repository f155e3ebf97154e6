"""The memory of lanes: records whose floats have the lanes as their last axis.

`widen` and `narrow` copy named tuples of arrays to this memory and back. `FIELD` relates words of a
state to words of its lane, for compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from robosim.compiled.arrays import WORD, in_lines
from robosim.compiled.loads import Loads
from robosim.compiled.memory import Guesses, Memory
from robosim.compiled.model import Model
from robosim.compiled.state import State
from robosim.kernels.compiler.lanes import Lanes, laned
from robosim.runtime.handles import Parts

FIELD = np.dtype(  # consecutive words of a state, and the same words in its lane
    [
        ("state", "i8"),  # address of the first word in the state's memory
        ("lanes", "i8"),  # address of the first word in the memory of lanes
        ("count", "i8"),
        ("stride", "i8"),  # bytes from one word to the next in the memory of lanes
        ("shared", "i8"),  # 1 for whole numbers, which all lanes share
    ]
)
# Fields of JOINT_STATE that have a meaning only in mechanisms with loops.
OF_MULTIPLIERS = (
    "drive_total",
    "ahead",
    "drive_ahead",
    "ahead_before",
    "drive_ahead_before",
)
_LANED: dict[Any, tuple[np.dtype[Any], Any]] = {}  # record, lanes -> numpy dtype, numba type


class Layout(NamedTuple):
    """Positions of words in the arrays of a state, and in those of the lanes."""

    which: NDArray[np.int64]  # (n,) index of the array
    state: NDArray[np.int64]  # (n,) offset in the state's array [bytes]
    lanes: NDArray[np.int64]  # (n,) offset in the lanes' array [bytes]
    words: NDArray[np.int64]  # (n,) number of consecutive words
    shared: NDArray[np.int64]  # (n,) as in FIELD


def widen(values: Sequence[Any], kind: Lanes) -> Any:
    """Nested named tuples, one for each lane or one for all, copied to the memory of lanes."""
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
    """The result of `laned`, made once for each record, as numba compares types by identity."""
    if (dtype, kind) not in _LANED:
        _LANED[dtype, kind] = laned(dtype, kind)
    return _LANED[dtype, kind]


def vector_of(kind: Lanes) -> np.dtype[Any]:
    """The numpy type of a float of lanes."""
    return np.dtype([("value", "f8", (kind.width,))])


def laned_type(value: Any, kind: Lanes) -> Any:
    """numba's type of a result of `widen`, or of a value that all lanes share."""
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
    """Copy the values of lane k from the memory of lanes to those of a single state."""
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
    """The data that steps change, of one state or of lanes."""

    state: State
    memory: Memory
    loads: Loads


def moved_of(parts: Parts) -> Moved:
    """The data of a simulation that its steps change."""
    return Moved(parts.state, parts.memory, parts.loads)


def _carried(one: Moved) -> tuple[NDArray[Any], ...]:
    """Arrays that a state takes along into its lane: external wrenches, State and Guesses."""
    return one.loads.external, *one.state, *one.memory.guesses


# Arrays of the fields `carried`, `forces`, `servos` and `shown` of LaneParts.
COPIED: tuple[Callable[[Moved], tuple[NDArray[Any], ...]], ...] = (
    _carried,
    lambda one: (one.loads.tau,),
    lambda one: (one.loads.servos,),
    lambda one: (one.state.q, one.state.v),
)


class Rows(NamedTuple):
    """Rows of a state's arrays that belong to a lane; -1 where the state has none."""

    bodies: NDArray[np.int64]
    contacts: NDArray[np.int64]
    q: NDArray[np.int64]
    v: NDArray[np.int64]
    out_q: NDArray[np.int64]  # those that the lane copies out, -1 where another lane does
    out_v: NDArray[np.int64]

    def beside(self, first: Rows) -> Rows:
        """The same rows, but for copying out those that the first lane copies out."""
        out_q, out_v = (
            np.where(row == other, -1, row) for row, other in ((self.q, first.q), (self.v, first.v))
        )
        return self._replace(out_q=out_q, out_v=out_v)

    def copied(self) -> tuple[tuple[NDArray[np.int64] | None, ...], ...]:
        """Rows of each array of `COPIED`; None for all rows."""
        bodies, none = self.bodies, np.zeros(0, dtype=np.int64)
        chosen = {"bodies": bodies, "joints": bodies, "couplings": none, "q": self.q, "v": self.v}
        of_contacts = "contacts", "active", "ids", "closed"
        chosen |= dict.fromkeys(of_contacts, self.contacts) | {"features": none}
        # Arrays without a row for each element, such as trends, are copied as a whole.
        state, guesses = (map(chosen.get, names) for names in (State._fields, Guesses._fields))
        return (bodies, *state, *guesses), (self.v,), (self.v,), (self.out_q, self.out_v)


def lay_out(
    model: Model,
    one: Moved,
    wide: Moved,
    kind: Lanes,
    rows: Rows | None = None,
) -> tuple[Layout, ...]:
    """Layouts of the arrays of `COPIED`."""
    friction = len(model.facets) or 2
    slots = np.arange(model.n_slots)
    # Features of shapes are in other slots of the lanes.
    shared = np.where(slots < len(model.contacts), slots, -1)
    others: dict[str, NDArray[np.int64]] = {}
    if len(model.collision.pairs):
        others.update(dict.fromkeys(("contacts", "active", "ids"), shared), features=shared[:0])
    left_out = () if len(model.loops.ties) else OF_MULTIPLIERS
    layouts = []
    for n, some in enumerate(COPIED):
        arrays, in_lanes_too = some(one), some(wide)
        chosen: Sequence[NDArray[np.int64] | None] = [None] * len(arrays)
        if rows is not None:
            chosen = rows.copied()[n]
        elif n == 0:
            names = "external", *State._fields, *Guesses._fields
            chosen = [others.get(name) for name in names]
        every = (
            (which, *words)
            for which, parts in enumerate(zip(arrays, in_lanes_too, chosen, strict=True))
            for words in _words(*parts, friction, left_out)
        )
        merged = np.array(_merged(every, kind.width), dtype=np.int64)
        layouts.append(Layout(*merged.reshape(-1, 5).T))
    return tuple(layouts)


def words_between(
    values: Sequence[NDArray[Any]], wide: Sequence[NDArray[Any]], friction: int, kind: Lanes
) -> NDArray[np.void]:
    """(n,) FIELD that relates all words of some arrays to the first lane."""
    every = (
        (which, *words)
        for which, parts in enumerate(zip(values, wide, strict=True))
        for words in _words(*parts, None, friction)
    )
    merged = np.array(_merged(every, kind.width), dtype=np.int64).reshape(-1, 5)
    return fields_of([tuple(values)], tuple(wide), [Layout(*merged.T)], kind)[0]


def _words(
    array: NDArray[Any],
    wide: NDArray[Any],
    rows: NDArray[np.int64] | None,
    friction: int,
    left_out: Sequence[str] = OF_MULTIPLIERS,
) -> Iterator[tuple[int, int, int, int]]:
    """(offset, offset in the lanes, count, whether they are shared) of words of some rows.

    Fields that are `left_out` have no meaning.
    """
    # Features that no robot of the lanes has are arrays without rows.
    for n, row in enumerate(range(len(array)) if rows is None else rows.tolist()):
        if row < 0 or len(array) == 0:
            continue
        begin, to = row * array.strides[0], n * wide.strides[0]
        if not array.dtype.names:
            yield begin, to, 1, int(array.dtype != np.float64)
            continue
        places = _places(array.dtype), _places(wide.dtype)
        for name, (base, at) in places[0].items():
            if name in left_out:
                continue
            count = base.itemsize // WORD
            if name in ("beta", "eta"):
                count = min(count, friction)
            yield begin + at, to + places[1][name][1], count, int(base.base != np.float64)


def _merged(every: Iterator[tuple[int, ...]], width: int) -> list[list[int]]:
    """Merge entries whose words follow each other both in the state and in its lane."""
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


def fields_of(
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
        addresses = np.array([array.ctypes.data for array in arrays])
        mine["state"] = addresses[layout.which] + layout.state
        mine["lanes"] = begins[layout.which] + layout.lanes + np.where(whole, 0, WORD * k)
        mine["count"], mine["shared"] = layout.words, layout.shared
        mine["stride"] = np.where(whole, WORD, WORD * kind.width)
    return fields


def fields_at(
    wide: NDArray[Any], name: str, to: NDArray[np.int64], words: int, kind: Lanes
) -> NDArray[np.void]:
    """(lanes, rows) FIELD of `words` words of the first records, from field `name` on.

    `to` (lanes, rows) are the addresses that these words are copied to.
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
