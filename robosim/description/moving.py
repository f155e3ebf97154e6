"""A mechanism at another pose: all its elements in the world, moved by a transformation.

A joint to the world moves with its anchor, and its coordinates are unchanged. Only a free base,
without forces along its coordinates, has its coordinates changed instead, as these are its pose in
the world.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions, se3
from robosim.description.body import Body
from robosim.description.geometry import Frame, Geometry, placed, pose
from robosim.description.joint import Joint
from robosim.description.keyframe import Keyframe
from robosim.description.obstacles import AnyShape, HalfSpace, TriangleMesh
from robosim.description.place import Place
from robosim.description.ray_sensor import RaySensor
from robosim.description.soft import SoftMesh
from robosim.description.surfaces import WORLD
from robosim.description.tendon import Point, Tendon, Wrap
from robosim.description.whole import Whole
from robosim.validation import Array


def _point(E: Array, p: ArrayLike) -> Array:
    return np.asarray(E[:3, :3] @ np.asarray(p) + E[:3, 3])


@dataclass(frozen=True)
class Onto:
    """A body of another mechanism that replaces the world.

    Attributes
    ----------
    body : str or None, the world
    E : (4, 4), from the former world to the body's axes
    """

    body: str | None
    E: Array


def changes(robot: Whole, E: Array, onto: Onto | None = None) -> dict[str, Any]:
    """The fields of a mechanism that change if its world is moved by a transformation E (4, 4).

    With `onto`, elements that are fixed to the world are moved onto that body. Obstacles, free
    bases and references of sensors remain in the world.
    """
    if onto is None and np.array_equal(E, np.eye(4)):
        return {}
    there = Onto(None, E) if onto is None else onto
    free = [free_base(joint) for joint in robot.tree_joints]
    joints = [
        joint if is_free else _joint(joint, there)
        for joint, is_free in zip(robot.tree_joints, free, strict=True)
    ]
    joints += [_joint(joint, there) for joint in robot.loop_joints]
    springs = [
        spring
        if spring.parent is not None
        else replace(spring, parent=there.body,
                     parent_position=_point(there.E, spring.parent_position))
        for spring in robot.springs
    ]  # fmt: skip

    def coordinates(q: ArrayLike) -> Array:
        out = np.array(q, dtype=float)
        for start, joint, is_free in zip(robot.q_offsets, robot.tree_joints, free, strict=False):
            if is_free:
                part = slice(start, start + joint.nq)
                out[part] = _moved_base(joint, out[part], E)
        return out

    assert robot.home is not None
    return {
        "bodies": tuple(_solid(body, there) for body in robot.bodies),
        "contacts": tuple(_surface(contact, there) for contact in robot.contacts),
        "joints": tuple(joints),
        "springs": tuple(springs),
        "tendons": tuple(_tendon(tendon, there) for tendon in robot.tendons),
        "soft_meshes": tuple(_mesh(mesh, there) for mesh in robot.soft_meshes),
        "actuators": tuple(
            one if one.place is None else replace(one, place=_place(one.place, there))
            for one in robot.actuators
        ),
        "sensors": tuple(
            sensor.at(_place(sensor.place, there))
            if isinstance(sensor, RaySensor)
            else replace(
                sensor,
                place=_place(sensor.place, there),
                reference=sensor.reference
                if _is_the_world(sensor.reference)
                else _place(sensor.reference, there),
            )
            for sensor in robot.sensors
        ),
        "cameras": tuple(replace(one, place=_place(one.place, there)) for one in robot.cameras),
        "obstacles": tuple(moved_obstacle(obstacle, E) for obstacle in robot.obstacles),
        "world_frames": tuple(_at(frame, there.E) for frame in robot.world_frames),
        "world_visuals": tuple(_at(shape, there.E) for shape in robot.world_visuals),
        "home": coordinates(robot.home),
        "configurations": {name: coordinates(q) for name, q in robot.configurations.items()},
        "keyframes": {
            name: _moved_key(robot, key, free, E) for name, key in robot.keyframes.items()
        },
    }


def _moved_key(robot: Whole, key: Keyframe, free: list[bool], E: Array) -> Keyframe:
    """A keyframe after a transformation E of the world, which turns velocities of free bases."""
    for start, joint, is_free in zip(robot.v_offsets, robot.tree_joints, free, strict=False):
        if is_free:
            A = pose(joint.parent_position, joint.offset)
            turn = (se3.inverse(A) @ E @ A)[:3, :3]
            key = key.turned(tuple(robot.v_names[start : start + 3]), turn)
    return key


def _at(part: Frame | Geometry, E: Array) -> Any:
    return placed(part, E)


def free_base(joint: Joint) -> bool:
    """Whether a joint lets a body move freely in the world, without forces along it."""
    if joint.kind != "floating" or joint.parent is not None or joint.motion is not None:
        return False
    acts = ("stiffness", "damping", "friction", "armature")
    bounded = np.isfinite(np.array((joint.lower, joint.upper), dtype=float))
    if joint.resists or np.any(bounded) or any(joint.potentials):
        return False
    return not any(np.any(joint.per_coordinate(what)) for what in acts)


def _moved_base(joint: Joint, q: Array, E: Array) -> Array:
    """Coordinates (7,) of a free base after a transformation E of the world."""
    A = pose(joint.parent_position, joint.offset)
    M = se3.transformation(joint.rotation(q), joint.translation(q))
    there = se3.inverse(A) @ E @ A @ M
    turn = quaternions.multiply(quaternions.from_matrix((se3.inverse(A) @ E @ A)[:3, :3]), q[3:])
    return np.concatenate((joint.C_T.T @ there[:3, 3], turn))


def _joint(joint: Joint, there: Onto) -> Joint:
    if joint.parent is not None:
        return joint
    turn = quaternions.multiply(quaternions.from_matrix(there.E[:3, :3]), joint.offset)
    at = _point(there.E, joint.parent_position)
    return replace(joint, parent=there.body, parent_position=at, offset=turn)


def _place(place: Place, there: Onto) -> Place:
    return place if place.body is not None else replace(placed(place, there.E), body=there.body)


def _is_the_world(place: Place) -> bool:
    still = np.concatenate((np.zeros(3), quaternions.IDENTITY))
    return place.body is None and np.array_equal((*place.position, *place.quaternion), still)  # type: ignore[misc]


def _tendon(tendon: Tendon, there: Onto) -> Tendon:
    if None not in tendon.bodies():
        return tendon
    return replace(tendon, path=tuple(_item(item, there) for item in tendon.path))


def _surface(part: Any, there: Onto) -> Any:
    """A shape or contact point whose friction by direction may be fixed to the world."""
    directed = part.anisotropy
    if directed is None or directed.axes != WORLD:
        return part
    turned = directed.turned(lambda d: there.E[:3, :3] @ np.asarray(d), there.body or WORLD)
    return replace(part, anisotropy=turned)


def _solid(body: Body, there: Onto) -> Body:
    shapes = tuple(_surface(shape, there) for shape in body.collisions)
    same = all(a is b for a, b in zip(shapes, body.collisions, strict=True))
    return body if same else replace(body, collisions=shapes)


def _mesh(mesh: SoftMesh, there: Onto) -> SoftMesh:
    if None not in mesh.bodies:
        return mesh
    ends = zip(mesh.bodies, np.asarray(mesh.positions), strict=True)
    return replace(
        mesh,
        bodies=tuple(there.body if name is None else name for name in mesh.bodies),
        positions=[_point(there.E, point) if name is None else point for name, point in ends],
    )


def _item(item: Any, there: Onto) -> Any:
    if isinstance(item, Wrap):
        side = None if item.side is None else _item(item.side, there)
        item = replace(item, side=side)
        return item if item.body is not None else replace(placed(item, there.E), body=there.body)
    if isinstance(item, Point) and item.body is None:
        return replace(item, body=there.body, position=_point(there.E, item.position))
    return item


def moved_obstacle(obstacle: AnyShape, E: Array) -> AnyShape:
    """An obstacle moved by a transformation (4, 4)."""
    R = E[:3, :3]
    obstacle = _surface(obstacle, Onto(None, E))
    if isinstance(obstacle, HalfSpace):
        directed = obstacle.anisotropy
        if directed is not None and directed.axes is None:
            directed = directed.turned(lambda d: R @ np.asarray(d))
        return replace(
            obstacle,
            normal=R @ np.asarray(obstacle.normal),
            point=_point(E, obstacle.point),
            surface_velocity=R @ np.asarray(obstacle.surface_velocity),
            surface_spin=R @ np.asarray(obstacle.surface_spin),
            anisotropy=directed,
        )
    if isinstance(obstacle, TriangleMesh):
        return replace(obstacle, geometry=placed(obstacle.geometry, E))
    moved_shape: AnyShape = placed(obstacle, E)
    return moved_shape
