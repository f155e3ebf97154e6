"""What lies between a control law and the joint: delays, rates, and the interface of such stages.

A stage is a description without a memory. `begin` makes the memory of n states for a time step, so
that one description serves several controllers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.control.periodic import whole_steps
from robosim.errors import ControllerError, OptionError
from robosim.validation import Array

Rows = NDArray[np.bool_]


class Measured(NamedTuple):
    """What n states measure at their times.

    Attributes
    ----------
    time : (n,) [s]
    q, v : (n, nq), (n, nv)
    angle, rate : (n, nu) [rad, rad/s; m, m/s]
        Of the actuated coordinates.
    forces : (n, nc) [N] or None
        Normal forces on ``robot.contacts``, for laws that need them.
    """

    time: Array
    q: Array
    v: Array
    angle: Array
    rate: Array
    forces: Array | None


Kept = Mapping[str, NDArray[Any]]
"""Arrays of a memory by their names."""


class Memory(Protocol):
    """The memory of a stage, for n states: `recalled` follows other values in its arrays."""

    def reset(self, rows: Rows) -> None: ...
    def memory(self) -> Kept: ...
    def recalled(self) -> None: ...
    def advance(self, command: Array, seen: Measured, rows: Rows) -> Array: ...


class Stage(Protocol):
    """A stage between a law and the joint: `check` refuses other numbers of joints by name."""

    def check(self, joints: Sequence[str]) -> None: ...
    def begin(self, joints: Sequence[str], n: int, timestep: float) -> Memory: ...


def numbers(what: str, value: ArrayLike, *, least: float = 0.0, above: bool = False) -> Array:
    """One number or one per joint, at least `least`, or above it; an OptionError names the value.

    Infinity is a number here: no limit. Texts and truth values are none.
    """
    try:
        array = np.array(value)
        array = array.astype(float) if array.dtype.kind in "iuf" else np.full((), np.nan)
    except (TypeError, ValueError):
        array = np.full((), np.nan)
    fine = array > least if above else array >= least
    if array.ndim > 1 or not np.all(fine):
        bound = f"above {least:g}" if above else f"of {least:g} or more"
        raise OptionError(f"{what} must be a number {bound}, or one per joint, not {value!r}")
    return array


def finite_numbers(
    what: str, value: ArrayLike, *, least: float = 0.0, above: bool = False
) -> Array:
    """As `numbers`, without infinity."""
    array = numbers(what, value, least=least, above=above)
    if not np.all(np.isfinite(array)):
        raise OptionError(f"{what} must be finite, not {value!r}")
    return array


def check_joints(kind: str, joints: Sequence[str], **values: Array) -> None:
    """Refuse values that are neither one number nor one per joint."""
    for what, array in values.items():
        if array.shape not in ((), (len(joints),)):
            raise ControllerError(
                f"{what} of {kind} has {array.size} numbers, and the robot {len(joints)} actuated "
                f"coordinates: {', '.join(joints)}"
            )


def steps_in(what: str, seconds: float, timestep: float) -> int:
    """Number of time steps [s] in a time [s] of one step or more.

    Raises
    ------
    ControllerError
        If that is no whole number.
    """
    found = whole_steps(seconds, timestep)
    if not found:
        told = "shorter than one" if seconds < timestep else "no whole number"
        raise ControllerError(
            f"{what} of {seconds:g} s is {told} of the time steps of {timestep:g} s in which it "
            "acts"
        )
    return found


class Delay:
    """A delay of the command, as of a bus or of a computation.

    Parameters
    ----------
    seconds : float [s]
        A multiple of the time step, or of the period of a `Rate` that follows; 0 for no delay.
    initial : float or (nu,), or None
        The command until the first one arrives. None: the first command itself.

    Raises
    ------
    OptionError
        For a negative time, or values that are not finite.
    """

    def __init__(self, seconds: float, initial: ArrayLike | None = 0.0) -> None:
        found = finite_numbers("the seconds of a Delay", seconds)
        if found.ndim:
            raise OptionError(f"the seconds of a Delay must be one number, not {seconds!r}")
        self.seconds = float(found)
        self.initial = (
            None
            if initial is None
            else finite_numbers("initial of a Delay", initial, least=-np.inf)
        )

    def __repr__(self) -> str:
        return f"Delay({self.seconds:g})"

    def check(self, joints: Sequence[str]) -> None:
        """Refuse other numbers of initial commands than joints."""
        if self.initial is not None:
            check_joints("a Delay", joints, initial=self.initial)

    def begin(self, joints: Sequence[str], n: int, timestep: float) -> Line:
        """The memory of n states."""
        steps = steps_in("a Delay", self.seconds, timestep) if self.seconds else 0
        return Line(steps, self.initial, n, len(joints))


class Line:
    """Commands on their way, of n states, each in a ring of its own."""

    def __init__(self, steps: int, initial: Array | None, n: int, nu: int) -> None:
        self._steps, self._initial = steps, initial
        self._ring = np.zeros((n, steps, nu))
        self._place = np.zeros(n, dtype=np.int64)
        self._empty = np.ones(n, dtype=bool)
        self._begins, self._together = True, True  # whether any is empty, and all are at one place

    def reset(self, rows: Rows) -> None:
        """Empty the lines of some states."""
        self._empty[rows], self._begins = True, True

    def memory(self) -> Kept:
        """The arrays that last from step to step, themselves."""
        return {"ring": self._ring, "place": self._place, "empty": self._empty}

    def recalled(self) -> None:
        """Find what is common to all states."""
        self._begins = bool(self._empty.any())
        self._together = len(set(self._place.tolist())) <= 1

    def advance(self, command: Array, seen: Measured, rows: Rows) -> Array:
        """The commands that arrive as these leave."""
        if self._steps == 0:
            return command
        if self._begins:
            new = rows & self._empty
            self._ring[new] = command[new, None] if self._initial is None else self._initial
            self._empty[new] = False
            self._begins = bool(self._empty.any())
        self._together = self._together and bool(rows.all())
        if self._together:
            at = self._place.item(0)
            found = self._ring[:, at].copy()
            self._ring[:, at] = command
            self._place.fill((at + 1) % self._steps)
            return found
        states = np.arange(len(rows))
        found = self._ring[states, self._place]
        self._ring[states[rows], self._place[rows]] = command[rows]
        self._place[rows] = (self._place[rows] + 1) % self._steps
        return found


class Rate:
    """The rate of a digital controller: what precedes acts so often, and is held in between.

    Parameters
    ----------
    hertz : float [Hz]
        The period must be a multiple of the time step.

    Raises
    ------
    OptionError
        For a rate that is not positive and finite.
    """

    def __init__(self, hertz: float) -> None:
        found = finite_numbers("the hertz of a Rate", hertz, above=True)
        if found.ndim:
            raise OptionError(f"the hertz of a Rate must be one number, not {hertz!r}")
        self.hertz = float(found)

    def __repr__(self) -> str:
        return f"Rate({self.hertz:g})"

    def steps(self, timestep: float) -> int:
        """Number of time steps [s] in a period.

        Raises
        ------
        ControllerError
            If that is no whole number.
        """
        return steps_in(f"the period of {self!r}", 1 / self.hertz, timestep)
