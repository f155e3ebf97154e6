"""Geoms to geometry in body axes, with the colours of their materials."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.body import Geometry
from robosim.loaders.mjcf.defaults import Defaults
from robosim.loaders.mjcf.geoms import Geom
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Pose

Array = NDArray[np.float64]
Colour = tuple[float, float, float, float]

GREY: Colour = (0.5, 0.5, 0.5, 1.0)
# MuJoCo draws groups below this by default.
DRAWN_GROUPS = 3
# Shapes of the world only, which are obstacles of their own kinds.
WORLDLY = ("plane", "hfield")


class Materials:
    """The colours of materials by name.

    A material with a texture of two colours has their mean.
    """

    def __init__(self, root: Node, defaults: Defaults) -> None:
        assets = [node for asset in root.all("asset") for node in asset.children]
        self._textures = {
            node.name: defaults.resolve(node) for node in assets if node.tag == "texture"
        }
        self._materials = {
            node.name: defaults.resolve(node) for node in assets if node.tag == "material"
        }

    def colour(self, geom: Node) -> Colour:
        """The colour of a geom, or else of its material."""
        if geom.has("rgba") or not geom.has("material"):
            return _clipped(geom.numbers("rgba", GREY))
        material = geom.look_up("material", self._materials, "material")
        colour = material.numbers("rgba", np.ones(4))
        texture = self._textures.get(material.attributes.get("texture", ""))
        if texture is not None and texture.attributes.get("builtin", "none") != "none":
            first = texture.numbers("rgb1", np.full(3, 0.8))
            second = texture.numbers("rgb2", np.full(3, 0.5))
            flat = texture.attributes["builtin"] == "flat"
            colour = colour * np.append(first if flat else (first + second) / 2, 1.0)
        return _clipped(colour)


def _clipped(rgba: Array) -> Colour:
    r, g, b, a = (float(c) for c in np.clip(rgba, 0.0, 1.0))
    return r, g, b, a


def geometry(geom: Geom, name: str, place: Pose, colour: Colour) -> Geometry:
    """A geom that is not `WORLDLY` as geometry, at a pose in body axes from the centre of mass."""
    common: dict[str, Any] = {
        "position": place.p,
        "quaternion": quaternions.from_matrix(place.R),
        "rgba": colour,
        "name": name,
    }
    size = geom.size
    match geom.kind:
        case "sphere":
            return Geometry("sphere", size=(size[0],), **common)
        case "box":
            return Geometry("box", size=tuple(2 * size), **common)
        case "capsule" | "cylinder":
            return Geometry(geom.kind, size=(size[0], 2 * size[1]), **common)
        case "ellipsoid":
            return Geometry("ellipsoid", size=tuple(size), **common)
    if geom.mesh is None:
        raise geom.node.error(f"a {geom.kind} is part of the world")
    return Geometry("mesh", vertices=geom.mesh.vertices, faces=geom.mesh.faces, **common)
