"""Common parts of all writers: numbers as text, lost elements, contacts of a mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.description.body import Body, ContactPoint, Frame
from robosim.description.contact_points import link_of
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import obstacle_name
from robosim.loaders.contacts import contact_points
from robosim.loaders.placement import fixed_to_world

Array = NDArray[np.float64]

_SAME = 1e-9
CONES = "cones, for which meshes stand"


class Lost:
    """Elements that a file cannot represent, by kind."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, None]] = {}

    def add(self, what: str, name: str = "") -> None:
        """Record that the file does not have `what` of the element `name`."""
        self._names.setdefault(what, {})[name] = None

    def sentences(self) -> tuple[str, ...]:
        """A sentence for each kind, with the names of elements."""
        return tuple(
            f"{what}: {', '.join(names)}" if any(names) else what
            for what, names in self._names.items()
        )


def text(values: ArrayLike) -> str:
    """Numbers as text: the shortest text that is read as the same numbers."""
    return " ".join(repr(float(value) + 0.0) for value in np.ravel(values))


def child(parent: etree._Element, tag: str, **attributes: str) -> etree._Element:
    """A new element below `parent`."""
    return etree.SubElement(parent, tag, attributes)


def rpy(R: Array) -> Array:
    """Roll, pitch and yaw [rad] of a rotation (3, 3), about fixed axes, accurate to rounding."""
    yaw = np.arctan2(R[1, 0], R[0, 0])
    # For a pitch of a quarter turn any yaw is possible, if roll is computed without it.
    rest = quaternions.rotation_matrix(quaternions.from_axis_angle((0, 0, 1), -yaw)) @ R
    pitch = np.arctan2(-rest[2, 0], rest[0, 0])
    return np.array((np.arctan2(-rest[1, 2], rest[1, 1]), pitch, yaw))


def is_identity(position: ArrayLike, quaternion: ArrayLike) -> bool:
    """Whether a pose is the identity."""
    turned = np.abs(np.asarray(quaternion)[1:]).max() > _SAME
    return not turned and np.abs(np.asarray(position)).max() <= _SAME


def bounds(joint: Joint) -> Array:
    """Limits (2, nv) of a joint's coordinates, the lower ones first."""
    return np.array((joint.lower, joint.upper), dtype=float)


def named_poses(mechanism: Mechanism) -> dict[str, Array]:
    """The configurations of a mechanism, and home as "home" if it is not zero."""
    poses = {name: np.asarray(q) for name, q in mechanism.configurations.items()}
    home = np.asarray(mechanism.home)
    if not np.array_equal(home, mechanism.neutral()):
        poses.setdefault("home", home)
    return poses


def extra_contacts(mechanism: Mechanism, lost: Lost) -> list[ContactPoint]:
    """Contact points that the collision geometry does not have when the file is read.

    Additional points of the collision geometry are recorded as lost, because files do not specify
    which shapes touch the ground.
    """
    given: list[ContactPoint] = []
    still = fixed_to_world(mechanism.bodies, mechanism.tree_joints)
    for body in mechanism.bodies:
        if body.name not in still:
            given += contact_points(body)
    own = {_key(contact) for contact in mechanism.contacts}
    known = {_key(contact) for contact in given}
    if known - own:
        lost.add("that only some collision shapes touch the ground; read with contacts=[...]")
    extra = [contact for contact in mechanism.contacts if _key(contact) not in known]
    for contact in extra:
        if contact.axis is not None:
            lost.add("rims that are of no cylinder", contact.name)
        if contact.semi_axes is not None:
            lost.add("ellipsoids that touch only the ground", contact.name)
    return [one for one in extra if one.axis is None and one.semi_axes is None]


def _key(contact: ContactPoint) -> tuple[object, ...]:
    place = np.round(np.asarray(contact.position) / _SAME).astype(np.int64)
    axis = np.zeros(3) if contact.axis is None else np.round(np.asarray(contact.axis) / _SAME)
    axes = np.zeros((3, 3)) if contact.semi_axes is None else np.asarray(contact.semi_axes) / _SAME
    more = (*axis.astype(int).tolist(), *np.round(axes).astype(int).ravel().tolist())
    return contact.body, *place.tolist(), round(contact.radius / _SAME), *more


def frictions(mechanism: Mechanism, lost: Lost) -> dict[str, float]:
    """Link -> Coulomb coefficient of its contact points, or else of its collision shapes."""
    found: dict[str, set[float]] = {}
    for contact in mechanism.contacts:
        found.setdefault(link_of(contact), set()).add(contact.friction)
    for body in mechanism.bodies:
        for shape in body.collisions:
            found.setdefault(shape.name or body.name, set()).add(shape.friction)
    for link, values in found.items():
        if len(values) > 1:
            lost.add("different friction on one link, of which the lowest is kept", link)
    _note_surfaces(mechanism, lost)
    return {link: min(values) for link, values in found.items()}


def springs(mechanism: Mechanism, lost: Lost) -> dict[str, tuple[str, float, float]]:
    """Link -> (body, stiffness [N/m], dissipation [s/m]) of its contact points or shapes."""
    found: dict[str, dict[tuple[str, float, float], None]] = {}
    for contact in mechanism.contacts:
        if contact.stiffness is not None:
            own = contact.body, contact.stiffness, contact.dissipation
            found.setdefault(link_of(contact), {})[own] = None
    for body in mechanism.bodies:
        for shape in body.collisions:
            if shape.stiffness is not None:
                own = body.name, shape.stiffness, shape.dissipation
                found.setdefault(shape.name or body.name, {})[own] = None
    for link, values in found.items():
        if len(values) > 1:
            lost.add("different stiffness on one link, of which the lowest is kept", link)
    for obstacle in mechanism.obstacles:
        if obstacle.stiffness is not None:
            lost.add("stiffness of obstacles", obstacle_name(obstacle))
    return {link: min(values, key=lambda one: one[1]) for link, values in found.items()}


def _note_surfaces(mechanism: Mechanism, lost: Lost) -> None:
    """Record friction by direction and against turning, restitution, and moving surfaces."""
    shapes = [(s.name or body.name, s) for body in mechanism.bodies for s in body.collisions]
    points = [(link_of(contact), contact) for contact in mechanism.contacts]
    obstacles = [(obstacle_name(obstacle), obstacle) for obstacle in mechanism.obstacles]
    parts: list[tuple[str, Any]] = [*shapes, *points, *obstacles]
    for name, part in parts:
        if part.torsional_friction or part.rolling_friction:
            lost.add("torsional and rolling friction", name)
        if part.anisotropy is not None:
            lost.add("friction by direction", name)
        if part.restitution:
            lost.add("restitution", name)
        if np.any(part.surface_velocity) or np.any(part.surface_spin):
            lost.add("motions that surfaces have by themselves", name)


def frame_of(body: Body, name: str) -> Frame:
    """The frame of a body for an element with this name: that of the name, or the first one."""
    return next((frame for frame in body.frames[1:] if frame.name == name), body.frames[0])


def link_in(body: Body, name: str) -> str:
    """The link for a shape or contact of that name: the link of that name, or the body's."""
    return name if any(frame.name == name for frame in body.frames) else body.name


def note_joint(joint: Joint, lost: Lost, mjcf: bool = False) -> None:
    """Record properties of a joint that model files, or MJCF files, do not have."""
    held = bool(np.any(np.asarray(joint.lower) == np.asarray(joint.upper)))
    if joint.motion is not None and not (mjcf and held):
        lost.add("motions given as functions of time, and joints held by equal limits", joint.name)
    if any(joint.potentials):
        lost.add("potentials", joint.name)
    if np.isfinite(joint.cone):
        lost.add("cones of ball joints", joint.name)
    if np.isfinite(joint.largest_turn) and not mjcf:
        lost.add("largest turns of ball joints", joint.name)
    if joint.limit_stiffness is not None and (not mjcf or np.isfinite(joint.cone)):
        lost.add("stiffness of limits", joint.name)
    if joint.limit_restitution > 0:
        lost.add("restitution of limits", joint.name)
    if joint.bearing is not None:
        lost.add("bearings, whose friction follows the load", joint.name)


def note_rest(mechanism: Mechanism, lost: Lost, kept: Iterable[str] = ()) -> None:
    """Record properties of the whole mechanism that are not in `kept`."""
    there = {
        "obstacles": bool(mechanism.obstacles),
        "pairs of bodies that touch": bool(mechanism.contact_pairs),
        "self-collision": mechanism.self_collision,
        "excluded pairs": bool(mechanism.excluded_pairs) and mechanism.self_collision,
        "actuators, whose joints are driven by torques": bool(mechanism.actuators),
        "sensors": bool(mechanism.sensors),
        "cameras": bool(mechanism.cameras),
        "tendons": bool(mechanism.tendons),
        "soft solids": bool(mechanism.soft_meshes),
        "textures": any(s.texture is not None for b in mechanism.bodies for s in b.visuals),
    }
    for what, is_there in there.items():
        if is_there and what not in kept:
            lost.add(what)
    for body in mechanism.bodies:
        if body.drag is not None:
            lost.add("drag of bodies", body.name)
