"""The state of a trajectory at one time, for costs and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.errors import OptionError, known
from robosim.optimize.symbolic import Expression, Placed, Symbolic, ca, column


@dataclass(frozen=True)
class Moment:
    """A robot at one time of an unknown trajectory, as casadi expressions.

    Attributes
    ----------
    t : () [s]
    q, v, u : (nq,), (nv,), (nu,)
        Coordinates, velocities and torques, in the robot's order; quaternions (w, x, y, z).
    contacts : mapping of names to (3,) [N]
        Forces of the ground on the robot, world axes.
    """

    _model: Symbolic
    _placed: Placed
    t: Expression
    q: Expression
    v: Expression
    u: Expression
    contacts: Mapping[str, Expression]

    @property
    def placed(self) -> Placed:
        """Poses and velocities of all links."""
        return self._placed

    def _at(self, name: str, offset: ArrayLike) -> tuple[Expression, Expression, int]:
        """Orientation of a body, the vector from its centre of mass to a point, and its link."""
        index, frame = self._model.robot.body_or_frame(name)
        R, _, link = self._model.body(self._placed, index)
        turn = np.array(quaternions.rotation_matrix(np.asarray(frame.quaternion)))
        point = np.asarray(frame.position) + turn @ np.asarray(offset, dtype=float)
        return ca.mtimes(R, column(turn)), ca.mtimes(R, column(point)), link

    def position(self, name: str, offset: ArrayLike = (0.0, 0.0, 0.0)) -> Expression:
        """World position (3,) [m] of a point, given in axes of a body or frame.

        The point is relative to the body's centre of mass, or to the frame's origin.
        """
        _, arm, link = self._at(name, offset)
        return self._placed.p[link] + arm

    def rotation(self, name: str) -> Expression:
        """Rotation matrix (3, 3) from the axes of a body or frame to world axes."""
        return self._at(name, (0.0, 0.0, 0.0))[0]

    def velocity(self, name: str, offset: ArrayLike = (0.0, 0.0, 0.0)) -> Expression:
        """Velocity (3,) [m/s] of the same point as in `position`, world axes."""
        _, arm, link = self._at(name, offset)
        return self._placed.v[link] + ca.cross(self._placed.omega[link], arm)

    def angular_velocity(self, name: str) -> Expression:
        """Angular velocity (3,) [rad/s] of a body or frame, world axes."""
        return self._placed.omega[self._at(name, (0.0, 0.0, 0.0))[2]]

    def contact(self, name: str) -> Expression:
        """Force (3,) [N] of the ground at a contact, world axes."""
        if name not in self.contacts:
            raise OptionError(f"no contact '{name}'{known(name, tuple(self.contacts))}")
        return self.contacts[name]

    @property
    def centre_of_mass(self) -> Expression:
        """Centre of mass (3,) [m] of the whole robot, world axes."""
        segments = self._model.tree.segments
        total = sum(
            float(link["mass"]) * self._placed.p[i]
            for i, link in enumerate(segments)
            if link["mass"] > 0
        )
        return total / float(segments["mass"].sum())
