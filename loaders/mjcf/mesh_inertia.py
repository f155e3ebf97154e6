"""Volume, centre and inertia of a triangle mesh, in the four ways that MJCF knows.

exact: signed tetrahedra between the faces and a point. legacy: the same, each counted as
positive, which overestimates shapes that are not convex. convex: exact, of the convex hull.
shell: of the surface, the density being an area's.

MuJoCo keeps the moments about principal axes that it finds to seven digits, and so does this, as a
model file says what MuJoCo makes of it: up to 1e-7 of the largest moment are lost on the way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.description.qhull import hull_of
from robosim.description.solids import Solid

Array = NDArray[np.float64]
WAYS = ("convex", "exact", "legacy", "shell")
# Products of inertia below this part of the largest moment count as none.
_DIAGONAL = 1e-7
_TURNS = 500


def mass_properties(vertices: Array, faces: NDArray[np.int64], way: str) -> Solid:
    """Of a mesh with vertices (n, 3) and faces (m, 3), counterclockwise seen from outside.

    At unit density; of a shell the volume is an area.

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
    # Once more from the centre, as it is not the same for tetrahedra that all count as positive.
    parts = _parts(centroids - center, normals, way)
    inertia = _second_moment(corners - center, parts / 20)
    return Solid(float(parts.sum()), center, about_principal_axes(inertia))


def _parts(arms: Array, normals: Array, way: str) -> Array:
    """Volumes (m,) of the tetrahedra between faces and the point that the arms (m, 3) are from."""
    parts = np.einsum("ij,ij->i", arms, normals) / 3
    return np.abs(parts) if way == "legacy" else parts


def _second_moment(corners: Array, weights: Array) -> Array:
    """Inertia (3, 3) from faces' corners (m, 3, 3) about the origin, and weights (m,)."""
    total = corners.sum(axis=1)
    P = np.einsum("m,mki,mkj->ij", weights, corners, corners)
    P += np.einsum("m,mi,mj->ij", weights, total, total)
    return np.asarray(np.trace(P) * np.eye(3) - P)


def about_principal_axes(inertia: Array) -> Array:
    """An inertia (3, 3) without what is left of its products in the axes that MuJoCo gives it.

    Jacobi's method, the largest product first, until all are small [GolubVanLoan, 8.5].
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


def hull_faces(vertices: Array) -> NDArray[np.int64]:
    """Faces (m, 3) of the convex hull, counterclockwise from outside."""
    try:
        hull = hull_of(vertices)
    except ValueError as error:
        raise ValueError("it has no convex hull") from error
    faces = np.array(hull.simplices, dtype=np.int64)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return faces
