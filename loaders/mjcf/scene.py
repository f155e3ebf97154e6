"""The geometry of links and of the world: visuals, collision shapes, the ground."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.body import Body, ContactPoint, Geometry
from robosim.description.names import free_name
from robosim.description.obstacles import AnyShape, HalfSpace, HeightField
from robosim.description.surfaces import Anisotropy
from robosim.loaders.contacts import contacts_of
from robosim.loaders.mjcf.compliance import Rest, Solver
from robosim.loaders.mjcf.contacts import PlacedGeom, Rules, own_friction
from robosim.loaders.mjcf.friction import Friction, highest
from robosim.loaders.mjcf.hfields import HeightFields
from robosim.loaders.mjcf.orientation import Pose
from robosim.loaders.mjcf.shapes import DRAWN_GROUPS, WORLDLY, Materials, geometry
from robosim.loaders.notes import Notes
from robosim.loaders.options import ASK_FOR_PAIRS

Array = NDArray[np.float64]

# For an obstacle without contacts.
_ANY_FRICTION = Friction(10.0)
_LEVEL = 1e-9
_UNASKED = (
    "{} pairs of bodies of one robot do not collide, although the file lets them, as bodies often "
    f"overlap in model files; {ASK_FOR_PAIRS}True) has them do so, False leaves them out without "
    "this warning"
)


@dataclass
class Looks:
    """The geometry of a link, from its centre of mass.

    Attributes
    ----------
    visuals, collisions : list of Geometry
    grounded : list of Geometry
        Collision shapes that touch the ground, with their friction there.
    """

    visuals: list[Geometry] = field(default_factory=list)
    collisions: list[Geometry] = field(default_factory=list)
    grounded: list[Geometry] = field(default_factory=list)


@dataclass(frozen=True)
class Surroundings:
    """Data of the mechanism that a scene needs.

    Attributes
    ----------
    names : sequence of str
        Names of the links.
    centers : sequence of (3,) [m]
        The centre of mass of each link, in its frame.
    carries : callable
        (body, link) -> whether a body of the world carries a link, directly or through others.
    keeps_height : callable
        (link, normal (3,)) -> whether no joint moves a link along a direction of the world.
    default_ground : bool
        Whether the plane z = 0 is solid in a file that has nothing else in its world.
    robots : sequence of int
        The robot that each link belongs to.
    neighbours : collection of pairs of int
        Links with a joint between them, in the order of the links.
    self_collision : bool, "file" or None
        What the user wants of pairs within one robot; see `robosim.load`.
    springs : Springs or None
        None: contacts are hard.
    """

    names: Sequence[str]
    centers: Sequence[Array]
    carries: Callable[[int, int], bool]
    keeps_height: Callable[[int, Array], bool]
    default_ground: bool
    robots: Sequence[int]
    neighbours: Collection[tuple[int, int]]
    self_collision: bool | str | None
    springs: Springs | None = None


@dataclass(frozen=True)
class Springs:
    """Of contacts that are to be compliant: what their stiffness follows from."""

    solver: Solver
    rest: Rest


class Scene:
    """All geometry that is drawn or collides.

    Parameters
    ----------
    placed : sequence of PlacedGeom
        All geoms, including those of the world.
    around : Surroundings
    rules : Rules
    materials : Materials
    fields : HeightFields
    notes : Notes

    Attributes
    ----------
    looks : dict of link to Looks
    obstacles : list
        Obstacles of the world, except for the plane z = 0.
    pairs : list of pairs of names
        Links that collide.
    excluded : list of pairs of names
        Links, or a link and an obstacle, that never collide.
    names : dict of id to str
        Names of the obstacles, by the id of their PlacedGeom.
    floors : list of PlacedGeom
        Geoms that are the plane z = 0.
    unmet : list of str
        Geoms that neither collide nor are drawn.
    """

    def __init__(
        self,
        placed: Sequence[PlacedGeom],
        around: Surroundings,
        rules: Rules,
        materials: Materials,
        fields: HeightFields,
        notes: Notes,
    ) -> None:
        self._rules, self._around, self._notes = rules, around, notes
        self._materials, self._fields = materials, fields
        self._frictions: dict[int, Friction] = {}  # of the shapes of moving geoms
        solid = [p for p in placed if p.geom.collides or rules.in_pairs(p)]
        world = [p for p in solid if p.link == 0]
        self._turns = rules.turns(solid)
        self._moving = [p for p in solid if p.link > 0]
        self._default_ground = around.default_ground and not world
        floors = [p for p in world if _is_ground(p)]
        obstacles = [p for p in world if p not in floors and self._is_met(p)]
        self.names: dict[int, str] = {}
        self.floors, self.unmet = floors, list[str]()
        self.looks = {link: Looks() for link in range(len(around.names))}
        self._fill(placed, floors, obstacles)
        self.obstacles, self.excluded = self._obstacles(obstacles)
        self.excluded += self._apart()
        for which in rules.other_frictions():
            notes.add("of moving shapes the lower friction counts, not that of their pair", which)
        for which in rules.moves_by_direction:
            notes.add("friction of two moving shapes counts alike in all directions", which)
        for which in rules.rolls_by_direction:
            notes.add(
                "rolling friction counts alike in all directions, as the first of a pair's", which
            )
        names = around.names
        pairs = rules.moving_pairs() | self._between_robots()
        self.pairs = [(names[a], names[b]) for a, b in sorted(pairs)]

    def _fill(
        self,
        placed: Sequence[PlacedGeom],
        floors: Sequence[PlacedGeom],
        obstacles: Sequence[PlacedGeom],
    ) -> None:
        """Collect the geometry of all links, with its friction on the ground and on obstacles."""
        drawn = [p for p in placed if p.geom.group < DRAWN_GROUPS] or placed
        seen, solid = set(map(id, drawn)), set(map(id, self._moving))
        for p in placed:
            if p.geom.kind in WORLDLY:
                if not any(p is other for other in (*floors, *obstacles)):
                    self.unmet.append(p.name)
                if p.link > 0:
                    raise p.geom.node.error(
                        f"a {p.geom.kind} must be in the world or on a body that does not move; "
                        "a flat box can move"
                    )
                continue
            ground = self._ground_friction(p, floors)
            frictions = [self._friction(p, other) for other in obstacles]
            friction = _highest(frictions) or ground or own_friction(p.geom)
            self._frictions[id(p)] = friction
            shape = self._geometry(p, friction, self._anisotropy(p, obstacles or floors))
            if id(p) in solid:
                shape = replace(shape, **self._compliance(p, (*floors, *obstacles)))
            looks = self.looks[p.link]
            if id(p) in seen and shape.rgba[3] > 0:
                looks.visuals.append(shape)
            elif shape.rgba[3] > 0 and id(p) not in solid and not any(p is o for o in obstacles):
                self.unmet.append(p.name)
            if id(p) in solid:
                looks.collisions.append(shape)
                if ground is not None:
                    directed = self._anisotropy(p, floors)
                    looks.grounded.append(replace(shape, **self._of_surface(p, ground, directed)))

    def _geometry(
        self, p: PlacedGeom, friction: Friction, directed: Anisotropy | None = None
    ) -> Geometry:
        place = Pose(p.place.R, p.place.p - self._around.centers[p.link])
        colour = self._materials.colour(p.geom.node)
        shape = geometry(p.geom, p.name, place, colour)
        return replace(shape, **self._of_surface(p, friction, directed))

    def _anisotropy(self, p: PlacedGeom, others: Iterable[PlacedGeom]) -> Anisotropy | None:
        """The friction by direction of a moving geom on those of the world that it touches."""
        met = [o for o in others if self._friction(p, o) is not None]
        found = [self._rules.anisotropy(p, o) for o in met]
        told = {None if one is None else (one.along, one.across, one.axes) for one in found}
        if len(told) > 1:
            self._notes.add("friction by direction of one pair acts in the others too", p.name)
        return next((one for one in found if one is not None), None)

    def _of_surface(
        self, p: PlacedGeom, friction: Friction, directed: Anisotropy | None = None
    ) -> dict[str, Any]:
        """Friction and surface velocity of a geom's surface, as fields of a geometry.

        If a file has no torsional and rolling friction, shapes have None for these coefficients.
        """
        return {
            "friction": friction.sliding,
            "torsional_friction": friction.torsional if self._turns else None,
            "rolling_friction": friction.rolling if self._turns else None,
            "anisotropy": directed,
            "surface_velocity": p.geom.surface[:3],
            "surface_spin": p.geom.surface[3:],
        }

    def _compliance(self, p: PlacedGeom, others: Iterable[PlacedGeom]) -> dict[str, Any]:
        """The spring of a moving geom: the softest on what it touches of the world."""
        springs, name = self._around.springs, self._around.names[p.link]
        if springs is None or name not in springs.rest.load:
            return {}
        if p.geom.node.number("margin", 0.0):
            self._notes.add("margins of geoms are not read: compliant ones begin there", p.name)
        met = [o for o in others if self._friction(p, o) is not None] or [p]
        found = []
        for other in met:
            impedance, condim = self._rules.impedance(p, other)
            friction = own_friction(p.geom) if other is p else self._friction(p, other)
            inverse, load = springs.rest.inverse_mass[name], springs.rest.load[name]
            found.append(
                springs.solver.spring(
                    impedance, friction or own_friction(p.geom), condim, inverse, load
                )
            )
        stiffness, dissipation = min(found)
        return {"stiffness": stiffness, "dissipation": dissipation}

    def _friction(self, p: PlacedGeom, obstacle: PlacedGeom) -> Friction | None:
        """The friction of a moving geom on one of the world, None if they do not collide.

        A link does not collide with the bodies that carry it, as neighbours overlap in model files.
        A link whose joints keep its height over a plane does not collide with the plane.
        """
        if obstacle.body > 0 and self._around.carries(obstacle.body, p.link):
            return None
        plane = obstacle.geom.kind == "plane"
        if plane and self._around.keeps_height(p.link, obstacle.place.R[:, 2]):
            return None
        return self._rules.friction(p, obstacle)

    def _is_met(self, obstacle: PlacedGeom) -> bool:
        return any(self._friction(p, obstacle) is not None for p in self._moving)

    def _ground_friction(self, p: PlacedGeom, floors: Iterable[PlacedGeom]) -> Friction | None:
        """The friction of a geom on the plane z = 0, None if it does not collide with it."""
        if self._default_ground and p.geom.collides:
            return own_friction(p.geom)
        return _highest([self._friction(p, floor) for floor in floors])

    def _obstacles(
        self, obstacles: Sequence[PlacedGeom]
    ) -> tuple[list[AnyShape], list[tuple[str, str]]]:
        """The obstacles with unique names, and the links that never collide with each."""
        shapes: list[AnyShape] = []
        apart: list[tuple[str, str]] = []
        taken = set(self._around.names)
        # Obstacles without a name have that of their body, if it is unique.
        own = {p.geom.node.name for p in obstacles}
        for p in obstacles:
            name = free_name(p.name, taken if p.geom.node.name else taken | own)
            taken.add(name)
            self.names[id(p)] = name
            met = {id(q): self._friction(q, p) for q in self._moving}
            friction = _highest(met.values()) or _ANY_FRICTION
            shapes.append(self._obstacle(replace(p, name=name), friction))
            meets: dict[int, list[bool]] = {}
            for q in self._moving:
                wanted = met[id(q)]
                meets.setdefault(q.link, []).append(wanted is not None)
                # The lower coefficient of both shapes counts.
                if wanted is not None and wanted.below(friction, self._frictions[id(q)]):
                    self._notes.add(
                        "friction is that of shapes, and so higher on some than the file says",
                        f"{q.name} on {name}",
                    )
            for link, each in meets.items():
                if not any(each):
                    apart.append((self._around.names[link], name))
                elif not all(each):
                    self._notes.add(
                        "all collision geometry of these touches the obstacle, although contype, "
                        "conaffinity or exclude says that some of it would not",
                        f"{self._around.names[link]} on {name}",
                    )
        return shapes, apart

    def _obstacle(self, p: PlacedGeom, friction: Friction) -> AnyShape:
        surface = self._of_surface(p, friction)
        if p.geom.kind == "plane":
            # Half-spaces have no axes.
            for what in ("surface_velocity", "surface_spin"):
                surface[what] = p.place.R @ surface[what]
            return HalfSpace(p.place.R[:, 2], p.place.p, name=p.name, **surface)
        if p.geom.kind == "hfield":
            heights, half = self._fields.get(p.geom.node)
            return HeightField(
                heights,
                size=(2 * half[0], 2 * half[1]),
                position=p.place.p,
                quaternion=quaternions.from_matrix(p.place.R),
                name=p.name,
                **surface,
            )
        return self._geometry(p, friction)

    @cached_property
    def _meeting(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Pairs of links that may collide -> how many pairs of geoms do, and how many there are."""
        of_link: dict[int, list[PlacedGeom]] = {}
        for p in self._moving:
            of_link.setdefault(p.link, []).append(p)
        return {
            (a, b): (sum(self._rules.touch(p, q) for p, q in product(first, second)),
                     len(first) * len(second))
            for a, first in of_link.items() for b, second in of_link.items() if a < b
        }  # fmt: skip

    def _apart(self) -> list[tuple[str, str]]:
        """Pairs of links with collision geometry of which no geoms collide."""
        names, paired = self._around.names, self._rules.moving_pairs()
        return [
            (names[a], names[b])
            for (a, b), (count, _) in self._meeting.items()
            if not count and (a, b) not in paired
        ]

    def _between_robots(self) -> set[tuple[int, int]]:
        """Pairs of links of different robots that collide by their bits.

        Those of one robot do so only if the user wants it, which a note says.
        """
        around, paired = self._around, self._rules.moving_pairs()
        if around.self_collision:  # all pairs but those that are apart
            return set()
        found, unasked = set(), 0
        for (a, b), (count, of) in self._meeting.items():
            if not count or (a, b) in paired:
                continue
            if around.robots[a] == around.robots[b]:
                unasked += (a, b) not in around.neighbours
                continue
            found.add((a, b))
            if count < of:
                self._notes.add(
                    "all collision geometry of these bodies touches each other, although contype, "
                    "conaffinity or exclude says that some of it would not",
                    f"{around.names[a]} and {around.names[b]}",
                )
        if unasked and around.self_collision is None:
            self._notes.add(_UNASKED.format(unasked))
        return found


def _highest(several: Iterable[Friction | None]) -> Friction | None:
    """The highest of each coefficient of colliding geoms, None if there are none."""
    found = [friction for friction in several if friction is not None]
    return highest(found) if found else None


def _is_ground(p: PlacedGeom) -> bool:
    """Whether a geom is the plane z = 0, without surface velocity."""
    level = abs(p.place.R[2, 2] - 1) < _LEVEL and abs(p.place.p[2]) < _LEVEL
    return p.geom.kind == "plane" and level and not np.any(p.geom.surface)


def ground_contacts(body: Body, looks: Looks, corners: int) -> tuple[ContactPoint, ...]:
    """The contact points of a body's geometry that collides with the ground.

    Meshes have at most so many `corners`.
    """
    friction = {shape.name: shape.friction for shape in looks.grounded}
    return contacts_of([replace(body, collisions=tuple(looks.grounded))], friction, corners=corners)
