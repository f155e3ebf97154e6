"""The tree of links and joints, with groups of links that fixed joints connect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.errors import LoadError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PlacedLink:
    """A link in its group: its frame in the axes of the group's topmost link.

    The fixed joint `by` connects it to the link `above`; both are None for the topmost link.
    """

    link: Any
    R: Array
    p: Array
    above: PlacedLink | None = None
    by: str = ""

    @property
    def via(self) -> tuple[str, ...]:
        """Names of the fixed joints from the topmost link to this one."""
        names: list[str] = []
        link = self
        while link.above is not None:
            names.append(link.by)
            link = link.above
        return tuple(reversed(names))


@dataclass
class Group:
    """Links that move as one body, with the topmost first.

    Attributes
    ----------
    links : list of PlacedLink
    parent : int or None
        Index of the parent group.
    joint : yourdfpy joint or None
        The joint from `parent_link` to the topmost link.
    parent_link : PlacedLink or None
    """

    links: list[PlacedLink] = field(default_factory=list)
    parent: int | None = None
    joint: Any = None
    parent_link: PlacedLink | None = None

    @property
    def name(self) -> str:
        """Name of the topmost link and of the body."""
        return str(self.links[0].link.name)


def origin(matrix: Array | None) -> tuple[Array, Array]:
    """(R (3, 3), p (3,)) of an origin element, which may be missing."""
    if matrix is None:
        return np.eye(3), np.zeros(3)
    return np.array(matrix[:3, :3]), np.array(matrix[:3, 3])


def find_groups(robot: Any) -> list[Group]:
    """The groups of a yourdfpy robot, depth first, children in the order of their joints.

    Raises
    ------
    LoadError
        For an unknown parent or child, a link with two parents, several roots, or a cycle.
    """
    links = {link.name: link for link in robot.links}
    children = _children(robot, links)
    root = _root(robot)
    groups: list[Group] = []
    # Stack of joints with their parents' groups; not recursive, as chains may be very long.
    stack: list[tuple[Any, int, PlacedLink]] = []

    def enter(index: int, placed: PlacedLink) -> None:
        groups[index].links.append(placed)
        stack.extend((joint, index, placed) for joint in reversed(children[placed.link.name]))

    groups.append(Group())
    enter(0, PlacedLink(links[root], np.eye(3), np.zeros(3)))
    reached = {root}
    while stack:
        joint, index, parent_link = stack.pop()
        reached.add(joint.child)
        if joint.type == "fixed":
            R, p = origin(joint.origin)
            p = parent_link.p + parent_link.R @ p
            placed = PlacedLink(links[joint.child], parent_link.R @ R, p, parent_link, joint.name)
            enter(index, placed)
        else:
            groups.append(Group(parent=index, joint=joint, parent_link=parent_link))
            enter(len(groups) - 1, PlacedLink(links[joint.child], np.eye(3), np.zeros(3)))
    _refuse_cycle([joint for joint in robot.joints if joint.child not in reached])
    return groups


def _children(robot: Any, links: dict[str, Any]) -> dict[str, list[Any]]:
    children: dict[str, list[Any]] = {name: [] for name in links}
    into: dict[str, Any] = {}
    for joint in robot.joints:
        element = f"joint '{joint.name}'"
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                raise LoadError(
                    f"{role} link '{name}' does not exist",
                    element=element,
                    alternatives=tuple(links),
                )
        if joint.child in into:
            raise LoadError(
                f"link '{joint.child}' has two parents: '{into[joint.child].parent}' by joint "
                f"'{into[joint.child].name}' and '{joint.parent}'; a joint that closes a loop is a "
                f'<loop_joint>, with <link1 link="{joint.parent}"/>, <link2 link="{joint.child}"/> '
                "and where it is in both",
                element=element,
            )
        into[joint.child] = joint
        children[joint.parent].append(joint)
    return children


def _root(robot: Any) -> str:
    hanging = {joint.child for joint in robot.joints}
    roots = [link.name for link in robot.links if link.name not in hanging]
    if not roots:
        _refuse_cycle(robot.joints)
    if len(roots) > 1:
        raise LoadError(
            f"has {len(roots)} links without a parent joint, not one: {roots}",
            element=f"robot '{robot.name}'",
        )
    return str(roots[0])


def _refuse_cycle(joints: list[Any]) -> None:
    """Raise an error that names the links of a cycle among joints without a root."""
    if not joints:
        return
    parent = {joint.child: joint.parent for joint in joints}
    trail = [joints[0].child]
    while trail[-1] not in trail[:-1]:
        trail.append(parent[trail[-1]])
    cycle = trail[trail.index(trail[-1]) :][::-1]
    raise LoadError(
        f"the links form a cycle: {' -> '.join(cycle)}",
        element=f"joint '{joints[0].name}'",
    )
