"""Derivatives of steps in joint coordinates: by the step's own equations in numbers that have them.

The step is solved in plain numbers, and then followed along seven directions at a time, with the
factors of its solution. So the derivatives of a chain of n links take O(n^2), as in [Fan2018,
Algorithms 2 and 3], for all integrators alike. See `robosim.simulation.linearizer`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim.compiled.records.step import INFO
from robosim.errors import ConvergenceError, OptionError
from robosim.kernels.compiler import PLAIN
from robosim.kernels.solve.status import CONVERGED
from robosim.minimal.engine import Engine
from robosim.simulation.checkpoint import Counters
from robosim.simulation.controllers import PD
from robosim.simulation.linearizer import ContactMode, Linearizer
from robosim.simulation.loads import Held
from robosim.simulation.parameters import slopes_of
from robosim.validation import Array

if not PLAIN:
    from robosim.kernels.compiler.duals import DIRECTIONS
    from robosim.minimal.duals import MinimalDualStep
    from robosim.runtime.duals import assign_numbers

NOT_THERE = ("friction", "dry_friction")  # kinds of parameters of contacts and dry friction


def check_derivatives(contact_speed: float | None, parameters: tuple[str, ...]) -> None:
    """Refuse what joint coordinates have no derivatives by; see `MinimalSimulation.linearizer`."""
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


class MinimalLinearizer(Linearizer):
    """Memory for the derivatives of a `MinimalSimulation`'s steps.

    Parameters
    ----------
    engine : Engine
        Stays as it is.
    held : Held
        Beside it.
    parameters : tuple of str
    pd : bool
        Whether a PD acts.
    """

    def __init__(self, engine: Engine, held: Held, parameters: tuple[str, ...], pd: bool) -> None:
        super().__init__(
            engine.robot, parameters, slopes_of(engine.robot, engine.model_of, parameters)
        )
        self._twin = engine.copied()
        parts, robot = self._twin.parts, engine.robot
        self._held = held.beside(parts.loads)  # type: ignore[arg-type]
        self._gains = self._held.gains if pd else self._held.no_gains[:0]
        self._info = np.zeros(1, dtype=INFO)
        self._step = MinimalDualStep(parts, 2 * robot.nv + robot.nu, self._gains)
        self._other = MinimalDualStep(parts, DIRECTIONS, self._gains) if parameters else None

    def solve(self, sim: Any, full: Array, controller: PD | None) -> tuple[Array, Array]:
        """See `Linearizer`; it also leaves the factors."""
        twin, q, v = self._twin, sim.q, sim.v
        state, loads = twin.parts.state, twin.parts.loads
        state.q[:], state.v[:] = q, v
        loads.external["w"] = sim.engine.parts.loads.external["w"]
        loads.tau[:] = full
        self._held.control_by(controller)
        if controller is not None and controller.motion is not None:
            self._gains["target"] = controller.targets([sim.time])[0]
        twin.counters.assign(Counters(sim.time))
        if twin.calls.solve(twin.address, self._gains, self._info) != CONVERGED:
            raise twin.failure(self._info[0])
        return q, v

    def steps(self) -> tuple[Any, MinimalDualStep, MinimalDualStep | None]:
        """See `Linearizer`."""
        return self._twin.parts.model, self._step, self._other

    def take(self, step: MinimalDualStep) -> None:
        """See `Linearizer`."""
        assign_numbers(self._twin.parts.loads, step.parts.loads)
        if step.take() != CONVERGED:
            info = self._info[0]
            raise ConvergenceError(
                self._twin.time,
                float(info["residual"]),
                int(info["iterations"]),
                1,
                self.robot.bodies[int(info["worst_body"])].name,
                "It was solved, but not with its derivatives: try a smaller timestep.",
            )

    def repeat(self) -> bool:
        """The compiled part of the last linearization once more; whether it was solved."""
        return self._step.take() == CONVERGED

    def modes(self) -> tuple[ContactMode, ...]:
        """None, as nothing touches."""
        return ()
