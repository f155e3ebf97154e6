"""URDF to Mechanism.

The frame of a URDF link is at the joint that leads to the link. A body's frame has the same axes,
with its origin at the centre of mass. Links that fixed joints connect become one body with the axes
and the name of the topmost link.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from robosim import quaternions, safe_xml
from robosim.description.body import Body, Frame
from robosim.description.inertial import Inertial
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.poses import body_poses
from robosim.errors import LoadError, ModelError
from robosim.loaders import (
    carriers,
    dialect,
    drake_joints,
    gazebo,
    inertials,
    leniency,
    loops_urdf,
    loops_yaml,
    mimics,
    placement,
    schema,
    unused,
    xacro_files,
)
from robosim.loaders import srdf as srdf_files
from robosim.loaders.contacts import contacts_of
from robosim.loaders.joints import root_joint, urdf_joint
from robosim.loaders.loops import Loop, Place, loop_joint
from robosim.loaders.meshes import MeshCache
from robosim.loaders.options import ASK_FOR_PAIRS, LoadOptions
from robosim.loaders.packages import FileFinder
from robosim.loaders.shapes import THICKNESS, Shapes
from robosim.loaders.tree import Group, find_groups

Array = NDArray[np.float64]


def load_urdf(path: Path, options: LoadOptions) -> Mechanism:
    """Load a URDF file, or a xacro file that is expanded to one.

    Raises
    ------
    LoadError, ModelError
        For invalid or unsupported content; with file, line, element and value.
    """
    data = safe_xml.read_bytes(path, largest=safe_xml.LARGEST_MODEL)
    told: list[str] = []
    root = safe_xml.parse_model(data, path, told)
    if path.suffix.lower() == ".xacro" or xacro_files.is_xacro(root):
        return _load_xacro(path, options)
    if options.xacro_args:
        raise LoadError(
            "'xacro_args' is for files with the suffix .xacro, or with elements or expressions of "
            "xacro",
            file=path,
        )
    try:
        return _build(root, path, options, told)
    except ModelError as error:
        if error.file not in (None, path):
            raise
        raise error.in_file(path, error.line or _line_of(root, error.element)) from None


def _load_xacro(path: Path, options: LoadOptions) -> Mechanism:
    """Load a xacro file, whose expansion has no line numbers."""
    expanded = xacro_files.expand(path, options)
    told = list(expanded.messages)
    root = safe_xml.parse_model(expanded.urdf, path, told)
    folders = (*options.package_dirs, *expanded.packages)
    try:
        return _build(root, path, replace(options, package_dirs=folders), told)
    except ModelError as error:
        if error.file not in (None, path):
            raise
        raise type(error)(
            error.reason,
            element=f"{error.element or 'robot'} (expanded)",
            file=path,
            alternatives=error.alternatives,
        ) from None


def _line_of(root: etree._Element, element: str | None) -> int | None:
    """The line of the link or joint in a message."""
    match = re.match(r"(body|link|joint|geometry of) '(.*?)'(?:$|:)", element or "", re.DOTALL)
    if match is None:
        return None
    tag = "joint" if match[1] == "joint" else "link"
    lines = (e.sourceline for e in root.iterchildren(tag) if e.get("name") == match[2])
    return next(lines, None)


def _build(
    root: etree._Element, path: Path, options: LoadOptions, warnings: list[str]
) -> Mechanism:
    dialect.standard_names(root, warnings)
    leniency.leave_out(root, path.name.partition(".")[0], warnings)
    schema.check(root)
    extensions = gazebo.read(root, warnings)
    robot = dialect.read(root)
    groups = find_groups(robot)
    merged = [inertials.of_group(group, warnings) for group in groups]
    finder = FileFinder(path, options.package_dirs)
    for compiler in root.iterfind("mujoco/compiler"):
        finder.mesh_folders += [
            path.parent / folder for folder in (compiler.get("meshdir"),) if folder
        ]
    shapes = Shapes(robot, finder, MeshCache(), options.touches)
    loops = _read_loops(root, path, options.loops)
    floats = _floats(groups, merged[0], options.floating_base, warnings)
    to_world = floats is None

    if floats is False and merged[0].mass > 0:
        merged[0] = inertials.of_what_stays(groups[0].name, merged[0], warnings)

    bodies: list[Body] = []
    for index, (group, inertial) in enumerate(zip(groups, merged, strict=True)):
        if index > 0 or not to_world:
            bodies.append(_body(group, inertial, shapes))
    turning = [
        group.name
        for group, inertial in zip(groups, merged, strict=True)
        if inertial.mass == 0 and np.any(inertial.inertia)
    ]
    if turning:
        warnings.append(
            "links with an inertia and no mass are taken as links without mass: "
            f"{', '.join(turning)}"
        )
    joints: list[Joint] = []
    taken = {group.joint.name for group in groups if group.joint is not None} | {
        loop.name for loop in loops.loops
    }
    for group, inertial in zip(groups, merged, strict=True):
        if group.parent is not None:
            parent = None if to_world and group.parent == 0 else groups[group.parent].name
            joints.append(urdf_joint(group, inertial, parent, merged[group.parent], warnings))
        elif floats is not None:
            joints.append(root_joint(group, inertial, floats, taken))
    coupled, couplings = mimics.couple(robot, joints, warnings)
    coupled = gazebo.applied(coupled, extensions, warnings)
    coupled, threads = drake_joints.threaded(coupled, drake_joints.threads(root), taken)

    mechanism = Mechanism(
        name=robot.name,
        bodies=tuple(bodies),
        joints=tuple(coupled),
        couplings=couplings,
        tendons=threads,
        source=str(path),
        world_frames=_frames(groups[0], np.zeros(3)) if to_world else (),
        world_visuals=shapes.visuals(groups[0], np.zeros(3)) if to_world else (),
    )
    mechanism = _with_loops(mechanism, root, loops, warnings)
    mechanism = _with_friction(mechanism, extensions, options.friction)
    if options.ground:
        mechanism = _with_contacts(
            mechanism, extensions.friction, options.friction, options.corners
        )
        if mechanism.floating_base and not mechanism.contacts:
            warnings.append("has no collision geometry: the ground will not hold it")
    mechanism = _without_sunk_contacts(_at_home(mechanism, options), warnings)
    mechanism = _with_semantics(mechanism, path, options.srdf, root, warnings)
    mechanism = carriers.united(mechanism, warnings)
    mechanism = carriers.with_masses(mechanism, bool(options.self_collision), warnings)
    unasked = options.floating_base is None and mechanism.floating_base and options.ground
    if unasked and not placement.has_legs(mechanism):
        warnings.append(
            "has no leg to stand on, and its base moves freely: to fix the base of an arm, use "
            "--fixed-base, in Python floating_base=False (without this warning: --floating-base, "
            "in Python floating_base=True)"
        )
    mechanism = _with_self_collision(mechanism, extensions, options.self_collision, warnings)
    used = set(extensions.used)
    if options.compliant:
        mechanism = gazebo.with_springs(mechanism, extensions)
        used |= extensions.yielding
    if shapes.flat:
        listed = ", ".join(dict.fromkeys(shapes.flat))
        warnings.append(
            "collision shapes without a volume touch as the points where they end; plates and "
            f"discs have a thickness of {1e6 * THICKNESS:g} um: {listed}"
        )
    if shapes.undrawn:
        listed = ", ".join(dict.fromkeys(shapes.undrawn))
        warnings.append(f"meshes that do not exist are not drawn: {listed}")
    if shapes.untouched:
        listed = ", ".join(dict.fromkeys(shapes.untouched))
        warnings.append(f"collision meshes that do not exist are left out: {listed}")
    if shapes.unread:
        listed = "; ".join(dict.fromkeys(shapes.unread))
        warnings.append(f"meshes that cannot be read are not drawn: {listed}")
    warnings += finder.warnings()
    ignored = unused.sentence(root, frozenset(used))
    warnings += [ignored] if ignored else []
    named = (os.fspath(directory) for directory in options.package_dirs)
    folders = dict.fromkeys([*named, *(str(folder) for folder in finder.used)])
    return replace(
        mechanism, package_dirs=tuple(folders), warnings=(*mechanism.warnings, *warnings)
    )


def _floats(
    groups: list[Group], inertial: Inertial, floating_base: bool | None, warnings: list[str]
) -> bool | None:
    """Whether the root body floats; None if it has no mass and is part of the world."""
    root = groups[0]
    element = f"link '{root.name}'"
    if inertial.mass == 0:
        if floating_base:
            raise LoadError(
                "the root has no mass, so it cannot float; give it an <inertial>", element=element
            )
        if len(groups) == 1:
            warnings.append(f"{element} has no mass and no joint: nothing in the robot can move")
            return False
        if root.name != "world" and floating_base is None:
            warnings.append(
                f"{element} is the root and has no mass: it is taken as fixed to the world "
                "(floating_base=False says so without this warning)"
            )
        return None
    if floating_base is not None:
        return floating_base
    own = root.links[0].link.inertial
    return not (root.name == "world" and (own is None or own.mass == 0))


def _frames(group: Group, center: Array) -> tuple[Frame, ...]:
    return tuple(
        Frame(placed.link.name, placed.p - center, quaternions.from_matrix(placed.R))
        for placed in group.links
    )


def _body(group: Group, inertial: Inertial, shapes: Shapes) -> Body:
    frames = _frames(group, inertial.center)
    visuals = shapes.visuals(group, inertial.center)
    collisions = shapes.collisions(group, inertial.center)
    if inertial.mass == 0:
        return carriers.massless(group.name, frames, visuals, collisions)
    return Body(
        name=group.name,
        mass=inertial.mass,
        inertia=inertial.inertia,
        frames=frames,
        visuals=visuals,
        collisions=collisions,
    )


class _Loops(NamedTuple):
    """Loops of a file and of one beside it, which may also contain passive joints."""

    loops: list[Loop]
    passive: list[str]
    file: Path


def _read_loops(root: etree._Element, path: Path, sidecar: str | os.PathLike[str] | None) -> _Loops:
    beside = path.with_name(path.name.partition(".")[0] + loops_yaml.SUFFIX)
    file = Path(sidecar) if sidecar is not None else beside
    loops = loops_urdf.read(root)
    if sidecar is None and not safe_xml.is_file(file):
        return _Loops(loops, [], file)
    more = loops_yaml.read(file)
    return _Loops([*loops, *more.loops], more.passive, file)


def _with_loops(
    mechanism: Mechanism, root: etree._Element, found: _Loops, warnings: list[str]
) -> Mechanism:
    """The mechanism with loops and springs of the file, and of a file beside it."""
    for element in root.iterchildren("loop_joint"):
        limit, kind = element.find("limit"), element.get("type")
        bounds = limit is not None and {"lower", "upper"} & set(limit.attrib)
        if bounds and kind not in ("revolute", "prismatic"):
            warnings.append(
                f"loop_joint '{element.get('name')}': 'lower' and 'upper' of its <limit> mean "
                f"nothing, as the type is '{kind}'"
            )
    places = _places(mechanism)
    taken = {joint.name for joint in mechanism.joints}
    taken |= {str(element.get("name")) for element in root.iterchildren("joint")}
    closing = []
    for loop in found.loops:
        if loop.name in taken:
            raise loop.error(f"there is another joint called '{loop.name}'")
        taken.add(loop.name)
        closing.append(loop_joint(loop, places))
    springs = loops_urdf.springs(root, places)
    joints = srdf_files.without_actuators(
        mechanism.joints, found.passive, root, found.file.name, warnings
    )
    return replace(mechanism, joints=(*joints, *closing), springs=tuple(springs))


def _places(mechanism: Mechanism) -> dict[str, Place]:
    """Pose of each link in its body, and in the world with all joints at zero."""
    zero = placement.following(mechanism, mechanism.neutral())
    poses = body_poses(mechanism.tree_joints, zero)
    found = {}
    frames: list[tuple[str | None, Frame]] = [(None, frame) for frame in mechanism.world_frames]
    frames += [(mechanism.bodies[k].name, frame) for k, frame in mechanism.frames()]
    for body, frame in frames:
        R, p = quaternions.rotation_matrix(np.asarray(frame.quaternion)), np.asarray(frame.position)
        R_wb, x = poses[body]
        found[frame.name] = Place(body, R, p, R_wb @ R, x + R_wb @ p)
    return found


def _with_semantics(
    mechanism: Mechanism,
    path: Path,
    srdf: str | os.PathLike[str] | None,
    root: etree._Element,
    warnings: list[str],
) -> Mechanism:
    """The mechanism with data of an SRDF file: poses, pairs that do not collide, passive joints."""
    file: Path | None = None if srdf is None else Path(srdf)
    if file is None:
        file, guess = srdf_files.beside(path, mechanism.name)
        warnings += [guess] if guess else []
    if file is None:
        return mechanism
    found = srdf_files.read(file, warnings)
    joints = srdf_files.without_actuators(
        mechanism.joints, found.passive, root, file.name, warnings
    )
    return replace(
        mechanism,
        joints=tuple(joints),
        configurations=srdf_files.configurations(mechanism, found, warnings),
        excluded_pairs=tuple(srdf_files.excluded(mechanism, found, root, warnings)),
    )


def _with_friction(
    mechanism: Mechanism, found: gazebo.Extensions, default_friction: float
) -> Mechanism:
    """The collision geometry with friction and restitution of its links."""
    bodies = []
    for body in mechanism.bodies:
        shapes = [
            replace(
                shape,
                friction=found.friction.get(shape.name, default_friction),
                anisotropy=found.anisotropy.get(shape.name),
                restitution=found.restitution.get(shape.name, 0.0),
            )
            for shape in body.collisions
        ]
        bodies.append(replace(body, collisions=tuple(shapes)))
    return replace(mechanism, bodies=tuple(bodies))


def _with_self_collision(
    mechanism: Mechanism,
    extensions: gazebo.Extensions,
    asked: bool | str | None,
    warnings: list[str],
) -> Mechanism:
    """With `asked` "file", exclude all pairs of bodies except those that the file requests."""
    solid = [body for body in mechanism.bodies if body.collisions]
    pairs = gazebo.self_pairs([[frame.name for frame in body.frames] for body in solid], extensions)
    apart = {frozenset((joint.parent, joint.child)) for joint in mechanism.joints}
    apart |= {frozenset(pair) for pair in mechanism.excluded_pairs}
    wanted = {frozenset(solid[k].name for k in pair) for pair in pairs} - apart
    if asked == "file":
        others = (pair for pair in combinations((body.name for body in solid), 2)
                  if frozenset(pair) not in wanted | apart)  # fmt: skip
        return replace(mechanism, excluded_pairs=(*mechanism.excluded_pairs, *others))
    if wanted and asked is None:
        warnings.append(
            f"the file wants {len(wanted)} pairs of bodies to collide with each other; "
            f"{ASK_FOR_PAIRS}'file') has them do so, True all pairs, False none without "
            "this warning"
        )
    return mechanism


def _with_contacts(
    mechanism: Mechanism, friction: dict[str, float], default_friction: float, corners: int
) -> Mechanism:
    still = placement.fixed_to_world(mechanism.bodies, mechanism.joints)
    moving = [body for body in mechanism.bodies if body.name not in still]
    return replace(mechanism, contacts=contacts_of(moving, friction, default_friction, corners))


def _at_home(mechanism: Mechanism, options: LoadOptions) -> Mechanism:
    """The mechanism at its home pose: a known stance or zero, within limits, on the ground."""
    stance = options.stance_of(mechanism)
    zero = placement.within_limits(mechanism, mechanism.neutral())
    mechanism = replace(mechanism, home=placement.following(mechanism, zero), stance=stance)
    home = mechanism.home if stance is None else placement.in_stance(mechanism, stance)
    home = placement.place_on_ground(mechanism.joints, mechanism.contacts, np.asarray(home))
    return replace(mechanism, home=home)


def _without_sunk_contacts(mechanism: Mechanism, warnings: list[str]) -> Mechanism:
    """Without ground contact if the home pose of a fixed base is below the ground."""
    home = np.asarray(mechanism.home)
    gap = placement.lowest_gap(mechanism.joints, mechanism.contacts, home)
    if mechanism.floating_base or gap >= 0:
        return mechanism
    warnings.append(
        f"the base is fixed and reaches {-gap:.3g} m below the ground at its home pose: "
        "loaded without ground contact"
    )
    return replace(mechanism, contacts=())
