"""A rollout as a function of arrays, with its gradient, for automatic differentiation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robosim.batch import BatchSimulation
from robosim.batch.tape import TapedRollout
from robosim.errors import OptionError
from robosim.linearization.parameters import parameter
from robosim.validation import Array, count

INPUTS = "q", "v", "torques", "targets", "kp", "kd", "parameters"


class Horizon:
    """Coordinates and velocities at all knots of a rollout, as a function of its inputs.

    Inputs are arrays by name. ``q`` (nq,) or (n, nq) and ``v`` (nv,) or (n, nv) are the starts.
    ``torques``, ``targets``, ``kp`` and ``kd`` are as for `BatchSimulation.rollout`. ``parameters``
    (np,) or (n, np) are the values of the named parameters. Inputs that are omitted have the values
    of the robot and the controller; starts are at home and at rest.

    Parameters
    ----------
    batch : BatchSimulation
        Takes the steps; starts and robots of its states are changed.
    steps : int
    controller : PD or None
    parameters : names
        See `robosim.derivatives.PARAMETERS`.
    contact_speed : float or None [m/s]
        Smoothing of contacts in the gradients, as for `linearize`.

    Raises
    ------
    OptionError
        For an object that is not a batch, or an unknown parameter.
    """

    def __init__(
        self,
        batch: BatchSimulation,
        steps: int,
        controller: Any = None,
        parameters: Sequence[str] = (),
        contact_speed: float | None = None,
    ) -> None:
        if not isinstance(batch, BatchSimulation):
            raise OptionError(f"a horizon takes a BatchSimulation, not {type(batch).__name__}")
        self.batch, self.steps = batch, count("steps", steps)
        self.controller, self.parameters = controller, tuple(parameters)
        self.contact_speed = contact_speed
        self._robot, self._told = batch.robot, False
        for name in self.parameters:
            parameter(self._robot, name)

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of the results of `run`: coordinates and velocities."""
        n, knots, robot = self.batch.n, self.steps + 1, self._robot
        return (n, knots, robot.nq), (n, knots, robot.nv)

    def run(self, inputs: Mapping[str, Any]) -> TapedRollout:
        """The rollout.

        Raises
        ------
        ConvergenceError
            If a step cannot be solved.
        OptionError
            For an unknown input, or one of a wrong shape.
        """
        for name in inputs:
            if name not in INPUTS:
                raise OptionError(f"there is no input '{name}'; they are {', '.join(INPUTS)}")
        given: dict[str, Any] = {
            name: np.asarray(value, dtype=float) for name, value in inputs.items()
        }
        if "parameters" in given:
            self.batch.set_robots(self._robots(given.pop("parameters")))
        elif self.parameters:
            raise OptionError(f"the values of {', '.join(self.parameters)} are not given")
        self.batch.set_state(given.pop("q", None), given.pop("v", None))
        run = self.batch.rollout(self.steps, controller=self.controller, tape=True, **given)
        assert isinstance(run, TapedRollout)
        for i in np.flatnonzero(run.failed)[:1]:
            raise run.tape.failures[int(i)]
        return run

    def back(
        self, run: TapedRollout, inputs: Mapping[str, Any], dq: Array | None, dv: Array | None
    ) -> dict[str, Array]:
        """Gradients by the inputs, in their shapes; raises errors as `TapedRollout.vjp` does.

        A warning is issued once if contacts or substeps make the rollout not smooth.
        """
        gains = any(name in inputs for name in ("kp", "kd"))
        names = self.parameters
        found = run.vjp(dq, dv, parameters=names, contact_speed=self.contact_speed, gains=gains)
        if found.notes and not self._told:
            self._told = True
            warnings.warn(f"the gradient is one of one side: {found.notes[0]}", stacklevel=2)
        out = {}
        for name, value in inputs.items():
            shape, array = np.shape(value), getattr(found, name)
            if name == "q":
                array = run.tape.by_coordinates(array)
            elif name == "parameters":
                # Parameters of all joints are factors of the robot's values, which have changed.
                factors = np.array([1.0 if ":" in one else np.nan for one in names])
                array = array / np.where(np.isnan(factors), np.asarray(value, float), factors)
            out[name] = _summed(array, shape, self.batch.n, self.steps)
        return out

    def _robots(self, values: Array) -> Any:
        n, width = self.batch.n, len(self.parameters)
        if values.shape not in ((width,), (n, width)):
            raise OptionError(
                f"parameters must have shape ({width},) or ({n}, {width}), not {values.shape}"
            )
        robots = []
        for row in values.reshape(-1, width):
            robot = self._robot
            for name, value in zip(self.parameters, row, strict=True):
                if not np.isfinite(value):
                    raise OptionError(f"'{name}' must be finite, not {value}")
                robot = parameter(robot, name)[1](float(value))
            robots.append(robot)
        return robots[0] if values.ndim == 1 else robots


def _summed(array: Array, shape: tuple[int, ...], n: int, steps: int) -> Array:
    """Gradients (n, steps, k) or (n, k), summed over all uses of an input of the given shape."""
    if array.shape == shape:
        return array
    if array.ndim == 3:
        # If n equals steps, rows belong to states, as in a rollout.
        if shape[:-1] == (n,):
            return np.asarray(array.sum(axis=1))
        array = array.sum(axis=0)
        return np.asarray(array if shape == array.shape else array.sum(axis=0))
    return np.asarray(array.sum(axis=0))
