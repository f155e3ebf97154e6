"""First-order motion of motors and joints at a configuration, and its singularities.

All rates (m', y') of n motors and n joints with closed loops are a plane of n dimensions. An
orthonormal basis of this plane, one column a motion, has the parts M (n, n) of the motors and Y of
the joints, with M^T M + Y^T Y = 1. The singular values of M and Y are sines and cosines of the same
angles, whatever the number of loops, redundant constraints and idle rotations of rods. With
``J = Y M^-1``: y' = J m', and torques have equal power, motors = J^T joints.

A zero singular value of M or Y is a singularity of the second or first type [Gosselin1990].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robosim.errors import ModelError, StateError
from robosim.parallel.loops import Coordinate, Loops
from robosim.validation import Array

SINGULAR = 1e-9  # sine of an angle
FREE = 1e-7  # of the largest rate, for a motion that counts


class SingularValues(NamedTuple):
    """Distances from singularities, each zero in a singularity and one at most.

    Attributes
    ----------
    parallel : float
        Second type: with locked motors the joints can move, and motors cannot hold them. The sine
        of the smallest angle between a motion and all motions of locked motors.
    serial : float
        First type: with locked joints the motors can move; a joint is at its dead centre.
    loops : float
        The loops have more freedom than elsewhere, and assembly modes meet. The smallest singular
        value of their Jacobian that is not always zero, relative to the largest one.
    """

    parallel: float
    serial: float
    loops: float


class Tangent(NamedTuple):
    """The plane of motions at a configuration; metres are divided by a length."""

    motors: Array  # (n, n), M
    joints: Array  # (n, n), Y
    loops: float
    scales: Array  # (2 n,), of motors and joints: 1 for rad, 1/length for m

    @property
    def singular_values(self) -> SingularValues:
        motors, joints = (
            float(np.linalg.svd(part, compute_uv=False)[-1]) for part in (self.motors, self.joints)
        )
        return SingularValues(motors, joints, self.loops)

    @property
    def orientation(self) -> float:
        """det(M) det(Y): its sign changes in singularities of either type."""
        return float(np.linalg.det(self.motors) * np.linalg.det(self.joints))

    def jacobian(self, names: Sequence[str], inverse: bool = False) -> Array:
        """d joints / d motors (n, n) in units of the coordinates; `inverse`: d motors / d joints.

        Raises
        ------
        StateError
            In a singularity, naming the coordinate that moves the most.
        """
        n = len(self.motors)
        by, of = (self.joints, self.motors) if inverse else (self.motors, self.joints)
        by_scales, of_scales = self.scales[n:], self.scales[:n]
        if not inverse:
            by_scales, of_scales = of_scales, by_scales
        _, sizes, ways = np.linalg.svd(by)
        if sizes[-1] < SINGULAR:
            worst = names[int(np.argmax(np.abs(of @ ways[-1])))]
            held, kind = ("joints", "serial") if inverse else ("motors", "parallel")
            raise StateError(
                f"a {kind} singularity: with locked {held} '{worst}' can move, and has no finite "
                "rate"
            )
        return np.asarray(np.linalg.solve(by.T, of.T).T * by_scales / of_scales[:, None])


def tangent(
    loops: Loops,
    q: Array,
    motors: Sequence[Coordinate],
    joints: Sequence[Coordinate],
    length: float,
    rank: int | None = None,
) -> tuple[Tangent, int]:
    """The plane of motions at q, and the number of independent rows of the loops.

    Parameters
    ----------
    rank : int or None
        This number elsewhere; None: that at q.

    Raises
    ------
    ModelError
        If not n motions are left for n motors and joints, at a q without a given rank.
    StateError
        The same with a given rank, in a singularity of the loops.
    """
    rows, n, both = loops.rows(q), len(motors), [*motors, *joints]
    _, sizes, V = np.linalg.svd(rows.jacobian[:, loops.moving])
    largest = float(sizes.max(initial=0.0))
    here = int(np.sum(sizes > rows.dependent * largest))
    generic = here if rank is None else rank
    least = 1.0 if not generic else float(sizes[generic - 1] / largest)
    own = loops.read(q, both)[1][:, loops.moving] @ V[here:].T
    scales = np.array([1.0 if one.unit != "m" else 1.0 / length for one in both])
    U, moves, _ = np.linalg.svd(own * scales[:, None], full_matrices=False)
    count = int(np.sum(moves > FREE * moves.max(initial=0.0)))
    if count != n or (rank is not None and here < rank):
        raise _wrong_freedom(loops, U[:, :count], both, n, rank is None)
    return Tangent(U[:n, :n], U[n:, :n], least, scales), generic


def _wrong_freedom(
    loops: Loops, plane: Array, both: Sequence[Coordinate], n: int, at_home: bool
) -> ModelError | StateError:
    """The error for a plane of motions (2 n, count) with another count than n."""
    count = plane.shape[1]
    if not at_home:
        return StateError("a singularity of the loops: here they have more freedom than elsewhere")
    element = f"mechanism '{loops.robot.name}'"
    if count < n:
        return ModelError(
            f"{n} motors and joints have {count} degrees of freedom: some depend on each other, "
            "are fixed, or home is singular",
            element=element,
        )
    # The joints' rates that are left with locked motors.
    locked = np.linalg.svd(plane[:n])[2][n:]
    free = int(np.argmax(np.linalg.norm(plane[n:] @ locked.T, axis=1)))
    names = [one.name for one in both]
    others = [one.name for one in loops.measured() if one.v is not None and one.name not in names]
    return ModelError(
        f"{n} motors and joints have {count} degrees of freedom, and locked motors leave "
        f"'{names[n + free]}' free; name more motors and joints, or fix other coordinates",
        element=element,
        alternatives=others,
    )
