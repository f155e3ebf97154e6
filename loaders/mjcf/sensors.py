"""<sensor>: named readings, if the simulation has the quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robosim.description.inertial import Inertial, merge
from robosim.description.joint import Joint
from robosim.description.names import free_name
from robosim.description.ray_sensor import RaySensor
from robosim.description.sensor import KINDS, Part, Sensor, Zone
from robosim.loaders.mjcf.actuators import Actuation
from robosim.loaders.mjcf.anchors import Anchor, Anchors, Scalars
from robosim.loaders.mjcf.contacts import PlacedGeom
from robosim.loaders.mjcf.links import Links, moved
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Pose, from_to
from robosim.loaders.mjcf.ray_sensors import TAG, Surroundings, read_depth_cameras, read_rangefinder
from robosim.loaders.mjcf.tendons import Tendons
from robosim.loaders.notes import Notes

_OBJECTS = ("body", "xbody", "geom", "site", "camera")
_VOLUMES = ("sphere", "capsule", "ellipsoid", "cylinder", "box")
_ABOUT_AXES = ("framequat", "framexaxis", "frameyaxis", "framezaxis")
# Attributes of the kinds of sensors that are read.
_READ = frozenset(
    ("name", "class", "joint", "tendon", "actuator", "site", "body", "objtype", "objname",
     "reftype", "refname", "cutoff", "noise", "user", "delay", "interval", "nsample", "interp",
     "group", "camera", "data")
)  # fmt: skip
_NOT_THERE = "sensors of what a simulation here does not have are left out"
_NO_AXES = (
    "sensors of cameras that follow something, and of the axes of inertias and of meshes, are left "
    "out"
)


@dataclass(frozen=True)
class Sensed:
    """Objects to which sensors refer, from the other sections.

    Attributes
    ----------
    anchors, scalars, tendons, actuation, links
    inertials : sequence of Inertial
        Inertial of each body of the file, in its frame.
    geoms : sequence of PlacedGeom
    joints : sequence of Joint
        Joints of the mechanism.
    rays : Surroundings
        For sensors with rays.
    """

    anchors: Anchors
    scalars: Scalars
    tendons: Tendons
    actuation: Actuation
    links: Links
    inertials: Sequence[Inertial]
    geoms: Sequence[PlacedGeom]
    joints: Sequence[Joint]
    rays: Surroundings


def read_sensors(root: Node, sensed: Sensed, notes: Notes) -> tuple[Sensor | RaySensor, ...]:
    """The sensors of a model; those that cannot be read are noted.

    Raises
    ------
    LoadError
        For a duplicate name, or a reference to an unknown name.
    """
    reader = _Reader(root, sensed)
    found: dict[str, Sensor | RaySensor] = {}
    own = {node.name for section in root.all("sensor") for node in section.children}
    for section in root.all("sensor"):
        for index, node in enumerate(section.children):
            name = node.name or free_name(f"{node.tag}{index}", own | set(found))
            if name in found:
                raise node.error(f"the name '{name}' is used twice")
            strange = ", ".join(
                f"'{key}' of <{node.tag}>" for key in node.attributes.keys() - _READ
            )
            if strange and node.tag in KINDS:
                notes.add("MJCF has no such attributes, so they are not read", strange)
            timed = [np.any(node.some_numbers(what, 0.0)) for what in ("delay", "interval")]
            if any(timed) and node.tag != TAG:
                notes.add("sensors answer at every knot and at once", name)
            if node.tag == TAG:
                finder = read_rangefinder(node, name, sensed.rays, notes)
                if isinstance(finder, str):
                    notes.add(finder, f"{node.tag} '{name}'")
                else:
                    found[name] = finder
                continue
            about = reader.about(node) if node.tag in KINDS else _NOT_THERE
            if isinstance(about, str):
                notes.add(about, f"{node.tag} '{name}'")
            else:
                cutoff = node.number("cutoff", 0.0)
                found[name] = Sensor(name, node.tag, cutoff=cutoff, **about)
    found |= read_depth_cameras(sensed.rays, found, notes)
    return tuple(found.values())


class _Reader:
    """Finds the object of a sensor: fields of Sensor, or the reason for its omission."""

    def __init__(self, root: Node, sensed: Sensed) -> None:
        self._sensed = sensed
        sections = (node for section in root.all("actuator") for node in section.children)
        self._actuators = {node.name: node for node in sections}
        self._geoms = {p.geom.node.name: p for p in sensed.geoms if p.geom.node.name}

    def about(self, node: Node) -> dict[str, Any] | str:
        """The fields of a sensor of a known kind."""
        kind = node.tag
        if kind == "clock":
            return {}
        if kind.startswith(("joint", "ball")):
            return self._joint(node, kind)
        if kind.startswith("tendon"):
            node.look_up("tendon", {**self._sensed.tendons.fixed, **self._sensed.tendons.spatial},
                         "tendon")  # fmt: skip
            fixed = self._sensed.tendons.fixed.get(node.text("tendon"))
            if fixed is None:
                return {"of": {self._sensed.tendons.spatial[node.text("tendon")].name: 1.0}}
            return {"of": fixed.coefficients}
        if kind.startswith("actuator"):
            return self._actuator(node, kind)
        if kind.startswith("subtree"):
            return self._subtree(node)
        if kind.startswith("frame"):
            return self._frame(node, kind)
        site = self._sensed.anchors.site(node, "site")
        if kind in ("force", "torque"):
            owner = next(
                body.name
                for body in self._sensed.links.bodies
                for other in body.sites
                if other.name == node.text("site")
            )
            carried = self._carried(owner)
            return carried if isinstance(carried, str) else {"place": site.as_place(), **carried}
        return {"place": site.as_place(), **({"zone": self._zone(node)} if kind == "touch" else {})}

    def _joint(self, node: Node, kind: str) -> dict[str, Any] | str:
        spec = self._sensed.scalars.get(node, "joint")
        if kind.startswith("ball"):
            balls = [joint.name for joint in self._sensed.joints if joint.has_quaternion]
            there = spec.type == "ball" and spec.name in balls
        else:
            there = spec.type in ("hinge", "slide")
        return {"of": {spec.name: 1.0}} if there else _NOT_THERE

    def _actuator(self, node: Node, kind: str) -> dict[str, Any] | str:
        node.look_up("actuator", self._actuators, "actuator")
        actuators = self._sensed.actuation.actuators
        gears = next((a.gears for a in actuators if a.name == node.text("actuator")), None)
        if not gears or any(isinstance(gear, tuple) for gear in gears.values()):
            return _NOT_THERE
        if kind != "actuatorfrc":
            return {"of": gears}
        # Torque of the joint, if only this actuator contributes to it.
        joint, gear = next(iter(gears.items()))
        alone = len(gears) == 1 and sum(joint in a.gears for a in actuators) == 1
        if not alone or isinstance(gear, tuple) or gear == 0:
            return _NOT_THERE
        return {"of": {joint: 1 / gear}}

    def _subtree(self, node: Node) -> dict[str, Any] | str:
        node.look_up("body", self._sensed.anchors.bodies, "body")
        below = self._below(node.text("body"))
        return below if isinstance(below, str) else {"bodies": below}

    def _below(self, body: str) -> tuple[str, ...] | str:
        """Names of the bodies of a subtree."""
        links = self._sensed.links.links
        top = self._sensed.anchors.bodies[body].link
        if body != links[top].top.name or top == 0:
            return "sensors of a part of what moves as one are left out"
        return self._with_descendants({top})

    def _with_descendants(self, found: set[int]) -> tuple[str, ...]:
        """Names of some links and of all that they carry."""
        links = self._sensed.links.links
        for index, link in enumerate(links):
            if index and link.parent in found:
                found.add(index)
        return tuple(links[index].top.name for index in sorted(found))

    def _carried(self, name: str) -> dict[str, Any] | str:
        """All that a body's parent carries by it: bodies, and a part of the parent's own link."""
        links, bodies = self._sensed.links, self._sensed.links.bodies
        here = self._sensed.anchors.bodies[name].link
        link = links.links[here]
        if here == 0:
            return "sensors of what does not move are left out"
        if name == link.top.name:
            below = self._below(name)
            return below if isinstance(below, str) else {"bodies": below}
        inside: set[int] = set()
        for index, body in enumerate(bodies):
            if body.name == name or (index and body.parent in inside):
                inside.add(index)
        own = [
            moved(self._sensed.inertials[index], place)
            for index, place in link.members
            if index in inside
        ]
        whole = merge(own)
        part = Part(
            whole.mass,
            whole.center - link.inertial.center,
            whole.inertia,
            tuple({p.name: None for p in self._sensed.geoms if p.body in inside}),
        )
        carried = {
            index
            for index, other in enumerate(links.links)
            if index and bodies[other.members[0][0]].parent in inside
        }
        return {"bodies": self._with_descendants(carried), "part": part}

    def _frame(self, node: Node, kind: str) -> dict[str, Any] | str:
        place = self._anchor(node, "obj", with_axes=kind in _ABOUT_AXES)
        if place is None:
            return _NO_AXES
        if not node.has("refname"):
            return {"place": place.as_place()}
        reference = self._anchor(node, "ref", with_axes=True)
        if reference is None:
            return _NO_AXES
        return {"place": place.as_place(), "reference": reference.as_place()}

    def _anchor(self, node: Node, role: str, *, with_axes: bool) -> Anchor | None:
        """The frame of `objtype` or `reftype` and the name; None if it is not supported."""
        kind, name = node.choice(f"{role}type", _OBJECTS, ""), f"{role}name"
        anchors = self._sensed.anchors
        if kind == "site":
            return anchors.site(node, name)
        if kind == "camera":
            anchor = node.look_up(name, anchors.cameras, "camera")
            bodies = self._sensed.links.bodies
            camera = next(c for b in bodies for c in b.cameras if c.name == node.text(name))
            return anchor if camera.node.attributes.get("mode", "fixed") == "fixed" else None
        if kind in ("body", "xbody"):
            anchor = anchors.body(node, name)
            if kind == "xbody":
                return anchor
            index = list(anchors.bodies).index(node.text(name))
            center = Pose(np.eye(3), self._sensed.inertials[index].center)
            return None if with_axes else anchor.on(center)
        if kind == "geom":
            placed: PlacedGeom = node.look_up(name, self._geoms, "geom")
            anchor, geom = list(anchors.bodies.values())[placed.body], placed.geom
            if geom.mesh is None:
                return anchor.on(geom.place)
            shifted = Pose(np.eye(3), geom.mesh.mass_properties.center)
            return None if with_axes else anchor.on(geom.place @ shifted)
        return None

    def _zone(self, node: Node) -> Zone:
        """The volume of a sensor's site."""
        name = node.text("site")
        sites: Mapping[str, Node] = {
            site.name: site.node for body in self._sensed.links.bodies for site in body.sites
        }
        site = sites[name]
        size = site.some_numbers("size", (0.005, 0.005, 0.005), fill=True)
        kind = site.choice("type", _VOLUMES, "sphere")
        if site.has("fromto"):
            ends = from_to(site)
            half = float(np.linalg.norm(ends[1] - ends[0])) / 2
            size[1 if kind in ("capsule", "cylinder") else 2] = half
        return Zone(kind, (float(size[0]), float(size[1]), float(size[2])))
