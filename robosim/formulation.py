"""The interface of all ways to simulate a mechanism.

Starts, controllers, runs, logs, sensors, viewers and the command line use only these names of a
simulation. `robosim.simulation.simulation.Simulation`, in maximal coordinates, implements it, as
`tests/unit/test_formulation.py` checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, Self, runtime_checkable

from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.log import Chunk, Log
from robosim.log.channels import Also
from robosim.validation import Array


@runtime_checkable
class Formulation(Protocol):
    """A mechanism in motion: set coordinates, take steps, read coordinates.

    `state` contains the bodies at the knot, and ``joint_q`` and ``joint_v``, as
    `robosim.simulation.BodyState` does. `step` returns at least the attributes of
    `robosim.simulation.StepInfo`. A step that cannot be solved raises ConvergenceError, and the
    state before it is kept.
    """

    @property
    def robot(self) -> Mechanism: ...
    @property
    def timestep(self) -> float: ...
    @property
    def gravity(self) -> Array: ...
    @property
    def time(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def torques(self) -> Array: ...
    @property
    def state(self) -> Any: ...

    def set_state(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, time: float = 0.0
    ) -> None: ...
    def set_controls(self, controls: ArrayLike) -> None: ...
    def step(self, tau: ArrayLike | None = None) -> Any: ...
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
    def energy(self) -> float: ...
    def momentum(self) -> tuple[Array, Array]: ...
    def constraint_violation(self) -> float: ...
    def copy(self) -> Self: ...
    def restore(self, other: Self) -> None: ...
