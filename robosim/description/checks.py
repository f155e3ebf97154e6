"""Checks of a mechanism when it is built: names, and references by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from robosim.description.actuator import Actuator
from robosim.description.body import Body, ContactPoint
from robosim.description.camera import Camera
from robosim.description.joint import Joint
from robosim.description.obstacles import AnyShape, obstacle_name
from robosim.description.ray_sensor import RaySensor
from robosim.description.sensor import Sensor
from robosim.description.soft import SoftMesh
from robosim.description.springs import Coupling, PointSpring
from robosim.description.surfaces import WORLD
from robosim.description.tendon import Tendon, Term
from robosim.errors import ModelError


def check_unique(what: str, names: Iterable[str]) -> None:
    """Refuse a name that is used twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError("the name is used twice", element=f"{what} '{name}'")
        seen.add(name)


def check_exists(name: str | None, known: Collection[str], element: str, told: str) -> None:
    """Refuse a name that is not among the known ones, with a ModelError that tells them."""
    if name not in known:
        raise ModelError(told, element=element, alternatives=tuple(known), wanted=str(name))


def index_of(what: str, names: Sequence[str], name: str) -> int:
    """The index of a name, or a ModelError."""
    if name not in names:
        raise ModelError(f"no {what} '{name}'", alternatives=names, wanted=name)
    return names.index(name)


def check_ends(
    joints: Sequence[Joint], springs: Sequence[PointSpring], bodies: Sequence[Body]
) -> None:
    """Refuse joints and springs between unknown bodies, or between a body and itself."""
    names = tuple(body.name for body in bodies)
    for what, elements in (("joint", joints), ("spring", springs)):
        for element in elements:
            for role, body in (("parent", element.parent), ("child", element.child)):
                if body not in names and not (role == "parent" and body is None):
                    hint = "; the world is None" if (role, body) == ("parent", "world") else ""
                    told = f"{role} '{body}' does not exist{hint}"
                    check_exists(body, names, f"{what} '{element.name}'", told)
    for joint in joints:
        if joint.parent == joint.child:
            raise ModelError("connects a body with itself", element=f"joint '{joint.name}'")


def check_loop_motion(joint: Joint) -> None:
    """Refuse a prescribed motion of several coordinates in a joint that closes a loop."""
    if joint.motion is not None and joint.nv != 1:
        raise ModelError(
            f"closes a loop, so that a motion of its {joint.nv} coordinates is none of the "
            "tree's: drive joints of the tree, or let this one come first",
            element=f"joint '{joint.name}'",
        )


def check_meshes(meshes: Sequence[SoftMesh], bodies: Sequence[Body]) -> None:
    """Refuse nodes on unknown bodies."""
    names = {body.name for body in bodies}
    for mesh in meshes:
        for k, body in enumerate(mesh.bodies):
            if body is not None:
                told = f"node {k} is on body '{body}', which does not exist"
                check_exists(body, names, f"soft '{mesh.name}'", told)


def check_contacts(contacts: Sequence[ContactPoint], bodies: Sequence[Body]) -> None:
    """Refuse contact points on unknown bodies."""
    names = tuple(body.name for body in bodies)
    for contact in contacts:
        told = f"body '{contact.body}' does not exist"
        check_exists(contact.body, names, f"contact '{contact.name}'", told)


def check_anisotropies(
    contacts: Sequence[ContactPoint], bodies: Sequence[Body], obstacles: Sequence[AnyShape]
) -> None:
    """Refuse friction by direction in the axes of an unknown body."""
    names = dict.fromkeys((*(body.name for body in bodies), WORLD))
    parts: list[tuple[str, ContactPoint | AnyShape]] = [
        *((f"contact '{contact.name}'", contact) for contact in contacts),
        *((f"body '{body.name}'", shape) for body in bodies for shape in body.collisions),
        *((f"obstacle '{obstacle_name(shape)}'", shape) for shape in obstacles),
    ]
    for element, part in parts:
        one = part.anisotropy
        if one is not None and one.axes is not None:
            told = f"friction by direction in axes of '{one.axes}', which does not exist"
            check_exists(one.axes, names, element, told)


def check_pairs(
    contact_pairs: Sequence[tuple[str, str]],
    excluded_pairs: Sequence[tuple[str, str]],
    bodies: Sequence[Body],
    obstacles: Sequence[AnyShape],
) -> None:
    """Refuse pairs with unknown names, or that cannot touch."""
    names = {body.name: body for body in bodies}
    known_names = dict.fromkeys((*names, *map(obstacle_name, obstacles)))
    solid = {name for name, body in names.items() if body.collisions}
    # Worlds of many robots have many thousand pairs, which are nearly always fine.
    wrong = [one for one in contact_pairs if one[0] == one[1] or not solid.issuperset(one)]
    pairs = [("contact pair", pair, dict.fromkeys(names)) for pair in wrong]
    pairs += [("excluded pair", pair, known_names) for pair in excluded_pairs]
    for what, pair, known in pairs:
        element = f"{what} {pair}"
        for body in pair:
            check_exists(body, known, element, f"body '{body}' does not exist")
        if pair[0] == pair[1]:
            raise ModelError("a body cannot touch itself", element=element)
    for pair in wrong:
        for name in pair:
            if name not in solid:
                raise ModelError(
                    f"body '{name}' has no collision geometry; give it some, or leave the pair out",
                    element=f"contact pair {pair}",
                )


def check_couplings(couplings: Sequence[Coupling], joints: Sequence[Joint]) -> None:
    """Refuse couplings of unknown joints, or of joints with several coordinates."""
    kinds = {joint.name: joint for joint in joints}
    for coupling in couplings:
        for name in (coupling.joint, coupling.source):
            element = f"coupling '{coupling.name}'"
            check_exists(name, kinds, element, f"joint '{name}' does not exist")
            if kinds[name].nv != 1:
                raise ModelError(
                    f"joint '{name}' is '{kinds[name].kind}'; a coupling needs joints with a "
                    "single coordinate",
                    element=element,
                )


def check_tendons(
    tendons: Sequence[Tendon],
    q_names: Sequence[str],
    v_names: Sequence[str],
    bodies: Sequence[Body],
) -> None:
    """Refuse tendons with unknown names, or with the name of a coordinate."""
    check_unique("coordinate or tendon", (*v_names, *(tendon.name for tendon in tendons)))
    coordinates = sorted(set(q_names).intersection(v_names))
    names = [body.name for body in bodies]
    for tendon in tendons:
        named = [("coordinate", p.coordinate, coordinates) for p in tendon.path
                 if isinstance(p, Term)]  # fmt: skip
        named += [("body", name, names) for name in tendon.bodies() if name is not None]
        for what, name, known in named:
            check_exists(name, known, f"tendon '{tendon.name}'", f"{what} '{name}' does not exist")


def check_actuators(
    actuators: Sequence[Actuator],
    q_names: Sequence[str],
    v_names: Sequence[str],
    tendons: Sequence[Tendon],
    bodies: Sequence[Body],
    tree_joints: Sequence[Joint],
) -> None:
    """Refuse actuators of unknown coordinates, free rotations, tendons or bodies."""
    found = set(q_names).intersection(v_names) | {tendon.name for tendon in tendons}
    names = [body.name for body in bodies]
    known = dict.fromkeys(sorted(found))
    free = [joint.name for joint in tree_joints if joint.has_quaternion]
    for actuator in actuators:
        element = f"actuator '{actuator.name}'"
        for name, gear in actuator.gears.items():
            if isinstance(gear, tuple):
                told = f"'{name}' has three gears, but is no joint with a free rotation"
                check_exists(name, free, element, told)
            else:
                told = f"'{name}' is no coordinate of the joints and no tendon"
                check_exists(name, known, element, told)
        body = None if actuator.place is None else actuator.place.body
        if body is not None:
            check_exists(body, names, element, f"body '{body}' does not exist")


def check_implicit(
    actuators: Sequence[Actuator], ranges: Mapping[str, tuple[float, float]]
) -> None:
    """Refuse implicit actuators together with ranges of sums of forces."""
    for actuator in actuators:
        if actuator.implicit and ranges:
            raise ModelError(
                "is implicit, and so cannot be kept within effort_ranges, of which there are some: "
                f"of {', '.join(ranges)}; give the actuators a force_range instead",
                element=f"actuator '{actuator.name}'",
            )


def check_effort_ranges(ranges: Mapping[str, tuple[float, float]], v_names: Sequence[str]) -> None:
    """Refuse invalid ranges, and ranges of unknown coordinates."""
    for name, (lower, upper) in ranges.items():
        if name not in v_names or not lower < upper:
            raise ModelError(
                f"'{name}': {lower} to {upper} must be of a coordinate, from a lower to a "
                "higher number",
                element="effort_ranges",
                alternatives=v_names,
                wanted=name,
            )


def check_cameras(cameras: Sequence[Camera], bodies: Sequence[Body]) -> None:
    """Refuse cameras on unknown bodies."""
    names = [body.name for body in bodies]
    for camera in cameras:
        body = camera.place.body
        if body is not None:
            check_exists(body, names, f"camera '{camera.name}'", f"body '{body}' does not exist")


def check_sensors(
    sensors: Sequence[Sensor | RaySensor],
    v_names: Sequence[str],
    tendons: Sequence[Tendon],
    bodies: Sequence[Body],
    tree_joints: Sequence[Joint],
) -> None:
    """Refuse sensors with unknown names."""
    names = [body.name for body in bodies]
    balls = [joint.name for joint in tree_joints if joint.has_quaternion]
    coordinates = (*v_names, *(tendon.name for tendon in tendons))
    for sensor in sensors:
        element = f"sensor '{sensor.name}'"
        for body in (sensor.place.body, sensor.reference.body, *sensor.bodies):
            if body is not None:
                check_exists(body, names, element, f"body '{body}' does not exist")
        known = balls if sensor.kind.startswith("ball") else coordinates
        for name in sensor.of:
            check_exists(name, known, element, f"there is no coordinate '{name}'")
