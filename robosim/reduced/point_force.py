"""A force of fixed size and direction at a point of a body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import ModelError
from robosim.validation import Frozen, frozen_array


@dataclass(frozen=True, eq=False)
class PointForce(Frozen):
    """A force in world axes at a point of a body [Sueda, Eqs. 1.31 to 1.34].

    The energy of the force is ``-size direction . x``, with the point x in world coordinates.

    Attributes
    ----------
    name : str
    body : str
        Of a body or a frame; the point of a frame is about the frame's origin and axes.
    point : (3,) [m]
        From the body's centre of mass, in its axes.
    direction : (3,)
        In world axes; made a unit vector.
    size : float [N]

    Raises
    ------
    ModelError
        For numbers that are not finite, or a direction without length.
    """

    name: str
    body: str
    point: ArrayLike = (0.0, 0.0, 0.0)
    direction: ArrayLike = (0.0, 0.0, 1.0)
    size: float = 1.0

    def __post_init__(self) -> None:
        element = f"force '{self.name}'"
        point = frozen_array(self.point, (3,), "point", element)
        along = frozen_array(self.direction, (3,), "direction", element)
        length = float(np.linalg.norm(along))
        if length == 0.0:
            raise ModelError("direction must not be zero", element=element)
        size = float(frozen_array(self.size, (), "size", element))
        unit = frozen_array(along / length, (3,), "direction", element)
        self._set(point=point, direction=unit, size=size)
