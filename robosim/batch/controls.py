"""What drives the states of a batch, checked: controllers, and values for states and steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError
from robosim.simulation.controllers import PD, Compiled, resolve, zero
from robosim.validation import Array


class Controls(NamedTuple):
    """The controllers of all states of a batch.

    Attributes
    ----------
    gains : (n or 1, nu) GAINS
    compiled : Compiled or None
        What gives torques beside them; its code has to be kept as long as steps are taken with it.
    moving : PD or None
        The one whose targets are a function of time.
    """

    gains: NDArray[np.void]
    compiled: Compiled | None
    moving: PD | None

    @property
    def address(self) -> int:
        """Where the code of the compiled controller is, or 0."""
        return 0 if self.compiled is None else self.compiled.address

    def targets(self, times: Array, steps: int, timestep: float) -> Array | None:
        """Moving targets (n, steps, nu) of states that begin at these times (n,) [s], or None."""
        if self.moving is None:
            return None
        ahead = timestep * np.arange(steps)
        starts, which = np.unique(times, return_inverse=True)
        return np.stack([self.moving.targets(start + ahead) for start in starts])[which]


def controls(robot: Mechanism, n: int, controller: Any, timestep: float) -> Controls:
    """What a controller of a batch of n states means; see `BatchSimulation.rollout`.

    Raises
    ------
    ControllerError
        For one that is not compiled.
    """
    if isinstance(controller, Sequence) and not isinstance(controller, str):
        if len(controller) != n or not all(isinstance(pd, PD) for pd in controller):
            raise ControllerError(f"a sequence of controllers must be {n} PD")
        if any(pd.motion is not None for pd in controller):
            raise ControllerError("targets of several PD are given as `targets`, for all steps")
        return Controls(np.stack([pd.gains for pd in controller]), None, None)
    control = resolve(robot, controller, timestep)
    if isinstance(control, Compiled):
        return Controls(zero(robot).gains[None], control, None)
    if not isinstance(control, PD):
        raise ControllerError(
            "a batch takes controllers that are compiled: a PD, or a function that numba has "
            "jitted; for one in Python, take a step at a time with `torques`"
        )
    return Controls(control.gains[None], None, None if control.motion is None else control)


def by_step(name: str, value: ArrayLike, robot: Mechanism, n: int, steps: int) -> Array:
    """Values (n or 1, steps or 1, nu), checked."""
    array = np.asarray(value, dtype=float)
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
    array = np.asarray(value, dtype=float)
    if array.shape not in ((robot.nu,), (n, robot.nu)):
        raise ControllerError(
            f"{name} must have shape ({robot.nu},) or ({n}, {robot.nu}), not {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ControllerError(f"{name} must be finite")
    return array
