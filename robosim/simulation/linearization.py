"""Derivatives of steps, by numbers that carry them through the step's own equations.

A step from a start at (q, v) is taken in duals (`robosim.kernels.compiler.duals`): each number has
its derivatives beside it, seven directions at a time. The last iteration of Newton's method, which
has factors of its own, gives the solution the derivatives that the implicit function theorem
gives. So contacts, friction, limits, loops, servos and the read-out of the velocities are in them,
without an equation of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from robosim.compiled.kinds import CONE, DRY, LIMIT, RATE, TURN
from robosim.compiled.model import Model
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError, OptionError
from robosim.kernels.compiler import PLAIN
from robosim.kernels.solve.status import CONVERGED
from robosim.simulation.controllers import PD, check_torques
from robosim.simulation.engine import Engine
from robosim.simulation.parameters import slopes_of
from robosim.simulation.readings import other_name
from robosim.simulation.simulation import Simulation
from robosim.validation import Array

if not PLAIN:
    from robosim.kernels.compiler.duals import DIRECTIONS
    from robosim.runtime.duals import DualStep, assign_numbers


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


def linearize(
    sim: Simulation | Sequence[Simulation],
    torques: ArrayLike | None = None,
    controller: PD | None = None,
    parameters: Sequence[str] = (),
    contact_speed: float | None = None,
) -> Linearization:
    """The next step of a simulation to first order, from a start at its q and v.

    Parameters
    ----------
    sim : Simulation, or BatchSimulation, or a sequence of simulations of one robot
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
        relaxed so; None takes the simulation's own, which is next to none.

    Raises
    ------
    ConvergenceError
        If the step cannot be solved.
    OptionError
        For an unknown parameter, for what is no simulation in maximal coordinates, or if kernels
        are compiled by plain numba.
    """
    if PLAIN:
        raise OptionError(
            "derivatives of steps need numba's internals, which are switched off or of another "
            "version: unset ROBOSIM_PLAIN_NUMBA, or install a numba of the declared range"
        )
    if not (isinstance(sim, Simulation) or hasattr(sim, "__getitem__")):
        raise OptionError(
            "linearize takes a Simulation, a BatchSimulation or a sequence of simulations, not "
            f"{type(sim).__name__}"
        )
    one = sim if isinstance(sim, Simulation) else sim[0]
    known = _LINEARIZERS.setdefault(one.engine, {})
    key = contact_speed, tuple(parameters), controller is not None
    if key not in known:
        known[key] = Linearizer(one, *key)
    if isinstance(sim, Simulation):
        return known[key].at(sim, torques, controller)
    found = []
    for each in (sim[i] for i in range(len(sim))):
        if each.robot is not one.robot:
            return stacked(
                [linearize(sim[i], torques, controller, *key[1::-1]) for i in range(len(sim))]
            )
        found.append(known[key].at(each, torques, controller))
    return stacked(found)


def stacked(found: Sequence[Linearization]) -> Linearization:
    """Several, with a row for each in front."""
    arrays: dict[str, Any] = {
        name: np.stack([getattr(one, name) for one in found])
        for name in ("q", "v", "A", "B", "P", "margin")
    }
    contacts: Any = tuple(one.contacts for one in found)
    return replace(found[0], contacts=contacts, **arrays)


class Linearizer:
    """Memory for the derivatives of a simulation's steps."""

    def __init__(
        self, sim: Simulation, contact_speed: float | None, parameters: tuple[str, ...], pd: bool
    ) -> None:
        self.parameters, self._twin = parameters, sim.copy()
        engine = self._twin.engine
        if contact_speed is not None:
            if not contact_speed > 0.0:
                raise OptionError(f"contact_speed must be positive, not {contact_speed!r} m/s")
            options = engine.parts.options._replace(contact_speed=float(contact_speed))
            engine.hand_over(engine.parts._replace(options=options))
        robot = sim.robot
        self._tangent = Tangent(robot)
        self._slopes = slopes_of(robot, engine, parameters)
        self._closes = bool(
            robot.loop_joints or robot.couplings or len(engine.parts.loads.motion) > 0
        )
        self._arc = sim.timestep if engine.parts.options.order == 2 else 0.0
        held = self._twin.held
        self._gains = held.no_gains.copy() if pd else held.no_gains[:0]
        # By what steps are solved with: another solver, or blocks of other pairs of bodies.
        self._steps: dict[int, tuple[Model, DualStep, DualStep | None]] = {}
        self._last: DualStep | None = None

    def _step(self) -> tuple[Model, DualStep, DualStep | None]:
        """The step of the model that the twin has just been stepped by, and that of parameters.

        The latter is by itself, as it is the model that changes with them.
        """
        parts, robot = self._twin.parts, self._twin.robot
        known = self._steps.get(id(parts.model))
        if known is None:
            sizes, rest = (robot.nq, robot.nv), (self._gains, self._closes)
            found = DualStep(parts, sizes, 2 * robot.nv + robot.nu, *rest)
            other = DualStep(parts, sizes, DIRECTIONS, *rest) if self.parameters else None
            known = self._steps[id(parts.model)] = parts.model, found, other
        return known

    def at(
        self, sim: Simulation, torques: ArrayLike | None, controller: PD | None
    ) -> Linearization:
        """The step from where the simulation is."""
        robot = sim.robot
        forces = sim.torques if torques is None and controller is None else torques
        full = check_torques(robot, forces, "linearize was given")
        q, v = self._solve(sim, full, controller)
        model, step, dual = self._step()
        self._last = step
        rows = self._along(step, q, v, full, controller)
        ends = step.parts.ends
        q_end, v_end = ends[: robot.nq].copy(), ends[robot.nq :].copy()
        base = 2 * robot.nv
        P = np.zeros((base, len(self.parameters)))
        for begin in range(0, len(self.parameters), DIRECTIONS):
            assert dual is not None
            chosen = self._slopes[begin : begin + DIRECTIONS]
            assign_numbers(model, dual.parts.model)
            for k, slopes in enumerate(chosen):
                assign_numbers(model, dual.parts.model, slopes, k)
            contacts = dual.parts.model.contacts
            dual.parts.work.slots[: len(contacts)] = contacts
            found = self._along(dual, q, v, full, controller)
            P[:, begin : begin + len(chosen)] = found[: len(chosen)].T
        modes = contact_modes(self._twin)
        return Linearization(
            q_end,
            v_end,
            np.ascontiguousarray(rows[:base].T),
            np.ascontiguousarray(rows[base:].T),
            P,
            tuple(robot.actuated_names),
            self.parameters,
            modes,
            min((one.margin for one in modes), default=np.inf),
        )

    def repeat(self) -> bool:
        """The compiled part of the last linearization once more; whether it was solved."""
        assert self._last is not None
        return self._last.take(self._arc) == CONVERGED

    def _along(
        self, step: DualStep, q: Array, v: Array, full: Array, controller: PD | None
    ) -> Array:
        """Changes (n, 2 nv) of where the step leads along its directions."""
        twin, on = self._twin, step.parts
        robot, nq, nv = twin.robot, twin.robot.nq, twin.robot.nv
        assign_numbers(twin.parts.memory.guesses, on.guesses)
        assign_numbers(twin.parts.loads, on.loads)
        if controller is not None:
            on.gains[:] = controller.gains
        if self._closes:
            held, goal, rate = self._fixed
            on.held[:] = held
            assign_numbers(goal, on.goal)
            assign_numbers(rate, on.rate)
        on.begins[:] = 0.0
        on.begins[:nq], on.begins[nq : nq + nv] = q, v
        on.begins[nq + nv : nq + nv + len(full)] = full
        if step is self._last:
            on.along[:nv, :nq] = self._tangent.rates(q).T
            on.along[range(nv, 2 * nv), range(nq, nq + nv)] = 1.0
            columns = nq + nv + np.asarray(robot.actuated, dtype=np.int64)
            on.along[range(2 * nv, 2 * nv + robot.nu), columns] = 1.0
        if step.take(self._arc) != CONVERGED:
            raise ConvergenceError(
                twin.time - twin.timestep,
                float(on.info["residual"][0, 0]),
                int(on.info["iterations"][0]),
                int(on.info["substeps"][0]),
                robot.bodies[int(on.info["worst_body"][0])].name,
                "It was solved, but not with its derivatives: try a larger contact_speed.",
            )
        turns = self._tangent.velocities(on.ends[:nq])
        return np.hstack((on.slopes[:, :nq] @ turns.T, on.slopes[:, nq:]))

    def _solve(self, sim: Simulation, full: Array, controller: PD | None) -> tuple[Array, Array]:
        """Take the step in plain numbers, for what its solution is guessed from; q and v before."""
        twin, robot = self._twin, sim.robot
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


_LINEARIZERS: WeakKeyDictionary[Engine, dict[Any, Linearizer]] = WeakKeyDictionary()


class Tangent:
    """Between rates of q (nq,) and the velocities of the tree (nv,)."""

    def __init__(self, robot: Mechanism) -> None:
        self._plain = np.zeros((robot.nv, robot.nq))
        turns: list[tuple[int, int]] = []
        for joint, at, v in zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False):
            n = joint.numbers
            self._plain[range(v, v + n), range(at, at + n)] = 1.0
            if joint.has_quaternion:
                turns.append((v + n, at + n))
        self._turns = tuple(turns)

    def rates(self, q: Array) -> Array:
        """(nq, nv): rates of q by velocities."""
        out = self._plain.T.copy()
        for v, at in self._turns:
            w, x, y, z = 0.5 * q[at : at + 4]
            out[at : at + 4, v : v + 3] = (-x, -y, -z), (w, -z, y), (z, w, -x), (-y, x, w)
        return out

    def velocities(self, q: Array) -> Array:
        """(nv, nq): velocities by rates of q."""
        out = self._plain.copy()
        for v, at in self._turns:
            w, x, y, z = 2.0 * q[at : at + 4]
            out[v : v + 3, at : at + 4] = (-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w)
        return out


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
