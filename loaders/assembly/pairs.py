"""Pairs of bodies that collide by the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from robosim.description.mechanism import Mechanism
from robosim.loaders.assembly.groups import Group
from robosim.loaders.assembly.parts import Assembly
from robosim.loaders.options import ASK_FOR_PAIRS


def with_pairs(
    mechanism: Mechanism,
    assembly: Assembly,
    groups: Mapping[str, Group],
    asked: bool | str | None,
) -> Mechanism:
    """The mechanism with the pairs of bodies that collide by the file.

    Bodies of different robots do. Those of one robot do so as the user has `asked`; see
    `robosim.load`.
    """
    robots = _robots(assembly, groups)
    apart = {frozenset(pair) for pair in mechanism.excluded_pairs}
    apart |= {frozenset((str(joint.parent), joint.child)) for joint in mechanism.joints}
    collides = {
        body.name: any(link.collides for link in groups[body.name].links)
        for body in mechanism.bodies
    }
    between, within, others = [], [], []
    for a, b in combinations([body for body in mechanism.bodies if body.collisions], 2):
        pair = a.name, b.name
        if frozenset(pair) in apart:
            continue
        if robots[a.name] != robots[b.name]:
            between.append(pair)
        elif collides[a.name] and collides[b.name]:
            within.append(pair)
        else:
            others.append(pair)
    if asked == "file":
        # All pairs collide but these, as for a URDF; see `robosim.load`.
        excluded = (*mechanism.excluded_pairs, *others)
        return replace(mechanism, excluded_pairs=excluded)
    if within and asked is None:
        assembly.notes.add(
            f"the file wants {len(within)} pairs of bodies to collide with each other; "
            f"{ASK_FOR_PAIRS}'file') has them do so, True all pairs, False none without this "
            "warning"
        )
    return replace(mechanism, contact_pairs=tuple(between))


def _robots(assembly: Assembly, groups: Mapping[str, Group]) -> dict[str, str]:
    """The robot of each body; robots with a joint between them are one."""
    same: dict[str, str] = {}

    def find(name: str) -> str:
        while same.setdefault(name, name) != name:
            name = same[name]
        return name

    own = {link.name: link.robot for link in assembly.links}
    for tie in assembly.ties:
        if tie.parent is not None and tie.child is not None:
            same[find(own[tie.parent])] = find(own[tie.child])
    for group in groups.values():
        for link in group.links[1:]:
            same[find(own[link.name])] = find(own[group.top.name])
    return {group.top.name: find(own[group.top.name]) for group in groups.values()}
