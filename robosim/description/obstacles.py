"""Obstacles: fixed half-spaces, terrain and shapes that bodies cannot penetrate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.body import Geometry
from robosim.description.surfaces import Anisotropy, checked_surface
from robosim.errors import ModelError
from robosim.validation import Frozen, frozen_array, not_negative, unit_quaternion


@dataclass(frozen=True, eq=False, init=False)
class HalfSpace(Frozen):
    """A fixed half-space, whose surface is a plane.

    Attributes
    ----------
    normal : (3,), out of the ground, of any nonzero length, in world axes
    point, position : (3,) [m], on the surface, in world axes
        The same under both names; other obstacles have a position.
    friction : float, Coulomb coefficient
    name : str
    restitution : float, 0 to 1, Newton's coefficient
    torsional_friction, rolling_friction : float [m] or None
        Largest moments about the normal, and about the tangents, divided by the normal force. A
        contact has the lower value of its two shapes, or that of the only shape that has one.
    surface_velocity, surface_spin : (3,) [m/s] and [rad/s], in world axes
        Motion of the surface, as of a belt: at the point, and about it.
    anisotropy : Anisotropy or None
        Friction by direction, in world axes unless it names others.
    stiffness : float [N/m] or None, dissipation : float [s/m]
        Of a compliant surface; None: hard. The normal force is stiffness times depth times
        (1 + dissipation times the rate of the depth), and never pulls [Hunt1975].
        Two surfaces that touch yield in series.
    """

    normal: ArrayLike = (0.0, 0.0, 1.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    friction: float = 0.8
    name: str = "ground"
    restitution: float = 0.0
    torsional_friction: float | None = None
    rolling_friction: float | None = None
    surface_velocity: ArrayLike = (0.0, 0.0, 0.0)
    surface_spin: ArrayLike = (0.0, 0.0, 0.0)
    anisotropy: Anisotropy | None = None
    stiffness: float | None = None
    dissipation: float = 0.0

    def __init__(
        self,
        normal: ArrayLike = normal,
        point: ArrayLike | None = None,
        friction: float = friction,
        name: str = name,
        restitution: float = restitution,
        torsional_friction: float | None = None,
        rolling_friction: float | None = None,
        surface_velocity: ArrayLike = surface_velocity,
        surface_spin: ArrayLike = surface_spin,
        anisotropy: Anisotropy | None = None,
        stiffness: float | None = None,
        dissipation: float = 0.0,
        *,
        position: ArrayLike | None = None,
    ) -> None:
        element = f"half-space '{name}'"
        if point is not None and position is not None:
            raise ModelError("'point' and 'position' are the same; give one", element=element)
        what, at = ("point", point) if position is None else ("position", position)
        self._set(
            point=frozen_array((0.0, 0.0, 0.0) if at is None else at, (3,), what, element),
            name=name,
            restitution=restitution,
            torsional_friction=torsional_friction,
            rolling_friction=rolling_friction,
            surface_velocity=surface_velocity,
            surface_spin=surface_spin,
            anisotropy=anisotropy,
            stiffness=stiffness,
            dissipation=dissipation,
        )
        out = frozen_array(normal, (3,), "normal", element)
        length = float(np.linalg.norm(out))
        if length == 0:
            raise ModelError("normal must not be zero", element=element)
        self._set(
            normal=frozen_array(out / length, (3,), "normal", element),
            friction=not_negative(friction, "friction", element),
            **checked_surface(self, element),
        )

    @property
    def position(self) -> ArrayLike:
        """The point on the surface, (3,) [m], world."""
        return self.point


@dataclass(frozen=True, eq=False)
class HeightField(Frozen):
    """Fixed terrain, given by heights on a grid, with two triangles for each cell.

    Attributes
    ----------
    heights : (nx, ny) [m], along z, at least two by two
    size : (2,) [m], full extent along x and y
    position : (3,) [m], of the middle of the grid at height 0, in world axes
    quaternion : (4,), field to world axes
    friction : float, Coulomb coefficient
    name : str
    restitution : float, 0 to 1, Newton's coefficient
    torsional_friction, rolling_friction : float [m] or None
        Largest moments about the normal, and about the tangents, divided by the normal force. A
        contact has the lower value of its two shapes, or that of the only shape that has one.
    surface_velocity, surface_spin : (3,) [m/s] and [rad/s], in the field's axes
        Motion of the surface, as of a belt: at the field's origin, and about it.
    anisotropy : Anisotropy or None
        Friction by direction, in the field's axes unless it names others.
    stiffness : float [N/m] or None, dissipation : float [s/m]
        Of a compliant surface; None: hard. The normal force is stiffness times depth times
        (1 + dissipation times the rate of the depth), and never pulls [Hunt1975].
        Two surfaces that touch yield in series.
    """

    heights: ArrayLike
    size: tuple[float, float]
    position: ArrayLike = (0.0, 0.0, 0.0)
    quaternion: ArrayLike = quaternions.IDENTITY
    friction: float = 0.8
    name: str = "terrain"
    restitution: float = 0.0
    torsional_friction: float | None = None
    rolling_friction: float | None = None
    surface_velocity: ArrayLike = (0.0, 0.0, 0.0)
    surface_spin: ArrayLike = (0.0, 0.0, 0.0)
    anisotropy: Anisotropy | None = None
    stiffness: float | None = None
    dissipation: float = 0.0

    def __post_init__(self) -> None:
        element = f"height field '{self.name}'"
        shape = np.shape(self.heights)
        if len(shape) != 2 or min(shape) < 2:
            raise ModelError(f"heights must be at least 2 by 2, not {shape}", element=element)
        size = frozen_array(self.size, (2,), "size", element)
        if np.any(size <= 0):
            raise ModelError(f"size must be positive, not {size.tolist()}", element=element)
        self._set(
            heights=frozen_array(self.heights, shape, "heights", element),
            size=(float(size[0]), float(size[1])),
            position=frozen_array(self.position, (3,), "position", element),
            quaternion=unit_quaternion(self.quaternion, "quaternion", element),
            friction=not_negative(self.friction, "friction", element),
            **checked_surface(self, element),
        )


@dataclass(frozen=True, eq=False)
class TriangleMesh(Frozen):
    """Fixed terrain as a mesh of any shape, whose triangles have contacts from outside only.

    Attributes
    ----------
    geometry : Geometry of kind "mesh", placed in the world; faces counterclockwise from outside
    friction : float, Coulomb coefficient
    restitution : float, 0 to 1, Newton's coefficient
    torsional_friction, rolling_friction : float [m] or None
        Largest moments about the normal, and about the tangents, divided by the normal force. A
        contact has the lower value of its two shapes, or that of the only shape that has one.
    surface_velocity, surface_spin : (3,) [m/s] and [rad/s], in the axes of the geometry
        Motion of the surface, as of a belt: at the geometry's origin, and about it.
    anisotropy : Anisotropy or None
        Friction by direction, in the axes of the geometry unless it names others.
    stiffness : float [N/m] or None, dissipation : float [s/m]
        Of a compliant surface; None: hard. The normal force is stiffness times depth times
        (1 + dissipation times the rate of the depth), and never pulls [Hunt1975].
        Two surfaces that touch yield in series.
    """

    geometry: Geometry
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
        element = f"terrain '{self.geometry.name}'"
        if self.geometry.kind != "mesh":
            raise ModelError(f"must be a mesh, not a {self.geometry.kind}", element=element)
        self._set(
            friction=not_negative(self.friction, "friction", element),
            **checked_surface(self, element),
        )


AnyShape = Geometry | HalfSpace | HeightField | TriangleMesh
"""What bodies cannot pass; the last three are for the world alone."""


def obstacle_name(obstacle: AnyShape) -> str:
    """The name of an obstacle in contacts and in excluded pairs.

    The name is the obstacle's own, or that of a mesh's geometry, or the kind of a geometry.
    """
    geometry = obstacle.geometry if isinstance(obstacle, TriangleMesh) else obstacle
    if isinstance(geometry, Geometry):
        return geometry.name or geometry.kind
    return geometry.name


def as_obstacles(value: AnyShape | Iterable[AnyShape]) -> tuple[AnyShape, ...]:
    """A tuple of obstacles, from one obstacle or several.

    Raises
    ------
    ModelError
        For anything that is not an obstacle.
    """
    if isinstance(value, AnyShape):
        return (value,)
    known = ("HalfSpace", "HeightField", "TriangleMesh", "Geometry")
    try:
        obstacles = tuple(value)
    except TypeError:
        raise ModelError(
            f"must be some shapes, not {value!r}", element="obstacles", alternatives=known
        ) from None
    for obstacle in obstacles:
        if not isinstance(obstacle, AnyShape):
            raise ModelError(
                f"an obstacle cannot be {obstacle!r}", element="obstacles", alternatives=known
            )
    return obstacles
