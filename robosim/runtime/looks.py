"""How groups of states in lanes look at shapes: an entry, whose address is in `Model.calls`.

It is compiled where a group has shapes that may touch, and called by the steps of groups.
"""

from __future__ import annotations

from typing import Any

from numba import types

from robosim.compiled.kinds import LOOK
from robosim.compiled.model import Model
from robosim.kernels.compiler.addresses import load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.kernels.compiler.parts import address_of
from robosim.kernels.step.shapes_of_lanes import look_at_shapes

LOOKS = (types.int64,) * 4  # address of a group and of its states' parts, what to do, what is read
_ENTRIES: dict[tuple[int, int], Any] = {}  # kinds of a group and of parts -> entry


def provide_looks(model: Model, kind: int, parts_kind: int) -> None:
    """Write the address of the entry for groups and parts of two kinds, if there are pairs."""
    if not len(model.collision.pairs):
        return
    kinds = kind, parts_kind
    if kinds not in _ENTRIES:
        _ENTRIES[kinds] = _make_entry(*kinds)
        _ENTRIES[kinds].compile(LOOKS)
    model.calls[LOOK] = address_of(_ENTRIES[kinds].overloads[LOOKS])


def _make_entry(kind: int, parts_kind: int) -> Any:
    @entry
    @named(kind, parts_kind)
    def look(group, parts, step, wants):  # type: ignore[no-untyped-def]
        return look_at_shapes(load(group, kind), parts, parts_kind, step, wants)

    return look
