"""The steps of a bound run as compiled code can take them by itself, unit by unit.

A unit is a group of states that are stepped together, or a single state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.runtime.handles import code_of
from robosim.runtime.lanes import Together, group_code_of
from robosim.validation import Array

UNIT = np.dtype(
    [(name, np.int64) for name in ("code", "solver", "alone", "group", "parts", "runs", "done")]
    + [("first", np.int64), ("count", np.int64)]
)  # addresses of functions and of their arguments, and which states; group is 0 of a single state


class Running(NamedTuple):
    """The arrays of a bound run.

    Attributes
    ----------
    units : (k,) UNIT
    begin : (n,) [s]
        Times of the starts.
    counted, ahead : (n,)
        Steps from the starts, and those of bound runs that no simulation has counted yet.
    begun : (n,)
        Steps before those that are taken now.
    starts : (n, 1) [s]
        Times at which these begin.
    done, reached : (n,)
        Steps that were taken.
    failed : (n,) of bool
    turns : (n, steps)
        Cosines of half of the angle by which a body has turned in each step.
    q, v : (n, nq), (n, nv)
    tau : (n, nv)
        Forces on the coordinates over the first step.
    targets : (n, nu)
    torques : (n, forces)
    actuated : (nu,)
        Which of the coordinates, and of the forces, have motors.
    steps : int
    dt : float [s]
        Length of a step.
    far : float
        Least of `turns` of which no warning tells.
    """

    units: NDArray[np.void]
    begin: Array
    counted: NDArray[np.int64]
    ahead: NDArray[np.int64]
    begun: NDArray[np.int64]
    starts: Array
    done: NDArray[np.int64]
    reached: NDArray[np.int64]
    failed: NDArray[np.bool_]
    turns: Array
    q: Array
    v: Array
    tau: Array
    targets: Array
    torques: Array
    actuated: NDArray[np.int64]
    steps: int
    dt: float
    far: float


def units_of(
    together: Sequence[tuple[Together, Any, int, int]],
    alone: slice,
    step_states: Any,
    arrays: Sequence[NDArray[np.int64]],
) -> NDArray[np.void]:
    """Units of groups, each with its function, first state and number of states, and of states.

    ``arrays`` are the addresses of parts and of runs, and the steps that are done, each (n,).
    """
    units = np.zeros(len(together) + alone.stop - alone.start, dtype=UNIT)
    for unit, (group, take, first, count) in zip(units, together, strict=False):
        code, solver, others = group_code_of(take)
        unit["code"], unit["solver"], unit["alone"] = code, solver, others.ctypes.data
        unit["group"], unit["first"] = group.handle.addresses.ctypes.data, first
        unit["count"] = count
    rest = units[len(together) :]
    if len(rest):
        rest["code"], rest["solver"] = code_of(step_states)
        rest["first"], rest["count"] = np.arange(alone.start, alone.stop), 1
    for name, array in zip(("parts", "runs", "done"), arrays, strict=True):
        units[name] = array.ctypes.data + array.itemsize * units["first"]
    return units
