"""The result of `ilqr`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robosim.description.mechanism import Mechanism
from robosim.optimize.feedback import Feedback
from robosim.validation import Array

if TYPE_CHECKING:
    from robosim.log import Log


@dataclass(frozen=True)
class Solution:
    """A trajectory of the simulation, with its cost, its status and the feedback about it.

    With any status, each row is the result of a step of the simulation, with `contact_speed`, from
    the row before.

    Attributes
    ----------
    robot : Mechanism
    status : str
        "converged": the predicted decrease of the cost is below the tolerance. "iterations": the
        largest number of iterations was reached. "stuck": no step length lowers the cost as
        predicted, or derivatives of a step could not be computed. The latter may happen for
        contacts with a small `contact_speed`.
    t : (n + 1,) [s]
    q, v, tau : (n + 1, nq), (n + 1, nv), (n, nu)
    K : (n, nu, 2 nv)
        Feedback about the trajectory, in the tangent space of `Dynamics.difference`.
    cost : float
    costs : tuple of float
        Cost of the guess, and after each iteration. The cost may rise when `contact_speed` changes.
    contact_speed : float [m/s], or None of a MinimalSimulation
    lower, upper : (nu,) [N m or N]
    timestep : float [s]
    """

    robot: Mechanism
    status: str
    t: Array
    q: Array
    v: Array
    tau: Array
    K: Array
    cost: float
    costs: tuple[float, ...]
    contact_speed: float | None
    lower: Array
    upper: Array
    timestep: float

    def __repr__(self) -> str:
        return (
            f"Solution('{self.status}', cost={self.cost:.6g}, {len(self.tau)} steps, "
            f"{len(self.costs) - 1} iterations, contact_speed={self.contact_speed})"
        )

    @property
    def converged(self) -> bool:
        """Whether the status is "converged"."""
        return self.status == "converged"

    def replay(
        self, sim: Any = None, *, seconds: float | None = None, peer: str | None = None
    ) -> Log:
        """Follow the trajectory by its `controller`, from its start on.

        Parameters
        ----------
        sim : Simulation, MinimalSimulation, or None
            What takes the steps; None: a `Simulation` with the same time step.
        seconds : float or None [s]
            Duration; None: that of the trajectory.
        peer : None or "mujoco"
            Where steps are taken: in `sim`, or in MuJoCo with the same time step and torques.

        Returns
        -------
        Log

        Raises
        ------
        OptionError
            For another peer.
        PeerError
            If MuJoCo is not installed, does not have the robot, or is unstable.
        """
        from robosim.optimize.replays import replayed

        span = float(self.t[-1] - self.t[0]) if seconds is None else seconds
        return replayed(self.controller(), self.q[0], self.v[0], span, sim, peer)

    def controller(self) -> Feedback:
        """A controller for `run` and others, with the torques, the feedback and the same limits."""
        return Feedback(
            self.robot, self.q[:-1], self.v[:-1], self.tau, self.K, self.timestep,
            float(self.t[0]), lower=self.lower, upper=self.upper,
        )  # fmt: skip
