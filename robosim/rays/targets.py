"""The shapes of a robot and of its world, compiled for rays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.arrays import aligned
from robosim.compiled.kinds import (
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    SPHERE,
    TAPERED,
)
from robosim.compiled.rays import Targets
from robosim.compiled.records.ray import BOUNDS, TARGET
from robosim.description.geometry import Geometry
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import (
    AnyShape,
    HalfSpace,
    HeightField,
    TriangleMesh,
    obstacle_name,
)
from robosim.description.ray_sensor import GEOMETRIES
from robosim.description.soft import SoftMesh
from robosim.description.surfaces import WORLD
from robosim.kinematics.kinematics import Kinematics
from robosim.rays.skins import Skin
from robosim.rays.trees import Tree, grown, joined, shifted, tree_over
from robosim.runtime.handles import Handle
from robosim.validation import Array, check_choice

GROUND = HalfSpace()  # the plane z = 0, which contact points touch


class Target(NamedTuple):
    """A shape that rays meet.

    Attributes
    ----------
    body : str
        Name of its body, or "world"; "" for a soft solid, which is on several.
    name : str
        Name of its link, obstacle or soft solid, or its kind.
    geometry : Geometry, HalfSpace, HeightField, TriangleMesh or SoftMesh
    """

    body: str
    name: str
    geometry: AnyShape | SoftMesh


class Compiled:
    """What rays of one robot are cast against, in any pose.

    Attributes
    ----------
    targets : tuple of Target
    arrays : Targets
    skins : tuple of Skin
        Soft solids, whose targets come behind all others.
    bodies : int
        Number of bodies.
    free : list of Handle
        Scratch memory that no call uses at present.
    """

    def __init__(
        self, robot: Mechanism, shapes: list[tuple[int, AnyShape]], soft: tuple[SoftMesh, ...]
    ) -> None:
        self.bodies, self.free = len(robot.bodies), list[Handle]()
        names = [*(body.name for body in robot.bodies), WORLD]
        rigid = tuple(Target(names[b], obstacle_name(one), one) for b, one in shapes)
        self.targets = (*rigid, *(Target("", mesh.name, mesh) for mesh in soft))
        self.skins = tuple(Skin(robot, mesh) for mesh in soft)
        records = np.zeros(len(shapes), dtype=TARGET)
        trees: list[Tree] = []
        heights: list[Array] = []
        roots, filled, tall = 0, 0, 0
        for record, (body, shape) in zip(records, shapes, strict=True):
            record["body"], record["R"] = body, np.eye(3)
            set_shape(record, shape)
            if record["kind"] == MESH:
                tree = shifted(tree_of(_mesh_of(shape)), roots, filled)
                record["root"] = roots
                roots, filled = roots + len(tree.branches), filled + len(tree.corners)
                trees.append(tree)
            elif isinstance(shape, HeightField):
                record["height_begin"] = tall
                heights.append(np.asarray(shape.heights).ravel())
                tall += heights[-1].size
        bounded = np.flatnonzero(records["kind"] != HALF_SPACE)
        order, scene = grown(_boxes_at_home(robot, records[bounded]), 1)
        self.arrays = Targets(
            records,
            np.concatenate([tree.corners for tree in trees] or [np.zeros((0, 3, 3))]),
            joined([tree.branches for tree in trees]),
            np.concatenate([*heights, np.zeros(0)]),
            scene,
            bounded[order],
            np.flatnonzero(records["kind"] == HALF_SPACE),
        )
        for array in self.arrays:
            array.setflags(write=False)


def shapes_of(robot: Mechanism, geometry: str) -> Iterator[tuple[int, AnyShape]]:
    """(body, shape) of all that rays meet; the body of the world is the number of bodies.

    Raises
    ------
    OptionError
        For an unknown geometry.
    """
    check_choice("geometry", geometry, GEOMETRIES)
    seen, solid = geometry != "collision", geometry != "visual"
    world = len(robot.bodies)
    for b, body in enumerate(robot.bodies):
        shapes = (*(body.collisions if solid else ()), *(body.visuals if seen else ()))
        for shape in {id(shape): shape for shape in shapes}.values():
            if not (seen and shape.rgba[3] == 0):
                yield b, shape
    if seen:
        yield from ((world, shape) for shape in robot.world_visuals if shape.rgba[3] > 0)
    for obstacle in robot.obstacles:
        unseen = geometry == "all" and isinstance(obstacle, Geometry) and obstacle.rgba[3] == 0
        if not unseen:
            yield world, obstacle
    if robot.contacts:
        yield world, GROUND


def compiled(robot: Mechanism, geometry: str) -> Compiled:
    """The compiled targets of a robot, which robots with the same shapes share."""
    known = _OF_ROBOTS.setdefault(robot, {})
    if geometry not in known:
        shapes = [one for one in shapes_of(robot, geometry) if not _is_point(one[1])]
        # As long as what has been compiled exists, its shapes do, and so keep their numbers.
        names = tuple(body.name for body in robot.bodies)
        soft = () if geometry == "collision" else robot.soft_meshes
        key = (names, *((body, id(shape)) for body, shape in shapes), *map(id, soft))
        found = _OF_SHAPES.get(key)
        if found is None:
            found = _OF_SHAPES[key] = Compiled(robot, shapes, tuple(soft))
        known[geometry] = found
    return known[geometry]


_OF_ROBOTS: WeakKeyDictionary[Mechanism, dict[str, Compiled]] = WeakKeyDictionary()
_OF_SHAPES: WeakValueDictionary[object, Compiled] = WeakValueDictionary()
_TREES: WeakKeyDictionary[Geometry, Tree] = WeakKeyDictionary()


def _is_point(shape: AnyShape) -> bool:
    """Whether a shape has no surface."""
    if not isinstance(shape, Geometry | TriangleMesh):
        return False
    one = _mesh_of(shape)
    return (
        one.size == (0.0,) if one.kind == "sphere" else one.kind == "mesh" and not len(_solid(one))
    )


def _mesh_of(shape: AnyShape) -> Geometry:
    found = shape.geometry if isinstance(shape, TriangleMesh) else shape
    assert isinstance(found, Geometry)
    return found


def _solid(mesh: Geometry) -> Array:
    """The corners (n, 3, 3) of all triangles of a mesh that have an area."""
    corners = np.asarray(mesh.vertices)[np.asarray(mesh.faces)]
    a, b, c = (corners[:, k] for k in range(3))
    return np.asarray(corners[np.any(np.cross(b - a, c - a) != 0.0, axis=1)])


def set_shape(record: np.void, shape: AnyShape) -> None:
    """Kind, place, sizes and bounds of a shape."""
    if isinstance(shape, HalfSpace):
        normal = np.asarray(shape.normal)
        across = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        across /= np.linalg.norm(across)
        record["kind"], record["x"] = HALF_SPACE, shape.point
        record["R"] = np.column_stack((across, np.cross(normal, across), normal))
        return
    if isinstance(shape, HeightField):
        _set_field(record, shape)
        return
    geometry = _mesh_of(shape)
    size = np.array(geometry.size)
    record["x"] = geometry.position
    record["R"] = quaternions.rotation_matrix(np.asarray(geometry.quaternion))
    if geometry.kind == "mesh":
        corners = _solid(geometry).reshape(-1, 3)
        lower, upper = corners.min(axis=0), corners.max(axis=0)
        record["kind"] = MESH
        record["center"], record["half"] = (lower + upper) / 2, (upper - lower) / 2
        return
    kinds = {
        "box": BOX,
        "sphere": SPHERE,
        "cylinder": CYLINDER,
        "capsule": CAPSULE,
        "ellipsoid": ELLIPSOID,
        "cone": TAPERED,
    }
    record["kind"] = kinds[geometry.kind]
    tapered = geometry.kind == "cone"
    if geometry.kind == "box":
        size = size / 2
    elif len(size) == 2 or tapered:
        size[1] /= 2
    record["size"][: len(size)] = size
    if len(size) == 3 and not tapered:
        record["half"] = size
    else:
        reach = 0.0 if len(size) == 1 else size[1]
        flat = tapered or geometry.kind == "cylinder"
        record["half"] = size[0], size[0], reach + (0 if flat else size[0])


def _set_field(record: np.void, shape: HeightField) -> None:
    heights, half = np.asarray(shape.heights), np.array(shape.size) / 2
    low, high = heights.min(), heights.max()
    record["kind"], record["x"] = HEIGHT_FIELD, shape.position
    record["R"] = quaternions.rotation_matrix(np.asarray(shape.quaternion))
    record["grid"], record["spacing"] = heights.shape, 2 * half / (np.array(heights.shape) - 1)
    record["density"] = 1 / record["spacing"]
    record["center"], record["half"] = (0, 0, (low + high) / 2), (*half, (high - low) / 2)


def _boxes_at_home(robot: Mechanism, records: NDArray[np.void]) -> NDArray[np.void]:
    """Bounds of shapes, world, where the robot is at home."""
    kinematics, bounds = Kinematics(robot), aligned(len(records), BOUNDS)
    x = np.vstack((kinematics.x, np.zeros((1, 3))))[records["body"]]
    R = np.concatenate((kinematics.R, np.eye(3)[None]))[records["body"]]
    turns = R @ records["R"]
    middle = np.einsum("nij,nj->ni", turns, records["center"]) + x
    middle += np.einsum("nij,nj->ni", R, records["x"])
    half = np.einsum("nij,nj->ni", np.abs(turns), records["half"])
    bounds["box"][:, 0], bounds["box"][:, 1] = middle - half, middle + half
    return bounds


def tree_of(mesh: Geometry) -> Tree:
    """The tree of a mesh, which is made once."""
    if mesh not in _TREES:
        _TREES[mesh] = tree_over(_solid(mesh))
    return _TREES[mesh]
