"""The GGL variational integrator for the double four-bar, as in [Bruedigam2023, Fig. 12].

P. L. Kinon, P. Betsch, S. Schneider, *The GGL variational principle for constrained mechanical
systems*, Multibody System Dynamics 57 (2023), doi 10.1007/s11044-023-09889-6: positions and
velocities keep the constraints at the end of a step, after Gear, Leimkuhler and Gupta. Each rod has
six coordinates in the plane: its centre, and two directors, of which the first is along the rod.
All constraints are quadratic, so that their Hessians are constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
OF_A_ROD = 6
TO_THE_GROUND = ((0, -1), 0.0), ((2, 1), 1.0), ((4, 1), 2.0)
"""Ends of rods, as the rod and the side, that a pin holds at a height of zero, and where [m]."""
BETWEEN = ((0, 1), (1, -1)), ((1, 1), (2, -1)), ((1, 1), (3, -1)), ((3, 1), (4, -1))
"""Ends of two rods that a pin joins."""
TOLERANCE, MOST = 1e-9, 30  # of the residual [m, m/s, N s, ...]; iterations


class GGLMotion(NamedTuple):
    """What is compared.

    Attributes
    ----------
    t : (n,) [s]
    angle : (n,) [rad]
        Of the first rod, from upright.
    energy : (n,) [J]
    closure : (n,) [m]
        Largest distance of two points that a pin joins.
    tilt : (n,) [rad]
        Largest angle between a coupler and the horizontal.
    """

    t: Array
    angle: Array
    energy: Array
    closure: Array
    tilt: Array


class DoubleFourBar:
    """Five rods of 1 m and 1 kg on seven pins, upright with horizontal couplers."""

    def __init__(self, gravity: float) -> None:
        n = 5 * OF_A_ROD
        self.masses = np.tile((1.0, 1.0, *(1 / 24,) * 4), 5)  # directors: half of 1 / 12 each
        self.weight = np.tile((0.0, gravity, *(0.0,) * 4), 5)
        hessians, slopes, constants = [], [], []
        for rod in range(0, n, OF_A_ROD):
            for one, other, length in ((2, 2, 1.0), (4, 4, 1.0), (2, 4, 0.0)):
                H = np.zeros((n, n))
                for axis in range(2):
                    H[rod + one + axis, rod + other + axis] += 0.5
                    H[rod + other + axis, rod + one + axis] += 0.5
                hessians.append(H)
                slopes.append(np.zeros(n))
                constants.append(-0.5 * length)
        for end, place in TO_THE_GROUND:
            slopes += [self._end(*end, axis) for axis in range(2)]
            constants += [-place, 0.0]
        for end, held in BETWEEN:
            slopes += [self._end(*end, axis) - self._end(*held, axis) for axis in range(2)]
            constants += [0.0, 0.0]
        hessians += [np.zeros((n, n))] * (len(slopes) - len(hessians))
        self.hessians, self.slopes = np.array(hessians), np.array(slopes)
        self.constants = np.array(constants)
        up, right, down = (0.0, 1.0), (1.0, 0.0), (0.0, -1.0)
        centres = (0.0, 0.5), (0.5, 1.0), (1.0, 0.5), (1.5, 1.0), (2.0, 0.5)
        along = up, right, down, right, down
        rods = zip(centres, along, strict=True)
        self.start = np.concatenate([(*c, *d, -d[1], d[0]) for c, d in rods])

    def _end(self, rod: int, side: int, axis: int) -> Array:
        row = np.zeros(5 * OF_A_ROD)
        row[OF_A_ROD * rod + axis], row[OF_A_ROD * rod + 2 + axis] = 1.0, 0.5 * side
        return row

    def violations(self, q: Array) -> Array:
        """Constraints (29,): three of each rod's directors, and two of each pin."""
        return 0.5 * self.hessians @ q @ q + self.slopes @ q + self.constants

    def gradients(self, q: Array) -> Array:
        """Jacobian (29, 30) of the constraints."""
        return np.asarray(self.hessians @ q + self.slopes)

    def rates(self, speed: float) -> Array:
        """Velocities (30,) where the upper ends move at a speed [m/s] to the right."""
        v = np.zeros(5 * OF_A_ROD)
        for rod in range(5):
            at = OF_A_ROD * rod
            x, y = self.start[at + 2 : at + 4]
            coupler = rod in (1, 3)
            turn = 0.0 if coupler else -speed
            v[at] = speed if coupler else 0.5 * speed
            v[at + 2 : at + 6] = -turn * y, turn * x, -turn * x, -turn * y
        return v

    def step(self, q: Array, p: Array, h: float) -> tuple[Array, Array]:
        """Coordinates and momenta (30,) after a step of h [s].

        Raises
        ------
        ArithmeticError
            If Newton's method does not converge.
        """
        W, n, m = 1.0 / self.masses, len(q), len(self.constants)
        before, eye = self.gradients(q), np.eye(n)
        q1, p1, force, shift = q + h * W * p, p.copy(), np.zeros(m), np.zeros(m)
        for _ in range(MOST):
            velocity = W * p1
            turned = self.hessians @ velocity  # (m, n)
            bent = np.tensordot(shift, self.hessians, 1)  # (n, n)
            v = W * (p1 + h * bent @ velocity)
            between = q + h * v
            at = self.gradients(between)
            residual = np.concatenate((
                q1 - between - h * W * (at.T @ shift),
                p1 - p + h * (self.weight + before.T @ force + bent @ velocity),
                self.violations(q1),
                at @ velocity,
            ))  # fmt: skip
            if np.abs(residual).max() < TOLERANCE:
                return q1, p1
            by_p = W[:, None] * (eye + h * bent * W)
            by_shift = h * W[:, None] * turned.T
            moved = -h * (eye + h * W[:, None] * bent)
            none, zero = np.zeros((m, m)), np.zeros((n, m))
            slope = np.block([
                [eye, moved @ by_p, zero, moved @ by_shift - h * W[:, None] * at.T],
                [0 * eye, eye + h * bent * W, h * before.T, h * turned.T],
                [self.gradients(q1), zero.T, none, none],
                [zero.T, at * W + h * turned @ by_p, none, h * turned @ by_shift],
            ])  # fmt: skip
            change = np.linalg.solve(slope, residual)
            q1, p1 = q1 - change[:n], p1 - change[n : 2 * n]
            force, shift = force - change[2 * n : 2 * n + m], shift - change[2 * n + m :]
        raise ArithmeticError(
            f"the residual is {np.abs(residual).max():.1e} after {MOST} iterations"
        )


def ggl_motion(seconds: float, h: float, every: int, gravity: float = 9.81) -> GGLMotion:
    """The motion from upright, where the upper ends move at 1 m/s, until a step fails."""
    bars = DoubleFourBar(gravity)
    q, p = bars.start, bars.masses * bars.rates(1.0)
    rows = []
    for k in range(round(seconds / h) + 1):
        if k % every == 0:
            x, y = q[2::OF_A_ROD], q[3::OF_A_ROD]
            energy = 0.5 * p @ (p / bars.masses) + bars.weight @ q
            pins = bars.violations(q)[3 * 5 :].reshape(-1, 2)
            closure = np.linalg.norm(pins, axis=1).max()
            tilt = np.abs(np.arctan2(y[[1, 3]], x[[1, 3]])).max()
            rows.append((k * h, np.arctan2(x[0], y[0]), energy, closure, tilt))
        try:
            q, p = bars.step(q, p, h)
        except (ArithmeticError, np.linalg.LinAlgError):
            break
    t, angle, energy, closure, tilt = np.array(rows).T
    return GGLMotion(t, np.unwrap(angle), energy, closure, tilt)
