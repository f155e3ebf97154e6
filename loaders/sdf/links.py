"""Links of SDF models: inertials, and everything that is fixed to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description import solids
from robosim.description.body import Geometry
from robosim.description.inertial import Inertial, merge
from robosim.description.obstacles import HalfSpace
from robosim.errors import ModelError
from robosim.loaders.assembly.groups import moved
from robosim.loaders.assembly.parts import Link
from robosim.loaders.gazebo import Extensions
from robosim.loaders.notes import Notes
from robosim.loaders.options import LoadOptions
from robosim.loaders.pose import Pose
from robosim.loaders.sdf.nodes import Node
from robosim.loaders.sdf.scopes import Scope
from robosim.loaders.sdf.shapes import Shapes

Array = NDArray[np.float64]

WATER = 1000.0  # [kg/m^3], the density of the format's <auto> inertias


class Links:
    """Converts links.

    Attributes
    ----------
    planes : list of (link, HalfSpace)
        In the frames of their links.
    extensions : Extensions
        Stiffness and damping of surfaces.
    """

    def __init__(self, options: LoadOptions, notes: Notes) -> None:
        self._options, self._notes = options, notes
        self.extensions = Extensions()
        self._shapes = Shapes(options, notes, self.extensions)
        self.planes: list[tuple[Link, HalfSpace]] = []

    def read(self, node: Node, name: str, place: Pose, scope: Scope) -> Link:
        """The link of a <link> at a pose in the world.

        Raises
        ------
        LoadError
            For what is wrong with its inertial or its collisions.
        """
        link = Link(name, place, node.refusal)
        own = scope.pose(node.name(), node)
        if node.flag("kinematic"):
            raise node.refusal("<kinematic> links, which others cannot move, are not simulated")
        if not node.flag("gravity", True):
            link.gravity_compensation = 1.0
        solid: list[tuple[Geometry, float]] = []
        inertial = node.one("inertial")
        density = WATER if inertial is None else inertial.number("density", WATER, least=0.0)
        per_shape: list[list[Geometry]] = []
        for child in node.all("collision"):
            shapes = self._shapes.collision(child, self._place(child, own, scope), name)
            planes = [shape for shape in shapes if isinstance(shape, HalfSpace)]
            self.planes += [(link, plane) for plane in planes]
            kept = [shape for shape in shapes if isinstance(shape, Geometry)]
            per_shape.append([replace(shape, name=f"{name}/{child.name()}") for shape in kept])
            heavy = child.number("density", density, least=0.0)
            solid += [(shape, heavy) for shape in kept]
        link.collisions = _link_named(per_shape, name)
        for child in node.all("visual"):
            link.visuals += self._shapes.visual(child, self._place(child, own, scope), name)
        link.inertial = self._inertial(node, inertial, solid)
        return link

    def _place(self, node: Node, own: Pose, scope: Scope) -> Pose:
        """The pose of a collision or visual in its link's frame."""
        pose, base = node.pose()
        if not base or node.version < (1, 7):
            return pose
        return own.inverse() @ scope.pose(base, node) @ pose

    def _inertial(
        self, node: Node, inertial: Node | None, solid: list[tuple[Geometry, float]]
    ) -> Inertial:
        if inertial is None:
            self._notes.add(
                "links without <inertial> have the format's 1 kg and 1 kg m^2", node.name()
            )
            return Inertial(1.0, np.zeros(3), np.eye(3))
        if inertial.one("fluid_added_mass") is not None:
            raise inertial.refusal("<fluid_added_mass> is not simulated")
        if inertial.truth(inertial.attribute("auto") or "false"):
            return self._automatic(inertial, solid)
        mass = inertial.number("mass", 1.0, least=0.0)
        pose, base = inertial.pose()
        if base:
            raise inertial.refusal(f"the pose of an inertial is relative to its link, not '{base}'")
        matrix = inertial.one("inertia")
        if matrix is None:
            return Inertial(mass, pose.p, np.eye(3))
        values = {
            tag: matrix.number(tag, 1.0 if tag[1] == tag[2] else 0.0)
            for tag in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        }
        J = np.array(
            [
                [values["ixx"], values["ixy"], values["ixz"]],
                [values["ixy"], values["iyy"], values["iyz"]],
                [values["ixz"], values["iyz"], values["izz"]],
            ]
        )
        J = pose.R @ J @ pose.R.T
        if mass == 0:
            if np.any(J):
                self._notes.add(
                    "links with an inertia and no mass are taken as links without mass",
                    node.name(),
                )
            return Inertial(0.0, pose.p, np.zeros((3, 3)))
        return Inertial(mass, pose.p, (J + J.T) / 2)

    def _automatic(self, inertial: Node, solid: list[tuple[Geometry, float]]) -> Inertial:
        """That of the collision shapes, of even density."""
        if not solid:
            raise inertial.refusal("auto='true' needs a <collision> with a volume")
        parts = []
        for shape, density in solid:
            try:
                one = solids.solid(shape)
            except ModelError as error:
                raise inertial.refusal(f"auto='true': {error}") from None
            place = Pose(
                quaternions.rotation_matrix(np.asarray(shape.quaternion)),
                np.asarray(shape.position),
            )
            part = Inertial(density * one.volume, one.center, density * one.inertia)
            parts.append(moved(part, place))
        return merge(parts)


def _link_named(per_shape: list[list[Geometry]], link: str) -> list[Geometry]:
    """The shapes of a link, all by its name where they have one friction."""
    shapes = [shape for part in per_shape for shape in part]
    if len({shape.friction for shape in shapes}) > 1:
        return shapes
    return [replace(shape, name=link) for shape in shapes]
