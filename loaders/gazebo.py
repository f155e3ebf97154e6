"""<gazebo>, <contact> and <transmission>: extensions of URDF that matter for a simulation.

Gazebo's extensions are friction, also by direction, restitution, the stiffness of surfaces,
self-collision and joint springs.
Bullet's are friction and restitution. Drake's is the inertia of a rotor with a gear.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from lxml import etree

from robosim.description.contact_points import link_of
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.surfaces import Anisotropy
from robosim.loaders.loads import resting_loads
from robosim.loaders.schema import numbers, refusal, tag_name

_TRUE, _FALSE = ("true", "1"), ("false", "0")


@dataclass
class Extensions:
    """The data of the extensions in one file.

    Attributes
    ----------
    friction : dict of link to Coulomb coefficient, the larger of two
    anisotropy : dict of link to Anisotropy, for two coefficients
    restitution : dict of link to coefficient of restitution
    stiffness, damping : dict of link to kp [N/m] and kd [N s/m] of its surface
    springs : dict of joint to (stiffness [N m/rad or N/m], rest [rad or m])
    armature : dict of joint to inertia of its rotor as seen at the joint [kg m^2 or kg]
    collide : dict of link to whether it collides with others of the same robot
    collide_all : bool or None
        The same for links without such an element.
    yielding : set of lxml elements
        Those of stiffness and damping, which are used where contacts are to be compliant.
    used : set of lxml elements
        Transmissions with data, and joints in <gazebo>, which close loops.
    """

    friction: dict[str, float] = field(default_factory=dict)
    anisotropy: dict[str, Anisotropy] = field(default_factory=dict)
    restitution: dict[str, float] = field(default_factory=dict)
    stiffness: dict[str, float] = field(default_factory=dict)
    damping: dict[str, float] = field(default_factory=dict)
    springs: dict[str, tuple[float, float]] = field(default_factory=dict)
    armature: dict[str, float] = field(default_factory=dict)
    collide: dict[str, bool] = field(default_factory=dict)
    collide_all: bool | None = None
    yielding: set[etree._Element] = field(default_factory=set)
    used: set[etree._Element] = field(default_factory=set)


def read(root: etree._Element, warnings: list[str]) -> Extensions:
    """The extensions of a URDF tree.

    Raises
    ------
    LoadError
        For a value that is not a number, or negative.
    """
    found = Extensions()
    links = {element.get("name") for element in root.iterchildren("link")}
    joints = {element.get("name") for element in root.iterchildren("joint")}
    strangers: dict[str, None] = {}
    for gazebo in root.iterchildren("gazebo"):
        name = gazebo.get("reference")
        if name is not None and name not in links and name not in joints:
            strangers[name] = None
        _read_gazebo(gazebo, name, name in joints, found, warnings)
        if name is not None:
            _read_friction(gazebo, name, links, found, warnings)
    for link in root.iterchildren("link"):
        name = link.get("name")
        for element in link.iterchildren("contact"):
            for lateral in element.iterchildren("lateral_friction"):
                where = f"link '{name}': <contact>: <lateral_friction>"
                found.friction[name] = _not_negative(lateral, where)
            for bounce in element.iterchildren("restitution"):
                found.restitution[name] = _part(bounce, f"link '{name}': <contact>: <restitution>")
    for transmission in root.iterchildren("transmission"):
        _read_transmission(transmission, joints, found)
    if strangers:
        warnings.append(
            f"<gazebo> elements for what is neither a link nor a joint: {', '.join(strangers)}"
        )
    return found


def _read_gazebo(
    gazebo: etree._Element,
    name: str | None,
    is_joint: bool,
    found: Extensions,
    warnings: list[str],
) -> None:
    where = "gazebo" if name is None else f"gazebo '{name}'"
    found.used.update(gazebo.iterchildren("joint"))
    for child in gazebo:
        if child.tag in ("selfCollide", "self_collide"):
            value = _truth(child, f"{where}: <{child.tag}>")
            if name is None:
                found.collide_all = value
            else:
                found.collide[name] = value
    if name is None:
        return
    for bounce in gazebo.iterfind("collision/surface/bounce/restitution_coefficient"):
        found.restitution[name] = _part(bounce, f"{where}: <restitution_coefficient>")
    for part in _in_contact(gazebo, "kp", "kd"):
        size = _not_negative(part, f"{where}: <{part.tag}>")
        found.yielding.add(part)
        if part.tag == "kd":
            found.damping[name] = size
        elif size > 0:
            found.stiffness[name] = size
        else:
            raise refusal(part, f"{where}: <kp>", f"must be positive, not {size}")
    if is_joint:
        stiffness = rest = 0.0
        for child in gazebo.iterchildren("springStiffness"):
            stiffness = _not_negative(child, f"{where}: <springStiffness>")
        for child in gazebo.iterchildren("springReference"):
            rest = _value(child, f"{where}: <springReference>")
        if stiffness:
            found.springs[name] = stiffness, rest


def _read_friction(
    gazebo: etree._Element,
    name: str,
    links: Collection[str | None],
    found: Extensions,
    warnings: list[str],
) -> None:
    """Friction coefficients, two of which need the direction of the first."""
    where = f"gazebo '{name}'"
    mu = {
        "mu1" if child.tag == "mu" else child.tag: _not_negative(child, f"{where}: <{child.tag}>")
        for child in _in_friction(gazebo, "mu1", "mu2", "mu")
    }
    if not mu:
        return
    found.friction[name] = min(mu.values())
    found.anisotropy.pop(name, None)
    if len(set(mu.values())) == 1:
        return
    for child in _in_friction(gazebo, "fdir1"):
        told = f"{where}: <fdir1>"
        direction = numbers(child, "value" if "value" in child.attrib else "", told, (3,))
        if not any(direction):
            continue
        axes = next((v for k, v in child.attrib.items() if _local(k) == "expressed_in"), None)
        if axes is not None and axes not in links:
            known = [str(link) for link in links]
            raise refusal(child, told, f"expressed_in '{axes}', which is no link", known)
        found.friction[name], directed = Anisotropy.between(
            mu["mu1"], mu["mu2"], direction, axes or None
        )
        if directed is not None:
            found.anisotropy[name] = directed
        return
    warnings.append(
        f"{where}: friction is the same in all directions here without <fdir1>; of {mu} the lowest "
        "counts"
    )


def _in_friction(gazebo: etree._Element, *tags: str) -> Iterator[etree._Element]:
    """Elements about friction, in the short form of URDF or nested as in SDF."""
    yield from gazebo.iterchildren(*tags)
    for ode in gazebo.iterfind("collision/surface/friction/ode"):
        yield from ode.iterchildren(*tags)


def _in_contact(gazebo: etree._Element, *tags: str) -> Iterator[etree._Element]:
    """Elements about the stiffness of a surface, in the short form or nested as in SDF."""
    yield from gazebo.iterchildren(*tags)
    for ode in gazebo.iterfind("collision/surface/contact/ode"):
        yield from ode.iterchildren(*tags)


def _local(name: str) -> str:
    """The name of an attribute without its namespace."""
    return name.rpartition("}")[2].rpartition(":")[2]


def _read_transmission(
    transmission: etree._Element, joints: Collection[str | None], found: Extensions
) -> None:
    """Drake's rotor, whose inertia times the square of the gear ratio acts at the joint."""
    where = f"transmission '{transmission.get('name', '')}'"
    driven = [joint.get("name") for joint in transmission.iterchildren("joint")]
    for actuator in transmission.iterchildren("actuator"):
        values = {"drake:rotor_inertia": 0.0, "drake:gear_ratio": 1.0}
        for child in actuator:
            if tag_name(child) in values:
                name = tag_name(child)
                values[name] = numbers(child, "value", f"{where}: <{name}>")[0]
                found.used.add(transmission)
        inertia = values["drake:rotor_inertia"] * values["drake:gear_ratio"] ** 2
        if inertia < 0:
            raise refusal(actuator, where, f"the rotor's inertia must not be negative: {inertia}")
        for name in driven:
            if inertia and name in joints:
                found.armature[str(name)] = inertia


def _value(element: etree._Element, where: str) -> float:
    return numbers(element, "value" if element.get("value") is not None else "", where)[0]


def _not_negative(element: etree._Element, where: str) -> float:
    value = _value(element, where)
    if value < 0:
        raise refusal(element, where, f"must not be negative, not {value}")
    return value


def _part(element: etree._Element, where: str) -> float:
    value = _not_negative(element, where)
    if value > 1:
        raise refusal(element, where, f"must be from 0 to 1, not {value}")
    return value


def _truth(element: etree._Element, where: str) -> bool:
    text = (element.get("value") or element.text or "").strip().lower()
    if text not in _TRUE + _FALSE:
        raise refusal(element, where, f"must be true or false, not '{text}'", _TRUE + _FALSE)
    return text in _TRUE


def applied(joints: Sequence[Joint], found: Extensions, warnings: list[str]) -> tuple[Joint, ...]:
    """The joints with the springs and rotors of the extensions."""
    result = []
    for joint in joints:
        values: dict[str, Any] = {}
        if joint.name in found.springs:
            values["stiffness"], values["rest"] = found.springs[joint.name]
        if joint.name in found.armature:
            values["armature"] = found.armature[joint.name]
        if values and joint.nv != 1:
            warnings.append(
                f"joint '{joint.name}': a spring or rotor needs a single coordinate, which "
                f"'{joint.kind}' has not; it is left out"
            )
        elif values:
            joint = replace(joint, **values)
        result.append(joint)
    return tuple(result)


def with_springs(mechanism: Mechanism, found: Extensions) -> Mechanism:
    """The mechanism with the springs of its links' surfaces.

    A damper kd is one of Hunt and Crossley under the load with which the robot rests at home.
    """
    if not found.stiffness:
        return mechanism
    loads = resting_loads(mechanism)

    def yielding(part: Any, link: str, body: str) -> Any:
        if link not in found.stiffness:
            return part
        dissipation = found.damping.get(link, 0.0) / loads[body] if body in loads else 0.0
        return replace(
            part, stiffness=found.stiffness[link], dissipation=dissipation, restitution=0.0
        )

    bodies = tuple(
        replace(body, collisions=tuple(yielding(s, s.name, body.name) for s in body.collisions))
        for body in mechanism.bodies
    )
    points = tuple(yielding(c, link_of(c), c.body) for c in mechanism.contacts)
    return replace(mechanism, bodies=bodies, contacts=points)


def self_pairs(groups: Sequence[Sequence[str]], found: Extensions) -> list[tuple[int, int]]:
    """Pairs of groups of links that collide; in Gazebo, both links of a pair have to ask for it."""
    wants = [
        any(found.collide.get(link, bool(found.collide_all)) for link in links) for links in groups
    ]
    pairs = np.argwhere(np.triu(np.outer(wants, wants), 1))
    return [(int(a), int(b)) for a, b in pairs]
