"""Groups of states of a batch, which are stepped in the lanes of vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robosim.compiled.model import Model
from robosim.compiled.workspace import make_slots, make_workspace
from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler.lanes import WIDTH, lanes
from robosim.runtime.handles import Handle, Parts
from robosim.runtime.lanes import FIRST_REST, Leaving, Together, leave, make_parts
from robosim.runtime.looks import provide_looks
from robosim.runtime.wide import Moved, lay_out, moved_of, narrow, put_in_lane, widen


def without_geometry(model: Model) -> Model:
    """A model for lanes, which look at no shapes: without their geometry."""
    shapes, data = model.collision.shapes[:0], _nothing_of(model.collision.data)
    return model._replace(collision=model.collision._replace(shapes=shapes, data=data))


def _nothing_of(value: Any) -> Any:
    """Nested arrays without rows, of the same types."""
    if isinstance(value, tuple):
        return type(value)(*map(_nothing_of, value))
    return value[:0]


class Group(Together):
    """`WIDTH` simulations that are stepped together.

    Parameters
    ----------
    robot : Mechanism
        Robot of the first simulation; the others' differ in numbers only.
    parts : sequence of Parts
        Parts of the simulations, for which `suits_lanes` is true.
    like : Group or None
        Another group of the same batch.
    """

    def __init__(self, robot: Mechanism, parts: Sequence[Parts], like: Group | None = None) -> None:
        first = parts[0]
        self.memories = [one.memory for one in parts]
        self.alike = all(one.model is first.model for one in parts)
        plain = without_geometry(first.model)
        model = first.model
        if not self.alike:
            model = widen([without_geometry(one.model) for one in parts], lanes)
        # Mutable data of the states; these are copied when the states take steps.
        wide = Moved(*(widen([one], lanes) for one in moved_of(first)))
        work = widen([make_workspace(robot, plain)], lanes)
        work = work._replace(slots=widen([make_slots(one.model) for one in parts], lanes))
        states = [moved_of(one) for one in parts]
        if like is None:
            self.layouts = lay_out(first.model, states[0], wide, lanes)
        else:
            self.layouts = like.layouts
        layouts = [self.layouts] * WIDTH
        together = make_parts(model, wide, work, first.options, states, layouts, lanes)
        same = like is not None and like.alike == self.alike
        super().__init__(together, lanes, like if same else None)
        self.behind = together.behind
        if len(first.model.collision.pairs):
            provide_looks(together.model, self.kind, Handle(first).kind)
        self._charts = first.model.charts  # whose addresses all lanes have
        self._pace, self._places = together.pace, together.places
        self._first = len(first.model.contacts)
        self._leaving = Handle(Leaving(together.carried))

    def is_of(self, parts: Sequence[Parts]) -> bool:
        """Whether these are the parts of the group's simulations, with the same memory."""
        return all(one.memory is memory for one, memory in zip(parts, self.memories, strict=True))

    @property
    def is_ahead(self) -> bool:
        """Whether only the lanes have the present states, except for coordinates and velocities.

        States stay there until other values are needed, as copying both ways costs as much as seven
        steps.
        """
        return bool(self._pace["resides"][0])

    def settle(self) -> None:
        """Copy the states back from the lanes, if only the lanes have them."""
        if self.is_ahead:
            leave(self._leaving)
            self._pace["resides"] = 0
            for k, memory in enumerate(self.memories):
                if self._pace["anew"][0] >> k & 1:
                    memory.guesses.active[:] = 0  # lanes still have the contacts of before

    def change(self, k: int, parts: Parts) -> None:
        """Copy the numbers of state k's model, in a group whose models may differ."""
        lanes_of = self.handle.values
        put_in_lane(without_geometry(parts.model), lanes_of.model, k)
        put_in_lane((make_slots(parts.model),), (lanes_of.work.slots,), k)
        lanes_of.memory.system.valid[:] = 0

    def begins(self, k: int) -> None:
        """Prepare the lane of state k for a new start."""
        self.handle.values.memory.system.valid[:] = 0
        self.behind[k] = 0
        self._starts_anew(k)

    def leave(self) -> None:
        self.settle()
        self.behind[:] = 0

    def catch_up(self, k: int, anew: bool) -> None:
        """Copy the linear system of lane k to its simulation, unless the state is set anew."""
        self.settle()
        if self.behind[k] and not anew:
            self._take_system(k)
        self.behind[k] = 0
        if anew:
            self._starts_anew(k)

    def _take_system(self, k: int) -> None:
        """Copy the linear system of lane k, with contacts of shapes from where they are there."""
        wide, own = self.handle.values.memory.system, self.memories[k].system
        # Looks at pairs are those of the state itself.
        kept = [name for name in own._fields if name != "looks"]
        source, target = ([getattr(one, name) for name in kept] for one in (wide, own))
        narrow(source, target, k)
        if not len(own.looks):
            return
        active = np.flatnonzero(self.memories[k].guesses.active[self._first :])
        slots, contacts = self._places[k, active], own.contacts[self._first + active]
        for name in contacts.dtype.names or ():
            is_float = contacts.dtype[name].base == np.float64
            rows = wide.contacts[name][slots]
            contacts[name] = rows[..., k] if is_float else rows
        own.contacts[self._first + active] = contacts

    def _starts_anew(self, k: int) -> None:
        """Take steps as in a new group, once all states have been set since the last one."""
        self.rest = FIRST_REST
        self._pace["anew"] |= 1 << k
        if self._pace["anew"][0] == 2**WIDTH - 1:
            resides, anew = self.is_ahead, self._pace["anew"].copy()
            self._pace[:] = np.zeros(1, dtype=self._pace.dtype)
            self._pace["resides"], self._pace["anew"] = resides, anew
