"""Visual and collision elements of URDF links as geometry in body axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.body import Geometry
from robosim.errors import LoadError, MissingExtraError, MissingFileError
from robosim.loaders.meshes import GREY, Colour, MeshCache, drawn
from robosim.loaders.packages import FileFinder
from robosim.loaders.tree import Group, PlacedLink, origin

Array = NDArray[np.float64]

THICKNESS = 1e-6  # [m], of a plate or disc without thickness


class Shapes:
    """Converts the shapes of a robot's links to geometry.

    Parameters
    ----------
    robot : yourdfpy robot
    finder : FileFinder
    meshes : MeshCache
    touches : bool
        Whether anything touches the collision geometry, so that its meshes must exist.

    Attributes
    ----------
    undrawn : list of str
        Addresses of missing meshes that are only drawn.
    untouched : list of str
        Addresses of missing meshes that nothing touches.
    unread : list of str
        Errors in existing meshes that are only drawn.
    flat : list of str
        Links with collision shapes that have no volume.
    """

    def __init__(self, robot: Any, finder: FileFinder, meshes: MeshCache, touches: bool) -> None:
        self._finder = finder
        self._touches = touches
        self._meshes = meshes
        self.undrawn: list[str] = []
        self.untouched: list[str] = []
        self.unread: list[str] = []
        self.flat: list[str] = []
        # A material may be defined once, anywhere, and referred to by name.
        defined = [visual.material for link in robot.links for visual in link.visuals]
        self._colours: dict[str, Colour] = {}
        for material in [*robot.materials, *defined]:
            if material is not None and material.color is not None and material.name:
                self._colours.setdefault(material.name, _clipped(material.color.rgba))

    def visuals(self, group: Group, center: Array) -> tuple[Geometry, ...]:
        """The visual geometry of a group, in its axes, positions from `center` (3,)."""
        return tuple(
            shape
            for placed in group.links
            for visual in placed.link.visuals
            for shape in self._geometry(placed, visual, center, self._colour(visual))
        )

    def collisions(self, group: Group, center: Array) -> tuple[Geometry, ...]:
        """The collision geometry of a group, in its axes, positions from `center` (3,)."""
        return tuple(
            shape
            for placed in group.links
            for collision in placed.link.collisions
            for shape in self._geometry(placed, collision, center, None, outline=True)
        )

    def _colour(self, visual: Any) -> Colour | None:
        material = visual.material
        if material is None:
            return None
        if material.color is not None:
            return _clipped(material.color.rgba)
        return self._colours.get(material.name)

    def _geometry(
        self,
        placed: PlacedLink,
        item: Any,
        center: Array,
        colour: Colour | None,
        outline: bool = False,
    ) -> list[Geometry]:
        R, p = origin(item.origin)
        place: dict[str, Any] = {
            "position": placed.p + placed.R @ p - center,
            "quaternion": quaternions.from_matrix(placed.R @ R),
            "name": placed.link.name,
        }
        shape = item.geometry
        if shape.mesh is None:
            flat = _flat(shape, place) if outline else None
            if flat is not None:
                self.flat.append(placed.link.name)
            return [_primitive(shape, colour or GREY, place)] if flat is None else flat
        what = "collision" if outline else "visual"
        element = f"link '{placed.link.name}': <{what}>: <mesh>"
        try:
            file = self._finder.find(shape.mesh.filename, element)
        except MissingFileError:
            if outline and self._touches:
                raise
            (self.untouched if outline else self.undrawn).append(shape.mesh.filename)
            return []
        scale = np.ones(3) if shape.mesh.scale is None else np.ones(3) * shape.mesh.scale
        try:
            if outline:
                parts: Any = [self._meshes.outline(file, scale)]
            else:
                parts = self._meshes.parts(file, scale)
        except (LoadError, MissingExtraError) as error:
            if outline:
                raise LoadError(f"mesh {error}", element=element) from error
            self.unread.append(str(error))
            return []
        return drawn(parts, colour, place)


def _clipped(rgba: Any) -> Colour:
    r, g, b, a = (float(c) for c in np.clip(rgba, 0.0, 1.0))
    return r, g, b, a


def _primitive(shape: Any, colour: Colour, place: dict[str, Any]) -> Geometry:
    if shape.box is not None:
        return Geometry("box", size=tuple(shape.box.size), rgba=colour, **place)
    if shape.sphere is not None:
        return Geometry("sphere", size=(shape.sphere.radius,), rgba=colour, **place)
    if shape.ellipsoid is not None:
        return Geometry("ellipsoid", size=tuple(shape.ellipsoid), rgba=colour, **place)
    kind = "cylinder" if shape.capsule is None else "capsule"
    tube = shape.cylinder or shape.capsule
    return Geometry(kind, size=(tube.radius, tube.length), rgba=colour, **place)


def _flat(shape: Any, place: dict[str, Any]) -> list[Geometry] | None:
    """Shapes that touch as one without volume does; None for a shape with a volume.

    A point is a sphere of radius zero, a line its two ends, and a plate or disc has `THICKNESS`.
    """
    if shape.sphere is not None:
        return None
    if shape.ellipsoid is not None:
        edges = 2 * np.array(shape.ellipsoid, dtype=float)
    elif shape.box is not None:
        edges = np.array(shape.box.size, dtype=float)
    else:
        tube = shape.cylinder or shape.capsule
        if shape.capsule is not None and tube.radius > 0:
            return None if tube.length > 0 else [Geometry("sphere", (tube.radius,), **place)]
        edges = np.array((2 * tube.radius, 2 * tube.radius, tube.length))
    if np.all(edges > 0):
        return None
    if np.count_nonzero(edges) == 2:
        size = np.maximum(edges, THICKNESS)
        if shape.ellipsoid is not None:
            return [Geometry("ellipsoid", tuple((size / 2).tolist()), **place)]
        if shape.box is None:
            return [Geometry("cylinder", (size[0] / 2, size[2]), **place)]
        return [Geometry("box", tuple(size.tolist()), **place)]
    R, middle = quaternions.rotation_matrix(place["quaternion"]), place["position"]
    ends = (-0.5, 0.5) if np.any(edges) else (0.0,)
    return [
        Geometry("sphere", (0.0,), **place | {"position": middle + R @ (end * edges)})
        for end in ends
    ]
