"""One mechanism from two: side by side, or one mounted on a frame of the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions, se3
from robosim.description.body import Body, Frame, Geometry
from robosim.description.geometry import pose
from robosim.description.joint import Joint
from robosim.description.moving import Onto, changes, moved_obstacle
from robosim.description.names import free_name
from robosim.description.obstacles import AnyShape, obstacle_name
from robosim.description.poses import body_poses
from robosim.description.renaming import named, renamed
from robosim.description.stance import Stance
from robosim.description.touching import Pair, Side, with_contact
from robosim.description.whole import W, Whole, changed
from robosim.errors import ModelError
from robosim.validation import Array, frozen_array, unit_quaternion

_BOTH = ("bodies", "contacts", "springs", "couplings", "tendons", "soft_meshes", "actuators",
         "sensors", "cameras", "obstacles", "contact_pairs", "excluded_pairs", "world_frames",
         "world_visuals", "warnings")  # fmt: skip
MOUNT = "mount"


class Composable:
    """The methods of a `Mechanism` that combine it with another one."""

    def add(
        self: W,
        other: W | Body | AnyShape,
        position: ArrayLike = (0.0, 0.0, 0.0),
        quaternion: ArrayLike = quaternions.IDENTITY,
        prefix: str = "",
        *,
        contact: str | Iterable[Pair] = "all",
        mass: float | None = None,
    ) -> W:
        """Combine this mechanism and another one in one world.

        All elements of both are kept. In all sequences, the elements of this mechanism come first,
        then those of the other one, each in their order.

        Parameters
        ----------
        other : Mechanism, Body, Geometry, HalfSpace, HeightField or TriangleMesh
            A body gets a free joint, and contact points from its collision geometry. A shape is an
            obstacle; with a `mass`, a `Geometry` is a free body of uniform density.
        position : (3,) [m], quaternion : (4,)
            Pose of the other mechanism's world frame in this world; its home moves with it.
        prefix : str
            Prefix of all names of the other one, such as "second/".
        contact : "all", "none" or pairs of names
            Which shapes of the two mechanisms collide. With "all", pairs that overlap at home are
            excluded, and listed in `warnings`; an overlap with an obstacle is excluded only if
            joints connect the body to the world. Names in pairs include the prefix.
        mass : float [kg] or None

        Raises
        ------
        ModelError
            For a duplicate name, an invalid pose, or unknown names in pairs.
        """
        E = _given_pose(position, quaternion, "add", prefix)
        if isinstance(other, AnyShape) and mass is None:
            shape = moved_obstacle(named(other, prefix + obstacle_name(other)), E)
            return _with_obstacle(self, shape, contact)
        second = renamed(_as_mechanism(self, other, mass, prefix), prefix)
        _check_names(self, second, prefix)
        whole = _joined(self, second, changes(second, E), second.tree_joints)
        return with_contact(whole, Side.of(self), Side.of(second), contact, ())

    def attach(
        self: W,
        other: W | Body | Geometry,
        to: str,
        position: ArrayLike = (0.0, 0.0, 0.0),
        quaternion: ArrayLike = quaternions.IDENTITY,
        prefix: str = "",
        kind: str = "fixed",
        *,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        contact: str | Iterable[Pair] = "all",
        mass: float | None = None,
    ) -> W:
        """Connect the root of another mechanism to a frame of this one, by a joint.

        The joint ``<prefix>mount`` replaces the joint between the other one's root and the world.
        A massless root is part of the world, and becomes part of the frame's body, without a
        mount. Obstacles and other elements of the other mechanism's world remain in the world, at
        their pose relative to the root at home.

        Parameters
        ----------
        other : Mechanism, Body, or Geometry with a `mass`
        to : str
            A frame, or a link, of this mechanism.
        position : (3,) [m], quaternion : (4,)
            Pose of the root's frame in that frame, with the joint at zero.
        prefix : str
            Put before all names of the other one.
        kind : str
            Kind of the joint; see `Joint`.
        axis : (3,)
            Axis of the joint, if its kind has one, in the root's frame.
        contact : "all", "none" or pairs of names
            As for `add`. The two bodies of the mount do not collide.
        mass : float [kg] or None

        Raises
        ------
        ModelError
            As for `add`; for an unknown frame, or a root that is ambiguous or cannot be mounted.
        """
        E = _given_pose(position, quaternion, "attach", prefix)
        if isinstance(other, AnyShape) and mass is None:
            raise ModelError(
                "a shape needs a mass to be attached; an obstacle is added to the world",
                element=f"geometry '{obstacle_name(other)}'",
            )
        second = renamed(_as_mechanism(self, other, mass, prefix), prefix)
        _check_names(self, second, prefix)
        parent, frame = _frame(self, to)
        root, at = _root(second, kind)
        on_parent = pose(frame.position, frame.quaternion) @ E
        there = _body_pose(self, parent) @ on_parent @ se3.inverse(at)
        first, others = self, second.tree_joints
        if root is None:
            fields = changes(second, there, Onto(parent, on_parent @ se3.inverse(at)))
            first, fields = _with_root(self, second, parent, fields)
            mounted = [(j.parent, j.child) for j in fields["joints"] if j.parent == parent]
        else:
            taken = {name for names in _named(second).values() for name in names}
            body = second.bodies[second.tree_joints.index(root)]
            mount = Joint(
                free_name(prefix + MOUNT, taken),
                kind,
                parent,
                root.child,
                axis=axis,
                parent_position=on_parent[:3, 3],
                child_position=body.reference_position,
                offset=quaternions.from_matrix(on_parent[:3, :3]),
            )
            _check_names(self, second, prefix, mount)
            fields = _with_mount(second, changes(second, there), root, mount)
            others = fields["joints"][: len(second.bodies)]
            mounted = [(parent, root.child)]
        whole = _joined(first, second, fields, others)
        solid = {body.name for body in whole.bodies if body.collisions}
        touching = [(a, b) for a, b in mounted if a is not None and {a, b} <= solid]
        return with_contact(whole, Side.of(self), Side.of(second), contact, touching)


def _given_pose(position: ArrayLike, quaternion: ArrayLike, element: str, prefix: str) -> Array:
    """The given pose (4, 4); also refuses an invalid prefix."""
    if not isinstance(prefix, str):
        raise ModelError(f"prefix must be text, such as 'second/', not {prefix!r}", element=element)
    p = frozen_array(position, (3,), "position", element)
    return pose(p, unit_quaternion(quaternion, "quaternion", element))


def _as_mechanism(like: W, part: W | Body | AnyShape, mass: float | None, prefix: str) -> W:
    """A mechanism unchanged; a body, or a shape with a mass, as one with a free joint.

    The free joint has the name that is usual for robots, if the prefix makes it unique.
    """
    if isinstance(part, type(like)):
        if mass is not None:
            raise ModelError("mass is for a shape; a mechanism has masses", element=part.name)
        return part
    if isinstance(part, Geometry) and mass is not None:
        named_part = replace(part, name=obstacle_name(part))
        part = Body.of_shape(named_part, mass=mass, collides=True)
    elif isinstance(part, Body) and mass is not None:
        raise ModelError(f"has a mass of {part.mass} kg; mass is for a shape",
                         element=f"body '{part.name}'")  # fmt: skip
    if not isinstance(part, Body):
        known = ("Mechanism", "Body", "Geometry", "HalfSpace", "HeightField", "TriangleMesh")
        told = f"mass={mass} is for a Geometry" if mass is not None else "cannot be added"
        raise ModelError(f"{part!r}: {told}", alternatives=known)
    # Imported here, because hulls take a while to import.
    from robosim.description.contact_points import contact_points

    friction = {shape.name or part.name: shape.friction for shape in part.collisions}
    fresh = prefix and all(joint.name != f"{prefix}floating_base" for joint in like.joints)
    base = Joint(
        "floating_base" if fresh else f"{part.name}/floating_base",
        "floating",
        None,
        part.name,
        child_position=part.reference_position,
    )
    return type(like)(part.name, (part,), (base,), tuple(contact_points(part, friction)))  # type: ignore[call-arg]


def _with_obstacle(robot: W, obstacle: AnyShape, contact: str | Iterable[Pair]) -> W:
    name, what = obstacle_name(obstacle), "body, frame or obstacle"
    if name in _named(robot)[what]:
        raise ModelError(
            "there is one of this name already: give the new one another name, or a prefix, as in "
            f"prefix='{_free_prefix(robot, 'second')}'",
            element=f"{what} '{name}'",
        )
    whole = changed(robot, obstacles=(*robot.obstacles, obstacle))
    return with_contact(whole, Side.of(robot), Side(obstacles=(name,)), contact, ())


def _named(robot: Whole) -> dict[str, set[str]]:
    """The names of each kind of element, which two mechanisms must not share."""
    frames = {frame.name for _, frame in robot.frames()}
    frames |= {frame.name for frame in robot.world_frames}
    coordinates = {*robot.q_names, *robot.v_names, *robot.actuated_names}
    return {
        # An excluded pair may contain any of these.
        "body, frame or obstacle": {body.name for body in robot.bodies}
        | frames
        | {obstacle_name(obstacle) for obstacle in robot.obstacles},
        "joint, coordinate or tendon": {joint.name for joint in robot.joints}
        | {tendon.name for tendon in robot.tendons}
        | coordinates,
        "contact": {contact.name for contact in robot.contacts},
        "spring": {spring.name for spring in robot.springs},
        "soft": {mesh.name for mesh in robot.soft_meshes},
        "coupling": {coupling.name for coupling in robot.couplings},
        "actuator": {actuator.name for actuator in robot.actuators},
        "sensor": {sensor.name for sensor in robot.sensors},
        "camera": {camera.name for camera in robot.cameras},
        "configuration": set(robot.configurations),
    }


def _check_names(first: Whole, second: Whole, prefix: str, mount: Joint | None = None) -> None:
    """Refuse names that occur in both."""
    ours, theirs = _named(first), _named(second)
    if mount is not None:
        theirs["joint, coordinate or tendon"].add(mount.name)
    for what, names in ours.items():
        same = sorted(names & theirs[what])
        if same:
            base = prefix.strip("/") or second.name
            raise ModelError(
                "both have this name: give the other one a prefix, as in "
                f"prefix='{_free_prefix(first, base)}'",
                element=f"{what} '{same[0]}'",
            )


def _free_prefix(robot: Whole, base: str) -> str:
    """A prefix with which no name of a mechanism begins."""
    names = [name for known in _named(robot).values() for name in known]
    k, prefix = 2, f"{base}/"
    while any(name.startswith(prefix) for name in names):
        prefix, k = f"{base}{k}/", k + 1
    return prefix


def _frame(robot: Whole, name: str) -> tuple[str | None, Frame]:
    """A frame by its name, or that of its body, and the body."""
    for frame in robot.world_frames:
        if frame.name == name:
            return None, frame
    for index, frame in robot.frames():
        if frame.name == name:
            return robot.bodies[index].name, frame
    known = dict.fromkeys(frame.name for _, frame in robot.frames())
    raise ModelError(f"no frame '{name}' to attach to", alternatives=tuple(known), wanted=name)


def _body_pose(robot: Whole, body: str | None) -> Array:
    """Pose (4, 4) of a body in the world at home."""
    return se3.transformation(*body_poses(robot.tree_joints, np.asarray(robot.home))[body])


def _root(robot: Whole, kind: str) -> tuple[Joint | None, Array]:
    """The joint of the root to the world, None if it is part of the world; its pose at home."""
    joints = [joint for joint in robot.tree_joints if joint.parent is None]
    fixed = [joint for joint in joints if joint.kind in ("fixed", "floating")]
    if robot.world_frames and not (len(joints) == 1 and fixed):
        if kind != "fixed":
            raise ModelError(
                f"has a root without mass, which can be attached as 'fixed' only, not '{kind}'",
                element=f"mechanism '{robot.name}'",
            )
        frame = robot.world_frames[0]
        return None, pose(frame.position, frame.quaternion)
    if len(joints) != 1:
        listed = ", ".join(f"'{joint.name}'" for joint in joints)
        raise ModelError(
            f"has no single root to attach, but several joints to the world: {listed}",
            element=f"mechanism '{robot.name}'",
        )
    index = robot.tree_joints.index(joints[0])
    body = robot.bodies[index]
    frame = body.frames[0]
    return joints[0], _body_pose(robot, body.name) @ pose(frame.position, frame.quaternion)


def _with_mount(robot: Whole, fields: dict[str, Any], root: Joint, mount: Joint) -> dict[str, Any]:
    """Fields of a mechanism with another joint between root and world."""
    fields = {what: fields.get(what, getattr(robot, what)) for what in
              ("joints", "home", "configurations", "warnings", *fields)}  # fmt: skip
    index = robot.joints.index(root)
    begin, end = robot.q_offsets[index : index + 2]
    neutral = np.zeros(mount.nq)
    if mount.has_quaternion:
        neutral[mount.numbers] = 1.0

    def coordinates(q: ArrayLike) -> Array:
        values = np.asarray(q)
        return np.concatenate((values[:begin], neutral, values[end:]))

    joints = list(fields["joints"])
    joints[index] = mount
    told = fields["warnings"]
    if root.kind not in ("fixed", "floating"):
        told = (*told, f"the {root.kind} joint '{root.name}' to the world has made way for "
                f"'{mount.name}', which attaches its body")  # fmt: skip
    return fields | {
        "joints": tuple(joints),
        "home": coordinates(fields["home"]),
        "configurations": {k: coordinates(q) for k, q in fields["configurations"].items()},
        "warnings": told,
    }


def _with_root(
    first: W, second: Whole, parent: str | None, fields: dict[str, Any]
) -> tuple[W, dict[str, Any]]:
    """The first mechanism with the massless root of the second on a body, and the other fields."""
    frames, visuals = fields["world_frames"], fields["world_visuals"]
    links = [frame.name for frame in frames if frame.name.rpartition("/")[2] != "world"]
    if links:
        told = (
            f"links of '{second.name}' that are fixed to its world have no mass, and no collision "
            f"geometry, where they are attached: {', '.join(links)}"
        )
        fields = fields | {"warnings": (*second.warnings, told)}
    if parent is None:
        return first, fields
    bodies = [
        replace(body, frames=(*body.frames, *frames), visuals=(*body.visuals, *visuals))
        if body.name == parent
        else body
        for body in first.bodies
    ]
    return changed(first, bodies=tuple(bodies)), fields | {"world_frames": (), "world_visuals": ()}


def _joined(first: W, second: Whole, fields: dict[str, Any], others: Sequence[Joint]) -> W:
    """All elements of two mechanisms; the second with changed fields."""

    def theirs(what: str) -> Any:
        return fields.get(what, getattr(second, what))

    ours = np.asarray(first.home)
    joints = theirs("joints")
    n = len(second.bodies)
    home = np.concatenate((ours, theirs("home")))
    configurations = {
        name: np.concatenate((q, theirs("home"))) for name, q in first.configurations.items()
    } | {name: np.concatenate((ours, q)) for name, q in theirs("configurations").items()}
    whole = changed(
        first,
        joints=(*first.tree_joints, *joints[:n], *first.loop_joints, *joints[n:]),
        **{what: (*getattr(first, what), *theirs(what)) for what in _BOTH},
        effort_ranges={**first.effort_ranges, **second.effort_ranges},
        home=home,
        configurations=configurations,
        keyframes={**first.keyframes, **theirs("keyframes")},
        as_given=True,
        self_collision=False,
        stance=None,
        source=None,
        package_dirs=(),
    )
    return changed(whole, stance=_stance(whole, first, second))


def _stance(whole: Whole, *parts: Whole) -> Stance | None:
    """The stances of both; zero gains at home for a mechanism without one."""
    if all(part.stance is None for part in parts):
        return None
    home, target = np.asarray(whole.home), np.zeros(whole.nu)
    at = _positions(whole)
    kp, kd = np.zeros(whole.nu), np.zeros(whole.nu)
    index = {name: k for k, name in enumerate(whole.actuated_names)}
    for name, k in index.items():
        if name in at:
            target[k] = home[at[name]]
    for part in parts:
        if part.stance is None:
            continue
        for j, name in enumerate(part.actuated_names):
            if name in index:
                k = index[name]
                target[k], kp[k], kd[k] = (
                    np.asarray(getattr(part.stance, what))[j] for what in ("target", "kp", "kd")
                )
    return Stance(target, kp, kd)


def _positions(robot: Whole) -> dict[str, int]:
    """Index in q for the names of velocities that have a coordinate."""
    found = {}
    for j, joint in enumerate(robot.tree_joints):
        q, v = robot.q_offsets[j], robot.v_offsets[j]
        for k in range(joint.numbers):
            found[robot.v_names[v + k]] = q + k
    return found
