"""A stage: its prims, its units, and where things are in metres with z up."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions, safe_xml
from robosim.errors import LoadError
from robosim.loaders.folders import Folders
from robosim.loaders.pose import Pose
from robosim.loaders.usd.library import library

Array = NDArray[np.float64]

LARGEST = 1 << 30  # [bytes]
LARGEST_NUMBER = 1e30  # so that masses and inertias are finite, too
_MESSAGE = re.compile(r" : '(.*?)'(?=\s+Error in|\s*$)", re.DOTALL)
# Rotation to axes with z up.
_UP = {
    "Z": np.eye(3),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "X": np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
}


class Placed(NamedTuple):
    """A prim in the world: its pose, and what its own lengths are multiplied with.

    Attributes
    ----------
    pose : Pose
        In metres, z up.
    stretch : (3, 3)
        Symmetric, positive definite unless mirrored: from the prim's own coordinates to metres in
        the axes of the pose; a diagonal matrix of scales, unless the prim is sheared.
    """

    pose: Pose
    stretch: Array

    @property
    def scales(self) -> Array:
        """(3,), signed."""
        return np.diag(self.stretch)

    @property
    def is_sheared(self) -> bool:
        off = self.stretch - np.diag(np.diag(self.stretch))
        return bool(np.abs(off).max() > 1e-6 * np.abs(self.stretch).max())


class Stage:
    """A stage of a file.

    Attributes
    ----------
    path : pathlib.Path
    usd : Usd.Stage
    metres, kilograms : float
        Of the stage's units.
    up : (3, 3)
        Rotation of the stage's axes to those with z up.

    Raises
    ------
    LoadError
        For a file that USD cannot read, for references that do not exist, and for files outside of
        the folders that may be read.
    MissingExtraError
        If usd-core is not installed.
    """

    def __init__(self, path: Path, allowed: Iterable[str | os.PathLike[str]] = ()) -> None:
        pxr = library()
        self.path = path
        if not safe_xml.is_file(path):
            raise LoadError("the file does not exist", file=path)
        if path.stat().st_size > LARGEST:
            raise LoadError(f"has more than {LARGEST >> 20} MB, the most that is read", file=path)
        before = {layer.identifier for layer in pxr.Sdf.Layer.GetLoadedLayers()}
        try:
            self.usd = pxr.Usd.Stage.Open(str(path))
            # USD keeps layers that are in use, whose files may have changed.
            for layer in self.usd.GetUsedLayers():
                if layer.identifier in before and not layer.anonymous:
                    layer.Reload(True)
        except Exception as error:  # USD raises its own kind, without a class in Python
            raise LoadError(f"USD cannot open it: {told(error)}", file=path) from None
        self._check_references()
        self._check_folders(Folders(path, allowed))
        self.metres = float(pxr.UsdGeom.GetStageMetersPerUnit(self.usd))
        self.kilograms = float(pxr.UsdPhysics.GetStageKilogramsPerUnit(self.usd))
        axis = str(pxr.UsdGeom.GetStageUpAxis(self.usd))
        self.up = _UP[axis]
        for what, value in (("metersPerUnit", self.metres), ("kilogramsPerUnit", self.kilograms)):
            if not (np.isfinite(value) and value > 0):
                raise LoadError(f"{what} must be positive, not {value}", file=path, element="stage")
        self._cache = pxr.UsdGeom.XformCache()

    def _check_references(self) -> None:
        errors = self.usd.GetCompositionErrors()
        if not errors:
            return
        first = errors[0]
        site = str(getattr(first.rootSite, "path", "")) or "stage"
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise LoadError(
            f"{' '.join(str(first).split())}{more} Put the file where the reference says, or take "
            "the reference out",
            file=self.path,
            element=f"prim '{site}'",
        )

    def _check_folders(self, folders: Folders) -> None:
        split = library().Ar.SplitPackageRelativePathOuter
        for layer in self.usd.GetUsedLayers():
            real = split(layer.realPath)[0] if layer.realPath else ""
            if real:
                folders.check(Path(real), layer.identifier, "layer")

    def refusal(self, prim: Any, reason: str, alternatives: Sequence[str] = ()) -> LoadError:
        """The error for a prim."""
        return LoadError(
            reason,
            file=self.path,
            element=f"{prim.GetTypeName() or 'prim'} '{prim.GetPath()}'",
            alternatives=tuple(alternatives),
        )

    def value(self, prim: Any, attribute: Any) -> Any:
        """The value of an attribute, None without one."""
        try:
            return attribute.Get()
        except library().Tf.ErrorException as error:
            raise self.refusal(prim, f"{attribute.GetName()}: {told(error)}") from None

    def number(
        self, prim: Any, attribute: Any, default: float = 0.0, unbounded: bool = False
    ) -> float:
        """The number of an attribute, or a default; infinite only if it may be `unbounded`.

        Raises
        ------
        LoadError
            For a value that is not a number, or too large.
        """
        value = self.value(prim, attribute)
        if value is None:
            return default
        number = float(value) if isinstance(value, int | float) else np.nan
        if np.isnan(number) or not (unbounded or abs(number) <= LARGEST_NUMBER):
            raise self.refusal(prim, f"{attribute.GetName()} must not be {value}")
        return number

    def vector(self, prim: Any, attribute: Any) -> Array | None:
        """The three numbers of an attribute, which may be infinite; None without one."""
        value = self.value(prim, attribute)
        if value is None:
            return None
        try:
            vector = np.array(value, dtype=float)
        except (TypeError, ValueError):
            vector = np.full(3, np.nan)
        if vector.shape != (3,) or np.any(np.isnan(vector)):
            raise self.refusal(prim, f"{attribute.GetName()} must be three numbers, not {value}")
        return vector

    def rotation(self, prim: Any, attribute: Any) -> Array | None:
        """The rotation (3, 3) of a quaternion, None without one, or for one of length zero."""
        value = self.value(prim, attribute)
        if value is None:
            return None
        try:
            q = np.array((value.GetReal(), *value.GetImaginary()), dtype=float)
        except (AttributeError, TypeError):
            q = np.full(4, np.nan)
        if not np.all(np.isfinite(q)):
            raise self.refusal(prim, f"{attribute.GetName()} must be a quaternion, not {value}")
        if np.linalg.norm(q) < 1e-6:
            return None
        return quaternions.rotation_matrix(quaternions.normalized(q))

    def axis(self, prim: Any, attribute: Any) -> str:
        """The axis that an attribute names: X, Y or Z."""
        value = str(self.value(prim, attribute))
        if value not in _UP:
            raise self.refusal(prim, f"{attribute.GetName()} cannot be '{value}'", tuple(_UP))
        return value

    def prims(self) -> Iterator[Any]:
        """All prims that are active, loaded and defined, those in instances as well."""
        pxr = library()
        yield from self.usd.Traverse(pxr.Usd.TraverseInstanceProxies(pxr.Usd.PrimDefaultPredicate))

    def place(self, prim: Any) -> Placed:
        """Where a prim is in the world.

        Raises
        ------
        LoadError
            For a transformation without an inverse, or that is not finite.
        """
        try:
            M = np.array(self._cache.GetLocalToWorldTransform(prim), dtype=float)
        except library().Tf.ErrorException as error:
            raise self.refusal(prim, f"its transformation: {told(error)}") from None
        if not np.abs(M).max() <= LARGEST_NUMBER:  # nan as well
            raise self.refusal(prim, "its transformation must be of finite numbers")
        A, p = self.up @ M[:3, :3].T, self.up @ M[3, :3]  # USD's vectors are rows
        if abs(np.linalg.det(A)) < 1e-12 * max(1e-300, np.abs(A).max() ** 3):
            raise self.refusal(prim, f"its transformation has no inverse: {A.tolist()}")
        return Placed(Pose(_turn(A), self.metres * p), self.metres * _turn(A).T @ A)


def told(error: Exception) -> str:
    """The messages in an error of USD, without the places in its sources."""
    found = _MESSAGE.findall(str(error))
    return "; ".join(" ".join(one.split()) for one in found) or " ".join(str(error).split())


def _turn(A: Array) -> Array:
    """The rotation of a transformation.

    Where the columns of A are perpendicular these are the axes; a mirror turns the sign of all
    three scales. Else it is the rotation of the polar decomposition.
    """
    sign = 1.0 if np.linalg.det(A) > 0 else -1.0
    lengths = np.linalg.norm(A, axis=0)
    Q = sign * A / lengths
    if np.abs(Q.T @ Q - np.eye(3)).max() > 1e-6:
        U, _, V = np.linalg.svd(sign * A)
        return np.asarray(U @ V)
    # Exact to rounding, although transformations of a file have few digits.
    U, _, V = np.linalg.svd(Q)
    return np.asarray(U @ V)
