"""Derivatives of steps, by numbers that carry them through the step's own equations.

A step from a start at (q, v) is taken in duals (`robosim.kernels.compiler.duals`): each number has
its derivatives beside it, seven directions at a time. The last iteration of Newton's method, which
has factors of its own, gives the solution the derivatives that the implicit function theorem
gives. So contacts, friction, limits, loops, servos and the read-out of the velocities are in them,
without an equation of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from robosim.compiled.kinds import CONE, DRY, LIMIT, RATE, TURN
from robosim.compiled.model import Model
from robosim.errors import ConvergenceError, OptionError
from robosim.kernels.compiler import PLAIN
from robosim.kernels.solve.status import CONVERGED
from robosim.simulation.controllers import PD
from robosim.simulation.formulation import Formulation
from robosim.simulation.linearizer import ContactMode, Linearization, Linearizer
from robosim.simulation.parameters import slopes_of
from robosim.simulation.readings import other_name
from robosim.simulation.simulation import Simulation
from robosim.validation import Array

if not PLAIN:
    from robosim.kernels.compiler.duals import DIRECTIONS
    from robosim.runtime.duals import DualStep, assign_numbers


class Linearizable(Formulation, Protocol):
    """A formulation that has derivatives of its steps."""

    @property
    def engine(self) -> Any: ...
    def is_like(self, other: object) -> bool: ...
    def linearizer(
        self, contact_speed: float | None, parameters: tuple[str, ...], pd: bool
    ) -> Linearizer: ...


def linearize(
    sim: Simulation | Linearizable | Sequence[Simulation] | Sequence[Linearizable],
    torques: ArrayLike | None = None,
    controller: PD | None = None,
    parameters: Sequence[str] = (),
    contact_speed: float | None = None,
) -> Linearization:
    """The next step of a simulation to first order, from a start at its q and v.

    Parameters
    ----------
    sim : Simulation, MinimalSimulation, BatchSimulation, or a sequence of simulations of one robot
        Stays as it is. Of several all arrays have a row for each in front, and `contacts` is a
        tuple for each.
    torques : (nu,) or (nv,) or None
        Held over the step; None takes those of the last step (`sim.torques`), or none with a
        controller.
    controller : PD or None
        Acts in the step: A is that of the closed loop.
    parameters : names
        See `robosim.derivatives.PARAMETERS`.
    contact_speed : float or None [m/s]
        Smooths contacts: the slack of one that is closed. Derivatives are those of the problem
        relaxed so; None takes the simulation's own, which is next to none. Not for a
        MinimalSimulation, in which nothing touches.

    Raises
    ------
    ConvergenceError
        If the step cannot be solved.
    OptionError
        For an unknown parameter, or one that is not part of the equations, for what is no
        simulation, or if kernels are compiled by plain numba.
    ControllerError
        For torques of a wrong shape, or a PD for another robot.
    """
    if PLAIN:
        raise OptionError(
            "derivatives of steps need numba's internals, which are switched off or of another "
            "version: unset ROBOSIM_PLAIN_NUMBA, or install a numba of the declared range"
        )
    if not (controller is None or isinstance(controller, PD)):
        raise OptionError(f"controller must be a PD or None, not {type(controller).__name__}")
    if contact_speed is not None and not contact_speed > 0.0:
        raise OptionError(f"contact_speed must be positive, not {contact_speed!r} m/s")
    given = contact_speed, tuple(parameters), controller is not None
    one: Any = sim
    if _is_simulation(one):
        return _linearizer_of(one, *given).at(one, torques, controller)
    sims = [one[i] for i in range(len(one))] if hasattr(one, "__getitem__") else None
    if not sims or not all(map(_is_simulation, sims)):
        raise OptionError(
            "linearize takes a Simulation, a MinimalSimulation, a BatchSimulation or a sequence of "
            f"simulations, not {type(sim).__name__}{' without any' if sims == [] else ''}"
        )
    first = sims[0]
    found = []
    for each in sims:
        # What is of the same robot and options shares memory.
        linearizer = _linearizer_of(first if first.is_like(each) else each, *given)
        found.append(linearizer.at(each, torques, controller))
    return stacked(found)


def _is_simulation(value: Any) -> bool:
    return isinstance(value, Simulation) or hasattr(value, "linearizer")


def _linearizer_of(
    sim: Any, contact_speed: float | None, parameters: tuple[str, ...], pd: bool
) -> Linearizer:
    known = _LINEARIZERS.setdefault(sim.engine, {})
    key = contact_speed, parameters, pd
    if key not in known:
        if isinstance(sim, Simulation):
            known[key] = MaximalLinearizer(sim, *key)
        else:
            known[key] = sim.linearizer(*key)
    return known[key]


_LINEARIZERS: WeakKeyDictionary[Any, dict[Any, Linearizer]] = WeakKeyDictionary()


def stacked(found: Sequence[Linearization]) -> Linearization:
    """Several, with a row for each in front."""
    arrays: dict[str, Any] = {
        name: np.stack([getattr(one, name) for one in found])
        for name in ("q", "v", "A", "B", "P", "margin")
    }
    contacts: Any = tuple(one.contacts for one in found)
    return replace(found[0], contacts=contacts, **arrays)


class MaximalLinearizer(Linearizer):
    """Memory for the derivatives of a `Simulation`'s steps."""

    def __init__(
        self, sim: Simulation, contact_speed: float | None, parameters: tuple[str, ...], pd: bool
    ) -> None:
        self._twin = sim.copy()
        engine = self._twin.engine
        if contact_speed is not None:
            options = engine.parts.options._replace(contact_speed=float(contact_speed))
            engine.hand_over(engine.parts._replace(options=options))
        robot = sim.robot
        super().__init__(robot, parameters, slopes_of(robot, engine.model_of, parameters))
        self._closes = bool(
            robot.loop_joints or robot.couplings or len(engine.parts.loads.motion) > 0
        )
        self._arc = sim.timestep if engine.parts.options.order == 2 else 0.0
        held = self._twin.held
        self._gains = held.no_gains.copy() if pd else held.no_gains[:0]
        # By what steps are solved with: another solver, or blocks of other pairs of bodies.
        self._steps: dict[int, tuple[Model, DualStep, DualStep | None]] = {}

    def steps(self) -> tuple[Model, DualStep, DualStep | None]:
        """See `Linearizer`; of the model that the twin has just been stepped by."""
        parts, robot = self._twin.parts, self.robot
        known = self._steps.get(id(parts.model))
        if known is None:
            sizes, rest = (robot.nq, robot.nv), (self._gains, self._closes)
            found = DualStep(parts, sizes, 2 * robot.nv + robot.nu, *rest)
            other = DualStep(parts, sizes, DIRECTIONS, *rest) if self.parameters else None
            known = self._steps[id(parts.model)] = parts.model, found, other
        return known

    def repeat(self) -> bool:
        """The compiled part of the last linearization once more; whether it was solved."""
        return self.steps()[1].take(self._arc) == CONVERGED

    def take(self, step: DualStep) -> None:
        """See `Linearizer`."""
        twin, on = self._twin, step.parts
        assign_numbers(twin.parts.memory.guesses, on.guesses)
        assign_numbers(twin.parts.loads, on.loads)
        if self._closes:
            held, goal, rate = self._fixed
            on.held[:] = held
            assign_numbers(goal, on.goal)
            assign_numbers(rate, on.rate)
        if step is self.steps()[2]:
            contacts = on.model.contacts
            on.work.slots[: len(contacts)] = contacts
        if step.take(self._arc) != CONVERGED:
            raise ConvergenceError(
                twin.time - twin.timestep,
                float(on.info["residual"][0, 0]),
                int(on.info["iterations"][0]),
                int(on.info["substeps"][0]),
                self.robot.bodies[int(on.info["worst_body"][0])].name,
                "It was solved, but not with its derivatives: try a larger contact_speed.",
            )

    def modes(self) -> tuple[ContactMode, ...]:
        """See `Linearizer`."""
        return contact_modes(self._twin)

    def solve(self, sim: Simulation, full: Array, controller: PD | None) -> tuple[Array, Array]:
        """See `Linearizer`; for what the solution is guessed from."""
        twin, robot = self._twin, self.robot
        q, v = sim.q, sim.v
        if self._closes:
            # As it closes loops.
            twin.set_state(q, v, time=sim.time)
            q, v = twin.q, twin.v
            self._fixed = twin.start.fixed(sim.time)
        else:
            twin.start.place(q, v, sim.time)
        begin = twin.parts.state.joints["mid"].copy()
        twin.parts.loads.external["w"] = sim.parts.loads.external["w"]
        if controller is None:
            # Without a look at how the step begins, which is where another one has ended.
            engine = twin.engine
            twin.held.hold(full[: robot.nv], "linearize was given")
            if len(twin.parts.loads.motion):
                engine.single.values.motions[:] = twin.motions_ahead(1)
            engine.advance_once(engine.single)
        else:
            twin.run(twin.timestep, controller)
        # The rates that the step has found, as guesses are made: none is left to be found.
        guesses = twin.parts.memory.guesses.joints
        guesses["slope"] = (twin.parts.state.joints["mid"] - begin) / (0.5 * twin.timestep)
        guesses["missed"] = 0.0
        return q, v


def contact_modes(sim: Simulation) -> tuple[ContactMode, ...]:
    """Modes of all contacts, limits and dry friction in the equations of the last step."""
    parts, robot, last = sim.parts, sim.robot, sim.last_step
    if last is None:
        return ()
    model, slots = parts.model, parts.work.slots
    scene = robot.touching_shapes() if model.collision is not None else []
    found = []
    for slot in np.flatnonzero(last.active):
        contact, c = slots[slot], last.contacts[slot]
        mass, kind = float(contact["mass"]), int(contact["kind"])
        pushes, friction = float(c["gamma"]) / mass, 0.0
        if model.facets is None:
            friction = float(np.hypot(*c["beta"][:2]))
        else:
            friction = float(np.linalg.norm(c["beta"][: len(model.facets)] @ model.facets))
        left = (float(contact["mu"]) * float(c["gamma"]) - friction) / mass
        if kind in (LIMIT, RATE, CONE, TURN):
            name = robot.joints[int(contact["joint"])].name
            other = "velocity limit" if kind == RATE else "limit"
            mode = "closed" if pushes > c["s"] else "open"
            found.append(ContactMode(name, other, mode, abs(pushes - float(c["s"]))))
        elif kind == DRY:
            name = robot.joints[int(contact["joint"])].name
            left = (float(c["gamma"]) - friction) / mass
            mode = "stick" if left > c["psi"] else "slide"
            found.append(ContactMode(name, "friction", mode, abs(left - float(c["psi"]))))
        elif int(contact["resists"]) == 0:
            name = robot.bodies[int(contact["body"])].name
            other = other_name(robot, model, scene, int(contact["other"]), int(slot))
            if pushes <= c["s"]:
                found.append(ContactMode(name, other, "open", float(c["s"]) - pushes))
                continue
            mode = "stick" if left > c["psi"] else "slide"
            margin = min(pushes - float(c["s"]), abs(left - float(c["psi"])))
            found.append(ContactMode(name, other, mode, margin))
    return tuple(found)
