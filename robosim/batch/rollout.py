"""What the states of a batch did over some steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.validation import Array


class Rollout(NamedTuple):
    """What the states of a batch did; rows after a step that failed are nan.

    Attributes
    ----------
    t : (n, rows + 1) [s], of the knots that are logged
    q : (n, rows + 1, nq), coordinates at the knots, the first and the last included
    v : (n, rows + 1, nv), velocities there
    tau : (n, rows, nu), torques over the steps that begin there; one row for each step, or for each
        `every` of them
    gap : (n, steps) [m], smallest gap of a contact at the end of each step; inf without contacts
    violation : (n, steps) [m, or the sine of half an angle], largest one of a joint there
    iterations : (n, steps), Newton iterations, 0 after a failure
    done : (n,), steps done
    failed : (n,), whether a step could not be solved; the state is left at the knot before it
    """

    t: Array
    q: Array
    v: Array
    tau: Array
    gap: Array
    violation: Array
    iterations: NDArray[np.int64]
    done: NDArray[np.int64]
    failed: NDArray[np.bool_]
