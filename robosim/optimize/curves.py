"""A trajectory between its control points: a polynomial over each step."""

from __future__ import annotations

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.linearization.linearizer import tangent_indices
from robosim.optimize.hinges import hinge_angles, spins, turned_on
from robosim.validation import Array


def powers_of(c: Array, smooth: bool) -> Array:
    """Maps values at the parts c of a step to coefficients of powers of the part.

    With `smooth`, values are followed by the slopes at the beginning and at the end.
    """
    n = len(c) + 2 * smooth
    rows = np.vander(c, n, increasing=True)
    if smooth:
        slopes = np.zeros((2, n))
        slopes[0, 1], slopes[1] = 1.0, np.arange(n)
        rows = np.vstack((rows, slopes))
    return np.asarray(np.linalg.inv(rows))


class Curve:
    """Coordinates between control points, by the polynomials of the integrator.

    Parameters
    ----------
    robot : Mechanism
    t : (n + 1,) [s], of knots
    times, points : (s n + 1,) and (s n + 1, nq), of control points
    v : (n + 1, nv) or None
        Velocities at knots, which the curve then also has; for motions without impacts.
    """

    def __init__(
        self, robot: Mechanism, t: Array, times: Array, points: Array, v: Array | None
    ) -> None:
        self.robot, self.t, self.times, self.points, self.v = robot, t, times, points, v
        self._stages = (len(times) - 1) // (len(t) - 1)
        self._plain, self._turns = tangent_indices(robot)

    def at(self, times: Array) -> tuple[Array, Array]:
        """q (m, nq) and v (m, nv) at times within the trajectory."""
        found: list[tuple[Array, Array]] = []
        steps = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        known, k_known = np.zeros((0, 0)), -1
        for time, k in zip(times, steps, strict=True):
            if k != k_known:
                known, k_known = self._factors(int(k)), int(k)
            found.append(self._state(int(k), known, float(time - self.t[k])))
        q, v = zip(*found, strict=True)
        return np.array(q), np.array(v)

    def _factors(self, k: int) -> Array:
        """Coefficients (degree + 1, nv) of powers of the time since the beginning of step k."""
        s, nv = self._stages, self.robot.nv
        dt = self.t[k + 1] - self.t[k]
        c = (self.times[s * k : s * k + s + 1] - self.t[k]) / dt
        rows = self.points[s * k : s * k + s + 1]
        x = np.zeros((s + 1, nv))
        for i, j in self._plain:
            x[:, i] = rows[:, j]
        for i, j in self._turns:
            x[:, i : i + 3] = [hinge_angles(rows[0, j : j + 4], row[j : j + 4]) for row in rows]
        if self.v is None:
            return powers_of(c, smooth=False) @ x
        ends = []
        for a, v in ((0, self.v[k]), (s, self.v[k + 1])):
            rates = dt * v
            for i, _ in self._turns:
                rates[i : i + 3] = np.linalg.solve(spins(x[a, i : i + 3]), rates[i : i + 3])
            ends.append(rates)
        return powers_of(c, smooth=True) @ np.vstack((x, ends))

    def _state(self, k: int, factors: Array, elapsed: float) -> tuple[Array, Array]:
        dt = float(self.t[k + 1] - self.t[k])
        n, part = len(factors), elapsed / dt
        powers = part ** np.arange(n)
        x = powers @ factors
        v = (np.arange(1, n) * powers[:-1]) @ factors[1:] / dt
        base = self.points[self._stages * k]
        q = np.zeros(self.robot.nq)
        for i, j in self._plain:
            q[j] = x[i]
        for i, j in self._turns:
            q[j : j + 4] = turned_on(base[j : j + 4], x[i : i + 3])
            v[i : i + 3] = spins(x[i : i + 3]) @ v[i : i + 3]
        return q, np.asarray(v)
