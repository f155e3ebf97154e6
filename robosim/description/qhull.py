"""Convex hulls by scipy's Qhull, which is imported on first use."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike


class NoHullError(ValueError):
    """Points that are too few, or too near to a plane, to have a hull."""


def hull_of(points: ArrayLike, options: str | None = None) -> Any:
    """The `scipy.spatial.ConvexHull` of points (n, d), with options of Qhull.

    Raises
    ------
    NoHullError
        If the points have no hull.
    ValueError
        For points that are not finite.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(points, qhull_options=options)
    except QhullError as error:
        raise NoHullError(str(error)) from error
