"""Forces that balance weights of bodies, which have a `gravity_compensation`.

They are minus the weights of points at the centres of mass. So forces, derivatives and energy are
minus those of a tree of such points, by the same recursions.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.kernels.recursive import entries
from robosim.kinematics.recursion import Recursion
from robosim.validation import Array


class Lifts:
    """What balances weights of a robot's bodies.

    Parameters
    ----------
    robot : Mechanism
    gravity : (3,) [m/s^2]
    masses : (nb,) [kg], whose weights are balanced
    """

    def __init__(self, robot: Mechanism, gravity: Array, masses: Array) -> None:
        self._on = Recursion(robot, gravity, masses)
        self._still = np.zeros(robot.nv)
        self._wrenches = {
            body.name: np.concatenate((-mass * gravity, np.zeros(3)))
            for body, mass in zip(robot.bodies, masses.tolist(), strict=True)
            if mass != 0
        }

    def forces(self, q: ArrayLike) -> Array:
        """Generalized forces (nv,)."""
        on, nv = self._on, ((len(self._still),),)
        given = (("q", q, on.q), ("v", self._still, on.v), ("a", self._still, on.a))
        return on.call(entries.inverse_dynamics, given, nv, (1.0, 0), on.no_pushes)[0]

    def slopes(self, q: ArrayLike) -> Array:
        """Derivatives (nv, nv) of the forces by q, along the tangent."""
        on, square = self._on, (len(self._still),) * 2
        given = (("q", q, on.q), ("v", self._still, on.v), ("a", self._still, on.a))
        return on.call(entries.inverse_derivatives, given, (square, square, square))[0]

    def energy(self, q: ArrayLike) -> Array:
        """Potential energy [J], zero at the world's origin."""
        given = (("q", q, self._on.q), ("v", self._still, self._on.v))
        return -self._on.call(entries.energy, given, ((1,),))[0][..., 0]

    def among(self, wrenches: Mapping[str, ArrayLike] | None) -> dict[str, ArrayLike]:
        """External wrenches by names, with these."""
        found = dict(wrenches or {})
        for name, wrench in self._wrenches.items():
            found[name] = wrench + np.asarray(found.get(name, 0.0), dtype=float)
        return found


def lifts_of(robot: Mechanism, gravity: Array) -> Lifts | None:
    """What balances weights; None without any."""
    masses = np.array(
        [0.0 if body.carrier else body.mass - body.gravitational_mass for body in robot.bodies]
    )
    return Lifts(robot, gravity, masses) if masses.any() else None
