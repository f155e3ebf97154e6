"""From an assembly to the mechanism."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description import geometry
from robosim.description.body import Body, Frame
from robosim.description.inertial import Inertial
from robosim.description.joint import Joint
from robosim.description.keyframe import Keyframe
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.description.obstacles import AnyShape, TriangleMesh, obstacle_name
from robosim.description.springs import Coupling
from robosim.description.tendon import Point, Tendon
from robosim.errors import LoadError
from robosim.loaders import carriers, placement
from robosim.loaders import inertials as checked
from robosim.loaders.assembly.groups import Group, find_groups, find_tree
from robosim.loaders.assembly.joints import coordinates, end_of, joint_of
from robosim.loaders.assembly.pairs import with_pairs
from robosim.loaders.assembly.parts import Assembly, Cord, Link, Tie
from robosim.loaders.contacts import contacts_of
from robosim.loaders.home import at_home
from robosim.loaders.joints import ROOT_NAMES
from robosim.loaders.options import LoadOptions
from robosim.loaders.pose import Pose

Array = NDArray[np.float64]

TARGETS = "targets"
"""Of the configuration and the keyframe that have the controls of the file."""


def mechanism_of(assembly: Assembly, options: LoadOptions) -> Mechanism:
    """The mechanism of an assembly; see `robosim.load` for the options.

    Raises
    ------
    LoadError, ModelError
        For names used twice, joints that contradict each other, masses that are negative, and
        whatever `Joint`, `Body` and `Mechanism` refuse.
    """
    return _Builder(assembly, options).mechanism()


class _Builder:
    """An assembly on its way to a mechanism."""

    def __init__(self, assembly: Assembly, options: LoadOptions) -> None:
        self.assembly, self.options, self.notes = assembly, options, assembly.notes
        self._check_names()
        self._hold_base()
        self.groups = find_groups(assembly.links, assembly.ties)
        self._put_into_world()
        moving = {id(group): group for group in self.groups.values()}
        self.merged = {key: group.inertial() for key, group in moving.items()}
        self.tree = find_tree(assembly.links, self.groups, assembly.ties)
        # Groups may have other topmost links now.
        self.merged = {key: group.inertial() for key, group in moving.items()}

    def _check_names(self) -> None:
        for elements in (self.assembly.links, self.assembly.ties):
            seen: set[str] = set()
            for one in elements:
                if one.name in seen:
                    raise one.refusal("the name is used twice")
                seen.add(one.name)
        names = [link.name for link in self.assembly.links]
        for tie in self.assembly.ties:
            for end in (tie.parent, tie.child):
                if end is not None and end not in set(names):
                    raise tie.refusal(f"link '{end}' does not exist", names)
            if tie.parent == tie.child:
                which = "the world" if tie.parent is None else f"'{tie.parent}'"
                raise tie.refusal(f"joins {which} with itself")

    def _hold_base(self) -> None:
        """Fix or release the base, as the user wants it."""
        assembly, wanted = self.assembly, self.options.floating_base
        held = [tie for tie in assembly.ties if _holds(tie)]
        if wanted is None:
            return
        if wanted:
            groups = find_groups(assembly.links, assembly.ties)
            tree = find_tree(assembly.links, groups, assembly.ties)
            if tree.roots and not held:
                return
            if len(held) != 1:
                raise LoadError(
                    f"floating_base=True needs one link that a fixed joint holds in the world, not "
                    f"{len(held)}",
                    file=assembly.source,
                    alternatives=[tie.child or str(tie.parent) for tie in held],
                )
            assembly.ties.remove(held[0])
            return
        groups = find_groups(assembly.links, assembly.ties)
        for root in find_tree(assembly.links, groups, assembly.ties).roots:
            if not root.top.static:
                name = self._free(ROOT_NAMES[False])
                assembly.ties.append(_held(name, root.top))

    def _free(self, wanted: Sequence[str]) -> str:
        taken = {tie.name for tie in self.assembly.ties}
        free = [name for name in wanted if name not in taken]
        return free[0] if free else free_name(wanted[0], taken)

    def _put_into_world(self) -> None:
        """Make a part of the world of all groups that are static, or hang on nothing without mass.

        Where nothing can move, they stay bodies, which are fixed.
        """
        assembly = self.assembly
        parts = list({id(group): group for group in self.groups.values()}.values())
        held = {tie.child or tie.parent for tie in assembly.ties if _holds(tie)}
        tree = find_tree(assembly.links, self.groups, assembly.ties)
        roots = {id(group) for group in tree.roots}
        still: list[Group] = []
        for group in parts:
            if any(link.static for link in group.links):
                still.append(group)
            elif group.inertial().mass == 0:
                if any(link.name in held for link in group.links):
                    still.append(group)
                elif id(group) in roots:
                    still.append(group)
                    self.notes.add(
                        "links without mass that hang on nothing are taken as fixed to the world",
                        group.top.name,
                    )
        kept = [group for group in parts if group not in still]
        moves = any(tie.kind != "fixed" for tie in tree.ties) or any(
            group not in still for group in tree.roots
        )
        if not kept or not moves:
            self._nothing_moves(still, kept)
            return
        gone: dict[str, Pose] = {}
        for group in still:
            at = group.top.place
            for link in group.links:
                gone[link.name] = at @ group.places[link.name]
                self._in_world(link, gone[link.name], kept)
                del self.groups[link.name]
        assembly.links = [link for link in assembly.links if link.name not in gone]
        ties = []
        cords = []
        for cord in assembly.cords:
            ends = [
                (None, (gone[link] @ Pose(np.eye(3), p)).p) if link in gone else (link, p)
                for link, p in (cord.first, cord.second)
            ]
            cords.append(replace(cord, first=ends[0], second=ends[1]))
        assembly.cords = cords
        for tie in assembly.ties:
            if tie.parent in gone:
                tie = replace(tie, parent=None, first=gone[tie.parent] @ tie.first)
            if tie.child in gone:
                tie = replace(tie, child=None, second=gone[tie.child] @ tie.second)
            if tie.parent is None and tie.child is None:
                if tie.kind != "fixed":
                    self.notes.add("joints between things that cannot move are left out", tie.name)
                continue
            ties.append(tie)
        assembly.ties = ties

    def _nothing_moves(self, still: Sequence[Group], kept: Sequence[Group]) -> None:
        assembly = self.assembly
        if not assembly.links:
            raise LoadError("has no link", file=assembly.source)
        held = {tie.child or tie.parent for tie in assembly.ties if None in (tie.parent, tie.child)}
        for group in (*still, *kept):
            if not any(link.name in held for link in group.links):
                assembly.ties.append(_held(self._free((f"{group.top.name}_fixed",)), group.top))
        self.notes.add("nothing in it can move")

    def _in_world(self, link: Link, place: Pose, kept: Sequence[Group]) -> None:
        """Make frames, visuals and obstacles of a link.

        The base of a robot is an obstacle for other robots only.
        """
        frames = {link.name: Pose.identity(), **link.frames}
        self.assembly.frames += [(name, place @ there) for name, there in frames.items()]
        E = geometry.pose(place.p, quaternions.from_matrix(place.R))
        assembly = self.assembly
        assembly.visuals += [geometry.placed(shape, E) for shape in link.visuals]
        own: list[str] = []
        met: list[str] = []
        for group in kept:
            same = not link.static and group.top.robot == link.robot
            (own if same else met).append(group.top.name)
        if not met:
            return
        taken = {one.name for one in assembly.links} - {link.name}
        taken |= {obstacle_name(one) for one in assembly.obstacles}
        for shape in link.collisions:
            name = free_name(shape.name, taken)
            taken.add(name)
            assembly.apart += [(name, body) for body in own]
            shape = replace(geometry.placed(shape, E), name=name)
            assembly.obstacles.append(_terrain(shape))

    def mechanism(self) -> Mechanism:
        """The mechanism."""
        assembly, options = self.assembly, self.options
        joints: list[Joint] = []
        bodies = [self._body(group) for group in self._ordered()]
        taken = {tie.name for tie in assembly.ties}
        for root in self.tree.roots:
            name = self._root_name(root, taken)
            taken.add(name)
            joints.append(
                Joint(
                    name=name,
                    kind="floating",
                    parent=None,
                    child=root.top.name,
                    child_position=-self.merged[id(root)].center,
                )
            )
        joints += [joint_of(tie, self.groups, self.merged) for tie in self.tree.ties]
        joints += [
            joint_of(tie, self.groups, self.merged, closes=True)
            for tie in self.tree.loops
            if not self._is_idle(tie)
        ]
        mechanism = Mechanism(
            name=assembly.name,
            bodies=tuple(bodies),
            joints=tuple(self._in_order(joints)),
            source=assembly.source,
            world_frames=tuple(_frame(*named) for named in assembly.frames),
            world_visuals=tuple(assembly.visuals),
            couplings=tuple(self._couplings(joints)),
            obstacles=tuple(assembly.obstacles),
            excluded_pairs=tuple(self._apart()),
            actuators=tuple(assembly.actuators),
            tendons=tuple(self._tendon(cord) for cord in assembly.cords),
        )
        mechanism = self._with_contacts(mechanism)
        mechanism = at_home(mechanism, self._reference(mechanism), options, self.notes)
        if assembly.targets:
            mechanism = replace(
                mechanism,
                configurations={TARGETS: np.asarray(mechanism.home)},
                keyframes={TARGETS: Keyframe(controls=assembly.targets)},
            )
        warnings: list[str] = []
        mechanism = carriers.united(mechanism, warnings)
        tied = bool(options.self_collision or mechanism.obstacles or mechanism.contact_pairs)
        mechanism = carriers.with_masses(mechanism, tied, warnings)
        named = (os.fspath(folder) for folder in options.package_dirs)
        folders = dict.fromkeys([*named, *assembly.package_dirs])
        return replace(
            mechanism, package_dirs=tuple(folders), warnings=(*mechanism.warnings, *warnings)
        )

    def _root_name(self, root: Group, taken: set[str]) -> str:
        """`floating_base`, or with the name of the link where there are several."""
        if len(self.tree.roots) > 1:
            return free_name(f"{root.top.name}_{ROOT_NAMES[True][0]}", taken)
        free = [name for name in ROOT_NAMES[True] if name not in taken]
        return free[0] if free else free_name(ROOT_NAMES[True][0], taken)

    def _ordered(self) -> list[Group]:
        ordered = (self.groups[link.name] for link in self.assembly.links)
        return list({id(group): group for group in ordered}.values())

    def _in_order(self, joints: Sequence[Joint]) -> list[Joint]:
        """Joints of the tree in the order in which the file has their links, then the loops."""
        n = len(self.tree.roots) + len(self.tree.ties)
        order = {link.name: k for k, link in enumerate(self.assembly.links)}
        named = {tie.name: k for k, tie in enumerate(self.assembly.ties)}
        tree = sorted(joints[:n], key=lambda j: (named.get(j.name, -1), order[j.child]))
        return [*tree, *joints[n:]]

    def _is_idle(self, tie: Tie) -> bool:
        """Whether a joint that closes a loop is a second fixed one into the world."""
        if tie.kind != "fixed" or tie.parent is not None:
            return False
        raise tie.refusal("holds a link in the world that another joint already holds there")

    def _body(self, group: Group) -> Body:
        top, inertial = group.top, self.merged[id(group)]
        center = inertial.center
        frames = []
        for link in group.links:
            place = group.places[link.name]
            frames.append(_frame(link.name, Pose(place.R, place.p - center)))
        for link in group.links:
            place = group.places[link.name]
            for name, there in link.frames.items():
                own = place @ there
                frames.append(_frame(name, Pose(own.R, own.p - center)))
        visuals, collisions = [], []
        for link in group.links:
            place = group.places[link.name]
            E = geometry.pose(place.p - center, quaternions.from_matrix(place.R))
            visuals += [geometry.placed(shape, E) for shape in link.visuals]
            collisions += [geometry.placed(shape, E) for shape in link.collisions]
        for link in group.links:
            if link.mass < 0:
                raise link.refusal(f"mass must not be negative, not {link.mass:g}")
        if inertial.mass == 0:
            return carriers.massless(top.name, frames, visuals, collisions)
        inertial = self._held_inertial(group, inertial)
        lifted = sum(link.mass * link.gravity_compensation for link in group.links)
        return Body(
            name=top.name,
            mass=inertial.mass,
            inertia=inertial.inertia,
            frames=tuple(frames),
            visuals=tuple(visuals),
            collisions=tuple(collisions),
            gravity_compensation=lifted / inertial.mass,
        )

    def _held_inertial(self, group: Group, inertial: Inertial) -> Inertial:
        held = any(
            tie.parent is None and tie.kind == "fixed" and tie.child in group.places
            for tie in self.tree.ties
        )
        if not held:
            return inertial
        told: list[str] = []
        inertial = checked.of_what_stays(group.top.name, inertial, told)
        for sentence in told:
            self.notes.add(sentence)
        return inertial

    def _couplings(self, joints: Sequence[Joint]) -> list[Coupling]:
        n = len(self.tree.roots) + len(self.tree.ties)
        known = {joint.name: joint for joint in joints[:n]}
        found = []
        for gear in self.assembly.gears:
            for name in (gear.joint, gear.source):
                joint = known.get(name)
                if joint is None or joint.nv != 1:
                    raise gear.refusal(
                        f"couples '{name}', which is no joint of one coordinate in the tree",
                        [other.name for other in known.values() if other.nv == 1],
                    )
            found.append(Coupling(gear.name, gear.joint, gear.source, gear.ratio, gear.offset))
        return found

    def _tendon(self, cord: Cord) -> Tendon:
        points = []
        for link, position in (cord.first, cord.second):
            body, place = end_of(link, Pose(np.eye(3), position), self.groups, self.merged)
            points.append(Point(body, place.p))
        return Tendon(cord.name, tuple(points), lower=cord.lower, upper=cord.upper)

    def _reference(self, mechanism: Mechanism) -> Array:
        """q (nq,) at the poses of the file."""
        poses: dict[str | None, tuple[Array, Array]] = {None: (np.eye(3), np.zeros(3))}
        for body in mechanism.bodies:
            group = self.groups[body.name]
            place = group.top.place
            poses[body.name] = place.R, place.p + place.R @ self.merged[id(group)].center
        q = []
        for joint in mechanism.tree_joints:
            own, fits = coordinates(joint, poses)
            if not fits:
                self.notes.add(
                    "the poses of the file are not ones that these joints allow, and are not kept",
                    joint.name,
                )
            q.append(own)
        return np.concatenate(q) if q else np.zeros(0)

    def _apart(self) -> list[tuple[str, str]]:
        """Pairs of bodies that do not collide by the file."""
        names = {link.name: self.groups[link.name].top.name for link in self.assembly.links}
        obstacles = {obstacle_name(one): obstacle_name(one) for one in self.assembly.obstacles}
        names = obstacles | names
        found = []
        for a, b in self.assembly.apart:
            if a in names and b in names and names[a] != names[b]:
                found.append((names[a], names[b]))
        return list(dict.fromkeys(found))

    def _with_contacts(self, mechanism: Mechanism) -> Mechanism:
        """With ground contact, and pairs that collide by the file."""
        assembly, options = self.assembly, self.options
        if options.ground and self._has_ground(mechanism):
            still = placement.fixed_to_world(mechanism.bodies, mechanism.joints)
            moving = [body for body in mechanism.bodies if body.name not in still]
            friction = {
                shape.name: min(shape.friction, assembly.ground or np.inf)
                for body in moving
                for shape in body.collisions
            }
            contacts = contacts_of(moving, friction, options.friction, options.corners)
            mechanism = replace(mechanism, contacts=contacts)
            if mechanism.floating_base and not contacts:
                self.notes.add("has no collision geometry: the ground will not hold it")
        return with_pairs(mechanism, self.assembly, self.groups, self.options.self_collision)

    def _has_ground(self, mechanism: Mechanism) -> bool:
        if not self.assembly.world or self.assembly.ground is not None:
            return True
        return bool(self.tree.roots) and not mechanism.obstacles


def _holds(tie: Tie) -> bool:
    """Whether a joint fixes a link to the world."""
    return tie.kind == "fixed" and None in (tie.parent, tie.child)


def _held(name: str, link: Link) -> Tie:
    """A fixed joint between the world and a link, where the file has it."""
    return Tie(name, "fixed", None, link.name, link.place, Pose.identity(), link.refusal)


def _frame(name: str, pose: Pose) -> Frame:
    return Frame(name, pose.p, quaternions.from_matrix(pose.R))


def _terrain(shape: geometry.Geometry) -> AnyShape:
    """A shape of the world; a mesh keeps its hollows."""
    if shape.kind != "mesh":
        return shape
    return TriangleMesh(
        shape,
        friction=shape.friction,
        restitution=shape.restitution,
        anisotropy=shape.anisotropy,
        stiffness=shape.stiffness,
        dissipation=shape.dissipation,
    )
