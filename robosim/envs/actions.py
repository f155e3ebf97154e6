"""Actions: checked, scaled to torques or targets, and delayed where the task has a delay."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.control.controllers import PD
from robosim.description.mechanism import Mechanism
from robosim.envs.errors import ActionError, TaskError
from robosim.envs.task import Targets, Task, Torques
from robosim.errors import OptionError, known
from robosim.kernels.compiler.content import row
from robosim.validation import Array

SLACK = 1e-6  # by which a rounded action may be beyond the action space


@row
def cut_to_space(actions, live):  # type: ignore[no-untyped-def]
    """Clip the actions of live environments to the space, and make those of the others zero.

    Returns the place of one that is not finite or is beyond the space, or -1.
    """
    n, size = actions.shape
    for i in range(n):
        for k in range(size):
            if not live[i]:
                actions[i, k] = 0.0
            elif not abs(actions[i, k]) <= 1.0 + SLACK:  # or nan
                return i * size + k
            else:
                actions[i, k] = min(max(actions[i, k], -1.0), 1.0)
    return -1


@row
def to_motors(actions, center, scale, driven, out):  # type: ignore[no-untyped-def]
    """Targets or torques (n, calls, nu) of actions (n, calls, na); those of other motors stay."""
    for i in range(actions.shape[0]):
        for c in range(actions.shape[1]):
            for k in range(actions.shape[2]):
                out[i, c, driven[k]] = center[k] + scale[k] * actions[i, c, k]


class Actions:
    """Turns actions (n, na), each within -1 and 1, into targets or torques of a bound run.

    Parameters
    ----------
    task : Task
    robot : Mechanism
    n : int
        Number of environments.

    Attributes
    ----------
    names : tuple of str
        The coordinate that each entry of an action drives.
    pd : PD or None
        The PD whose targets actions set; None if actions are torques.
    motors : tuple
        Stages between targets or torques and the joints.
    come_late : bool
        Whether the task has a delay, so that actions may begin to act in a later time step.
    given : (n, na)
        The last actions that were given, which `cut_to_space` clips.
    """

    def __init__(self, task: Task, robot: Mechanism, n: int) -> None:
        control = task.control(robot)
        if not isinstance(control, Torques | Targets):
            raise TaskError(f"control must be Torques or Targets, not {control!r}")
        self.n, self.steps, self.timestep = n, task.steps, task.timestep
        self.names = robot.actuated_names if control.joints is None else tuple(control.joints)
        for name in self.names:
            if name not in robot.actuated_names:
                raise OptionError(
                    f"robot '{robot.name}' has no actuated '{name}' "
                    f"({known(name, robot.actuated_names)})"
                )
        if not self.names:
            raise OptionError(f"robot '{robot.name}' has no motors that actions could drive")
        self.motors = tuple(control.motors)
        self._driven = np.array([robot.actuated_names.index(name) for name in self.names])
        self._nu, self._shape = robot.nu, (n, len(self.names))
        self.pd: PD | None = None
        if isinstance(control, Torques):
            scale = robot.effort_limits[self._driven] if control.scale is None else control.scale
            self._scale = self._each("scale", scale)
            if not np.all(np.isfinite(self._scale)):
                name = self.names[int(np.argmin(np.isfinite(self._scale)))]
                raise OptionError(
                    f"joint '{name}' has no effort limit that could be its largest torque: "
                    "give `Torques` a scale"
                )
            self._center = np.zeros(len(self.names))
        else:
            self._aim(control, robot)
        # Actions that wait, the newest first, and the delay of each environment in time steps.
        self.come_late = float(np.max(task.delay)) > 0
        most = round(float(np.max(task.delay)) / task.timestep)
        self.given = np.zeros(self._shape)
        self._waiting = np.zeros((n, -(-most // task.steps) + 1, len(self.names)))
        self._delays = np.zeros(n, dtype=np.int64)

    def _each(self, name: str, value: ArrayLike) -> Array:
        """A number for each entry of an action."""
        try:
            return np.array(np.broadcast_to(np.asarray(value, dtype=float), len(self.names)))
        except (TypeError, ValueError):
            raise TaskError(
                f"{name} must be a number or {len(self.names)} of them, not {value!r}"
            ) from None

    def _aim(self, control: Targets, robot: Mechanism) -> None:
        self._scale = self._each("scale", control.scale)
        kp, kd = np.zeros((2, robot.nu))
        kp[self._driven], kd[self._driven] = control.kp, control.kd
        limit = robot.effort_limits if control.effort_limits else None
        target = np.zeros(robot.nu)
        still = PD(robot, target, kp, kd)
        home = np.asarray(robot.home, dtype=float)[still.gains["q_index"][self._driven]]
        self._center = self._each("center", home if control.center is None else control.center)
        target[self._driven] = self._center
        self.pd = PD(robot, target, kp, kd, limit=limit, implicit=control.implicit)

    @property
    def scales(self) -> tuple[Array, Array, NDArray[np.int64]]:
        """What an action of 0 means and how far one of 1 is from this, and which motors, (na,)."""
        return self._center, self._scale, self._driven

    def take(self, actions: Any) -> None:
        """Copy actions (n, na) to `given`.

        Raises
        ------
        ActionError
            For a wrong shape, or something else than numbers.
        """
        _copy("actions", actions, self.given)

    def take_one(self, action: Any) -> None:
        """Copy the action (na,) of the only environment to `given`; raises as `take`."""
        _copy("an action", action, self.given[0])

    def checked(self, live: NDArray[np.bool_]) -> Array:
        """`given`, clipped to the space in the rows of live environments, and zero in the others.

        Raises
        ------
        ActionError
            For an entry that is not finite or not within -1 and 1.
        """
        bad = cut_to_space(self.given, live)
        if bad >= 0:
            self.refuse(bad)
        return self.given

    def refuse(self, bad: int) -> NoReturn:
        """Raise the error of an entry of `given`, counted along its rows."""
        i, k = divmod(bad, len(self.names))
        raise ActionError(
            f"the action for '{self.names[k]}' of environment {i} is {self.given[i, k]}, which is "
            "not within -1 and 1: clip it, as gymnasium.wrappers.ClipAction does"
        )

    def begin(self, which: NDArray[np.int64], delays: Array) -> None:
        """Forget the actions of environments (k,), and set their delays (k,) [s]."""
        self._waiting[which] = 0.0
        self._delays[which] = np.round(delays / self.timestep)

    def values(self, actions: Array) -> Array:
        """Targets or torques (n, calls, nu) after new actions (n, na).

        ``calls`` is the number of time steps if actions are delayed, and otherwise 1.
        """
        acting = actions[:, None]
        if self.come_late:
            self._waiting[:, 1:] = self._waiting[:, :-1].copy()
            self._waiting[:, 0] = actions
            ago = -((np.arange(self.steps) - self._delays[:, None]) // self.steps)
            acting = self._waiting[np.arange(self.n)[:, None], ago]
        found = np.zeros((*acting.shape[:-1], self._nu))
        to_motors(acting, self._center, self._scale, self._driven, found)
        return found

    def slopes(self, by_values: Array) -> Array:
        """Derivatives by actions (n, na), from derivatives by torques or targets (n, steps, nu).

        Actions must not be delayed.
        """
        return np.asarray(self._scale * by_values.sum(axis=1)[:, self._driven])


def _copy(what: str, values: Any, out: Array) -> None:
    """Copy numbers of the shape of `out`, or raise an ActionError."""
    try:
        shape = np.shape(values)
        if shape == out.shape:
            out[:] = values
            return
        np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ActionError(f"{what} must be numbers, not {values!r}") from None
    raise ActionError(f"{what} must have shape {out.shape}, not {shape}")
