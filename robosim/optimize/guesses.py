"""Initial guesses: states and torques at given times, from a log or another trajectory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.linearization.linearizer import tangent_indices
from robosim.log import Log, LogInfo
from robosim.validation import Array


class Guess(NamedTuple):
    """States and torques at some times: (n, nq), (n, nv), (n, nu)."""

    q: Array
    v: Array
    u: Array


def between(robot: Mechanism, a: Array, b: Array, part: float) -> Array:
    """Interpolated coordinates between a and b; quaternions take the shorter way."""
    q = a + part * (b - a)
    for _, at in tangent_indices(robot)[1]:
        base, end = (quaternions.normalized(x[at : at + 4]) for x in (a, b))
        way = quaternions.rotation_vector(quaternions.multiply(quaternions.conjugate(base), end))
        turn = quaternions.from_rotation_vector(part * np.asarray(way))
        q[at : at + 4] = quaternions.multiply(base, turn)
    return np.asarray(q)


def rates_between(robot: Mechanism, a: Array, b: Array, seconds: float) -> Array:
    """Mean velocities (nv,) from a to b."""
    v, (plain, turns) = np.zeros(robot.nv), tangent_indices(robot)
    for i, k in plain:
        v[i] = b[k] - a[k]
    for i, k in turns:
        base = quaternions.conjugate(a[k : k + 4])
        v[i : i + 3] = quaternions.rotation_vector(quaternions.multiply(base, b[k : k + 4]))
    return v / seconds


def sampled(robot: Mechanism, guess: Any, times: Array) -> Guess:
    """A log, or an object with t, q, v and torques, sampled at times from its beginning on.

    After the end of the guess, its last state is repeated. Rows (n, nq) are distributed evenly over
    the times.

    Raises
    ------
    OptionError
        For an invalid guess, a log or trajectory of another robot, or values that are not finite.
    """
    if isinstance(guess, Log):
        refuse_other(robot, guess.info)
    elif hasattr(guess, "robot") and hasattr(guess, "q"):
        refuse_other(robot, LogInfo.of(guess.robot, 1.0))
    else:
        return _of_rows(robot, guess, times)
    q, v = np.asarray(guess.q, dtype=float), np.asarray(guess.v, dtype=float)
    u = np.asarray(guess.u if hasattr(guess, "u") else guess.tau, dtype=float)
    t = np.asarray(guess.t, dtype=float)
    if len(t) < 2:
        raise OptionError(f"a guess needs two samples at least, not {len(t)}")
    for name, rows in (("t", t), ("q", q), ("v", v), ("torques", u)):
        if not np.all(np.isfinite(rows)):
            raise OptionError(f"{name} of the guess are not all finite")
    found = []
    for time in np.clip(times - times[0] + t[0], t[0], t[-1]):
        k = int(np.clip(np.searchsorted(t, time, side="right") - 1, 0, len(t) - 2))
        part = float((time - t[k]) / (t[k + 1] - t[k]))
        last = min(k + 1, len(u) - 1)  # there is one row of torques less than of states
        pushes = u[min(k, last)] + part * (u[last] - u[min(k, last)])
        found.append(
            (between(robot, q[k], q[k + 1], part), v[k] + part * (v[k + 1] - v[k]), pushes)
        )
    return Guess(*(np.array(rows) for rows in zip(*found, strict=True)))


def _of_rows(robot: Mechanism, guess: Any, times: Array) -> Guess:
    try:
        rows = np.asarray(guess, dtype=float)
    except (TypeError, ValueError):
        rows = np.zeros(0)
    if rows.ndim != 2 or rows.shape[1] != robot.nq or len(rows) < 2 or not np.isfinite(rows).all():
        raise OptionError(
            f"guess must be a Log, a Trajectory, a Solution, or finite rows of q (n, {robot.nq}), "
            f"not {type(guess).__name__ if rows.ndim != 2 else rows.shape}"
        )
    q, v = [], []
    for part in (times - times[0]) / (times[-1] - times[0]) * (len(rows) - 1):
        k = min(int(part), len(rows) - 2)
        q.append(between(robot, rows[k], rows[k + 1], float(part) - k))
        seconds = (times[-1] - times[0]) / (len(rows) - 1)
        v.append(rates_between(robot, rows[k], rows[k + 1], seconds))
    return Guess(np.array(q), np.array(v), np.zeros((len(times), robot.nu)))


def refuse_other(robot: Mechanism, info: LogInfo) -> None:
    """Raise an OptionError for columns that are not those of the robot."""
    own = LogInfo.of(robot, 1.0)
    for mine, theirs in ((own.q, info.q), (own.v, info.v), (own.tau, info.tau)):
        if mine != theirs:
            differ = set(theirs) ^ set(mine)
            name = next((n for n in (*theirs, *mine) if n in differ), "their order")
            raise OptionError(
                f"the guess is of another robot, '{info.robot}': it has {len(theirs)} columns "
                f"where '{robot.name}' has {len(mine)}, and they differ in '{name}'"
            )
