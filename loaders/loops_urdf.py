"""Loops, and springs between links, in elements that other tools have added to URDF.

Drake, RigidBodyDynamics.jl, Dojo and Isaac Sim use <loop_joint>, SDF has <gazebo><joint>, and Drake
<drake:ball_constraint> and <drake:linear_spring_damper>.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from lxml import etree

from robosim.description.names import free_name
from robosim.description.springs import PointSpring
from robosim.errors import ModelError
from robosim.loaders.loops import TYPES, Array, End, Loop, Place, no_link, turned
from robosim.loaders.schema import UNLIMITED, numbers, refusal, tag_name, text

_BALL, _SPRING = "drake:ball_constraint", "drake:linear_spring_damper"


def read(root: etree._Element) -> list[Loop]:
    """The loops of a URDF tree.

    Raises
    ------
    LoadError
        For missing values, values that are not numbers, and unknown types.
    """
    named = [_loop_joint(element) for element in root.iterchildren("loop_joint")]
    others = [_gazebo_joint(element) for element in root.iterfind("gazebo/joint")]
    taken = {joint.get("name") for joint in root.iterchildren("joint")}
    taken |= {loop.name for loop in (*named, *others)}
    balls = (element for element in root if tag_name(element) == _BALL)
    for k, element in enumerate(balls):
        named.append(_ball_constraint(element, free_name(f"ball_constraint{k}", taken)))
        taken.add(named[-1].name)
    return [*named, *others]


def _loop_joint(element: etree._Element) -> Loop:
    """<link1 link xyz rpy/> and <link2/>; or <parent/>, <child/> and the origins of both.

    In the first form, some files name both elements <link1>. In the second form, the axis is in the
    parent's frame. The links' relative orientation is that at zero, unless <child_origin> has an
    rpy.
    """
    name = text(element, "name", "<loop_joint>")
    where = f"loop_joint '{name}'"
    kind = _kind(element, where)
    links = list(element.iterchildren("link1", "link2"))
    pair = [*element.iterchildren("parent"), *element.iterchildren("child")]
    if len(links) == 2:
        first, second = (
            _end(link, link if (inner := link.find("origin")) is None else inner, where)
            for link in links
        )
    elif len(pair) == 2:
        child_origin = element.find("child_origin")
        first = _end(pair[0], element.find("parent_origin"), where)
        second = _end(pair[1], child_origin, where)
        if child_origin is None:
            second = End(second.link)
        elif child_origin.get("rpy") is None:
            second = replace(second, R=None)
    else:
        raise refusal(
            element, where, "must have two links", ("<link1> and <link2>", "<parent> and <child>")
        )
    axis = element.find("axis")
    xyz = [1, 0, 0] if axis is None else numbers(axis, "xyz", f"{where}: <axis>", (3,))
    return Loop(
        name=name,
        kind=kind,
        first=first,
        second=second,
        axis=_axis(element, where, xyz),
        options=_options(element, where),
        element=where,
        line=element.sourceline,
    )


def _kind(element: etree._Element, where: str) -> str:
    kind = text(element, "type", where)
    if kind not in TYPES:
        raise refusal(element, where, f"unknown type of loop joint '{kind}'", tuple(TYPES))
    return TYPES[kind]


def _end(link: etree._Element, place: etree._Element | None, where: str) -> End:
    where = f"{where}: <{link.tag}>"
    name = text(link, "link", where)
    if place is None:
        return End(name, np.eye(3), np.zeros(3))
    xyz = numbers(place, "xyz", where, (3,), (0, 0, 0))
    return End(name, turned(numbers(place, "rpy", where, (3,), (0, 0, 0))), np.array(xyz))


def _axis(element: etree._Element, where: str, xyz: Sequence[float]) -> Array:
    if np.linalg.norm(xyz) < 1e-12:
        raise refusal(element, where, f"the axis must not be zero, not {list(xyz)}")
    return np.array(xyz, dtype=float)


def _options(element: etree._Element, where: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for tag, names in (("dynamics", ("damping", "friction")), ("limit", ("lower", "upper"))):
        inner = element.find(tag)
        limited = element.get("type") in ("revolute", "prismatic")
        if inner is None or (tag == "limit" and not limited):
            continue
        for name in names:
            if inner.get(name) is not None:
                value = numbers(inner, name, f"{where}: <{tag}>")[0]
                endless = tag == "limit" and abs(value) >= UNLIMITED
                options[name] = float(np.copysign(np.inf, value)) if endless else value
    return options


def _gazebo_joint(element: etree._Element) -> Loop:
    """SDF's joint: its frame is given in the child, and the parent's frame coincides at zero."""
    name = text(element, "name", "gazebo: <joint>")
    where = f"gazebo: joint '{name}'"
    links = []
    for role in ("parent", "child"):
        link = (element.findtext(role) or "").strip()
        if not link:
            raise refusal(element, where, f"element <{role}> is missing")
        links.append(link)
    pose, xyz = element.find("pose"), element.find("axis/xyz")
    at = [0.0] * 6 if pose is None else numbers(pose, "", f"{where}: <pose>", (6,))
    axis = [0, 0, 1] if xyz is None else numbers(xyz, "", f"{where}: <xyz>", (3,))
    return Loop(
        name=name,
        kind=_kind(element, where),
        first=End(links[0]),
        second=End(links[1], turned(at[3:]), np.array(at[:3])),
        axis=_axis(element, where, axis),
        element=where,
        line=element.sourceline,
    )


def _parts(element: etree._Element, names: Sequence[str]) -> dict[str, etree._Element]:
    """The children of one of Drake's elements, by the part of the tag after the element's name."""
    tag = tag_name(element)
    parts = {tag_name(child).removeprefix(f"{tag}_"): child for child in element}
    for name in names:
        if name not in parts:
            raise refusal(element, f"<{tag}>", f"<{tag}_{name}> is missing")
    return parts


def _points(
    element: etree._Element, more: Sequence[str] = ()
) -> tuple[list[tuple[str, Array]], list[float]]:
    """The (link, point in its frame) pairs of one of Drake's elements, and other numbers."""
    where = f"<{tag_name(element)}>"
    parts = _parts(element, ("body_A", "p_AP", "body_B", "p_BQ", *more))
    ends = [
        (
            text(parts[body], "name", f"{where}: {body}"),
            np.array(numbers(parts[point], "value", f"{where}: {point}", (3,))),
        )
        for body, point in (("body_A", "p_AP"), ("body_B", "p_BQ"))
    ]
    return ends, [numbers(parts[name], "value", f"{where}: {name}")[0] for name in more]


def _ball_constraint(element: etree._Element, name: str) -> Loop:
    first, second = (End(link, np.eye(3), p) for link, p in _points(element)[0])
    return Loop(
        name=name,
        kind="spherical",
        first=first,
        second=second,
        element=f"<{_BALL}>",
        line=element.sourceline,
    )


def springs(root: etree._Element, places: Mapping[str, Place]) -> list[PointSpring]:
    """Springs and dampers between points of two links.

    Raises
    ------
    LoadError
        For missing or negative values, values that are not numbers, and unknown links.
    """
    found: list[PointSpring] = []
    for element in (element for element in root if tag_name(element) == _SPRING):
        ends, values = _points(element, ("free_length", "stiffness", "damping"))
        where = f"<{_SPRING}>"
        at = []
        for link, p in ends:
            if link not in places:
                raise refusal(element, where, no_link(link, places), tuple(places))
            at.append((places[link].body, places[link].R @ p + places[link].p))
        if at[1][0] is None:
            at.reverse()
        (parent, p_a), (child, p_b) = at
        length, stiffness, damping = values
        try:
            spring = PointSpring(
                f"linear_spring_damper{len(found)}", parent, str(child), p_a, p_b,
                stiffness=stiffness, rest_length=length, damping=damping,
            )  # fmt: skip
        except ModelError as error:
            raise refusal(element, where, error.reason) from None
        found.append(spring)
    return found
