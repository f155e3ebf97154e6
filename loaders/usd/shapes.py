"""Prims with a shape as geometry."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.body import Geometry
from robosim.loaders.hulls import hull_faces
from robosim.loaders.notes import Notes
from robosim.loaders.pose import Pose
from robosim.loaders.usd.library import library
from robosim.loaders.usd.stage import LARGEST_NUMBER, Placed, Stage

Array = NDArray[np.float64]

SHAPES = ("Cube", "Sphere", "Cylinder", "Capsule", "Cone", "Plane", "Mesh")
# Turns of z to the axis that a prim names.
_TO_AXIS = {
    "Z": np.eye(3),
    "X": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "Y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
}
_HULLS = ("convexHull", "convexDecomposition")
_ALIKE = 1e-5  # relative, of scales
_RIM = 32  # corners of the rim of a cylinder that is no cylinder any more


class Shapes:
    """Converts prims of one stage.

    Parameters
    ----------
    stage : Stage
    notes : Notes
    """

    def __init__(self, stage: Stage, notes: Notes) -> None:
        self._stage, self._notes = stage, notes

    def normal_and_point(self, prim: Any) -> tuple[Array, Array]:
        """Normal (3,) and point (3,) [m] in the world of a Plane."""
        placed = self._stage.place(prim)
        axis = self._stage.axis(prim, library().UsdGeom.Plane(prim).GetAxisAttr())
        return placed.pose.R @ _TO_AXIS[axis][:, 2], placed.pose.p

    def geometry(self, prim: Any, at: Pose, solid: bool, **fields: Any) -> Geometry:
        """A shape in a frame.

        Parameters
        ----------
        prim : Usd.Prim
            Of a type in `SHAPES`, but for Plane.
        at : Pose
            Of the frame, in the world.
        solid : bool
            Whether the shape collides, so that meshes are approximated as the prim says.
        fields
            Of the geometry.

        Raises
        ------
        LoadError
            For sizes that are not positive, and for meshes without triangles.
        """
        placed = self._stage.place(prim)
        place = at.inverse() @ placed.pose
        kind = str(prim.GetTypeName())
        if kind == "Mesh":
            return self._mesh(prim, placed, place, solid, fields)
        if kind in ("Cube", "Sphere"):
            return self._round_or_square(prim, kind, placed, place, fields)
        return self._along(prim, kind, placed, place, fields)

    def _length(self, prim: Any, attribute: Any) -> float:
        value = self._stage.number(prim, attribute)
        if not value > 0:
            raise self._stage.refusal(
                prim, f"its {attribute.GetName()} must be positive, not {value}"
            )
        return value

    def _round_or_square(
        self, prim: Any, kind: str, placed: Placed, place: Pose, fields: dict[str, Any]
    ) -> Geometry:
        UsdGeom = library().UsdGeom
        scales = np.abs(placed.scales)
        if kind == "Cube":
            size = self._length(prim, UsdGeom.Cube(prim).GetSizeAttr())
            corners = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T * size
            if placed.is_sheared:
                return self._hull(prim, corners, placed, place, fields)
            return Geometry("box", tuple((size * scales).tolist()), **_at(place), **fields)
        radius = self._length(prim, UsdGeom.Sphere(prim).GetRadiusAttr())
        if placed.is_sheared:
            # Its stretch is a symmetric matrix, whose axes are those of an ellipsoid.
            values, axes = np.linalg.eigh(placed.stretch)
            axes = axes * np.sign(np.linalg.det(axes))
            return Geometry(
                "ellipsoid",
                tuple((radius * np.abs(values)).tolist()),
                **_at(place @ Pose(axes, np.zeros(3))),
                **fields,
            )
        if np.ptp(scales) < _ALIKE * scales.max():
            return Geometry("sphere", (radius * float(scales.mean()),), **_at(place), **fields)
        return Geometry("ellipsoid", tuple((radius * scales).tolist()), **_at(place), **fields)

    def _along(
        self, prim: Any, kind: str, placed: Placed, place: Pose, fields: dict[str, Any]
    ) -> Geometry:
        """Cylinders, capsules and cones."""
        schema = getattr(library().UsdGeom, kind)(prim)
        turn = _TO_AXIS[self._stage.axis(prim, schema.GetAxisAttr())]
        radius = self._length(prim, schema.GetRadiusAttr())
        height = self._length(prim, schema.GetHeightAttr())
        own = turn.T @ placed.stretch @ turn
        scales = np.abs(np.diag(own))
        across, along = float(scales[:2].mean()), float(scales[2])
        even = np.ptp(scales[:2]) < _ALIKE * scales.max() and not placed.is_sheared
        if kind == "Capsule" and even and abs(along - across) > _ALIKE * along:
            self._notes.add(
                "capsules that are stretched keep round ends of the radius across", prim.GetName()
            )
        if not even:
            if kind == "Capsule":
                raise self._stage.refusal(
                    prim, f"a capsule cannot be scaled by {placed.scales.tolist()}"
                )
            self._notes.add(
                f"cylinders and cones that are squeezed are hulls of {_RIM} corners on a rim",
                prim.GetName(),
            )
            angles = np.linspace(0, 2 * np.pi, _RIM, endpoint=False)
            rim = np.column_stack((np.cos(angles), np.sin(angles), np.full(_RIM, -0.5)))
            top = rim * (1, 1, -1) if kind == "Cylinder" else np.array([(0.0, 0.0, 0.5)])
            points = np.vstack((rim, top)) * (radius, radius, height)
            return self._hull(prim, points @ turn.T, placed, place, fields)
        apex = 1.0
        if kind == "Cone" and own[2, 2] < 0:
            apex = -1.0
        flip = np.diag((1.0, apex, apex))
        where = _at(place @ Pose(turn @ flip, np.zeros(3)))
        return Geometry(kind.lower(), (radius * across, height * along), **where, **fields)

    def _hull(
        self, prim: Any, points: Array, placed: Placed, place: Pose, fields: dict[str, Any]
    ) -> Geometry:
        vertices = points @ placed.stretch.T
        try:
            faces = hull_faces(vertices)
        except ValueError as error:
            raise self._stage.refusal(prim, f"{error}") from None
        return Geometry("mesh", vertices=vertices, faces=faces, **_at(place), **fields)

    def _mesh(
        self, prim: Any, placed: Placed, place: Pose, solid: bool, fields: dict[str, Any]
    ) -> Geometry:
        points, faces = self._triangles(prim)
        told = _approximation(prim) if solid else "none"
        vertices = points @ placed.stretch.T
        if np.linalg.det(placed.stretch) < 0:
            faces = faces[:, ::-1]
        if told in _HULLS:
            return self._hull(prim, points, placed, place, fields)
        if told == "boundingCube":
            low, high = points.min(axis=0), points.max(axis=0)
            if placed.is_sheared:
                corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
                return self._hull(prim, corners, placed, place, fields)
            middle = Pose(np.eye(3), placed.stretch @ (low + high) / 2)
            size = np.maximum((high - low) * np.abs(placed.scales), 1e-6)
            return Geometry("box", tuple(size.tolist()), **_at(place @ middle), **fields)
        if told == "boundingSphere":
            center = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
            radius = float(np.linalg.norm(vertices - center, axis=1).max())
            middle = Pose(np.eye(3), center)
            return Geometry("sphere", (radius,), **_at(place @ middle), **fields)
        return Geometry("mesh", vertices=vertices, faces=faces, **_at(place), **fields)

    def _triangles(self, prim: Any) -> tuple[Array, NDArray[np.int64]]:
        """Points (n, 3) in the prim's own coordinates, and triangles (m, 3)."""
        mesh = library().UsdGeom.Mesh(prim)
        points = np.array(mesh.GetPointsAttr().Get() or (), dtype=float).reshape(-1, 3)
        counts = np.array(mesh.GetFaceVertexCountsAttr().Get() or (), dtype=np.int64)
        indices = np.array(mesh.GetFaceVertexIndicesAttr().Get() or (), dtype=np.int64)
        if not len(points) or not len(counts):
            raise self._stage.refusal(prim, "the mesh has no faces")
        if not np.abs(points).max() <= LARGEST_NUMBER:
            raise self._stage.refusal(prim, "points of the mesh must be finite")
        if counts.min() < 0 or counts.sum() != len(indices):
            raise self._stage.refusal(
                prim, f"faceVertexCounts sum to {counts.sum()}, not to {len(indices)} indices"
            )
        if len(indices) and not 0 <= indices.min() <= indices.max() < len(points):
            raise self._stage.refusal(
                prim, f"faceVertexIndices must be of {len(points)} points, not {indices.max()}"
            )
        starts = np.cumsum(counts) - counts
        found = []
        for count in np.unique(counts[counts > 2]):
            corners = indices[starts[counts == count][:, None] + np.arange(count)]
            fans = [corners[:, [0, k, k + 1]] for k in range(1, count - 1)]
            found.append(np.vstack(fans))
        if not found:
            raise self._stage.refusal(prim, "the mesh has no triangles")
        faces = np.vstack(found)
        if mesh.GetOrientationAttr().Get() == "leftHanded":
            faces = faces[:, ::-1]
        return points, faces


def _approximation(prim: Any) -> str:
    UsdPhysics = library().UsdPhysics
    if not prim.HasAPI(UsdPhysics.MeshCollisionAPI):
        return "none"
    return str(UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get() or "none")


def _at(place: Pose) -> dict[str, Any]:
    return {"position": place.p, "quaternion": quaternions.from_matrix(place.R)}
