"""<geom>: shape, pose, mass properties, and collision bits.

Sizes are MuJoCo's: radii and half lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robosim.description import solids
from robosim.description.inertial import Inertial
from robosim.description.solids import Solid
from robosim.loaders.mjcf.compiler import Compiler
from robosim.loaders.mjcf.friction import Friction, geom_friction
from robosim.loaders.mjcf.meshes import Mesh, Meshes
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Pose, from_to, pose

Array = NDArray[np.float64]

# kind -> number of sizes that must be positive
SIZES = {
    "plane": 0,
    "hfield": 0,
    "sphere": 1,
    "capsule": 2,
    "ellipsoid": 3,
    "cylinder": 2,
    "box": 3,
    "mesh": 0,
    "sdf": 0,
}
FROM_TO = ("capsule", "cylinder", "ellipsoid", "box")
_DENSITY = 1000.0  # [kg/m^3], of water


@dataclass(frozen=True)
class Geom:
    """A geom in the frame of its body.

    Attributes
    ----------
    node : Node
        The element with the attributes of its default class.
    kind : str
        A key of SIZES.
    place : Pose
    size : (3,) [m]
    mesh : Mesh or None
        For the kind "mesh".
    inertial : Inertial or None
        None without mass.
    contype, conaffinity, condim, priority, group : int
    friction : Friction
        Coefficients, regardless of condim.
    surface : (6,) [m/s] and [rad/s]
        Velocity and spin of its surface relative to the body, in its frame.
    """

    node: Node
    kind: str
    place: Pose
    size: Array
    mesh: Mesh | None
    inertial: Inertial | None
    contype: int
    conaffinity: int
    condim: int
    priority: int
    group: int
    friction: Friction
    surface: Array

    @property
    def collides(self) -> bool:
        """Whether it can collide."""
        return bool(self.contype or self.conaffinity)


def read_geom(node: Node, frame: Pose, compiler: Compiler, meshes: Meshes) -> Geom:
    """A geom from its element, with default class applied, in a frame of its body.

    Raises
    ------
    LoadError
        For a shape without size, an unknown mesh, or invalid numbers.
    """
    kind = node.choice("type", tuple(SIZES), "sphere")
    mesh = meshes.get(node) if node.has("mesh") else None
    if kind in ("mesh", "sdf") and mesh is None:
        raise node.error("attribute 'mesh' is missing")
    for other in ("mesh", "pos"):
        if node.has("fromto") and node.has(other):
            raise node.error(f"has both '{other}' and 'fromto'; leave one out")
    own = place = frame @ pose(node, compiler.angles)
    size = node.some_numbers("size", np.zeros(3), fill=True)
    if mesh is not None and kind not in ("mesh", "sdf"):
        place, size = _fitted(kind, mesh, place, compiler.fit_to_box)
        size = size * node.number("fitscale", 1.0)
        mesh = None
    elif node.has("fromto"):
        if kind not in FROM_TO:
            raise node.error(f"a {kind} cannot have 'fromto'", FROM_TO)
        ends = from_to(node)
        half = float(np.linalg.norm(ends[1] - ends[0])) / 2
        size = np.array((size[0], half, 0.0) if kind in FROM_TO[:2] else (size[0], size[0], half))
    if np.any(size[: SIZES[kind]] <= 0):
        raise node.error(f"sizes of a {kind} must be positive, not {size[: SIZES[kind]].tolist()}")
    friction, condim = geom_friction(node)
    geom = Geom(
        node=node,
        kind=kind,
        place=place,
        size=size,
        mesh=mesh,
        inertial=None,
        contype=node.integer("contype", 1),
        conaffinity=node.integer("conaffinity", 1),
        condim=condim,
        priority=node.integer("priority", 0),
        group=node.integer("group", 0),
        friction=friction,
        surface=_surface(node, own, place),
    )
    return replace(geom, inertial=_inertial(geom, compiler))


def _surface(node: Node, own: Pose, place: Pose) -> Array:
    """The surface velocity of a geom, converted from its frame to that of its pose."""
    twist = node.some_numbers("surfacevel", np.zeros(6), fill=True)
    R, p = own.R.T @ place.R, own.R.T @ (place.p - own.p)
    velocity, spin = twist[:3] + np.cross(twist[3:], p), twist[3:]
    return np.concatenate((R.T @ velocity, R.T @ spin))


def _fitted(kind: str, mesh: Mesh, place: Pose, to_box: bool) -> tuple[Pose, Array]:
    """Pose and size of a primitive that is fitted to a mesh.

    The primitive has the mesh's inertia box, or its bounding box in the principal axes.
    """
    volume, center, inertia = mesh.mass_properties
    moments, axes = np.linalg.eigh(inertia)
    # MuJoCo's order: the largest moment first, so that z is the longest direction.
    moments, axes = moments[::-1], axes[:, ::-1].copy()
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    if to_box:
        local = (mesh.vertices - center) @ axes
        lowest, highest = local.min(axis=0), local.max(axis=0)
        center, half = center + axes @ (lowest + highest) / 2, (highest - lowest) / 2
        radius, ball = max(half[0], half[1]), half.max()
        straight = half[2] - radius
    else:
        half = np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / volume, 0.0)) / 2
        radius, ball = (half[0] + half[1]) / 2, half.mean()
        straight = half[2] - radius / 2
    sizes = {
        "sphere": (ball, 0.0, 0.0),
        "capsule": (radius, max(straight, 0.0), 0.0),
        "cylinder": (radius, half[2], 0.0),
    }
    return place @ Pose(axes, center), np.array(sizes.get(kind, half))


def _inertial(geom: Geom, compiler: Compiler) -> Inertial | None:
    """Mass, centre and inertia in the body's frame, None without mass."""
    node = geom.node
    first, last = compiler.inertia_groups
    density, mass = node.number("density", _DENSITY), node.number("mass", -1.0)
    if density < 0 or (node.has("mass") and mass < 0):
        raise node.error(f"mass and density must not be negative, not {mass} and {density}")
    if geom.kind in ("plane", "hfield") or not first <= geom.group <= last:
        return None
    if mass == 0 or (density == 0 and mass < 0):
        return None
    shell = node.flag("shellinertia", False)
    if geom.mesh is not None:
        if shell:
            raise node.error("'shellinertia' is for primitive shapes; a mesh has 'inertia'")
        properties = geom.mesh.mass_properties
    else:
        properties = _SHELLS[geom.kind](geom) if shell else _SOLIDS[geom.kind](geom.size)
    if not 0 < properties.volume < np.inf:
        raise node.error(f"has a volume of {properties.volume:g} m^3 by its size or scale")
    mass = mass if mass > 0 else density * properties.volume
    R, p = geom.place.R, geom.place.p
    inertia = mass / properties.volume * R @ properties.inertia @ R.T
    return Inertial(mass, p + R @ properties.center, (inertia + inertia.T) / 2)


def _about_origin(volume: float, xx: float, yy: float, zz: float) -> Solid:
    return Solid(volume, np.zeros(3), np.diag((xx, yy, zz)))


def _sphere_shell(geom: Geom) -> Solid:
    radius = geom.size[0]
    area = 4 * np.pi * radius**2
    return _about_origin(area, *(3 * [2 / 3 * area * radius**2]))


def _box_shell(geom: Geom) -> Solid:
    area, moments = 0.0, np.zeros(3)
    for axis in range(3):
        # The two faces normal to an axis, each a plate at the distance of half the edge.
        half = geom.size
        others = [k for k in range(3) if k != axis]
        face = 8 * half[others[0]] * half[others[1]]
        squares = half**2 / 3
        squares[axis] = half[axis] ** 2
        area += face
        moments += face * (squares.sum() - squares)
    return _about_origin(area, *moments)


def _tube(radius: float, half: float) -> Solid:
    area = 4 * np.pi * radius * half
    across = area * (radius**2 / 2 + half**2 / 3)
    return _about_origin(area, across, across, area * radius**2)


def _cylinder_shell(geom: Geom) -> Solid:
    radius, half = geom.size[:2]
    tube, lids = _tube(radius, half), 2 * np.pi * radius**2
    across = lids * (radius**2 / 4 + half**2)
    inertia = tube.inertia + np.diag((across, across, lids * radius**2 / 2))
    return Solid(tube.volume + lids, np.zeros(3), inertia)


def _capsule_shell(geom: Geom) -> Solid:
    radius, half = geom.size[:2]
    tube, ball = _tube(radius, half), _sphere_shell(geom)
    # Each half of the sphere has its centre half a radius beyond the end of the tube.
    moved = ball.volume * (half**2 + half * radius)
    inertia = tube.inertia + ball.inertia + np.diag((moved, moved, 0.0))
    return Solid(tube.volume + ball.volume, np.zeros(3), inertia)


def _ellipsoid_shell(geom: Geom) -> Solid:
    """Mass properties of the shell between an ellipsoid and one with slightly longer axes.

    As in MuJoCo, with Thomsen's formula for the area.
    """
    half, p = geom.size, 1.6075
    products = half * half[[1, 2, 0]]
    area = 4 * np.pi * float(np.mean(products**p)) ** (1 / p)
    # Derivatives of the solid's volume and moments, over 4/3 pi, by a length added to all axes.
    squares, around = half**2, half.sum() - half
    grown = products.sum() * (squares.sum() - squares) + 2 * float(np.prod(half)) * around
    return _about_origin(area, *(area / products.sum() * grown / 5))


_SOLIDS: dict[str, Callable[[Array], Solid]] = {
    "sphere": lambda size: solids.ellipsoid(size[[0, 0, 0]]),
    "capsule": lambda size: solids.capsule(*size[:2]),
    "ellipsoid": solids.ellipsoid,
    "cylinder": lambda size: solids.cylinder(*size[:2]),
    "box": solids.box,
}
_SHELLS = {
    "sphere": _sphere_shell,
    "capsule": _capsule_shell,
    "ellipsoid": _ellipsoid_shell,
    "cylinder": _cylinder_shell,
    "box": _box_shell,
}
