"""The tree of bodies, with frames merged into their content.

Bodies are visited depth first, as MuJoCo numbers them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from robosim.description.names import free_name
from robosim.loaders.mjcf.compiler import Compiler
from robosim.loaders.mjcf.defaults import Defaults
from robosim.loaders.mjcf.geoms import Geom, read_geom
from robosim.loaders.mjcf.meshes import Meshes
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Pose, pose
from robosim.loaders.notes import Notes

WORLD = "world"
NOT_READ = {
    "composite": "composite objects are left out",
    "flexcomp": "deformable objects (flexcomp) are left out",
    "plugin": "plugins are left out",
}


@dataclass(frozen=True)
class PlacedJoint:
    """A joint's element, with default class applied, and its frame in the body."""

    node: Node
    name: str
    frame: Pose


@dataclass(frozen=True)
class Site:
    """A named place on a body, or a camera there, and its element."""

    name: str
    place: Pose
    node: Node


@dataclass
class TreeBody:
    """A body of the file.

    Attributes
    ----------
    node : Node
    name : str
        Name in the file, or one from its number.
    parent : int
        Index of its parent; the world has index 0, and is its own parent.
    place : Pose
        Pose in its parent with all joints at their reference.
    inertial : (Node, Pose) or None
        The <inertial> element, and its frame.
    """

    node: Node
    name: str
    parent: int
    place: Pose
    inertial: tuple[Node, Pose] | None = None
    joints: list[PlacedJoint] = field(default_factory=list)
    geoms: list[Geom] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    cameras: list[Site] = field(default_factory=list)


class Tree:
    """All bodies of a model, the world first.

    Raises
    ------
    LoadError
        For duplicate names, and for invalid elements.
    """

    def __init__(
        self, root: Node, compiler: Compiler, defaults: Defaults, meshes: Meshes, notes: Notes
    ) -> None:
        self._compiler, self._defaults = compiler, defaults
        self._meshes, self._notes = meshes, notes
        self._taken: dict[str, set[str]] = {}
        # Names of the file first; generated names follow.
        self._named = {
            "body": {WORLD, *root.names("body")},
            "joint": root.names("joint", "freejoint"),
            "camera": root.names("camera"),
        }
        self.bodies = [TreeBody(root, WORLD, 0, Pose.identity())]
        for world in root.all("worldbody"):
            self._fill(0, world, Pose.identity(), world.attributes.get("childclass"))

    def _fill(self, index: int, node: Node, frame: Pose, childclass: str | None) -> None:
        """Add the content of an element to a body, in a frame of that body."""
        if childclass is not None:
            self._defaults.check(childclass, node)
        for child in node.children:
            match child.tag:
                case "body":
                    self._add_body(index, child, frame, childclass)
                case "frame":
                    inner = child.attributes.get("childclass", childclass)
                    here = frame @ pose(child, self._compiler.angles)
                    self._fill(index, child, here, inner)
                case "joint" | "freejoint":
                    self._add_joint(index, child, frame, childclass)
                case "geom":
                    geom = self._defaults.resolve(child, childclass)
                    if any(geom.all("plugin")):
                        self._notes.add(NOT_READ["plugin"], f"geom '{geom.name}'")
                    self._check_name(geom)
                    read = read_geom(geom, frame, self._compiler, self._meshes)
                    self.bodies[index].geoms.append(read)
                case "site":
                    self._add_site(index, self._defaults.resolve(child, childclass), frame)
                case "camera":
                    self._add_camera(index, self._defaults.resolve(child, childclass), frame)
                case "inertial":
                    self._add_inertial(index, child, frame)
                case "attach":
                    raise child.error("other models are not attached; include their bodies instead")
                case tag if tag in NOT_READ:
                    self._notes.add(NOT_READ[tag], child.name or child.label)
                case tag if tag != "light":
                    raise child.error(f"<{node.tag}> cannot hold this")

    def _add_body(self, parent: int, node: Node, frame: Pose, childclass: str | None) -> None:
        self._check_name(node)
        index = len(self.bodies)
        name = node.name or self._free_name("body", f"body{index}")
        place = frame @ pose(node, self._compiler.angles)
        self.bodies.append(TreeBody(node, name, parent, place))
        self._fill(index, node, Pose.identity(), node.attributes.get("childclass", childclass))

    def _add_joint(self, index: int, child: Node, frame: Pose, childclass: str | None) -> None:
        body = self.bodies[index]
        if index == 0:
            raise child.error("the world cannot have joints")
        if child.tag == "freejoint":
            # Default classes do not apply to it.
            node = replace(child, tag="joint", attributes={**child.attributes, "type": "free"})
        else:
            node = self._defaults.resolve(child, childclass)
        self._check_name(node)
        name = node.name or self._free_name("joint", f"{body.name}/joint{len(body.joints)}")
        body.joints.append(PlacedJoint(node, name, frame))

    def _add_site(self, index: int, node: Node, frame: Pose) -> None:
        self._check_name(node)
        if node.name:
            place = frame @ pose(node, self._compiler.angles)
            self.bodies[index].sites.append(Site(node.name, place, node))

    def _add_camera(self, index: int, node: Node, frame: Pose) -> None:
        self._check_name(node)
        count = sum(len(body.cameras) for body in self.bodies)
        name = node.name or self._free_name("camera", f"camera{count}")
        place = frame @ pose(node, self._compiler.angles)
        self.bodies[index].cameras.append(Site(name, place, node))

    def _add_inertial(self, index: int, node: Node, frame: Pose) -> None:
        if self.bodies[index].inertial is not None:
            raise node.error("the body has an <inertial> already")
        self.bodies[index].inertial = (node, frame)

    def _check_name(self, node: Node) -> None:
        taken = self._taken.setdefault(node.tag, set())
        if node.name in taken:
            raise node.error("the name is used twice")
        if node.name:
            taken.add(node.name)

    def _free_name(self, tag: str, wanted: str) -> str:
        name = free_name(wanted, self._named[tag])
        self._named[tag].add(name)
        return name
