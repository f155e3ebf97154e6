"""Torques that act within a step, at the control points of an integrator in joint coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from robosim.control.controllers import Compiled
from robosim.control.pd import PD, droops
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError

if TYPE_CHECKING:
    from robosim.formulation import Formulation


class AtNodes:
    """A law u(t, q, v) of torques at the control points of a step [Fan2018, Assumption 1].

    Other controllers hold their torques over each step, as a digital controller does. Errors then
    fall with the first power of the timestep. A law at the control points is part of the equations,
    like a spring. So `MinimalSimulation` keeps the order of its integrator. Logs have the means of
    the torques over each step.

    Parameters
    ----------
    robot : Mechanism
    law : callable(t, q, v, tau), or PD
        A function as for `Compiled`, whose torques depend on its arguments alone. Each step calls
        the function several times. A `PD` with constant targets acts as in continuous time.

    Raises
    ------
    ControllerError
        If numba cannot compile the function, or for a PD whose targets are functions of time.
    """

    def __init__(self, robot: Mechanism, law: Any) -> None:
        self._compiled = Compiled(robot, _law_of(law) if isinstance(law, PD) else law)
        self.address = self._compiled.address

    def __repr__(self) -> str:
        return f"AtNodes({self._compiled!r})"

    def __call__(self, sim: Formulation) -> NoReturn:
        """Refuse to be held over a step."""
        raise ControllerError(
            "a law AtNodes acts within steps of MinimalSimulation.run and stream only, not of "
            f"{type(sim).__name__}: give the function itself, which is then held over each step"
        )


def _law_of(pd: PD) -> Any:
    """A PD as a function (t, q, v, tau)."""
    if pd.motion is not None or pd.velocity_motion is not None:
        raise ControllerError(
            "a PD at control points needs constant targets: write targets of time into a law "
            "(t, q, v, tau)"
        )
    gains = pd.gains.copy()
    at, rate, count = gains["q_index"], gains["v_index"], len(gains)
    kp, kd, target, velocity = (gains[name].copy() for name in ("kp", "kd", "target", "velocity"))
    limit = gains["limit"].copy()
    droop = droops(gains)

    def pd_at_nodes(t, q, v, tau):  # type: ignore[no-untyped-def]
        for k in range(count):
            asked = kp[k] * (target[k] - q[at[k]]) + kd[k] * (velocity[k] - v[rate[k]])
            most = max(limit[k] - droop[k] * max(v[rate[k]], 0.0), 0.0)
            least = max(limit[k] + droop[k] * min(v[rate[k]], 0.0), 0.0)
            tau[k] = min(max(asked, -least), most)

    return pd_at_nodes
