"""<rangefinder>, and <camera> with depth: sensors with rays.

Rays meet what is drawn and what collides, and not the geoms of the body that has the sensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robosim.description.names import free_name
from robosim.description.ray_sensor import FIELDS, DepthCamera, RangeFinder, RaySensor
from robosim.errors import ModelError
from robosim.loaders.mjcf.anchors import Anchors
from robosim.loaders.mjcf.cameras import MODES, pixels_of
from robosim.loaders.mjcf.contacts import PlacedGeom
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.tree import TreeBody
from robosim.loaders.notes import Notes

TAG = "rangefinder"
_MOVING = "sensors of cameras that follow something are left out"
_ENDLESS = "planes are endless for rays"


@dataclass(frozen=True)
class Surroundings:
    """What sensors with rays need to know of a file.

    Attributes
    ----------
    anchors : Anchors
    bodies : sequence of TreeBody
    geoms : sequence of PlacedGeom
    names : mapping of the id of a PlacedGeom to str
        Names of obstacles.
    unmet : sequence of str
        Geoms that rays do not meet.
    """

    anchors: Anchors
    bodies: Sequence[TreeBody]
    geoms: Sequence[PlacedGeom]
    names: Mapping[int, str]
    unmet: Sequence[str]

    def owner(self, name: str, kind: str) -> int:
        """The body of a site or a camera."""
        for index, body in enumerate(self.bodies):
            if any(one.name == name for one in getattr(body, kind)):
                return index
        raise AssertionError(name)

    def passed(self, owner: int) -> tuple[str, ...]:
        """Names of the shapes of a body."""
        own = [p for p in self.geoms if p.body == owner]
        return tuple(dict.fromkeys(name for p in own for name in (p.name, self.names.get(id(p)))
                                   if name))  # fmt: skip

    def tell(self, notes: Notes) -> None:
        """Note what rays meet otherwise than in MuJoCo."""
        for name in self.unmet:
            notes.add("rays do not meet geoms that neither collide nor are drawn", name)
        for p in self.geoms:
            if p.geom.kind == "plane" and np.any(p.geom.node.some_numbers("size", 0.0)[:2] > 0):
                notes.add(_ENDLESS, p.name)


def read_rangefinder(
    node: Node, name: str, around: Surroundings, notes: Notes
) -> RangeFinder | str:
    """A <rangefinder>, or why it is left out."""
    if node.has("site") == node.has("camera"):
        raise node.error("needs either a site or a camera")
    data = tuple(node.text("data").split()) if node.has("data") else ("dist",)
    if not data or list(data) != [what for what in FIELDS if what in data]:
        raise node.error(f"data must be some of {', '.join(FIELDS)}, in this order")
    camera, kind = None, "sites"
    if node.has("site"):
        anchor = around.anchors.site(node, "site")
        owner = around.owner(node.text("site"), "sites")
    else:
        kind = "cameras"
        anchor = node.look_up("camera", around.anchors.cameras, "camera")
        owner = around.owner(node.text("camera"), kind)
        element = next(
            c.node for c in around.bodies[owner].cameras if c.name == node.text("camera")
        )
        if element.choice("mode", MODES, "fixed") != "fixed":
            return _MOVING
        camera = pixels_of(element)
    around.tell(notes)
    times = [float(node.some_numbers(what, 0.0)[0]) for what in ("delay", "interval")]
    return _made(
        node,
        RangeFinder,
        name,
        anchor.as_place(),
        data=data,
        camera=camera,
        cutoff=node.number("cutoff", 0.0),
        passes=around.passed(owner),
        geometry="all",
        delay=times[0],
        rate=1.0 / times[1] if times[1] > 0 else None,
    )


def read_depth_cameras(
    around: Surroundings, taken: Mapping[str, Any], notes: Notes
) -> dict[str, RaySensor]:
    """Cameras whose output is a depth picture."""
    found: dict[str, RaySensor] = {}
    for body in around.bodies:
        for camera in body.cameras:
            node = camera.node
            if "depth" not in node.attributes.get("output", "").split():
                continue
            name = free_name(camera.name, {*taken, *found})
            pixels = pixels_of(node)
            middle = pixels.width / 2, pixels.height / 2
            perspective = pixels.extent == 0
            if node.choice("mode", MODES, "fixed") != "fixed":
                notes.add(_MOVING, f"camera '{camera.name}'")
            elif not perspective or not np.allclose(pixels.center, middle):
                notes.add(
                    "depth pictures of orthographic cameras, and of those with a principal point "
                    "beside the middle, are left out",
                    f"camera '{camera.name}'",
                )
            else:
                fov = [2 * np.arctan(half / focal)
                       for half, focal in zip(middle, pixels.focal, strict=True)]  # fmt: skip
                place = around.anchors.cameras[camera.name].as_place()
                found[name] = _made(
                    node, DepthCamera, name, place, pixels.width, pixels.height, tuple(fov),
                    range=np.inf, axes="opengl", geometry="visual", exclude=(),
                )  # fmt: skip
    return found


def _made(node: Node, kind: Any, *args: Any, **options: Any) -> Any:
    """A sensor, whose errors tell the line of the file."""
    try:
        return kind(*args, **options)
    except ModelError as error:
        raise node.error(error.reason) from None
