"""Prescribed motions of joints and tendons, as functions of time."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from robosim import quaternions
from robosim.blame import user_level
from robosim.compiled.order import driven_elements
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.tendon import Tendon
from robosim.errors import StateError
from robosim.validation import Array, finite

# Step [s] of finite differences of a motion. With differences of sixth order, rounding errors and
# higher derivatives are about 1e-11 for motions within a second.
STEP = 3e-3
FIRST = np.array((-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0)) / 60.0
SECOND = np.array((2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0)) / 180.0
UNIT = 1e-3  # tolerance of the norm of a quaternion


class Course(NamedTuple):
    """Value and derivatives of a prescribed motion; free rotations in child axes."""

    value: Array  # (nq,)
    rates: Array  # (nv,)
    accelerations: Array  # (nv,)


class Motions:
    """Prescribed motions of a robot's driven joints and tendons.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    """

    def __init__(self, robot: Mechanism, timestep: float) -> None:
        self.timestep, self.driven = timestep, driven_elements(robot)
        ends = np.cumsum([numbers_of(element)[0] for element in self.driven], dtype=int)
        self.places = [
            slice(int(end) - numbers_of(element)[0], int(end))
            for element, end in zip(self.driven, ends, strict=True)
        ]
        self._strayed: set[str] = set()  # driven joints for which a warning has been issued

    def at(self, start: float, first: int, n: int) -> Array:
        """Values and rates of the driven coordinates at knots `first` .. first + n - 1.

        The result is (n, nd, 2). A free rotation has the four numbers of its quaternion, and rates
        in the first three rows. Times are counted from `start`, so that values at a knot do not
        depend on the steps of earlier runs.
        """
        out = np.zeros((n, self.places[-1].stop if self.places else 0, 2))
        step = 1e-3 * self.timestep
        for element, place in zip(self.driven, self.places, strict=True):
            nq, nv = numbers_of(element)
            for k in range(n):
                t = start + (first + k) * self.timestep
                here, before, after = (value_at(element, t + s) for s in (0.0, -step, step))
                out[k, place, 0] = here
                rates = difference(element, before, after) / (2 * step)
                out[k, place.start : place.start + nv, 1] = rates
            numbers = nq if nq == nv else nq - 4
            values = out[:, place.start : place.start + numbers, 0]
            self._warn(element, start + self.timestep * first, values)
        return out

    def _warn(self, element: Joint | Tendon, start: float, values: Array) -> None:
        """Issue a warning, once, if a motion exceeds the limits of its joint."""
        n = values.shape[1]
        sides = element.lower, element.upper
        lower, upper = (np.atleast_1d(np.asarray(side))[:n] for side in sides)
        beyond = np.argwhere((values < lower - 1e-9) | (values > upper + 1e-9))
        if len(beyond) and element.name not in self._strayed:
            self._strayed.add(element.name)
            knot, row = beyond[0]
            which = f"coordinate {row} of joint" if n > 1 else "joint"
            warnings.warn(
                f"{which} '{element.name}' is driven along its motion to {values[knot, row]:.6g} "
                f"at {start + self.timestep * knot:.6g} s, beyond its limits of {lower[row]:.6g} "
                f"and {upper[row]:.6g}, which do not hold what is driven",
                stacklevel=user_level(),
            )


def numbers_of(element: Joint | Tendon) -> tuple[int, int]:
    """Sizes nq and nv of a motion's value and of its rates."""
    return (element.nq, element.nv) if isinstance(element, Joint) else (1, 1)


def value_at(element: Joint | Tendon, time: float) -> Array:
    """Value of a motion at a time, (nq,), or a StateError if it is invalid."""
    assert element.motion is not None
    nq = numbers_of(element)[0]
    what = f"the motion of joint '{element.name}'"
    try:
        given = element.motion(time)
        if given is None:
            raise TypeError("it returns nothing")
        value = np.asarray(given, dtype=float)
    except Exception as error:
        raise StateError(
            f"{what} fails at t = {time:.9g} s: {type(error).__name__}: {error}"
        ) from error
    if value.shape != (nq,) and not (nq == 1 and value.shape == ()):
        raise StateError(
            f"{what} must be of shape ({nq},), as its coordinates are, not {value.shape}, at "
            f"t = {time:.9g} s"
        )
    checked = finite(np.array(value.reshape(nq)), (nq,))
    if checked is None:
        raise StateError(f"{what} is {given} at t = {time:.9g} s; it must be finite")
    if isinstance(element, Joint) and element.has_quaternion:
        turn = checked[element.numbers :]
        norm = float(np.linalg.norm(turn))
        if abs(norm - 1) > UNIT:
            raise StateError(
                f"{what} is {given} at t = {time:.9g} s, whose quaternion has the norm {norm:.6g}; "
                "it must be 1"
            )
        turn /= norm
    return checked


def difference(element: Joint | Tendon, before: Array, after: Array) -> Array:
    """Difference (nv,) from one value (nq,) to another; free rotations in child axes."""
    if not (isinstance(element, Joint) and element.has_quaternion):
        return after - before
    n = element.numbers
    turn = quaternions.multiply(quaternions.conjugate(before[n:]), after[n:])
    return np.concatenate((after[:n] - before[:n], quaternions.rotation_vector(turn)))


def rates_at(element: Joint | Tendon, time: float) -> Array:
    """Rates (nv,) of a motion, by its method `rate` or else by finite differences."""
    own = getattr(element.motion, "rate", None)
    if own is None:
        return course(element, time).rates
    nv = numbers_of(element)[1]
    rates = finite(np.reshape(own(time), -1), (nv,))
    if rates is None:
        raise StateError(
            f"the rate of the motion of joint '{element.name}' must be {nv} finite numbers, not "
            f"{own(time)!r}, at t = {time:.9g} s"
        )
    return rates


def goal_of(joint: Joint, value: Array) -> Array:
    """Coordinates (nv,) of a joint for kernels that close loops, with rotation vectors."""
    if not joint.has_quaternion:
        return value
    n = joint.numbers
    return np.concatenate((value[:n], quaternions.rotation_vector(value[n:])))


def course(element: Joint | Tendon, time: float) -> Course:
    """Value, rates and accelerations of a motion, by finite differences of sixth order."""
    places = [value_at(element, time + k * STEP) for k in range(-3, 4)]
    # The second derivative of a rotation vector at zero is the angular acceleration.
    beyond = np.array([difference(element, places[3], place) for place in places])
    return Course(places[3], FIRST @ beyond / STEP, SECOND @ beyond / STEP**2)
