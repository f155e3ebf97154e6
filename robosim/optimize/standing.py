"""Contacts that stick: their independent rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from robosim.optimize.symbolic import Symbolic, ca
from robosim.optimize.touching import Touch, touched
from robosim.validation import Array

DEPENDENT = 1e-6  # of the largest pivot; rows with smaller pivots are dependent


def independent(J: Array) -> NDArray[np.int64]:
    """Indices of independent rows of a Jacobian."""
    _, upper, order = qr(J.T, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(upper))
    return np.sort(order[: int(np.sum(pivots > DEPENDENT * pivots.max()))])


class Held(NamedTuple):
    """The places of contacts that hold.

    Attributes
    ----------
    places : (3 n,) [m], of the n contacts that hold
    rows : (m,) of int
        Independent entries of these.
    moves : bool
        Whether velocities of the start are not all given.
    lands : bool
        Whether coordinates of the end are not all given.
    """

    places: Array
    rows: NDArray[np.int64]
    moves: bool
    lands: bool


def sticking(model: Symbolic, touches: Sequence[Touch], stands: Sequence[bool]) -> list[list[int]]:
    """For each contact that sticks by a schedule, its independent directions in the home pose.

    Index 0 is the gap; tangents follow. Not all directions of the corners of a flat foot are
    independent.
    """
    home = np.asarray(model.robot.home, dtype=float)
    theta, at = ca.SX.sym("theta", model.robot.nv), np.zeros(model.robot.nv)
    for k, j in model.plain:
        at[k] = home[j]
    bases = [ca.SX(home[k : k + 4]) for _, k in model.turns]
    placed = model.place(theta, ca.SX.zeros(model.robot.nv), bases)
    rows, owners = [], []
    for j, (touch, stand) in enumerate(zip(touches, stands, strict=True)):
        if stand and touch.during is not None:
            mark = touched(model, touch, placed)
            J = ca.jacobian(mark.centre, theta)
            rows += [ca.mtimes(way.T, J) for way in mark.ways]
            owners += [(j, k) for k in range(len(mark.ways))]
    found: list[list[int]] = [[] for _ in touches]
    if rows:
        J = np.array(ca.Function("sticking", [theta], [ca.vertcat(*rows)])(at).full())
        for i in independent(J):
            j, k = owners[i]
            found[j].append(k)
    return found
