"""Rigid bodies and their contact points; frames and shapes are in `geometry`.

A body's own frame has its origin at the centre of mass; positions "in body axes" are given from
there. Quaternions are scalar first (w, x, y, z), Hamilton, local to world. SI units and radians.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.geometry import GEOMETRY_KINDS as GEOMETRY_KINDS
from robosim.description.geometry import Frame as Frame
from robosim.description.geometry import Geometry as Geometry
from robosim.description.solid_bodies import OfShapes
from robosim.description.surfaces import Anisotropy, checked_surface
from robosim.errors import ModelError
from robosim.validation import Array, Frozen, frozen_array, not_negative, parts, read_only

ROUNDING = 1e-15  # of the largest principal moment


def _checked_drag(drag: ArrayLike | None, element: str) -> Array | None:
    """A drag as a matrix (6, 6), or None if it is zero."""
    if drag is None:
        return None
    number = np.ndim(drag) == 0
    matrix = frozen_array(drag, () if number else (6, 6), "drag", element)
    matrix = read_only(float(matrix) * np.eye(6)) if number else matrix
    least = float(np.linalg.eigvalsh(matrix + matrix.T)[0])
    if least < -1e-12 * float(np.abs(matrix).max()):
        raise ModelError(
            f"drag must not give energy, but its symmetric part has the eigenvalue {least / 2:g}",
            element=element,
        )
    return matrix if matrix.any() else None


@dataclass(frozen=True, eq=False)
class Body(OfShapes, Frozen):
    """A rigid body, described about its centre of mass.

    Attributes
    ----------
    name : str
    mass : float [kg]
    inertia : (3, 3) [kg m^2], about the centre of mass, in body axes
        Symmetric. If not positive definite, the body can be viewed, but `Simulation` refuses it.
    frames : tuple of Frame
        The first one is the body's reference frame (a link's frame), of the body's name, with
        the axes of the body. Without any, it is put at the centre of mass.
    visuals, collisions : tuple of Geometry
    carrier : bool
        Whether the body is only an intermediate body between several joints, with a mass that only
        makes steps solvable. `Mechanism.total_mass` and `robosim.dynamics` ignore this mass.
    drag : (6, 6), float or None
        Drag with the wrench ``-drag twist`` [Sueda, Sect. 1.9.1]. The twist is the velocity of the
        centre of mass and the angular velocity, in body axes and SI units. A number d stands for
        d times the identity. The symmetric part must have no negative eigenvalue.
    gravity_compensation : float
        The part of its weight that a force at its centre of mass balances: 0 for none, 1 for all.
        More than 1 lifts the body, as a balloon.
    """

    name: str
    mass: float
    inertia: ArrayLike
    frames: tuple[Frame, ...] = ()
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    carrier: bool = False
    drag: ArrayLike | None = None
    gravity_compensation: float = 0.0

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
            drag=_checked_drag(self.drag, element),
            gravity_compensation=float(
                frozen_array(self.gravity_compensation, (), "gravity_compensation", element)
            ),
        )

    @property
    def gravitational_mass(self) -> float:
        """The mass that gravity acts on [kg]."""
        return (1.0 - self.gravity_compensation) * self.mass

    @property
    def reference_position(self) -> Array:
        """Origin of the reference frame, (3,) [m], in body axes from the centre of mass."""
        return np.asarray(self.frames[0].position)

    @cached_property
    def principal_moments(self) -> Array:
        """Principal moments of inertia (3,) [kg m^2], ascending."""
        return read_only(moments_of(np.asarray(self.inertia)))

    def impossible_inertia(self) -> str | None:
        """A sentence if no mass distribution has this inertia, else None.

        Principal moments must be positive, and satisfy the triangle inequality J1 + J2 >= J3.
        """
        moments = self.principal_moments
        if not moments[0] > 0:
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


def moments_of(inertia: Array) -> Array:
    """Principal moments (3,) of an inertia (3, 3), ascending; zero if they are mere rounding."""
    moments = np.linalg.eigvalsh(inertia)
    return np.where(np.abs(moments) < ROUNDING * np.abs(moments).max(), 0.0, moments)


@dataclass(frozen=True, eq=False)
class ContactPoint(Frozen):
    """A point of a body, with a radius, a rim or an ellipsoid, that cannot pass the ground.

    Attributes
    ----------
    name : str
    body : str
    position : (3,) [m], in body axes from the centre of mass
    radius : float [m], 0 for a corner
    friction : float, Coulomb coefficient; one above 10 counts as 10
    axis : (3,) or None
        Axis of a rim, in body axes, of any nonzero length: the contact is a circle around this axis
        instead of a ball. A rim touches with its lowest point, unless it lies flat within 1 degree.
        With radius 0, the contact is a point of a rim, which touches only if the
        rim lies flat within 2 degrees.
    semi_axes : (3, 3) [m] or None
        Semi-axes of an ellipsoid around the position, one a row, in body axes, perpendicular to
        each other. The radius of an ellipsoid must be 0.
    restitution : float, 0 to 1, Newton's coefficient
    torsional_friction, rolling_friction : float [m] or None
        Largest moments about the normal, and about the tangents, divided by the normal force.
    surface_velocity, surface_spin : (3,) [m/s] and [rad/s], in body axes
        Motion of the surface relative to the body, as of a track: at the position, and about it.
    anisotropy : Anisotropy or None
        Friction by direction, in body axes unless it names others.
    stiffness : float [N/m] or None, dissipation : float [s/m]
        Of a compliant surface; None: hard. The normal force is stiffness times depth times
        (1 + dissipation times the rate of the depth), and never pulls [Hunt1975].
    """

    name: str
    body: str
    position: ArrayLike
    radius: float = 0.0
    friction: float = 0.8
    axis: ArrayLike | None = None
    semi_axes: ArrayLike | None = None
    restitution: float = 0.0
    torsional_friction: float | None = None
    rolling_friction: float | None = None
    surface_velocity: ArrayLike = (0.0, 0.0, 0.0)
    surface_spin: ArrayLike = (0.0, 0.0, 0.0)
    anisotropy: Anisotropy | None = None
    stiffness: float | None = None
    dissipation: float = 0.0

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
            self._set(**{what: not_negative(getattr(self, what), what, element)})
        if self.semi_axes is not None:
            self._set(semi_axes=_checked_semi_axes(self.semi_axes, element))
            if self.axis is not None or self.radius > 0:
                raise ModelError("an ellipsoid has no radius and no axis", element=element)


def _checked_semi_axes(semi_axes: ArrayLike, element: str) -> Array:
    rows = frozen_array(semi_axes, (3, 3), "semi_axes", element)
    lengths = np.linalg.norm(rows, axis=1)
    products = np.abs(rows @ rows.T - np.diag(lengths**2))
    if np.any(lengths == 0) or np.any(products > 1e-6 * np.outer(lengths, lengths)):
        raise ModelError(
            f"semi_axes must be perpendicular to each other, not {rows.tolist()}", element=element
        )
    return rows


def lowest_arms(contacts: Sequence[ContactPoint], turns: Array) -> Array:
    """Vectors from the centre of mass to the lowest point of each contact, (nc, 3) [m], world.

    `turns` (nc, 3, 3) are body to world.
    """
    n = len(contacts)
    points = np.array([c.position for c in contacts], dtype=float).reshape(n, 3)
    axes = np.array([(0.0, 0.0, 0.0) if c.axis is None else c.axis for c in contacts], dtype=float)
    arms = np.einsum("cij,cj->ci", turns, points)
    ring = np.einsum("cij,cj->ci", turns, axes.reshape(n, 3))
    # Down, without the component along the axis; for a ball, which has no axis, straight down.
    down = ring * ring[:, 2:] - np.array([0.0, 0.0, 1.0])
    size = np.maximum(np.linalg.norm(down, axis=1), 1e-12)
    radii = np.array([c.radius for c in contacts], dtype=float)
    arms += (radii / size)[:, None] * down
    for arm, turn, contact in zip(arms, turns, contacts, strict=True):
        if contact.semi_axes is not None:
            axes = np.asarray(contact.semi_axes) @ turn.T
            arm -= axes.T @ axes[:, 2] / np.linalg.norm(axes[:, 2])
    return np.asarray(arms)
