"""Collision meshes that are not convex, divided into convex parts by CoACD.

A mesh of a body counts as its convex hull. So a cup holds nothing, and a ring is a plate. Divided
into parts, each of which counts as its own hull, the shape has the hollows of the mesh.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.description.body import Body
from robosim.description.geometry import Geometry
from robosim.description.mechanism import Mechanism
from robosim.description.qhull import hull_of
from robosim.description.solids import convex_hull, enclosed
from robosim.errors import LoadError, MissingExtraError
from robosim.loaders import disk_cache, solids
from robosim.loaders.hulls import hull_faces
from robosim.loaders.options import Choice, Convex
from robosim.progress import bar
from robosim.validation import Array
from robosim.version import install

THRESHOLD = 0.05  # concavity that CoACD leaves in a part, over the size of the mesh
LEAST, GREATEST = 0.01, 1.0  # thresholds that CoACD takes
CORNERS = 64  # of a part at most
MOST_FACES = 200_000
_CONVEX = 1e-3  # part of the hull's volume up to which a mesh lacks nothing
_FINE = 100  # points along the size of a mesh, at which distances are measured


@dataclass(frozen=True)
class _Wish:
    """How a mesh is divided: threshold of CoACD, and the greatest number of parts or -1."""

    threshold: float
    most: int


class Fit(NamedTuple):
    """How well the collision shapes of a mesh follow it.

    Attributes
    ----------
    link : str
        Name of the mesh's link.
    parts : int
        Number of convex shapes.
    distance : float [m]
        Largest distance of the shapes' surface from the mesh, to a hundredth of the mesh's size by
        default.
    size : float [m]
        Diagonal of the mesh's bounding box.
    volume : float
        Volume of all parts over that of the mesh; nan for a mesh that is not closed.
    """

    link: str
    parts: int
    distance: float
    size: float
    volume: float

    @property
    def far(self) -> bool:
        """Whether the shapes are farther from the mesh than a tenth of its size."""
        return self.distance > 0.1 * self.size


def with_parts(mechanism: Mechanism, convex: Convex) -> Mechanism:
    """The mechanism with collision meshes divided into convex parts, as `robosim.load` documents.

    Raises
    ------
    LoadError
        For an invalid choice, a link without a collision mesh, or a mesh that is named and cannot
        be divided. Meshes that are not named and cannot be divided stay hulls, with a warning.
    MissingExtraError
        If CoACD is not installed.
    """
    meshes = [s for body in mechanism.bodies for s in body.collisions if s.kind == "mesh"]
    wishes = _wishes(convex, mechanism, meshes)
    if not wishes:
        return mechanism
    divided: dict[int, tuple[Geometry, ...]] = {}
    refused: dict[str, str] = {}
    wanted = [shape for shape in meshes if shape.name in wishes]
    shown = sys.stderr.isatty() and any(not is_convex(shape) for shape in wanted)
    with bar("dividing meshes into convex parts", len(wanted), shown) as advance:
        for shape in wanted:
            advance(0, shape.name)
            reason = _why_not(shape)
            if reason and isinstance(convex, Mapping):
                raise LoadError(
                    f"its collision mesh {reason}, so that it cannot be divided; convex='hull' "
                    "keeps its hull",
                    element=f"link '{shape.name}'",
                )
            if reason:
                refused[shape.name] = reason
            else:
                divided[id(shape)] = parts(shape, wishes[shape.name])
            advance()
    bodies = tuple(_with_shapes(body, divided) for body in mechanism.bodies)
    warnings = [
        f"the collision mesh of link '{link}' {reason}: it counts as its convex hull"
        for link, reason in refused.items()
    ]
    return replace(mechanism, bodies=bodies, warnings=(*mechanism.warnings, *warnings))


def fits(mechanism: Mechanism, convex: Convex = "hull", fine: int = _FINE) -> list[Fit]:
    """How far collision shapes are from their meshes, of a mechanism loaded with their hulls.

    `fine` is the number of points along the size of a mesh, at which distances are measured.
    """
    meshes = [s for body in mechanism.bodies for s in body.collisions if s.kind == "mesh"]
    wishes = _wishes(convex, mechanism, meshes)
    found = []
    for shape in meshes:
        divides = shape.name in wishes and not _why_not(shape)
        found.append(_fit(shape, parts(shape, wishes[shape.name]) if divides else (shape,), fine))
    return found


def parts(shape: Geometry, wish: _Wish) -> tuple[Geometry, ...]:
    """The convex parts of a mesh; a mesh that is convex is its own only part."""
    if is_convex(shape):
        return (shape,)
    _coacd()
    vertices, faces = _mesh(shape)
    what = f"convex {version('coacd')} {wish.threshold!r} {wish.most} {CORNERS}"
    name = disk_cache.digest(what, vertices, faces)

    def compute() -> disk_cache.Arrays:
        found = _divided(vertices, faces, wish)
        return {f"part{k}": corners for k, corners in enumerate(found)}

    corners = disk_cache.cached(name, compute, _decoded)
    return tuple(
        replace(shape, vertices=points, faces=hull_faces(points), uv=None, texture=None)
        for points in corners
    )


def is_convex(shape: Geometry) -> bool:
    """Whether a closed mesh fills its convex hull, up to a thousandth of the volume."""
    vertices, faces = _mesh(shape)
    if not solids.is_closed(vertices, faces):
        return False
    return abs(enclosed(vertices, faces).volume) >= (1 - _CONVEX) * convex_hull(vertices).volume


def _with_shapes(body: Body, divided: Mapping[int, tuple[Geometry, ...]]) -> Body:
    shapes = [part for shape in body.collisions for part in divided.get(id(shape), (shape,))]
    return replace(body, collisions=tuple(shapes))


def _wishes(convex: Convex, mechanism: Mechanism, meshes: list[Geometry]) -> dict[str, _Wish]:
    """How the meshes of each link are divided that does not keep its hull."""
    links = list(dict.fromkeys(shape.name for shape in meshes))
    if not isinstance(convex, Mapping):
        wish = _wish(convex)
        return dict.fromkeys(links, wish) if wish else {}
    unknown = sorted(set(convex) - set(links))
    if unknown:
        raise LoadError(
            f"convex names link '{unknown[0]}', which has no collision mesh",
            element=f"robot '{mechanism.name}'",
            alternatives=links,
        )
    found = {link: _wish(choice) for link, choice in convex.items()}
    return {link: wish for link, wish in found.items() if wish}


def _wish(choice: Choice) -> _Wish | None:
    if isinstance(choice, str) and choice in ("hull", "decompose"):
        return _Wish(THRESHOLD, -1) if choice == "decompose" else None
    if isinstance(choice, (int, np.integer)) and not isinstance(choice, bool) and choice >= 1:
        return _Wish(THRESHOLD, int(choice)) if choice > 1 else None
    if isinstance(choice, float) and LEAST <= choice < GREATEST:
        return _Wish(choice, -1)
    raise LoadError(
        f"convex cannot be {choice!r}",
        alternatives=(
            "hull",
            "decompose",
            "the largest number of hulls (1, 2, ...)",
            f"a threshold from {LEAST} to below {GREATEST}",
            "a mapping of links to these",
        ),
    )


def _why_not(shape: Geometry) -> str:
    """Why a mesh cannot be divided; empty if it can be."""
    vertices, faces = _mesh(shape)
    if len(faces) > MOST_FACES:
        return f"has {len(faces)} triangles, of which at most {MOST_FACES} are taken"
    try:
        hull_of(vertices)
    except ValueError:
        return "is flat"
    if not solids.is_closed(vertices, faces):
        return "is not closed"
    return ""


def _mesh(shape: Geometry) -> tuple[Array, NDArray[np.int64]]:
    assert shape.vertices is not None
    assert shape.faces is not None
    return np.asarray(shape.vertices), np.asarray(shape.faces)


def _coacd():  # type: ignore[no-untyped-def]
    """CoACD, if it is installed."""
    try:
        import coacd
    except ImportError:
        raise MissingExtraError(
            f"dividing meshes into convex parts needs CoACD; get it with: {install('decompose')}"
        ) from None
    coacd.set_log_level("error")
    return coacd


def _divided(vertices: Array, faces: NDArray[np.int64], wish: _Wish) -> list[Array]:
    """Corners of the convex parts that CoACD finds, always the same."""
    coacd = _coacd()
    # In metres from the middle over the size, as some of its tolerances are absolute.
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    size = float(np.ptp(vertices, axis=0).max())
    found = coacd.run_coacd(
        coacd.Mesh((vertices - middle) / size, faces),
        threshold=wish.threshold,
        max_convex_hull=wish.most,
        decimate=True,
        max_ch_vertex=CORNERS,
        seed=0,
    )
    return [np.asarray(points) * size + middle for points, _ in found if len(points) > 3]


def _decoded(found: disk_cache.Arrays) -> list[Array]:
    corners = [
        found[f"part{k}"].astype(np.float64, casting="no").reshape(-1, 3) for k in range(len(found))
    ]
    if not corners or not all(len(c) > 3 and np.all(np.isfinite(c)) for c in corners):
        raise ValueError("not convex parts")
    return corners


def _fit(shape: Geometry, pieces: tuple[Geometry, ...], fine: int) -> Fit:
    """How well convex pieces follow a mesh."""
    from scipy.spatial import cKDTree

    vertices, faces = _mesh(shape)
    size = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    hulls = [hull_of(_mesh(piece)[0]) for piece in pieces if not _is_flat(piece)]
    volume = sum(hull.volume for hull in hulls)
    closed = solids.is_closed(vertices, faces)
    own = abs(enclosed(vertices, faces).volume) if closed else np.nan
    step = size / fine
    tree = cKDTree(_surface_points(vertices, faces, step))
    distance = 0.0
    for k, hull in enumerate(hulls):
        points = _surface_points(hull.points, hull.simplices, step)
        for other in hulls[:k] + hulls[k + 1 :]:
            heights = points @ other.equations[:, :3].T + other.equations[:, 3]
            points = points[heights.max(axis=1) > -1e-9 * size]
        if len(points):
            distance = max(distance, float(tree.query(points)[0].max()))
    return Fit(shape.name, len(pieces), max(0.0, distance - step), size, volume / own)


def _is_flat(shape: Geometry) -> bool:
    try:
        hull_of(_mesh(shape)[0])
    except ValueError:
        return True
    return False


def _surface_points(vertices: Array, faces: NDArray[np.int64], step: float) -> Array:
    """Points on triangles, no farther apart than a step [m]."""
    import trimesh

    return np.asarray(
        trimesh.remesh.subdivide_to_size(vertices, np.asarray(faces), step, max_iter=40)[0]
    )
