"""What derivatives of steps have in common, in whatever coordinates steps are taken."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler import PLAIN
from robosim.simulation.controllers import PD, check_torques
from robosim.simulation.formulation import Formulation
from robosim.validation import Array

if not PLAIN:
    from robosim.kernels.compiler.duals import DIRECTIONS
    from robosim.runtime.duals import assign_numbers


@dataclass(frozen=True)
class ContactMode:
    """How a contact, a limit or dry friction was in the step.

    Attributes
    ----------
    body, other : str
        Two bodies, or a body and an obstacle or "ground"; of coordinates the name and "limit",
        "velocity limit" or "friction".
    mode : str
        "open", "stick" or "slide"; of limits "open" or "closed".
    margin : float [m/s]
        How far the mode is from another one: the smallest change of a velocity, or of an impulse
        over the mass that it acts on, that leads there.
    """

    body: str
    other: str
    mode: str
    margin: float


@dataclass(frozen=True)
class Linearization:
    """A step to first order: ``dx' = A dx + B du + P dp`` for ``x = (q, v)`` in the tangent.

    The tangent (nv,) is that of `Dynamics.difference`: free rotations in child axes.

    Attributes
    ----------
    q, v : (nq,), (nv,)
        Where the step leads, with contacts that are exactly as smooth as `contact_speed` asks for;
        those of the simulation are at most that smooth.
    A : (2 nv, 2 nv)
    B : (2 nv, nu)
        By the torques of the actuated coordinates (`inputs`), held over the step.
    P : (2 nv, np)
        By the `parameters`.
    inputs, parameters : tuple of str
    contacts : tuple of ContactMode
        Of all that was in the step's equations.
    margin : float or (n,) [m/s]
        The least of theirs; inf without any.
    """

    q: Array
    v: Array
    A: Array
    B: Array
    P: Array
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    contacts: tuple[ContactMode, ...]
    margin: float


class Along(Protocol):
    """A step in numbers that have derivatives; see `robosim.runtime.duals.DualParts`."""

    @property
    def model(self) -> Any: ...
    @property
    def begins(self) -> Array: ...
    @property
    def along(self) -> Array: ...
    @property
    def ends(self) -> Array: ...
    @property
    def slopes(self) -> Array: ...
    @property
    def gains(self) -> NDArray[np.void]: ...


class Taken(Protocol):
    """What takes such a step."""

    @property
    def parts(self) -> Along: ...


class Linearizer(ABC):
    """Memory for the derivatives of steps of one robot with the same options.

    Parameters
    ----------
    robot : Mechanism
    parameters : tuple of str
    slopes : models
        Derivatives of the model's numbers by each parameter.
    """

    def __init__(self, robot: Mechanism, parameters: tuple[str, ...], slopes: list[Any]) -> None:
        self.robot, self.parameters = robot, parameters
        self._slopes, self._tangent = slopes, Tangent(robot)

    @abstractmethod
    def solve(self, sim: Any, full: Array, controller: PD | None) -> tuple[Array, Array]:
        """Take the step in plain numbers; the q and v that it begins with."""

    @abstractmethod
    def steps(self) -> tuple[Any, Taken, Taken | None]:
        """The model of the step that has been solved, and this step with derivatives.

        The last one is of parameters: by itself, as it is the model that changes with them.
        """

    @abstractmethod
    def take(self, step: Any) -> None:
        """Take a step from where its parts begin, or raise a ConvergenceError."""

    @abstractmethod
    def modes(self) -> tuple[ContactMode, ...]:
        """Modes of the contacts in the step that has been solved."""

    def at(
        self, sim: Formulation, torques: ArrayLike | None, controller: PD | None
    ) -> Linearization:
        """The step from where the simulation is."""
        robot = self.robot
        forces = sim.torques if torques is None and controller is None else torques
        full = check_torques(robot, forces, "linearize was given")
        q, v = self.solve(sim, full, controller)
        model, step, other = self.steps()
        base = 2 * robot.nv

        def changes(of: Taken) -> Array:
            on = of.parts
            if controller is not None:
                on.gains[:] = controller.gains
                if controller.motion is not None:
                    on.gains["target"] = controller.targets([sim.time])[0]
            on.begins[:] = 0.0
            on.begins[: len(q) + len(v)] = *q, *v
            on.begins[len(q) + len(v) :][: len(full)] = full
            self.take(of)
            turned = self._tangent.velocities(on.ends[: robot.nq], on.slopes[:, : robot.nq])
            return np.hstack((turned, on.slopes[:, robot.nq :]))

        along = step.parts.along
        along[: robot.nv, : robot.nq] = self._tangent.rates(q).T
        along[range(robot.nv, base), range(robot.nq, robot.nq + robot.nv)] = 1.0
        columns = robot.nq + robot.nv + np.asarray(robot.actuated, dtype=np.int64)
        along[range(base, base + robot.nu), columns] = 1.0
        rows = changes(step)
        ends = step.parts.ends
        modes = self.modes()
        return Linearization(
            ends[: robot.nq].copy(),
            ends[robot.nq :].copy(),
            np.ascontiguousarray(rows[:base].T),
            np.ascontiguousarray(rows[base:].T),
            self._by_parameters(model, other, changes),
            tuple(robot.actuated_names),
            self.parameters,
            modes,
            min((one.margin for one in modes), default=np.inf),
        )

    def _by_parameters(
        self, model: Any, other: Taken | None, changes: Callable[[Taken], Array]
    ) -> Array:
        """(2 nv, np) by the parameters, as many at a time as there are directions."""
        P = np.zeros((2 * self.robot.nv, len(self.parameters)))
        for begin in range(0, len(self.parameters), DIRECTIONS):
            assert other is not None
            chosen = self._slopes[begin : begin + DIRECTIONS]
            assign_numbers(model, other.parts.model)
            for k, slopes in enumerate(chosen):
                assign_numbers(model, other.parts.model, slopes, k)
            P[:, begin : begin + len(chosen)] = changes(other)[: len(chosen)].T
        return P


class Tangent:
    """Between rates of q (nq,) and the velocities of the tree (nv,)."""

    def __init__(self, robot: Mechanism) -> None:
        self._shape = robot.nq, robot.nv
        plain: list[tuple[int, int]] = []
        turns: list[tuple[int, int]] = []
        for joint, at, v in zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False):
            n = joint.numbers
            plain += zip(range(v, v + n), range(at, at + n), strict=True)
            if joint.has_quaternion:
                turns.append((v + n, at + n))
        self._v, self._q = np.array(plain, dtype=np.int64).reshape(-1, 2).T
        self._turns = tuple(turns)

    def rates(self, q: Array) -> Array:
        """(nq, nv): rates of q by velocities."""
        out = np.zeros(self._shape)
        out[self._q, self._v] = 1.0
        for v, at in self._turns:
            w, x, y, z = 0.5 * q[at : at + 4]
            out[at : at + 4, v : v + 3] = (-x, -y, -z), (w, -z, y), (z, w, -x), (-y, x, w)
        return out

    def velocities(self, q: Array, rates: Array) -> Array:
        """Velocities (n, nv) of rates of q (n, nq)."""
        out = np.empty((len(rates), self._shape[1]))
        out[:, self._v] = rates[:, self._q]
        for v, at in self._turns:
            w, x, y, z = 2.0 * q[at : at + 4]
            turn = np.array(((-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w)))
            out[:, v : v + 3] = rates[:, at : at + 4] @ turn.T
        return out
