"""Which rows of constraints are equations, by their singular values, and what is refused."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.errors import StateError
from robosim.simulation.constraints import ConstraintRows, Constraints
from robosim.simulation.one_sided import least_signed
from robosim.validation import Array

OPEN = 1e-3  # [m, sine of half an angle, or rad], how far from closed a state may be
# Of the largest singular value, from where a smaller one counts as zero; where loops are open,
# rows that depend on each other differ by about that much.
DEPENDENT = 1e-8
DEPENDENT_IF_OPEN = 3.0
CONTRADICTION = 1e-3  # of the largest entry, how far rows may contradict each other
INCONSISTENT = 1e-6  # of the terms of a row, how far given accelerations may violate it


class Independent(NamedTuple):
    """The part of the rows whose singular values are not zero."""

    U: Array  # (m, r)
    S: Array  # (r,)
    V: Array  # (r, nv), orthonormal rows

    def multipliers(self, forces: Array, sides: Array) -> Array:
        """The least lambda (m,) on its sides with ``J^T lambda = V^T forces``, forces (r,)."""
        found = np.asarray(self.U @ (forces / self.S))
        if not sides.any() or not len(self.S):
            return found
        across = np.linalg.svd(self.U)[0][:, len(self.S) :]
        return least_signed(found, across, sides)


def independent(rows: ConstraintRows, kept: Array) -> Independent:
    """Some rows (m,) of a state that is closed."""
    U, S, V = np.linalg.svd(rows.jacobian[kept], full_matrices=False)
    open_by = float(np.abs(rows.value).max(initial=0.0))
    least = max(DEPENDENT, DEPENDENT_IF_OPEN * open_by)
    rank = int(np.sum(least * S.max(initial=0.0) < S))
    return Independent(U[:, :rank], S[:rank], V[:rank])


def contacts_that_push(constraints: Constraints, rows: ConstraintRows) -> dict[str, list[int]]:
    """Rows of contacts that push along the last of them, by their names."""
    found = {}
    for element in constraints.elements:
        own = list(range(element.rows.start, element.rows.stop))
        if element.kind == "contact" and rows.sides[own[-1]]:
            found[element.name] = own
    return found


def closed_rows(constraints: Constraints, rows: ConstraintRows, a: Array, target: Array) -> Array:
    """Which rows (m,) are equations for given accelerations: all but those that are leaving."""
    size = 1 + np.abs(rows.jacobian) @ np.abs(a) + np.abs(target)
    kept = rows.sides * (rows.jacobian @ a - target) <= INCONSISTENT * size
    for own in contacts_that_push(constraints, rows).values():
        kept[own] = kept[own[-1]]
    return np.asarray(kept)


def refuse_open(constraints: Constraints, rows: ConstraintRows) -> None:
    """Raise a StateError for a state that is not closed."""
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
    """Raise a StateError where no acceleration is what all rows that are kept want."""
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
    """Raise a StateError where given accelerations are not what the rows that are kept want."""
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
