"""The result of a rollout of a batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.validation import Array


class Rollout(NamedTuple):
    """The result of a rollout: samples of all states, and values of all steps.

    Samples are taken at the first knot, after each `every` steps, and at the last knot. Values
    after a failed step are NaN.

    Attributes
    ----------
    t : (n, rows + 1) [s]
        Times of the samples.
    q : (n, rows + 1, nq)
        Coordinates.
    v : (n, rows + 1, nv)
        Velocities.
    tau : (n, rows, nu) [N m or N]
        Torques over the steps that begin at the samples.
    gap : (n, steps) [m]
        Smallest gap of a contact at the end of each step; inf without contacts.
    violation : (n, steps) [m, or the sine of half an angle]
        Largest violation of a joint at the end of each step.
    iterations : (n, steps)
        Newton iterations, 0 after a failure.
    done : (n,)
        Number of steps done.
    failed : (n,) of bool
        Whether a step could not be solved. The state is then that before this step.
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
