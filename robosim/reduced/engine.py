"""The engine of a reduced simulation; see `robosim.simulation.driver.Stepped`."""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np

from robosim import quaternions
from robosim.compiled import minimal
from robosim.compiled.records.graph import ROW
from robosim.compiled.records.joint import MOTION, SERVO
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, ConvergenceError, StateError
from robosim.minimal.engine import BODY
from robosim.reduced import adaptive, euler, maximal, start
from robosim.reduced.maximal import Bodies
from robosim.reduced.model import Loads, Model, within_limits
from robosim.reduced.solving import Unsolved
from robosim.reduced.tree import Placed
from robosim.runtime.handles import Handle, RunBuffers
from robosim.simulation.alone import BUSY, Alone
from robosim.simulation.checkpoint import Counters
from robosim.simulation.diagnosis import not_finite
from robosim.simulation.notices import Silence
from robosim.validation import Array

CONVERGED = 0  # status in INFO


class Options(NamedTuple):
    """Options of steps."""

    dt: float
    method: str
    coordinates: str
    tolerance: float


class Engine(Alone):
    """Takes the steps of one simulation.

    Parameters
    ----------
    model : Model
    options : Options

    Attributes
    ----------
    q, v : (nq,), (nv,)
        Coordinates and velocities at the knot.
    bodies : Bodies or None
        With maximal coordinates, the bodies that q and v are computed from.
    slip : (n,)
        Impulses of friction in the last step, the initial guess of the next.
    forces : (nc, 3) [N]
        Forces on contact points in the last step, world.
    met : tuple of euler.Met
        Where shapes touched in the last step.
    loads : robosim.compiled.minimal.Loads
        Loads that `Held` writes.
    single : Handle
        Buffers of a run of one step.
    counters : Counters
    """

    single: Handle

    def __init__(self, model: Model, options: Options) -> None:
        self.model, self.options, self.robot = model, options, model.robot
        robot: Mechanism = model.robot
        self.q, self.v = np.array(robot.home, dtype=float), np.zeros(robot.nv)
        self.bodies: Bodies | None = None
        self.slip, self.forces = np.zeros(0), np.zeros((len(robot.contacts), 3))
        self.met: tuple[euler.Met, ...] = ()
        self._begin()

    def _begin(self) -> None:
        rates = self.robot.v_offsets[-1]
        servos = np.zeros(rates, dtype=SERVO)
        servos["limit"] = np.inf
        external = np.zeros(len(self.robot.bodies), dtype=ROW)
        motion, controls = np.zeros(0, dtype=MOTION), np.zeros(len(self.model.acting))
        self.loads = minimal.Loads(np.zeros(rates), servos, motion, external, controls)
        self.counters, self.notices = Counters(), Silence()
        self._unlock()

    def copied(self) -> Engine:
        """An engine in the same state, bit for bit."""
        self.refuse_if_busy()
        other = copy(self)
        other.model = copy(self.model)
        other._begin()
        other.restore(self, np.zeros(0))
        return other

    def restore(self, other: Engine, torques: Array) -> None:
        """Copy the state of another engine; `torques` (nv,) are those of its last step."""
        self.q, self.v, self.bodies = other.q.copy(), other.v.copy(), other.bodies
        self.slip, self.forces, self.met = other.slip, other.forces, other.met
        self.model.drives = list(other.model.drives)
        self.loads.tau[:] = other.loads.tau
        self.loads.servos[:] = other.loads.servos
        self.loads.external[:] = other.loads.external
        self.loads.controls[:] = other.loads.controls  # type: ignore[index]
        self.counters.assign(other.counters.copied(torques))

    @property
    def timestep(self) -> float:
        """Length of a step [s]."""
        return self.options.dt

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall (3,) [m/s^2], world."""
        return self.model.gravity

    def start(self, q: Array, v: Array, time: float, hold: tuple[str, ...]) -> None:
        """Start at coordinates (nq,) and velocities (nv,), made consistent with constraints.

        Raises
        ------
        ModelError
            If a coordinate moves no inertia; the state is then unchanged.
        StateError
            If no start near these satisfies the constraints.
        """
        start.check_inertia(Placed(self.model.links, q, v))
        q, v = start.close(self.model, q, v, time, hold)
        self.q, self.v = q, v
        self.slip, self.forces, self.met = np.zeros(0), np.zeros_like(self.forces), ()
        if self.options.coordinates == "maximal":
            placed = Placed(self.model.links, q, v)
            self.bodies = Bodies(placed.E, placed.twists)
        self.loads.external["w"] = 0.0
        self.loads.controls[:] = 0.0  # type: ignore[index]
        self.counters.assign(Counters(time))

    def placed(self) -> Bodies:
        """The bodies at the knot."""
        if self.bodies is not None:
            return self.bodies
        placed = Placed(self.model.links, self.q, self.v)
        return Bodies(placed.E, placed.twists)

    def states(self) -> np.ndarray:
        """Places, orientations and velocities of all bodies, (nb,) BODY."""
        found = np.zeros(len(self.robot.bodies), dtype=BODY)
        bodies = self.placed()
        for row, E, phi in zip(found, bodies.E, bodies.twists, strict=True):
            R = E[:3, :3]
            row["x"], row["q"] = E[:3, 3], quaternions.from_matrix(R)
            row["v"], row["omega"] = R @ phi[:3], phi[3:]
        return found

    def violation(self) -> float:
        """Largest violation of a joint or coupling [m, or the sine of half an angle]."""
        placed = Placed(self.model.links, self.q, self.v)
        if self.bodies is None:
            return start.open_by(self.model, placed)
        # For joints of the tree, the distance of bodies from their places by the coordinates.
        return maximal.open_by(self.model, self.bodies, self.q)

    def advance(self, run: Handle, begin: int, end: int) -> None:
        """Take steps `begin` to `end` of a run."""
        if not self._stepping.acquire(False):
            raise StateError(BUSY)
        try:
            for k in range(begin, end):
                self._step(run.values, k)
                self.counters.steps += 1
                self.counters.last = run.values.infos, k
        finally:
            self._stepping.release()

    def _step(self, run: RunBuffers, k: int) -> None:
        """Step k of a run, with its inputs and results."""
        loads, row = self._driven(run, k), k // int(run.every[0])
        if logged := k % int(run.every[0]) == 0:
            run.q[row], run.v[row] = self.q, self.v
            run.tau[row] = self.loads.tau
        if wrong := not_finite(self.robot, loads.tau, self.time):
            raise wrong
        taken, bodies = self._taken(loads)
        if not (np.isfinite(taken.q).all() and np.isfinite(taken.v).all()):
            raise self._failure("it leads to numbers that are not finite")
        self.q, self.v, self.bodies = taken.q, taken.v, bodies
        self.slip, self.forces, self.met = taken.slip, taken.forces, taken.met
        if logged:
            run.tau[row, : self.robot.nv] += taken.tau
        info = run.infos[k]
        info["status"], info["iterations"], info["substeps"] = CONVERGED, taken.iterations, 1
        info["order"] = 1 if self.options.method == "euler" else 8
        info["residual"], info["gap"], info["turn"], info["turner"] = taken.residual, np.inf, 1, -1
        if self.model.resisting.contacts:
            info["gap"] = self.model.resisting.gap(self.placed().E)
        if self.model.is_constrained or self.bodies is not None:
            info["violation"] = self.violation()

    def _driven(self, run: RunBuffers, k: int) -> Loads:
        """Loads over step k of a run."""
        tau, gains = self.loads.tau, run.gains
        tau[:] = run.torques[k if len(run.torques) > 1 else 0]
        for name, moving in (("target", run.targets), ("velocity", run.rates)):
            if len(moving):
                gains[name] = moving[k]
        if run.controller[0] != 0:
            raise ControllerError(
                "ReducedSimulation does not accept compiled controllers: pass a function of the "
                "simulation, such as lambda sim: compiled(sim)"
            )
        held = gains[gains["implicit"] == 0]
        np.add.at(tau, held["v_index"], within_limits(held, self.q, self.v)[1])
        servos = gains[gains["implicit"] != 0]
        if len(servos) and self.options.method != "euler":
            raise ControllerError(
                "an implicit PD is part of a step of method='euler'; method='adaptive' accepts "
                "explicit ones"
            )
        own = self.loads.servos
        own["kp"], own["kd"], own["target_rate"] = 0.0, 0.0, 0.0
        own["start"][servos["v_index"], 0] = self.q[servos["q_index"]]
        for g in servos[servos["turn"] >= 0]:
            own["start"][g["v_index"]] = self.q[g["turn"] : g["turn"] + 4]
        wrenches, controls = np.array(self.loads.external["w"]), np.array(self.loads.controls)
        return Loads(tau[: self.robot.nv].copy(), servos, wrenches, controls)

    def _taken(self, loads: Loads) -> tuple[euler.Step, Bodies | None]:
        """The result of a step, and in maximal coordinates the bodies."""
        model, options, time = self.model, self.options, self.time
        try:
            own = model, self.q, self.v, time, options.dt, loads
            if options.method == "adaptive":
                return adaptive.step(*own, options.tolerance), None
            if self.bodies is None:
                return euler.step(*own, self.slip), None
            return maximal.step(model, self.bodies, *own[1:], self.slip)
        except (Unsolved, np.linalg.LinAlgError) as error:
            raise self._failure(str(error)) from error

    def _failure(self, reason: str) -> ConvergenceError:
        return ConvergenceError(
            self.time, np.inf, 0, 1, self.robot.bodies[0].name,
            f"It has no solution: {reason}. It may need a smaller timestep.",
        )  # fmt: skip
