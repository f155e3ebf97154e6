"""A controller of robosim, asked for torques at states of any simulator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from robosim.control.pd import PD, pd_torques
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, RobosimError
from robosim.referee.audit.runs import Array
from robosim.simulation import Simulation


class Asker:
    """Asks a controller for torques.

    The controller sees a simulation of robosim that is put at the state in question. Contact forces
    are zero there.

    Parameters
    ----------
    controller : callable(sim)
    robot : Mechanism
    period : float [s]
        Over which torques are held.
    gravity : (3,) [m/s^2]

    Raises
    ------
    ControllerError
        When called: if the controller raises, or answers with anything but torques.
    """

    def __init__(self, controller: Any, robot: Mechanism, period: float, gravity: Array) -> None:
        self._controller = controller.copy() if hasattr(controller, "copy") else controller
        self._robot = robot
        self._sim = Simulation(robot, period, gravity)

    def __call__(self, k: int, time: float, q: Array, v: Array) -> Array:
        """Torques (nu,) at a time [s], q and v."""
        sim = self._sim
        try:
            with warnings.catch_warnings():
                # Of overlaps, which other simulators have all the time.
                warnings.simplefilter("ignore")
                sim.set_state(q, v, time)
        except RobosimError as error:
            raise ControllerError(
                f"the state at {time:.4g} s is none that robosim could show a controller: {error}"
            ) from error
        if hasattr(self._controller, "begin_at") and k == 0:
            self._controller.begin_at(time)
        try:
            answer = self._controller(sim)
        except ControllerError:
            raise
        except Exception as error:
            name = getattr(self._controller, "__name__", "the controller")
            kind = type(error).__name__
            raise ControllerError(f"{name} raised {kind} at {time:.4g} s: {error}") from error
        return torques_of(answer, self._robot, q, v)


def torques_of(answer: Any, robot: Mechanism, q: Array, v: Array) -> Array:
    """The torques (nu,) that a controller's answer means.

    Raises
    ------
    ControllerError
        For an implicit PD, or an answer that is no finite numbers.
    """
    if answer is None:
        return np.zeros(robot.nu)
    if isinstance(answer, tuple):
        pd, torques = answer
        return torques_of(pd, robot, q, v) + np.asarray(torques, dtype=float)
    if isinstance(answer, PD):
        gains = answer.gains
        if gains["implicit"].any():
            raise ControllerError("an implicit PD that changes has no torques to give to others")
        torques = np.zeros(robot.nu)
        rows = np.searchsorted(robot.actuated, gains["v_index"])
        torques[rows] = pd_torques(gains, q[gains["q_index"]], v[gains["v_index"]])[1]
        return torques
    torques = np.asarray(answer, dtype=float)
    if torques.shape not in ((robot.nu,), (robot.nv,)) or not np.isfinite(torques).all():
        raise ControllerError(f"a controller must return {robot.nu} finite torques, not {answer!r}")
    return torques
