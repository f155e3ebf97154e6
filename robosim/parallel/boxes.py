"""Limits of motors as limits of joints: a box becomes a polytope, which is between two boxes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.validation import Array


class Box(NamedTuple):
    """Symmetric limits of the joints at a configuration, from those of the motors.

    What the motors allow is a polytope.

    Attributes
    ----------
    alone : (n,)
        The largest value of each joint with the others at zero.
    outer : (n,)
        The largest value of each joint in the whole polytope: the smallest box around it.
    inner : (n,)
        A box within: all combinations are allowed. The largest multiple of `outer`.
    """

    alone: Array
    outer: Array
    inner: Array


def box(to_joints: Array, to_motors: Array, limits: Array) -> Box:
    """The limits of joints for those of motors.

    Parameters
    ----------
    to_joints, to_motors : (n, n)
        Maps of torques or velocities, each the inverse of the other.
    limits : (n,), of the motors; infinite for none
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(to_motors == 0.0, np.inf, limits[:, None] / np.abs(to_motors))
        alone = each.min(axis=0, initial=np.inf)
        outer = np.where(to_joints == 0.0, 0.0, np.abs(to_joints) * limits).sum(axis=1)
        needs = np.where(to_motors == 0.0, 0.0, np.abs(to_motors) * outer).sum(axis=1)
        inner = outer * np.nan_to_num((limits / needs), nan=1.0, posinf=1.0).min(initial=1.0)
    return Box(alone, outer, inner)
