"""Standing poses of known robots, with gains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robosim.validation import Frozen, frozen_array


@dataclass(frozen=True, eq=False)
class Stance(Frozen):
    """Joint targets and PD gains with which a known robot stands.

    Attributes
    ----------
    target : (nu,) [rad or m]
    kp, kd : (nu,) [N m/rad, N m s/rad]
    """

    target: ArrayLike
    kp: ArrayLike
    kd: ArrayLike

    def __post_init__(self) -> None:
        shape = np.shape(self.target)
        for what in ("target", "kp", "kd"):
            self._set(**{what: frozen_array(getattr(self, what), shape, what, "stance")})
