"""Selection of a robot's contact points from those of its collision geometry, with reasons."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from robosim.description import contact_points as described
from robosim.description.body import Body, ContactPoint
from robosim.description.contact_points import DEFAULT_FRICTION, LinkShape, link_of, link_shapes
from robosim.description.hulls import Hull
from robosim.description.mechanism import Mechanism
from robosim.description.poses import body_poses
from robosim.errors import LoadError
from robosim.loaders import placement, solids
from robosim.loaders.hulls import HULL_POINTS, simplified_hull
from robosim.validation import Array

CHOICES = ("all", "feet", "none")
_FOOT_NAMES = re.compile(r"foot(?!print)|feet|toe|sole|wheel|hoof|paw", re.IGNORECASE)
# Feet without such a name are within this share of the robot's height from the lowest point.
_FOOT_HEIGHT = 0.05


def contact_points(
    body: Body,
    friction: Mapping[str, float] | None = None,
    default_friction: float = DEFAULT_FRICTION,
) -> list[ContactPoint]:
    """The contact points of a body, with hulls cached on disk; see `robosim.description`."""
    return described.contact_points(body, friction, default_friction, simplified_hull)


def contacts_of(
    bodies: Sequence[Body],
    friction: Mapping[str, float] | None = None,
    default_friction: float = DEFAULT_FRICTION,
    corners: int = HULL_POINTS,
) -> tuple[ContactPoint, ...]:
    """The contact points of all bodies, body by body, with simplified hulls cached on disk.

    Hulls have at most so many `corners`.
    """
    return described.contacts_of(bodies, friction, default_friction, _simplifying(corners))


def _simplifying(corners: int) -> Callable[..., Hull]:
    """`simplified_hull` with another number of corners where none is asked for."""

    def simplify(vertices: Array, count: int = corners) -> Hull:
        return simplified_hull(vertices, count)

    return simplify


def chosen(mechanism: Mechanism, choice: str | Iterable[str]) -> Mechanism:
    """The mechanism with the requested contact points.

    Parameters
    ----------
    mechanism : Mechanism
    choice : "all", "feet", "none", or names of links

    Raises
    ------
    LoadError
        For an invalid word, or a link that does not exist or has no contact points.
    """
    links = dict.fromkeys(map(link_of, mechanism.contacts))
    if isinstance(choice, str):
        if choice not in CHOICES:
            raise LoadError(
                f"contacts must be one of {', '.join(CHOICES)} or a list of links, not '{choice}'"
            )
        if choice == "all":
            return mechanism
        wanted = set(feet(mechanism)) if choice == "feet" else set()
        if choice == "feet" and not wanted:
            warning = "no link looks like a foot: loaded without ground contact"
            mechanism = replace(mechanism, warnings=(*mechanism.warnings, warning))
    else:
        wanted = {str(name) for name in choice}
        missing = sorted(wanted - set(links))
        if missing:
            raise LoadError(
                f"no contact points on link '{missing[0]}'",
                element=f"robot '{mechanism.name}'",
                alternatives=tuple(links),
            )
    kept = tuple(contact for contact in mechanism.contacts if link_of(contact) in wanted)
    return replace(mechanism, contacts=kept)


def with_open_meshes_noticed(mechanism: Mechanism) -> Mechanism:
    """The mechanism, with a warning about collision meshes that enclose no volume."""
    closed: dict[tuple[int, int], bool] = {}
    links: dict[str, None] = {}
    for body in mechanism.bodies:
        for shape in body.collisions:
            if shape.vertices is None or shape.faces is None:
                continue
            same = id(shape.vertices), id(shape.faces)
            if same not in closed:
                closed[same] = solids.is_closed(shape.vertices, shape.faces)
            if not closed[same]:
                links[shape.name or body.name] = None
    if not links:
        return mechanism
    warning = (
        "collision meshes that are not closed; like all others they count as their convex hulls: "
        f"{', '.join(links)}"
    )
    return replace(mechanism, warnings=(*mechanism.warnings, warning))


def feet(mechanism: Mechanism) -> dict[str, str]:
    """Links with contact points on which the robot stands: link -> reason.

    Feet are the links named foot, toe, sole, wheel, hoof or paw. Without such names, and with a
    floating base, feet are the lowest links at home, within 5 % of the robot's height. Ends of
    limbs are preferred among these.
    """
    links = dict.fromkeys(map(link_of, mechanism.contacts))
    named = {link: "has the name of a foot" for link in links if _FOOT_NAMES.search(link)}
    if named or not mechanism.floating_base or not links:
        return named
    poses = body_poses(mechanism.tree_joints, np.asarray(mechanism.home))
    lowest = dict.fromkeys(links, np.inf)
    bodies, highest = {}, -np.inf
    heights = placement.heights(poses, mechanism.contacts)
    for contact, height in zip(mechanism.contacts, heights, strict=True):
        link = link_of(contact)
        R, x = poses[contact.body]
        middle = float((x + R @ np.asarray(contact.position))[2])
        highest = max(highest, 2 * middle - height)
        lowest[link] = min(lowest[link], height)
        bodies[link] = contact.body
    ground = min(lowest.values())
    reach = ground + _FOOT_HEIGHT * (highest - ground)
    low = [link for link, height in lowest.items() if height <= reach]
    inner = {joint.parent for joint in mechanism.tree_joints}
    ends = [link for link in low if bodies[link] not in inner]
    if ends:
        return dict.fromkeys(ends, "is the end of a limb and reaches the ground at home")
    return dict.fromkeys(low, "reaches the ground at home")


def reasons(
    mechanism: Mechanism, choice: str | Iterable[str] = "all", corners: int = HULL_POINTS
) -> list[dict[str, object]]:
    """For each link with collision geometry: the number of its contact points, and the reason.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism, loaded with this `choice` and these `corners`.
    choice : "all", "feet", "none", or names of links
    corners : int

    Returns
    -------
    list of {"link", "body", "points", "loss_m", "why"}
    """
    counts: dict[str, int] = {}
    for contact in mechanism.contacts:
        counts[link_of(contact)] = counts.get(link_of(contact), 0) + 1
    still = placement.fixed_to_world(mechanism.bodies, mechanism.tree_joints)
    why_feet = feet(mechanism) if choice == "feet" else {}
    told: dict[tuple[str, str], dict[str, object]] = {}
    for body in mechanism.bodies:
        links: dict[str, list[LinkShape]] = {}
        for shape in link_shapes(body, _simplifying(corners)):
            links.setdefault(shape.link, []).append(shape)
        for link, shapes in links.items():
            why = ", ".join(map(str, shapes))
            if link in why_feet:
                why = f"{why_feet[link]}: {why}"
            if not counts.get(link):
                why = _why_none(body, shapes, still, mechanism, choice)
            told[body.name, link] = {
                "link": link,
                "body": body.name,
                "points": counts.get(link, 0),
                "loss_m": max(shape.loss for shape in shapes),
                "why": why,
            }
    for contact in mechanism.contacts:  # of builders, which define contact points explicitly
        told.setdefault(
            (contact.body, link_of(contact)),
            {
                "link": link_of(contact),
                "body": contact.body,
                "points": counts[link_of(contact)],
                "loss_m": 0.0,
                "why": "set by the builder or the model file",
            },
        )
    return list(told.values())


def _why_none(
    body: Body,
    shapes: list[LinkShape],
    still: set[str],
    mechanism: Mechanism,
    choice: str | Iterable[str],
) -> str:
    if body.name in still:
        return "does not move"
    if not any(len(shape.points) for shape in shapes):
        return "inside of the other shapes of its body: never the first to touch"
    if choice == "feet":
        return "not a foot"
    if choice != "all":
        return "not asked for"
    if not mechanism.contacts:
        return "loaded without ground contact"
    return "the model file says that it does not touch the ground"
