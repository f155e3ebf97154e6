"""URDF to Mechanism.

A URDF link frame sits at the joint that leads to the link; a body's own frame has the same axes
but its origin at the centre of mass. Links held together by fixed joints become one body with
the axes and the name of the topmost link.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from yourdfpy import URDF

from robosim import quaternions
from robosim.bodies import Body, Frame
from robosim.errors import LoadError, ModelError
from robosim.joints import Joint
from robosim.loaders import inertials, mimics, placement, safe_xml, schema
from robosim.loaders.contacts import DEFAULT_FRICTION, contacts_of
from robosim.loaders.inertials import Inertial
from robosim.loaders.joints import root_joint, urdf_joint
from robosim.loaders.meshes import MeshCache
from robosim.loaders.packages import FileFinder
from robosim.loaders.shapes import Shapes
from robosim.loaders.tree import Group, find_groups
from robosim.mechanism import Mechanism
from robosim.models import stances

Array = NDArray[np.float64]


def load_urdf(
    path: Path,
    floating_base: bool | None = None,
    ground: bool = True,
    package_dirs: Iterable[str | os.PathLike[str]] | None = None,
    *,
    friction: float = DEFAULT_FRICTION,
) -> Mechanism:
    """Load a URDF file; see `robosim.load` for the arguments.

    Raises
    ------
    LoadError, ModelError
        With file, element and value, for anything in the file that cannot be simulated.
    """
    root = safe_xml.parse(safe_xml.read_bytes(path), path)
    schema.check(root, path)
    finder = FileFinder(path, package_dirs or ())
    try:
        return _build(root, path, finder, floating_base, ground, friction, package_dirs or ())
    except ModelError as error:
        if error.file is not None:
            raise
        raise error.in_file(path) from None


def _build(
    root: etree._Element,
    path: Path,
    finder: FileFinder,
    floating_base: bool | None,
    ground: bool,
    friction: float,
    package_dirs: Iterable[str | os.PathLike[str]],
) -> Mechanism:
    robot = _read_with_yourdfpy(root)
    warnings: list[str] = []
    groups = find_groups(robot, path)
    merged = [inertials.of_group(group, warnings) for group in groups]
    shapes = Shapes(robot, finder, MeshCache())
    floats = _floats(groups[0], merged[0], floating_base, warnings)
    to_world = floats is None

    bodies: list[Body] = []
    for index, (group, inertial) in enumerate(zip(groups, merged, strict=True)):
        if index > 0 or not to_world:
            bodies.append(_body(group, inertial, shapes))
    joints: list[Joint] = []
    taken = {group.joint.name for group in groups[1:]}
    for group, inertial in zip(groups, merged, strict=True):
        if group.parent is not None:
            parent = None if to_world and group.parent == 0 else groups[group.parent].name
            joints.append(urdf_joint(group, inertial, parent, merged[group.parent], warnings))
        elif floats is not None:
            joints.append(root_joint(group, inertial, floats, taken))
    coupled, couplings = mimics.couple(robot, joints, warnings)
    _notice_wheels(robot, warnings)

    mechanism = Mechanism(
        name=robot.name,
        bodies=tuple(bodies),
        joints=coupled,
        couplings=couplings,
        warnings=tuple(warnings),
        source=str(path),
        world_frames=_frames(groups[0], np.zeros(3)) if to_world else (),
        world_visuals=shapes.visuals(groups[0], np.zeros(3)) if to_world else (),
    )
    frictions = _gazebo_friction(root, path)
    mechanism = _with_friction(mechanism, frictions, friction)
    if ground:
        mechanism = _with_contacts(mechanism, frictions, friction)
        if mechanism.floating_base and not mechanism.contacts:
            warning = "has no collision geometry: the ground will not hold it"
            mechanism = replace(mechanism, warnings=(*mechanism.warnings, warning))
    mechanism = _without_sunk_contacts(_at_home(mechanism))
    used = dict.fromkeys([*(os.fspath(d) for d in package_dirs), *(str(d) for d in finder.used)])
    return replace(mechanism, package_dirs=tuple(used))


def _read_with_yourdfpy(root: etree._Element) -> Any:
    """The file's robot; yourdfpy only sees what the safe parser let through."""
    try:
        urdf = URDF.load(
            io.BytesIO(etree.tostring(root)), build_scene_graph=False, load_meshes=False
        )
    except Exception as error:  # yourdfpy raises whatever Python raises
        raise LoadError(f"yourdfpy cannot read it: {error!r}") from error
    return urdf.robot


def _floats(
    root: Group, inertial: Inertial, floating_base: bool | None, warnings: list[str]
) -> bool | None:
    """Whether the root body floats; None if it has no mass and is part of the world."""
    element = f"link '{root.name}'"
    if inertial.mass == 0:
        if floating_base:
            raise LoadError(
                "the root has no mass, so it cannot float; give it an <inertial>", element=element
            )
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
    if inertial.mass == 0:
        raise LoadError(
            f"has no mass but hangs on the moving joint '{group.joint.name}'; give it an "
            "<inertial>, or make the joint fixed so that it merges into its parent",
            element=f"link '{group.name}'",
        )
    return Body(
        name=group.name,
        mass=inertial.mass,
        inertia=inertial.inertia,
        frames=_frames(group, inertial.center),
        visuals=shapes.visuals(group, inertial.center),
        collisions=shapes.collisions(group, inertial.center),
    )


def _notice_wheels(robot: Any, warnings: list[str]) -> None:
    """One warning for the wheels that are cylinders, whose rims are made of points."""
    wheels = [joint.child for joint in robot.joints if joint.type == "continuous"]
    rims = [
        link.name
        for link in robot.links
        if link.name in wheels and any(c.geometry.cylinder is not None for c in link.collisions)
    ]
    if rims:
        warnings.append(
            "a cylinder touches the ground with 12 points on each rim, so as a wheel it rolls like "
            f"a prism and is braked; a sphere rolls truly: {', '.join(rims)}"
        )


def _gazebo_friction(root: etree._Element, path: Path) -> dict[str, float]:
    """Link -> Coulomb coefficient, from <gazebo reference="link"><mu1>."""
    friction: dict[str, float] = {}
    for gazebo in root.iterchildren("gazebo"):
        link, mu = gazebo.get("reference"), gazebo.find("mu1")
        if link is None or mu is None:
            continue
        element = f"gazebo '{link}': <mu1>"
        value = schema.number(mu.get("value") or mu.text or "", path, element)
        if value < 0:
            raise LoadError(f"must not be negative, not {value}", file=path, element=element)
        friction[link] = value
    return friction


def _with_friction(
    mechanism: Mechanism, friction: dict[str, float], default_friction: float
) -> Mechanism:
    """The collision geometry with the friction of the links that it came from."""
    bodies = []
    for body in mechanism.bodies:
        shapes = [
            replace(shape, friction=friction.get(shape.name, default_friction))
            for shape in body.collisions
        ]
        bodies.append(replace(body, collisions=tuple(shapes)))
    return replace(mechanism, bodies=tuple(bodies))


def _with_contacts(
    mechanism: Mechanism, friction: dict[str, float], default_friction: float
) -> Mechanism:
    still = placement.fixed_to_world(mechanism.bodies, mechanism.joints)
    moving = [body for body in mechanism.bodies if body.name not in still]
    return replace(mechanism, contacts=contacts_of(moving, friction, default_friction))


def _at_home(mechanism: Mechanism) -> Mechanism:
    """With the pose to start from: a known stance or zero, within limits, on the ground."""
    stance = stances.stance(mechanism)
    mechanism = replace(mechanism, home=placement.within_limits(mechanism), stance=stance)
    home = mechanism.home if stance is None else stances.posed(mechanism, stance)
    home = placement.place_on_ground(mechanism.joints, mechanism.contacts, np.asarray(home))
    return replace(mechanism, home=home)


def _without_sunk_contacts(mechanism: Mechanism) -> Mechanism:
    """Without ground contact if the home pose of a fixed base is below the ground."""
    home = np.asarray(mechanism.home)
    gap = placement.lowest_gap(mechanism.joints, mechanism.contacts, home)
    if mechanism.floating_base or gap >= 0:
        return mechanism
    warning = (
        f"the base is fixed and reaches {-gap:.3g} m below the ground at its home pose: "
        "loaded without ground contact"
    )
    return replace(mechanism, contacts=(), warnings=(*mechanism.warnings, warning))
