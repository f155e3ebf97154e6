"""What a simulation goes on from: State, Memory, Loads, and counters. Copies carry nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import assign_all, copied
from robosim.compiled.loads import Loads
from robosim.compiled.memory import Memory
from robosim.compiled.state import State
from robosim.errors import RobosimError
from robosim.runtime.handles import Parts
from robosim.validation import Array

DUE = -1  # as `away`: they have been taken, and the other one goes on with the next
FIRST_STAY = 2  # steps that a tree with contacts is left to the solver with multipliers


@dataclass
class Counters:
    """How far a simulation has come since its state was set.

    Attributes
    ----------
    start_time : float [s]
    steps, fourth_order_steps : int
    away : int
        Steps that the solver with multipliers has still to take for the other one, or `DUE`.
    stay : int
        How many it is to take the next time, if that is soon.
    came_back : int
        Steps after which the other one went on.
    last : (1,) INFO of the last step in the first row of several, or None before the first
    last_is_first : bool
        Whether that was the first step from a start.
    drove : (steps, torques (nv,)) or None
        What servos of another simulation gave in the last step of so many.
    """

    start_time: float = 0.0
    steps: int = 0
    fourth_order_steps: int = 0
    away: int = 0
    stay: int = FIRST_STAY
    came_back: int = 0
    last: tuple[NDArray[np.void], int] | None = None
    last_is_first: bool = False
    drove: tuple[int, Array] | None = None

    def copied(self, torques: Array) -> Counters:
        """A copy, for a simulation whose last step had these torques (nv,)."""
        last = None
        if self.last is not None:
            infos, row = self.last
            last = infos[row : row + 1].copy(), 0
        return replace(self, last=last, drove=(self.steps, torques))

    def assign(self, other: Counters) -> None:
        """Count from where others are."""
        self.__dict__.update(other.__dict__)


def copied_parts(parts: Parts, state: State | None = None) -> tuple[State, Memory, Loads]:
    """Copies of what a simulation goes on from; the state in given memory, if any."""
    own = copied(parts.state) if state is None else state
    assign_all(parts.state, own)
    return own, copied(parts.memory), copied(parts.loads)


def assign_parts(source: Parts, target: Parts) -> None:
    """Write what a simulation goes on from, but for its linear system, over that of another."""
    assign_all(source.state, target.state)
    assign_all(source.memory.guesses, target.memory.guesses)
    assign_all(source.loads, target.loads)


@contextmanager
def restored_if_refused(parts: Parts, counters: Counters) -> Iterator[None]:
    """Put everything back if the state that is being set turns out to be impossible."""
    values = parts.state, parts.memory.guesses, parts.loads.external, parts.loads.controls
    saved, counted = copied(values), replace(counters)
    try:
        yield
    except RobosimError:
        assign_all(saved, values)
        # The solver at work is the one that a start begins with.
        counters.assign(replace(counted, away=counters.away, stay=counters.stay))
        raise
