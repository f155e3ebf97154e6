"""Activation dynamics of actuators, and forces of muscles.

The curves are those of MuJoCo's muscles [MuJoCo documentation, Modeling, Muscle actuators], the
time constants of their activation those of [Millard2013].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robosim.errors import ModelError
from robosim.validation import Frozen, frozen_array, not_negative

KINDS = ("integrator", "filter", "filterexact", "muscle")
"""How an actuator's activation follows its control, by MJCF's names."""


@dataclass(frozen=True, eq=False)
class Activation(Frozen):
    """Activation dynamics of first order between a control and a force.

    Attributes
    ----------
    kind : "integrator", "filter", "filterexact" or "muscle"
        "integrator": the rate of the activation is the control. "filter" and "filterexact": the
        rate is the difference from the control, divided by a time constant, integrated by Euler's
        method or exactly. "muscle": the rate is that of a muscle.
    constants : (3,) [s, s, 1]
        Time constant of a filter. For a muscle: time constants of activation and deactivation, and
        the width of the transition between both, as a difference of control and activation.
    range : (2,)
        Range of the activation.
    early : bool
        Whether a step's force is computed from the activation at the end of the step.
    """

    kind: str
    constants: tuple[float, float, float] = (1.0, 0.0, 0.0)
    range: tuple[float, float] = (-np.inf, np.inf)
    early: bool = False

    def __post_init__(self) -> None:
        element = f"activation '{self.kind}'"
        if self.kind not in KINDS:
            raise ModelError("is no kind of activation", element=element, alternatives=KINDS)
        constants = frozen_array(self.constants, (3,), "constants", element)
        if np.any(constants < 0):
            raise ModelError(f"constants must not be negative: {constants}", element=element)
        self._set(constants=tuple(constants.tolist()), range=tuple(map(float, self.range)))

    def at_once(self, control: float) -> float:
        """The activation for a control without delay."""
        return float(np.clip(control, 0.0, 1.0)) if self.kind == "muscle" else control

    def rate(self, control: float, value: float) -> float:
        """Rate of the activation [1/s] for a control and a present value."""
        if self.kind == "integrator":
            return control
        if self.kind == "muscle":
            return self._muscle_rate(float(np.clip(control, 0.0, 1.0)), value)
        return (control - value) / max(self.constants[0], 1e-15)

    def _muscle_rate(self, control: float, value: float) -> float:
        rising, falling, width = self.constants
        scale = 0.5 + 1.5 * float(np.clip(value, 0.0, 1.0))
        ahead = control - value
        up = float(ahead > 0) if width < 1e-15 else _smooth_step(ahead / width + 0.5)
        return ahead / max(falling / scale + up * (rising * scale - falling / scale), 1e-15)

    def advanced(self, control: float, value: float, dt: float) -> float:
        """The activation after a time dt [s] with a control."""
        after = value + dt * self.rate(control, value)
        if self.kind == "filterexact":
            after = control + (value - control) * float(np.exp(-dt / max(self.constants[0], 1e-15)))
        return float(np.clip(after, *self.range))


def _smooth_step(x: float) -> float:
    """From 0 at 0 to 1 at 1, with zero first and second derivatives at both."""
    x = min(max(x, 0.0), 1.0)
    return x**3 * (10 + x * (6 * x - 15))


@dataclass(frozen=True, eq=False)
class Muscle(Frozen):
    """The force of a muscle over activation, length and rate.

    Attributes
    ----------
    force : float [N]
        Force at full activation, at the optimal length and at rest.
    length_range : (2,) [m]
        Shortest and longest length of the actuator.
    range : (2,)
        Muscle lengths at these, in optimal lengths.
    shortest, longest : float
        Range of lengths with an active force, in optimal lengths.
    fastest : float [1/s]
        Largest shortening velocity, in optimal lengths per second.
    passive : float
        Scale of the passive force, as a fraction of `force`. The passive force is half of this
        midway between the optimal and the longest length, and 1.5 times this at the longest.
    lengthening : float
        Force in fast lengthening, as a fraction of `force`.
    """

    force: float
    length_range: tuple[float, float]
    range: tuple[float, float] = (0.75, 1.05)
    shortest: float = 0.5
    longest: float = 1.6
    fastest: float = 1.5
    passive: float = 1.3
    lengthening: float = 1.2

    def __post_init__(self) -> None:
        for what in ("length_range", "range"):
            ends = frozen_array(getattr(self, what), (2,), what, "muscle")
            if ends[0] >= ends[1]:
                raise ModelError(f"{what} must be from a lower to a higher number, not {ends}",
                                 element="muscle")  # fmt: skip
            self._set(**{what: tuple(ends.tolist())})
        for what in ("force", "shortest", "longest", "fastest", "passive", "lengthening"):
            self._set(**{what: not_negative(getattr(self, what), what, "muscle")})
        if not self.shortest < 1 < self.longest or self.fastest == 0:
            raise ModelError(
                f"must be active from below to above its optimal length, not from {self.shortest} "
                f"to {self.longest}, and move at all (fastest: {self.fastest})",
                element="muscle",
            )

    @property
    def optimal_length(self) -> float:
        """Length of the largest active force [m]."""
        return (self.length_range[1] - self.length_range[0]) / (self.range[1] - self.range[0])

    def active(self, length: float, rate: float) -> float:
        """Force at full activation [N], negative, as the muscle pulls."""
        return -self.force * self._at_length(length)[0] * self._at_rate(rate)[0]

    def resting(self, length: float) -> float:
        """Force without activation [N]."""
        return -self.force * self.passive * self._stretched(length)[0]

    def law(self, activation: float, length: float, rate: float) -> tuple[float, float, float]:
        """Force [N], and its derivatives by the length and by the rate of the length."""
        force = self.active(length, rate) * activation + self.resting(length)
        (at_length, by_length), (at_rate, by_rate) = self._at_length(length), self._at_rate(rate)
        stretching = self.passive * self._stretched(length)[1]
        slope = by_length * at_rate * activation + stretching
        return force, -self.force * slope, -self.force * at_length * by_rate * activation

    def _at_length(self, length: float) -> tuple[float, float]:
        """Active force at a length, relative to `force`, and its derivative [1/m]."""
        x, l0 = self._normalized(length), self.optimal_length
        if x <= 1:
            value, slope = _bump((x - self.shortest) / (1 - self.shortest))
            return value, slope / ((1 - self.shortest) * l0)
        value, slope = _bump((self.longest - x) / (self.longest - 1))
        return value, -slope / ((self.longest - 1) * l0)

    def _at_rate(self, rate: float) -> tuple[float, float]:
        """Factor of the active force at a rate of the length, and its derivative [s/m]."""
        fastest = self.optimal_length * self.fastest
        y, more = rate / fastest, self.lengthening - 1
        if y <= 0:
            left = max(0.0, 1 + y)
            return left**2, 2 * left / fastest
        if y < more:
            return self.lengthening - (more - y) ** 2 / more, 2 * (more - y) / more / fastest
        return self.lengthening, 0.0

    def _stretched(self, length: float) -> tuple[float, float]:
        """Passive force at a length over `force` times `passive`, and its derivative [1/m]."""
        half = 0.5 * (self.longest - 1)
        x = (self._normalized(length) - 1) / half
        value, slope = (0.0, 0.0) if x <= 0 else (0.5 * x**2, x) if x <= 1 else (x - 0.5, 1.0)
        return value, slope / (half * self.optimal_length)

    def _normalized(self, length: float) -> float:
        return self.range[0] + (length - self.length_range[0]) / self.optimal_length


def _bump(x: float) -> tuple[float, float]:
    """Value and slope of a function from 0 at 0 to 1 at 1 by two parabolas, and 0 before that."""
    if x <= 0:
        return 0.0, 0.0
    return (2 * x**2, 4 * x) if x <= 0.5 else (1 - 2 * (1 - x) ** 2, 4 * (1 - x))
