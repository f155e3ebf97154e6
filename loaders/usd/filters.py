"""Pairs that do not collide: collision groups, and filtered pairs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from robosim.loaders.notes import Notes
from robosim.loaders.usd.library import library
from robosim.loaders.usd.stage import Stage


class Filters:
    """The filters of a stage."""

    def __init__(self, stage: Stage, prims: list[Any], notes: Notes) -> None:
        self._notes = notes
        pxr = library()
        self._groups: list[tuple[Any, set[str], bool]] = []  # (members, filtered groups, inverted)
        self._paths: list[str] = []
        self._pairs: list[tuple[str, str]] = []
        for prim in prims:
            path = str(prim.GetPath())
            if prim.IsA(pxr.UsdPhysics.CollisionGroup):
                group = pxr.UsdPhysics.CollisionGroup(prim)
                members = group.GetCollidersCollectionAPI().ComputeMembershipQuery()
                filtered = {str(one) for one in group.GetFilteredGroupsRel().GetTargets()}
                inverted = bool(group.GetInvertFilteredGroupsAttr().Get())
                self._paths.append(path)
                self._groups.append((members, filtered, inverted))
            if prim.HasAPI(pxr.UsdPhysics.FilteredPairsAPI):
                others = pxr.UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets()
                self._pairs += [(path, str(other)) for other in others]

    def pairs(self, owners: Mapping[str, str], names: Mapping[str, str]) -> list[tuple[str, str]]:
        """Names of bodies, or of a body and an obstacle, that never collide with each other.

        Parameters
        ----------
        owners : mapping of a collider's path to that of its body, or of itself for an obstacle
        names : mapping of a body's or obstacle's path to its name; without the ground
        """
        if not self._groups and not self._pairs:
            return []
        of_body: dict[str, list[str]] = {}
        for collider, body in owners.items():
            if body in names:
                of_body.setdefault(body, []).append(collider)
        groups = {path: self._groups_of(path) for path in owners}
        found = []
        bodies = list(of_body)
        for k, a in enumerate(bodies):
            for b in bodies[k + 1 :]:
                apart = [
                    self._is_apart(one, other, groups)
                    for one, other in product(of_body[a], of_body[b])
                ]
                if all(apart):
                    found.append((names[a], names[b]))
                elif any(apart):
                    self._notes.add(
                        "all colliders of these bodies touch each other, although filters say that "
                        "some do not",
                        f"{names[a]} and {names[b]}",
                    )
        return found

    def _groups_of(self, path: str) -> set[int]:
        return {k for k, (members, _, _) in enumerate(self._groups) if members.IsPathIncluded(path)}

    def _is_apart(self, a: str, b: str, groups: Mapping[str, set[int]]) -> bool:
        for one, other in self._pairs:
            if (_below(a, one) and _below(b, other)) or (_below(b, one) and _below(a, other)):
                return True
        for first, second in ((a, b), (b, a)):
            for k in groups[first]:
                _, filtered, inverted = self._groups[k]
                mine = {self._paths[m] for m in groups[second]}
                if inverted and not mine <= filtered:
                    return True
                if not inverted and mine & filtered:
                    return True
        return False


def _below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")
