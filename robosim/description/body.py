"""Rigid bodies and what is fixed to them: frames, shapes, contact points.

A body's own frame has its origin at the centre of mass; positions "in body axes" are given from
there. Quaternions are scalar first (w, x, y, z), Hamilton, local to world. SI units and radians.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.description.surfaces import checked_surface
from robosim.errors import ModelError
from robosim.validation import Array, Frozen, frozen_array, parts, read_only, unit_quaternion

GEOMETRY_KINDS = ("box", "sphere", "cylinder", "capsule", "mesh")
"""What a `Geometry` can be."""


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
        box: full edge lengths (x, y, z); sphere: (radius,), 0 for a point; cylinder:
        (radius, length) along z; capsule: (radius, length of the straight part) along z; mesh: ().
    position : (3,) [m], of the shape's origin, in body axes from the centre of mass
    quaternion : (4,), shape to body axes
    vertices : (n, 3) [m] or None, faces : (m, 3) int or None
        Of a mesh, in the shape's frame, scale applied.
    rgba : (4,), each 0..1
    name : str
        For messages: the link that it came from.
    uv : (n, 2) or None, texture : encoded image bytes or None
        Texture coordinates of the vertices and a PNG or JPEG image, where a mesh has them.
    friction : float, Coulomb coefficient; of two shapes that touch the lower one counts, at most 10
    restitution : float, 0 to 1, Newton's coefficient; of two shapes the higher one counts
    torsional_friction, rolling_friction : float [m] or None
        The most moment about the normal, and about the tangents, over the normal force. Of two
        shapes that touch the lower one counts, or that of the one that has any.
    surface_velocity, surface_spin : (3,) [m/s] and [rad/s], in the shape's axes
        How the surface moves by itself, as a belt does: at the shape's origin, and about it.
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

    def __post_init__(self) -> None:
        element = f"geometry of '{self.name}'" if self.name else "geometry"
        lengths = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "mesh": 0}
        if self.kind not in lengths:
            raise ModelError(
                f"unknown geometry kind '{self.kind}'",
                element=element,
                alternatives=GEOMETRY_KINDS,
            )
        friction = float(frozen_array(self.friction, (), "friction", element))
        if friction < 0:
            raise ModelError(f"friction must not be negative, not {friction}", element=element)
        size = frozen_array(self.size, (lengths[self.kind],), f"size of a {self.kind}", element)
        if np.any(size < 0) or (self.kind != "sphere" and np.any(size == 0)):
            raise ModelError(
                f"size of a {self.kind} must be positive, not {size.tolist()}", element=element
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


@dataclass(frozen=True, eq=False)
class Body(Frozen):
    """A rigid body, described about its centre of mass.

    Attributes
    ----------
    name : str
    mass : float [kg]
    inertia : (3, 3) [kg m^2], about the centre of mass, in body axes
        Symmetric. One that is not positive definite can be looked at; `Simulation` refuses it.
    frames : tuple of Frame
        The first one is the body's reference frame (a link's frame), of the body's name, with
        the axes of the body. Without any, it is put at the centre of mass.
    visuals, collisions : tuple of Geometry
    carrier : bool
        Whether it only carries one of several joints between two other bodies, and has a mass
        only so that a step has a solution. `Mechanism.total_mass` and `robosim.dynamics` leave
        that out.
    """

    name: str
    mass: float
    inertia: ArrayLike
    frames: tuple[Frame, ...] = ()
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    carrier: bool = False

    def __post_init__(self) -> None:
        element = f"body '{self.name}'"
        mass = float(frozen_array(self.mass, (), "mass", element))
        if mass <= 0:
            raise ModelError(f"mass must be positive, not {mass}", element=element)
        inertia = frozen_array(self.inertia, (3, 3), "inertia", element)
        if not np.allclose(inertia, inertia.T, rtol=1e-9, atol=1e-15):
            raise ModelError(f"inertia must be symmetric, not {inertia.tolist()}", element=element)
        frames = parts(self.frames, Frame, "frames", element) or (Frame(self.name),)
        if not np.allclose(frames[0].quaternion, quaternions.IDENTITY):
            raise ModelError(
                f"reference frame '{frames[0].name}' must have the axes of the body",
                element=element,
            )
        self._set(
            mass=mass,
            inertia=inertia,
            frames=frames,
            visuals=parts(self.visuals, Geometry, "visuals", element),
            collisions=parts(self.collisions, Geometry, "collisions", element),
        )

    @property
    def reference_position(self) -> Array:
        """Origin of the reference frame, (3,) [m], in body axes from the centre of mass."""
        return np.asarray(self.frames[0].position)

    @cached_property
    def principal_moments(self) -> Array:
        """Principal moments of inertia (3,) [kg m^2], ascending."""
        return read_only(np.linalg.eigvalsh(np.asarray(self.inertia)))

    def impossible_inertia(self) -> str | None:
        """A sentence if no mass distribution has this inertia, else None.

        Its principal moments are not all positive, or break the triangle inequality J1 + J2 >= J3.
        """
        moments = self.principal_moments
        if moments[0] <= 0:
            return (
                f"body '{self.name}': the inertia is not positive definite, its principal moments "
                f"are {moments.tolist()}; Simulation refuses it, or takes that of a ball with "
                "impossible_inertia='ball'"
            )
        if moments[0] + moments[1] < moments[2] * (1 - 1e-9):
            return (
                f"body '{self.name}': the principal moments of inertia {moments.tolist()} break "
                "the triangle inequality; no real body has them"
            )
        return None


@dataclass(frozen=True, eq=False)
class ContactPoint(Frozen):
    """A point of a body, with a radius, that cannot pass through the ground; or a rim.

    Attributes
    ----------
    name : str
    body : str
    position : (3,) [m], in body axes from the centre of mass
    radius : float [m], 0 for a corner
    friction : float, Coulomb coefficient; one above 10 counts as 10
    axis : (3,) or None
        In body axes, any length but zero: not a ball of that radius but a circle around this axis,
        as of a wheel, which touches with its lowest point, but not where it lies flat, within 1
        degree. With radius 0, a point of such a circle, which touches where that lies flat only,
        within 2 degrees.
    restitution : float, 0 to 1, Newton's coefficient
    torsional_friction, rolling_friction : float [m] or None
        The most moment about the normal, and about the tangents, over the normal force.
    surface_velocity, surface_spin : (3,) [m/s] and [rad/s], in body axes
        How the surface moves by itself, as a track does: at the position, and about it.
    """

    name: str
    body: str
    position: ArrayLike
    radius: float = 0.0
    friction: float = 0.8
    axis: ArrayLike | None = None
    restitution: float = 0.0
    torsional_friction: float | None = None
    rolling_friction: float | None = None
    surface_velocity: ArrayLike = (0.0, 0.0, 0.0)
    surface_spin: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        element = f"contact '{self.name}'"
        self._set(
            position=frozen_array(self.position, (3,), "position", element),
            **checked_surface(self, element),
        )
        if self.axis is not None:
            axis = frozen_array(self.axis, (3,), "axis", element)
            length = float(np.linalg.norm(axis))
            if length == 0:
                raise ModelError("axis must not be zero", element=element)
            self._set(axis=frozen_array(axis / length, (3,), "axis", element))
        for what in ("radius", "friction"):
            value = float(frozen_array(getattr(self, what), (), what, element))
            if value < 0:
                raise ModelError(f"{what} must not be negative, not {value}", element=element)
            self._set(**{what: value})


def lowest_arms(contacts: Sequence[ContactPoint], turns: Array) -> Array:
    """From the centre of mass to where each contact would touch the ground, (nc, 3) [m], world.

    `turns` (nc, 3, 3) are body to world.
    """
    n = len(contacts)
    points = np.array([c.position for c in contacts], dtype=float).reshape(n, 3)
    axes = np.array([(0.0, 0.0, 0.0) if c.axis is None else c.axis for c in contacts], dtype=float)
    arms = np.einsum("cij,cj->ci", turns, points)
    ring = np.einsum("cij,cj->ci", turns, axes.reshape(n, 3))
    # Down, without its part along the axis; of a ball, which has none, straight down.
    down = ring * ring[:, 2:] - np.array([0.0, 0.0, 1.0])
    size = np.maximum(np.linalg.norm(down, axis=1), 1e-12)
    radii = np.array([c.radius for c in contacts], dtype=float)
    return np.asarray(arms + (radii / size)[:, None] * down)
