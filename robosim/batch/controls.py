"""Inputs of a batch, checked: controllers, and values for states and steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.control.controllers import PD, Compiled, resolve, zero
from robosim.control.gaits import Gait
from robosim.control.pd import check_motors
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError
from robosim.validation import Array


class Controls(NamedTuple):
    """The controllers of all states of a batch.

    Attributes
    ----------
    gains : (n or 1, nu) GAINS
    compiled : Compiled or None
        A compiled controller, which must be kept alive as long as steps use its code.
    moving : tuple of PD
        PDs with targets or velocities that are functions of time: one for all states, or one for
        each. Empty if there are none.
    """

    gains: NDArray[np.void]
    compiled: Compiled | None
    moving: tuple[PD, ...]

    @property
    def address(self) -> int:
        """Address of the compiled controller's code, or 0."""
        return 0 if self.compiled is None else self.compiled.address

    def moving_targets(
        self, times: Array, steps: int, timestep: float
    ) -> tuple[Array | None, Array | None]:
        """Targets and velocities (n, steps, nu) of states that begin at these times (n,) [s].

        Targets or velocities are None if they are constant.
        """
        if not self.moving:
            return None, None
        ahead = timestep * np.arange(steps)
        if len(self.moving) == 1:
            starts, which = np.unique(times, return_inverse=True)
            aims = [self.moving[0].moving(start + ahead) for start in starts]
        else:
            which = np.arange(len(times))
            pairs = zip(self.moving, times, strict=True)
            aims = [pd.moving(start + ahead) for pd, start in pairs]
        return _stacked([goals for goals, _ in aims], which, self, "target"), _stacked(
            [rates for _, rates in aims], which, self, "velocity"
        )


def _stacked(
    values: Sequence[Array | None], which: NDArray[np.int64], control: Controls, what: str
) -> Array | None:
    """Targets or velocities (n, steps, nu) from functions of time, or else from the gains."""
    rows = [one for one in values if one is not None]
    if not rows:
        return None
    held = [np.broadcast_to(gains[what], rows[0].shape) for gains in control.gains]
    if len(held) != len(values):
        held *= len(values)
    filled = [still if one is None else one for one, still in zip(values, held, strict=True)]
    return np.asarray(np.stack(filled)[which])


def controls(robot: Mechanism, n: int, controller: Any, timestep: float) -> Controls:
    """The checked controls of a batch of n states; see `BatchSimulation.rollout`.

    Raises
    ------
    ControllerError
        For a controller in Python, or a wrong number of controllers or rows.
    """
    if isinstance(controller, Gait) and controller.n is not None:
        if controller.n != n:
            raise ControllerError(
                f"the gait has {controller.n} rows of parameters, and the batch {n} states"
            )
        controller = controller.each()
    if isinstance(controller, Sequence) and not isinstance(controller, str):
        if len(controller) != n or not all(isinstance(pd, PD) for pd in controller):
            raise ControllerError(f"a sequence of controllers must be {n} PD")
        if any(isinstance(pd, Gait) and pd.n is not None for pd in controller):
            raise ControllerError("a gait in a sequence must have one row of parameters")
        for pd in controller:
            check_motors(pd, robot)
        moves = any(pd.moves for pd in controller)
        gains = np.stack([pd.gains for pd in controller])
        return Controls(gains, None, tuple(controller) if moves else ())
    control = resolve(robot, controller, timestep)
    if isinstance(control, Compiled):
        return Controls(zero(robot).gains[None], control, ())
    if not isinstance(control, PD):
        raise ControllerError(
            "a batch needs a compiled controller: a PD, or a numba function; with a controller in "
            "Python, take one step at a time with `torques`"
        )
    if control is controller:
        check_motors(control, robot)
    return Controls(control.gains[None], None, (control,) if control.moves else ())


def numbers(name: str, value: ArrayLike) -> Array:
    """An array of numbers, or a ControllerError."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        told = "; a controller is given by `controller=`" if callable(value) else ""
        raise ControllerError(f"{name} must be numbers, not {value!r}{told}") from None


def by_step(name: str, value: ArrayLike, robot: Mechanism, n: int, steps: int) -> Array:
    """Values (n or 1, steps or 1, nu), checked."""
    array = numbers(name, value)
    nu = robot.nu
    shapes = {
        (nu,): (1, 1, nu),
        (n, nu): (n, 1, nu),
        (n, steps, nu): (n, steps, nu),
    }
    shape = shapes.get(array.shape, (1, steps, nu) if array.shape == (steps, nu) else None)
    if shape is None:
        raise ControllerError(
            f"{name} must have shape ({nu},), ({n}, {nu}), ({steps}, {nu}) or "
            f"({n}, {steps}, {nu}), not {array.shape}"
        )
    array = array.reshape(shape)
    for i, k, joint in np.argwhere(~np.isfinite(array))[:1]:
        where = [f"of state {i}"] * (shape[0] > 1) + [f"in step {k}"] * (shape[1] > 1)
        raise ControllerError(
            f"{name} must be finite, but that for '{robot.actuated_names[joint]}' "
            f"{' '.join([*where, 'is'])} {array[i, k, joint]}"
        )
    return array


def by_state(name: str, value: ArrayLike, robot: Mechanism, n: int) -> Array:
    """Values (nu,) for all states, or (n, nu), checked."""
    array = numbers(name, value)
    if array.shape not in ((robot.nu,), (n, robot.nu)):
        raise ControllerError(
            f"{name} must have shape ({robot.nu},) or ({n}, {robot.nu}), not {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ControllerError(f"{name} must be finite")
    return array
