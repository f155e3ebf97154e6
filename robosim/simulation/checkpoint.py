"""The data from which a simulation continues: State, Memory, Loads and counters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import assign_all, copied
from robosim.compiled.loads import Loads
from robosim.compiled.memory import Memory, copied_memory
from robosim.compiled.state import State
from robosim.errors import RobosimError
from robosim.runtime.handles import Parts
from robosim.validation import Array

DUE = -1  # value of `away` when these steps are done; the articulated solver takes the next one
FIRST_STAY = 2  # steps of a tree with contacts that the solver with multipliers takes at first


@dataclass
class Counters:
    """Counts of steps since the state was set.

    Attributes
    ----------
    start_time : float [s]
    steps, fourth_order_steps : int
    above_tolerance : int
        Steps in joint coordinates in which rounding left more of the equations than the tolerance.
    away : int
        Steps that the solver with multipliers still takes for the articulated one, or `DUE`.
    stay : int
        Number of these steps at the next time, if that is soon.
    came_back : int
        Number of steps after which the articulated solver last continued.
    last : (1,) INFO of the last step in the first row of several, or None before the first
    drove : (steps, torques (nv,)) or None
        Torques of the last step if another simulation took it, with the number of steps.
    """

    start_time: float = 0.0
    steps: int = 0
    fourth_order_steps: int = 0
    above_tolerance: int = 0
    away: int = 0
    stay: int = FIRST_STAY
    came_back: int = 0
    last: tuple[NDArray[np.void], int] | None = None
    drove: tuple[int, Array] | None = None

    def copied(self, torques: Array) -> Counters:
        """A copy, for a simulation whose last step had these torques (nv,)."""
        last = None
        if self.last is not None:
            infos, row = self.last
            last = infos[row : row + 1].copy(), 0
        return replace(self, last=last, drove=(self.steps, torques))

    def count_fourth(self, infos: NDArray[np.void]) -> None:
        """Count the steps of order four among these."""
        self.fourth_order_steps += int(np.count_nonzero(infos["order"] == 4))

    def assign(self, other: Counters) -> None:
        """Copy the counts of another simulation."""
        vars(self).update(vars(other))


def copied_parts(parts: Parts, state: State | None = None) -> tuple[State, Memory, Loads]:
    """Copies of the data from which a simulation continues; the state in given memory, if any."""
    own = copied(parts.state) if state is None else state
    assign_all(parts.state, own)
    return own, copied_memory(parts.memory), copied(parts.loads)


def assign_parts(source: Parts, target: Parts) -> None:
    """Copy this data, except for the linear system, to another simulation."""
    assign_all(source.state, target.state)
    assign_all(source.memory.guesses, target.memory.guesses)
    assign_all(source.loads, target.loads)


@contextmanager
def restored_if_refused(parts: Parts, counters: Counters) -> Iterator[None]:
    """Restore the previous state if a new state turns out to be impossible."""
    values = parts.state, parts.memory.guesses, parts.loads.external, parts.loads.controls
    saved, counted = copied(values), replace(counters)
    try:
        yield
    except RobosimError:
        assign_all(saved, values)
        # The present solver is the one with which a start begins.
        counters.assign(replace(counted, away=counters.away, stay=counters.stay))
        raise
