"""Derivatives of a sum, passed back through the steps of states in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
    """Steps of one state after the other, a row for each.

    `by_q` and `by_v` tell how held torques answer to the coordinates and rates of their motors.
    """

    begins: Array  # (n, nq + nv + velocities)
    external: Array  # (n, nb + 1, 6)
    gains: NDArray[np.void]  # (n, nu) or (n, 0)
    ahead: Array  # (n, 2 nv) derivatives of the sum by the knots where steps begin
    last: NDArray[np.bool_]  # (n,) whether a step is the last one of its state
    ends: Array  # (n, 2 nv) derivatives of the sum by the knots where last steps end
    by_q: Array  # (n, nu)
    by_v: Array  # (n, nu)
    v_index: NDArray[np.int64]  # (nu,)


class Passed(NamedTuple):
    """Derivatives by where steps begin (n, 2 nv), by torques and targets of servos (n, nu)."""

    before: Array
    by_torques: Array
    by_targets: Array


def pass_back(
    worker: Worker,
    steps: Steps,
    by_matrices: Callable[[int, Array], tuple[Array, Array, Array]],
    note: Callable[[int, Model, NDArray[np.void], NDArray[np.int64]], None],
) -> Passed:
    """Go back through all steps, from the last one.

    Steps without a closed form are passed `by_matrices`, from their row and the derivatives by
    where they end, to those by where they begin, by torques and by targets. Contacts of the others,
    from a row on, are told to `note`.
    """
    n, nu = steps.by_q.shape
    out = Passed(np.zeros_like(steps.ends), np.zeros((n, nu)), np.zeros((n, nu)))
    adjoint = np.zeros(steps.ends.shape[1])
    handle = worker.backward.rows(min(n, MOST))
    rows: Rows = handle.values
    end = n
    while end > 0:
        begin = max(0, end - MOST)
        rows.many[0] = many = end - begin
        rows.begins[:many] = steps.begins[begin:end]
        rows.external[:many] = steps.external[begin:end]
        if steps.gains.shape[1]:
            rows.gains[:many] = steps.gains[begin:end]
        rows.ahead[:many], rows.last[:many] = steps.ahead[begin:end], steps.last[begin:end]
        rows.behind[:many] = steps.ends[begin:end]
        rows.by_q[:many], rows.by_v[:many] = steps.by_q[begin:end], steps.by_v[begin:end]
        rows.v_index[:], rows.adjoint[:] = steps.v_index, adjoint
        left = worker.backward.take(handle, worker.linearizer.arc)
        adjoint[:] = rows.adjoint
        done, found_rows = slice(begin + left, end), slice(left, many)
        out.before[done] = rows.before[found_rows]
        out.by_torques[done] = rows.by_torques[found_rows]
        out.by_targets[done] = rows.by_targets[found_rows]
        model = worker.linearizer.contact_model
        note(begin + left, model, rows.contacts[found_rows], rows.count[found_rows])
        end = begin + left
        if left > 0:
            end -= 1
            if steps.last[end]:
                adjoint[:] = steps.ends[end]
            found, out.by_torques[end], out.by_targets[end] = by_matrices(end, adjoint)
            np.add.at(found, steps.v_index, steps.by_q[end] * out.by_torques[end])
            rates = len(found) // 2 + steps.v_index
            np.add.at(found, rates, steps.by_v[end] * out.by_torques[end])
            adjoint[:] = found + steps.ahead[end]
            out.before[end] = adjoint
    return out


def share_out(
    workers: Sequence[Worker],
    states: NDArray[np.int64],
    take: Callable[[Worker, NDArray[np.int64]], None],
) -> None:
    """Let workers take parts of the states, in threads of their own."""
    if len(workers) == 1 or len(states) == 1:
        take(workers[0], states)
        return
    # Without a step, so that all that is compiled is compiled once.
    workers[0].backward.take(workers[0].backward.rows(0), workers[0].linearizer.arc)
    parts = zip(workers, np.array_split(states, len(workers)), strict=True)
    with ThreadPoolExecutor(len(workers)) as pool:
        for job in [pool.submit(take, worker, part) for worker, part in parts]:
            job.result()
