"""Gaits: targets of joints as functions of time, that set in gradually."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robosim.validation import Array


@dataclass
class Gait:
    """Joints that swing about offsets, from a pose at rest.

    Attributes
    ----------
    rest : (nu,) [rad or m]
        The pose until `begin`.
    amplitude, offset, phase : (nu,)
    rate : float [rad/s]
        Of the phase.
    blend : float [s]
        How long it takes from the pose at rest to the whole gait; 0 leaves that pose out.
    begin : float [s]
        Time at which the gait sets in.
    """

    rest: Array
    amplitude: Array
    offset: Array
    phase: Array
    rate: float
    blend: float = 0.0
    begin: float = 0.0

    def __call__(self, times: ArrayLike) -> Array:
        """Targets (n, nu) at times (n,) [s]."""
        times = np.asarray(times, dtype=float)
        whole = self.amplitude * np.cos(self.rate * times[:, None] + self.phase) + self.offset
        if self.blend == 0:
            return whole
        part = np.clip((times[:, None] - self.begin) / self.blend, 0.0, 1.0)
        # Its rate is zero at both ends.
        part = part * part * (3.0 - 2.0 * part)
        return self.rest + part * (whole - self.rest)
