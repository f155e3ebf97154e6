"""Links that move as one, and the tree of joints between them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from robosim.description.inertial import Inertial, merge
from robosim.loaders.assembly.parts import Link, Tie
from robosim.loaders.pose import Pose

# [m] and [-]: fixed joints in a circle that agree to this are one after all.
_SAME = 1e-5


@dataclass
class Group:
    """Links that fixed joints connect, with their poses in the frame of the topmost, the first."""

    links: list[Link] = field(default_factory=list)
    places: dict[str, Pose] = field(default_factory=dict)

    @property
    def top(self) -> Link:
        return self.links[0]

    def begin_at(self, name: str) -> None:
        """Make a link the topmost one."""
        back = self.places[name].inverse()
        self.places = {link: back @ place for link, place in self.places.items()}
        self.links.sort(key=lambda link: link.name != name)

    def inertial(self) -> Inertial:
        """Of all its links, in the frame of the topmost."""
        parts = [
            moved(link.inertial, self.places[link.name])
            for link in self.links
            if link.inertial is not None and (link.inertial.mass or np.any(link.inertial.inertia))
        ]
        return merge(parts) if parts else Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def moved(inertial: Inertial, place: Pose) -> Inertial:
    """An inertial in the frame that a pose is given in."""
    inertia = place.R @ inertial.inertia @ place.R.T
    return Inertial(inertial.mass, place.p + place.R @ inertial.center, (inertia + inertia.T) / 2)


def find_groups(links: Sequence[Link], ties: Sequence[Tie]) -> dict[str, Group]:
    """Link -> its group, by the fixed joints between two links, none of which is the world.

    Raises
    ------
    LoadError
        For fixed joints in a circle that contradict each other.
    """
    by_name = {link.name: link for link in links}
    of: dict[str, list[tuple[str, Pose, Tie]]] = {link.name: [] for link in links}
    for tie in ties:
        if tie.kind == "fixed" and tie.parent is not None and tie.child is not None:
            there = tie.first @ tie.second.inverse()
            of[tie.parent].append((tie.child, there, tie))
            of[tie.child].append((tie.parent, there.inverse(), tie))
    found: dict[str, Group] = {}
    for link in links:
        if link.name in found:
            continue
        group = Group([link], {link.name: Pose.identity()})
        found[link.name] = group
        waiting = [link.name]
        while waiting:
            name = waiting.pop()
            for other, there, tie in of[name]:
                place = group.places[name] @ there
                if other not in group.places:
                    group.places[other] = place
                    found[other] = group
                    group.links.append(by_name[other])
                    waiting.append(other)
                elif not _same(place, group.places[other]):
                    raise tie.refusal(
                        f"contradicts other fixed joints between '{tie.parent}' and '{tie.child}'"
                    )
        order = {one.name: k for k, one in enumerate(links)}
        group.links.sort(key=lambda one: order[one.name])
        group.begin_at(group.links[0].name)
    return found


def _same(a: Pose, b: Pose) -> bool:
    return bool(np.abs(a.R - b.R).max() < _SAME and np.abs(a.p - b.p).max() < _SAME)


@dataclass
class Tree:
    """A tree of groups.

    Attributes
    ----------
    ties : list of Tie
        The joint into each group that is not a root, from the root to the leaves, turned round
        where the file has it the other way.
    roots : list of Group
        Groups without a chain of joints to the world.
    loops : list of Tie
    """

    ties: list[Tie] = field(default_factory=list)
    roots: list[Group] = field(default_factory=list)
    loops: list[Tie] = field(default_factory=list)


def find_tree(
    links: Sequence[Link], groups: dict[str, Group], ties: Sequence[Tie], first: Sequence[str] = ()
) -> Tree:
    """The tree of joints, which begins at the world, then at a root of each further part.

    Of the joints into a group the first in the file leads there. Those that the file has the other
    way round come after others, and then those that are the `last`. A root is a link of `first`, or
    else one that is no child, or else the first one of the file.
    """
    tree = Tree()
    of: dict[int | None, list[int]] = {None: []}
    for group in groups.values():
        of.setdefault(id(group), [])
    moving = [tie for tie in ties if _end(groups, tie.parent) != _end(groups, tie.child)]
    for index, tie in enumerate(moving):
        of[_end(groups, tie.parent)].append(index)
        of[_end(groups, tie.child)].append(index)
    reached: set[int | None] = set()
    used: set[int] = set()
    heap: list[tuple[bool, bool, int]] = []

    def enter(end: int | None) -> None:
        reached.add(end)
        for index in of[end]:
            tie = moving[index]
            heapq.heappush(heap, (tie.last, _end(groups, tie.parent) != end, index))

    def grow() -> None:
        while heap:
            _, turned, index = heapq.heappop(heap)
            tie = moving[index]
            ends = _end(groups, tie.parent), _end(groups, tie.child)
            if index in used or (ends[0] in reached and ends[1] in reached):
                continue
            used.add(index)
            turned = ends[0] not in reached
            tree.ties.append(reversed_tie(tie) if turned else tie)
            new = tree.ties[-1].child
            assert new is not None
            groups[new].begin_at(new)
            enter(id(groups[new]))

    enter(None)
    grow()
    children = {_end(groups, tie.child) for tie in moving if not tie.last}
    preferred = [name for name in first if name in groups]
    preferred += [link.name for link in links if id(groups[link.name]) not in children]
    for name in (*preferred, *(link.name for link in links)):
        group = groups[name]
        if id(group) in reached:
            continue
        if name in first:
            group.begin_at(name)
        tree.roots.append(group)
        enter(id(group))
        grow()
    tree.loops = [
        reversed_tie(tie) if tie.child is None else tie
        for index, tie in enumerate(moving)
        if index not in used
    ]
    return tree


def _end(groups: dict[str, Group], name: str | None) -> int | None:
    return None if name is None else id(groups[name])


def reversed_tie(tie: Tie) -> Tie:
    """The same joint, with the same coordinates, seen from the other link.

    The coordinates of several hinges and slides come in the opposite order.
    """
    several = len(tie.moves) > 1
    options = {
        name: value[::-1] if several and isinstance(value, (list, tuple, np.ndarray)) else value
        for name, value in tie.options.items()
    }
    return Tie(
        tie.name,
        tie.kind,
        tie.child,
        tie.parent,
        tie.second,
        tie.first,
        tie.refusal,
        axis=-tie.axis,
        moves=tuple((kind, -axis) for kind, axis in reversed(tie.moves)),
        pitch=tie.pitch,
        options=options,
        last=tie.last,
    )
