"""Poses of frames relative to other frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pose:
    """A frame relative to another one: rotation R (3, 3) and origin p (3,) [m]."""

    R: Array
    p: Array

    @classmethod
    def identity(cls) -> Pose:
        return cls(np.eye(3), np.zeros(3))

    def __matmul__(self, other: Pose) -> Pose:
        """This pose followed by another one that is relative to it."""
        return Pose(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Pose:
        """The other frame relative to this one."""
        return Pose(self.R.T, -self.R.T @ self.p)
