"""Kinematics: frames, Jacobians, momenta, and differences of configurations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.dynamics.lengths import Lengths
from robosim.dynamics.lifts import lifts_of
from robosim.dynamics.passive import Passive
from robosim.errors import ModelError, StateError
from robosim.kernels.recursive import entries
from robosim.kinematics.kinematics import GRAVITY
from robosim.kinematics.random_pose import random_coordinates
from robosim.kinematics.recursion import Recursion
from robosim.validation import Array, vector


class Places:
    """Positions and velocities of a robot's bodies; see `Dynamics`, which inherits all of this.

    Loops, couplings and motions are ignored here: q and v are those of the tree.
    """

    def __init__(
        self, robot: Mechanism, gravity: ArrayLike = GRAVITY, *, tree: bool = False
    ) -> None:
        down = vector("gravity", gravity, StateError)
        self.robot, self._made = robot, (partial(type(self), tree=tree), (robot, down))
        self._on, self._lengths = Recursion(robot, down), Lengths(robot)
        self._passive, self._lifts = Passive(robot), lifts_of(robot, down)
        self._q, self._v, self._a = self._on.q, self._on.v, self._on.a
        self._nv = ((robot.nv,),)
        self._jacobians = len(robot.bodies), 6, robot.nv
        self._still = np.zeros(robot.nv)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made  # copies are made anew, because kernels know memory by its address

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass of all bodies together, (3,) [m], world.

        Raises
        ------
        ModelError
            For a robot without mass.
        """
        self._need_mass()
        return self._on.of_pose(entries.center_of_mass, q, (3,))

    def _need_mass(self) -> None:
        if not self.robot.total_mass > 0:
            raise ModelError("has no mass", element=f"mechanism '{self.robot.name}'")

    def centroidal(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Momentum (6,) about the centre of mass of all bodies, and its matrix (6, nv).

        Linear [kg m/s], then angular [kg m^2/s], world axes. The momentum is matrix @ v, without
        the angular momentum of rotors.

        Raises
        ------
        ModelError
            For a robot without mass.
        """
        self._need_mass()
        given = (("q", q, self._q), ("v", v, self._v))
        shapes = (3,), (6,), (6, self.robot.nv)
        _, momentum, matrix = self._on.call(entries.centroidal, given, shapes)
        return momentum, matrix

    def jacobian(self, q: ArrayLike) -> Array:
        """Jacobian (nb, 6, nv) of all bodies' world twists: of the COM [m/s], angular [rad/s]."""
        return self._on.of_pose(entries.jacobian, q, self._jacobians)

    def jacobian_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Rate of this Jacobian (nb, 6, nv), with joint velocities v."""
        given = (("q", q, self._q), ("v", v, self._v))
        return self._on.call(entries.jacobian_rate, given, (self._jacobians,))[0]

    def frame(self, q: ArrayLike, name: str) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3), frame to world, of a frame by its name.

        Raises
        ------
        ModelError
            If there is no frame of that name, or if the world has it.
        """
        return self._on.call(  # type: ignore[return-value]
            entries.frame_place, (("q", q, self._q),), ((3,), (3, 3)), self._on.frame(name)
        )

    def frame_velocity(self, q: ArrayLike, v: ArrayLike, name: str) -> Array:
        """Twist (6,) of a frame: of its origin [m/s], angular [rad/s], world axes.

        Raises
        ------
        ModelError
            As `frame`.
        """
        return self._frame_motion(q, v, self._still, name)[..., :6]

    def frame_acceleration(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, name: str) -> Array:
        """Acceleration (6,) of a frame: of its origin [m/s^2], angular [rad/s^2], world axes.

        The acceleration is the rate of the twist, without gravity; an accelerometer measures it
        minus gravity.

        Raises
        ------
        ModelError
            As `frame`.
        """
        return self._frame_motion(q, v, a, name)[..., 6:]

    def _frame_motion(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, name: str) -> Array:
        given = (("q", q, self._q), ("v", v, self._v), ("a", a, self._a))
        before = self._on.frame(name)[:2]
        return self._on.call(entries.frame_motion, given, ((12,),), before)[0]

    def frame_jacobian(self, q: ArrayLike, name: str) -> Array:
        """Jacobian (6, nv) of a frame's twist: of its origin [m/s], angular [rad/s], world axes.

        Raises
        ------
        ModelError
            As `frame`.
        """
        before = self._on.frame(name)[:2]
        shapes = ((6, self.robot.nv),)
        return self._on.call(entries.frame_jacobian, (("q", q, self._q),), shapes, before)[0]

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> Array:
        """Coordinates q (nq,) after a displacement dv (nv,), a velocity times a time.

        Quaternions rotate by the exponential of dv, in child axes, and are normalized.
        """
        given = (("q", q, self._q), ("dv", dv, self._v))
        return self._on.call(entries.integrate, given, ((self.robot.nq,),))[0]

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """dv (nv,) with ``integrate(q0, dv)`` equal to q1; quaternions by half a turn at most.

        Angles of hinges are subtracted, including whole turns.
        """
        given = (("q0", q0, self._q), ("q1", q1, self._on.q1))
        return self._on.call(entries.difference, given, self._nv)[0]

    def random(self, seed: int | np.random.Generator | None = None) -> Array:
        """A random configuration q (nq,), within the limits of all joints, but not of tendons.

        Translations without limits are within 1 m, angles within half a turn; quaternions are
        uniform over all rotations, or within cones and largest turns.
        """
        return random_coordinates(self.robot, seed)
