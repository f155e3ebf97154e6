"""What the checks of a model look at: its file, the robot, and quantities of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from robosim.description.body import Body, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, RobosimError, StateError
from robosim.referee.doctor.document import Document
from robosim.validation import Array

if TYPE_CHECKING:
    from robosim.simulation import Simulation

FLAT = 1e-9  # [m^3], a hull of less volume is flat


class Hull:
    """The convex hull of the shapes of a body: what its mass can be in.

    Parameters
    ----------
    points : (n, 3) [m], in body axes from the centre of mass

    Attributes
    ----------
    points : (k, 3) [m], corners of the hull
    planes : (m, 4), normals and offsets, ``n . x + d <= 0`` inside
    volume : float [m^3]
    center : (3,) [m]
        Centre of the volume.
    moments : (3, 3) [m^2]
        Inertia per mass about `center`, of a body of one density.
    size : float [m]
        Diagonal of the box around the points.
    """

    def __init__(self, points: Array) -> None:
        from robosim.description.qhull import hull_of
        from robosim.description.solids import convex_hull

        hull = hull_of(points)
        self.points: Array = points[hull.vertices]
        self.planes: Array = hull.equations
        solid = convex_hull(self.points)
        self.volume = float(solid.volume)
        self.center: Array = solid.center
        self.moments: Array = solid.inertia / solid.volume
        self.size = float(np.linalg.norm(np.ptp(points, axis=0)))

    def beyond(self, point: Array) -> float:
        """How far a point (3,) [m] is outside, at least; negative inside."""
        return float((self.planes[:, :3] @ point + self.planes[:, 3]).max())

    def largest_moment(self, axis: Array) -> float:
        """The largest inertia per mass [m^2] about an axis (3,) through the origin."""
        along = self.points @ axis
        return float(((self.points**2).sum(axis=1) - along**2).max())


@dataclass(frozen=True, eq=False)
class Case:
    """A model as it is examined.

    Attributes
    ----------
    robot : Mechanism or None
        None if the file cannot be loaded.
    document : Document
    """

    robot: Mechanism | None
    document: Document

    @property
    def model(self) -> Mechanism:
        """The robot; only for checks of a robot that was loaded."""
        assert self.robot is not None
        return self.robot

    @cached_property
    def hulls(self) -> dict[str, Hull]:
        """Hulls of the shapes of bodies, for those whose shapes have a volume."""
        found = {}
        for body in self.model.bodies:
            shapes = body.visuals or body.collisions
            points = [corners(shape) for shape in shapes]
            if not points:
                continue
            whole = np.concatenate(points)
            try:
                hull = Hull(whole)
            except (ModelError, ValueError):
                continue
            if hull.volume > FLAT * hull.size:
                found[body.name] = hull
        return found

    @cached_property
    def home(self) -> Array:
        """The home coordinates (nq,)."""
        return np.asarray(self.model.home, dtype=float)

    @cached_property
    def mobility(self) -> Array | None:
        """The inverse of the mass matrix (nv, nv) at home, without loops; None if it has none."""
        from robosim.dynamics import Dynamics

        try:
            mass = Dynamics(self.model).mass_matrix(self.home)
            return np.asarray(np.linalg.inv(mass))
        except (RobosimError, np.linalg.LinAlgError):
            return None

    @cached_property
    def begins(self) -> bool:
        """Whether a simulation finds a start at which all loops close."""
        from robosim.simulation import Simulation

        try:
            Simulation(self.model, islands=False)
        except StateError:
            return False
        except RobosimError:
            return True  # another fault, which others tell
        return True

    @cached_property
    def touching(self) -> Simulation | None:
        """A simulation in which bodies can touch that no joint connects and no file excludes."""
        from robosim.simulation import Simulation

        robot = self.model
        names = {body.name for body in robot.bodies}
        plain = replace(
            robot,
            contact_pairs=(),
            excluded_pairs=tuple(pair for pair in robot.excluded_pairs if names.issuperset(pair)),
            self_collision=True,
            obstacles=(),
        )
        try:
            return Simulation(plain, islands=False)
        except RobosimError:
            return None

    def coordinates(self) -> list[tuple[str, Joint, int]]:
        """Name, joint and number in its joint of each coordinate of the tree (nv)."""
        numbered = [(joint, k) for joint in self.model.tree_joints for k in range(joint.nv)]
        return [
            (name, joint, k) for name, (joint, k) in zip(self.model.v_names, numbered, strict=False)
        ]


def corners(shape: Geometry) -> Array:
    """Points (n, 3) [m] of a shape's surface, in body axes, whose hull is that of the shape."""
    from robosim import quaternions
    from robosim.viz.shapes import triangles

    if shape.kind == "mesh":
        assert shape.vertices is not None
        points = np.asarray(shape.vertices, dtype=float)
    else:
        points = np.asarray(triangles(shape).positions, dtype=float)
    turn = quaternions.rotation_matrix(np.asarray(shape.quaternion))
    return np.asarray(points @ turn.T + np.asarray(shape.position))


def moving(case: Case) -> list[Body]:
    """Bodies with a mass of their own that can move."""
    rigid = case.model.rigid_groups
    return [body for body in case.model.bodies if not body.carrier and rigid[body.name] is not None]
