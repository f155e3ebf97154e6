"""Control laws of `Motors`: PID, and others as the commands of motors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from robosim.compiled.motors import make_pid
from robosim.control.motor_stages import Kept, Measured, Rows, check_joints, finite_numbers, numbers
from robosim.control.pd import PD, Motion, pd_torques
from robosim.control.periodic import Periodic
from robosim.errors import ControllerError, OptionError
from robosim.validation import Array, check_choice

_FLOATS = np.dtype(np.float64)
ANTI_WINDUP = ("clamping", "back-calculation")


class Law(Protocol):
    """A law for n states that has begun."""

    def serve(self, sim: Any) -> None: ...
    def reset(self, rows: Rows) -> None: ...
    def memory(self) -> Kept: ...
    def command(self, seen: Measured, rows: Rows) -> Array: ...


class PID:
    """PID control of joints, with a limit and a treatment of windup.

        command = kp (target - q) + I + kd (velocity - v)

    The integral I grows by ``ki (target - q)`` times the interval at which the law acts. The
    command is clipped to the limit. While the limit holds the command, the integral is kept from
    winding up [Astrom & Hagglund, Advanced PID Control, 2006, Sect. 3.5]:

    - "clamping": I does not grow in the direction in which the command is beyond the limit, and I
      itself stays within the limit.
    - "back-calculation": I also moves by (limited - unlimited command) / `tracking_time` per
      second.

    Gains and limits are read when a run begins or `Motors.reset` is called; targets at any time.

    Parameters
    ----------
    target : (nu,), (n, nu), or a function of times (n,) [s] that returns targets (n, nu)
        [rad or m]; may be changed at any time.
    kp, ki, kd : float or (nu,)
        Gains of position, integral and velocity: for torques [N m/rad, N m/(rad s), N m s/rad],
        for voltages [V/rad, V/(rad s), V s/rad].
    limit : float or (nu,), or None
        Largest command in both directions; None: no limit.
    velocity : as target [rad/s or m/s]; may be changed at any time
    anti_windup : "clamping" or "back-calculation"
    tracking_time : float or (nu,) [s], or None
        Of back-calculation: how fast I follows the limit. None: the integral time kp / ki.

    Raises
    ------
    OptionError
        For gains, limits or times that are negative or not finite, or an unknown `anti_windup`. For
        a `tracking_time` without back-calculation, or none where kp is zero and ki is not.
    """

    def __init__(
        self,
        target: ArrayLike | Motion,
        kp: ArrayLike,
        ki: ArrayLike,
        kd: ArrayLike,
        limit: ArrayLike | None = None,
        *,
        velocity: ArrayLike | Motion = 0.0,
        anti_windup: str = "clamping",
        tracking_time: ArrayLike | None = None,
    ) -> None:
        check_choice("anti_windup", anti_windup, ANTI_WINDUP)
        self.target, self.velocity, self.anti_windup = target, velocity, anti_windup
        self.kp, self.ki, self.kd = (
            finite_numbers(f"{name} of a PID", value)
            for name, value in (("kp", kp), ("ki", ki), ("kd", kd))
        )
        self.limit = numbers("limit of a PID", np.inf if limit is None else limit)
        self.tracking_time = None
        if anti_windup == "clamping":
            if tracking_time is not None:
                raise OptionError("tracking_time of a PID is of anti_windup='back-calculation'")
        elif tracking_time is not None:
            self.tracking_time = finite_numbers("tracking_time of a PID", tracking_time, above=True)
        elif np.any((self.ki > 0) & (self.kp == 0)):
            raise OptionError(
                "back-calculation needs a tracking_time where kp is zero and ki is not, as its "
                "default is kp / ki"
            )
        else:
            kp_, ki_ = np.broadcast_arrays(self.kp, self.ki)
            self.tracking_time = np.divide(kp_, ki_, out=np.full(kp_.shape, np.inf), where=ki_ > 0)

    def check(self, joints: Sequence[str]) -> None:
        """Refuse other numbers of gains than joints."""
        more = {} if self.tracking_time is None else {"tracking_time": self.tracking_time}
        check_joints("a PID", joints, kp=self.kp, ki=self.ki, kd=self.kd, limit=self.limit, **more)

    def begin(self, joints: Sequence[str], n: int, interval: float) -> Integrals:
        """The law of n states that acts at intervals [s].

        Raises
        ------
        ControllerError
            If the tracking time is shorter than the interval.
        """
        if self.tracking_time is not None and np.any(self.tracking_time < interval):
            raise ControllerError(
                f"tracking_time of a PID must be {interval:g} s or more, the interval at which it "
                f"acts, not {self.tracking_time.tolist()}"
            )
        return Integrals(self, n, len(joints), interval)


class Integrals:
    """A PID of n states, with its integrals (n, nu)."""

    def __init__(self, pid: PID, n: int, nu: int, interval: float) -> None:
        # Imported here, so that numba is imported only when needed.
        from robosim.kernels.motors.entries import command_pid
        from robosim.runtime.handles import Handle

        self._advance = command_pid
        self._pid, self._shape = pid, (n, nu)
        self._shapes = (nu,), (n, nu)
        self._arrays = arrays = make_pid(n, nu)
        self.integrals = arrays.integrals
        laws = arrays.laws
        laws["kp"], laws["kd"], laws["limit"] = pid.kp, pid.kd, pid.limit
        laws["growth"] = interval * pid.ki
        laws["clamps"] = pid.tracking_time is None
        if pid.tracking_time is not None:
            laws["tracking"] = interval / pid.tracking_time
        self._handle = Handle(arrays)

    def serve(self, sim: Any) -> None:
        """The same for all simulations."""

    def reset(self, rows: Rows) -> None:
        """Integrals of zero."""
        self.integrals[rows] = 0.0

    def memory(self) -> Kept:
        """The arrays that last from step to step, themselves."""
        return {"integrals": self.integrals}

    def command(self, seen: Measured, rows: Rows) -> Array:
        """Commands (n, nu), after which integrals advance."""
        pid, on = self._pid, self._arrays
        targets = pid.target(seen.time) if callable(pid.target) else pid.target
        rates = pid.velocity(seen.time) if callable(pid.velocity) else pid.velocity
        self._fill(on.targets, "target of a PID", targets)
        self._fill(on.rates, "velocity of a PID", rates)
        if not self._advance(self._handle.address, seen.angle, seen.rate, rows):
            _shaped("target of a PID", targets, self._shape)
            _shaped("velocity of a PID", rates, self._shape)
        return on.commands

    def _fill(self, goals: Array, what: str, value: Any) -> None:
        """Copy a value, which the kernel looks at; what is no usual array is looked at here."""
        if type(value) is float:
            goals.fill(value)
        elif type(value) is np.ndarray and value.dtype is _FLOATS and value.shape in self._shapes:
            goals[...] = value
        else:
            goals[...] = _shaped(what, value, self._shape)


class Following:
    """A PD, or a controller that acts in periods, as a law of n states.

    Parameters
    ----------
    source : PD or Periodic
    n : int
    interval : float [s]
        Time step of the simulation.
    positions : bool
        Whether commands are the targets of the PD, in place of its torques.
    """

    def __init__(self, source: PD | Periodic, n: int, interval: float, positions: bool) -> None:
        self._source, self._n, self._interval = source, n, interval
        self._positions = positions
        self._pd = source if isinstance(source, PD) else source.pd(interval)

    def serve(self, sim: Any) -> None:
        """Tell a controller that acts in periods whom it serves."""
        if not isinstance(self._source, PD):
            self._source.serve(sim, self._n, self._interval)

    def reset(self, rows: Rows) -> None:
        """Nothing: controllers that act in periods begin anew by themselves."""

    def memory(self) -> Kept:
        """Nothing for a PD.

        Raises
        ------
        ControllerError
            For a controller that acts in periods, which keeps its memory for itself.
        """
        if not isinstance(self._source, PD):
            raise ControllerError(f"the memory of {self._source!r} in Motors cannot be kept")
        return {}

    def command(self, seen: Measured, rows: Rows) -> Array:
        """Torques or positions (n, nu)."""
        source, beside = self._source, np.zeros_like(seen.angle)
        if isinstance(source, PD):
            targets, velocities = source.targets(seen.time), source.velocities(seen.time)
        else:
            aims, due = source.aims, source.due(seen.time) & rows
            if due.any():
                aims = source.act(seen.time, seen.q, seen.v, seen.forces, due)
            targets, velocities, beside = aims
        if self._positions:
            return targets
        gains = self._pd.gains
        return pd_torques(gains, seen.angle, seen.rate, targets, velocities)[1] + beside


class Given:
    """Commands that are constant, or a function of time, q and v, as a law of n states."""

    def __init__(self, source: Any, n: int, nu: int) -> None:
        self._source, self._shape = source, (n, nu)

    def serve(self, sim: Any) -> None:
        """The same for all simulations."""

    def reset(self, rows: Rows) -> None:
        """Nothing."""

    def memory(self) -> Kept:
        """Nothing."""
        return {}

    def command(self, seen: Measured, rows: Rows) -> Array:
        """Commands (n, nu)."""
        source = self._source
        found = source(seen.time, seen.q, seen.v) if callable(source) else source
        return _shaped("commands of Motors", found, self._shape)


def _shaped(what: str, value: Any, shape: tuple[int, int]) -> Array:
    """Finite values of one shape for all, one per joint, or one per state and joint."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ControllerError(f"the {what} must be numbers, not {value!r}") from None
    if array.shape not in ((), shape[1:], shape):
        raise ControllerError(
            f"the {what} must be a number, or of shape ({shape[1]},) or {shape}, not {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ControllerError(f"the {what} must be finite, not {array.tolist()}")
    return np.broadcast_to(array, shape)
