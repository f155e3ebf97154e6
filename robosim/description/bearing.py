"""Bearings: friction in a joint that depends on the load of the joint [Sueda, Sect. 2.11].

The surfaces of a joint touch at pads, which never separate. The normal forces of the pads balance
the joint's reaction, and each pad resists slip by Coulomb's law.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.selection import perpendicular_basis
from robosim.errors import ModelError
from robosim.validation import Array, Frozen, checked_numbers

HINGE, SLIDE, SOCKET = "revolute", "prismatic", "spherical"
FEWEST = 3  # pads around a bearing; two cannot support all lateral loads


@dataclass(frozen=True)
class Bearing(Frozen):
    """Surfaces of a joint with friction: a sleeve for hinges and slides, a socket for ball joints.

    A sleeve has `pads` pads around each of its two ends, half of `length` to both sides of the
    joint's point. Pads of a hinge press along the radius and along the axis. Pads of a slide press
    along the radius and around the axis. A socket has `pads` pads around its equator and one at
    each pole, which press along the radius. All pads belong to the child.

    Attributes
    ----------
    friction : float
        Coulomb coefficient of the pads.
    radius : float [m]
        Distance of the pads from the axis, or from the ball's centre. Only a slide may have the
        radius 0; then moments about its axis cause no friction.
    length : float [m]
        Length of a sleeve, between its two ends.
    pads : int
        Number of pads around each end, at least 3, evenly distributed from the first axis of
        `perpendicular_basis`.

    Raises
    ------
    ModelError
        For negative or infinite numbers, or fewer pads than 3.
    """

    friction: float
    radius: float = 0.0
    length: float = 0.0
    pads: int = 4

    def __post_init__(self) -> None:
        self._set(**checked_numbers(self, "bearing", (), ("friction", "radius", "length")))
        if not isinstance(self.pads, Integral) or self.pads < FEWEST:
            raise ModelError(
                f"pads must be a whole number of at least {FEWEST}, not {self.pads!r}",
                element="bearing",
            )
        self._set(pads=int(self.pads))


class Pads(NamedTuple):
    """The pads of a bearing in child axes, from the joint's point.

    A pad may have several normals; the sum of their normal forces limits its friction.
    """

    points: Array  # (n, 3) [m]
    normals: Array  # (m, 3) of unit length
    pad_of: tuple[int, ...]  # (m,) pad of each normal
    tangents: Array  # (n, 1, 3) of a sleeve, (n, 2, 3) of a socket: unit directions of slip

    @property
    def shares(self) -> Array:
        """(m, 6): maps the wrench of the joint about its point to normal forces.

        Wrenches are [force; moment] in child axes. Of all normal forces with the same wrench, these
        are the smallest, as in (2.118) without its regularization. Components that pads cannot
        support are omitted.
        """
        arms = np.cross(self.points[list(self.pad_of)], self.normals)
        return np.asarray(np.linalg.pinv(np.hstack((self.normals, arms)).T, rcond=1e-9))


def pads_of(bearing: Bearing, kind: str, axis: ArrayLike) -> Pads:
    """The pads of a bearing in a joint of a kind about or along an axis (3,) in child axes."""
    across, along = perpendicular_basis(axis)
    angles = 2 * np.pi * np.arange(bearing.pads) / bearing.pads
    radial = np.column_stack((np.cos(angles), np.sin(angles))) @ across.T
    axial = np.tile(along[:, 0], (len(radial), 1))
    around = np.cross(axial, radial)
    if kind == SOCKET:
        points = np.vstack((radial, axial[:1], -axial[:1]))
        first = np.vstack((axial, across.T[:1], across.T[:1]))
        tangents = np.stack((first, np.cross(points, first)), axis=1)
        return Pads(bearing.radius * points, -points, tuple(range(len(points))), tangents)
    ends = [bearing.radius * radial + side * bearing.length * axial for side in (-0.5, 0.5)]
    second, slip = (axial, around) if kind == HINGE else (around, axial)
    n = 2 * len(radial)
    return Pads(
        np.vstack(ends),
        np.vstack((radial, radial, second, second)),
        (*range(n), *range(n)),
        np.vstack((slip, slip))[:, None],
    )


def check_bearing(bearing: object, kind: str, driven: bool, element: str) -> None:
    """Refuse an invalid bearing, and one in a joint that cannot have one or is driven."""
    if bearing is None:
        return
    if not isinstance(bearing, Bearing):
        raise ModelError(f"bearing must be a Bearing, not {bearing!r}", element=element)
    if kind not in (HINGE, SLIDE, SOCKET):
        free = "has no free coordinate" if kind == "fixed" else f"is '{kind}'"
        raise ModelError(
            f"{free}, which takes no bearing",
            element=element,
            alternatives=(HINGE, SLIDE, SOCKET),
        )
    if driven:
        raise ModelError(
            "is driven along a motion, so that a bearing has no effect: leave the "
            "bearing out, or drive the joint with a motor",
            element=element,
        )
    if kind != SLIDE and bearing.radius == 0:
        raise ModelError(
            "its bearing needs a radius, as friction at a radius of 0.0 resists no turn",
            element=element,
        )
    if kind == SOCKET and bearing.length != 0:
        raise ModelError(
            f"its bearing is a socket, which has no length, not {bearing.length}", element=element
        )


def unfelt(bearing: Bearing | None, kind: str, element: str) -> str | None:
    """Loads that a bearing does not feel, or feels in an unusual way, for `Mechanism.warnings`."""
    if bearing is None or kind == SOCKET:
        return None
    if bearing.length == 0:
        told = "presses on its rims under" if kind == HINGE else "does not feel"
        return f"{element}: its bearing has no length and {told} moments across the axis"
    if bearing.radius == 0:
        return f"{element}: its bearing has no radius and does not feel moments about the axis"
    return None
