"""The kinds of joints, and the selection matrices of Table B.1 and B.2 [Bruedigam2023, App. B]."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import ModelError
from robosim.validation import Array

KINDS: dict[str, tuple[str, str]] = {
    "fixed": ("none", "none"),
    "prismatic": ("axis", "none"),
    "planar_fixed_orientation": ("plane", "none"),
    "fixed_orientation": ("free", "none"),
    "revolute": ("none", "axis"),
    "cylindrical": ("axis", "axis"),
    "planar": ("plane", "axis"),
    "axis_rotation": ("free", "axis"),
    "spherical": ("none", "free"),
    "cylindrical_free_orientation": ("axis", "free"),
    "planar_free_orientation": ("plane", "free"),
    "floating": ("free", "free"),
}
"""What translation and rotation of each kind are restricted to [Bruedigam2023, Table B.2]."""
CHART_KINDS = ("composite", "universal", "spline", "screw")
"""Joints whose coordinates move the child along a chart Q(q) [Sueda, Sect. 2.4]."""


class Selection(NamedTuple):
    """Selection matrices D (constrained) and null spaces C (free) of a joint, columns unit."""

    D_T: Array  # (3, n) constrained directions of the translation
    D_R: Array  # (3, n) constrained directions of the rotation
    C_T: Array  # (3, 3 - n) free directions of the translation
    C_R: Array  # (3, 3 - n) free directions of the rotation


def perpendicular_basis(axis: ArrayLike) -> tuple[Array, Array]:
    """(V_12, V_3): two unit vectors (3, 2) across and the unit vector (3, 1) along `axis`.

    The vectors of [Bruedigam2023, Eqs. B.5, B.6]. The printed singular value decomposition leaves
    a rotation of V_12 about the axis undetermined. Here V_12 is unique, so that minimal coordinates
    are the same on every machine; ``V_1 x V_2 = V_3``, with V_3 along `axis`.
    """
    v3 = np.asarray(axis, dtype=float)
    v3 = v3 / np.linalg.norm(v3)
    # The unit vectors after the one nearest to the axis: z gives (x, y), x gives (y, z).
    v1 = np.eye(3)[(int(np.argmax(np.abs(v3))) + 1) % 3]
    v1 = v1 - (v1 @ v3) * v3
    v1 /= np.linalg.norm(v1)
    return np.column_stack((v1, np.cross(v3, v1))), v3[:, None]


def selection(kind: str, axis: ArrayLike = (0.0, 0.0, 1.0)) -> Selection:
    """Selection matrices of a joint kind of Table B.2 about or along `axis` (3,).

    The axis is given in the joint frame, which is the child's body frame.

    Raises
    ------
    ModelError
        For an unknown kind, or an axis that is zero or not finite.
    """
    if kind in CHART_KINDS:
        raise ModelError(f"a '{kind}' joint is a chart, which has no selection matrices")
    if kind not in KINDS:
        raise ModelError(f"unknown joint kind '{kind}'", alternatives=tuple(KINDS))
    axis = np.asarray(axis, dtype=float)
    if axis.shape != (3,) or not np.all(np.isfinite(axis)) or np.linalg.norm(axis) < 1e-12:
        raise ModelError(f"a joint axis must be a finite vector other than zero, not {axis}")
    v12, v3 = perpendicular_basis(axis)
    nothing, everything = np.zeros((3, 0)), np.eye(3)
    # Table B.1: free directions -> (D, C).
    table = {
        "free": (nothing, everything),
        "plane": (v3, v12),
        "axis": (v12, v3),
        "none": (everything, nothing),
    }
    D_T, C_T = table[KINDS[kind][0]]
    D_R, C_R = table[KINDS[kind][1]]
    return Selection(D_T, D_R, C_T, C_R)
