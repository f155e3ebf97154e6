"""What `ilqr` has found."""

from __future__ import annotations

from dataclasses import dataclass

from robosim.description.mechanism import Mechanism
from robosim.optimize.feedback import Feedback
from robosim.validation import Array


@dataclass(frozen=True)
class Solution:
    """A trajectory of the simulation, whether its cost is least, and the feedback about it.

    Each row follows from the one before by a step of the simulation, with `contact_speed`, under
    these torques; whatever the status.

    Attributes
    ----------
    robot : Mechanism
    status : str
        "converged": no change of the torques promises to lower the cost by more than the
        tolerance. "iterations": there were no more of them. "stuck": no step lowers the cost as
        promised, or a step has no derivatives, which contacts with a small `contact_speed` may
        cause.
    t : (n + 1,) [s]
    q, v, tau : (n + 1, nq), (n + 1, nv), (n, nu)
    K : (n, nu, 2 nv)
        Feedback about it, in the tangent of `Dynamics.difference`.
    cost : float
    costs : tuple of float
        Of the guess, and after each iteration; where `contact_speed` changes, the cost may rise.
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

    def controller(self) -> Feedback:
        """The torques with their feedback, within the same limits, for `run` and others."""
        return Feedback(
            self.robot, self.q[:-1], self.v[:-1], self.tau, self.K, self.timestep,
            float(self.t[0]), lower=self.lower, upper=self.upper,
        )  # fmt: skip
