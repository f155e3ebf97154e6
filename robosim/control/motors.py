"""Motors as they are: a control law, and what lies between its commands and the joints."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.control.controllers import Compiled
from robosim.control.dc_motor import DCMotor, Windings
from robosim.control.holding import zero
from robosim.control.learned_actuator import LearnedActuator
from robosim.control.motor_laws import PID, Following, Given, Integrals, Law
from robosim.control.motor_stages import Delay, Measured, Memory, Rate, Rows
from robosim.control.pd import PD, check_motors
from robosim.control.periodic import Aims, Periodic
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError
from robosim.formulation import Formulation
from robosim.validation import Array

__all__ = ["PID", "DCMotor", "Delay", "LearnedActuator", "Motors", "Rate"]

_SLACK = 1e-6  # of a time step, by which times are rounded
_ACTUATORS = (DCMotor, LearnedActuator)


class Motors:
    """A controller of a law, and of stages that its commands pass until they are joint torques.

        Motors(robot, PID(...), Rate(500), Delay(0.004), DCMotor(...))

    `Simulation.run`, `stream` and `BatchSimulation.rollout` take it as any controller, in each
    formulation. Called with a simulation, it returns the torques for the next step, for `step`.
    States of a batch are computed at once, and bit for bit as in single simulations.

    The controller has a memory: integrals, commands on their way, currents, temperatures. The
    memory begins anew with another simulation, and where time goes back. So one object serves one
    run at a time; `copy` makes another one.

    Parameters
    ----------
    robot : Mechanism
    law : PID, PD, Periodic, array, or callable(time (n,), q (n, nq), v (n, nv)) -> (n, nu)
        A `PD` must be explicit. A controller that acts in periods is one of `robosim.policies`.
        Before a `LearnedActuator`, these two give their targets; otherwise they give torques. An
        array, (nu,) or (n, nu), is a constant command; that of a callable may also be (nu,).
    stages : Delay, Rate, and last one DCMotor or LearnedActuator
        In the order in which commands pass. All that precedes a `Rate` acts at that rate. Without
        motors, commands are the torques.

    Attributes
    ----------
    robot : Mechanism
    law : as given
    stages : tuple
    aims : Aims
        The last torques (n, nu).

    Raises
    ------
    ControllerError
        For a law or stage of another kind, stages in another order, or numbers that are not one per
        actuated coordinate. For a robot without actuated coordinates, or with those of joints that
        close loops. For angles of a joint with a quaternion.
    """

    def __init__(self, robot: Mechanism, law: Any, *stages: Any) -> None:
        self.robot, self.law, self.stages = robot, law, stages
        self._joints = tuple(robot.actuated_names)
        self._periodic = isinstance(law, Periodic)  # which takes as long as a stage to find out
        self._check_robot()
        self._check_stages()
        self._check_law()
        for one in (law, *stages):
            if isinstance(one, PID | Delay | DCMotor | LearnedActuator):
                one.check(self._joints)
        self.__name__ = "Motors"
        self._begin_rows(1, None)
        self._sim: Any = _nothing

    def __repr__(self) -> str:
        names = [type(one).__name__ for one in (self.law, *self.stages)]
        return f"<Motors of {len(self._joints)} actuators: {', '.join(names)}>"

    def _check_robot(self) -> None:
        robot = self.robot
        if robot.nu == 0:
            raise ControllerError(f"robot '{robot.name}' has no actuated coordinate for Motors")
        self._gains = zero(robot).gains
        for k in np.flatnonzero(self._gains["v_index"] >= robot.nv):
            raise ControllerError(
                f"Motors do not drive joints that close loops, as '{self._joints[k]}' does"
            )

    def _check_stages(self) -> None:
        for k, stage in enumerate(self.stages):
            if not isinstance(stage, Delay | Rate | DCMotor | LearnedActuator):
                raise ControllerError(
                    f"stages of Motors are Delay, Rate, DCMotor and LearnedActuator, not {stage!r}"
                )
            if isinstance(stage, _ACTUATORS) and k + 1 < len(self.stages):
                raise ControllerError(
                    f"{type(stage).__name__} must be the last stage of Motors, not before "
                    f"{type(self.stages[k + 1]).__name__}"
                )
        rates = [k for k, stage in enumerate(self.stages) if isinstance(stage, Rate)]
        if len(rates) > 1:
            raise ControllerError("Motors have one Rate, not several")
        self._split = rates[0] if rates else None

    @property
    def _positions(self) -> bool:
        """Whether commands are positions."""
        return bool(self.stages) and isinstance(self.stages[-1], LearnedActuator)

    def _check_law(self) -> None:
        law = self.law
        if isinstance(law, PID) and self._positions:
            raise ControllerError(
                "a LearnedActuator takes position targets, and a PID gives torques: use the "
                "targets themselves as the law"
            )
        if isinstance(law, PD):
            check_motors(law, self.robot)
            if law.gains["implicit"].any():
                raise ControllerError("a PD in Motors must be explicit")
        if isinstance(law, Compiled) or hasattr(law, "py_func"):
            raise ControllerError("compiled controllers are no laws of Motors")
        if isinstance(law, str | Motors):
            raise ControllerError(
                "the law of Motors must be a PID, a PD, a policy, an array, or a function of time, "
                f"q and v, not {law!r}"
            )
        angles = self._positions or isinstance(law, PID)
        for k in np.flatnonzero(self._gains["turn"] >= 0):
            if angles:
                raise ControllerError(
                    f"Motors need joints with single coordinates for angles; '{self._joints[k]}' "
                    "is of a free rotation"
                )

    def _begin_rows(self, n: int, timestep: float | None) -> None:
        """Begin with the memory of n robots; without a time step, there is none yet."""
        self._n, self._timestep = n, timestep
        nu = len(self._joints)
        self.aims = Aims(*np.zeros((3, n, nu)))
        self._held = np.zeros((n, nu))
        self._angle, self._rate = np.zeros((2, n, nu))
        self._count = np.zeros(n, dtype=np.int64)
        self._acted = np.full(n, np.nan)
        self._all = np.ones(n, dtype=bool)
        self._last: tuple[Array, Array] | None = None
        self._law: Law | None = None
        self._before: list[Memory] = []
        self._after: list[Memory] = []
        if timestep is None:
            return
        # Imported here, so that numba is imported only when needed.
        from robosim.runtime.notice import CompileNotice

        CompileNotice.install()
        split = self._split
        rate = None if split is None else self.stages[split]
        self._every = 1 if rate is None else rate.steps(timestep)
        interval = timestep * self._every
        self._law = self._begin_law(n, interval, timestep)
        if split is not None:
            self._before = [one.begin(self._joints, n, interval) for one in self.stages[:split]]
        after = self.stages if split is None else self.stages[split + 1 :]
        self._after = [one.begin(self._joints, n, timestep) for one in after]

    def _begin_law(self, n: int, interval: float, timestep: float) -> Law:
        law = self.law
        if isinstance(law, PID):
            return law.begin(self._joints, n, interval)
        if isinstance(law, PD | Periodic):
            return Following(law, n, timestep, self._positions)
        return Given(law, n, len(self._joints))

    def copy(self) -> Self:
        """Another controller of the same parts, whose memory begins anew; a policy is copied."""
        other = copy.copy(self)
        if self._periodic and hasattr(self.law, "copy"):
            other.law = self.law.copy()
        other._begin_rows(1, None)
        other._sim = _nothing
        return other

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle or a deep copy has: all but the memory, which begins anew there."""
        return {"robot": self.robot, "law": self.law, "stages": self.stages}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Motors.__init__(self, state["robot"], state["law"], *state["stages"])

    def reset(self, rows: Rows | None = None) -> None:
        """Begin anew: no integrals and currents, empty delays, ambient temperatures.

        Parameters
        ----------
        rows : (n,) of bool, or None
            The states of a batch that begin anew; None: all.

        Raises
        ------
        ControllerError
            For another number of rows than of states.
        """
        if rows is not None:
            if np.shape(rows) != (self._n,):
                raise ControllerError(
                    f"rows of a reset must be {self._n} truth values, one for each state, "
                    f"not {rows!r}"
                )
            if self._law is not None:
                self._reset_rows(np.asarray(rows, dtype=bool))
            return
        self._begin_rows(self._n, self._timestep)
        if self._law is not None:
            self._law.serve(self._sim())
        if hasattr(self.law, "reset"):
            self.law.reset()

    def memory(self) -> dict[str, NDArray[Any]]:
        """A copy of all that the motors remember, for `recall`; empty before the first step.

        Raises
        ------
        ControllerError
            For a law that acts in periods, such as a policy, whose memory cannot be kept.
        """
        return {name: array.copy() for name, array in self._memory().items()}

    def recall(self, sim: Any, memory: Mapping[str, ArrayLike]) -> None:
        """Continue with a memory, with a simulation in the state that belongs to it.

        Further torques are bit-identical to those of the motors that had the memory. A simulation
        is for example a `copy`. `Simulation.save` and `load` take motors, and do this in files.

        Parameters
        ----------
        sim : Simulation or BatchSimulation
        memory : mapping of str to array
            From `memory`, of motors of the same parts and with as many states.

        Raises
        ------
        ControllerError
            For a simulation of another robot, or a memory of other motors. The motors are then as
            after `reset`.
        """
        n = getattr(sim, "n", 1)
        self._sim = _nothing
        self.serve(sim, n, sim.timestep)
        if not memory:
            return
        own = self._memory()
        given = {name: np.asarray(array) for name, array in memory.items()}
        for name in dict.fromkeys((*own, *given)):
            if name not in own or name not in given or own[name].shape != given[name].shape:
                raise ControllerError(
                    f"this memory is not of these Motors for {n} states: '{name}' differs"
                )
        for name, array in own.items():
            array[...] = given[name]
        for one in (*self._before, *self._after):
            one.recalled()

    def _memory(self) -> dict[str, NDArray[Any]]:
        if self._law is None:
            return {}
        found = {
            "held": self._held,
            "count": self._count,
            "acted": self._acted,
            "torques": self.aims.torques,
        }
        parts = {"law": self._law.memory()}
        for k, one in enumerate((*self._before, *self._after)):
            parts[f"stage {k}"] = one.memory()
        for part, arrays in parts.items():
            found |= {f"{part} {name}": array for name, array in arrays.items()}
        return found

    def readings(self, sim: Any) -> Array:
        """Currents [A], voltages [V] and temperatures [deg C] (3, nu) at a simulation's time.

        Those at the end of the last step; temperatures are nan without thermal parameters.

        Raises
        ------
        ControllerError
            Without a `DCMotor`.
        """
        self._windings("currents")
        self.serve(sim, 1, sim.timestep)
        time = np.array([sim.time])
        if self._acted[0] != time[0]:
            self.due(time)
        found = self._windings("currents")
        warm = found.temperatures[0] if self.stages[-1].thermal else np.full(self.robot.nu, np.nan)
        return np.stack((found.currents[0], found.voltages[0], warm))

    def begin_at(self, time: float) -> None:
        """Begin anew; called where a viewer restarts a run."""
        self.reset()

    @property
    def currents(self) -> Array:
        """Currents of the windings (n, nu) [A] of a `DCMotor`, a copy.

        With an inductance those at the end of the last step, otherwise those over it.

        Raises
        ------
        ControllerError
            Without a `DCMotor`.
        """
        return self._windings("currents").currents.copy()

    @property
    def voltages(self) -> Array:
        """Voltages (n, nu) [V] of a `DCMotor` over the last step, a copy.

        Raises
        ------
        ControllerError
            Without a `DCMotor`.
        """
        return self._windings("voltages").voltages.copy()

    @property
    def temperatures(self) -> Array:
        """Temperatures of the windings (n, nu) [deg C] at the end of the last step, a copy.

        Raises
        ------
        ControllerError
            Without a `DCMotor` that has thermal parameters.
        """
        found = self._windings("temperatures")
        if not self.stages[-1].thermal:
            raise ControllerError(
                "a DCMotor has temperatures with a thermal_resistance and thermal_capacity only"
            )
        return found.temperatures.copy()

    @property
    def integrals(self) -> Array:
        """Integrals (n, nu) of a `PID`, in the units of its command, a copy.

        Raises
        ------
        ControllerError
            Without a `PID`.
        """
        if not isinstance(self.law, PID):
            raise ControllerError("Motors without a PID have no integrals")
        if not isinstance(self._law, Integrals):
            return np.zeros((self._n, len(self._joints)))
        return self._law.integrals.copy()

    def _windings(self, what: str) -> Windings:
        if not self.stages or not isinstance(self.stages[-1], DCMotor):
            raise ControllerError(f"Motors without a DCMotor have no {what}")
        if self._after:
            found = self._after[-1]
            assert isinstance(found, Windings)
            return found
        return self.stages[-1].begin(self._joints, self._n, 1.0)

    @property
    def needs_forces(self) -> bool:
        """Whether the law observes contacts."""
        return self._periodic and bool(self.law.needs_forces)

    def pd(self, timestep: float) -> PD:
        """A PD of zero, as all is in the torques beside it."""
        return PD.with_gains(self._gains)

    def steps(self, timestep: float) -> int:
        """Number of time steps between two calls: one."""
        return 1

    def serve(self, sim: Any, n: int, timestep: float) -> None:
        """Prepare to control n states of a simulation; another one than the last begins anew.

        Raises
        ------
        ControllerError
            If a time is no whole number of time steps, or if the simulation is of a robot with
            other actuated coordinates.
        """
        if self._sim() is not sim or self._n != n or self._timestep != timestep:
            self._check_driven(sim.robot)
            self._begin_rows(n, timestep)
            self._sim = weakref.ref(sim)
            assert self._law is not None
            self._law.serve(sim)

    def _check_driven(self, robot: Mechanism) -> None:
        """Refuse a robot whose motors are elsewhere in q and v."""
        try:
            check_motors(PD.with_gains(self._gains), robot)
        except ControllerError:
            raise ControllerError(
                f"Motors of '{self.robot.name}' do not fit the actuated coordinates of "
                f"'{robot.name}': make them of the robot that is simulated"
            ) from None

    def due(self, time: Array) -> NDArray[np.bool_]:
        """Whether robots (n,) act at these times (n,) [s]: all do, in each time step.

        The memory of a robot begins anew if its time is not a time step after it acted last.
        """
        assert self._timestep is not None
        h = self._timestep
        if self._n == 1:  # numbers are faster than arrays of one
            if not abs(time.item() - (self._acted.item() + h)) <= _SLACK * h:
                self._reset_rows(self._all)
        else:
            other = ~(np.abs(time - (self._acted + h)) <= _SLACK * h)
            if other.any():
                self._reset_rows(other)
        return self._all.copy()

    def _reset_rows(self, rows: Rows) -> None:
        assert self._law is not None
        self._law.reset(rows)
        for one in (*self._before, *self._after):
            one.reset(rows)
        self._count[rows], self._acted[rows] = 0, np.nan

    def act(
        self, time: Array, q: Array, v: Array, forces: Array | None, due: NDArray[np.bool_]
    ) -> Aims:
        """The torques of all motors, after robots have acted that are due.

        Parameters
        ----------
        time : (n,) [s]
        q, v : (n, nq), (n, nv)
        forces : (n, nc) [N] or None
            Normal forces on ``robot.contacts``, if the law observes contacts.
        due : (n,) of bool

        Raises
        ------
        ControllerError
            For commands of another shape, or torques that are not finite.
        """
        assert self._law is not None
        gains = self._gains
        q.take(gains["q_index"], axis=1, out=self._angle, mode="clip")
        v.take(gains["v_index"], axis=1, out=self._rate, mode="clip")
        seen = Measured(time, q, v, self._angle, self._rate, forces)
        acting = due if self._every == 1 else due & (self._count % self._every == 0)
        if acting.any():
            command = self._law.command(seen, acting)
            for one in self._before:
                command = one.advance(command, seen, acting)
            np.copyto(self._held, command, where=acting[:, None])
        torques = self._held
        for one in self._after:
            torques = one.advance(torques, seen, due)
        if not isfinite(torques.sum()):  # which many large torques are not, either
            self._check_finite(torques, time, due)
        np.copyto(self.aims.torques, torques, where=due[:, None])
        self._count += due
        np.copyto(self._acted, time, where=due)
        return self.aims

    def _check_finite(self, torques: Array, time: Array, due: Rows) -> None:
        for i, k in np.argwhere(~np.isfinite(torques) & due[:, None])[:1]:
            where = "" if self._n == 1 else f" of state {i}"
            raise ControllerError(
                f"Motors gave {torques[i, k]} for '{self._joints[k]}'{where} at t = {time[i]:g} s"
            )

    def __call__(self, sim: Formulation) -> Array:
        """Torques (nu,) for the next step of a simulation.

        A second call in the same state at the same time returns the same torques.

        Raises
        ------
        ControllerError
            If a time is no whole number of time steps, or as `act`.
        """
        self.serve(sim, 1, sim.timestep)
        time, q, v = np.array([sim.time]), sim.q[None], sim.v[None]
        again = self._last is not None and self._acted[0] == time[0]
        if not (again and all(map(np.array_equal, self._last or (), (q, v)))):
            due = self.due(time)
            forces = sim.contact_forces()[None, :, 2] if self.needs_forces else None
            self.act(time, q, v, forces, due)
            self._last = q.copy(), v.copy()
        return self.aims.torques[0].copy()


def _nothing() -> None:
    """In place of a reference to a simulation."""
