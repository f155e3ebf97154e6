"""Elements that refer to a link instead of a body: placed on the body that contains the link.

If an element refers to a merged link, its positions are given in the link's frame, from the frame's
origin. Otherwise they are in axes of the body, from its centre of mass. A link fixed to the world
stands for the world.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.body import Body, ContactPoint, Frame
from robosim.description.camera import Camera
from robosim.description.place import Place
from robosim.description.ray_sensor import RaySensor
from robosim.description.sensor import Part, Sensor
from robosim.description.soft import SoftMesh
from robosim.description.surfaces import WORLD
from robosim.description.tendon import Point, Wrap
from robosim.errors import ModelError
from robosim.validation import Array


class Link(NamedTuple):
    """A body, or None for the world, and a frame on it."""

    body: str | None
    frame: Frame

    def point(self, p: ArrayLike) -> Array:
        """A point (3,) of the frame, in the body's axes."""
        return np.asarray(self.frame.position) + self.axes(p)

    def axes(self, direction: ArrayLike) -> Array:
        """A vector (3,) of the frame, in the body's axes."""
        R = quaternions.rotation_matrix(np.asarray(self.frame.quaternion))
        return np.asarray(R @ np.asarray(direction))

    def turn(self, q: ArrayLike) -> Array:
        """A quaternion (4,) to the frame's axes, to the body's."""
        return quaternions.multiply(self.frame.quaternion, q)


Links = Mapping[str | None, Link]


def links_of(bodies: Iterable[Body], world_frames: Iterable[Frame]) -> dict[str | None, Link]:
    """Merged links, by name."""
    bodies = tuple(bodies)
    found: dict[str | None, Link] = {frame.name: Link(None, frame) for frame in world_frames}
    found |= {frame.name: Link(body.name, frame) for body in bodies for frame in body.frames}
    for body in bodies:
        found.pop(body.name, None)
    return found


def contact_on(contact: ContactPoint, links: Links) -> ContactPoint:
    """A contact point on the body that contains its link; unchanged for a link of the world."""
    contact = surface_on(contact, links)
    link = links.get(contact.body)
    if link is None or link.body is None:
        return contact
    directed = contact.anisotropy
    if directed is not None and directed.axes is None:
        directed = directed.turned(link.axes)
    return replace(
        contact,
        anisotropy=directed,
        body=link.body,
        position=link.point(contact.position),
        axis=None if contact.axis is None else link.axes(contact.axis),
        surface_velocity=link.axes(contact.surface_velocity),
        surface_spin=link.axes(contact.surface_spin),
    )


def surface_on(surface: Any, links: Links) -> Any:
    """A shape or contact point with friction by direction in the axes of a body or the world."""
    directed = surface.anisotropy
    link = None if directed is None else links.get(directed.axes)
    if directed is None or link is None or directed.axes == WORLD:
        return surface
    return replace(surface, anisotropy=directed.turned(link.axes, link.body or WORLD))


def body_on(body: Body, links: Links) -> Body:
    """A body whose collision shapes have friction by direction in axes of bodies or the world."""
    shapes = tuple(surface_on(shape, links) for shape in body.collisions)
    same = all(a is b for a, b in zip(shapes, body.collisions, strict=True))
    return body if same else replace(body, collisions=shapes)


def between(part: Any, links: Links) -> Any:
    """A spring between the bodies that contain its links."""
    for end in ("parent", "child"):
        link = links.get(getattr(part, end))
        if link is not None and (link.body is not None or end == "parent"):
            at = f"{end}_position"
            part = replace(part, **{end: link.body, at: link.point(getattr(part, at))})
    return part


def on_parent(joint: Any, links: Links) -> Any:
    """A joint on the body that contains the link named as its parent."""
    link = links.get(joint.parent)
    if link is None:
        return joint
    at, offset = link.point(joint.parent_position), link.turn(joint.offset)
    return replace(joint, parent=link.body, parent_position=at, offset=offset)


def place_on(place: Place, links: Links) -> Place:
    """A place on the body that contains its link."""
    link = links.get(place.body)
    if link is None:
        return place
    return Place(link.body, link.point(place.position), link.turn(place.quaternion))


def camera_on(camera: Camera, links: Links) -> Camera:
    """A camera on the body that contains its link."""
    return replace(camera, place=place_on(camera.place, links))


def tendon_on(tendon: Any, links: Links) -> Any:
    """A tendon over the bodies that contain its links."""
    if links.keys().isdisjoint(tendon.bodies()):
        return tendon
    return replace(tendon, path=tuple(_item(item, links) for item in tendon.path))


def mesh_on(mesh: SoftMesh, links: Links) -> SoftMesh:
    """A mesh with nodes on the bodies that contain its links."""
    if links.keys().isdisjoint(mesh.bodies):
        return mesh
    found = [links.get(name) for name in mesh.bodies]
    given = np.asarray(mesh.positions)
    return replace(
        mesh,
        bodies=tuple(
            name if link is None else link.body
            for name, link in zip(mesh.bodies, found, strict=True)
        ),
        positions=[
            point if link is None else link.point(point)
            for point, link in zip(given, found, strict=True)
        ],
    )


def _item(item: Any, links: Links) -> Any:
    if isinstance(item, Wrap) and item.side is not None:
        item = replace(item, side=_item(item.side, links))
    link = links.get(item.body) if isinstance(item, Point | Wrap) else None
    if link is None:
        return item
    moved = {"body": link.body, "position": link.point(item.position)}
    if isinstance(item, Wrap):
        moved["quaternion"] = link.turn(item.quaternion)
    return replace(item, **moved)


def ray_sensor_on(
    sensor: RaySensor, links: Links, bodies: Iterable[Body], world_frames: Iterable[Frame]
) -> RaySensor:
    """A sensor at the place of its frame.

    Raises
    ------
    ModelError
        For an unknown frame, or an unknown body that its rays are to pass.
    """
    bodies = tuple(bodies)
    frames: dict[str, Place] = {WORLD: Place()}
    frames |= {body.name: _at(body.name, body.frames[0]) for body in bodies}
    frames |= {frame.name: _at(None, frame) for frame in world_frames}
    frames |= {frame.name: _at(body.name, frame) for body in bodies for frame in body.frames}
    if isinstance(sensor.frame, str):
        if sensor.frame not in frames:
            told = f"frame '{sensor.frame}' does not exist"
            raise ModelError(
                told, element=sensor.element, alternatives=tuple(frames), wanted=sensor.frame
            )
        sensor = replace(sensor, frame=frames[sensor.frame])
    place = place_on(sensor.place, links)
    if place.body is not None and place.body not in {body.name for body in bodies}:
        told = f"frame: body '{place.body}' does not exist"
        raise ModelError(
            told, element=sensor.element, alternatives=tuple(frames), wanted=place.body
        )
    for name in sensor.exclude or ():
        if name not in frames:
            told = f"exclude: no body or frame '{name}'"
            raise ModelError(told, element=sensor.element, alternatives=tuple(frames), wanted=name)
    return sensor.at(place)


def _at(body: str | None, frame: Frame) -> Place:
    return Place(body, frame.position, frame.quaternion)


def sensor_on(sensor: Sensor, links: Links) -> Sensor:
    """A sensor on the bodies that contain its links."""
    names = {sensor.place.body, sensor.reference.body, *sensor.bodies}
    if links.keys().isdisjoint(names):
        return sensor
    bodies = dict.fromkeys(_body(name, links) for name in sensor.bodies)
    return replace(
        sensor,
        place=place_on(sensor.place, links),
        reference=place_on(sensor.reference, links),
        bodies=tuple(bodies),
        part=sensor.part and _part_on(sensor.part, links.get(sensor.place.body)),
    )


def _part_on(part: Part, link: Link | None) -> Part:
    """A part of a link, in the axes of the body that contains the link."""
    if link is None:
        return part
    R = quaternions.rotation_matrix(np.asarray(link.turn(quaternions.IDENTITY)))
    inertia = R @ np.asarray(part.inertia) @ R.T
    return replace(part, center=link.point(part.center), inertia=inertia)


def _body(name: str, links: Links) -> str:
    link = links.get(name)
    return name if link is None or link.body is None else link.body
