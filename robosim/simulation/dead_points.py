"""Whether closed loops stand at a dead point: the certificate of a `DeadPointError`.

Let $J v = 0$ be the equations of loops and couplings for velocities, with derivative
$J a + b(v) = 0$, where $b$ is quadratic. Weights $\\lambda$ with $\\lambda^T J = 0$ leave
$\\lambda^T b(v) = 0$ of it for all velocities that $J$ permits. If this form is semidefinite on
them, velocities along its range are zero, although $J$ permits them (rigidity of second order,
[Connelly1996]). No finite force of a joint acts along them either, as such forces are $J^T$ times
multipliers. So a load along them has no equilibrium, as that on two rods in one line has none
across the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from robosim.compiled.order import driven_elements
from robosim.description.mechanism import Mechanism
from robosim.dynamics.constraints import Constraints, Element
from robosim.dynamics.lengths import Lengths
from robosim.errors import RobosimError
from robosim.kinematics.recursion import Recursion
from robosim.validation import Array

# Of the largest singular value: a pose that is off a dead point by what a step leaves open has
# singular values of about the root of it.
NEAR = 1e-3
BENT = 1e-2  # of the largest curvature, from which on a velocity is held
SIGN = 1e-3  # of it, up to which one of the other sign comes from a pose that is off the point
LEAST = 1e-3  # curvature of scaled equations that counts
MOST = 24  # velocities that loops permit, of which pairs are many
SHARE = 0.1  # of the largest component, from which on a name is told


class DeadPoint(NamedTuple):
    """What stands at a dead point; see the attributes of `DeadPointError`."""

    joints: tuple[str, ...]
    held: tuple[str, ...]


def dead_point(robot: Mechanism, q: Array) -> DeadPoint | None:
    """Joints that close loops at a dead point in the pose q (nq,), and what they hold there.

    None where nothing has been shown: without loops, with prescribed motions, or if the velocities
    that the loops permit are many.
    """
    if not (robot.loop_joints or robot.couplings) or driven_elements(robot):
        return None
    try:
        return _found(robot, q)
    except (RobosimError, np.linalg.LinAlgError):
        return None


def _found(robot: Mechanism, q: Array) -> DeadPoint | None:
    constraints = Constraints(Recursion(robot, (0.0, 0.0, 0.0)), Lengths(robot))
    J = constraints.rows(q, np.zeros(robot.nv), None).jacobian
    closing = [one for one in constraints.elements if one.kind in ("joint", "coupling")]
    index = np.concatenate([np.arange(one.rows.start, one.rows.stop) for one in closing])
    scale = _scales(robot, closing, J)[index]
    left, sizes, right = np.linalg.svd(J[index] / scale[:, None])
    rank = int(np.sum(sizes > NEAR * sizes.max(initial=0.0)))
    weights, free = left[:, rank:], right[rank:]
    if not (weights.size and 0 < len(free) <= MOST):
        return None

    def bent(v: Array) -> Array:
        return np.asarray(weights.T @ (constraints.rows(q, v, None).bias[index] / scale))

    forms = np.zeros((weights.shape[1], len(free), len(free)))
    for i, v in enumerate(free):
        forms[:, i, i] = bent(v)
    for i, j in combinations(range(len(free)), 2):
        both = bent(free[i] + free[j]) - forms[:, i, i] - forms[:, j, j]
        forms[:, i, j] = forms[:, j, i] = 0.5 * both
    # If all forms are semidefinite in some basis of the weights, so is this sum, in any basis.
    share = np.trace(forms, axis1=1, axis2=2)
    size = float(np.linalg.norm(share))
    if size < LEAST:
        return None
    bends, axes = np.linalg.eigh(np.einsum("k,kij->ij", share / size, forms))
    if bends[-1] < LEAST or bends[0] < -SIGN * bends[-1]:
        return None
    moved = np.abs(free.T @ axes[:, bends > BENT * bends[-1]]).max(axis=1)
    held = tuple(
        name for name, part in zip(robot.v_names, moved, strict=True) if part > SHARE * moved.max()
    )
    of_rows = np.zeros(len(J))
    of_rows[index] = np.abs(weights @ share)
    joints = tuple(one.name for one in closing if of_rows[one.rows].max() > SHARE * of_rows.max())
    return DeadPoint(joints, held)


def _scales(robot: Mechanism, closing: Sequence[Element], J: Array) -> Array:
    """What rows of J are divided by: the longest of its kind, which has units of its own."""
    slides = {joint.name: joint.D_T.shape[1] for joint in robot.loop_joints}
    kinds = np.full(len(J), -1)
    for number, one in enumerate(closing):
        kinds[one.rows] = 1 if one.kind == "joint" else 2 + number
        kinds[one.rows.start : one.rows.start + slides.get(one.name, 0)] = 0
    lengths, scales = np.linalg.norm(J, axis=1), np.ones(len(J))
    for kind in set(kinds[kinds >= 0]):
        scales[kinds == kind] = lengths[kinds == kind].max() or 1.0
    return scales
