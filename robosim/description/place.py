"""Places on bodies, for sensors and actuators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.body import Body, Frame
from robosim.validation import Frozen, frozen_array, unit_quaternion


class Framed(Protocol):
    """The interface of an object with bodies and named frames, such as a `Mechanism`."""

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies, in the order of the indices that `frame` returns."""
        ...

    def frame(self, name: str) -> tuple[int, Frame]:
        """(body index, frame) of a frame by name."""
        ...


@dataclass(frozen=True, eq=False)
class Place(Frozen):
    """A frame on a body.

    Attributes
    ----------
    body : str or None
        None for the world.
    position : (3,) [m], in body axes from the centre of mass; in the world for the world
    quaternion : (4,), to body axes
    """

    body: str | None = None
    position: ArrayLike = (0.0, 0.0, 0.0)
    quaternion: ArrayLike = quaternions.IDENTITY

    def __post_init__(self) -> None:
        element = f"place on '{self.body or 'world'}'"
        self._set(
            position=frozen_array(self.position, (3,), "position", element),
            quaternion=unit_quaternion(self.quaternion, "quaternion", element),
        )

    @classmethod
    def of_frame(cls, robot: Framed, name: str) -> Place:
        """The place of a robot's frame, by the name of a link or site."""
        index, frame = robot.frame(name)
        return cls(robot.bodies[index].name, frame.position, frame.quaternion)

    def on(self, position: ArrayLike, quaternion: ArrayLike) -> Place:
        """Another frame on the same body, given relative to this one."""
        R = quaternions.rotation_matrix(np.asarray(self.quaternion))
        p = np.asarray(self.position) + R @ np.asarray(position)
        return Place(self.body, p, quaternions.multiply(self.quaternion, quaternion))
