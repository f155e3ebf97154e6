"""Derivatives of a sum, passed back through the steps of one state in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.model import Model
from robosim.linearization.linearization import MaximalLinearizer
from robosim.runtime.adjoint import Backward, Rows
from robosim.validation import Array

MOST = 256  # steps in one call of compiled code


class Worker(NamedTuple):
    """Memory of one thread."""

    linearizer: MaximalLinearizer
    backward: Backward


class Steps(NamedTuple):
    """The steps of a state, a row for each.

    `by_q` and `by_v` tell how held torques answer to the coordinates and rates of their motors.
    """

    begins: Array  # (n, nq + nv + velocities)
    external: Array  # (nb + 1, 6)
    gains: NDArray[np.void]  # (n, nu) or (n, 0)
    ahead: Array  # (n + 1, 2 nv) derivatives of the sum by the knots
    by_q: Array  # (n, nu)
    by_v: Array  # (n, nu)
    v_index: NDArray[np.int64]  # (nu,)


class Passed(NamedTuple):
    """Derivatives by the first knot (2 nv,), and by torques and targets of servos (n, nu)."""

    adjoint: Array
    by_torques: Array
    by_targets: Array


def pass_back(
    worker: Worker,
    steps: Steps,
    by_matrices: Callable[[int, Array], tuple[Array, Array, Array]],
    note: Callable[[int, Model, NDArray[np.void], NDArray[np.int64]], None],
) -> Passed:
    """Go back through all steps of a state.

    Steps without a closed form are passed `by_matrices`, from their number and the derivatives by
    where they end, to those by where they begin, by torques and by targets. Contacts of the others,
    from a step on, are told to `note`.
    """
    n, nu = steps.by_q.shape
    adjoint = steps.ahead[n].copy()
    out = Passed(adjoint, np.zeros((n, nu)), np.zeros((n, nu)))
    end = n
    while end > 0:
        begin = max(0, end - MOST)
        handle = worker.backward.rows(end - begin)
        rows: Rows = handle.values
        rows.begins[:] = steps.begins[begin:end]
        rows.external[:] = steps.external
        if steps.gains.shape[1]:
            rows.gains[:] = steps.gains[begin:end]
        rows.ahead[:] = steps.ahead[begin:end]
        rows.by_q[:], rows.by_v[:] = steps.by_q[begin:end], steps.by_v[begin:end]
        rows.v_index[:], rows.adjoint[:] = steps.v_index, adjoint
        left = worker.backward.take(handle, worker.linearizer.arc)
        adjoint[:] = rows.adjoint
        done = slice(begin + left, end)
        out.by_torques[done], out.by_targets[done] = rows.by_torques[left:], rows.by_targets[left:]
        note(begin + left, worker.linearizer.contact_model, rows.contacts[left:], rows.count[left:])
        end = begin + left
        if left > 0:
            end -= 1
            found, out.by_torques[end], out.by_targets[end] = by_matrices(end, adjoint)
            np.add.at(found, steps.v_index, steps.by_q[end] * out.by_torques[end])
            rates = len(found) // 2 + steps.v_index
            np.add.at(found, rates, steps.by_v[end] * out.by_torques[end])
            adjoint[:] = found + steps.ahead[end]
    return out


def share_out(
    workers: Sequence[Worker], states: Sequence[int], take: Callable[[Worker, int], None]
) -> None:
    """Let workers take the states, in threads of their own."""
    if len(workers) == 1 or len(states) == 1:
        for state in states:
            take(workers[0], state)
        return
    # Without a step, so that all that is compiled is compiled once.
    workers[0].backward.take(workers[0].backward.rows(0), workers[0].linearizer.arc)
    ends = np.linspace(0, len(states), len(workers) + 1).astype(int).tolist()

    def take_some(worker: Worker, begin: int, end: int) -> None:
        for state in states[begin:end]:
            take(worker, state)

    with ThreadPoolExecutor(len(workers)) as pool:
        parts = zip(workers, pairwise(ends), strict=True)
        for job in [pool.submit(take_some, worker, *part) for worker, part in parts]:
            job.result()
