"""Geometry, surfaces and materials of SDF links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.body import Geometry
from robosim.description.obstacles import HalfSpace
from robosim.description.surfaces import Anisotropy
from robosim.errors import LoadError, MissingExtraError, MissingFileError
from robosim.loaders.gazebo import Extensions
from robosim.loaders.meshes import GREY, Colour, MeshCache, drawn
from robosim.loaders.notes import Notes
from robosim.loaders.options import LoadOptions
from robosim.loaders.pose import Pose
from robosim.loaders.sdf.nodes import Node

Array = NDArray[np.float64]

SHAPES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "cone", "mesh", "plane", "heightmap")
_REFUSED = ("polyline", "image")


class Shapes:
    """Converts collisions and visuals.

    Parameters
    ----------
    options : LoadOptions
    notes : Notes
    extensions : Extensions
        Receives the stiffness and damping of surfaces, where contacts are to be compliant.
    """

    def __init__(self, options: LoadOptions, notes: Notes, extensions: Extensions) -> None:
        self._options, self._notes, self._extensions = options, notes, extensions
        self._meshes = MeshCache()

    def collision(self, node: Node, place: Pose, link: str) -> list[Geometry | HalfSpace]:
        """The shapes of a <collision> at a pose in the link's frame; none for an empty one.

        Raises
        ------
        LoadError
            For a shape that cannot be simulated, or without a size.
        """
        surface = self._surface(node, link)
        shape = self._shape(node)
        if shape is None:
            return []
        if shape.tag == "plane":
            normal = place.R @ self._normal(shape)
            shape.one("size")  # A plane has no end.
            return [HalfSpace(normal, place.p, name=link, **surface)]
        if shape.tag == "heightmap":
            raise shape.refusal(
                "a heightmap is not read, as programs scale its image differently; pass a "
                "robosim.HeightField as one of the obstacles",
            )
        where = {"position": place.p, "quaternion": quaternions.from_matrix(place.R), "name": link}
        if shape.tag == "mesh":
            return [*self._mesh(shape, where | surface, outline=True)]
        return [self._primitive(shape, where | surface)]

    def visual(self, node: Node, place: Pose, link: str) -> list[Geometry]:
        """The shapes of a <visual>; one that cannot be drawn is left out with a note."""
        try:
            shape = self._shape(node)
            colour = self._colour(node)
            where = {
                "position": place.p,
                "quaternion": quaternions.from_matrix(place.R),
                "name": link,
            }
            if shape is None:
                return []
            if shape.tag in ("plane", "heightmap"):
                self._notes.add("planes and heightmaps are drawn as obstacles only", node.where)
                return []
            if shape.tag == "mesh":
                return self._mesh(shape, where, colour=colour)
            return [replace(self._primitive(shape, where), rgba=colour or GREY)]
        except MissingExtraError:
            raise
        except LoadError as error:
            self._notes.add(f"visuals that cannot be read are not drawn: {error}")
            return []

    def _shape(self, node: Node) -> Node | None:
        geometry = node.needed("geometry")
        tags = [str(child.tag) for child in geometry.element]
        found = geometry.all(*SHAPES)
        refused = [tag for tag in tags if tag in _REFUSED]
        if refused:
            raise geometry.refusal(f"<{refused[0]}> cannot be simulated", SHAPES)
        if tags == ["empty"] or not tags:
            geometry.all("empty")
            return None
        if len(found) != 1:
            raise geometry.refusal(f"must hold one shape, not {tags}", SHAPES)
        return found[0]

    def _normal(self, shape: Node) -> Array:
        normal = shape.vector("normal", 3, (0.0, 0.0, 1.0))
        if np.linalg.norm(normal) < 1e-12:
            raise shape.refusal("<normal> must not be zero")
        return np.asarray(normal / np.linalg.norm(normal))

    def _primitive(self, shape: Node, where: dict[str, Any]) -> Geometry:
        match shape.tag:
            case "box":
                size: tuple[float, ...] = tuple(shape.vector("size", 3).tolist())
            case "sphere":
                size = (shape.number("radius"),)
            case "ellipsoid":
                size = tuple(shape.vector("radii", 3).tolist())
            case _:
                size = (shape.number("radius"), shape.number("length"))
        if any(not length > 0 for length in size):
            raise shape.refusal(f"its sizes must be positive, not {list(size)}")
        return Geometry(shape.tag, size=size, **where)

    def _mesh(
        self,
        shape: Node,
        where: dict[str, Any],
        colour: Colour | None = None,
        outline: bool = False,
    ) -> list[Geometry]:
        uri = shape.word("uri")
        scale = shape.vector("scale", 3, (1.0, 1.0, 1.0))
        if np.any(scale == 0):
            raise shape.refusal(f"<scale> must not be zero, not {scale.tolist()}")
        if shape.one("submesh") is not None:
            raise shape.refusal("<submesh> is not read; a mesh file is read as a whole")
        try:
            file = shape.source.finder.find(uri, shape.where)
        except MissingFileError:
            if outline and self._options.touches:
                raise
            what = (
                "collision meshes that do not exist are left out"
                if outline
                else ("meshes that do not exist are not drawn")
            )
            self._notes.add(what, uri)
            return []
        try:
            parts = (
                (self._meshes.outline(file, scale),) if outline else self._meshes.parts(file, scale)
            )
        except (LoadError, MissingExtraError) as error:
            if outline:
                raise shape.refusal(f"mesh {error}") from error
            self._notes.add(f"meshes that cannot be read are not drawn: {error}")
            return []
        return drawn(parts, colour, where)

    def _colour(self, node: Node) -> Colour | None:
        """The diffuse colour of a visual, or its ambient one, with its transparency."""
        seen = 1.0 - min(max(node.number("transparency", 0.0), 0.0), 1.0)
        material = node.one("material")
        if material is None:
            return None if seen == 1.0 else (*GREY[:3], seen)
        for tag in ("diffuse", "ambient"):
            found = material.one(tag)
            if found is not None and found.text:
                numbers = np.clip(found.numbers(3, 4), 0.0, 1.0).tolist()
                alpha = numbers[3] if len(numbers) == 4 else 1.0
                return numbers[0], numbers[1], numbers[2], alpha * seen
        return None if seen == 1.0 else (*GREY[:3], seen)

    def _surface(self, node: Node, link: str) -> dict[str, Any]:
        """Friction, restitution and stiffness of a collision, as fields of a `Geometry`."""
        surface = node.one("surface")
        found: dict[str, Any] = {"friction": self._options.friction}
        if surface is None:
            return found
        if (bounce := surface.one("bounce")) is not None:
            e = bounce.number("restitution_coefficient", 0.0, least=0.0)
            if e > 1:
                raise bounce.refusal(f"restitution_coefficient must be from 0 to 1, not {e:g}")
            found["restitution"] = e
        if (friction := surface.one("friction")) is not None:
            self._friction(friction, found)
        contact = surface.one("contact")
        if contact is not None and contact.flag("collide_without_contact"):
            raise contact.refusal("collide_without_contact makes sensors of shapes, which are not")
        ode = None if contact is None or not self._options.compliant else contact.one("ode")
        if ode is not None and ode.one("kp") is not None:
            stiffness = ode.positive("kp")
            if stiffness < 1e12:  # the format's default is none at all
                self._extensions.stiffness[link] = stiffness
                self._extensions.damping[link] = ode.number("kd", 0.0, least=0.0)
        return found

    def _friction(self, friction: Node, found: dict[str, Any]) -> None:
        ode = friction.one("ode")
        if ode is None:
            return
        given = [tag for tag in ("mu", "mu2") if ode.one(tag) is not None]
        if not given:
            return
        mu = ode.number("mu", 1.0, least=0.0)
        # Without a second one the first counts in all directions.
        mu2 = ode.number("mu2", 1.0, least=0.0) if "mu2" in given else mu
        direction = ode.one("fdir1")
        along = np.zeros(3) if direction is None else direction.numbers(3)
        if direction is not None:
            axes = direction.attribute("expressed_in")
            if axes:
                raise direction.refusal(f"expressed_in='{axes}' is not read; only the shape's axes")
        if mu == mu2:
            found["friction"] = mu
        elif np.any(along):
            found["friction"], found["anisotropy"] = Anisotropy.between(mu, mu2, along)
        else:
            found["friction"] = min(mu, mu2)
            self._notes.add(
                "of mu and mu2 the lower one counts in all directions, without <fdir1>", ode.where
            )
