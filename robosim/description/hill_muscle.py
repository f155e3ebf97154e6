"""Muscles of the Hill type, with piecewise cubic curves [Sueda, Sect. 1.9.4; Millard2013].

    tension = force (activation active(l~) rate(v~) + passive(l~))

where l~ is the muscle length without the tendon, in optimal lengths, and v~ its rate relative to
the fastest one [Sueda, Eqs. 1.38, 1.47, 1.49]. Forces are along increasing length here, so that
tensions are negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import ModelError
from robosim.validation import Array, Frozen, checked_numbers, frozen_array

ORDERS = ("values", "slopes", "curvatures")


@dataclass(frozen=True, eq=False)
class Curve(Frozen):
    """A piecewise cubic function of one number.

    Beyond its ends, the curve is continued by straight lines.

    Attributes
    ----------
    knots : (n + 1,), increasing
    pieces : (n, 4)
        Coefficients of 1, d, d^2, d^3 from the piece's beginning.

    Raises
    ------
    ModelError
        For knots that do not increase, or pieces that do not fit them.
    """

    knots: ArrayLike
    pieces: ArrayLike

    def __post_init__(self) -> None:
        knots = _increasing(self.knots)
        pieces = frozen_array(self.pieces, (len(knots) - 1, 4), "pieces", "curve")
        self._set(knots=knots, pieces=pieces)

    @classmethod
    def cubic(
        cls,
        knots: ArrayLike,
        values: Mapping[float, float],
        slopes: Mapping[float, float] | None = None,
        curvatures: Mapping[float, float] | None = None,
    ) -> Curve:
        """The curve with a continuous slope at inner knots, from given values [Sueda, 1.40].

        Parameters
        ----------
        knots : (n + 1,), increasing
        values, slopes, curvatures : mapping of x to f(x), f'(x), f''(x)
            Together 2 n + 2, from the first knot to the last. Those at an inner knot are of the
            piece that begins there.

        Raises
        ------
        ModelError
            For knots that do not increase, conditions beyond them, a wrong number of conditions,
            or conditions that do not determine the curve.
        """
        x = _increasing(knots)
        n, h = len(x) - 1, np.diff(x)
        rows, wanted = [], []
        for order, given in enumerate((values, slopes or {}, curvatures or {})):
            for place, value in given.items():
                if not x[0] <= place <= x[-1]:
                    raise ModelError(
                        f"{ORDERS[order]} are from {x[0]:g} to {x[-1]:g}, not at {place}",
                        element="curve",
                    )
                i = min(int(np.searchsorted(x, place, side="right")) - 1, n - 1)
                rows.append(_row(n, i, order, (place - x[i]) / h[i], h[i]))
                wanted.append(value)
        if len(rows) != 2 * n + 2:
            raise ModelError(
                f"with {n + 1} knots, values, slopes and curvatures must be {2 * n + 2}, not "
                f"{len(rows)}",
                element="curve",
            )
        for i in range(1, n):
            for order in (0, 1):
                before = _row(n, i - 1, order, 1.0, h[i - 1])
                rows.append(before - _row(n, i, order, 0.0, h[i]))
                wanted.append(0.0)
        A = np.array(rows)
        scales = np.linalg.norm(A, axis=1)
        A /= scales[:, None]
        if np.linalg.cond(A) > 1e12:
            raise ModelError("the conditions do not determine the curve", element="curve")
        found = np.linalg.solve(A, frozen_array(wanted, (4 * n,), "conditions", "curve") / scales)
        return cls(x, found.reshape(n, 4) / h[:, None] ** np.arange(4))

    @property
    def coefficients(self) -> Array:
        """Coefficients (n, 4) of x^3, x^2, x and 1 of each piece, as [Sueda] prints them."""
        begins = np.asarray(self.knots)[:-1]
        a, b, c, d = np.asarray(self.pieces).T
        shifted = (
            d,
            c - 3 * d * begins,
            b - 2 * c * begins + 3 * d * begins**2,
            a - b * begins + c * begins**2 - d * begins**3,
        )
        return np.column_stack(shifted)

    def at(self, x: float) -> tuple[float, float]:
        """Value and slope at x."""
        knots, pieces = np.asarray(self.knots), np.asarray(self.pieces)
        i = min(max(int(np.searchsorted(knots, x, side="right")) - 1, 0), len(pieces) - 1)
        inside = min(max(x, knots[0]), knots[-1])
        d, (a, b, c, e) = inside - knots[i], pieces[i]
        slope = b + d * (2 * c + 3 * d * e)
        return float(a + d * (b + d * (c + d * e)) + slope * (x - inside)), float(slope)

    def __call__(self, x: ArrayLike) -> Array:
        """Values at x, of its shape."""
        return np.vectorize(lambda one: self.at(one)[0], otypes=[float])(np.asarray(x, dtype=float))


def _increasing(knots: ArrayLike) -> Array:
    x = frozen_array(knots, np.shape(knots), "knots", "curve")
    if x.ndim != 1 or len(x) < 2 or np.any(np.diff(x) <= 0):
        raise ModelError(
            f"knots must be at least two increasing numbers, not {x.tolist()}", element="curve"
        )
    return x


def _row(n: int, piece: int, order: int, t: float, h: float) -> Array:
    """Coefficients of a derivative at t, as a linear function of all pieces' coefficients."""
    row = np.zeros(4 * n)
    for k in range(order, 4):
        slope = factorial(k) / factorial(k - order)
        row[4 * piece + k] = slope * t ** (k - order) / h**order
    return row


# [Sueda, Eqs. 1.41 to 1.46], with numbers from OpenSim. The third row of (1.41) is for 1.7.
PASSIVE = Curve.cubic(
    (1.0, 1.3, 1.7),
    values={1.0: 0.0, 1.3: 0.126110265892917, 1.7: 1.0},
    slopes={1.0: 0.0, 1.3: 1.07051016402631, 1.7: 2.85714285714286},
)
ACTIVE = Curve.cubic(
    (0.4, 0.7, 1.2, 1.81),
    values={0.4: 0.0, 0.7: 0.767020368396388, 1.0: 1.0, 1.2: 0.89, 1.81: 0.0},
    slopes={0.4: 0.0, 1.0: 0.0, 1.81: 0.0},
)
RATE = Curve.cubic(
    (-1.0, -0.05, 0.05, 1.0),
    values={-1.0: 0.0, 0.0: 1.0, 1.0: 1.4},
    slopes={-1.0: 0.0, 0.0: 5.0, 1.0: 0.0},
    curvatures={-1.0: 0.0, 1.0: 0.0},
)


@dataclass(frozen=True, eq=False)
class HillMuscle(Frozen):
    """A muscle with a rigid tendon in line with it [Sueda, Sect. 1.9.4].

    Attributes
    ----------
    force : float [N]
        Force at full activation, at the optimal length and at rest.
    optimal_length : float [m]
        Length of the muscle without the tendon at which its force is largest.
    tendon_length : float [m]
        Length of the tendon: that of the path minus that of the muscle.
    fastest : float [1/s]
        Largest shortening velocity, in optimal lengths per second.
    active : Curve
        Force at full activation and rest, relative to `force`, over the length in optimal lengths.
    rate : Curve
        The same over the rate of the length, relative to the fastest one; negative in shortening.
    passive : Curve
        Force without activation, relative to `force`, over the length in optimal lengths.

    Raises
    ------
    ModelError
        For numbers that are not positive, a negative length of the tendon, or what is no curve.
    """

    force: float
    optimal_length: float
    tendon_length: float
    fastest: float
    active: Curve = ACTIVE
    rate: Curve = RATE
    passive: Curve = PASSIVE

    def __post_init__(self) -> None:
        positive = "force", "optimal_length", "fastest"
        self._set(**checked_numbers(self, "muscle", positive, ("tendon_length",)))
        for what in ("active", "rate", "passive"):
            if not isinstance(getattr(self, what), Curve):
                raise ModelError(
                    f"{what} must be a Curve, as of Curve.cubic, not {getattr(self, what)!r}",
                    element="muscle",
                )

    def law(self, activation: float, length: float, rate: float) -> tuple[float, float, float]:
        """Force along increasing length [N], and its derivatives by the length and by its rate.

        Parameters
        ----------
        activation : float
        length : float [m]
            Length of the path, including the tendon.
        rate : float [m/s]
            Rate of this length.
        """
        fastest = self.optimal_length * self.fastest
        x, y = (length - self.tendon_length) / self.optimal_length, rate / fastest
        (f_L, dL), (f_V, dV), (f_P, dP) = self.active.at(x), self.rate.at(y), self.passive.at(x)
        size = -self.force
        return (
            size * (activation * f_L * f_V + f_P),
            size * (activation * dL * f_V + dP) / self.optimal_length,
            size * activation * f_L * dV / fastest,
        )
