"""Places to which other elements refer: bodies, sites and joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.place import Place
from robosim.loaders.mjcf.joints import Spec
from robosim.loaders.mjcf.links import Links
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Pose
from robosim.loaders.mjcf.tree import WORLD, TreeBody

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Anchor:
    """A frame that is fixed to a link.

    Attributes
    ----------
    link : int
        0 for the world.
    name : str or None
        Name of the link, None for the world.
    place : Pose
        Pose in the link's axes from its centre of mass; in the world for the world.
    world : Pose
        Pose in the world with all joints at their reference.
    """

    link: int
    name: str | None
    place: Pose
    world: Pose

    def on(self, pose: Pose) -> Anchor:
        """Another frame of the same link, given relative to this one."""
        return Anchor(self.link, self.name, self.place @ pose, self.world @ pose)

    def as_place(self) -> Place:
        """The frame as a `Place` of sensors and actuators."""
        return Place(self.name, self.place.p, quaternions.from_matrix(self.place.R))


class Anchors:
    """The bodies, sites and cameras of a model as anchors, by name.

    Parameters
    ----------
    bodies : sequence of TreeBody
    links : Links
    """

    def __init__(self, bodies: Sequence[TreeBody], links: Links) -> None:
        self.of_body: list[Anchor] = []  # in the order of the bodies
        self.sites: dict[str, Anchor] = {}
        self.cameras: dict[str, Anchor] = {}
        worlds = links.world_places()
        for body, (link, place) in zip(bodies, links.of_body, strict=True):
            top = links.links[link]
            local = Pose(place.R, place.p - (top.inertial.center if link else np.zeros(3)))
            name = top.top.name if link else None
            anchor = Anchor(link, name, local, worlds[link] @ place)
            self.of_body.append(anchor)
            for site in body.sites:
                self.sites[site.name] = anchor.on(site.place)
            for camera in body.cameras:
                self.cameras[camera.name] = anchor.on(camera.place)
        names = [body.name for body in bodies]
        self.bodies = dict(zip(names, self.of_body, strict=True))

    def body(self, node: Node, attribute: str) -> Anchor:
        """The body in an attribute; the world without the attribute."""
        if not node.has(attribute):
            return self.bodies[WORLD]
        return node.look_up(attribute, self.bodies, "body")

    def site(self, node: Node, attribute: str) -> Anchor:
        """The site in an attribute."""
        return node.look_up(attribute, self.sites, "site")


@dataclass(frozen=True)
class Scalars:
    """Joints of the file by name, and those that are single joints with one coordinate here.

    Attributes
    ----------
    specs : dict of str to Spec
    single : frozenset of str
    """

    specs: dict[str, Spec]
    single: frozenset[str]

    def get(self, node: Node, attribute: str) -> Spec:
        """The joint in an attribute."""
        return node.look_up(attribute, self.specs, "joint")
