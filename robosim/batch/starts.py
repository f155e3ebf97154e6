"""Starts that are prepared once, for repeated resets of states of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.batch.arguments import rows_of
from robosim.batch.group import Group
from robosim.batch.stepping import Stepping
from robosim.compiled.arrays import WORD
from robosim.errors import OptionError, StateError
from robosim.kernels.compiler.lanes import WIDTH
from robosim.runtime.handles import Handle, Parts
from robosim.runtime.lanes import Entering, Leaving, enter, leave
from robosim.runtime.wide import FIELD
from robosim.simulation import Simulation


def written(parts: Parts) -> list[NDArray[Any]]:
    """Arrays that a start writes, except for the linear system.

    Guesses of contacts are not included, because other arrays mark these as invalid. Nor are
    torques, which each step sets.
    """
    guesses, loads = parts.memory.guesses, parts.loads
    of_guesses = guesses.joints, guesses.trend, guesses.active, guesses.contact_trend, guesses.ids
    return [*parts.state, *of_guesses, guesses.pace, loads.servos, loads.external]


def starts_at(
    origin: Simulation, q: ArrayLike | None, v: ArrayLike | None, time: float, gap: float | None
) -> list[Simulation]:
    """Simulations at the given starts; see `BatchSimulation.prepare`."""
    if gap is not None and v is not None:
        raise StateError("robots that are set down (gap=) are at rest: leave v out")
    rows = [len(value) for value in map(np.asarray, (q, v)) if value.ndim == 2]
    m, robot = rows[0] if rows else 1, origin.robot
    made = []
    places = zip(rows_of("q", q, robot.nq, m), rows_of("v", v, robot.nv, m), strict=True)
    for k, (q_k, v_k) in enumerate(places):
        sim = origin.copy()
        try:
            if gap is not None:
                sim.place(q_k, gap)
            else:
                sim.set_state(q_k, v_k, time)
        except StateError as error:
            raise StateError(f"start {k}: {error}") from error
        made.append(sim)
    return made


class Starts:
    """m starts for the states of a batch, each with all values that `set_state` computes.

    Attributes
    ----------
    q, v : (m, nq), (m, nv)
        Coordinates and velocities of the starts.
    time : float [s]
    stepping : Stepping
        The batch's.
    robots : int
        Number of earlier changes of the batch's robots.
    """

    def __init__(self, stepping: Stepping, made: Sequence[Simulation], time: float) -> None:
        sims = stepping.sims
        if any(sim.robot is not sims[0].robot for sim in sims):
            raise OptionError(
                "starts can be prepared for states of one robot: the momenta of a start depend on "
                "its masses; use set_state for robots that differ"
            )
        self.stepping, self.time, self.robots = stepping, time, stepping.robots
        self.q, self.v = (np.array([getattr(sim, name) for sim in made]) for name in ("q", "v"))
        self._made = list(made) if stepping.is_apart else []
        if self._made:
            return  # the islands of each are restored
        arrays = written(sims[0].parts)
        words = np.array([array.nbytes // WORD for array in arrays])
        self._offsets = WORD * np.concatenate(([0], np.cumsum(words)[:-1]))
        self._rows = np.zeros((len(made), int(words.sum())))
        for row, sim in zip(self._rows, made, strict=True):
            taken = [array.reshape(-1).view(np.uint8) for array in written(sim.parts)]
            row.view(np.uint8)[:] = np.concatenate(taken)
        self._fields = np.zeros((stepping.n, len(arrays)), dtype=FIELD)
        for fields, sim in zip(self._fields, sims, strict=True):
            fields["state"] = [array.ctypes.data for array in written(sim.parts)]
        self._fields["count"], self._fields["stride"] = words, WORD
        self._entering = np.zeros((0, 0), dtype=FIELD)
        self._known: dict[int, Group] = {}  # groups whose fields are known

    def __len__(self) -> int:
        return len(self.q)

    def put(self, which: ArrayLike, chosen: list[int]) -> None:
        """Reset chosen states of the batch to some of the starts."""
        numbers = np.asarray(which)
        if numbers.dtype.kind not in "iu" or numbers.shape not in ((), (len(chosen),)):
            raise StateError(
                f"which must be the number of a start, or {len(chosen)} of them, not {which!r}"
            )
        for number in numbers[(numbers < 0) | (numbers >= len(self))].ravel()[:1]:
            raise StateError(f"there is no start {number} among {len(self)}")
        stepping = self.stepping
        if len(chosen) != len(set(chosen)):
            raise StateError("a state can begin at one start only, but some are chosen twice")
        if self._made:
            for i, k in zip(chosen, np.broadcast_to(numbers, len(chosen)), strict=True):
                stepping.alone(i, anew=True).restore(self._made[k])
                stepping.begin(i)
            return
        ahead: list[int] = []
        for i in chosen:
            group = stepping.groups.get(i // WIDTH)
            if group is not None and group.is_ahead:
                group.begins(i % WIDTH)
                ahead.append(i)
                stepping.ahead[i] = 0
                stepping.touched.add(i)
            else:
                stepping.alone(i, anew=True)
            engine = stepping.sims[i].engine
            engine.start_anew(self.time)
            engine.parts.memory.system.valid[:] = 0
        fields = self._fields[chosen]
        fields["lanes"] = self._rows.ctypes.data + self._rows.strides[0] * numbers.reshape(-1, 1)
        fields["lanes"] += self._offsets
        leave(Handle(Leaving(fields)))
        if ahead:
            lanes = np.array(ahead) % WIDTH
            enter(Handle(Entering(self._of_lanes(ahead), lanes)))
        for i in chosen:
            stepping.begin(i)

    def _of_lanes(self, chosen: list[int]) -> NDArray[np.void]:
        """(k, n) FIELD for writing a start into the lanes of states."""
        stepping = self.stepping
        for g in {i // WIDTH for i in chosen}:
            group = stepping.groups[g]
            if self._known.get(g) is group:
                continue
            fields = group.handle.values.carried
            guesses = stepping.sims[g * WIDTH].parts.memory.guesses
            inside = np.zeros(fields.shape[1], dtype=bool)
            # Contacts start anew with the next step; the same fields for all states of a group.
            for array in (guesses.contacts, guesses.active):
                begin, at = array.ctypes.data, fields["state"][0]
                inside |= (at >= begin) & (at < begin + array.nbytes)
            if self._entering.size == 0:
                self._entering = np.zeros((stepping.n, np.count_nonzero(~inside)), dtype=FIELD)
            self._entering[g * WIDTH : (g + 1) * WIDTH] = fields[:, ~inside]
            self._known[g] = group
        return np.asarray(self._entering[chosen])
