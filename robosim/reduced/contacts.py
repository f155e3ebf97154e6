"""Contact points at a knot, as rows of twists [Sueda, Sects. 1.11, 1.13]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import se3
from robosim.description.body import ContactPoint, lowest_arms
from robosim.description.mechanism import Mechanism
from robosim.kernels.contact.kinematics import FLAT, NEARLY_FLAT
from robosim.validation import Array

TOUCHING = 1e-9  # [m] over the ground, which rounding leaves of a point that rests
LARGEST = 10.0  # Coulomb coefficient, as `ContactPoint` says


class Touching(NamedTuple):
    """Contact points that are on the ground or below it."""

    points: NDArray[np.int64]  # (c,) index into robot.contacts
    normals: Array  # (c, 6 nb): how fast each rises [Sueda, Eq. 1.76]
    tangents: Array  # (2 c, 6 nb): how fast it slides along x, and along y of the world
    friction: Array  # (c,)
    least: Array  # (c,) [m/s], how fast each has to rise at least

    def rays(self) -> tuple[Array, Array]:
        """(4 c, 6 nb) and (4 c,): the edges of the pyramids of (1.85), and what they have to be.

        The impulses of a pyramid are what its edges push, ``n + mu t`` with all four t. The fifth
        ray, the normal alone, is half of two opposite edges.
        """
        slopes = (np.repeat(self.friction, 2)[:, None] * self.tangents).reshape(
            len(self.normals), 2, self.normals.shape[1]
        )
        straight = self.normals[:, None]
        edges = np.concatenate((straight + slopes, straight - slopes), axis=1)
        return edges.reshape(-1, self.normals.shape[1]), np.repeat(self.least, 4)

    def of_rays(self, pushes: Array) -> tuple[Array, Array]:
        """Normal impulses (c,) and tangential ones (2 c,), of what edges push (4 c,)."""
        pushes = pushes.reshape(-1, 4)
        across = self.friction[:, None] * (pushes[:, :2] - pushes[:, 2:])
        return pushes.sum(axis=1), across.reshape(-1)


def touching(
    robot: Mechanism, places: NDArray[np.int64], E: Sequence[Array], rate: float
) -> Touching:
    """What touches the ground, z = 0, among `places` in robot.contacts.

    Parameters
    ----------
    rate : float [1/s]
        At which what is below the ground comes back [Sueda, Eq. 1.82].
    """
    bodies, arms, gaps = lowest(robot, places, E)
    down = np.flatnonzero(gaps <= TOUCHING)
    normals, tangents = np.zeros((len(down), 6 * len(E))), np.zeros((2 * len(down), 6 * len(E)))
    for row, k in enumerate(down):
        own = slice(6 * bodies[k], 6 * bodies[k] + 6)
        R = E[bodies[k]][:3, :3]
        J = se3.point_jacobian(E[bodies[k]], R.T @ arms[k])
        normals[row, own], tangents[2 * row : 2 * row + 2, own] = J[2], J[:2]
    friction = np.array([min(robot.contacts[k].friction, LARGEST) for k in places[down]])
    return Touching(places[down], normals, tangents, friction, rate * np.maximum(-gaps[down], 0.0))


def lowest(
    robot: Mechanism, places: NDArray[np.int64], E: Sequence[Array]
) -> tuple[list[int], Array, Array]:
    """Bodies of contact points, where these would touch, and how high that is.

    Places are (n, 3) from the centres of mass, in world axes; heights (n,) [m], infinite of a rim
    that lies flat, and of its points where it leans.
    """
    points = [robot.contacts[k] for k in places]
    bodies = [robot.body_index(point.body) for point in points]
    turns = np.array([E[i][:3, :3] for i in bodies]).reshape(-1, 3, 3)
    arms = lowest_arms(points, turns)
    heights = arms[:, 2] + np.array([E[i][2, 3] for i in bodies])
    for k, point in enumerate(points):
        if point.axis is not None:
            leaning = float(np.linalg.norm((turns[k] @ point.axis)[:2]))
            if leaning > NEARLY_FLAT if point.radius == 0.0 else leaning < FLAT:
                heights[k] = np.inf
    return bodies, arms, heights


def lacking(contact: ContactPoint) -> Iterator[str]:
    """What a contact point has and [Sueda] has not."""
    if contact.restitution:
        yield "has restitution"
    for name in ("torsional", "rolling"):
        if getattr(contact, f"{name}_friction"):
            yield f"has {name} friction"
    if np.any(contact.surface_velocity) or np.any(contact.surface_spin):
        yield "has a surface that moves by itself"
