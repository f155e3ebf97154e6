"""All errors that robosim raises deliberately, derived from one base class.

An error names its origin (file, element), the invalid value and, if possible, the valid
alternatives. So the cause can be found without a debugger.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

MOST_LISTED = 12  # names that a message lists; of more names, the nearest ones are listed
NEAREST = 5


class RobosimError(Exception):
    """Base class of all errors raised by robosim."""

    def __reduce__(self) -> Any:
        # By attributes, as most classes have other arguments than the message.
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(
    kind: type[RobosimError], args: tuple[Any, ...], said: dict[str, Any]
) -> RobosimError:
    """An error that comes from another process."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(said)
    return error


class ModelError(RobosimError, ValueError):
    """A robot or mechanism that cannot be simulated as described.

    Attributes
    ----------
    reason : str
        The error, with the offending value.
    element : str or None
        The body, joint, geometry or attribute at fault.
    file : pathlib.Path or None
        The file that the element was read from.
    line : int or None
        The line of the element in that file, from 1.
    alternatives : tuple of str
        Values that would have been accepted.
    wanted : str or None
        The name that is not among these; the message proposes similar names if there are many.
    """

    def __init__(
        self,
        reason: str,
        *,
        element: str | None = None,
        file: str | Path | None = None,
        line: int | None = None,
        alternatives: Sequence[str] = (),
        wanted: str | None = None,
    ) -> None:
        self.reason = reason
        self.wanted = wanted
        self.element = element
        self.file = Path(file) if file is not None else None
        self.line = line
        self.alternatives = tuple(dict.fromkeys(alternatives))
        super().__init__(str(self))

    def __str__(self) -> str:
        line = None if self.line is None else f"line {self.line}"
        where = ": ".join(str(p) for p in (self.file, line, self.element) if p is not None)
        text = f"{where}: {self.reason}" if where else self.reason
        if self.wanted is not None and self.alternatives:
            return f"{text} ({known(self.wanted, self.alternatives)})"
        if self.alternatives:
            text += f" (known: {', '.join(self.alternatives)})"
        return text

    def in_file(self, file: str | Path, line: int | None = None) -> ModelError:
        """The same error, of the same class, with the file and line that it was found in."""
        return type(self)(
            self.reason,
            element=self.element,
            file=file,
            line=self.line if line is None else line,
            alternatives=self.alternatives,
            wanted=self.wanted,
        )


def known(wanted: str, names: Sequence[str], most: int = MOST_LISTED) -> str:
    """The allowed names for a message; if there are more than `most`, those nearest to `wanted`."""
    if len(names) > most:
        return f"nearest of {len(names)}: {', '.join(nearest(wanted, names))}"
    return f"known: {', '.join(names)}"


def nearest(wanted: str, names: Sequence[str]) -> list[str]:
    """The names that are most similar to another one, the nearest first."""
    lower = {name: name.lower() for name in names}
    matcher = difflib.SequenceMatcher(b=wanted.lower(), autojunk=False)

    def likeness(name: str) -> tuple[bool, float]:
        matcher.set_seq1(lower[name])
        # A name without its prefix, or a part of a name, is meant more often than a similar word.
        return wanted.lower() in lower[name], matcher.ratio()

    return sorted(dict.fromkeys(names), key=likeness, reverse=True)[:NEAREST]


class LoadError(ModelError):
    """A model file that is missing, malformed or refers to something that does not exist."""


class MissingFileError(LoadError):
    """A file that a model file refers to and that does not exist."""


class SaveError(RobosimError):
    """A mechanism that a file format cannot express, or a model file that cannot be written."""


class StateError(RobosimError, ValueError):
    """A configuration, velocity or torque of the wrong shape, or not finite."""


class OptionError(RobosimError, ValueError):
    """An option of a simulation, a log or a command with an invalid value."""


class ControllerError(RobosimError, ValueError):
    """A controller that returned the wrong shape, or a value that is not finite."""


class LogError(RobosimError):
    """A log that cannot be written or read."""


class ViewerError(RobosimError):
    """A live view or a recording that cannot be shown or written."""


class MissingExtraError(RobosimError, ImportError):
    """A package of an optional extra that is not installed."""


class PeerError(RobosimError):
    """A peer library that is not installed, or cannot load the model."""


class WorkerError(RobosimError, RuntimeError):
    """Items that failed on a worker; the original error, if it could be sent, is the cause.

    Attributes
    ----------
    reason : str
    items : range
        The numbers of the items.
    """

    def __init__(self, reason: str, items: range) -> None:
        self.reason, self.items = reason, items
        super().__init__(f"{numbered(items)}: {reason}")


def numbered(items: range) -> str:
    """Items by their numbers, for a message."""
    return f"item {items[0]}" if len(items) == 1 else f"items {items[0]} to {items[-1]}"


class ConvergenceError(RobosimError, RuntimeError):
    """A step whose equations could not be solved, even with substeps.

    The simulation keeps the state before that step.

    Attributes
    ----------
    time : float
        Time of that knot [s].
    residual : float
        Residual of the last attempt, as a velocity in the mass metric [m/s]; inf if there is none.
    iterations : int
        Newton iterations of all attempts together.
    substeps : int
        Number of substeps that were tried last.
    body : str
        The body with the largest residual.
    hint : str
        A sentence on what may have led there.
    state : int or None
        Of several states that steps were taken from, the number of the one that failed.
    """

    _shown: tuple[str, ...] = ()  # what errors of a subclass have been shown beside

    def __init__(
        self,
        time: float,
        residual: float,
        iterations: int,
        substeps: int,
        body: str,
        hint: str = "",
        state: int | None = None,
    ) -> None:
        self.time = time
        self.residual = residual
        self.iterations = iterations
        self.substeps = substeps
        self.body = body
        self.hint = hint or (
            "A smaller timestep, a smaller torque or a consistent initial state may help."
        )
        self.state = state
        of = "" if state is None else f" from state {state}"
        super().__init__(
            f"the step at t = {time:.6g} s{of} did not converge: residual {residual:.3g} m/s after "
            f"{iterations} iterations with {substeps} substeps, worst at body '{body}'. "
            f"{self.hint}"
        )

    def of_state(self, state: int) -> Self:
        """The same with the number of the state."""
        return type(self)(
            self.time, self.residual, self.iterations, self.substeps, self.body, self.hint, state,
            **{name: getattr(self, name) for name in self._shown},
        )  # fmt: skip


class NoMotionError(ConvergenceError):
    """A step that prescribed motions make impossible, as they lead into what cannot be passed.

    What holds the mechanism has been found. At the end of the step, or at most eight steps later,
    each pose near the present one violates one of these contacts and limits. Near are poses in
    which the coordinates without a motion have changed by less than 0.5 rad or m. Gaps are taken to
    second order. Before such a time, forces and speeds grow without a bound.

    Attributes
    ----------
    motions : tuple of str
        Joints whose motions press against what holds.
    holding : tuple of str
        Contacts and limits that cannot all hold.
    overlap : float [m]
        By which one of them is violated at least; of turns as an arc of the child's radius.
    ends : float [s]
        When that is.
    """

    _shown = "motions", "holding", "overlap", "ends"

    def __init__(
        self,
        *step: Any,
        motions: Sequence[str],
        holding: Sequence[str],
        overlap: float,
        ends: float,
    ) -> None:
        super().__init__(*step)
        self.motions, self.holding = tuple(motions), tuple(holding)
        self.overlap, self.ends = overlap, ends


class DeadPointError(ConvergenceError):
    """A step that has no solution, as closed loops stand at a dead point.

    In that pose the loops permit velocities that they do not permit to second order. Two rods in
    one line between fixed pivots may move across it, for example. No finite force of a joint
    holds a load along such a velocity. Near the pose, forces are the larger the nearer it is.

    Attributes
    ----------
    joints : tuple of str
        Joints and couplings that close the loops.
    held : tuple of str
        Velocities that are held to second order only, with names of ``robot.v_names``.
    """

    _shown = "joints", "held"

    def __init__(self, *step: Any, joints: Sequence[str], held: Sequence[str]) -> None:
        super().__init__(*step)
        self.joints, self.held = tuple(joints), tuple(held)
