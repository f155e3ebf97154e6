"""Mass, centre of mass and inertia of several parts together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.validation import Array


class Inertial(NamedTuple):
    """Mass [kg], centre of mass (3,) [m], and inertia (3, 3) about it [kg m^2] of a body."""

    mass: float
    center: Array
    inertia: Array


def merge(parts: list[Inertial]) -> Inertial:
    """The inertial of all `parts` together, all in the same axes, by the parallel-axis theorem.

    With zero mass, the centre is at the origin.
    """
    mass = sum(part.mass for part in parts)
    if len(parts) == 1 and mass > 0:
        return parts[0]
    center = np.zeros(3)
    if mass > 0:
        center = sum((part.mass * part.center for part in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        r = part.center - center
        inertia += part.inertia + part.mass * (r @ r * np.eye(3) - np.outer(r, r))
    return Inertial(mass, center, (inertia + inertia.T) / 2)
