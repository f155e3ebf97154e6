"""Cones, as a shape of their own where descriptions know it, else as the hull of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim.description.body import GEOMETRY_KINDS, Geometry
from robosim.loaders.hulls import hull_faces
from robosim.loaders.notes import Notes

_CORNERS = 31  # of the base: with the apex these are as many as the contact points of a hull


def cone(radius: float, length: float, notes: Notes, what: str, **where: Any) -> Geometry:
    """A cone along z, with its middle at the origin and its apex at z = length / 2.

    Parameters
    ----------
    radius, length : float [m]
    notes : Notes
        Told how far a hull is from the cone.
    what : str
        How the note calls it.
    where
        Further fields of the geometry.
    """
    if "cone" in GEOMETRY_KINDS:
        return Geometry("cone", size=(radius, length), **where)
    angles = np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)
    rim = np.column_stack((np.cos(angles), np.sin(angles))) * radius
    vertices = np.vstack((np.column_stack((rim, np.full(_CORNERS, -length / 2))),
                          ((0.0, 0.0, length / 2),)))  # fmt: skip
    off = radius * (1.0 - np.cos(np.pi / _CORNERS))
    notes.add(
        f"cones are pyramids of {_CORNERS} sides, whose faces are inside of the cone by up to "
        f"{100 * off / radius:.2g} % of its radius",
        what,
    )
    return Geometry("mesh", vertices=vertices, faces=hull_faces(vertices), **where)
