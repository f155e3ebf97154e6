"""Tendons to MJCF, and springs between points as spatial tendons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from lxml import etree

from robosim.description.body import Geometry
from robosim.description.springs import PointSpring
from robosim.description.tendon import Point, Pulley, Tendon, Term, Wrap
from robosim.loaders.writers.mjcf.document import SAME, Document
from robosim.loaders.writers.parts import Array, child, text

if TYPE_CHECKING:
    from robosim.kinematics.kinematics import Kinematics


def write_tendons(document: Document) -> None:
    """Write all springs between points, then all tendons that an equality does not represent."""
    if not (document.mechanism.springs or document.mechanism.tendons):
        return
    tendons = child(document.root, "tendon")
    for spring in document.mechanism.springs:
        _spring(document, tendons, spring)
    for tendon in document.mechanism.tendons:
        if counts_backwards(tendon):
            document.lost.add("tendons with pulleys that count backwards", tendon.name)
        elif not is_curve(tendon):
            _tendon(document, tendons, tendon)


def _tendon(document: Document, tendons: etree._Element, tendon: Tendon) -> None:
    rest = np.asarray(tendon.rest_length)
    attributes = {"name": document.tendons[tendon.name], "springlength": text(rest)}
    for ours, theirs in (("stiffness", "stiffness"), ("damping", "damping"),
                         ("friction", "frictionloss"), ("armature", "armature")):  # fmt: skip
        if getattr(tendon, ours):
            attributes[theirs] = text(getattr(tendon, ours))
    if tendon.motion is None and np.any(np.isfinite((tendon.lower, tendon.upper))):
        told = np.clip((tendon.lower, tendon.upper), -1e9, 1e9)
        attributes |= {"limited": "true", "range": text(told)}
        number = document.mechanism.tendons.index(tendon)

        def inverse(at: Kinematics, softness: Array) -> Any:
            row = at.tendon_jacobian()[number]
            return row @ softness @ row

        attributes |= document.limit_spring(tendon, inverse)
    element = child(tendons, "fixed" if tendon.is_fixed else "spatial", **attributes)
    joints = document.joint_names()
    for k, item in enumerate(tendon.path):
        name = f"{tendon.name}_{k + 1}"
        match item:
            case Term():
                if any(item.higher):
                    document.lost.add("higher powers of coordinates in tendons", tendon.name)
                coefficient = text(item.factor)
                child(element, "joint", joint=joints[item.coordinate], coef=coefficient)
            case Point():
                site = document.site(name, item.body, np.asarray(item.position))
                child(element, "site", site=site)
            case Pulley():
                child(element, "pulley", divisor=text(item.divisor))
            case Wrap():
                names = {"geom": _wrap(document, name, item)}
                if item.side is not None:
                    side = item.side
                    at = np.asarray(side.position)
                    names["sidesite"] = document.site(f"{name}_side", side.body, at)
                child(element, "geom", **names)


def _wrap(document: Document, name: str, wrap: Wrap) -> str:
    """The name of a geom to wrap around: of an existing shape, or of a new one."""
    element = document.elements[wrap.body]
    position = np.asarray(wrap.position) - document.origin(wrap.body)
    place = (*position, *np.asarray(wrap.quaternion))
    for geom in element.findall("geom"):
        size = float(geom.get("size", "0").split()[0])
        pos, quat = geom.get("pos", "0 0 0"), geom.get("quat", "1 0 0 0")
        there = np.array(f"{pos} {quat}".split(), dtype=float)
        same = np.abs(there - place).max() < SAME and abs(size - wrap.radius) < SAME
        if geom.get("type") == wrap.kind and same:
            if geom.get("name") is None:
                geom.set("name", document.names["geom"].made(name))
            return str(geom.get("name"))
    shape = Geometry(wrap.kind, (wrap.radius, wrap.radius)[: 1 + (wrap.kind == "cylinder")],
                     wrap.position, wrap.quaternion)  # fmt: skip
    document.shape(element, "visual", shape, np.eye(3), document.origin(wrap.body))
    element[-1].set("name", document.names["geom"].made(name))
    return str(element[-1].get("name"))


def _spring(document: Document, tendons: etree._Element, spring: PointSpring) -> None:
    tendon = child(
        tendons, "spatial", name=document.names["tendon"].own(spring.name),
        springlength=text(spring.rest_length), stiffness=text(spring.stiffness),
        damping=text(spring.damping),
    )  # fmt: skip
    ends = ((spring.parent, spring.parent_position), (spring.child, spring.child_position))
    for k, (body, position) in enumerate(ends):
        name = document.site(f"{spring.name}_{k + 1}", body, np.asarray(position))
        child(tendon, "site", site=name)


def is_curve(tendon: Tendon) -> bool:
    """Whether a tendon only constrains one coordinate to a curve over another one."""
    match tendon.path:
        case (Term() as first, Term() as second) if tendon.motion is not None:
            acts = tendon.stiffness or tendon.damping or tendon.armature
            return any(second.higher) and not any(first.higher) and first.factor != 0 and not acts
    return False


def counts_backwards(tendon: Tendon) -> bool:
    """Whether a tendon subtracts lengths, which tendons of MJCF cannot."""
    return any(isinstance(item, Pulley) and item.divisor < 0 for item in tendon.path)
