"""Independent rows of constraints, by their singular values, and errors for invalid ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.dynamics.constraints import ConstraintRows, Constraints
from robosim.dynamics.one_sided import least_signed
from robosim.errors import StateError
from robosim.validation import Array

OPEN = 1e-3  # [m, sine of half an angle, or rad], largest violation of a state
# Relative to the largest singular value; smaller ones count as zero. If loops are open, redundant
# rows differ by about the violation.
DEPENDENT = 1e-8
DEPENDENT_IF_OPEN = 3.0
CONTRADICTION = 1e-3  # of the largest entry, largest contradiction of rows
INCONSISTENT = 1e-6  # of the terms of a row, largest violation by given accelerations


class Independent(NamedTuple):
    """The part of the rows with singular values above zero."""

    U: Array  # (m, r)
    S: Array  # (r,)
    V: Array  # (r, nv), orthonormal rows

    def multipliers(self, forces: Array, sides: Array) -> Array:
        """The smallest lambda (m,) of allowed signs, with ``J^T lambda = V^T forces`` of (r,)."""
        found = np.asarray(self.U @ (forces / self.S))
        if not sides.any() or not len(self.S):
            return found
        across = np.linalg.svd(self.U)[0][:, len(self.S) :]
        return least_signed(found, across, sides)


def independent(rows: ConstraintRows, kept: Array) -> Independent:
    """The independent part of some rows (m,), at a state with closed loops."""
    U, S, V = np.linalg.svd(rows.jacobian[kept], full_matrices=False)
    open_by = float(np.abs(rows.value).max(initial=0.0))
    least = max(DEPENDENT, DEPENDENT_IF_OPEN * open_by)
    rank = int(np.sum(least * S.max(initial=0.0) < S))
    return Independent(U[:, :rank], S[:rank], V[:rank])


def contacts_that_push(constraints: Constraints, rows: ConstraintRows) -> dict[str, list[int]]:
    """Rows of one-sided contacts, by name; the last row of each is along the normal."""
    found = {}
    for element in constraints.elements:
        own = list(range(element.rows.start, element.rows.stop))
        if element.kind == "contact" and rows.sides[own[-1]]:
            found[element.name] = own
    return found


def closed_rows(constraints: Constraints, rows: ConstraintRows, a: Array, target: Array) -> Array:
    """Rows (m,) that are equations for given accelerations: all except those that open."""
    size = 1 + np.abs(rows.jacobian) @ np.abs(a) + np.abs(target)
    kept = rows.sides * (rows.jacobian @ a - target) <= INCONSISTENT * size
    for own in contacts_that_push(constraints, rows).values():
        kept[own] = kept[own[-1]]
    return np.asarray(kept)


def refuse_open(constraints: Constraints, rows: ConstraintRows) -> None:
    """Raise a StateError for a state with open loops."""
    open_by = np.abs(rows.value)
    if open_by.max(initial=0.0) > OPEN:
        worst = int(np.argmax(open_by))
        raise StateError(
            f"{constraints.names[worst]} is violated by {open_by[worst]:.3g} [m, sine of half "
            f"an angle, or rad], which may be {OPEN} at most: `Simulation.set_state` closes "
            "loops, and motions take the time into account"
        )


def refuse_contradiction(
    constraints: Constraints, rows: ConstraintRows, kept: Array, a: Array, target: Array
) -> None:
    """Raise a StateError if no acceleration satisfies all rows that are kept."""
    size = np.where(kept, np.abs(target - rows.jacobian @ a), 0.0)
    rounding = 1e-9 * (1 + np.abs(rows.jacobian) @ np.abs(a))
    beyond = size - rounding - CONTRADICTION * np.abs(target[kept]).max(initial=0.0)
    if beyond.max(initial=0.0) > 0:
        worst = int(np.argmax(beyond))
        raise StateError(
            f"the constraints contradict each other: {constraints.names[worst]} would still "
            f"accelerate by {size[worst]:.3g} [m/s^2 or rad/s^2]"
        )


def refuse_inconsistent(
    constraints: Constraints, rows: ConstraintRows, kept: Array, a: Array, target: Array
) -> None:
    """Raise a StateError if given accelerations violate the rows that are kept."""
    U, left = independent(rows, kept).U, np.zeros(len(kept))
    left[kept] = U @ (U.T @ (rows.jacobian @ a - target)[kept])
    size = np.abs(left) / (1 + np.abs(rows.jacobian) @ np.abs(a) + np.abs(target))
    if size.max(initial=0.0) > INCONSISTENT:
        worst = int(np.argmax(size))
        raise StateError(
            f"a violates {constraints.names[worst]} by {left[worst]:.3g} [m/s^2 or rad/s^2]; "
            "`constrained_acceleration` has accelerations that do not, and takes those of some "
            "joints"
        )
