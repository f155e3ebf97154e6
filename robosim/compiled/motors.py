"""Windings of motors and integrals of a PID as flat arrays, for n states of a robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import aligned
from robosim.compiled.records.motor import PID, WINDING
from robosim.validation import Array


class WindingArrays(NamedTuple):
    """Direct-current motors; `currents`, `voltages` and `temperatures` are a memory."""

    laws: NDArray[np.void]  # (nu,) WINDING
    currents: Array  # (n, nu) [A]
    voltages: Array  # (n, nu) [V]
    temperatures: Array  # (n, nu) [deg C]
    torques: Array  # (n, nu) result: mean over the step at the joints


class PidArrays(NamedTuple):
    """A PID of joints; `integrals` are a memory."""

    laws: NDArray[np.void]  # (nu,) PID
    integrals: Array  # (n, nu), in the units of commands
    targets: Array  # (n, nu)
    rates: Array  # (n, nu) target velocities
    commands: Array  # (n, nu) result


def make_windings(n: int, nu: int) -> WindingArrays:
    """Arrays of motors without values."""
    return WindingArrays(aligned(nu, WINDING), *np.zeros((4, n, nu)))


def make_pid(n: int, nu: int) -> PidArrays:
    """Arrays of a PID without values."""
    return PidArrays(aligned(nu, PID), *np.zeros((4, n, nu)))
