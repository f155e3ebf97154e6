"""The ground of a robot: surfaces that look up, and how high they are at a place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.body import Body
from robosim.description.geometry import Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import AnyShape, HalfSpace, HeightField, TriangleMesh
from robosim.description.polytopes import convex_hull
from robosim.description.soft import SoftMesh
from robosim.rays.scene import Scene
from robosim.validation import Array

DOWN, UP = (0.0, 0.0, -1.0), (0.0, 0.0, 1.0)


class Ground:
    """What a robot walks on: the plane z = 0 of its contact points, and its obstacles.

    Triangles count where they look up, and meshes of shapes as their convex hulls, as contacts have
    them. A robot with neither contact points nor obstacles is over the plane z = 0.

    Parameters
    ----------
    robot : Mechanism

    Raises
    ------
    ModelError
        For a mesh that has no hull.
    """

    def __init__(self, robot: Mechanism) -> None:
        planes = [one for one in robot.obstacles if isinstance(one, HalfSpace)]
        if robot.contacts or not robot.obstacles:
            planes.append(HalfSpace())
        # Others have nothing to stand on. These look up, and reach as high as places are far away.
        self._obstacles = robot.obstacles  # as long as they exist, they keep their numbers
        self._planes = [plane for plane in planes if np.asarray(plane.normal)[2] > 0.0]
        self._scene = _scene_of(one for one in robot.obstacles if not isinstance(one, HalfSpace))
        if self._scene is not None:
            shapes = [target.geometry for target in self._scene.targets]
            solid = [one for one in shapes if not isinstance(one, SoftMesh)]
            self._top = max(map(_highest, solid)) + 1.0

    def heights(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Heights [m] of the highest surface at places x, y [m] of any shape, world axes.

        A height is -inf where there is none.
        """
        x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        found = np.full(x.shape, -np.inf)
        for plane in self._planes:
            normal, point = np.asarray(plane.normal), np.asarray(plane.point)
            slopes = normal[:2] / normal[2]
            height = point[2] - slopes[0] * (x - point[0]) - slopes[1] * (y - point[1])
            np.maximum(found, height, out=found)
        if self._scene is not None:
            above = np.stack((x, y, np.full(x.shape, self._top)), axis=-1).reshape(-1, 3)
            distances = self._scene.cast(above, DOWN).distance.reshape(x.shape)
            np.maximum(found, self._top - distances, out=found)
        return found

    def heights_over(self, position: Array, R: Array, x: Array, y: Array) -> Array:
        """Heights (n, m) [m] of n positions over the ground at places around them.

        Parameters
        ----------
        position : (n, 3) [m], world
        R : (n, 3, 3)
            Axes, of whose first one the heading is the horizontal direction.
        x, y : (m,) [m]
            Places along the heading, and to its left.
        """
        yaw = np.arctan2(R[:, 1, 0], R[:, 0, 0])[:, None]
        cos, sin = np.cos(yaw), np.sin(yaw)
        places = position[:, :1] + cos * x - sin * y, position[:, 1:2] + sin * x + cos * y
        return np.asarray(position[:, 2:3] - self.heights(*places))


def ground_of(robot: Mechanism) -> Ground:
    """The ground of a robot, which robots on the same obstacles share."""
    if robot not in _OF_ROBOTS:
        key = bool(robot.contacts), *map(id, robot.obstacles)
        found = _GROUNDS.get(key)
        if found is None:
            found = _GROUNDS[key] = Ground(robot)
        _OF_ROBOTS[robot] = found
    return _OF_ROBOTS[robot]


_OF_ROBOTS: WeakKeyDictionary[Mechanism, Ground] = WeakKeyDictionary()
_GROUNDS: WeakValueDictionary[object, Ground] = WeakValueDictionary()


def terrain_of(robot: Mechanism) -> Scene | None:
    """Height fields and meshes, which have contacts from outside only; None without any.

    The scene is made once for a robot.
    """
    if robot not in _TERRAINS:
        kinds = HeightField, TriangleMesh
        _TERRAINS[robot] = _scene_of(one for one in robot.obstacles if isinstance(one, kinds))
    return _TERRAINS[robot]


_TERRAINS: WeakKeyDictionary[Mechanism, Scene | None] = WeakKeyDictionary()


def depth_under(terrain: Scene, points: Array) -> float:
    """How far points (n, 3) [m] have to rise to be out of terrain that has nothing to stand on.

    A point with a surface above it and none beneath is under the terrain; one between a floor and a
    roof is not.
    """
    nothing = np.isinf(terrain.cast(points, DOWN).distance)
    above = terrain.cast(points, UP).distance
    return float(np.max(above[nothing & np.isfinite(above)], initial=0.0))


def _scene_of(obstacles: Iterable[AnyShape]) -> Scene | None:
    """A scene of what looks up of obstacles alone, or None."""
    shapes = tuple(shape for one in obstacles if (shape := _that_looks_up(one)) is not None)
    if not shapes:
        return None
    probe = Body("probe", 1.0, np.eye(3))
    joint = Joint("free", "floating", None, "probe")
    return Scene(Mechanism("ground", (probe,), (joint,), obstacles=shapes))


def _that_looks_up(obstacle: AnyShape) -> AnyShape | None:
    """An obstacle without triangles that look down; the hull of a mesh of a shape."""
    if isinstance(obstacle, TriangleMesh):
        geometry = obstacle.geometry
    elif isinstance(obstacle, Geometry) and obstacle.kind == "mesh":
        geometry = _hull(obstacle)
    else:
        return obstacle
    R = quaternions.rotation_matrix(np.asarray(geometry.quaternion))
    corners = np.asarray(geometry.vertices)[np.asarray(geometry.faces)] @ R.T
    e, g = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    up = e[:, 0] * g[:, 1] - e[:, 1] * g[:, 0] > 0.0
    if not np.any(up):
        return None
    return TriangleMesh(replace(geometry, faces=np.asarray(geometry.faces)[up]))


def _hull(shape: Geometry) -> Geometry:
    """The convex hull of a mesh, with triangles."""
    hull = convex_hull(np.asarray(shape.vertices), f"geometry of '{shape.name}'")
    faces = [
        (face[0], face[k], face[k + 1]) for face in hull.faces for k in range(1, len(face) - 1)
    ]
    return replace(shape, vertices=hull.vertices, faces=np.array(faces), uv=None, texture=None)


def _highest(shape: AnyShape) -> float:
    """A height that a shape does not reach beyond [m]."""
    if isinstance(shape, TriangleMesh):
        geometry = shape.geometry
        R = quaternions.rotation_matrix(np.asarray(geometry.quaternion))
        return float((np.asarray(geometry.vertices) @ R.T)[:, 2].max() + geometry.position[2])  # type: ignore[index]
    assert not isinstance(shape, HalfSpace)
    size = np.asarray(shape.size)
    high = np.abs(shape.heights).max() if isinstance(shape, HeightField) else 0.0
    return float(np.asarray(shape.position)[2] + np.linalg.norm(size) + size.max() + high)
