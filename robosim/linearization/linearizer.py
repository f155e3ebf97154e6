"""Common parts of derivatives of steps, for all formulations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robosim.control.controllers import PD, check_torques
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError
from robosim.formulation import Formulation
from robosim.validation import Array


@dataclass(frozen=True)
class ContactMode:
    """The mode of a contact, a limit or dry friction in a step.

    Attributes
    ----------
    body, other : str
        Two bodies, or a body and an obstacle or "ground". For a joint or tendon: its name, and
        "limit", "velocity limit" or "friction".
    mode : str
        "open", "stick" or "slide"; for limits "open" or "closed".
    margin : float [m/s]
        Distance to the nearest other mode, as the change of a velocity, or of an impulse divided
        by the mass on which it acts.
    inside : bool
        Whether the step began with an overlap. Overlapping bodies are pushed apart slowly, so
        derivatives by positions differ from those of bodies that only touch.
    """

    body: str
    other: str
    mode: str
    margin: float
    inside: bool


@dataclass(frozen=True)
class Linearization:
    """A step to first order: ``dx' = A dx + B du + P dp`` for ``x = (q, v)`` in the tangent.

    The tangent (nv,) is that of `Dynamics.difference`: free rotations in child axes.

    Attributes
    ----------
    q, v : (nq,), (nv,)
        State after the step, with contacts exactly as smooth as `contact_speed`; those of the
        simulation are at most that smooth.
    A : (2 nv, 2 nv)
    B : (2 nv, nu)
        Derivatives by torques of the actuated coordinates (`inputs`), constant over the step.
    P : (2 nv, np)
        Derivatives by the `parameters`.
    inputs, parameters : tuple of str
    contacts : tuple of ContactMode
        Modes of all contacts and limits in the step's equations; computed on access.
    margin : float or (n,) [m/s]
        Smallest margin of the contacts; inf without contacts.
    modes : callable
        Function that computes the contacts.
    """

    q: Array
    v: Array
    A: Array
    B: Array
    P: Array
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    modes: Callable[[], Any] = field(repr=False, compare=False)

    @cached_property
    def contacts(self) -> tuple[ContactMode, ...]:
        """Modes of contacts and limits; for several steps, a tuple for each."""
        found: tuple[ContactMode, ...] = self.modes()
        return found

    @cached_property
    def margin(self) -> float | Array:
        """Smallest margin of the contacts; inf without contacts."""
        if self.q.ndim == 1:
            return least_margin(self.contacts)
        steps: Any = self.contacts
        return np.array([least_margin(modes) for modes in steps])


def least_margin(modes: Sequence[ContactMode]) -> float:
    """The smallest margin of all contacts; inf without contacts."""
    return min((one.margin for one in modes), default=np.inf)


def stacked(found: Sequence[Linearization]) -> Linearization:
    """Several linearizations as one, with a first axis for these."""
    arrays: dict[str, Any] = {
        name: np.stack([getattr(one, name) for one in found]) for name in ("q", "v", "A", "B", "P")
    }
    return replace(found[0], modes=partial(modes_of, [one.modes for one in found]), **arrays)


def modes_of(found: Sequence[Callable[[], Any]]) -> tuple[Any, ...]:
    """The results of several functions."""
    return tuple(one() for one in found)


Sim = TypeVar("Sim", bound=Formulation)


class Linearizer(ABC, Generic[Sim]):
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
        self._slopes = slopes

    @abstractmethod
    def at(self, sim: Sim, torques: ArrayLike | None, controller: PD | None) -> Linearization:
        """Linearize a step from the simulation's state."""

    def of_all(
        self, sims: Sequence[Sim], torques: Sequence[ArrayLike | None], controller: PD | None
    ) -> list[Linearization | ConvergenceError]:
        """Linearize steps of similar simulations, each with its torques; errors are returned."""
        found: list[Linearization | ConvergenceError] = []
        for sim, tau in zip(sims, torques, strict=True):
            try:
                found.append(self.at(sim, tau, controller))
            except ConvergenceError as error:
                found.append(error)
        return found

    @abstractmethod
    def repeat(self) -> bool:
        """Repeat the compiled part of the last linearization; returns whether it succeeded."""

    def _forces(self, sim: Formulation, torques: ArrayLike | None, controller: PD | None) -> Array:
        """Forces on all coordinates over the step."""
        forces = sim.torques if torques is None and controller is None else torques
        return check_torques(self.robot, forces, "linearize was given")


class Linearizable(Formulation, Protocol):
    """A formulation that makes the memory for derivatives of its steps itself."""

    @property
    def engine(self) -> Any: ...
    def is_like(self, other: object) -> bool: ...
    def linearizer(
        self, contact_speed: float | None, parameters: tuple[str, ...], pd: bool
    ) -> Linearizer[Any]: ...


def tangent_indices(robot: Mechanism) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Indices in v and in q of each plain coordinate, and the first ones of each free rotation."""
    plain: list[tuple[int, int]] = []
    turns: list[tuple[int, int]] = []
    for joint, at, v in zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False):
        n = joint.numbers
        plain += zip(range(v, v + n), range(at, at + n), strict=True)
        if joint.has_quaternion:
            turns.append((v + n, at + n))
    return plain, turns


class Tangent:
    """Conversion between rates of q (nq,) and velocities of the tree (nv,)."""

    def __init__(self, robot: Mechanism) -> None:
        self._shape = robot.nq, robot.nv
        plain, self._turns = tangent_indices(robot)
        self._v, self._q = np.array(plain, dtype=np.int64).reshape(-1, 2).T

    def rates(self, q: Array) -> Array:
        """(nq, nv): maps velocities to rates of q."""
        out = np.zeros(self._shape)
        out[self._q, self._v] = 1.0
        for v, at in self._turns:
            w, x, y, z = 0.5 * q[at : at + 4]
            out[at : at + 4, v : v + 3] = (-x, -y, -z), (w, -z, y), (z, w, -x), (-y, x, w)
        return out

    def velocities(self, q: Array, rates: Array) -> Array:
        """Velocities (n, nv) for rates of q (n, nq)."""
        out = np.empty((len(rates), self._shape[1]))
        out[:, self._v] = rates[:, self._q]
        for v, at in self._turns:
            w, x, y, z = 2.0 * q[at : at + 4]
            turn = np.array(((-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w)))
            out[:, v : v + 3] = rates[:, at : at + 4] @ turn.T
        return out
