"""Jets: values with their derivatives by a time s and by a small change e.

A jet is ``x + x_s s + x_ss s^2 + e (x_e + x_es s + x_ess s^2)`` without higher powers, s^3 = 0 and
e^2 = 0. Functions of jets have exact derivatives, up to rounding errors.
"""

from __future__ import annotations

import numpy as np

from robosim.validation import Array

# For each product: powers of both factors, and that of the result.
_IN_TIME = ((0, 0, 0), (0, 1, 1), (1, 0, 1), (0, 2, 2), (1, 1, 2), (2, 0, 2))
_CHANGED = [(i + 3, j, k + 3) for i, j, k in _IN_TIME] + [(i, j + 3, k + 3) for i, j, k in _IN_TIME]
_PRODUCTS = (*_IN_TIME, *_CHANGED)


class Jet:
    """A jet, or an array of jets.

    Attributes
    ----------
    parts : (6, ...), factors of 1, s, s^2, e, e s and e s^2
    """

    def __init__(self, parts: Array) -> None:
        self.parts = parts

    @property
    def value(self) -> Array:
        """The value at zero s and e."""
        return np.asarray(self.parts[0])

    def __add__(self, other: Jet | Array | float) -> Jet:
        if isinstance(other, Jet):
            return Jet(self.parts + other.parts)
        parts = self.parts.copy()
        parts[0] += other
        return Jet(parts)

    def __neg__(self) -> Jet:
        return Jet(-self.parts)

    def __sub__(self, other: Jet | Array | float) -> Jet:
        return self + -other

    def __mul__(self, other: Jet | Array | float) -> Jet:
        if not isinstance(other, Jet):
            return Jet(other * self.parts)
        out = np.zeros(np.broadcast_shapes(self.parts.shape, other.parts.shape))
        for i, j, k in _PRODUCTS:
            out[k] += self.parts[i] * other.parts[j]
        return Jet(out)

    def __truediv__(self, other: Jet) -> Jet:
        x = other.value
        return self * other._of(1 / x, -1 / x**2, 2 / x**3, -6 / x**4)

    def _of(self, f: Array, f1: Array, f2: Array, f3: Array) -> Jet:
        """A function of the jet, from the function's value and derivatives at `value`."""
        change = Jet(self.parts.copy())
        change.parts[0] = 0.0
        square = change * change
        out = f1 * change.parts + f2 / 2 * square.parts + f3 / 6 * (square * change).parts
        out[0] += f
        return Jet(out)

    def root(self) -> Jet:
        """The square root."""
        f = np.sqrt(self.value)
        return self._of(f, 0.5 / f, -0.25 / f**3, 0.375 / f**5)


def dot(a: Jet, b: Jet) -> Jet:
    """Product of vectors of jets, (..., 3) each."""
    return Jet((a * b).parts.sum(axis=-1))


def cross(a: Jet, b: Jet) -> Jet:
    """Cross product of vectors of jets, (..., 3) each."""
    (u, v, w), (x, y, z) = ([Jet(one.parts[..., i]) for i in range(3)] for one in (a, b))
    rows = v * z - w * y, w * x - u * z, u * y - v * x
    return Jet(np.stack([row.parts for row in rows], axis=-1))


def angle(y: Jet, x: Jet) -> Jet:
    """``atan2(y, x)``."""
    tangent = (y * x.value - x * y.value) / (x * x.value + y * y.value)
    return tangent - tangent * tangent * tangent * (1 / 3) + np.arctan2(y.value, x.value)
