"""Pairs of geoms that collide: contype and conaffinity, pairs, exclusions, friction.

Two geoms collide if the contype of one shares a bit with the conaffinity of the other, or if there
is a <pair>. Friction is that of the geom with higher priority, or else the larger one. With condim
1 there is none, with condim 4 also torsional friction, and with condim 6 also rolling friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robosim.description.surfaces import WORLD, Anisotropy
from robosim.loaders.mjcf.compliance import Impedance
from robosim.loaders.mjcf.defaults import Defaults
from robosim.loaders.mjcf.friction import (
    Friction,
    highest,
    lowest,
    pair_friction,
    rolls_by_direction,
    sliding_by_direction,
)
from robosim.loaders.mjcf.geoms import Geom
from robosim.loaders.mjcf.links import Links
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Pose
from robosim.loaders.mjcf.tree import TreeBody


@dataclass(frozen=True)
class PlacedGeom:
    """A geom in the frame of its link.

    Attributes
    ----------
    geom : Geom
    name : str
        Name of the geom, or of its body.
    body : int
        Index of its body in the file.
    link : int
        0 for the world.
    place : Pose
        Pose in the link's frame.
    """

    geom: Geom
    name: str
    body: int
    link: int
    place: Pose


def place_geoms(bodies: Sequence[TreeBody], links: Links) -> list[PlacedGeom]:
    """All geoms in their links, in the order of the file."""
    found = []
    for index, (body, (link, place)) in enumerate(zip(bodies, links.of_body, strict=True)):
        found += [
            PlacedGeom(geom, geom.node.name or body.name, index, link, place @ geom.place)
            for geom in body.geoms
        ]
    return found


class Rules:
    """Pairs of geoms that collide, and their friction.

    Parameters
    ----------
    root : Node
        The model, with its <contact> elements.
    defaults : Defaults
    placed : sequence of PlacedGeom
    bodies
        Bodies of the model.

    Attributes
    ----------
    rolls_by_direction, moves_by_direction : list of str
        The <pair>s with other rolling friction about one tangent than about the other. Those of two
        moving geoms with other sliding friction along one tangent than along the other.

    Raises
    ------
    LoadError
        For a pair or an exclusion with an unknown name.
    """

    def __init__(
        self,
        root: Node,
        defaults: Defaults,
        placed: Sequence[PlacedGeom],
        bodies: Sequence[TreeBody],
    ) -> None:
        by_name = {p.geom.node.name: p for p in placed if p.geom.node.name}
        index_of = {body.name: index for index, body in enumerate(bodies)}
        self._pairs: dict[frozenset[int], Friction] = {}
        self._directed: dict[frozenset[int], tuple[float, float]] = {}
        self.rolls_by_direction: list[str] = []
        self.moves_by_direction: list[str] = []
        self._paired: list[tuple[PlacedGeom, PlacedGeom]] = []
        self._impedances: dict[frozenset[int], tuple[Impedance, int]] = {}
        self._excluded: set[frozenset[int]] = set()  # pairs of bodies, not of links
        for contact in root.all("contact"):
            for node in contact.all("pair"):
                node = defaults.resolve(node)
                a, b = (node.look_up(key, by_name, "geom") for key in ("geom1", "geom2"))
                self._pairs[_key(a, b)] = pair_friction(node)
                self._impedances[_key(a, b)] = Impedance.read(node), int(node.number("condim", 3))
                which = f"{a.name} and {b.name}"
                if rolls_by_direction(node):
                    self.rolls_by_direction.append(which)
                if two := sliding_by_direction(node):
                    self._directed[_key(a, b)] = two
                    if a.link and b.link:
                        self.moves_by_direction.append(which)
                self._paired.append((a, b))
            for node in contact.all("exclude"):
                ends = [node.look_up(key, index_of, "body") for key in ("body1", "body2")]
                self._excluded.add(frozenset(ends))

    def friction(self, a: PlacedGeom, b: PlacedGeom) -> Friction | None:
        """The friction between two geoms, None if they do not collide."""
        if a.link == b.link:
            return None
        if _key(a, b) in self._pairs:
            return self._pairs[_key(a, b)]
        return _friction(a.geom, b.geom) if self.touch(a, b) else None

    def impedance(self, a: PlacedGeom, b: PlacedGeom) -> tuple[Impedance, int]:
        """The impedance of the contact of two geoms that collide, and its condim."""
        if _key(a, b) in self._impedances:
            return self._impedances[_key(a, b)]
        first, second = a.geom, b.geom
        if first.priority != second.priority:
            first = second = max(first, second, key=lambda geom: geom.priority)
        one, other = Impedance.read(first.node), Impedance.read(second.node)
        return one.beside(other), max(first.condim, second.condim)

    def anisotropy(self, p: PlacedGeom, obstacle: PlacedGeom) -> Anisotropy | None:
        """The friction by direction of a moving geom on one of the world, if a <pair> has it.

        MuJoCo's first tangent is y of the world, or z on a plane whose normal is nearer to y. For a
        capsule on a plane it is the axis of the capsule.
        """
        two = self._directed.get(_key(p, obstacle))
        if two is None:
            return None
        if obstacle.geom.kind == "plane":
            if p.geom.kind == "capsule":
                return Anisotropy.between(*two, (0, 0, 1))[1]
            if abs(obstacle.place.R[1, 2]) >= 0.5:
                return Anisotropy.between(*two, (0, 0, 1), WORLD)[1]
        return Anisotropy.between(*two, (0, 1, 0), WORLD)[1]

    def touch(self, a: PlacedGeom, b: PlacedGeom) -> bool:
        """Whether two geoms collide by their bits, and their bodies are not excluded."""
        excluded = frozenset((a.body, b.body)) in self._excluded
        return touch(a.geom, b.geom) and not excluded

    def turns(self, placed: Sequence[PlacedGeom]) -> bool:
        """Whether there is torsional or rolling friction, of a geom or in a <pair>."""
        most = max((p.geom.condim for p in placed), default=1)
        found = [p.geom.friction.acting(most) for p in placed]
        return any(friction.turns for friction in (*found, *self._pairs.values()))

    def in_pairs(self, placed: PlacedGeom) -> bool:
        """Whether a geom is in a <pair>."""
        return any(placed in pair for pair in self._paired)

    def other_frictions(self) -> list[str]:
        """The <pair>s of moving geoms whose friction is not the lower one of both geoms."""
        return [
            f"{a.name} and {b.name}"
            for a, b in self._paired
            if a.link
            and b.link
            and self._pairs[_key(a, b)] != lowest((own_friction(a.geom), own_friction(b.geom)))
        ]

    def moving_pairs(self) -> set[tuple[int, int]]:
        """Pairs of moving links in <pair> elements."""
        found = {(min(a.link, b.link), max(a.link, b.link)) for a, b in self._paired}
        return {(a, b) for a, b in found if a > 0 and a != b}


def touch(a: Geom, b: Geom) -> bool:
    """Whether two geoms collide by their bits."""
    return bool(a.contype & b.conaffinity or b.contype & a.conaffinity)


def _friction(a: Geom, b: Geom) -> Friction:
    if a.priority != b.priority:
        a = b = max(a, b, key=lambda geom: geom.priority)
    return highest((a.friction, b.friction)).acting(max(a.condim, b.condim))


def own_friction(geom: Geom) -> Friction:
    """The friction of a geom with an equal one."""
    return geom.friction.acting(geom.condim)


def _key(a: PlacedGeom, b: PlacedGeom) -> frozenset[int]:
    return frozenset((id(a), id(b)))
