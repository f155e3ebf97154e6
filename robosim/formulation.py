"""The interface of all ways to simulate a mechanism.

Starts, controllers, runs, logs, sensors, viewers and the command line use only these names of a
simulation. `Simulation`, `MinimalSimulation` and `ReducedSimulation` implement it, which the type
checker and `tests/unit/test_formulation.py` check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.log import Chunk, Log
from robosim.log.channels import Also
from robosim.validation import Array


class StepInfo(NamedTuple):
    """Statistics of a time step.

    Attributes
    ----------
    iterations : int
        Newton iterations, of all attempts and substeps.
    residual : float [m/s]
        Largest remaining residual of the equations.
    status : str
        "converged"; otherwise `ConvergenceError` is raised.
    substeps : int
        1, or the number of substeps into which the step was divided. If these have several
        lengths, how many of the shortest make a step: more than `max_substeps`.
    violation : float [m, or the sine of half an angle]
        Largest violation of a joint at the end of the step.
    gap : float [m]
        Smallest gap of a contact at the end of the step; inf without contacts.
    order : int
        Order of the step: 2, or 4 if requested and if the motion was smooth.
    shortest : float [s]
        Length of the shortest interval of the step.
    error : float [m]
        Of a step to an accuracy, the error that was estimated for it; else nan.
    events : int
        Of a step to an accuracy, how often a part of it ended where a contact or limit closed.
    """

    iterations: int
    residual: float
    status: str
    substeps: int
    violation: float
    gap: float
    order: int
    shortest: float
    error: float
    events: int


def sizes_of(
    shortest: float, error: float, events: int, substeps: int, timestep: float
) -> tuple[float, float, int]:
    """The last three values of `StepInfo`, of an INFO, which steps of one length leave at zero."""
    return (shortest, error, events) if shortest else (timestep / substeps, nan, 0)


class StepSizes(NamedTuple):
    """What steps to an accuracy have come to since a state was set.

    Attributes
    ----------
    intervals : int
        Number of intervals; each step has at least one.
    shortest : float [s]
        Length of the shortest one; inf before the first step.
    error : float [m]
        Sum of the errors that were estimated.
    events : int
        Number of intervals that ended where a contact or limit closed.
    """

    intervals: int
    shortest: float
    error: float
    events: int


@dataclass(frozen=True)
class Contact:
    """An active contact of a body: closed, or nearly closed.

    Attributes
    ----------
    body : str
    other : str
        Name of another body or an obstacle, or "ground".
    position : (3,) [m], on the surface of one of the two, world
    normal : (3,), from the other to the body, world
    gap : float [m]
    force : (3,) [N], of the other on the body, world; the mean over the last interval
    velocity : (3,) [m/s], world
        Velocity of the body at the contact, relative to the other, at the knot. The tangential part
        is the slip, without surface velocities.
    is_point : bool
        Whether the contact is one of ``robot.contacts`` with the ground.
    moment : (3,) [N m], world
        Moment of torsional and rolling friction on the body, the mean over the last interval.
    link, other_link : str
        Names of the links of the two shapes, also of links that were merged into one body; for an
        obstacle or the ground, as `other`.
    stiffness : float [N/m]
        Of a compliant contact, both surfaces in series; inf if it is hard.
    """

    body: str
    other: str
    position: Array
    normal: Array
    gap: float
    force: Array
    velocity: Array
    is_point: bool
    moment: Array
    link: str
    other_link: str
    stiffness: float = inf


class Bodies(Protocol):
    """Bodies at a knot, and joint coordinates; see `robosim.simulation.BodyState`."""

    @property
    def x(self) -> Array: ...
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def omega(self) -> Array: ...
    @property
    def joint_q(self) -> Array: ...
    @property
    def joint_v(self) -> Array: ...


class AtKnot(Protocol):
    """What can be read from a mechanism in motion between two steps."""

    @property
    def robot(self) -> Mechanism: ...
    @property
    def gravity(self) -> Array: ...
    @property
    def time(self) -> float: ...
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def torques(self) -> Array: ...
    @property
    def state(self) -> Any: ...


@runtime_checkable
class Formulation(AtKnot, Protocol):
    """A mechanism in motion: set coordinates, take steps, read coordinates.

    A step that cannot be solved raises ConvergenceError, and the state before it is kept.
    """

    @property
    def timestep(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def state(self) -> Bodies: ...
    @property
    def lanes(self) -> bool: ...

    def set_state(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        time: float = 0.0,
        hold: Sequence[str] = (),
    ) -> None: ...
    def set_controls(self, controls: ArrayLike) -> None: ...
    def step(self, tau: ArrayLike | None = None) -> StepInfo: ...
    def run(
        self,
        seconds: float,
        controller: Any = None,
        progress: bool = False,
        every: int = 1,
        also: str | Sequence[str] = (),
    ) -> Log: ...
    def stream(
        self,
        seconds: float,
        controller: Any = None,
        chunk_steps: int | None = None,
        every: int = 1,
        also: str | Sequence[str] | Also = (),
    ) -> Iterator[Chunk]: ...
    def frame(self, name: str) -> tuple[Array, Array]: ...
    def frame_velocity(self, name: str) -> Array: ...
    def contacts(self, ground: bool = True) -> list[Contact]: ...
    def contact_positions(self) -> Array: ...
    def contact_forces(self) -> Array: ...
    def apply_wrench(
        self,
        body: str,
        force: ArrayLike = (0.0, 0.0, 0.0),
        torque: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike | None = None,
    ) -> None: ...
    def energy(self) -> float: ...
    def momentum(self) -> tuple[Array, Array]: ...
    def constraint_violation(self) -> float: ...
    def copy(self) -> Self: ...
    def restore(self, other: Self) -> None: ...
