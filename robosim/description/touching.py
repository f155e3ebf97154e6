"""Contacts between the bodies and obstacles of two mechanisms that are combined."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from robosim import quaternions
from robosim.description.body import Body, Geometry
from robosim.description.obstacles import AnyShape, HalfSpace, obstacle_name
from robosim.description.poses import body_poses
from robosim.description.rigid import floating_bases
from robosim.description.whole import W, Whole, changed
from robosim.errors import ModelError, StateError
from robosim.validation import Array

Pair = tuple[str, str]
CHOICES = ("all", "none")
LEFT_OUT = "contacts leave out what overlaps at home"  # with which a warning of them begins


@dataclass(frozen=True)
class Side:
    """Elements of a mechanism that may touch others, by name.

    Attributes
    ----------
    bodies, solid, obstacles : tuple of str
        All bodies, those with collision geometry, and obstacles.
    self_collision : bool
    robot : Mechanism or None
    """

    bodies: tuple[str, ...] = ()
    solid: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()
    self_collision: bool = False
    robot: Whole | None = None

    @classmethod
    def of(cls, robot: Whole) -> Side:
        """The `Side` of a mechanism."""
        return cls(
            tuple(body.name for body in robot.bodies),
            tuple(body.name for body in robot.bodies if body.collisions),
            tuple(dict.fromkeys(map(obstacle_name, robot.obstacles))),
            robot.self_collision,
            robot,
        )

    @cached_property
    def inner(self) -> tuple[Pair, ...]:
        """Pairs of bodies that may touch each other."""
        return () if self.robot is None else _inner(self.robot)

    @cached_property
    def touches_itself(self) -> bool:
        """Whether all pairs that can touch each other are allowed to."""
        if self.robot is None or self.self_collision:
            return True
        whole = _inner(changed(self.robot, self_collision=True))
        return set(map(frozenset, whole)) <= set(map(frozenset, self.inner))


def _inner(robot: Whole) -> tuple[Pair, ...]:
    """Pairs of bodies of a mechanism that may touch."""
    names = [body.name for body in robot.bodies]
    pairs = [(names[a], names[b]) for (a, _), (b, _) in robot.touching_shapes()
             if a is not None and b is not None]  # fmt: skip
    return tuple(dict.fromkeys(pairs))


def with_contact(
    joined: W, first: Side, second: Side, contact: str | Iterable[Pair], mounted: Sequence[Pair]
) -> W:
    """A combined mechanism, with contacts between its two parts.

    Parameters
    ----------
    joined : Mechanism
    first, second : Side
        The two mechanisms before they were combined, with their new names.
    contact : "all", "none" or pairs of names
    mounted : sequence of pairs of bodies
        Pairs at a mount, which do not touch unless they are requested.

    Raises
    ------
    ModelError
        For an invalid word, an unknown name, or a pair within one of the two mechanisms.
    """
    if isinstance(contact, str):
        if contact not in CHOICES:
            raise ModelError(
                f"contact cannot be '{contact}'", alternatives=(*CHOICES, "pairs of names")
            )
        mounted = mounted if contact == "all" else ()
        wanted = _all_pairs(joined, first, second) if contact == "all" else []
        out = {frozenset(pair) for pair in mounted}
        wanted = [pair for pair in wanted if frozenset(pair) not in out]
        joined = _listed(joined, mounted, "contacts leave out what a mount joins")
    else:
        wanted = _asked(joined, first, second, contact)
    joined = _touching(joined, first, second, wanted, contact == "all")
    return _without_overlaps(joined, wanted) if contact == "all" else joined


def _all_pairs(joined: Whole, first: Side, second: Side) -> list[Pair]:
    """Pairs that can touch: two bodies, or an obstacle and a body, in this order."""
    group = joined.rigid_groups
    bodies = product(first.solid, second.solid)
    pairs = [(a, b) for a, b in bodies if group[a] != group[b]]
    pairs += [(o, b) for o, b in product(first.obstacles, second.solid) if group[b] is not None]
    pairs += [(o, a) for o, a in product(second.obstacles, first.solid) if group[a] is not None]
    return pairs


def _asked(joined: W, first: Side, second: Side, contact: Iterable[Pair]) -> list[Pair]:
    """The requested pairs, with names of bodies in place of those of frames."""
    sides = [{*one.bodies, *one.obstacles} for one in (first, second)]
    solid = {*first.solid, *second.solid, *first.obstacles, *second.obstacles}
    obstacles = {*first.obstacles, *second.obstacles}
    found: list[Pair] = []
    for pair in contact:
        if isinstance(pair, str) or len(pair) != 2:
            raise ModelError(f"contact must be pairs of names, not {pair!r}", alternatives=CHOICES)
        element = f"contact {tuple(pair)}"
        names = [_name(joined, name, obstacles, element) for name in pair]
        if not any(names[0] in a and names[1] in b for a, b in (sides, sides[::-1])):
            raise ModelError(
                "must be of a body of the one and a body of the other mechanism; "
                "`with_contacts` takes pairs of one",
                element=element,
            )
        for name in names:
            if name not in solid:
                raise ModelError(f"body '{name}' has no collision geometry", element=element)
        if names[1] in obstacles:
            names.reverse()
        if names[1] in obstacles:
            raise ModelError("obstacles do not move, and cannot touch each other", element=element)
        found.append((names[0], names[1]))
    return found


def _name(joined: Whole, name: str, obstacles: Collection[str], element: str) -> str:
    if name in obstacles and all(body.name != name for body in joined.bodies):
        return name
    try:
        return joined.bodies[joined.body_or_frame(name)[0]].name
    except ModelError as error:
        raise ModelError(
            error.reason, element=element, alternatives=error.alternatives, wanted=error.wanted
        ) from None


def _touching(joined: W, first: Side, second: Side, wanted: Sequence[Pair], everything: bool) -> W:
    """The mechanism with the wanted pairs; other pairs of an obstacle and a body are excluded."""
    obstacles = {*first.obstacles, *second.obstacles}
    every = [pair for pair in _all_pairs(joined, first, second) if pair[0] in obstacles]
    apart = [pair for pair in every if pair not in wanted]
    pairs = [pair for pair in wanted if pair[0] not in obstacles]
    sides = (first, second)
    flag = any(one.self_collision for one in sides)
    within: list[Pair] = []
    if flag and everything and all(one.touches_itself for one in sides):
        pairs = []
    else:
        # Not all pairs may touch within one of the two, or between them: pairs are listed instead.
        within = [pair for one in sides if one.self_collision for pair in one.inner]
        flag = False
    return changed(
        joined,
        self_collision=flag,
        contact_pairs=tuple(dict.fromkeys((*joined.contact_pairs, *within, *pairs))),
        excluded_pairs=(*joined.excluded_pairs, *apart),
    )


def _listed(joined: W, pairs: Sequence[Pair], told: str) -> W:
    if not pairs:
        return joined
    listed = ", ".join(f"{a} - {b}" for a, b in pairs)
    return changed(joined, warnings=(*joined.warnings, f"{told}: {listed}"))


def _without_overlaps(joined: W, wanted: Sequence[Pair]) -> W:
    """Exclude those of the wanted pairs that overlap at home, with a warning that lists them.

    Obstacles count if joints connect the body to the world, as it may be unable to leave them.
    """
    near = _near(joined, wanted)
    if not near:
        return joined
    bodies = {body.name for body in joined.bodies}
    kept = {pair[0] for pair in near}
    probe = changed(
        joined,
        joints=joined.tree_joints,
        **dict.fromkeys(
            ("contacts", "springs", "couplings", "tendons", "actuators", "sensors", "cameras"), ()
        ),
        effort_ranges={},
        stance=None,
        obstacles=tuple(one for one in joined.obstacles if obstacle_name(one) in kept),
        self_collision=False,
        contact_pairs=tuple(pair for pair in near if pair[0] in bodies),
    )
    # A simulation's kernels find what overlaps; most robots are joined without asking them.
    from robosim.overlaps import overlapping_pairs

    asked = set(map(frozenset, near))
    try:
        pairs = overlapping_pairs(probe)  # type: ignore[arg-type]  # a Whole is a Mechanism
        found = [pair for pair in pairs if frozenset(pair) in asked]
    except (ModelError, StateError) as error:
        told = f"contacts may overlap at home, where no simulation can start: {error}"
        return changed(joined, warnings=(*joined.warnings, told))
    out = set(map(frozenset, found))
    gone = [pair for pair in wanted if frozenset(pair) in out]
    joined = changed(
        joined,
        contact_pairs=tuple(p for p in joined.contact_pairs if frozenset(p) not in out),
        excluded_pairs=(*joined.excluded_pairs, *gone),
    )
    return _listed(joined, gone, LEFT_OUT)


def _near(joined: Whole, wanted: Sequence[Pair]) -> list[Pair]:
    """Pairs whose shapes may overlap at home, by their bounding spheres."""
    poses = body_poses(joined.tree_joints, np.asarray(joined.home))
    free = floating_bases(joined.tree_joints)
    bodies = {body.name: body for body in joined.bodies}
    balls = {name: _balls(body, *poses[name]) for name, body in bodies.items()}
    things: dict[str, list[AnyShape]] = {}
    for obstacle in joined.obstacles:
        things.setdefault(obstacle_name(obstacle), []).append(obstacle)
    found = []
    for a, b in wanted:
        if a in bodies:
            if _meet(balls[a], balls[b]):
                found.append((a, b))
        elif b not in free and any(_reaches(one, balls[b]) for one in things[a]):
            found.append((a, b))
    return found


def _balls(body: Body, R: Array, x: Array) -> Array:
    """Centres and radii (n, 4) of bounding spheres of a body's collision shapes, world."""
    found = [
        (*(x + R @ centre), radius)
        for centre, radius in (_ball(shape) for shape in body.collisions)
    ]
    return np.array(found).reshape(-1, 4)


def _ball(shape: Geometry) -> tuple[Array, float]:
    size, centre = shape.size, np.asarray(shape.position)
    match shape.kind:
        case "box":
            return centre, float(np.linalg.norm(size)) / 2
        case "sphere":
            return centre, size[0]
        case "cylinder" | "cone":
            return centre, float(np.hypot(size[0], size[1] / 2))
        case "capsule":
            return centre, size[0] + size[1] / 2
        case "ellipsoid":
            return centre, max(size)
    vertices = np.asarray(shape.vertices)
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    R = quaternions.rotation_matrix(np.asarray(shape.quaternion))
    reach = float(np.linalg.norm(vertices - middle, axis=1).max(initial=0.0))
    return centre + R @ middle, reach


def _meet(a: Array, b: Array) -> bool:
    apart = np.linalg.norm(a[:, None, :3] - b[None, :, :3], axis=2)
    return bool(np.any(apart < a[:, None, 3] + b[None, :, 3]))


def _reaches(obstacle: AnyShape, balls: Array) -> bool:
    if isinstance(obstacle, HalfSpace):
        heights = (balls[:, :3] - np.asarray(obstacle.point)) @ np.asarray(obstacle.normal)
        return bool(np.any(heights < balls[:, 3]))
    if isinstance(obstacle, Geometry):
        centre, radius = _ball(obstacle)
        return _meet(np.array([(*centre, radius)]), balls)
    return len(balls) > 0
