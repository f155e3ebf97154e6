"""Volume, centre and inertia of a triangle mesh, by the four methods of MJCF.

exact: signed tetrahedra between the faces and a point. legacy: the same with absolute values, which
overestimates shapes that are not convex. convex: exact, for the convex hull. shell: for the
surface, with a density per area.

MuJoCo computes moments about principal axes to seven digits. The same algorithm is used here, so
that results equal MuJoCo's; errors are up to 1e-7 of the largest moment.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.description.solids import Solid
from robosim.loaders.hulls import hull_faces

Array = NDArray[np.float64]
WAYS = ("convex", "exact", "legacy", "shell")
# Products of inertia below this part of the largest moment count as zero.
_DIAGONAL = 1e-7
_TURNS = 500


def mass_properties(vertices: Array, faces: NDArray[np.int64], way: str) -> Solid:
    """Mass properties of a mesh: vertices (n, 3), faces (m, 3) counterclockwise from outside.

    The density is one; for a shell the volume is an area.

    Raises
    ------
    ValueError
        If the volume is not positive, or there is no convex hull.
    """
    if way == "convex":
        faces = hull_faces(vertices)
    corners = vertices[faces]
    a, b, c = (corners[:, k] for k in range(3))
    normals = np.cross(b - a, c - a) / 2
    areas = np.linalg.norm(normals, axis=1)
    centroids = (a + b + c) / 3
    if areas.sum() <= 0:
        raise ValueError("its area is zero")
    middle = areas @ centroids / areas.sum()
    if way == "shell":
        inertia = _second_moment(corners - middle, areas / 12)
        return Solid(float(areas.sum()), middle, about_principal_axes(inertia))
    parts = _parts(centroids - middle, normals, way)
    if not parts.sum() > 0:
        raise ValueError(f"its volume is {parts.sum():.3g}, not positive: is it inside out?")
    center = parts @ (0.75 * centroids + 0.25 * middle) / parts.sum()
    # A second pass from the centre, because absolute volumes depend on the point.
    parts = _parts(centroids - center, normals, way)
    inertia = _second_moment(corners - center, parts / 20)
    return Solid(float(parts.sum()), center, about_principal_axes(inertia))


def _parts(arms: Array, normals: Array, way: str) -> Array:
    """Volumes (m,) of the tetrahedra between faces and the origin of the vectors `arms` (m, 3)."""
    parts = np.einsum("ij,ij->i", arms, normals) / 3
    return np.abs(parts) if way == "legacy" else parts


def _second_moment(corners: Array, weights: Array) -> Array:
    """Inertia (3, 3) from faces' corners (m, 3, 3) about the origin, and weights (m,)."""
    total = corners.sum(axis=1)
    P = np.einsum("m,mki,mkj->ij", weights, corners, corners)
    P += np.einsum("m,mi,mj->ij", weights, total, total)
    return np.asarray(np.trace(P) * np.eye(3) - P)


def about_principal_axes(inertia: Array) -> Array:
    """An inertia (3, 3) without the remaining products in the principal axes of MuJoCo.

    By Jacobi's method, the largest product first, until all are small [GolubVanLoan, 8.5].
    """
    largest = np.abs(inertia).max()
    axes = np.eye(3)
    D = inertia
    for _ in range(_TURNS):
        i, j = max(((1, 2), (0, 2), (0, 1)), key=lambda pair: abs(D[pair]))
        if abs(D[i, j]) <= _DIAGONAL * largest:
            break
        tau = (D[j, j] - D[i, i]) / (2 * D[i, j])
        tangent = np.copysign(1 / (abs(tau) + np.hypot(1.0, tau)), tau)
        cosine = 1 / np.hypot(1.0, tangent)
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = cosine
        turn[i, j], turn[j, i] = tangent * cosine, -tangent * cosine
        axes = axes @ turn
        D = axes.T @ inertia @ axes
    return np.asarray((axes * np.diag(D)) @ axes.T)
