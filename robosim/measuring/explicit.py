"""Explicit Runge-Kutta methods in joint coordinates, which the papers compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import OptionError, StateError
from robosim.kinematics.kinematics import Kinematics

Array = NDArray[np.float64]


class Tableau(NamedTuple):
    """Coefficients of a method whose stages need only the stage before.

    Attributes
    ----------
    label : str
    steps : (stages - 1,)
        Part of the time step at which each later stage is evaluated, by the rates of the one
        before.
    weights : (stages,)
        Of the rates of all stages.
    """

    label: str
    steps: tuple[float, ...]
    weights: tuple[float, ...]


METHODS = {
    "euler": Tableau("explicit Euler", (), (1.0,)),
    "heun": Tableau("Heun's method", (1.0,), (1 / 2, 1 / 2)),
    "rk4": Tableau("Runge-Kutta of order 4", (1 / 2, 1 / 2, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
}


class ExplicitRun:
    """A mechanism on hinges and slides, stepped by an explicit method in joint coordinates.

    Such coordinates form a vector space, in which the method of Munthe-Kaas is the one of Runge and
    Kutta. Loops are closed by accelerations alone, as in [Bruedigam2023, Sec. 5.1], so that errors
    of the integrator open them.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    method : str
        A key of `METHODS`.

    Attributes
    ----------
    q, v : (nv,)
        Joint coordinates and velocities.
    failed_at : float or None [s]
        Time of a state from which accelerations cannot be computed, as its loops are open by more
        than 1 mm, or as it is not finite. No step is taken after it.

    Raises
    ------
    OptionError
        For an unknown method, or for joints whose coordinates are no vector.
    """

    def __init__(self, robot: Mechanism, timestep: float, method: str) -> None:
        if method not in METHODS:
            raise OptionError(f"unknown method '{method}' (known: {', '.join(METHODS)})")
        if robot.nq != robot.nv:
            raise OptionError("explicit methods step hinges and slides only")
        self.robot, self.timestep, self._method = robot, timestep, METHODS[method]
        self._dynamics, self._kinematics = Dynamics(robot), Kinematics(robot)
        number = {body.name: i for i, body in enumerate(robot.bodies)}
        self._loops = [
            tuple(
                (None if body is None else number[body], np.asarray(position))
                for body, position in (
                    (joint.parent, joint.parent_position),
                    (joint.child, joint.child_position),
                )
            )
            for joint in robot.loop_joints
        ]
        self._none = np.zeros(robot.nv)
        self.set_state(np.asarray(robot.home))

    def set_state(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Start from q and v (nv,), at rest without v."""
        self.q = np.array(q, dtype=float)
        self.v = np.zeros(self.robot.nv) if v is None else np.array(v, dtype=float)
        self._steps = 0
        self.failed_at: float | None = None

    @property
    def time(self) -> float:
        """Time [s]."""
        return self._steps * self.timestep

    def energy(self) -> float:
        """Kinetic and potential energy [J]."""
        return float(self._dynamics.energy(self.q, self.v))

    def closure(self) -> float:
        """Largest distance of two points that a joint of a loop holds together [m]."""
        self._kinematics.move_to(self.q)
        x, R = self._kinematics.x, self._kinematics.R
        ends = [
            [point if body is None else x[body] + R[body] @ point for body, point in loop]
            for loop in self._loops
        ]
        return max((float(np.linalg.norm(one - other)) for one, other in ends), default=0.0)

    def step(self, steps: int = 1) -> bool:
        """Take some time steps; False from the first one on that fails."""
        for _ in range(steps):
            if self.failed_at is None:
                self._step()
        return self.failed_at is None

    def _step(self) -> None:
        start = np.stack((self.q, self.v))
        try:
            rates = [self._rates(start)]
            for part in self._method.steps:
                rates.append(self._rates(start + part * self.timestep * rates[-1]))
        except StateError:
            self.failed_at = self.time
            return
        self.q, self.v = start + self.timestep * np.tensordot(self._method.weights, rates, 1)
        self._steps += 1

    def _rates(self, state: Array) -> Array:
        q, v = state
        if self._loops:
            a, _ = self._dynamics.constrained_acceleration(q, v, self._none)
        else:
            a = self._dynamics.forward_acceleration(q, v, self._none)
        return np.stack((v, a))

    def sample(
        self, steps: int, every: int, *reads: Callable[[], Any]
    ) -> tuple[Array, list[NDArray[Any]]]:
        """Times [s] and values of the functions, at the start and after every `every` steps."""
        t, values = [self.time], [[read() for read in reads]]
        while self._steps < steps and self.step(every):
            t.append(self.time)
            values.append([read() for read in reads])
        return np.array(t), [np.array(column) for column in zip(*values, strict=True)]
