"""A mechanism with a prefix before all its names, for combination with others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from robosim.description.body import Body, Frame, Geometry
from robosim.description.joint import Joint
from robosim.description.obstacles import AnyShape, TriangleMesh, obstacle_name
from robosim.description.place import Place
from robosim.description.ray_sensor import RangeFinder, RaySensor
from robosim.description.sensor import Sensor
from robosim.description.surfaces import WORLD
from robosim.description.tendon import Point, Tendon, Term, Wrap
from robosim.description.whole import W, changed


def renamed(robot: W, prefix: str) -> W:
    """The mechanism with a prefix before all names except its own.

    Names of coordinates are made from those of joints, and so have the prefix as well.
    """
    if not prefix:
        return robot
    pairs = {
        what: tuple((prefix + a, prefix + b) for a, b in getattr(robot, what))
        for what in ("contact_pairs", "excluded_pairs")
    }
    names = {body.name for body in robot.bodies}
    # Warnings about inertias are generated again, with the new names.
    again = {body.impossible_inertia() for body in robot.bodies}
    told = tuple(f"{prefix}: {text}" for text in robot.warnings if text not in again)
    return changed(
        robot,
        bodies=tuple(_body(body, prefix, names) for body in robot.bodies),
        joints=tuple(_joint(joint, prefix) for joint in robot.joints),
        contacts=tuple(
            replace(_surface(contact, prefix, names), name=prefix + contact.name,
                    body=prefix + contact.body)
            for contact in robot.contacts
        ),
        springs=tuple(
            replace(spring, name=prefix + spring.name, **_ends(spring, prefix))
            for spring in robot.springs
        ),
        soft_meshes=tuple(
            replace(mesh, name=prefix + mesh.name,
                    bodies=tuple(None if name is None else prefix + name
                                 for name in mesh.bodies))
            for mesh in robot.soft_meshes
        ),
        couplings=tuple(
            replace(one, name=prefix + one.name, joint=prefix + one.joint,
                    source=prefix + one.source)
            for one in robot.couplings
        ),
        tendons=tuple(_tendon(tendon, prefix) for tendon in robot.tendons),
        actuators=tuple(
            replace(
                one,
                name=prefix + one.name,
                gears={prefix + name: gear for name, gear in one.gears.items()},
                place=None if one.place is None else _place(one.place, prefix),
                adheres=None if one.adheres is None else prefix + one.adheres,
            )
            for one in robot.actuators
        ),
        sensors=tuple(_sensor(sensor, prefix) for sensor in robot.sensors),
        cameras=tuple(
            replace(one, name=prefix + one.name, place=_place(one.place, prefix))
            for one in robot.cameras
        ),
        obstacles=tuple(
            named(_surface(shape, prefix, names), prefix + obstacle_name(shape))
            for shape in robot.obstacles
        ),
        effort_ranges={prefix + name: ends for name, ends in robot.effort_ranges.items()},
        world_frames=tuple(_frame(frame, prefix) for frame in robot.world_frames),
        world_visuals=tuple(_geometry(shape, prefix) for shape in robot.world_visuals),
        configurations={prefix + name: q for name, q in robot.configurations.items()},
        keyframes={prefix + name: key.renamed(prefix) for name, key in robot.keyframes.items()},
        warnings=told,
        **pairs,
    )  # fmt: skip


def named(obstacle: AnyShape, name: str) -> AnyShape:
    """An obstacle with another name."""
    if isinstance(obstacle, TriangleMesh):
        return replace(obstacle, geometry=replace(obstacle.geometry, name=name))
    return replace(obstacle, name=name)


def _frame(frame: Frame, prefix: str) -> Frame:
    return replace(frame, name=prefix + frame.name)


def _geometry(shape: Geometry, prefix: str) -> Geometry:
    return replace(shape, name=prefix + shape.name) if shape.name else shape


def _surface(part: Any, prefix: str, names: set[str]) -> Any:
    """A shape or contact point whose friction by direction names a body with its new name."""
    directed = part.anisotropy
    if directed is None or directed.axes not in names - {WORLD}:
        return part
    return replace(part, anisotropy=replace(directed, axes=prefix + directed.axes))


def _body(body: Body, prefix: str, names: set[str]) -> Body:
    return replace(
        body,
        name=prefix + body.name,
        frames=tuple(_frame(frame, prefix) for frame in body.frames),
        visuals=tuple(_geometry(shape, prefix) for shape in body.visuals),
        collisions=tuple(
            _geometry(_surface(shape, prefix, names), prefix) for shape in body.collisions
        ),
    )


def _ends(part: Any, prefix: str) -> dict[str, Any]:
    parent = None if part.parent is None else prefix + part.parent
    return {"parent": parent, "child": prefix + part.child}


def _joint(joint: Joint, prefix: str) -> Joint:
    return replace(
        joint,
        name=prefix + joint.name,
        via=tuple(prefix + name for name in joint.via),
        coordinate_names=tuple(prefix + name for name in joint.coordinate_names),
        **_ends(joint, prefix),
    )


def _tendon(tendon: Tendon, prefix: str) -> Tendon:
    path: list[Any] = []
    for item in tendon.path:
        if isinstance(item, Term):
            path.append(replace(item, coordinate=prefix + item.coordinate))
        elif isinstance(item, Point | Wrap):
            path.append(_on_body(item, prefix))
        else:
            path.append(item)
    return replace(tendon, name=prefix + tendon.name, path=tuple(path))


def _on_body(item: Any, prefix: str) -> Any:
    if isinstance(item, Wrap) and item.side is not None:
        item = replace(item, side=_on_body(item.side, prefix))
    return item if item.body is None else replace(item, body=prefix + item.body)


def _place(place: Place, prefix: str) -> Place:
    return place if place.body is None else replace(place, body=prefix + place.body)


def _sensor(sensor: Sensor | RaySensor, prefix: str) -> Sensor | RaySensor:
    if isinstance(sensor, RaySensor):
        passed = sensor.exclude
        if passed is not None:
            passed = tuple(name if name == WORLD else prefix + name for name in passed)
        sensor = replace(sensor.at(_place(sensor.place, prefix)), exclude=passed)
        if isinstance(sensor, RangeFinder):
            sensor = replace(sensor, passes=tuple(prefix + name for name in sensor.passes))
        return replace(sensor, name=prefix + sensor.name)
    return replace(
        sensor,
        name=prefix + sensor.name,
        of={prefix + name: factor for name, factor in sensor.of.items()},
        place=_place(sensor.place, prefix),
        reference=_place(sensor.reference, prefix),
        bodies=tuple(prefix + name for name in sensor.bodies),
        part=sensor.part
        and replace(sensor.part, links=tuple(prefix + name for name in sensor.part.links)),
    )
