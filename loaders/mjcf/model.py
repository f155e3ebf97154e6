"""MJCF to Mechanism, composed of the results of the other modules.

The frame of an MJCF body is kept; a body's frame has the same axes, with its origin at the centre
of mass. Coordinates are those of MuJoCo's qpos, in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.body import Body, ContactPoint, Frame
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.description.obstacles import HalfSpace, obstacle_name
from robosim.description.ray_sensor import RaySensor
from robosim.description.sensor import Sensor
from robosim.errors import ModelError
from robosim.loaders.carriers import FREE_SHARE, GROUNDED_SHARE, TIED_SHARE
from robosim.loaders.home import at_home
from robosim.loaders.mjcf import ray_sensors
from robosim.loaders.mjcf.actuators import read_actuators
from robosim.loaders.mjcf.anchors import Anchors, Scalars
from robosim.loaders.mjcf.cameras import read_cameras
from robosim.loaders.mjcf.compiler import Compiler, Option
from robosim.loaders.mjcf.compliance import Rest, Solver
from robosim.loaders.mjcf.contacts import PlacedGeom, Rules, place_geoms
from robosim.loaders.mjcf.damping_ratios import with_damping
from robosim.loaders.mjcf.defaults import Defaults
from robosim.loaders.mjcf.equalities import Equalities, read_equalities, single_joints
from robosim.loaders.mjcf.files import Files
from robosim.loaders.mjcf.hfields import HeightFields
from robosim.loaders.mjcf.inertias import read_inertials
from robosim.loaders.mjcf.joints import (
    Spec,
    check_order,
    has_springdamper,
    keeps_height,
    make_joints,
    read_joint,
    runs,
    with_springdamper,
)
from robosim.loaders.mjcf.keyframes import read_keyframes, with_keyframes
from robosim.loaders.mjcf.limits import with_limit_springs
from robosim.loaders.mjcf.links import Link, find_links, with_base
from robosim.loaders.mjcf.meshes import Meshes
from robosim.loaders.mjcf.mocap import with_mocap
from robosim.loaders.mjcf.muscles import inertia_at, with_muscles
from robosim.loaders.mjcf.orientation import Pose
from robosim.loaders.mjcf.replicate import Expansion
from robosim.loaders.mjcf.scene import Scene, Springs, Surroundings, ground_contacts
from robosim.loaders.mjcf.sensors import Sensed, read_sensors
from robosim.loaders.mjcf.shapes import Materials
from robosim.loaders.mjcf.tendons import Tendons
from robosim.loaders.mjcf.tree import Tree
from robosim.loaders.mjcf.unread import note_unread
from robosim.loaders.options import LoadOptions

Array = NDArray[np.float64]
GROUND = obstacle_name(HalfSpace())  # the plane z = 0


def load_mjcf(path: Path, options: LoadOptions) -> Mechanism:
    """Load an MJCF file; see `robosim.load` for the options.

    Raises
    ------
    LoadError, ModelError
        For invalid or unsupported content; with file, line, element and value.
    """
    files = Files(path, options.package_dirs)
    try:
        return _Model(files, options).mechanism()
    except ModelError as error:
        if error.file is not None:
            raise
        raise error.in_file(path) from None


class _Model:
    """A file during its conversion to a mechanism."""

    def __init__(self, files: Files, options: LoadOptions) -> None:
        self.files, self.options, self.notes = files, options, files.notes
        self.springs: Springs | None = None
        root = files.read()
        note_unread(root, self.notes, options.mocap)
        self.compiler = Compiler.read(root, self.notes)
        self.option = Option.read(root, self.notes)
        self.root = Expansion(root, self.compiler.angles).root
        self.defaults = Defaults(self.root)
        meshes = Meshes(self.root, self.compiler, self.defaults, files)
        self.bodies = Tree(self.root, self.compiler, self.defaults, meshes, self.notes).bodies
        self.base_is_changed = with_base(self.bodies, options.floating_base)
        self.inertials = read_inertials(self.bodies, self.compiler)
        self.mocap = with_mocap(self.bodies, self.inertials, options.mocap)
        self.links = find_links(self.bodies, self.inertials)
        self._read_joints()

    def _read_joints(self) -> None:
        """Read joints, tendons, equalities and actuators."""
        read: dict[str, Spec] = {}
        names: list[list[str]] = []
        for link in self.links.links:
            specs = [
                read_joint(placed, self.compiler, self.option, self.notes)
                for placed in link.top.joints
            ]
            check_order(specs, link)
            read |= {spec.name: spec for spec in specs}
            names.append([spec.name for spec in specs])
        groups = [run for part in names for run in runs([read[name] for name in part])]
        self.scalars = scalars = Scalars(read, single_joints(groups))
        self.anchors = anchors = Anchors(self.bodies, self.links)
        self.placed = place_geoms(self.bodies, self.links)
        self.tendons = tendons = Tendons(
            self.root, self.compiler, self.option, self.defaults, anchors, scalars, self.placed
        )
        self.equalities = Equalities()
        if self.option.acts("equality", "constraint"):
            self.equalities = read_equalities(
                self.root, self.defaults, anchors, scalars, tendons, self.notes
            )
        self.actuation = read_actuators(
            self.root,
            self.compiler,
            self.defaults,
            anchors,
            scalars,
            tendons,
            self.links,
            self.notes,
        )
        ready = {name: self.actuation.moved_by(spec) for name, spec in tendons.specs.items()}
        self.specs = [[ready[name] for name in part] for part in names]

    def mechanism(self) -> Mechanism:
        """The mechanism of the file."""
        mechanism = self._with_springdampers(self._built())
        if not self.options.compliant:
            return mechanism
        robots = self.links.robots([(j.parent, j.child) for j in self.equalities.joints])
        own = {link.top.name: robot for link, robot in zip(self.links.links, robots, strict=True)}
        del own[self.links.links[0].top.name]
        rest = Rest.of(mechanism, self._reference(), own)
        solver = Solver.read(self.root)
        self.springs = Springs(solver, rest)
        nodes = {name: (node, 1.0) for name, node in self.tendons.nodes.items()}
        nodes |= {spec.name: (spec.node, 1.0) for specs in self.specs for spec in specs}
        nodes |= self.tendons.limiting
        return with_limit_springs(self._built(), self._reference(), nodes, solver, self.notes)

    def _with_springdampers(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism with the springs and dampers of `springdamper`, for the inertia felt."""
        if not any(has_springdamper(spec) for specs in self.specs for spec in specs):
            return mechanism
        # Inertia at a joint with all others free, as in MuJoCo.
        softness = np.diag(np.linalg.inv(inertia_at(mechanism, self._reference())))
        felt = dict(zip(mechanism.v_names, 1.0 / softness, strict=True))
        self.specs = [
            [
                self.actuation.moved_by(with_springdamper(self.tendons.specs[spec.name], felt))
                for spec in specs
            ]
            for specs in self.specs
        ]
        return self._built()

    def _built(self) -> Mechanism:
        """The mechanism with the present data of joints."""
        links = self.links.links
        centers = [np.zeros(3), *(link.inertial.center for link in links[1:])]
        scene = self._scene(centers, self.placed)
        touching = scene.pairs or scene.obstacles or self.options.self_collision
        share, held = TIED_SHARE, self.equalities
        if not (held.joints or held.couplings or held.tendons or touching):
            grounded = self.options.ground and any(looks.grounded for looks in scene.looks.values())
            share = GROUNDED_SHARE if grounded else FREE_SHARE
        bodies: list[Body] = []
        joints: list[Joint] = []
        contacts: list[ContactPoint] = []
        taken = {body.name for body in self.bodies} | set(self.scalars.specs)
        taken |= {site.name for body in self.bodies for site in body.sites}
        for index, link in enumerate(links[1:], start=1):
            carriers, chain = make_joints(
                self.specs[index],
                link,
                None if link.parent == 0 else links[link.parent].top.name,
                centers[link.parent],
                share,
                taken,
                self.notes,
            )
            looks = scene.looks[index]
            body = Body(
                name=link.top.name,
                mass=link.inertial.mass,
                inertia=link.inertial.inertia,
                frames=self._frames(index, centers[index]),
                visuals=tuple(looks.visuals),
                collisions=tuple(looks.collisions),
                gravity_compensation=self._compensation(link),
            )
            bodies += [*carriers, body]
            joints += [self._driven(joint) for joint in chain]
            if self.options.ground and body.name not in self.mocap.bodies:
                contacts += ground_contacts(body, looks, self.options.corners)
        sensors = self._sensors(joints, scene, bool(contacts))
        actuators = tuple(self.actuation.actuators)
        springs, tendons = self.tendons.elements(
            {name for actuator in actuators for name in actuator.gears}
            | {name for sensor in sensors for name in sensor.of}
        )
        mechanism = Mechanism(
            name=self.root.attributes.get("model", self.files.path.stem),
            bodies=tuple(bodies),
            joints=(*joints, *self.equalities.joints),
            contacts=tuple(contacts),
            source=str(self.files.path),
            package_dirs=tuple(os.fspath(folder) for folder in self.options.package_dirs),
            world_frames=self._frames(0, centers[0]),
            world_visuals=tuple(scene.looks[0].visuals),
            springs=tuple(springs),
            tendons=(*tendons, *self.equalities.tendons),
            couplings=tuple(self.equalities.couplings),
            obstacles=tuple(scene.obstacles),
            contact_pairs=tuple(p for p in scene.pairs if not self.mocap.bodies.issuperset(p)),
            excluded_pairs=(*scene.excluded, *self._unmet_by_mocap(scene)),
            configurations=self._configurations(),
            actuators=actuators,
            sensors=sensors,
            cameras=read_cameras(self.bodies, self.anchors, self.notes),
            effort_ranges=self._effort_ranges(),
        )
        mechanism = self.tendons.at_rest(mechanism, self._reference())
        mechanism = self.equalities.at_reference(mechanism, self._reference())
        mechanism = with_muscles(mechanism, self.actuation.muscles, self._reference(), self.notes)
        mechanism = with_damping(mechanism, self._reference())
        if mechanism.configurations:
            mechanism = with_keyframes(mechanism, self.root, self.actuation.slots,
                                       self.mocap.joints, self.notes)  # fmt: skip
        return at_home(mechanism, self._reference(), self.options, self.notes)

    def _unmet_by_mocap(self, scene: Scene) -> list[tuple[str, str]]:
        """Pairs of mocap bodies that move and obstacles: both are as if fixed to the world."""
        there = set(scene.excluded)
        found = [(body, obstacle_name(obstacle))
                 for body in sorted(self.mocap.bodies) for obstacle in scene.obstacles]  # fmt: skip
        return [pair for pair in found if pair not in there]

    def _driven(self, joint: Joint) -> Joint:
        """A joint with the effects of actuators and equalities."""
        names = joint.coordinate_names or (joint.name,) * joint.nv
        joint = replace(joint, actuated=[name in self.actuation.driven for name in names])
        joint = self.mocap.driven(joint)
        if joint.name in self.equalities.held:
            held = self.equalities.held[joint.name]
            return replace(joint, lower=(held,), upper=(held,))
        return joint

    def _sensors(
        self, joints: Sequence[Joint], scene: Scene, grounded: bool
    ) -> tuple[Sensor | RaySensor, ...]:
        names = scene.names | {id(p): GROUND for p in scene.floors}
        unmet = scene.unmet if grounded else [*scene.unmet, *(p.name for p in scene.floors)]
        rays = ray_sensors.Surroundings(self.anchors, self.bodies, self.placed, names, unmet)
        sensed = Sensed(
            self.anchors,
            self.scalars,
            self.tendons,
            self.actuation,
            self.links,
            self.inertials,
            self.placed,
            joints,
            rays,
        )
        return read_sensors(self.root, sensed, self.notes)

    def _scene(self, centers: Sequence[Array], placed: Sequence[PlacedGeom]) -> Scene:
        if not self.option.acts("contact", "constraint"):
            placed = [replace(p, geom=replace(p.geom, contype=0, conaffinity=0)) for p in placed]
        names = [link.top.name for link in self.links.links]
        tied = [(joint.parent, joint.child) for joint in self.equalities.joints]
        neighbours = {(link.parent, k) for k, link in enumerate(self.links.links)}
        neighbours |= {(min(k), max(k)) for k in
                       ([names.index(end) for end in ends if end] for ends in tied)}  # fmt: skip
        around = Surroundings(
            names,
            centers,
            self.links.carries,
            lambda link, normal: keeps_height(self.links, self.specs, link, normal),
            any(
                spec.type == "free" and spec.name not in self.mocap.joints
                for specs in self.specs
                for spec in specs
            ),
            self.links.robots(tied),
            neighbours,
            self.options.self_collision,
            self.springs,
        )
        return Scene(
            placed,
            around,
            Rules(self.root, self.defaults, placed, self.bodies),
            Materials(self.root, self.defaults),
            HeightFields(self.root, self.compiler, self.files),
            self.notes,
        )

    def _frames(self, index: int, center: Array) -> tuple[Frame, ...]:
        """The frames of a link: of its bodies, the topmost first, then of their sites."""
        bodies, sites = [], []
        names = {body.name for body in self.bodies}
        taken = names | {site.name for body in self.bodies for site in body.sites}
        for member, place in self.links.links[index].members:
            body = self.bodies[member]
            bodies.append(_frame(body.name, place, center))
            for site in body.sites:
                name = site.name
                if name in names:
                    name = free_name(f"site:{name}", taken)
                sites.append(_frame(name, place @ site.place, center))
        return (*bodies, *sites)

    def _effort_ranges(self) -> dict[str, tuple[float, float]]:
        """Ranges of the force of all actuators of a joint together, if limited."""
        driven, flat = self.actuation.driven, (spec for specs in self.specs for spec in specs)
        return {s.name: s.effort_range for s in flat if s.effort_range and s.name in driven}

    def _compensation(self, link: Link) -> float:
        """The part of a link's weight that its bodies have balanced."""
        parts = [
            (self.bodies[i].node.number("gravcomp", 0.0), self.inertials[i].mass)
            for i, _ in link.members
        ]
        found = {part for part, mass in parts if mass > 0}
        if len(found) == 1:
            return found.pop()
        self.notes.add(
            "the gravity compensation of bodies that are fixed to others acts at their common "
            "centre of mass",
            link.top.name,
        )
        return sum(part * mass for part, mass in parts) / sum(mass for _, mass in parts)

    def _configurations(self) -> dict[str, Array]:
        if self.base_is_changed and any(any(keys.children) for keys in self.root.all("keyframe")):
            self.notes.add("keyframes are left out, as floating_base changes what they hold")
            return {}
        flat = [spec for specs in self.specs for spec in specs]
        return read_keyframes(self.root, self._reference(), flat, self.mocap.joints)

    def _reference(self) -> Array:
        """MuJoCo's qpos0: the pose of the file."""
        q: list[float] = []
        for link, specs in zip(self.links.links, self.specs, strict=True):
            for spec in specs:
                match spec.type:
                    case "free":
                        q += [*link.place.p, *quaternions.from_matrix(link.place.R)]
                    case "ball":
                        q += quaternions.IDENTITY
                    case _:
                        q.append(spec.ref)
        return np.array(q)


def _frame(name: str, place: Pose, center: Array) -> Frame:
    return Frame(name, place.p - center, quaternions.from_matrix(place.R))
