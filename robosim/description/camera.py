"""Cameras of pictures, as in model files or made by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.place import Place
from robosim.errors import OptionError
from robosim.validation import Array, Frozen

FOV = float(np.deg2rad(45.0))  # MuJoCo's default


@dataclass(frozen=True, eq=False)
class Camera(Frozen):
    """A pinhole camera on a body or in the world.

    The camera looks along -z of its place, with y up and x to the right, as in MJCF.

    Attributes
    ----------
    place : Place
        The body, or None for the world, and the position and the quaternion on it.
    fov : float [rad]
        Vertical angle of view, above 0 and below pi.
    name : str

    Raises
    ------
    OptionError
        For an angle that is none.
    """

    place: Place = Place()  # noqa: RUF009
    fov: float = FOV
    name: str = ""

    def __post_init__(self) -> None:
        if not 0.0 < self.fov < np.pi:
            raise OptionError(f"fov must be above 0 and below pi [rad], not {self.fov!r}")

    @classmethod
    def looking(
        cls,
        eye: ArrayLike,
        target: ArrayLike,
        *,
        up: ArrayLike = (0.0, 0.0, 1.0),
        fov: float = FOV,
        body: str | None = None,
        name: str = "",
    ) -> Camera:
        """A camera at `eye` that looks at `target`.

        Parameters
        ----------
        eye, target : (3,) [m]
            In the world, or in the axes of a body from its centre of mass.
        up : (3,)
            What is up in the picture, as far as the direction of view leaves it.
        fov : float [rad]
            Vertical angle of view.
        body : str or None
            Name of the body on which the camera stands.
        name : str

        Raises
        ------
        OptionError
            If the eye is at the target, or the camera looks along `up`.
        """
        at, ahead = np.array(eye, dtype=float), np.subtract(target, eye).astype(float)
        across = np.cross(ahead, np.asarray(up, dtype=float))
        if at.shape != (3,) or ahead.shape != (3,) or not np.all(np.isfinite(ahead)):
            raise OptionError(f"eye and target must be three numbers each, not {eye!r}, {target!r}")
        if not np.linalg.norm(across) > 1e-9 * np.linalg.norm(ahead):
            raise OptionError(
                f"a camera cannot look from {eye!r} to {target!r} with {up!r} upwards"
            )
        R = np.column_stack((across, np.cross(across, ahead), -ahead))
        R /= np.linalg.norm(R, axis=0)
        return cls(Place(body, at, quaternions.from_matrix(R)), fov, name)

    def pose(self, x: Array, R: Array) -> tuple[Array, Array]:
        """(eye (3,) [m], axes (3, 3)) in the world for a body at x (3,) with rotation R (3, 3)."""
        own = quaternions.rotation_matrix(np.asarray(self.place.quaternion))
        return x + R @ np.asarray(self.place.position), R @ own
