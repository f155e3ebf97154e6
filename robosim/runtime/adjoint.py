"""Gradients through several steps in one call of compiled code (`robosim.kernels.step.adjoint`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from robosim.compiled.arrays import in_lines
from robosim.compiled.records.column import LINK, PULLED
from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler.addresses import load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.kernels.step.adjoint import back_through_steps
from robosim.runtime.duals import CONTACT_STATE, DualStep, columns_for, in_closed_form
from robosim.runtime.features import provide
from robosim.runtime.handles import INFO_TYPE, Handle, scheme_for, solver
from robosim.validation import Array


class Pulled(NamedTuple):
    """Derivatives by all that a step computes, and what is kept of its first knot."""

    bodies: NDArray[np.void]  # (nb + 1,) PULLED, the world last
    tree: NDArray[np.void]  # (nb + 1,) TREE_WORK of the first knot
    contacts: NDArray[np.void]  # (n,) work of the contacts there, by place in the equations
    links: NDArray[np.void]  # (nb,) LINK of the second knot
    moved: Array  # (n, 3) by the motions of contacts
    kappa: Array  # (1,) by the barrier
    row: Array  # (nv,) scratch
    forces: Array  # (velocities,) by torques
    aims: Array  # (velocities,) by the targets of servos


class Rows(NamedTuple):
    """Steps of one state or of several, and what is found of them; a row for each step."""

    many: NDArray[np.int64]  # (1,) number of rows that are in use
    begins: Array  # (n, nq + nv + velocities)
    external: Array  # (n, nb + 1, 6) wrenches
    gains: NDArray[np.void]  # (n, nu) GAINS of a PD, or (n, 0)
    ahead: Array  # (n, 2 nv) derivatives of the sum by the knot where the step begins
    by_q: Array  # (n, nu) how held torques answer to their coordinates
    by_v: Array  # (n, nu) and to their rates
    v_index: NDArray[np.int64]  # (nu,) these rates
    adjoint: Array  # (2 nv,) by the last knot of all, then by the first
    last: NDArray[np.int64]  # (n,) 1 for the last step of a state, else 0
    behind: Array  # (n, 2 nv) by where the step ends: given for last steps, else a result
    before: Array  # (n, 2 nv) result: by where the step begins
    by_torques: Array  # (n, nu) result
    by_targets: Array  # (n, nu) result: by the targets of implicit PDs
    contacts: NDArray[np.void]  # (n, contacts) CONTACT_STATE, result
    count: NDArray[np.int64]  # type: ignore[assignment]  # (n,) number of `contacts`


class Backward:
    """Passes derivatives of a sum back through steps whose closed forms exist.

    Parameters
    ----------
    step : DualStep
        Along all directions of the state; its memory is shared.
    """

    def __init__(self, step: DualStep) -> None:
        self._step, self._plain = step, step.plain
        parts = step.plain.values
        nb, nv, slots = len(parts.model.bodies), step.parts.nv, len(parts.work.slots) + 1
        tree, contacts = parts.memory.system.tree, parts.memory.system.contacts
        rates = len(parts.model.coordinates)
        self._back = Handle(
            Pulled(
                in_lines(np.zeros(nb + 1, dtype=PULLED)),
                in_lines(np.zeros(len(tree), dtype=tree.dtype)),
                in_lines(np.zeros(slots, dtype=contacts.dtype)),
                np.zeros(nb, dtype=LINK),
                np.zeros((slots, 3)),
                np.zeros(1),
                np.zeros(nv),
                np.zeros(rates),
                np.zeros(rates),
            )
        )
        self._columns = columns_for(step.robot, parts, True)
        self._rows: dict[int, Handle] = {}

    @staticmethod
    def may_take(robot: Mechanism, step: DualStep) -> bool:
        """Whether a model has closed forms; what acts within a step decides as well."""
        return not step.parts.closes and in_closed_form(robot, step.plain.values)

    def rows(self, n: int) -> Handle:
        """Memory for n steps or less, which the next call for as many shares."""
        if n not in self._rows:
            on, nu = self._step.parts, len(self._step.parts.motors)
            wrenches, slots = len(on.loads.external), len(on.work.slots)
            made = Rows(
                np.zeros(1, dtype=np.int64),
                np.zeros((n, len(on.begins))),
                np.zeros((n, wrenches, 6)),
                np.zeros((n, len(on.gains)), dtype=on.gains.dtype),
                np.zeros((n, 2 * on.nv)),
                np.zeros((n, nu)),
                np.zeros((n, nu)),
                np.zeros(nu, dtype=np.int64),
                np.zeros(2 * on.nv),
                np.zeros(n, dtype=np.int64),
                np.zeros((n, 2 * on.nv)),
                np.zeros((n, 2 * on.nv)),
                np.zeros((n, nu)),
                np.zeros((n, nu)),
                np.empty((n, slots), dtype=CONTACT_STATE),
                np.zeros(n, dtype=np.int64),
            )
            if len(self._rows) > KEPT:
                self._rows.clear()
            self._rows[n] = Handle(made)
        return self._rows[n]

    def take(self, rows: Handle, arc: float) -> int:
        """Go from the last row in use to the first; how many are left: one has no closed form."""
        columns, columns_kind = self._columns
        step, plain = self._step, self._plain
        tree = plain.values.model.tree
        kinds = plain.kind, step.kind, rows.kind, columns_kind, self._back.kind
        if (tree, *kinds) not in _FUNCTIONS:
            made = _make_function(tree, *kinds)
            others = (types.int64,) * 5 + (types.float64,)
            _FUNCTIONS[tree, *kinds] = solver(plain.kind, tree, INFO_TYPE).bound_to(made, others)
        provide(plain.values.model, plain.kind, scheme_for(tree), INFO_TYPE)
        addresses = plain.address, step.address, rows.address, columns.address
        return int(_FUNCTIONS[tree, *kinds](*addresses, self._back.address, arc))


KEPT = 4  # numbers of steps whose memory is kept
_FUNCTIONS: dict[tuple[bool, int, int, int, int, int], Any] = {}


def _make_function(
    tree: bool, plain_kind: int, kind: int, rows_kind: int, columns_kind: int, back_kind: int
) -> Any:
    scheme = scheme_for(tree)

    @entry
    @named(int(tree), plain_kind, kind, rows_kind, columns_kind, back_kind)
    def back_through(solver, plain, address, rows, columns, back, arc):  # type: ignore[no-untyped-def]
        return back_through_steps(
            scheme,
            load(plain, plain_kind),
            load(address, kind),
            load(rows, rows_kind),
            load(columns, columns_kind),
            load(back, back_kind),
            (solver, plain),
            arc,
        )

    return back_through
