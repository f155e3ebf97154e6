"""Frames and shapes that are fixed to a body.

Positions "in body axes" are given from the body's centre of mass. Quaternions are scalar first
(w, x, y, z), Hamilton. SI units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions, se3
from robosim.description.surfaces import Anisotropy, checked_surface
from robosim.errors import ModelError
from robosim.validation import Array, Frozen, frozen_array, not_negative, unit_quaternion

GEOMETRY_KINDS = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "cone", "mesh")
"""What a `Geometry` can be."""


def pose(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """The transformation (4, 4) of a position (3,) [m] and a unit quaternion (4,)."""
    return se3.transformation(quaternions.rotation_matrix(np.asarray(quaternion)), position)


def placed(part: Any, E: Array) -> Any:
    """An element with a position and a quaternion, moved by a transformation (4, 4)."""
    turned = quaternions.multiply(quaternions.from_matrix(E[:3, :3]), part.quaternion)
    point = E[:3, :3] @ np.asarray(part.position) + E[:3, 3]
    return replace(part, position=point, quaternion=turned)


@dataclass(frozen=True, eq=False)
class Frame(Frozen):
    """A named frame fixed to a body.

    Attributes
    ----------
    name : str
    position : (3,) [m], of the frame's origin, in body axes from the centre of mass
    quaternion : (4,), frame to body axes
    """

    name: str
    position: ArrayLike = (0.0, 0.0, 0.0)
    quaternion: ArrayLike = quaternions.IDENTITY

    def __post_init__(self) -> None:
        element = f"frame '{self.name}'"
        self._set(
            position=frozen_array(self.position, (3,), "position", element),
            quaternion=unit_quaternion(self.quaternion, "quaternion", element),
        )


def _checked_faces(faces: ArrayLike, n_vertices: int, element: str) -> NDArray[np.int64]:
    array = np.asarray(faces, dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ModelError(f"faces must have shape (m, 3), not {array.shape}", element=element)
    if array.size and not 0 <= array.min() <= array.max() < n_vertices:
        raise ModelError(
            f"faces must index {n_vertices} vertices, not {array.min()} to {array.max()}",
            element=element,
        )
    return array


@dataclass(frozen=True, eq=False)
class Geometry(Frozen):
    """A shape fixed to a body, for drawing or for contact.

    Attributes
    ----------
    kind : str
        One of ``GEOMETRY_KINDS``.
    size : tuple of float [m]
        Box: full edge lengths (x, y, z). Sphere: (radius,), 0 for a point. Cylinder:
        (radius, length) along z. Capsule: (radius, length of the straight part) along z. Ellipsoid:
        semi-axes (x, y, z). Cone: (radius of the base, length, radius of the top) along z, with the
        base at -length / 2. Without the last one the top is an apex. Mesh: ().
    position : (3,) [m], of the shape's origin, in body axes from the centre of mass
    quaternion : (4,), shape to body axes
    vertices : (n, 3) [m] or None, faces : (m, 3) int or None
        Of a mesh, in the shape's frame, scale applied.
    rgba : (4,), each 0..1
    name : str
        Name of its link, for messages.
    uv : (n, 2) or None, texture : encoded image bytes or None
        Texture coordinates of the vertices and a PNG or JPEG image, where a mesh has them.
    friction : float
        Coulomb coefficient. A contact has the lower value of its two shapes, at most 10.
    restitution : float, 0 to 1
        Newton's coefficient. A contact has the higher value of its two shapes.
    torsional_friction, rolling_friction : float [m] or None
        Largest moments about the normal, and about the tangents, divided by the normal force. A
        contact has the lower value of its two shapes, or that of the only shape that has one.
    surface_velocity, surface_spin : (3,) [m/s] and [rad/s], in the shape's axes
        Motion of the surface relative to the body, as of a belt: at the shape's origin, and about
        it.
    anisotropy : Anisotropy or None
        Friction by direction, in the shape's axes unless it names others.
    stiffness : float [N/m] or None, dissipation : float [s/m]
        Of a compliant surface; None: hard. The normal force is stiffness times depth times
        (1 + dissipation times the rate of the depth), and never pulls [Hunt1975].
        Two surfaces that touch yield in series. All points that two shapes touch with share one
        spring, of the stiffness times the number of points that the shape lies on.
    """

    kind: str
    size: tuple[float, ...] = ()
    position: ArrayLike = (0.0, 0.0, 0.0)
    quaternion: ArrayLike = quaternions.IDENTITY
    vertices: NDArray[np.float64] | None = None
    faces: NDArray[np.int64] | None = None
    rgba: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0)
    name: str = ""
    uv: NDArray[np.float64] | None = None
    texture: bytes | None = None
    friction: float = 0.8
    restitution: float = 0.0
    torsional_friction: float | None = None
    rolling_friction: float | None = None
    surface_velocity: ArrayLike = (0.0, 0.0, 0.0)
    surface_spin: ArrayLike = (0.0, 0.0, 0.0)
    anisotropy: Anisotropy | None = None
    stiffness: float | None = None
    dissipation: float = 0.0

    def __post_init__(self) -> None:
        element = f"geometry of '{self.name}'" if self.name else "geometry"
        lengths = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "ellipsoid": 3, "mesh": 0}
        lengths["cone"] = 3 if np.size(self.size) == 3 else 2
        if self.kind not in lengths:
            raise ModelError(
                f"unknown geometry kind '{self.kind}'",
                element=element,
                alternatives=GEOMETRY_KINDS,
            )
        not_negative(self.friction, "friction", element)
        size = frozen_array(self.size, (lengths[self.kind],), f"size of a {self.kind}", element)
        if np.any(size < 0) or (self.kind != "sphere" and np.any(size[:2] == 0)):
            raise ModelError(
                f"size of a {self.kind} must be positive, not {size.tolist()}", element=element
            )
        if self.kind == "cone" and size[0] < size[2:].max(initial=0.0):
            raise ModelError(
                f"the top of a cone must be no wider than its base, not {size.tolist()}",
                element=element,
            )
        if self.kind == "mesh":
            if self.vertices is None or self.faces is None:
                raise ModelError("a mesh needs vertices and faces", element=element)
            vertices = np.asarray(self.vertices, dtype=np.float64)
            self._set(
                vertices=frozen_array(vertices, (len(vertices), 3), "vertices", element),
                faces=_checked_faces(self.faces, len(vertices), element),
            )
        self._set(
            size=tuple(float(s) for s in size),
            position=frozen_array(self.position, (3,), "position", element),
            quaternion=unit_quaternion(self.quaternion, "quaternion", element),
            **checked_surface(self, element),
        )
