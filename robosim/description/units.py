"""The units of a mechanism: the parts that nothing but contacts can connect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robosim.description.body import ContactPoint
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import obstacle_name
from robosim.description.soft import SoftMesh
from robosim.description.springs import Coupling, PointSpring
from robosim.description.surfaces import WORLD
from robosim.description.tendon import Tendon, Term


def units_of(robot: Mechanism) -> list[list[int]]:
    """Indices of the bodies of each unit, by their first bodies.

    Joints, springs, tendons, couplings, soft solids, actuators, and directions of friction that
    are fixed to another body connect bodies. The world does not connect them.
    """
    above = list(range(len(robot.bodies)))

    def root(b: int) -> int:
        while above[b] != b:
            above[b] = above[above[b]]
            b = above[b]
        return b

    index = {body.name: b for b, body in enumerate(robot.bodies)}
    for names in _ties(robot):
        known = [root(index[name]) for name in names if name is not None and name in index]
        for b in known:
            above[root(b)] = root(known[0])
    found: dict[int, list[int]] = {}
    for b in range(len(above)):
        found.setdefault(root(b), []).append(b)
    return sorted(found.values())


def _ties(robot: Mechanism) -> Iterator[list[str | None]]:
    """Names of bodies that belong together; the world's may be among them."""
    child_of = {name: joint.child for name, joint in _coordinates(robot)}
    child_of |= {joint.name: joint.child for joint in robot.joints}
    along = {tendon.name: _bodies_of(tendon, child_of) for tendon in robot.tendons}
    for joint in robot.joints:
        yield [joint.parent, joint.child]
    for spring in robot.springs:
        yield [spring.parent, spring.child]
    yield from along.values()
    for coupling in robot.couplings:
        yield [child_of[coupling.joint], child_of[coupling.source]]
    for mesh in robot.soft_meshes:
        yield list(mesh.bodies)
    for actuator in robot.actuators:
        tied: list[str | None] = [] if actuator.place is None else [actuator.place.body]
        for name in actuator.gears:
            tied += along.get(name) or [child_of[name]]
        yield tied
    for contact in robot.contacts:
        if contact.anisotropy is not None and contact.anisotropy.axes not in (None, WORLD):
            yield [contact.body, contact.anisotropy.axes]
    for body in robot.bodies:
        for shape in body.collisions:
            if shape.anisotropy is not None and shape.anisotropy.axes not in (None, WORLD):
                yield [body.name, shape.anisotropy.axes]
    for obstacle in robot.obstacles:
        # What is fixed to a body there is felt by all that touch it.
        if obstacle.anisotropy is not None and obstacle.anisotropy.axes not in (None, WORLD):
            yield [body.name for body in robot.bodies]


def _coordinates(robot: Mechanism) -> Iterator[tuple[str, Joint]]:
    """(name of a coordinate or velocity, its joint) of the tree."""
    for joint, q, v in zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False):
        for name in (*robot.q_names[q : q + joint.nq], *robot.v_names[v : v + joint.nv]):
            yield name, joint


def _bodies_of(tendon: Tendon, child_of: dict[str, str]) -> list[str | None]:
    """The bodies that a tendon moves."""
    terms = [child_of[one.coordinate] for one in tendon.path if isinstance(one, Term)]
    return [*tendon.bodies(), *terms]


def units_of_joints(robot: Mechanism, unit_of: Sequence[int]) -> list[int]:
    """The unit of each joint, spring and tendon, from that of each body."""
    child_of = {name: joint.child for name, joint in _coordinates(robot)}
    names = [joint.child for joint in robot.joints] + [one.child for one in robot.springs]
    names += [
        next(name for name in _bodies_of(tendon, child_of) if name is not None)
        for tendon in robot.tendons
    ]
    return [int(unit_of[robot.body_index(name)]) for name in names]


def may_touch(robot: Mechanism, unit_of: Sequence[int]) -> list[list[int]]:
    """For each body, the bodies of other units whose shapes it may touch."""
    index = {body.name: b for b, body in enumerate(robot.bodies)}
    solid = [bool(body.collisions) for body in robot.bodies]
    pairs = {(index[a], index[b]) for a, b in robot.contact_pairs}
    if robot.self_collision:
        apart = {frozenset(pair) for pair in robot.excluded_pairs}
        names = [body.name for body in robot.bodies]
        pairs |= {
            (a, b)
            for a in range(len(names))
            for b in range(a + 1, len(names))
            if frozenset((names[a], names[b])) not in apart
        }
    fixed = [robot.rigid_groups[body.name] is None for body in robot.bodies]
    found: list[set[int]] = [set() for _ in robot.bodies]
    for a, b in pairs:
        if unit_of[a] != unit_of[b] and solid[a] and solid[b] and not (fixed[a] and fixed[b]):
            found[a].add(b)
            found[b].add(a)
    return [sorted(others) for others in found]


class Division:
    """The parts of a mechanism that are made of some of its units.

    What elements belong to is looked up once, as worlds of many units have many elements.
    """

    def __init__(self, robot: Mechanism) -> None:
        self._robot = robot
        child_of = {name: joint.child for name, joint in _coordinates(robot)}
        child_of |= {joint.name: joint.child for joint in robot.joints}
        # By the first of their bodies, as the others are in the same part.
        self._of: dict[str, dict[str, list[Any]]] = {}
        for what in ("contacts", "springs", "couplings", "tendons", "soft_meshes", "actuators"):
            found = self._of[what] = {}
            for one in getattr(robot, what):
                found.setdefault(_owner(one, child_of, robot), []).append(one)
        for what in ("contact_pairs", "excluded_pairs"):
            found = self._of[what] = {}
            for pair in getattr(robot, what):
                for name in pair:
                    found.setdefault(name, []).append(pair)
        self._loops: dict[str, list[Joint]] = {}
        for joint in robot.loop_joints:
            self._loops.setdefault(joint.child, []).append(joint)
        self._efforts: dict[str, list[str]] = {}
        for name in robot.effort_ranges:
            self._efforts.setdefault(child_of[name], []).append(name)
        self._order = {
            what: {id(one): k for k, one in enumerate(getattr(robot, what))}
            for what in (*self._of, "joints")
        }

    def part(self, bodies: Iterable[int]) -> Mechanism:
        """The mechanism of some units alone, by the indices of their bodies, in the same world.

        Elements keep their names and order. Sensors and named configurations are left out.
        """
        robot, chosen = self._robot, sorted(bodies)
        names = {robot.bodies[b].name for b in chosen}
        obstacles = {obstacle_name(obstacle) for obstacle in robot.obstacles}
        loops = [joint for name in names for joint in self._loops.get(name, ())]
        home = np.asarray(robot.home)
        q = [home[robot.q_offsets[b] : robot.q_offsets[b + 1]] for b in chosen]
        elements: dict[str, Any] = {
            what: self._sorted(what, [one for name in names for one in found.get(name, ())])
            for what, found in self._of.items()
            if what not in ("contact_pairs", "excluded_pairs")
        }
        return replace(
            robot,
            **elements,
            name=f"{robot.name}: {robot.bodies[chosen[0]].name}",
            bodies=tuple(robot.bodies[b] for b in chosen),
            joints=(*(robot.tree_joints[b] for b in chosen), *self._sorted("joints", loops)),
            contact_pairs=self._pairs("contact_pairs", names, names),
            excluded_pairs=self._pairs("excluded_pairs", names, names | obstacles),
            effort_ranges={
                key: robot.effort_ranges[key]
                for name in names
                for key in self._efforts.get(name, ())
            },
            sensors=(),
            cameras=(),
            home=np.concatenate(q),
            configurations={},
            keyframes={},
            stance=None,
            warnings=(),
            as_given=True,
        )

    def _sorted(self, what: str, elements: Iterable[Any]) -> tuple[Any, ...]:
        """Elements in the order of the whole mechanism, each once."""
        order = self._order[what]
        return tuple(
            sorted({id(one): one for one in elements}.values(), key=lambda e: order[id(e)])
        )

    def _pairs(self, what: str, names: set[str], known: set[str]) -> tuple[tuple[str, str], ...]:
        """Pairs of known names that one of the names is in."""
        found = [pair for name in names for pair in self._of[what].get(name, ())]
        return self._sorted(what, [pair for pair in found if known.issuperset(pair)])


def _owner(element: Any, child_of: dict[str, str], robot: Mechanism) -> str:
    """The name of a body of the unit that an element belongs to."""
    if isinstance(element, ContactPoint):
        return element.body
    if isinstance(element, PointSpring):
        return element.child
    if isinstance(element, Coupling):
        return child_of[element.joint]
    names: list[str | None] = []
    if isinstance(element, Tendon):
        names = _bodies_of(element, child_of)
    elif isinstance(element, SoftMesh):
        names = list(element.bodies)
    elif element.place is not None:
        names = [element.place.body]
    else:
        along = {tendon.name: tendon for tendon in robot.tendons}
        for gear in element.gears:
            names += _bodies_of(along[gear], child_of) if gear in along else [child_of[gear]]
    return next((name for name in names if name is not None), robot.bodies[0].name)
