"""Controllers: anything callable with the simulation that returns torques (nu,).

`PD` is one that the compiled loop knows, so that `Simulation.run` does not come back to Python
between the steps.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, ModelError, OptionError
from robosim.simulation.gaits import Gait
from robosim.simulation.standing import carried_inertia, home_inertia

if TYPE_CHECKING:
    from robosim.simulation.formulation import Formulation

Array = NDArray[np.float64]
Controller = Callable[[Any], Any]  # from the simulation
Motion = Callable[[Array], Array]  # from times (n,) [s] to targets (n, nu)

_DOUBLES = ctypes.POINTER(ctypes.c_double)
GAINS = np.dtype(
    [
        ("q_index", "i8"),
        ("v_index", "i8"),
        ("target", "f8"),
        ("kp", "f8"),
        ("kd", "f8"),
        ("velocity", "f8"),
        ("limit", "f8"),  # of the torque at standstill, either way
        ("speed", "f8"),  # at which none is left of it along the motion, inf if all is
        ("implicit", "i8"),
    ]
)


class PD:
    """Joint PD control: tau = kp (target - q) + kd (velocity - v).

    A controller of one's own may return one as well: it then holds for that step.

    The torques are computed at the beginning of each step and held over it, as a digital
    controller does, which is unstable where the gains are too stiff for the timestep. Implicit
    ones are part of the step's equations, with q at its end and v over it: that of a servo with
    a fast loop of its own, stable at any timestep. What it gives over a step acts at its beginning.

    Parameters
    ----------
    robot : Mechanism
    target : (nu,) [rad or m], in the order of ``robot.actuated``; or a function of time
        From times (n,) [s] to targets (n, nu): those of the steps that begin there. It is called
        once for many steps.
    kp, kd : (nu,) or float [N m/rad, N m s/rad; N/m, N s/m]
    velocity : (nu,) or float [rad/s or m/s]
        With kp = 0 it makes a velocity servo.
    limit : (nu,) or float [N m or N], or None
        The largest torque that it gives, either way; ``robot.effort_limits`` has those of the
        joints. None: as much as the gains ask for.
    speed : (nu,) or float [rad/s or m/s], or None
        Speed without load of motors, which have a limit: along the motion, the largest torque falls
        linearly from `limit` at standstill to zero at this speed, and is zero beyond it. Against
        the motion a motor brakes with all of its limit. None: the limit is the same at all speeds.
    implicit : bool

    Raises
    ------
    ControllerError
        For a wrong shape, a value that is not finite, a limit below zero, a speed that is not
        positive or of a motor without a limit, or a kp for a joint with a quaternion, which can
        only be damped.
    """

    def __init__(
        self,
        robot: Mechanism,
        target: ArrayLike | Motion,
        kp: ArrayLike,
        kd: ArrayLike,
        *,
        velocity: ArrayLike = 0.0,
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
        self.gains["q_index"] = [
            v - robot.v_offsets[owner[v]] + robot.q_offsets[owner[v]] for v in robot.actuated
        ]
        self.motion = target if callable(target) else None
        for name, value in (
            ("target", self.targets(np.zeros(1))[0] if callable(target) else target),
            ("kp", kp),
            ("kd", kd),
            ("velocity", velocity),
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
        for v in self.gains["v_index"][self.gains["kp"] != 0.0]:
            joint = robot.joints[owner[v]]
            if joint.has_quaternion and v >= robot.v_offsets[owner[v]] + joint.C_T.shape[1]:
                raise ControllerError(
                    f"PD control needs joints with single coordinates; joint '{joint.name}' is "
                    f"'{joint.kind}'"
                )

    def begin_at(self, time: float) -> None:
        """Let a gait set in at this time [s] of the simulation, as one that takes over there."""
        if isinstance(self.motion, Gait):
            self.motion.begin = time

    def targets(self, times: ArrayLike) -> Array:
        """Targets (n, nu) of the steps that begin at times (n,) [s].

        Raises
        ------
        ControllerError
            If the function of time gives another shape, or what is not finite.
        """
        times = np.asarray(times, dtype=np.float64)
        if self.motion is None:
            return np.tile(self.gains["target"], (len(times), 1))
        found = np.asarray(self.motion(times), dtype=float)
        if found.shape != (len(times), len(self.gains)) or not np.all(np.isfinite(found)):
            raise ControllerError(
                f"the target's function of time must give finite numbers of shape "
                f"({len(times)}, {len(self.gains)}) for {len(times)} times, not {found.shape}"
            )
        return found

    def __call__(self, sim: Formulation) -> Array:
        """Torques (nu,) for the simulation's present state; for one that is not implicit."""
        if self.gains["implicit"].any():
            raise ControllerError(
                "an implicit PD is part of the step: hand it to run() or stream() itself"
            )
        g = self.gains
        if self.motion is not None:
            g["target"] = self.targets(np.array([sim.time]))[0]
        state = sim.state
        rates = state.joint_v[g["v_index"]]
        asked = g["kp"] * (g["target"] - state.joint_q[g["q_index"]])
        asked += g["kd"] * (g["velocity"] - rates)
        return motor_torques(g, asked, rates)


def motor_torques(gains: NDArray[np.void], asked: Array, rates: Array) -> Array:
    """What motors give (n,) of torques that are asked for (n,), at rates (n,).

    As `robosim.kernels.equations.joint_forces.motor_torque` has it.
    """
    limit, ends = gains["limit"], np.isfinite(gains["speed"])
    droop = np.divide(limit, gains["speed"], out=np.zeros(len(gains)), where=ends)
    most, least = (
        np.maximum(limit - droop * np.maximum(way * rates, 0.0), 0.0) for way in (1.0, -1.0)
    )
    return np.asarray(np.clip(asked, -least, most))


class Compiled:
    """A controller that numba compiles: the loop over the steps then never comes back to Python.

    Its errors are lost, as numba prints what such a function raises and goes on. Compiling takes a
    fraction of a second, once for each of these: keep it for several runs.

    Parameters
    ----------
    robot : Mechanism
    function : callable(t, q, v, tau), jitted by numba
        From the time [s], the coordinates (nq,) and the velocities (nv,) at the beginning of a step
        to the torques held over it: it writes them to tau (nu,), which is zero before.

    Attributes
    ----------
    address : int
        Of the function in memory, as long as this object is there.
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
                f"controller '{function.__name__}' returns {returned}, which nobody reads: a "
                "compiled one writes its torques into its last argument, as in tau[:] = ..."
            )
        self.address = int(self._call.address)

    def __call__(self, sim: Formulation) -> Array:
        """Torques (nu,) for the simulation's present state."""
        forces = np.zeros(sim.robot.v_offsets[-1])
        state = (sim.state.joint_q.copy(), sim.state.joint_v.copy(), forces)
        self._call.ctypes(sim.time, *(array.ctypes.data_as(_DOUBLES) for array in state))
        return forces[np.asarray(sim.robot.actuated)]


def _numbers(value: Any) -> Array:
    """A value as numbers, nan if it is none."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return np.full((), np.nan)


def zero(robot: Mechanism, timestep: float | None = None) -> PD:
    """No torques at all, whatever the timestep."""
    return PD(robot, 0.0, 0.0, 0.0)


def stand(
    robot: Mechanism,
    timestep: float | None = None,
    *,
    q: ArrayLike | None = None,
    implicit: bool | None = None,
) -> PD:
    """Hold a standing pose: the robot's stance if it has one, or else its home pose.

    For robots without a stance the gains are those of a critically damped spring of 5 Hz, from
    the inertia that each joint carries: of what hangs on it, or, if that has feet below it, of
    its share of the rest of the robot.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s] or None
        Of the simulation. Where torques that are held over it would be unstable (see
        `holds_over`), the gains are implicit ones.
    q : (nq,) or None
        A pose to hold instead of home, for robots without a stance.
    implicit : bool or None
        Whether they are, whatever the timestep. None: as `timestep` needs it, or not if that is
        None as well.

    Raises
    ------
    ModelError
        If the robot has no actuated joint.
    OptionError
        For a timestep that is not positive.
    """
    if robot.nu == 0:
        raise ModelError("has no actuated joint to stand with", element=f"robot '{robot.name}'")
    if timestep is not None and not (np.isfinite(timestep) and timestep > 0):
        raise OptionError(f"timestep must be a positive number, not {timestep!r}")
    if robot.stance is not None:
        known = robot.stance
        target, kp, kd = np.asarray(known.target), np.asarray(known.kp), np.asarray(known.kd)
    else:
        gains = zero(robot).gains
        ours = gains["v_index"] < robot.nv  # the tree leads the joints that close its loops
        pose = np.asarray(robot.home if q is None else q, dtype=float)
        carried = np.zeros(robot.nu)
        carried[ours] = carried_inertia(robot, pose)[gains["v_index"][ours]]
        frequency = 2 * np.pi * 5.0
        target, kp, kd = np.zeros(robot.nu), carried * frequency**2, 2 * carried * frequency
        target[ours] = pose[gains["q_index"][ours]]
    pd = PD(robot, target, kp, kd)
    if implicit is None:
        implicit = timestep is not None and not holds_over(pd, home_inertia(robot), timestep)
    pd.gains["implicit"] = implicit
    return pd


def trot(
    robot: Mechanism,
    timestep: float | None = None,
    *,
    b: float = 0.2,
    a1: float = 0.2,
    d1: float = 1.0,
    a2: float = 0.2,
    d2: float = -1.5,
    blend: float = 0.5,
    begin: float = 0.0,
) -> PD:
    """The gait of [Bruedigam2023, Algorithm 6]: diagonal legs swing together.

    With these parameters the A1 walks forward by 0.1 m/s at friction 0.2, and backward by 0.4 m/s
    at 0.5 to 1. The gait sets in gradually, from the stance: it throws a robot over that does not
    begin in the gait's first pose, ``trot(robot, blend=0).targets([0.0])``, on enough friction.

    Thighs follow ``a1 cos(20 pi b t) + d1``, calves ``a2 cos(20 pi b t - pi/2) + d2``, hips stay at
    zero; the other diagonal is half a period later. The gains are those of the stance.

    Parameters
    ----------
    robot : Mechanism
        With a stance, and joints named <leg>_hip_joint, _thigh_joint and _calf_joint for the legs
        FR, FL, RR and RL, as the A1 has them.
    timestep : float [s] or None
        As for `stand`.
    b : float
        A tenth of the frequency [Hz].
    a1, d1, a2, d2 : float [rad]
    blend : float [s]
        How long the targets take from the stance to the whole gait; 0 for the algorithm as printed.
    begin : float [s]
        Time of the simulation at which they begin to; see `PD.begin_at`.

    Raises
    ------
    ModelError
        For another robot.
    OptionError
        For a blend below zero, or times that are not finite.
    """
    names = robot.actuated_names
    parts = [name.split("_") for name in names]
    known = {(leg, part) for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf")}
    if robot.stance is None or {(part[0], part[1]) for part in parts if len(part) == 3} != known:
        raise ModelError(
            "cannot trot: it needs a stance, and hip, thigh and calf joints of the legs FR, FL, RR "
            "and RL, as the A1 has them",
            element=f"robot '{robot.name}'",
        )
    amplitude, offset, phase = np.zeros((3, len(names)))
    for k, (leg, part, _) in enumerate(parts):
        later = 0.0 if leg in ("FR", "RL") else np.pi
        if part == "thigh":
            amplitude[k], offset[k], phase[k] = a1, d1, later
        elif part == "calf":
            amplitude[k], offset[k], phase[k] = a2, d2, later - np.pi / 2

    if not (np.isfinite(blend) and blend >= 0 and np.isfinite(begin)):
        raise OptionError(
            f"blend must be a time of zero or more, and begin one, not {blend!r}, {begin!r}"
        )
    held = stand(robot, timestep)
    rest, rate = held.gains["target"].copy(), 20 * np.pi * b
    gait = Gait(rest, amplitude, offset, phase, rate, blend, begin)
    pd = PD(robot, gait, held.gains["kp"], held.gains["kd"])
    pd.gains["implicit"] = held.gains["implicit"]
    return pd


def holds_over(pd: PD, inertia: Array, timestep: float) -> bool:
    """Whether a PD is stable with its torques held over the timestep.

    Of a free motion with eigenvector v and factor z per step, the integrator leaves
    ``m (z-1)^2 + h d (z-1) + h^2 k (z+1)/2 = 0`` with m, d, k the quadratic forms in v of inertia,
    kd and kp. Its roots are within the unit circle if ``h d < 2 m`` and ``h k < 2 d``: if h times
    the largest eigenvalue of ``M^-1 kd`` is below 2, and h kp below 2 kd joint by joint. Contacts
    and loops only add to the inertia.

    Parameters
    ----------
    pd : PD
    inertia : (nv, nv), mass matrix of the tree with its rotors
    timestep : float [s]
    """
    g = pd.gains[pd.gains["v_index"] < len(inertia)]
    columns = np.zeros((len(inertia), len(g)))
    columns[g["v_index"], np.arange(len(g))] = np.sqrt(g["kd"])
    fastest = np.linalg.eigvalsh(columns.T @ np.linalg.solve(inertia, columns)).max(initial=0.0)
    active = (g["kp"] != 0.0) | (g["kd"] != 0.0)
    stiff = np.any(timestep * g["kp"][active] >= 2 * g["kd"][active])
    return bool(timestep * fastest < 2 and not stiff)


BUILT_IN: dict[str, Callable[[Mechanism, float | None], PD]] = {
    "stand": stand,
    "trot": trot,
    "zero": zero,
}


def resolve(
    robot: Mechanism, controller: str | Controller | None, timestep: float | None = None
) -> Controller:
    """The controller meant by a name, a callable or None (no torques).

    A named one is made for the timestep [s] of the simulation, where that is given.

    Raises
    ------
    ControllerError
        For an unknown name, or something that cannot be called.
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
    """Forces on every joint's coordinates, from (nu,) or (nv,), or a ControllerError.

    Joints that close loops come last, behind the nv of the tree. ``None`` means zero.
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
