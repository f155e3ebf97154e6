"""Motors of environments: what actions command passes stages until it is torques."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.control.motors import LearnedActuator, Motors
from robosim.control.pd import PD, pd_torques
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.validation import Array


class Driven:
    """The motors of n environments, which act at the beginning of each time step.

    Parameters
    ----------
    robot : Mechanism
    stages : sequence of Delay, Rate, DCMotor and LearnedActuator
        As for `Motors`.
    pd : PD or None
        The PD whose targets actions set; None if actions are torques.
    batch : BatchSimulation

    Raises
    ------
    OptionError
        For an implicit PD, or a LearnedActuator without targets.
    ControllerError
        As `Motors`.
    """

    def __init__(self, robot: Mechanism, stages: Any, pd: PD | None, batch: Any) -> None:
        self._targets = bool(stages) and isinstance(stages[-1], LearnedActuator)
        if pd is not None and pd.gains["implicit"].any():
            raise OptionError(
                "targets with motors need an explicit PD: motors act at the beginning of each step"
            )
        if pd is None and self._targets:
            raise OptionError("a LearnedActuator follows targets: let control give Targets")
        self._gains = None if pd is None else pd.gains
        self._motors = Motors(robot, self._law, *stages)
        self._motors.serve(batch, batch.n, batch.timestep)
        self._batch, self._all = batch, np.ones(batch.n, dtype=bool)
        self._values = np.zeros((batch.n, robot.nu))

    def begin(self, which: NDArray[np.int64]) -> None:
        """Begin anew in environments (k,)."""
        rows = np.zeros(self._batch.n, dtype=bool)
        rows[which] = True
        self._motors.reset(rows)

    def torques(self, values: Array) -> Array:
        """Torques (n, nu) of the next time step, for targets or torques (n, nu)."""
        self._values = values
        batch = self._batch
        return self._motors.act(batch.time, batch.q, batch.v, None, self._all).torques

    def _law(self, time: Array, q: Array, v: Array) -> Array:
        gains = self._gains
        if gains is None or self._targets:
            return self._values
        angle, rate = q[:, gains["q_index"]], v[:, gains["v_index"]]
        return pd_torques(gains, angle, rate, self._values)[1]
