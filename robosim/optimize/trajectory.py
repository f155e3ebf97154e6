"""The result of `Problem.solve`: states, torques and forces, and violations of constraints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.errors import LogError, StateError
from robosim.log import Chunk, Log, LogInfo
from robosim.optimize.curves import Curve
from robosim.optimize.guesses import refuse_other
from robosim.validation import Array

if TYPE_CHECKING:
    from robosim.linearization.linearization import Differentiable
    from robosim.optimize.feedback import Feedback

FINEST = 1e-9  # [s], by which times may exceed the ends


@dataclass(frozen=True)
class Trajectory:
    """A solution, or the last iterate of the solver: see `status`, `feasible` and `worst`.

    Attributes
    ----------
    robot : Mechanism
    status : str
        "converged": optimal within the tolerances. "acceptable": nearly so. "infeasible": IPOPT
        ended at a local minimum of the violation. "iterations": the largest number of iterations
        was reached. "diverged", "not finite" or "stuck": the iteration failed so.
    t : (n + 1,) [s]
    q, v, u : (n + 1, nq), (n + 1, nv), (n + 1, nu)
        Values at knots. Torques are linear over a step.
    points : (s n + 1, nq)
        Coordinates at all control points, including knots.
    times : (s n + 1,) [s], of control points
    forces : mapping of names to (s n + 1, 3) [N]
        Forces of the ground on the robot at each contact, at control points, in world axes.
    multipliers : (s n + 1, m) [N or N m]
        Multipliers of independent equations of loops and couplings.
    violation : mapping of names to float
        Largest violation of each constraint. "dynamics" in N or N m, as mean forces over a step.
    cost : float
    iterations : int
    tolerance : float
        Violations up to this value count as feasible.
    unknowns : (s n + 1, nf)
        The solver's unknown forces, divided by the weight, for warm starts.
    smooth : bool
        Whether velocities are continuous, as there are no impacts.
    """

    robot: Mechanism
    status: str
    t: Array
    q: Array
    v: Array
    u: Array
    times: Array
    points: Array
    forces: Mapping[str, Array]
    multipliers: Array
    violation: Mapping[str, float]
    cost: float
    iterations: int
    tolerance: float
    unknowns: Array
    smooth: bool

    def __repr__(self) -> str:
        name, size = self.worst
        return (
            f"Trajectory('{self.status}', cost={self.cost:.6g}, {len(self.t) - 1} steps, "
            f"{self.iterations} iterations, worst: '{name}' by {size:.2g})"
        )

    @property
    def worst(self) -> tuple[str, float]:
        """Name and value of the largest violation."""
        name = max(self.violation, key=lambda key: self.violation[key])
        return name, float(self.violation[name])

    @property
    def feasible(self) -> bool:
        """Whether all constraints hold within the tolerance."""
        return self.worst[1] <= self.tolerance

    def refuse_infeasible(self, what: str) -> None:
        """Raise a StateError if the trajectory is not feasible."""
        if not self.feasible:
            name, size = self.worst
            raise StateError(
                f"{what} needs a feasible trajectory, and this one is not: '{name}' is violated "
                f"by {size:.3g}, "
                f"beyond {self.tolerance:g}; status '{self.status}' after {self.iterations} "
                "iterations. Begin with another guess, allow more iterations, or ask for less"
            )

    def sample(self, times: ArrayLike) -> tuple[Array, Array, Array]:
        """q (n, nq), v (n, nv), u (n, nu) at times [s], clipped to those of the trajectory.

        Coordinates are polynomials over each step. Without impacts, their rates at knots are the
        velocities there.
        """
        wanted = np.clip(np.asarray(times, dtype=float), self.t[0], self.t[-1])
        v_knots = self.v if self.smooth else None
        q, v = Curve(self.robot, self.t, self.times, self.points, v_knots).at(wanted)
        return q, v, np.array([np.interp(wanted, self.t, row) for row in self.u.T]).T

    def log(self, timestep: float = 0.01) -> Log:
        """A log with samples each `timestep` [s], for plots and replays."""
        n = int(np.floor((self.t[-1] - self.t[0]) / timestep + FINEST)) + 1
        t = self.t[0] + timestep * np.arange(n)
        q, v, u = self.sample(t)
        zero, none = np.zeros(n, dtype=np.int64), np.zeros(n)
        return Log.from_chunks(
            self.robot, timestep, [Chunk(t, q, v, u, zero, zero, none, none, np.zeros((n, 0)))]
        )

    def view(self) -> Any:
        """Replay the trajectory: in the default browser, or in a notebook's cell.

        Raises
        ------
        StateError
            If the trajectory is not feasible.
        """
        from robosim.viz import replay

        self.refuse_infeasible("view")
        return replay(self.log(1.0 / 60.0), self.robot)

    def controller(
        self,
        sim: Differentiable | None = None,
        Q: ArrayLike = 1.0,
        R: ArrayLike = 1.0,
        *,
        final: ArrayLike | None = None,
        contact_speed: float | None = None,
    ) -> Feedback:
        """A controller with the trajectory's torques and the feedback of `lqr` about it.

        Parameters
        ----------
        sim : Simulation, MinimalSimulation, or None
            Simulation to be controlled, with its time step; None: a `Simulation` of 1 ms.
        Q, R, final, contact_speed
            As for `lqr`.

        Returns
        -------
        Feedback
            A controller for `run` and others.

        Raises
        ------
        StateError
            If the motion is not a trajectory of the simulation.
        """
        from robosim.optimize.lqr import lqr
        from robosim.simulation import Simulation

        self.refuse_infeasible("a controller")
        sim = Simulation(self.robot) if sim is None else sim
        sim = sim.copy()
        sim.set_state(self.q[0], self.v[0], float(self.t[0]))
        n = max(1, round((self.t[-1] - self.t[0]) / sim.timestep))
        q, v, _ = self.sample(self.t[0] + sim.timestep * np.arange(n + 1))
        _, _, u = self.sample(self.t[0] + sim.timestep * (np.arange(n) + 0.5))
        if self.multipliers.size:
            for k, time in enumerate(self.t[0] + sim.timestep * np.arange(n + 1)):
                sim.set_state(q[k], v[k], float(time))  # closes loops between control points
                q[k], v[k] = sim.q, sim.v
            sim.set_state(q[0], v[0], float(self.t[0]))
        # The rows satisfy this simulation's steps only approximately.
        return lqr(sim, q, v, u, Q, R, final=final, contact_speed=contact_speed, tolerance=np.inf)

    def replay(
        self,
        sim: Differentiable | None = None,
        Q: ArrayLike = 1.0,
        R: ArrayLike = 1.0,
        *,
        final: ArrayLike | None = None,
        contact_speed: float | None = None,
        seconds: float | None = None,
        peer: str | None = None,
    ) -> Log:
        """Follow the trajectory by its `controller`, from its start on.

        Parameters
        ----------
        sim, Q, R, final, contact_speed
            As for `controller`. Torques stay within effort limits.
        seconds : float or None [s]
            Duration; None: that of the trajectory.
        peer : None or "mujoco"
            Where steps are taken: in `sim`, or in MuJoCo with the same time step and torques. The
            feedback is that of `sim`. MuJoCo's cone is elliptic, with an `impratio` of 10.

        Returns
        -------
        Log

        Raises
        ------
        StateError
            If the trajectory is not feasible.
        OptionError
            For another peer.
        PeerError
            If MuJoCo is not installed, does not have the robot, or is unstable.
        """
        from robosim.optimize.replays import replayed

        law = self.controller(sim, Q, R, final=final, contact_speed=contact_speed)
        law = law.limited(self.robot.effort_limits)
        span = float(self.t[-1] - self.t[0]) if seconds is None else seconds
        return replayed(law, self.q[0], self.v[0], span, sim, peer)

    def save(self, path: str | Path) -> Path:
        """Write an .npz file, which `load` reads."""
        path = Path(path)
        if path.suffix != ".npz":
            raise LogError(f"a trajectory is saved as .npz, not '{path.name}'")
        told = {
            "robot": self.robot.name, "status": self.status, "cost": self.cost,
            "iterations": self.iterations, "tolerance": self.tolerance, "smooth": self.smooth,
            "violation": dict(self.violation), "contacts": list(self.forces),
            "columns": LogInfo.of(self.robot, 1.0).names,
        }  # fmt: skip
        forces = np.array(list(self.forces.values())).reshape(len(self.forces), len(self.times), 3)
        arrays = {name: getattr(self, name) for name in ARRAYS}
        np.savez_compressed(path, about=json.dumps(told), forces=forces, **arrays)
        return path

    @classmethod
    def load(cls, path: str | Path, robot: Mechanism) -> Trajectory:
        """Read a file that `save` has written for this robot.

        Raises
        ------
        LogError
            If the file cannot be read, or has no trajectory.
        OptionError
            If the trajectory has another robot.
        """
        try:
            with np.load(Path(path), allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                forces = dict(zip(about["contacts"], file["forces"], strict=True))
                arrays = {name: file[name] for name in ARRAYS}
                names = "status", "cost", "iterations", "tolerance", "smooth"
                told = {key: about[key] for key in names}
                columns = tuple(about["columns"])
        except (OSError, ValueError, KeyError) as error:
            raise LogError(f"'{path}' is no trajectory: {error}") from None
        refuse_other(robot, LogInfo.from_names(columns, json.dumps({"robot": about["robot"]})))
        return cls(robot=robot, forces=forces, violation=about["violation"], **told, **arrays)


ARRAYS = ("t", "q", "v", "u", "times", "points", "multipliers", "unknowns")
