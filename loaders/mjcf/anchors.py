"""Places that other elements name: bodies, sites and joints, where they ended up here."""

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
        The link's, None for the world.
    place : Pose
        In the link's axes from its centre of mass; in the world for the world.
    world : Pose
        In the world, while all joints are at their reference.
    """

    link: int
    name: str | None
    place: Pose
    world: Pose

    def on(self, pose: Pose) -> Anchor:
        """Another frame of the same link, given in this one."""
        return Anchor(self.link, self.name, self.place @ pose, self.world @ pose)

    def as_place(self) -> Place:
        """The frame, as sensors and actuators have it."""
        return Place(self.name, self.place.p, quaternions.from_matrix(self.place.R))


class Anchors:
    """The bodies and sites of a model by name, as anchors.

    Parameters
    ----------
    bodies : sequence of TreeBody
    links : Links
    """

    def __init__(self, bodies: Sequence[TreeBody], links: Links) -> None:
        self.bodies: dict[str, Anchor] = {}
        self.sites: dict[str, Anchor] = {}
        worlds = links.world_places()
        for body, (link, place) in zip(bodies, links.of_body, strict=True):
            top = links.links[link]
            local = Pose(place.R, place.p - (top.inertial.center if link else np.zeros(3)))
            name = top.top.name if link else None
            anchor = Anchor(link, name, local, worlds[link] @ place)
            self.bodies[body.name] = anchor
            for site in body.sites:
                self.sites[site.name] = anchor.on(site.place)

    def body(self, node: Node, attribute: str) -> Anchor:
        """The body that an attribute names; the world if the attribute is not there."""
        if not node.has(attribute):
            return self.bodies[WORLD]
        return node.look_up(attribute, self.bodies, "body")

    def site(self, node: Node, attribute: str) -> Anchor:
        """The site that an attribute names."""
        return node.look_up(attribute, self.sites, "site")


@dataclass(frozen=True)
class Scalars:
    """Joints of the file by name, and which of them are joints of a single coordinate here.

    Attributes
    ----------
    specs : dict of str to Spec
    single : frozenset of str
    """

    specs: dict[str, Spec]
    single: frozenset[str]

    def get(self, node: Node, attribute: str) -> Spec:
        """The joint that an attribute names."""
        return node.look_up(attribute, self.specs, "joint")
