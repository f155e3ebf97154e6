"""Controllers: any callable that takes the simulation and returns torques (nu,).

The compiled loop evaluates `PD` and its subclasses itself, so that `Simulation.run` does not
return to Python between the steps.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from robosim.control.gaits import Gait, trot
from robosim.control.holding import holds_over, stand, zero
from robosim.control.pd import GAINS, PD, Motion, motor_torques
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError
from robosim.validation import Array

if TYPE_CHECKING:
    from robosim.formulation import Formulation

__all__ = [
    "BUILT_IN",
    "GAINS",
    "PD",
    "Compiled",
    "Controller",
    "Gait",
    "Motion",
    "Remembering",
    "check_torques",
    "holds_over",
    "motor_torques",
    "resolve",
    "stand",
    "trot",
    "zero",
]

Controller = Callable[[Any], Any]
"""A function of the simulation that returns torques (nu,), forces (nv,), a `PD` that holds for
this step, a pair of a `PD` and torques beside it, or None for no torques."""


class Remembering(Protocol):
    """A controller with a memory, as `Motors` and `Drive`.

    `memory` is a copy of that, and `recall` continues from one, with a simulation.
    """

    def memory(self) -> Mapping[str, NDArray[Any]]: ...
    def recall(self, sim: Any, memory: Mapping[str, NDArray[Any]]) -> None: ...


_DOUBLES = ctypes.POINTER(ctypes.c_double)


class Compiled:
    """A controller that numba compiles, so that the loop over the steps never returns to Python.

    Errors that the function raises are only printed by numba, and the run continues. Compiling
    takes a fraction of a second for each object, so use the same object for several runs.

    Parameters
    ----------
    robot : Mechanism
    function : callable(t, q, v, tau)
        A function that numba has jitted or can jit. The arguments are the time [s], coordinates
        (nq,) and velocities (nv,) at the beginning of a step. The function writes the torques to
        hold over the step into tau (nu,) [N m or N], which is zero before.

    Attributes
    ----------
    address : int
        Address of the compiled function in memory, valid while this object exists.

    Raises
    ------
    ControllerError
        If numba cannot compile the function, or if the function returns something.
    """

    def __init__(self, robot: Mechanism, function: Any) -> None:
        from numba import carray, cfunc, njit, types

        if not hasattr(function, "py_func"):
            function = njit(function)
        nq, nv, nu, rates = robot.nq, robot.nv, robot.nu, robot.v_offsets[-1]
        actuated = np.asarray(robot.actuated, dtype=np.int64)
        pointer = types.CPointer(types.float64)

        def call(t, q, v, tau):  # type: ignore[no-untyped-def]
            torques = np.zeros(nu)
            function(t, carray(q, (nq,)), carray(v, (nv,)), torques)
            forces = carray(tau, (rates,))
            for k in range(nu):
                forces[actuated[k]] += torques[k]

        try:
            self._call = cfunc(types.void(types.float64, pointer, pointer, pointer))(call)
        except Exception as error:  # numba raises several kinds
            name = getattr(function, "__name__", repr(function))
            raise ControllerError(
                f"controller '{name}' cannot be compiled as a function of (t, q, v, tau): {error}"
            ) from error
        returned = function.nopython_signatures[-1].return_type
        if returned != types.none:
            raise ControllerError(
                f"controller '{function.__name__}' returns {returned}, which is ignored: a "
                "compiled controller writes its torques into its last argument, as in tau[:] = "
                "..."
            )
        self.address = int(self._call.address)
        self._name = function.__name__

    def __repr__(self) -> str:
        return f"<Compiled controller {self._name!r}>"

    def __call__(self, sim: Formulation) -> Array:
        """Torques (nu,) for the simulation's present state."""
        forces = np.zeros(sim.robot.v_offsets[-1])
        state = (sim.state.joint_q.copy(), sim.state.joint_v.copy(), forces)
        self._call.ctypes(sim.time, *(array.ctypes.data_as(_DOUBLES) for array in state))
        return forces[np.asarray(sim.robot.actuated)]


BUILT_IN: dict[str, Callable[[Mechanism, float | None], PD]] = {
    "stand": stand,
    "trot": trot,
    "zero": zero,
}
"""The controllers that are known by name: functions of a robot and a timestep [s]."""


def resolve(
    robot: Mechanism, controller: str | Controller | None, timestep: float | None = None
) -> Controller:
    """The controller for a name, a callable, or None (no torques).

    A named controller is made for the timestep [s] of the simulation, if given.

    Raises
    ------
    ControllerError
        For an unknown name, an object that is not callable, or a jitted function that cannot be
        compiled as a controller.
    """
    if controller is None:
        return zero(robot)
    if isinstance(controller, str):
        if controller not in BUILT_IN:
            raise ControllerError(
                f"unknown controller '{controller}' (known: {', '.join(BUILT_IN)})"
            )
        return BUILT_IN[controller](robot, timestep)
    if not callable(controller):
        raise ControllerError(f"a controller must be callable, not {controller!r}")
    if hasattr(controller, "py_func"):  # jitted by numba
        return Compiled(robot, controller)
    return controller


def check_torques(robot: Mechanism, tau: Any, source: str) -> Array:
    """Check torques, and return forces on the coordinates of all joints.

    Parameters
    ----------
    robot : Mechanism
    tau : (nu,) or (nv,) [N m or N], or None for zero
    source : str
        Beginning of error messages.

    Returns
    -------
    forces : (nv + k,) [N m or N]
        First those of the tree (nv), then those of joints that close loops (k).

    Raises
    ------
    ControllerError
        For a wrong shape, or values that are not finite.
    """
    full = np.zeros(robot.v_offsets[-1])
    if tau is None:
        return full
    try:
        values = np.asarray(tau, dtype=float)
    except (TypeError, ValueError):
        raise ControllerError(f"{source} {tau!r}, which is not torques") from None
    if values.shape not in ((robot.nu,), (robot.nv,)):
        raise ControllerError(
            f"{source} shape {values.shape}; robot '{robot.name}' takes ({robot.nu},) "
            f"joint torques or ({robot.nv},) generalized forces"
        )
    if not np.all(np.isfinite(values)):
        index = int(np.flatnonzero(~np.isfinite(values))[0])
        name = (robot.v_names if len(values) == robot.nv else robot.actuated_names)[index]
        raise ControllerError(f"{source} {values[index]} for '{name}'")
    if len(values) == robot.nv:
        full[: robot.nv] = values
    else:
        full[robot.actuated] = values
    return full
