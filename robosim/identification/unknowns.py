"""Unconstrained unknowns, and the robot, gains and delay that these define."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robosim.control.controllers import PD
from robosim.description.centres import with_inertial
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.identification.inertials import (
    from_numbers,
    inertial_of,
    names_of,
    slopes_at,
    to_numbers,
    values_of,
)
from robosim.linearization.parameters import PARAMETERS, SIGNED, parameter
from robosim.validation import Array

GAINS = "kp", "kd"
LENGTH = 0.05  # [m], size of a centre of mass that is about zero
KNOWN = (*(name for name in PARAMETERS if not name.startswith("inertia:")),
         "inertial:BODY", "kp:JOINT", "kd:JOINT", "delay")  # fmt: skip


class Meaning(NamedTuple):
    """The values that the unknowns define.

    Attributes
    ----------
    robot : Mechanism
    controller : PD or None
    delay : float [s]
    names : tuple of str
        Names of single quantities; "inertial:BODY" has ten.
    values : (m,)
    by : (m, k)
        Derivatives of the values by the unknowns.
    """

    robot: Mechanism
    controller: PD | None
    delay: float
    names: tuple[str, ...]
    values: Array
    by: Array


class Unknowns:
    """Checked names of parameters, and the unconstrained unknowns that represent these.

    Positive quantities are represented by logarithms, and a body's inertia as in `inertials`.

    Parameters
    ----------
    robot : Mechanism
        With the initial values.
    names : sequence of str
    controller : PD or None
        With the initial gains.
    timestep : float [s]
    """

    def __init__(
        self, robot: Mechanism, names: Sequence[str], controller: PD | None, timestep: float
    ) -> None:
        self._robot, self._controller, self._timestep = robot, controller, timestep
        self.names = tuple(names)
        if not self.names or len(set(self.names)) != len(self.names):
            raise OptionError(
                f"parameters must be names, each once, not {list(names)}; they are "
                f"{', '.join(KNOWN)}"
            )
        numbers: list[float] = []
        for name in self.names:
            numbers += self._begin(name)
        self.start = np.array(numbers)

    def _begin(self, name: str) -> list[float]:
        kind, _, whose = name.partition(":")
        if kind == "inertial":
            mass = f"mass:{whose}"
            parameter(self._robot, mass)  # raises an error for an unknown body
            others = tuple(f"{one}:{whose}" for one in ("mass", "centre"))
            if any(one.startswith(others) for one in self.names):
                raise OptionError(f"'{name}' has the mass and centre of '{whose}' in it already")
            return to_numbers(inertial_of(self._robot, self._body(whose)), whose).tolist()
        if kind == "inertia":
            raise OptionError(
                f"'{name}' alone may become physically impossible: identify 'inertial:BODY', the "
                "whole inertia of the body, which stays physical"
            )
        if kind == "delay":
            if self._controller is not None or whose:
                raise OptionError("'delay' is that of the torques of a log, without a controller")
            return [0.0]
        if kind in GAINS:
            value = float(self._gain(kind, whose, name))
        else:
            value = parameter(self._robot, name)[0]
        if kind in SIGNED:
            return [value]
        if not value > 0.0:
            raise OptionError(
                f"'{name}' begins with {value:g}, and is looked for among positive numbers: give "
                "the robot a small positive one"
            )
        return [float(np.log(value))]

    def _body(self, whose: str) -> str:
        return self._robot.bodies[self._robot.body_or_frame(whose)[0]].name

    def _gain(self, kind: str, whose: str, name: str) -> float:
        if self._controller is None or whose not in self._robot.actuated_names:
            raise OptionError(
                f"there is no gain '{name}': it takes controller=PD(...) and one of the actuated "
                f"coordinates {', '.join(self._robot.actuated_names)}"
            )
        return float(self._controller.gains[kind][self._robot.actuated_names.index(whose)])

    def mean(self, x: Array) -> Meaning:
        """The values that unknowns (k,) define."""
        robot, delay, at = self._robot, 0.0, 0
        controller = self._controller
        names: list[str] = []
        values: list[float] = []
        by = np.zeros((len(x) + 9 * sum(n.startswith("inertial:") for n in self.names), len(x)))
        for name in self.names:
            kind, _, whose = name.partition(":")
            row = len(names)
            if kind == "inertial":
                ten, body = x[at : at + 10], self._body(whose)
                found = from_numbers(ten)
                robot = with_inertial(robot, body, *found)
                names += names_of(whose)
                values += values_of(found).tolist()
                by[row : row + 10, at : at + 10] = slopes_at(ten)
                at += 10
                continue
            signed = kind in SIGNED or kind == "delay"
            value = float(x[at] if signed else np.exp(x[at]))
            by[row, at] = 1.0 if signed else value
            if kind == "delay":
                delay = value
            elif kind in GAINS:
                assert controller is not None
                controller = _with_gain(controller, kind, self._robot.actuated_names.index(whose),
                                        value)  # fmt: skip
            else:
                robot = parameter(robot, name)[1](value)
            names.append(name)
            values.append(value)
            at += 1
        by = by[: len(names)]
        return Meaning(robot, controller, delay, tuple(names), np.array(values), by)

    @property
    def sizes(self) -> Array:
        """Sizes (m,) of the single quantities, to which errors are compared."""
        out = []
        for name, value in zip(*self.mean(self.start)[3:5], strict=True):
            kind, _, whose = name.partition(":")
            least = {"centre": LENGTH, "delay": self._timestep}.get(kind, 0.0)
            if kind == "inertia":
                body = whose.rpartition(":")[0]
                least = float(np.linalg.eigvalsh(inertial_of(self._robot, self._body(body))[2])[0])
            out.append(max(abs(value), least))
        return np.array(out)

    def of_robot(self, meaning: Meaning) -> tuple[str, ...]:
        """Names of those quantities that are parameters of `linearize`."""
        return tuple(
            name for name in meaning.names if name.partition(":")[0] not in (*GAINS, "delay")
        )


def _with_gain(controller: PD, kind: str, joint: int, value: float) -> PD:
    gains = controller.gains.copy()
    gains[kind][joint] = value
    other = PD.with_gains(gains)
    other.motion, other.velocity_motion = controller.motion, controller.velocity_motion
    return other
