"""Bodies from shapes of uniform density, and from several bodies [Sueda, Eqs. 1.24 to 1.26]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions, se3
from robosim.description.geometry import Frame, Geometry, placed, pose
from robosim.description.inertial import Inertial, merge
from robosim.errors import ModelError
from robosim.validation import Array, frozen_array, unit_quaternion

WATER = 1000.0  # [kg/m^3]


class OfShapes:
    """The methods of `Body` that create one from a shape, or from other bodies."""

    @classmethod
    def of_shape(
        cls,
        shape: Geometry,
        density: float = WATER,
        *,
        mass: float | None = None,
        collides: bool = False,
    ) -> Self:
        """A uniform solid with the shape's name and the frame in which the shape is placed.

        Parameters
        ----------
        shape : Geometry
            A mesh that is not closed stands for its convex hull.
        density : float [kg/m^3]
        mass : float [kg] or None
            Instead of the density.
        collides : bool
            Whether the shape can touch others, or is only drawn.

        Raises
        ------
        ModelError
            For a shape without a volume.
        """
        # Imported here, because hulls take a while to import.
        from robosim.description.solids import solid

        element = f"body '{shape.name}'"
        found, E = solid(shape), pose(shape.position, shape.quaternion)
        if mass is None:
            mass = found.volume * float(frozen_array(density, (), "density", element))
        kg = float(frozen_array(mass, (), "mass", element))
        R, center = E[:3, :3], E[:3, :3] @ found.center + E[:3, 3]
        own = replace(shape, position=np.asarray(shape.position) - center)
        inertia = kg / found.volume * R @ found.inertia @ R.T
        return cls(  # type: ignore[call-arg]
            name=shape.name,
            mass=kg,
            inertia=(inertia + inertia.T) / 2,
            frames=(Frame(shape.name, -center),),
            visuals=(own,),
            collisions=(own,) if collides else (),
        )

    @classmethod
    def box(cls, name: str, size: ArrayLike, density: float = WATER, **more: Any) -> Self:
        """A uniform box, its frame at the centre, along the edges [Sueda, Eq. 1.24].

        Parameters
        ----------
        name : str
        size : (3,) [m], full edge lengths
        density, **more : as for `of_shape`
        """
        lengths = frozen_array(size, (3,), "size", f"body '{name}'").tolist()
        return cls.of_shape(Geometry("box", tuple(lengths), name=name), density, **more)

    @classmethod
    def cylinder(
        cls, name: str, radius: float, length: float, density: float = WATER, **more: Any
    ) -> Self:
        """A uniform cylinder along z [m], its frame at the centre. See `box`."""
        return cls.of_shape(Geometry("cylinder", (radius, length), name=name), density, **more)

    @classmethod
    def cone(
        cls,
        name: str,
        radius: float,
        length: float,
        density: float = WATER,
        *,
        top: float = 0.0,
        **more: Any,
    ) -> Self:
        """A uniform cone along z [m], its frame half way up, or cut at the radius `top`.

        The base has the radius `radius` and lies at -length / 2. See `box`.
        """
        size = (radius, length, top) if top else (radius, length)
        return cls.of_shape(Geometry("cone", size, name=name), density, **more)

    @classmethod
    def ellipsoid(
        cls, name: str, semi_axes: ArrayLike, density: float = WATER, **more: Any
    ) -> Self:
        """A uniform ellipsoid, semi-axes (3,) [m], its frame at the centre. See `box`."""
        half = frozen_array(semi_axes, (3,), "semi_axes", f"body '{name}'").tolist()
        return cls.of_shape(Geometry("ellipsoid", tuple(half), name=name), density, **more)

    @classmethod
    def mesh(
        cls, name: str, vertices: ArrayLike, faces: ArrayLike, density: float = WATER, **more: Any
    ) -> Self:
        """The solid in a mesh, or in its convex hull if it is not closed, in the mesh's frame.

        Parameters
        ----------
        name : str
        vertices : (n, 3) [m], faces : (m, 3), counterclockwise from outside
        density, **more : as for `of_shape`
        """
        triangles, points = np.asarray(faces, dtype=np.int64), np.asarray(vertices, dtype=float)
        shape = Geometry("mesh", name=name, vertices=points, faces=triangles)
        return cls.of_shape(shape, density, **more)

    @classmethod
    def merged(
        cls,
        name: str,
        parts: Sequence[Self | tuple[Self, ArrayLike] | tuple[Self, ArrayLike, ArrayLike]],
    ) -> Self:
        """Several bodies as one rigid body [Sueda, Eqs. 1.25, 1.26].

        Frames, shapes and drag are those of the parts. The axes are those in which the parts are
        placed, which need not be principal ones.

        Parameters
        ----------
        name : str
        parts : sequence of Body, (Body, position) or (Body, position, quaternion)
            With the pose of each part's reference frame in that of the whole: (3,) [m] and (4,).

        Raises
        ------
        ModelError
            For no parts, or an invalid part.
        """
        element = f"body '{name}'"
        if not parts:
            raise ModelError("is merged of no parts", element=element)
        own = [_placed_part(part, cls, element) for part in parts]
        inertials = [
            Inertial(body.mass, E[:3, 3], E[:3, :3] @ np.asarray(body.inertia) @ E[:3, :3].T)
            for body, E in own
        ]
        whole = merge(inertials)
        back = se3.transformation(np.eye(3), -whole.center)
        own = [(body, back @ E) for body, E in own]
        drag = np.zeros((6, 6))
        for body, E in own:
            if body.drag is not None:
                T = _twist_of_part(E)
                drag += T.T @ np.asarray(body.drag) @ T
        frames = [placed(f, E) for body, E in own for f in body.frames if f.name != name]
        return cls(  # type: ignore[call-arg]
            name=name,
            mass=whole.mass,
            inertia=whole.inertia,
            frames=(Frame(name, -whole.center), *frames),
            visuals=tuple(placed(shape, E) for body, E in own for shape in body.visuals),
            collisions=tuple(placed(shape, E) for body, E in own for shape in body.collisions),
            drag=drag,
        )


def _placed_part(part: Any, kind: type, element: str) -> tuple[Any, Array]:
    """A body, and the transformation (4, 4) from its axes to those of the whole's frame."""
    body, *where = part if isinstance(part, tuple) else (part,)
    if not isinstance(body, kind) or len(where) > 2:
        raise ModelError(
            f"parts are bodies, or (Body, position, quaternion), not {part!r}", element=element
        )
    one: Any = body
    position = where[0] if where else np.zeros(3)
    turn = where[1] if len(where) > 1 else quaternions.IDENTITY
    E = pose(
        frozen_array(position, (3,), f"position of '{one.name}'", element),
        unit_quaternion(turn, f"quaternion of '{one.name}'", element),
    )
    # From the part's reference frame to its centre of mass, which has the same axes.
    return one, E @ se3.transformation(np.eye(3), -one.reference_position)


def _twist_of_part(E: Array) -> Array:
    """(6, 6): maps a body's twist to that of a part at E in it; velocity first."""
    R, p = E[:3, :3], E[:3, 3]
    out = np.kron(np.eye(2), R.T)
    out[:3, 3:] = -R.T @ se3.cross_matrix(p)
    return np.asarray(out)
