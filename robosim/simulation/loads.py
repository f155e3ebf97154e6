"""External loads on a mechanism: torques, a PD, wrenches."""

from __future__ import annotations

from copy import copy
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.compiled.building.actuators import implicit_actuators
from robosim.compiled.loads import Loads
from robosim.control.controllers import PD, check_torques, zero
from robosim.control.pd import check_motors
from robosim.description.mechanism import Mechanism
from robosim.errors import StateError
from robosim.kernels.step.run import add_servo_torques
from robosim.validation import Array, finite, vector

FLOATS = np.dtype(np.float64)


class Held:
    """Torques, and gains of a PD, that are constant until they are set again.

    Parameters
    ----------
    robot : Mechanism
    loads : Loads
        Loads that kernels read.

    Attributes
    ----------
    torques : (1, velocities of all joints) [N m or N], for every step
    gains : (nu,) GAINS, of a PD that is active if `controlled`
    rates : int, velocities of joints without those of lengths
    """

    def __init__(self, robot: Mechanism, loads: Loads) -> None:
        self.robot, self.rates = robot, robot.v_offsets[-1]
        self.no_gains = zero(robot).gains
        indices = np.asarray(robot.actuated, dtype=np.int64)
        straight = len(indices) > 0 and np.array_equal(
            indices, np.arange(indices[0], indices[0] + len(indices))
        )
        # Consecutive indices become a slice, which is written in half of the time.
        self._actuated: Any = slice(indices[0], indices[-1] + 1) if straight else indices
        self._nu = robot.nu
        self._implicit = implicit_actuators(robot)
        self._begin(loads)

    def _begin(self, loads: Loads) -> None:
        self.loads = loads
        self.torques = np.zeros((1, len(loads.tau)))
        self._row, self._fully_held = self.torques[0], False
        self.gains, self.controlled = self.no_gains.copy(), False
        self._fits: PD | None = None  # the last one whose motors were compared
        self.release_servos()

    def beside(self, loads: Loads) -> Held:
        """A copy without loads, for another simulation of the same robot with these `loads`."""
        other = copy(self)
        other._begin(loads)
        return other

    def control_by(self, pd: PD | None) -> None:
        """Use a PD in the following steps, or none."""
        if pd is not None:
            if pd is not self._fits:
                check_motors(pd, self.robot)
                self._fits = pd
            self.gains[:] = pd.gains
        elif self.controlled:
            self.gains[:] = self.no_gains
            self.release_servos()
        self.controlled = pd is not None

    def hold(self, tau: Any, source: str) -> None:
        """Set torques (nu,), forces (nv,) or None, constant over the following steps."""
        row = self._row
        if type(tau) is np.ndarray and tau.dtype is FLOATS and tau.shape == (self._nu,):
            # The usual case, in a fraction of the time of the general one.
            if self._fully_held:
                row.fill(0.0)
                self._fully_held = False
            row[self._actuated] = tau
            # For a few dozen numbers, faster than numpy's functions.
            if isfinite(sum(tau.tolist())):
                return
        row.fill(0.0)
        if tau is not None:
            row[: self.rates] = check_torques(self.robot, tau, source)
            self._fully_held = True

    def act(self, controls: ArrayLike) -> None:
        """Set controls (number of actuators,); see `SimulationBase.set_controls`."""
        actuators = self.robot.actuators
        values = finite(controls, (len(actuators),))
        if values is None:
            raise StateError(
                f"controls must be finite numbers of shape ({len(actuators)},), not {controls!r}"
            )
        for n, k in enumerate(self._implicit):
            given = actuators[k]
            ends = given.control_range if given.activation is None else given.activation.range
            self.loads.controls[n] = np.clip(values[k], *ends)  # type: ignore[index]

    @property
    def controls(self) -> Array:
        """Controls of implicit actuators, (number of actuators,); zero for the others."""
        found = np.zeros(len(self.robot.actuators))
        if len(self.loads.controls):
            found[self._implicit] = self.loads.controls
        return found

    def release_servos(self) -> None:
        """Remove all servos from the equations; a controller in Python sets them in each step."""
        for name in ("kp", "kd", "target_rate"):
            self.loads.servos[name] = 0.0

    def given(self, q: Array, timestep: float) -> Array:
        """Forces (nv,) applied in the last step, which led to q, including those of servos."""
        tau = self.loads.tau.copy()
        if self.controlled:
            add_servo_torques(self.gains, self.loads.servos, q, timestep, tau)
        return tau[: self.robot.nv]


def wrench_about(x: Array, force: ArrayLike, torque: ArrayLike, point: ArrayLike | None) -> Array:
    """A force and a torque as a wrench about a centre of mass x, (6,) [N, N m], or a StateError.

    The force acts at the point, in world coordinates, or at x if the point is None.
    """
    f, moment = vector("force", force, StateError), vector("torque", torque, StateError)
    arm = vector("point", x if point is None else point, StateError) - x
    return np.concatenate((f, moment + np.cross(arm, f)))
