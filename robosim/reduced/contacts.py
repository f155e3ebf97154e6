"""Contact points at a knot, as rows of twists [Sueda, Sects. 1.11, 1.13]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import se3
from robosim.description.body import ContactPoint, lowest_arms
from robosim.description.mechanism import Mechanism
from robosim.kernels.narrow_phase.cylinder import FLAT, NEARLY_FLAT
from robosim.validation import Array

TOUCHING = 1e-9  # [m]; a smaller gap counts as contact, as rounding errors leave one at rest
LARGEST = 10.0  # largest Coulomb coefficient, as in `ContactPoint`


class Touching(NamedTuple):
    """Active contact points: those on or below the ground."""

    points: NDArray[np.int64]  # (c,) index into robot.contacts
    normals: Array  # (c, 6 nb): their vertical velocities [Sueda, Eq. 1.76]
    tangents: Array  # (2 c, 6 nb): their velocities along x and y of the world
    friction: Array  # (c,)
    least: Array  # (c,) [m/s], least vertical velocities

    def rays(self) -> tuple[Array, Array]:
        """(4 c, 6 nb) and (4 c,): the edges of the pyramids of (1.85), and their lower bounds.

        An impulse in a pyramid is a sum of impulses along its edges, ``n + mu t`` with all four t.
        The fifth ray of (1.85), the normal alone, is half of the sum of two opposite edges.
        """
        slopes = (np.repeat(self.friction, 2)[:, None] * self.tangents).reshape(
            len(self.normals), 2, self.normals.shape[1]
        )
        straight = self.normals[:, None]
        edges = np.concatenate((straight + slopes, straight - slopes), axis=1)
        return edges.reshape(-1, self.normals.shape[1]), np.repeat(self.least, 4)

    def of_rays(self, pushes: Array) -> tuple[Array, Array]:
        """Normal impulses (c,) and tangential ones (2 c,) of impulses along edges (4 c,)."""
        pushes = pushes.reshape(-1, 4)
        across = self.friction[:, None] * (pushes[:, :2] - pushes[:, 2:])
        return pushes.sum(axis=1), across.reshape(-1)


def touching(
    robot: Mechanism, places: NDArray[np.int64], E: Sequence[Array], rate: float
) -> Touching:
    """The points among `places`, indices into robot.contacts, that touch the ground, z = 0.

    Parameters
    ----------
    rate : float [1/s]
        Rate at which penetration is corrected [Sueda, Eq. 1.82].
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
    """Bodies of contact points, places where these would touch, and heights of the places.

    Places are (n, 3) from the centres of mass, in world axes; heights (n,) [m]. A rim that lies
    flat has an infinite height, and so have its points if it leans.
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
    """Properties of a contact point that [Sueda] does not have."""
    if contact.restitution:
        yield "has restitution"
    if contact.stiffness is not None:
        yield "is compliant"
    for name in ("torsional", "rolling"):
        if getattr(contact, f"{name}_friction"):
            yield f"has {name} friction"
    if contact.anisotropy is not None:
        yield "has friction by direction"
    if np.any(contact.surface_velocity) or np.any(contact.surface_spin):
        yield "has a surface that moves by itself"
