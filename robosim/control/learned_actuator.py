"""An actuator that a network has learned: torques from the last position errors and speeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.control.motor_stages import Kept, Measured, Rows, check_joints, numbers, steps_in
from robosim.control.network import Network
from robosim.errors import ControllerError, OptionError
from robosim.validation import Array, check_choice

ORDERS = ("positions first", "velocities first")


class LearnedActuator:
    """Torques by a network from a history of position errors and speeds of each joint.

    One network serves all joints, one at a time, as for ANYmal [Hwangbo et al., Learning agile
    motor skills, Science Robotics, 2019]. Commands are position targets
    [rad or m]. Histories begin with the first values.

    Parameters
    ----------
    network : path of an ONNX file, or callable(inputs (nu, 2 k)) -> torques (nu,)
        Takes the inputs of each joint as a row, and returns one torque for each. A recurrent ONNX
        network has states, as one of `robosim.policies`.
    lags : sequence of k floats [s]
        The times before now of which errors and speeds are inputs, in the network's order; whole
        numbers of time steps.
    position_scale, velocity_scale, torque_scale : float
        Factors of position errors (target - q), of speeds, and of the output.
    order : "positions first" or "velocities first"
        Which half of the inputs comes first.
    limit : float or (nu,) [N m], or None
        Largest torque in both directions.

    Raises
    ------
    MissingExtraError
        For an ONNX file without onnxruntime.
    LoadError
        For a file that cannot be read, or a network with other numbers of inputs or outputs.
    OptionError
        For lags that are negative or missing, factors that are not finite, or a network that is
        neither a path nor callable.
    """

    takes_positions = True

    def __init__(
        self,
        network: str | os.PathLike[str] | Callable[[Array], ArrayLike],
        *,
        lags: Sequence[float] = (0.0, 0.01, 0.02),
        position_scale: float = 1.0,
        velocity_scale: float = 1.0,
        torque_scale: float = 1.0,
        order: str = "positions first",
        limit: ArrayLike | None = None,
    ) -> None:
        check_choice("order", order, ORDERS)
        self.order = order
        found = numbers("lags of a LearnedActuator", lags)
        if found.ndim != 1 or not found.size or not np.all(np.isfinite(found)):
            raise OptionError(f"lags of a LearnedActuator must be one or more times, not {lags!r}")
        self.lags = tuple(found.tolist())
        scales = {
            "position_scale": position_scale,
            "velocity_scale": velocity_scale,
            "torque_scale": torque_scale,
        }
        for name, value in scales.items():
            factor = np.asarray(value)
            if factor.ndim or factor.dtype.kind not in "iuf" or not np.isfinite(factor):
                raise OptionError(f"{name} of a LearnedActuator must be a number, not {value!r}")
        self.position_scale, self.velocity_scale, self.torque_scale = map(float, scales.values())
        self.limit = numbers("limit of a LearnedActuator", np.inf if limit is None else limit)
        if not (callable(network) or isinstance(network, str | os.PathLike)):
            raise OptionError(
                f"network of a LearnedActuator must be a path or callable, not {network!r}"
            )
        self.network: Any = network if callable(network) else Network(network)
        if isinstance(self.network, Network):
            self._check_sizes(self.network)

    def _check_sizes(self, network: Network) -> None:
        wanted = 2 * len(self.lags)
        if network.inputs not in (0, wanted):
            raise network.error(
                f"takes {network.inputs} inputs, and a LearnedActuator with {len(self.lags)} lags "
                f"has {wanted}: as many position errors and as many speeds"
            )
        if network.outputs not in (0, 1):
            raise network.error(f"has {network.outputs} outputs, not the one torque of a joint")

    def check(self, joints: Sequence[str]) -> None:
        """Refuse other numbers of limits than joints."""
        check_joints("a LearnedActuator", joints, limit=self.limit)

    def begin(self, joints: Sequence[str], n: int, timestep: float) -> Histories:
        """The histories of n states."""
        what = "a lag of a LearnedActuator"
        ages = [steps_in(what, lag, timestep) if lag else 0 for lag in self.lags]
        return Histories(self, ages, n, len(joints))


class Histories:
    """The last position errors and speeds of n states, and states of a recurrent network."""

    def __init__(self, actuator: LearnedActuator, ages: list[int], n: int, nu: int) -> None:
        self._actuator, self._ages = actuator, np.array(ages)
        self._past = np.zeros((n, max(ages) + 1, 2, nu))
        self._empty = np.ones(n, dtype=bool)
        self._states: list[Any] = [self._first(nu) for _ in range(n)]

    def _first(self, nu: int) -> Any:
        network = self._actuator.network
        return network.start(nu) if isinstance(network, Network) else None

    def reset(self, rows: Rows) -> None:
        """Empty the histories of some states."""
        self._empty[rows] = True
        for i in np.flatnonzero(rows).tolist():
            self._states[i] = self._first(self._past.shape[-1])

    def memory(self) -> Kept:
        """The arrays that last from step to step, themselves."""
        states = {
            f"state {i} {k}": array
            for i, each in enumerate(self._states)
            for k, array in enumerate(each or ())
        }
        return {"past": self._past, "empty": self._empty, **states}

    def recalled(self) -> None:
        """Nothing else follows from the arrays of the memory."""

    def advance(self, command: Array, seen: Measured, rows: Rows) -> Array:
        """Torques (n, nu) for position targets (n, nu)."""
        used, past = self._actuator, self._past
        now = np.stack((command - seen.angle, seen.rate), axis=1)
        fresh = rows & self._empty
        past[fresh] = now[fresh, None]
        self._empty[fresh] = False
        past[rows, 1:] = past[rows, :-1]
        past[rows, 0] = now[rows]
        scaled = past[:, self._ages] * np.array(
            [[used.position_scale], [used.velocity_scale]]
        )  # (n, k, 2, nu)
        if used.order == ORDERS[1]:
            scaled = scaled[:, :, ::-1]
        inputs = np.moveaxis(scaled, (3, 2, 1), (1, 2, 3)).reshape(len(rows), past.shape[-1], -1)
        torques = np.zeros_like(command)
        # State by state, as the digits of a product of matrices depend on the number of rows.
        for i in np.flatnonzero(rows).tolist():
            torques[i] = self._run(i, np.ascontiguousarray(inputs[i]))
        return np.clip(torques * used.torque_scale, -used.limit, used.limit)

    def _run(self, i: int, inputs: Array) -> Array:
        network, nu = self._actuator.network, len(inputs)
        if isinstance(network, Network):
            found, self._states[i] = network.run(inputs, self._states[i])
        else:
            answer = network(inputs)
            try:
                found = np.asarray(answer, dtype=float)
            except (TypeError, ValueError):
                raise ControllerError(
                    f"the network of a LearnedActuator gave {answer!r}, which is not torques"
                ) from None
        if found.shape not in ((nu,), (nu, 1)):
            told = f"gave shape {found.shape} for {nu} joints with {inputs.shape[1]} inputs each"
            if isinstance(network, Network):
                raise network.error(told)
            raise ControllerError(f"the network of a LearnedActuator {told}, not ({nu},)")
        return found.reshape(nu)
