"""Bodies that move as one: those without joints belong to the body around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from robosim.description.inertial import Inertial
from robosim.description.names import free_name
from robosim.errors import LoadError
from robosim.loaders import inertials
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Pose
from robosim.loaders.mjcf.tree import NOT_READ, PlacedJoint, TreeBody

FLOATING_BASE = "floating_base"
NOTHING = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass
class Link:
    """Bodies of the file that move as one; the first link is the world.

    Attributes
    ----------
    top : TreeBody
        The body with the joints, which gives the link its name and frame.
    parent : int
        Index of the parent link.
    place : Pose
        Pose of the top body in the parent link, with joints at their reference.
    members : list of (index, Pose)
        All bodies, the topmost first, with their poses in the link.
    inertial : Inertial
        Inertial of all bodies, in the link's frame.
    """

    top: TreeBody
    parent: int
    place: Pose
    members: list[tuple[int, Pose]] = field(default_factory=list)
    inertial: Inertial = NOTHING


@dataclass(frozen=True)
class Links:
    """All links in the order of their top bodies, and the link of each body of the file.

    Attributes
    ----------
    links : list of Link
    bodies : sequence of TreeBody
    of_body : list of (index, Pose)
        Link of each body, and its pose in the link.
    """

    bodies: Sequence[TreeBody]
    links: list[Link]
    of_body: list[tuple[int, Pose]]

    def world_places(self) -> list[Pose]:
        """Pose of each link in the world with all joints at their reference."""
        places: list[Pose] = [Pose.identity()]
        for link in self.links[1:]:
            places.append(places[link.parent] @ link.place)
        return places

    def carries(self, body: int, link: int) -> bool:
        """Whether a body of the world carries a link, directly or through others.

        If a single joint connects a link to the world, everything that is rigidly connected to the
        joint's body carries the link. Examples are the whole palm for a finger, and the whole
        column for a lift.
        """
        index = self.links[link].members[0][0]
        alone = len(self.links[link].top.joints) == 1
        if self.links[link].parent == 0 and alone and self._piece(body) == self._piece(index):
            return True
        while index > 0:
            index = self.bodies[index].parent
            if index == body:
                return True
        return False

    def robots(self, tied: Iterable[tuple[str | None, str]] = ()) -> list[int]:
        """The robot that each link belongs to, as a number; the world's is 0.

        A robot is what hangs on one body of the world, with all that loops tie to it.

        Parameters
        ----------
        tied : iterable of pairs of names
            Links that loops connect; None for the world.
        """
        robots = [0, *(self._piece(link.members[0][0]) for link in self.links[1:])]
        index = {link.top.name: k for k, link in enumerate(self.links)}
        for a, b in tied:
            if a is not None:
                one, other = robots[index[a]], robots[index[b]]
                robots = [one if robot == other else robot for robot in robots]
        return robots

    def _piece(self, index: int) -> int:
        """The top-level body of the world that contains a body."""
        while self.bodies[index].parent > 0:
            index = self.bodies[index].parent
        return index


def find_links(bodies: Sequence[TreeBody], own: Sequence[Inertial]) -> Links:
    """The links of bodies with these inertials.

    Raises
    ------
    LoadError
        If nothing can move, or if moving bodies have no mass.
    """
    links = [Link(bodies[0], 0, Pose.identity(), [(0, Pose.identity())])]
    of_body = [(0, Pose.identity())]
    for index, body in enumerate(bodies[1:], start=1):
        parent, place = of_body[body.parent]
        place = place @ body.place
        if body.joints:
            links.append(Link(body, parent, place))
            parent, place = len(links) - 1, Pose.identity()
        links[parent].members.append((index, place))
        of_body.append((parent, place))
    if len(links) == 1:
        left = {child.tag for body in bodies for child in body.node.children} & set(NOT_READ)
        why = "it may be meant to be included in another file"
        if left:
            listed = ", ".join(f"<{tag}>" for tag in sorted(left))
            why = f"what moves in it may be the {listed}, which cannot be simulated here"
        raise bodies[0].node.error(f"nothing in it can move: no body has a joint; {why}")
    for link in links[1:]:
        link.inertial = inertials.merge([moved(own[i], place) for i, place in link.members])
        _check_mass(link)
    return Links(bodies, links, of_body)


def moved(inertial: Inertial, place: Pose) -> Inertial:
    """The inertial of a body at a pose, in the frame that the pose is given in."""
    inertia = place.R @ inertial.inertia @ place.R.T
    return Inertial(inertial.mass, place.p + place.R @ inertial.center, inertia)


def _check_mass(link: Link) -> None:
    if link.inertial.mass <= 0:
        raise link.top.node.error(
            f"it moves, so its mass must be positive, not {link.inertial.mass:g}; give it geoms "
            "with mass, or an <inertial>"
        )


def with_base(bodies: list[TreeBody], floating_base: bool | None) -> bool:
    """Add or remove the free joint of bodies in the world, as requested by the user.

    Returns
    -------
    bool
        Whether anything was changed.

    Raises
    ------
    LoadError
        If it is ambiguous which body should float.
    """
    roots = [body for body in bodies[1:] if body.parent == 0]
    free = [body for body in roots if any(is_free(joint.node) for joint in body.joints)]
    if floating_base is False:
        for body in free:
            body.joints = []
        return bool(free)
    if not floating_base or free:
        return False
    fixed = [body for body in roots if not body.joints]
    moved = {_root(bodies, body) for body in bodies[1:] if body.joints}
    fixed = [body for body in fixed if id(body) in moved] or fixed
    if len(fixed) != 1:
        raise LoadError(
            f"floating_base=True needs one body that is fixed to the world, not {len(fixed)}",
            element="<worldbody>",
            alternatives=[body.name for body in fixed],
        )
    node = replace(fixed[0].node, tag="joint", attributes={"type": "free"}, children=())
    name = free_name(FLOATING_BASE, {joint.name for body in bodies for joint in body.joints})
    fixed[0].joints = [PlacedJoint(node, name, Pose.identity())]
    return True


def is_free(node: Node) -> bool:
    """Whether the element of a joint is a free joint."""
    return node.attributes.get("type") == "free"


def _root(bodies: list[TreeBody], body: TreeBody) -> int:
    while body.parent != 0:
        body = bodies[body.parent]
    return id(body)
