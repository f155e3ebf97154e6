"""SDF to Mechanism, composed of the results of the other modules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.description.obstacles import obstacle_name
from robosim.errors import ModelError
from robosim.loaders import gazebo
from robosim.loaders.assembly import Assembly, mechanism_of
from robosim.loaders.notes import Notes
from robosim.loaders.options import LoadOptions
from robosim.loaders.pose import Pose
from robosim.loaders.sdf.files import Files
from robosim.loaders.sdf.joints import Joints, Place
from robosim.loaders.sdf.links import Links
from robosim.loaders.sdf.nodes import Node, unread
from robosim.loaders.sdf.scopes import FRAME, JOINT, LINK, MODEL, NESTED, WORLD, Named, Scope

_GRAVITY = (0.0, 0.0, -9.81)
_LEVEL = 1e-9
_DEEPEST = 50  # nesting of models


def load_sdf(path: Path, options: LoadOptions) -> Mechanism:
    """Load an SDF file; see `robosim.load` for the options.

    Raises
    ------
    LoadError, ModelError
        For invalid or unsupported content; with file, line, element and value.
    """
    notes = Notes()
    files = Files(options.package_dirs, notes)
    try:
        return _Reader(files, options).mechanism(files.open(path))
    except ModelError as error:
        if error.file is not None:
            raise
        raise error.in_file(path) from None


@dataclass
class _Robot:
    """A model of the world: what its links belong to."""

    name: str
    static: bool
    collides: bool


class _Reader:
    """A file during its conversion to a mechanism."""

    def __init__(self, files: Files, options: LoadOptions) -> None:
        self.files, self.options, self.notes = files, options, files.notes
        self.links = Links(options, self.notes)
        self.joints = Joints()
        self.places: dict[str, Pose] = {}

    def mechanism(self, root: Node) -> Mechanism:
        """The mechanism of a file."""
        worlds, models = root.all("world"), root.all("model")
        if len(worlds) > 1 or (worlds and models):
            raise root.refusal(
                f"has {len(worlds)} <world> and {len(models)} <model>, not one world or some models"
            )
        if not worlds and not models:
            raise root.refusal("has neither a <world> nor a <model>")
        top = worlds[0] if worlds else root
        scope = Scope(top, is_world=True)
        self._fill(scope, ())
        self._name(scope)
        self.assembly = assembly = Assembly(
            name=top.name() if worlds else models[0].name(),
            source=str(root.source.path),
            notes=self.notes,
            world=bool(worlds),
        )
        if worlds:
            self._world(worlds[0])
        self._read_links(scope, Pose.identity(), None)
        self._read_joints(scope, Pose.identity())
        self.joints.gearboxes()
        assembly.ties, assembly.gears = self.joints.ties, self.joints.gears
        self._read_planes()
        finders = self.files.finders
        assembly.package_dirs = [str(folder) for finder in finders for folder in finder.used]
        for finder in finders:
            for sentence in finder.warnings():
                self.notes.add(sentence)
        if ignored := unread(self.files.roots, self.files.read):
            self.notes.add(ignored)
        mechanism = mechanism_of(assembly, self.options)
        return gazebo.with_springs(mechanism, self.links.extensions)

    def _fill(self, scope: Scope, above: tuple[Path, ...]) -> None:
        """Read the names and poses of everything in a model or a world."""
        node = scope.node
        if len(above) > _DEEPEST:
            raise node.refusal(f"models that are nested deeper than {_DEEPEST} are not read")
        for child in node.all("link", "joint", "frame", "model", "include"):
            if child.tag == "include":
                self._include(scope, child, above)
                continue
            name = child.name()
            if scope.is_world and child.tag == LINK:
                raise child.refusal("a link must be in a <model>")
            if name == WORLD and child.tag == LINK and not self._is_link(scope, child):
                continue
            pose, base = child.pose()
            if child.tag == LINK:
                named = Named(LINK, child, pose, base or MODEL)
            elif child.tag == JOINT:
                named = Named(JOINT, child, pose, base or child.word("child"), child.word("child"))
            elif child.tag == FRAME:
                attached = child.attribute("attached_to") or MODEL
                named = Named(FRAME, child, pose, base or attached, attached)
            else:
                self._nest(
                    scope, name, child, pose, base, child.attribute("placement_frame"), above
                )
                continue
            scope.add(name, named)

    def _is_link(self, scope: Scope, child: Node) -> bool:
        """Whether a link called `world` is one, as in old files; without any content it is not."""
        if child.version >= (1, 7):
            raise child.refusal("the name 'world' is that of the world")
        if len(child.element):
            self.notes.add("'world' is a link of its model, not the world", scope.node.where)
            return True
        self.notes.add("links called 'world' are the world", scope.node.where)
        return False

    def _nest(
        self,
        scope: Scope,
        name: str,
        node: Node,
        pose: Pose,
        base: str,
        placement: str | None,
        above: tuple[Path, ...],
    ) -> Scope:
        scope.add(name, Named(NESTED, node, pose, base or MODEL, placement or ""))
        inner = Scope(node, canonical=node.attribute("canonical_link") or "")
        scope.nested[name] = inner
        self._fill(inner, (*above, node.source.path))
        return inner

    def _include(self, scope: Scope, include: Node, above: tuple[Path, ...]) -> None:
        """Read a model of another file, with the name, pose and rest that the <include> says."""
        if include.truth(include.attribute("merge") or "false"):
            raise include.refusal("merge='true' is not read; without it the model is nested")
        root = self.files.included(include)
        if root.source.path in above or root.source.path == include.source.path:
            raise include.refusal(f"includes itself: {root.source.path}")
        models = root.all("model")
        if len(models) != 1:
            raise include.refusal(f"{root.source.path} has {len(models)} models, not one")
        model = models[0]
        name = include.word("name", "") or model.name()
        pose, base = model.pose()
        placement = model.attribute("placement_frame")
        base = ""
        if include.one("pose") is not None:
            pose, base = include.pose()
        told = include.one("placement_frame")
        if told is not None and told.text:
            if include.one("pose") is None:
                raise include.refusal("a <placement_frame> needs a <pose> of that frame")
            placement = told.text
        inner = self._nest(scope, name, model, pose, base, placement, above)
        if include.one("static") is not None:
            inner.static = include.flag("static")

    def _name(self, world: Scope) -> None:
        """Give scopes their prefixes: none of the only model of the world that moves."""
        moving = [name for name, one in world.nested.items() if not _is_static(one)]
        alone = moving if len(moving) == 1 else list(world.nested)
        if len(alone) > 1:
            alone = []
        stack = [
            (scope, "" if name in alone else f"{name}::") for name, scope in world.nested.items()
        ]
        while stack:
            scope, prefix = stack.pop()
            scope.prefix = prefix
            stack += [(one, f"{scope.prefix}{name}::") for name, one in scope.nested.items()]

    def _world(self, node: Node) -> None:
        for tag in ("population", "road"):
            for one in node.all(tag):
                raise one.refusal(f"<{tag}> is not read")
        gravity = node.vector("gravity", 3, _GRAVITY)
        if np.abs(gravity - _GRAVITY).max() > 0.02:
            self.notes.add(
                f"gravity of the file is {gravity.tolist()} m/s^2; give it to the simulation, "
                "whose default is 9.81 downward"
            )

    def _read_links(self, scope: Scope, world: Pose, robot: _Robot | None) -> None:
        """Read the links of a scope, whose pose in the world is given."""
        node = scope.node
        for one in node.all("drake:joint"):
            raise one.refusal("joints of Drake are not read in an SDF")
        for name, named in scope.named.items():
            place = world @ scope.pose(name, named.node)
            if named.kind == LINK:
                assert robot is not None
                link = self.links.read(named.node, scope.prefix + name, place, scope)
                link.robot, link.static = robot.name, robot.static
                link.collides = named.node.flag("self_collide", robot.collides)
                self.assembly.links.append(link)
                self.places[link.name] = place
            elif named.kind == NESTED:
                inner = scope.nested[name]
                below = inner.node
                own = _Robot(
                    robot.name if robot else name,
                    _is_static(inner) or bool(robot and robot.static),
                    below.flag("self_collide", bool(robot and robot.collides)),
                )
                self._read_links(inner, place, own)
        for name, named in scope.named.items():
            if named.kind == FRAME:
                self._read_frame(scope, name, named, world)

    def _read_frame(self, scope: Scope, name: str, named: Named, world: Pose) -> None:
        place = world @ scope.pose(name, named.node)
        link = scope.link(name, named.node)
        if link is None:
            self.assembly.frames.append((scope.prefix + name, place))
            return
        for one in self.assembly.links:
            if one.name == link:
                one.frames[scope.prefix + name] = one.place.inverse() @ place

    def _read_joints(self, scope: Scope, world: Pose) -> None:
        for name, named in scope.named.items():
            node = named.node
            if named.kind == NESTED:
                self._read_joints(scope.nested[name], world @ scope.pose(name, node))
            elif named.kind == JOINT:
                parent, child = (self._end(scope, node, tag) for tag in ("parent", "child"))
                frame = world @ scope.pose(name, node)
                place = Place(scope, frame, world, parent, child)
                self.joints.read(node, scope.prefix + name, place, self.places)

    def _end(self, scope: Scope, node: Node, tag: str) -> str | None:
        """The link of an end of a joint, None for the world."""
        told = node.word(tag)
        if told == WORLD and WORLD not in scope.named:
            return None
        return scope.link(told, node.needed(tag))

    def _read_planes(self) -> None:
        """Planes of links that cannot move: the ground, or obstacles."""
        assembly = self.assembly
        held = {tie.child for tie in assembly.ties if tie.kind == "fixed" and tie.parent is None}
        taken = {link.name for link in assembly.links}
        for link, plane in self.links.planes:
            if not (link.static or link.name in held):
                raise link.refusal("has a plane, and so must be static, as planes have no end")
            place = link.place
            plane = replace(
                plane,
                normal=place.R @ np.asarray(plane.normal),
                point=place.p + place.R @ np.asarray(plane.point),
                anisotropy=None,
            )
            level = np.asarray(plane.normal)[2] > 1 - _LEVEL
            if level and abs(np.asarray(plane.point)[2]) < _LEVEL:
                known = np.inf if assembly.ground is None else assembly.ground
                assembly.ground = min(known, plane.friction)
                continue
            name = free_name(link.name, taken | {obstacle_name(one) for one in assembly.obstacles})
            assembly.obstacles.append(replace(plane, name=name))


def _is_static(scope: Scope) -> bool:
    return scope.node.flag("static") if scope.static is None else scope.static
