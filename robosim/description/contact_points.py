"""Contact points of collision geometry.

A sphere is a point with a radius, an ellipsoid its centre with its semi-axes, a box its corners,
and a capsule the centres of its two ends. A cylinder is its two rims, on which it rolls, and points
of these, on which it lies. A cone is its apex and its rim in the same way. The meshes of a link are
vertices of their convex hull. Against flat ground these have the same contacts as the shapes,
except for gaps between points of a flat rim. A simplified hull loses volume; this loss is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description import hulls
from robosim.description.body import Body, ContactPoint, Geometry
from robosim.description.cones import rims_of, slant, top_of
from robosim.description.hulls import Hull, simplified_hull
from robosim.validation import Array

DEFAULT_FRICTION = 0.8
POINT_RADIUS = 1e-6  # [m], of the spheres that stand for contact points in files
RIM_POINTS = 12
# [m]; points nearer than this are equal, and "inside" means deeper than this.
_SAME = 1e-9

Simplify = Callable[..., Hull]  # as `simplified_hull`; may use a cache


@dataclass(frozen=True)
class LinkShape:
    """The contact points of one link's shapes of one kind.

    Attributes
    ----------
    link, kind : str
    body : str
    points : (n, 3) [m], in body axes
    radius : float [m]
    candidates : int
        Number of points before any was omitted; for meshes, corners of their convex hull.
    loss : float [m]
        Largest distance of the convex hull of meshes from that of the chosen points.
    hidden : int
        Number of chosen points that cannot be the first to touch, and are omitted.
    rims : list of (position (3,) [m], axis (3,), radius [m])
        Circles of a cylinder or a cone, in body axes.
    apex : (3,) [m] or None
        Of a cone, in body axes; not among the points.
    restitution : float
        Largest value of the shapes.
    geometry : Geometry
        The first of the shapes.
    """

    link: str
    kind: str
    body: str
    points: Array
    radius: float
    candidates: int
    loss: float
    hidden: int
    rims: list[tuple[Array, Array, float]]
    restitution: float
    geometry: Geometry
    apex: Array | None

    def __str__(self) -> str:
        told = f"{self.candidates} point{'s' * (self.candidates > 1)} of a {self.kind}"
        if self.rims:
            told = f"{len(self.rims)} rim{'s' * (len(self.rims) > 1)} and {told}"
        chosen = len(self.points) + (self.apex is not None) + self.hidden
        if self.kind == "mesh":
            told = f"{chosen} of the {self.candidates} corners of the mesh's convex hull"
            if self.loss > _SAME:
                told += f", which loses at most {1e3 * self.loss:.2g} mm"
        if self.hidden:
            told += f"; {self.hidden} of them inside of the body or the same as another: left out"
        return told


def contact_points(
    body: Body,
    friction: Mapping[str, float] | None = None,
    default_friction: float = DEFAULT_FRICTION,
    simplify: Simplify = simplified_hull,
) -> list[ContactPoint]:
    """The contact points of a body's collision geometry.

    Points are omitted if they coincide with another one, or can never be the first to touch, such
    as those of most screws. The latter are strictly inside another collision geometry of the body,
    or inside the convex hull of all its points. Points are named "<link>/<kind><k>".

    Parameters
    ----------
    body : Body
    friction : mapping of link name to Coulomb coefficient
        Friction of links for which the model file has a value.
    default_friction : float
    simplify : function
        Function that simplifies the hulls of meshes.
    """
    friction = friction or {}
    counts: dict[tuple[str, str], int] = {}
    found: list[ContactPoint] = []
    for shape in link_shapes(body, simplify):
        all_of_it: list[tuple[str, Array, float, Array | None]] = [
            (shape.kind, point, shape.radius, shape.rims[0][1] if shape.rims else None)
            for point in shape.points
        ]
        all_of_it += [("rim", place, radius, axis) for place, axis, radius in shape.rims]
        if shape.apex is not None:
            all_of_it.append(("apex", shape.apex, 0.0, None))
        for kind, place, radius, axis in all_of_it:
            k = counts.get((shape.link, kind), 0)
            counts[shape.link, kind] = k + 1
            found.append(
                ContactPoint(
                    name=f"{shape.link}/{kind}{k}",
                    body=body.name,
                    position=place,
                    radius=radius,
                    friction=friction.get(shape.link, default_friction),
                    axis=axis,
                    semi_axes=_semi_axes(shape.geometry) if kind == "ellipsoid" else None,
                    restitution=shape.restitution,
                    **_surface(shape.geometry, place),
                )
            )
    return found


def _semi_axes(geometry: Geometry) -> Array:
    """Semi-axes of an ellipsoid, one a row, in body axes."""
    R = quaternions.rotation_matrix(np.asarray(geometry.quaternion))
    return np.asarray((R * geometry.size).T)


def _surface(geometry: Geometry, place: Array) -> dict[str, Any]:
    """Surface fields of a contact point at a place, but for friction and restitution."""
    R = quaternions.rotation_matrix(np.asarray(geometry.quaternion))
    velocity, spin = (R @ np.asarray(v) for v in (geometry.surface_velocity, geometry.surface_spin))
    directed = geometry.anisotropy
    if directed is not None and directed.axes is None:
        directed = directed.turned(lambda d: np.asarray(R @ np.asarray(d)))
    return {
        "anisotropy": directed,
        "stiffness": geometry.stiffness,
        "dissipation": geometry.dissipation,
        "torsional_friction": geometry.torsional_friction,
        "rolling_friction": geometry.rolling_friction,
        "surface_velocity": velocity + np.cross(spin, place - np.asarray(geometry.position)),
        "surface_spin": spin,
    }


def contacts_of(
    bodies: Sequence[Body],
    friction: Mapping[str, float] | None = None,
    default_friction: float = DEFAULT_FRICTION,
    simplify: Simplify = simplified_hull,
) -> tuple[ContactPoint, ...]:
    """The contact points of all bodies, body by body."""
    return tuple(
        contact
        for body in bodies
        for contact in contact_points(body, friction, default_friction, simplify)
    )


def link_shapes(body: Body, simplify: Simplify = simplified_hull) -> list[LinkShape]:
    """The contact points of a body's collision geometry, by link and kind."""
    shapes = [_Shape(geometry, simplify) for geometry in body.collisions]
    groups = list(_groups(body, shapes, simplify))
    if not groups:
        return []
    around = hulls.planes(np.vstack([points for _, points, _ in groups]))
    taken: dict[object, Array] = {}
    found = []
    for members, points, told in groups:
        kind, radius, reach = members[0].geometry.kind, members[0].radius, members[0].reach
        hidden = np.zeros(len(points), dtype=bool)
        if around is not None:
            heights = points @ around[:, :3].T + around[:, 3]
            hidden |= heights.max(axis=1) + reach < -_SAME
        for other in shapes:
            if other not in members:
                hidden |= other.depth(points) > reach + _SAME
        size = members[0] if kind == "ellipsoid" else radius
        near = taken.setdefault(size, np.zeros((0, 3)))
        for k in np.flatnonzero(~hidden):
            if np.all(np.abs(near - points[k]).max(axis=1, initial=0.0) >= _SAME):
                near = np.vstack((near, points[k]))
            else:
                hidden[k] = True
        taken[size] = near
        own, (candidates, loss), apex = points[~hidden], told, None
        if kind == "cone" and len(points) == RIM_POINTS + 1 and not hidden[-1]:
            own, apex = own[:-1], own[-1]
        link, lost = members[0].geometry.name or body.name, int(np.count_nonzero(hidden))
        rims = members[0].rims(hidden) if kind in ("cylinder", "cone") else []
        e = max(shape.geometry.restitution for shape in members)
        more = own, radius, candidates, loss, lost, rims, e, members[0].geometry, apex
        found.append(LinkShape(link, kind, body.name, *more))
    return found


def _groups(
    body: Body, shapes: list[_Shape], simplify: Simplify
) -> Iterator[tuple[list[_Shape], Array, tuple[int, float]]]:
    """(shapes, their points in body axes, (number of candidates, loss)).

    The meshes of a link form one group, at the position of the first; other shapes are separate.
    """
    done: set[str] = set()
    for shape in shapes:
        if shape.geometry.kind != "mesh":
            yield [shape], shape.points, (len(shape.points), 0.0)
            continue
        link = shape.geometry.name
        if link in done:
            continue
        done.add(link)
        meshes = [s for s in shapes if s.geometry.kind == "mesh" and s.geometry.name == link]
        if len(meshes) == 1:
            yield meshes, shape.points, (shape.candidates, shape.loss)
            continue
        corners = [mesh.placed(_all_corners(mesh.geometry, simplify)) for mesh in meshes]
        hull = simplify(np.vstack(corners))
        yield meshes, hull.points, (hull.vertices, hull.loss)


def _all_corners(geometry: Geometry, simplify: Simplify) -> Array:
    vertices = np.asarray(geometry.vertices)
    return simplify(vertices, max(len(vertices), 1)).points


class _Shape:
    """A collision geometry with its contact points in body axes, and its interior."""

    def __init__(self, geometry: Geometry, simplify: Simplify) -> None:
        self.geometry = geometry
        self._R = quaternions.rotation_matrix(np.asarray(geometry.quaternion))
        self._p = np.asarray(geometry.position)
        self.loss, self._planes = 0.0, None
        if geometry.kind == "mesh":
            hull = simplify(np.asarray(geometry.vertices))
            local, self.radius = hull.points, 0.0
            self.candidates, self.loss = hull.vertices, hull.loss
            self._planes = hulls.planes(local)
        else:
            local, self.radius = _primitive_points(geometry)
            self.candidates = len(local)
        self.reach = max(geometry.size) if geometry.kind == "ellipsoid" else self.radius
        self.points = self.placed(local)

    def placed(self, local: Array) -> Array:
        """Points (n, 3) of the geometry's frame, in body axes."""
        return np.asarray(local @ self._R.T + self._p)

    def rims(self, hidden: NDArray[np.bool_]) -> list[tuple[Array, Array, float]]:
        """(centre, axis, radius) of the rims that have points which are not hidden."""
        axis = self._R[:, 2]
        return [
            (self._p + z * axis, axis, radius)
            for k, (z, radius) in enumerate(rims_of(self.geometry))
            if not hidden[k * RIM_POINTS : (k + 1) * RIM_POINTS].all()
        ]

    def depth(self, points: Array) -> Array:
        """Depth of points (n, 3) in body axes below the surface [m]; negative outside."""
        local = (points - self._p) @ self._R
        size, z = self.geometry.size, np.abs(local[:, 2])
        match self.geometry.kind:
            case "sphere":
                return np.asarray(size[0] - np.linalg.norm(local, axis=1))
            case "box":
                return np.asarray((np.array(size) / 2 - np.abs(local)).min(axis=1))
            case "cylinder":
                across = np.hypot(local[:, 0], local[:, 1])
                return np.minimum(size[0] - across, size[1] / 2 - z)
            case "cone":
                c, s = slant(size)
                middle, across = (size[0] + top_of(size)) / 2, np.hypot(local[:, 0], local[:, 1])
                return np.minimum(c * (middle - across) - s * local[:, 2], size[1] / 2 - z)
            case "capsule":
                local[:, 2] = np.maximum(z - size[1] / 2, 0.0)
                return np.asarray(size[0] - np.linalg.norm(local, axis=1))
            case "ellipsoid":
                # No deeper than this: a lower bound is enough to tell what is inside.
                share = 1 - np.linalg.norm(local / np.array(size), axis=1)
                return np.asarray(share * np.where(share > 0, min(size), max(size)))
        if self._planes is None:
            return np.full(len(points), -np.inf)
        return np.asarray(-(local @ self._planes[:, :3].T + self._planes[:, 3]).max(axis=1))


def _primitive_points(geometry: Geometry) -> tuple[Array, float]:
    """(points (n, 3) [m] in the geometry's own frame, their radius [m])."""
    size = geometry.size
    match geometry.kind:
        case "sphere":
            return np.zeros((1, 3)), size[0] if size[0] > POINT_RADIUS else 0.0
        case "box":
            signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            return signs * np.array(size) / 2, 0.0
        case "capsule":
            half = size[1] / 2
            return np.array([(0.0, 0.0, -half), (0.0, 0.0, half)]), size[0]
        case "ellipsoid":
            return np.zeros((1, 3)), 0.0
    angles = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
    circle = np.column_stack((np.cos(angles), np.sin(angles)))
    rings = [
        np.hstack((radius * circle, np.full((RIM_POINTS, 1), z))) for z, radius in rims_of(geometry)
    ]
    apex = np.array([[0.0, 0.0, size[1] / 2]] if len(rings) == 1 else np.zeros((0, 3)))
    return np.vstack((*rings, apex)), 0.0


def link_of(contact: ContactPoint) -> str:
    """The link that a contact point belongs to, by its name."""
    return contact.name.rpartition("/")[0] or contact.name
