"""The memory of lanes: records whose floats have the lanes as their last axis.

Named tuples of arrays are made wide and narrow again here, and `FIELD` tells compiled code which
words of a state go where in its lane.
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

FIELD = np.dtype(  # words that follow each other in a state, and in a lane
    [
        ("state", "i8"),  # address of the first one in the state's own memory
        ("lanes", "i8"),  # and in that of the lane
        ("count", "i8"),
        ("stride", "i8"),  # bytes from one to the next in the lane
        ("shared", "i8"),  # 1 for whole numbers, of which there is one for all lanes
    ]
)
_LANED: dict[Any, tuple[np.dtype[Any], Any]] = {}  # record, lanes -> numpy dtype, numba type


class Layout(NamedTuple):
    """Where words of a state are among some arrays, and in those of a lane."""

    which: NDArray[np.int64]  # (n,) array
    state: NDArray[np.int64]  # (n,) bytes from where that begins
    lanes: NDArray[np.int64]  # (n,) and in that of the lanes
    words: NDArray[np.int64]  # (n,) how many follow each other
    shared: NDArray[np.int64]  # (n,)


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
    return one.loads.external, *one.state, *one.memory.guesses


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
            np.where(row == other, -1, row) for row, other in ((self.q, first.q), (self.v, first.v))
        )
        return self._replace(told_q=told_q, told_v=told_v)

    def brought(self) -> tuple[tuple[NDArray[np.int64] | None, ...], ...]:
        """Those of the arrays of `BROUGHT`."""
        bodies, none = self.bodies, np.zeros(0, dtype=np.int64)
        chosen = {"bodies": bodies, "joints": bodies, "couplings": none, "q": self.q, "v": self.v}
        chosen |= dict.fromkeys(("contacts", "active", "ids"), self.contacts) | {"features": none}
        # What is the same for all rows, such as trends, has no choice of them.
        state, guesses = (map(chosen.get, names) for names in (State._fields, Guesses._fields))
        return (bodies, *state, *guesses), (self.v,), (self.v,), (self.told_q, self.told_v)


def lay_out(
    model: Model,
    one: Moved,
    wide: Moved,
    kind: Lanes,
    rows: Rows | None = None,
) -> tuple[Layout, ...]:
    """Layouts of what `BROUGHT` tells."""
    friction = len(model.facets) or 2
    layouts = []
    for n, some in enumerate(BROUGHT):
        arrays, in_lanes_too = some(one), some(wide)
        chosen = [None] * len(arrays) if rows is None else rows.brought()[n]
        every = (
            (which, *words)
            for which, parts in enumerate(zip(arrays, in_lanes_too, chosen, strict=True))
            for words in _words(*parts, friction)
        )
        merged = np.array(_merged(every, kind.width), dtype=np.int64)
        layouts.append(Layout(*merged.reshape(-1, 5).T))
    return tuple(layouts)


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
    return fields_of([tuple(values)], tuple(wide), [Layout(*merged.T)], kind)[0]


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
