"""Derivatives of steps in joint coordinates.

Those of Galerkin integrators for hinges and slides are found in closed form
(`robosim.kernels.minimal.columns`). Of all others the step is solved in plain numbers. Then its
equations are evaluated in dual numbers, in seven directions at a time, with the factors of its
solution. Either takes O(n^2) for a chain of n links, as [Fan2018, Algorithm 2]. See
`robosim.linearization.linearizer`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.compiled.records.step import INFO
from robosim.control.controllers import PD
from robosim.dynamics import Dynamics
from robosim.errors import OptionError
from robosim.kernels.compiler.duals import DIRECTIONS
from robosim.kernels.status import CONVERGED
from robosim.linearization.linearizer import Linearizable, Linearization, Linearizer, Tangent
from robosim.linearization.parameters import slopes_of
from robosim.minimal.columns import ColumnStep
from robosim.minimal.curvature import CurvedStep
from robosim.minimal.duals import MinimalDualStep
from robosim.minimal.engine import Engine
from robosim.runtime.duals import assign_numbers
from robosim.simulation.checkpoint import Counters
from robosim.simulation.diagnosis import unsolved
from robosim.simulation.loads import Held
from robosim.validation import Array

NOT_THERE = ("friction", "dry_friction")  # kinds of parameters that are not part of the equations
STEP = 3e-3  # [rad, m, m/s, N m and so on] of differences, whose error is of its sixth power
PLACES = ((1, 45.0), (2, -9.0), (3, 1.0))  # of these, on either side, and factors over 60


def check_derivatives(contact_speed: float | None, parameters: tuple[str, ...]) -> None:
    """Raise errors for derivatives that are not available; see `MinimalSimulation.linearizer`."""
    if contact_speed is not None:
        raise OptionError(
            f"contact_speed ({contact_speed!r} m/s) smooths contacts, which a MinimalSimulation "
            "does not have: leave it out, or use robosim.Simulation"
        )
    for name in parameters:
        if name.partition(":")[0] in NOT_THERE:
            raise OptionError(
                f"'{name}' is not part of the equations of a MinimalSimulation, which has neither "
                "contacts nor dry friction: use robosim.Simulation"
            )


@dataclass(frozen=True)
class There:
    """A simulation in another state."""

    sim: Linearizable
    q: Array
    v: Array

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sim, name)


class MinimalLinearizer(Linearizer[Linearizable]):
    """Memory for the derivatives of a `MinimalSimulation`'s steps.

    Parameters
    ----------
    engine : Engine
        Not changed.
    held : Held
        The inputs that the simulation holds.
    parameters : tuple of str
    pd : bool
        Whether a PD acts.
    """

    def __init__(self, engine: Engine, held: Held, parameters: tuple[str, ...], pd: bool) -> None:
        super().__init__(
            engine.robot, parameters, slopes_of(engine.robot, engine.model_of, parameters)
        )
        self._tangent = Tangent(engine.robot)
        self._twin = engine.copied()
        parts, robot = self._twin.parts, engine.robot
        self._held = held.beside(parts.loads)  # type: ignore[arg-type]
        self._gains = self._held.gains if pd else self._held.no_gains[:0]
        self._info = np.zeros(1, dtype=INFO)
        self._columns: ColumnStep | None = None
        self._curved: CurvedStep | None = None
        if not pd and ColumnStep.may_take(parts):
            self._columns = ColumnStep(parts, np.asarray(robot.actuated, dtype=np.int64))
        self._begins = np.zeros(robot.nq), np.zeros(robot.nv)
        self._step = MinimalDualStep(parts, 2 * robot.nv + robot.nu, self._gains)
        self._other = MinimalDualStep(parts, DIRECTIONS, self._gains) if parameters else None

    def _begin(self, sim: Linearizable, full: Array, controller: PD | None) -> tuple[Array, Array]:
        """Let the twin begin where the step does; returns its q and v."""
        twin, q, v = self._twin, sim.q, sim.v
        state, loads = twin.parts.state, twin.parts.loads
        state.q[:], state.v[:] = q, v
        loads.external["w"] = sim.engine.parts.loads.external["w"]
        loads.tau[:] = full
        self._held.control_by(controller)
        if controller is not None:
            controller.aim(self._gains, sim.time)
        twin.counters.assign(Counters(sim.time))
        return q, v

    def _solve(self, sim: Linearizable, full: Array, controller: PD | None) -> tuple[Array, Array]:
        """Take the step in plain numbers, with its factors; returns the q and v before the step."""
        twin, (q, v) = self._twin, self._begin(sim, full, controller)
        held = twin.parts.work.multipliers
        if held is not None and twin.calls.start(twin.address) == 0:
            for step in (self._step, self._other):
                if step is not None:
                    step.begin(held)
            twin.parts.state.q[:], twin.parts.state.v[:] = q, v
        if twin.calls.solve(twin.address, self._gains, self._info) != CONVERGED:
            raise twin.failure(self._info[0])
        return q, v

    def _take(self, step: MinimalDualStep) -> None:
        """Take a step from the start that is set in its parts."""
        assign_numbers(self._twin.parts.loads, step.parts.loads)
        if step.take() != CONVERGED:
            hint = "It was solved, but not with its derivatives: try a smaller timestep."
            raise unsolved(self.robot, self._twin.time, self._info[0], hint)

    def repeat(self) -> bool:
        """Repeat the compiled part of the last linearization; returns whether it succeeded."""
        if self._columns is not None and not self.parameters:
            state = self._twin.parts.state
            state.q[:], state.v[:] = self._begins
            return self._columns.take(self._info) == CONVERGED
        return self._step.take() == CONVERGED

    def at(
        self, sim: Linearizable, torques: ArrayLike | None, controller: PD | None
    ) -> Linearization:
        """See `Linearizer`."""
        robot, base = self.robot, 2 * self.robot.nv
        full = self._forces(sim, torques, controller)
        if self._columns is not None and not self.parameters:
            return self._in_closed_form(sim, full)
        q, v = self._solve(sim, full, controller)

        def changes(of: MinimalDualStep) -> Array:
            on = of.parts
            if controller is not None:
                on.gains[:] = controller.gains
                controller.aim(on.gains, sim.time)
            on.begins[:] = 0.0
            on.begins[: len(q) + len(v)] = *q, *v
            on.begins[len(q) + len(v) :][: len(full)] = full
            self._take(of)
            turned = self._tangent.velocities(on.ends[: robot.nq], on.slopes[:, : robot.nq])
            return np.hstack((turned, on.slopes[:, robot.nq :]))

        along = self._step.parts.along
        along[: robot.nv, : robot.nq] = self._tangent.rates(q).T
        along[range(robot.nv, base), range(robot.nq, robot.nq + robot.nv)] = 1.0
        columns = robot.nq + robot.nv + np.asarray(robot.actuated, dtype=np.int64)
        along[range(base, base + robot.nu), columns] = 1.0
        rows = changes(self._step)
        ends = self._step.parts.ends
        return Linearization(
            ends[: robot.nq].copy(),
            ends[robot.nq :].copy(),
            np.ascontiguousarray(rows[:base].T),
            np.ascontiguousarray(rows[base:].T),
            self._by_parameters(changes),
            tuple(robot.actuated_names),
            self.parameters,
            tuple,  # there are no contacts
        )

    def _in_closed_form(self, sim: Linearizable, full: Array) -> Linearization:
        """By `ColumnStep`, which takes the step itself."""
        assert self._columns is not None
        return self._taken(self._columns, sim, full)

    def _taken(self, step: ColumnStep, sim: Linearizable, full: Array) -> Linearization:
        twin, base = self._twin, 2 * self.robot.nv
        self._begins = self._begin(sim, full, None)
        if step.take(self._info) != CONVERGED:
            raise twin.failure(self._info[0])
        changes, state = step.changes, twin.parts.state
        return Linearization(
            state.q.copy(),
            state.v.copy(),
            changes[:base].T.copy(),
            changes[base:].T.copy(),
            np.zeros((base, 0)),
            tuple(self.robot.actuated_names),
            (),
            tuple,  # there are no contacts
        )

    def second(
        self, sim: Linearizable, multipliers: Array, torques: ArrayLike | None
    ) -> tuple[Linearization, Array]:
        """A step to first order, and second derivatives (m, 2 nv + nu, 2 nv + nu).

        The latter weighed by each row of multipliers (m, 2 nv).
        """
        full = self._forces(sim, torques, None)
        if self._columns is None or not CurvedStep.may_take(self._twin.parts):
            forces = full[: self.robot.nv]
            return self.at(sim, forces, None), self._by_differences(sim, multipliers, forces)
        if self._curved is None:
            motors = np.asarray(self.robot.actuated, dtype=np.int64)
            self._curved = CurvedStep(self._twin.parts, motors)
        first = self._taken(self._curved.step, sim, full)
        found = [self._curved.weighed(row) for row in multipliers]
        size = 2 * self.robot.nv + self.robot.nu
        return first, np.array(found).reshape(-1, size, size)

    def _by_differences(self, sim: Linearizable, multipliers: Array, full: Array) -> Array:
        """Of first derivatives at states and torques on either side.

        In coordinates along which a free rotation turns at a constant rate, second derivatives are
        the symmetric part of what these change.
        """
        robot, motors = self.robot, np.asarray(self.robot.actuated, dtype=np.int64)
        nv, size = robot.nv, 2 * robot.nv + robot.nu
        q, v, move = sim.q, sim.v, Dynamics(robot).integrate
        found = np.zeros((len(multipliers), size, size))

        def weighed(change: Array) -> Array:
            tau = full.copy()
            tau[motors] += change[2 * nv :]
            there = There(sim, move(q, change[:nv]), v + change[nv : 2 * nv])
            first = self.at(there, tau, None)
            return np.asarray(multipliers @ np.hstack((first.A, first.B)))

        for k in range(size):
            for places, factor in PLACES:
                change = np.zeros(size)
                change[k] = places * STEP
                found[:, k] += factor / (60.0 * STEP) * (weighed(change) - weighed(-change))
        return 0.5 * (found + found.transpose(0, 2, 1))

    def _by_parameters(self, changes: Callable[[MinimalDualStep], Array]) -> Array:
        """Derivatives (2 nv, np) by the parameters, several directions at a time."""
        P = np.zeros((2 * self.robot.nv, len(self.parameters)))
        for begin in range(0, len(self.parameters), DIRECTIONS):
            assert self._other is not None
            chosen = self._slopes[begin : begin + DIRECTIONS]
            model = self._twin.parts.model
            assign_numbers(model, self._other.parts.model)
            for k, slopes in enumerate(chosen):
                assign_numbers(model, self._other.parts.model, slopes, k)
            P[:, begin : begin + len(chosen)] = changes(self._other)[: len(chosen)].T
        return P
