"""A robot and its world as rays see them, in poses that are given."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.kinematics.kinematics import Kinematics
from robosim.rays.casting import cast_from
from robosim.rays.hits import Hits
from robosim.rays.targets import Target, compiled
from robosim.validation import Array


class Scene:
    """The shapes of a robot and of its world, which rays are cast against.

    Parameters
    ----------
    robot : Mechanism
    geometry : "collision" or "visual"
        Collision shapes, or what one sees. Obstacles are part of both, and so is the ground z = 0
        if the robot has contact points with it.

    Attributes
    ----------
    robot, geometry
    targets : tuple of Target
        The shapes, in the order of ``Hits.geometry``. Those without a surface are left out.
    q : (nq,), coordinates of the present pose, read-only

    Raises
    ------
    OptionError
        For an unknown geometry.
    """

    def __init__(self, robot: Mechanism, geometry: str = "collision") -> None:
        self.robot, self.geometry = robot, geometry
        self._compiled = compiled(robot, geometry)
        self._kinematics = Kinematics(robot)
        self._place()

    @property
    def targets(self) -> tuple[Target, ...]:
        """The shapes, in the order of ``Hits.geometry``."""
        return self._compiled.targets

    @property
    def q(self) -> Array:
        """Coordinates of the present pose (nq,), read-only."""
        return self._kinematics.q

    def at(self, q: ArrayLike) -> Scene:
        """Move the robot to joint coordinates q (nq,); returns this scene.

        Raises
        ------
        StateError
            For a wrong shape, or a value that is not finite.
        """
        self._kinematics.move_to(q)
        self._place()
        return self

    def _place(self) -> None:
        self._turns = np.stack([quaternions.from_matrix(R) for R in self._kinematics.R])

    def cast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        max_distance: float = np.inf,
        exclude: str | Iterable[str] = (),
        threads: int = 1,
    ) -> Hits:
        """Where rays first meet a surface, from outside of a shape or from within.

        Half-spaces are met from outside only. Meshes are triangles, also where contacts take their
        convex hull.

        Parameters
        ----------
        origins, directions : (n, 3) or (3,) [m], world
            Directions of any length but zero. One origin or direction serves for all rays.
        max_distance : float [m]
            Surfaces that are not nearer count as none.
        exclude : str or iterable of str
            Bodies, by their names or those of their frames, that rays pass; also "world".
        threads : int
            Threads that share the rays.

        Returns
        -------
        Hits
            Of arrays (n,) and (n, 3), without the first axis if both arguments are (3,).

        Raises
        ------
        StateError
            For wrong shapes, a direction of length zero, or a number that is not finite.
        OptionError
            For a `max_distance` that is not positive, or a number of threads below one.
        ModelError
            For an unknown body.
        """
        poses = self._kinematics.x, self._turns
        rays, options = (origins, directions), (max_distance, exclude, threads)
        return cast_from(self.robot, self.geometry, poses, rays, *options)
