"""Extreme lengths of an actuator, within the limits of joints and of its tendon.

The length is minimized and maximized over all coordinates, from several starts. A free rotation is
represented by a rotation vector relative to the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.control.transmission import Transmission
from robosim.description.actuator import Actuator
from robosim.description.mechanism import Mechanism

Array = NDArray[np.float64]

# Coordinates without limits are restricted to this distance from the reference [m or rad]. An
# extreme at that distance does not count.
_FAR = 1e3
_AT_THE_END = 1.0
_NEAR_STARTS, _FAR_STARTS = 6, 6


class _Coordinates:
    """Independent coordinates of a robot, (nv,), with bounds.

    Attributes
    ----------
    lows, highs : (nv,)
        Bounds; infinite without a limit.
    balls : list of (slice, float)
        Rotation vectors, with the largest length of each.
    """

    def __init__(self, robot: Mechanism, q0: Array) -> None:
        self._robot, self._q0 = robot, q0
        self._joints = list(zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False))
        self.zero = np.zeros(robot.nv)
        self.lows, self.highs = np.full((2, robot.nv), np.inf)
        self.lows *= -1
        self.balls: list[tuple[slice, float]] = []
        for joint, i, j in self._joints:
            n = joint.numbers
            for k in range(n):
                low, high = (float(np.asarray(side)[k]) for side in (joint.lower, joint.upper))
                here = float(q0[i + k])
                if joint.units[k] == "rad" and not np.isfinite(high - low):
                    low, high = max(low, here - np.pi), min(high, here + np.pi)
                self.zero[j + k] = here
                self.lows[j + k], self.highs[j + k] = low, high
            if joint.has_quaternion:
                part, turn = slice(j + n, j + n + 3), min(np.pi, float(joint.largest_turn))
                self.lows[part], self.highs[part] = -turn, turn
                if turn < np.pi:
                    self.balls.append((part, turn))

    def q(self, x: Array) -> Array:
        """Joint coordinates (nq,) at x (nv,)."""
        q = self._q0.copy()
        for joint, i, j in self._joints:
            n = joint.numbers
            q[i : i + n] = x[j : j + n]
            angle = float(np.linalg.norm(x[j + n : j + joint.nv]))
            if joint.has_quaternion and angle > 0:
                turn = quaternions.from_axis_angle(x[j + n : j + joint.nv], angle)
                q[i + n : i + n + 4] = quaternions.multiply(self._q0[i + n : i + n + 4], turn)
        return q

    def derivatives(self, arms: Array, x: Array) -> Array:
        """Derivatives by x (nv,), from derivatives `arms` (nv,) by velocities."""
        out = arms.copy()
        for joint, _, j in self._joints:
            if joint.has_quaternion:
                part = slice(j + joint.nv - 3, j + joint.nv)
                out[part] = _rate_map(x[part]).T @ arms[part]
        return out


def _rate_map(turn: Array) -> Array:
    """(3, 3): maps rates of a rotation vector (3,) to angular velocity in the rotated axes."""
    angle = float(np.linalg.norm(turn))
    cross = np.array(((0, -turn[2], turn[1]), (turn[2], 0, -turn[0]), (-turn[1], turn[0], 0.0)))
    if angle < 1e-6:
        return np.asarray(np.eye(3) - cross / 2)
    first = (1 - np.cos(angle)) / angle**2
    second = (angle - np.sin(angle)) / angle**3
    return np.asarray(np.eye(3) - first * cross + second * cross @ cross)


def extremes(transmission: Transmission, actuator: Actuator, q0: Array) -> Array | None:
    """Least and largest length (2,) of an actuator; None if one of them does not exist.

    Parameters
    ----------
    transmission : Transmission
    actuator : Actuator
    q0 : (nq,)
        Pose around which the search begins.
    """
    robot = transmission.robot
    around = _Coordinates(robot, q0)

    def length(x: Array, sign: float) -> tuple[float, Array]:
        transmission.move_to(around.q(x), np.zeros(robot.nv))
        value, _, arms = transmission.of(actuator)
        return sign * value, sign * around.derivatives(arms, x)

    low, high = _tendon_range(robot, actuator)
    found = []
    for sign, end in ((1.0, low), (-1.0, high)):
        value, ended = _least(partial(length, sign=sign), around)
        value *= sign
        if np.isfinite(end) and (ended or sign * value < sign * end):
            value = end
        elif ended:
            return None
        found.append(value)
    return np.array(found)


def _tendon_range(robot: Mechanism, actuator: Actuator) -> tuple[float, float]:
    """The range of the tendon's length, if the actuator pulls one tendon only."""
    ranges = {tendon.name: (tendon.lower, tendon.upper) for tendon in robot.tendons}
    if len(actuator.gears) != 1:
        return -np.inf, np.inf
    ((name, gear),) = actuator.gears.items()
    if name not in ranges or isinstance(gear, tuple) or gear == 0:
        return -np.inf, np.inf
    low, high = sorted(gear * end for end in ranges[name])
    return low, high


def _least(
    function: Callable[[Array], tuple[float, Array]], around: _Coordinates
) -> tuple[float, bool]:
    """The minimum of a function with derivatives; whether it is only due to artificial bounds."""
    from scipy.optimize import minimize

    lows = np.where(np.isfinite(around.lows), around.lows, around.zero - _FAR)
    highs = np.where(np.isfinite(around.highs), around.highs, around.zero + _FAR)
    zero = np.clip(around.zero, lows, highs)
    rng = np.random.default_rng(0)
    near = np.clip(lows, zero - 1, zero + 1), np.clip(highs, zero - 1, zero + 1)
    starts = [zero, *(rng.uniform(*near) for _ in range(_NEAR_STARTS))]
    moved = np.any([np.abs(function(x)[1]) > 1e-12 for x in starts], axis=0)
    lows, highs = np.where(moved, lows, zero), np.where(moved, highs, zero)
    box = list(zip(lows, highs, strict=True))
    wide = np.maximum(lows, zero - np.pi), np.minimum(highs, zero + np.pi)
    starts += [rng.uniform(*wide) for _ in range(_FAR_STARTS)]
    inside = [
        {"type": "ineq", "fun": lambda x, p=part, a=angle: a * a - x[p] @ x[p]}
        for part, angle in around.balls
        if np.any(moved[part])
    ]
    method = {"method": "SLSQP", "constraints": inside} if inside else {}
    ends = [minimize(function, x, jac=True, bounds=box, **method) for x in starts]
    best = min(ends, key=lambda end: float(end.fun))
    free = moved & ~(np.isfinite(around.lows) & np.isfinite(around.highs))
    ended = np.any(np.abs(best.x - zero)[free] > _FAR - _AT_THE_END)
    return float(best.fun), bool(ended)
