"""Contacts at a knot, as rows of twists [Sueda, Sects. 1.11, 1.13]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import se3
from robosim.description.body import ContactPoint, lowest_arms
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import AnyShape
from robosim.kernels.narrow_phase.cylinder import FLAT, NEARLY_FLAT
from robosim.reduced.shapes import Detector, Meeting
from robosim.validation import Array

TOUCHING = 1e-9  # [m]; a smaller gap counts as contact, as rounding errors leave one at rest
LARGEST = 10.0  # largest Coulomb coefficient, as in `ContactPoint`
ALONG_X = 0.9  # cosine of the angle between a normal and x, from which on y takes the place of x


class Touching(NamedTuple):
    """Active contacts: points on or below the ground, then places where shapes touch."""

    points: NDArray[np.int64]  # (p,) index into robot.contacts
    normals: Array  # (c, 6 nb): velocities along the normals [Sueda, Eqs. 1.76, 1.78]
    tangents: Array  # (2 c, 6 nb): velocities along the tangents
    friction: Array  # (c,)
    least: Array  # (c,) [m/s], least velocities along the normals
    frames: Array  # (c, 3, 3): rows are two tangents and the normal, world
    meetings: Sequence[Meeting] = ()  # (c - p,)

    def in_world(self, forces: Array) -> Array:
        """Forces or impulses (c, 3) in world axes, from those along the tangents and normals."""
        return np.einsum("cij,ci->cj", self.frames, forces)

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
    robot: Mechanism,
    places: NDArray[np.int64],
    detector: Detector | None,
    E: Sequence[Array],
    rate: float,
) -> Touching:
    """The contacts at poses E.

    Parameters
    ----------
    places : (n,), indices into robot.contacts
        Points that may touch the ground, z = 0.
    detector : Detector or None
        Finds where shapes touch.
    rate : float [1/s]
        Rate at which penetration is corrected [Sueda, Eq. 1.82].
    """
    bodies, arms, heights = lowest(robot, places, E)
    down = np.flatnonzero(heights <= TOUCHING)
    meetings = [] if detector is None else detector.near(E, TOUCHING)
    ends: list[list[tuple[int, float, Array]]] = [
        [(bodies[k], 1.0, E[bodies[k]][:3, :3].T @ arms[k])] for k in down
    ]
    for one in meetings:
        ends.append([(one.body, 1.0, one.arm)])
        if one.other is not None:
            ends[-1].append((one.other, -1.0, one.other_arm))
    frames = np.array([np.eye(3)] * len(down) + [frame_of(one.normal) for one in meetings]).reshape(
        -1, 3, 3
    )
    rows = np.zeros((len(ends), 3, 6 * len(E)))
    for row, frame, sides in zip(rows, frames, ends, strict=True):
        for body, sign, arm in sides:
            J = se3.point_jacobian(E[body], arm)
            row[:, 6 * body : 6 * body + 6] = sign * frame @ J
    friction = [min(robot.contacts[k].friction, LARGEST) for k in places[down]]
    friction += [one.friction for one in meetings]
    gaps = np.concatenate((heights[down], [one.gap for one in meetings]))
    tangents = np.ascontiguousarray(rows[:, :2].reshape(-1, 6 * len(E)))
    return Touching(
        places[down], np.ascontiguousarray(rows[:, 2]), tangents, np.array(friction),
        rate * np.maximum(-gaps, 0.0), frames, meetings,
    )  # fmt: skip


def frame_of(normal: Array) -> Array:
    """Two tangents and the normal as rows (3, 3), the first one along x of the world.

    Along y if the normal is nearly along x.
    """
    axis = np.array([0.0, 1.0, 0.0] if abs(normal[0]) > ALONG_X else [1.0, 0.0, 0.0])
    tangent = axis - (axis @ normal) * normal
    tangent /= np.linalg.norm(tangent)
    return np.array([tangent, np.cross(normal, tangent), normal])


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


def lacking(contact: ContactPoint | AnyShape) -> Iterator[str]:
    """Properties of a contact point or a shape that [Sueda] does not have."""
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
