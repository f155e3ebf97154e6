"""PD control of joints, evaluated in the compiled loop: targets, gains, limits of motors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError

if TYPE_CHECKING:
    from robosim.formulation import Formulation

Array = NDArray[np.float64]
Motion = Callable[[Array], Array]
"""A function of times (n,) [s] that returns targets (n, nu) [rad or m]."""

GAINS = np.dtype(
    [
        ("q_index", "i8"),
        ("v_index", "i8"),
        ("turn", "i8"),  # of a free rotation: where its quaternion begins in q; else -1
        ("target", "f8"),
        ("kp", "f8"),
        ("kd", "f8"),
        ("velocity", "f8"),
        ("limit", "f8"),  # largest torque at standstill, in both directions
        ("speed", "f8"),  # no-load speed at which the torque along the motion is zero, or inf
        ("implicit", "i8"),
    ]
)
"""The record of each actuated coordinate in a `PD`: indices, target, gains and limits."""


class PD:
    """Joint PD control: tau = kp (target - q) + kd (velocity - v).

    The torques are computed at the beginning of each step and held over the step, as by a digital
    controller. Such torques are unstable if the gains are too stiff for the timestep. With
    ``implicit=True`` the torques are part of the step's equations, with q at the end of the step
    and v over the step. Such torques act like those of a servo with its own fast control loop, and
    are stable at any timestep. Where nothing else acts along a ball joint, ``Simulation`` then uses
    its solver "ldu".

    A controller in Python can also return a PD, which then holds for that step.

    Parameters
    ----------
    robot : Mechanism
    target : (nu,) [rad or m], in the order of ``robot.actuated``; or a function of time
        The function takes the times (n,) [s] at which steps begin and returns targets (n, nu).
        One call serves many steps.
    kp, kd : (nu,) or float [N m/rad, N m s/rad; N/m, N s/m]
        Gains of position and velocity.
    velocity : (nu,) or float [rad/s or m/s]; or a function of time, as for `target`
        Desired velocity. With kp = 0 the controller is a velocity servo.
    limit : (nu,) or float [N m or N], or None
        The largest torque in both directions; ``robot.effort_limits`` has those of the joints.
        None: no limit.
    speed : (nu,) or float [rad/s or m/s], or None
        No-load speed of motors, which must have a limit. Along the motion, the largest torque
        falls linearly from `limit` at standstill to zero at this speed and beyond. Against the
        motion the full limit is available. None: the limit is the same at all speeds.
    implicit : bool
        Whether the torques are part of the step's equations.

    Attributes
    ----------
    gains : (nu,) of `GAINS`

    Raises
    ------
    ControllerError
        For a wrong shape, a value that is not finite, a negative limit, a speed that is not
        positive, or a speed without a limit. For a kp of a joint with a quaternion, which can only
        be damped.
    """

    def __init__(
        self,
        robot: Mechanism,
        target: ArrayLike | Motion,
        kp: ArrayLike,
        kd: ArrayLike,
        *,
        velocity: ArrayLike | Motion = 0.0,
        limit: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        implicit: bool = False,
    ) -> None:
        owner: dict[int, int] = {}
        for j, joint in enumerate(robot.joints):
            owner.update(dict.fromkeys(range(robot.v_offsets[j], robot.v_offsets[j] + joint.nv), j))
        self.gains = np.zeros(robot.nu, dtype=GAINS)
        self.gains["v_index"] = robot.actuated
        self.gains["implicit"] = implicit
        for gains, v in zip(self.gains, robot.actuated, strict=True):
            joint, begin = robot.joints[owner[v]], robot.q_offsets[owner[v]]
            gains["q_index"] = begin + v - robot.v_offsets[owner[v]]
            turn = begin + joint.C_T.shape[1]
            gains["turn"] = turn if joint.has_quaternion and gains["q_index"] >= turn else -1
        self.motion = target if callable(target) else None
        self.velocity_motion = velocity if callable(velocity) else None
        for name, value in (
            ("target", self.targets(np.zeros(1))[0] if callable(target) else target),
            ("kp", kp),
            ("kd", kd),
            ("velocity", self.velocities(np.zeros(1))[0] if callable(velocity) else velocity),
        ):
            values = _numbers(value)
            if values.shape not in ((), (robot.nu,)) or not np.all(np.isfinite(values)):
                raise ControllerError(
                    f"{name} must be a finite number or {robot.nu} of them, not {value!r}"
                )
            self.gains[name] = values
        limits = _numbers(np.inf if limit is None else limit)
        if limits.shape not in ((), (robot.nu,)) or not np.all(limits >= 0.0):
            raise ControllerError(
                f"limit must be None, or a torque of zero or more or {robot.nu} of them, "
                f"not {limit!r}"
            )
        self.gains["limit"] = limits
        speeds = _numbers(np.inf if speed is None else speed)
        if speeds.shape not in ((), (robot.nu,)) or not np.all(speeds > 0.0):
            raise ControllerError(
                f"speed must be None, or a positive speed or {robot.nu} of them, not {speed!r}"
            )
        self.gains["speed"] = speeds
        for k in np.flatnonzero(np.isfinite(self.gains["speed"]) & np.isinf(self.gains["limit"])):
            raise ControllerError(
                f"the motor of '{robot.actuated_names[k]}' has a speed, but no limit of its torque "
                "that could fall towards it: give it a limit"
            )
        for v in self.gains["v_index"][(self.gains["kp"] != 0.0) & (self.gains["turn"] >= 0)]:
            joint = robot.joints[owner[v]]
            raise ControllerError(
                f"PD control needs joints with single coordinates; joint '{joint.name}' is "
                f"'{joint.kind}'"
            )

    def __repr__(self) -> str:
        gains = self.gains
        told = [f"{len(gains)} actuators"]
        for name in ("kp", "kd"):
            low, high = (f"{value:.6g}" for value in _ends(gains[name]))
            told.append(f"{name} = {low}" if low == high else f"{name} = {low} to {high}")
        told += ["moving"] * self.moves + ["limited"] * bool(np.isfinite(gains["limit"]).any())
        told += ["implicit"] * bool(np.any(gains["implicit"]))
        return f"<{type(self).__name__} of {', '.join(told)}>"

    @classmethod
    def with_gains(cls, gains: NDArray[np.void]) -> PD:
        """A PD with these gains, (nu,) of `GAINS`, without functions of time."""
        made = cls.__new__(cls)
        made.gains, made.motion, made.velocity_motion = gains.copy(), None, None
        return made

    def begin_at(self, time: float) -> None:
        """Set the time [s] at which a gait begins; a plain PD ignores the time."""

    @property
    def moves(self) -> bool:
        """Whether the target or the velocity is a function of time."""
        return self.motion is not None or self.velocity_motion is not None

    def targets(self, times: ArrayLike) -> Array:
        """Targets (n, nu) [rad or m] of the steps that begin at times (n,) [s].

        Raises
        ------
        ControllerError
            If the function of time returns a wrong shape, or a value that is not finite.
        """
        return self._along("target", self.motion, times)

    def velocities(self, times: ArrayLike) -> Array:
        """Desired velocities (n, nu) of the steps that begin at times (n,) [s].

        Raises
        ------
        ControllerError
            As `targets`.
        """
        return self._along("velocity", self.velocity_motion, times)

    def moving(self, times: ArrayLike) -> tuple[Array | None, Array | None]:
        """`targets` and `velocities` at times (n,) [s]; None for each that is constant."""
        return (
            None if self.motion is None else self.targets(times),
            None if self.velocity_motion is None else self.velocities(times),
        )

    def aim(self, gains: NDArray[np.void], time: float) -> None:
        """Write the targets and velocities of this time [s] into gains (nu,)."""
        for name, found in zip(("target", "velocity"), self.moving([time]), strict=True):
            if found is not None:
                gains[name] = found[0]

    def _along(self, what: str, motion: Motion | None, times: ArrayLike) -> Array:
        times = np.asarray(times, dtype=np.float64)
        if motion is None:
            return np.tile(self.gains[what], (len(times), 1))
        found = np.asarray(motion(times), dtype=float)
        if found.shape != (len(times), len(self.gains)) or not np.all(np.isfinite(found)):
            raise ControllerError(
                f"the {what}'s function of time must give finite numbers of shape "
                f"({len(times)}, {len(self.gains)}) for {len(times)} times, not {found.shape}"
            )
        return found

    def __call__(self, sim: Formulation) -> Array:
        """Torques (nu,) for the simulation's present state.

        Raises
        ------
        ControllerError
            If the PD is implicit.
        """
        if self.gains["implicit"].any():
            raise ControllerError(
                "an implicit PD is part of the step: pass it directly to run() or stream()"
            )
        g = self.gains
        self.aim(g, sim.time)
        state = sim.state
        rates = state.joint_v[g["v_index"]]
        return pd_torques(g, state.joint_q[g["q_index"]], rates)[1]


def check_motors(pd: PD, robot: Mechanism) -> None:
    """Refuse a PD whose motors are not those of a robot.

    Raises
    ------
    ControllerError
        For another number of motors, or motors that are elsewhere in q or v.
    """
    own = _PLACES.get(robot)
    if own is None:
        own = _PLACES[robot] = PD(robot, 0.0, 0.0, 0.0).gains
    if len(pd.gains) != len(own):
        raise ControllerError(
            f"this PD is for a robot with {len(pd.gains)} actuators, and '{robot.name}' has "
            f"{len(own)}"
        )
    for what in ("q_index", "v_index"):
        if not np.array_equal(pd.gains[what], own[what]):
            raise ControllerError(
                "this PD is for another robot: its actuated coordinates are elsewhere in q and v "
                f"than those of '{robot.name}'; make it of the robot that is simulated"
            )


_PLACES: WeakKeyDictionary[Mechanism, NDArray[np.void]] = WeakKeyDictionary()


def pd_torques(
    gains: NDArray[np.void],
    q: Array,
    rates: Array,
    target: Array | None = None,
    velocity: Array | None = None,
) -> tuple[Array, Array]:
    """Desired torques (n,) at the coordinates of n motors and their rates, and those they give.

    A target or velocity takes the place of the gains'. All but the gains may have rows of states.
    """
    asked = gains["kp"] * ((gains["target"] if target is None else target) - q)
    asked += gains["kd"] * ((gains["velocity"] if velocity is None else velocity) - rates)
    return asked, motor_torques(gains, asked, rates)


def droops(gains: NDArray[np.void]) -> Array:
    """By how much limits of motors (n,) fall with their rates: to zero at their speeds."""
    limit, ends = gains["limit"], np.isfinite(gains["speed"])
    return np.divide(limit, gains["speed"], out=np.zeros(limit.shape), where=ends)


def motor_torques(gains: NDArray[np.void], asked: Array, rates: Array) -> Array:
    """Torques of motors (n,) for desired torques (n,), at rates (n,) [rad/s or m/s].

    The same function as `robosim.kernels.equations.joint_forces.motor_torque`.
    """
    _, most, least = _motor_ends(gains, rates)
    return np.asarray(np.clip(asked, -least, most))


def motor_slopes(gains: NDArray[np.void], asked: Array, rates: Array) -> tuple[Array, Array]:
    """Derivatives of `motor_torques` by the desired torques (1 or 0) and by the rates."""
    droop, most, least = _motor_ends(gains, rates)
    above, below = asked > most, asked < -least
    falls = (above & (rates > 0.0) & (most > 0.0)) | (below & (rates < 0.0) & (least > 0.0))
    return np.where(above | below, 0.0, 1.0), np.where(falls, -droop, 0.0)


def _motor_ends(gains: NDArray[np.void], rates: Array) -> tuple[Array, Array, Array]:
    """Slopes of the largest torques over the rates, and these in both directions."""
    limit, droop = gains["limit"], droops(gains)
    most, least = (
        np.maximum(limit - droop * np.maximum(way * rates, 0.0), 0.0) for way in (1.0, -1.0)
    )
    return droop, most, least


def _numbers(value: Any) -> Array:
    """A value as an array, or NaN if it has no numbers."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return np.full((), np.nan)


def _ends(values: Array) -> tuple[float, float]:
    """The smallest and the largest of some numbers; 0 and 0 if there are none."""
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
