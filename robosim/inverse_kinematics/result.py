"""The result of inverse kinematics, with the remaining errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from robosim.validation import Array

Status = Literal["reached", "minimum", "unfinished", "open"]
SAID = {
    "reached": "reached",
    "minimum": "not reached: no way nearer was found",
    "unfinished": "not reached: the iterations ran out",
    "open": "not reached: loops, couplings or limits of loops are not satisfied",
}


@dataclass(frozen=True)
class Residual:
    """Remaining errors of a target.

    Attributes
    ----------
    target : str
    distance : float [m]
        Norm of all errors in metres.
    angle : float [rad]
        Norm of all errors in radians, and of those along splines.
    reached : bool
        Whether neither is above the target's tolerance.
    """

    target: str
    distance: float
    angle: float
    reached: bool


@dataclass(frozen=True, eq=False)
class IKResult:
    """The result of an inverse kinematics: True in a condition if all targets are reached.

    Attributes
    ----------
    q : (nq,)
        The best pose that was found, within the limits of all joints of the tree. If not
        `reached`, this pose does not reach all targets.
    status : "reached", "minimum", "unfinished" or "open"
        "reached": all targets are reached. "minimum": all attempts ended at a local minimum.
        "unfinished": the best attempt ran out of iterations. "open": loops, couplings or limits
        are not satisfied.
    residuals : tuple of Residual, one for each target
    open_by : float [m, or sine of half an angle]
        Remaining violation of loops, couplings, and limits that depend on several joints.
    at_limits : tuple of str
        Names of the coordinates that are at a limit.
    iterations : int
        Number of evaluations in all attempts.
    restarts : int
        Number of attempts beyond the first.
    """

    q: Array
    status: Status
    residuals: tuple[Residual, ...]
    open_by: float
    at_limits: tuple[str, ...]
    iterations: int
    restarts: int

    @property
    def reached(self) -> bool:
        """Whether all targets are reached, and all loops closed."""
        return self.status == "reached"

    def __bool__(self) -> bool:
        return self.reached

    def __str__(self) -> str:
        left = [
            f"{one.target} {one.distance:.3g} m, {one.angle:.3g} rad away"
            for one in self.residuals
            if not one.reached
        ]
        limits = [f"at limits: {', '.join(self.at_limits)}"] if self.at_limits and left else []
        return "; ".join((SAID[self.status], *left, *limits))
