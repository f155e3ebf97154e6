"""Records of joints that are charts: a pose Q(q) as a product of factors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.validation import Array

FACTOR = np.dtype(
    [
        ("kind", "i8"),
        ("first", "i8"),  # of the joint's coordinates that it moves along
        ("begin", "i8"),  # of its numbers
        ("count", "i8", (2,)),  # controls of a spline, along one and the other coordinate
        ("periodic", "i8"),
        ("twist", "f8", (6,)),  # velocity, angular velocity
    ]
)

# Beside a joint's own fields, in mechanisms that have charts: addresses of the arrays in `Charts`,
# how many numbers there are, and which of the factors are this joint's.
CHARTED = [
    ("factors", "i8"),
    ("numbers", "i8"),
    ("number_count", "i8"),
    ("chart_begin", "i8"),
    ("chart_end", "i8"),
]

# Results of `kernels.equations.chart` that a joint of a tree keeps.
CHART_POSE = [
    ("c_r", "f8", (4,)),  # pose of the child in the joint frame
    ("c_p", "f8", (3,)),
    ("c_o", "f8", (3,)),  # part of c_p behind the first slides
    ("c_S", "f8", (6, 6)),  # rows: columns of S
]

# Scratch memory of `kernels.equations.chart`.
CHART_FIELDS = [
    *CHART_POSE,
    ("c_l", "f8", (3,)),  # part of c_p of the slides that come first
    ("c_T", "f8", (6, 6)),  # rows: columns of the rate of S, and of the rate of that
    ("c_U", "f8", (6, 6)),
    # One factor: its motion, its G and the rate of that, its twist and the rate of that.
    ("c_g", "f8", (4,)),
    ("c_h", "f8", (3,)),
    ("c_R", "f8", (3, 3)),
    ("c_s", "f8", (4,)),
    ("c_G", "f8", (3, 3)),
    ("c_H", "f8", (3, 3)),
    ("c_W", "f8", (6,)),
    ("c_V", "f8", (6,)),
    # The nearest pose to one of the child: coordinates, residual, rows across S and along it.
    ("c_q", "f8", (6,)),
    ("c_x", "f8", (6,)),
    ("c_K", "f8", (6, 6)),
    ("c_A", "f8", (6, 6)),
]


class Charts(NamedTuple):
    """The charts of a mechanism, read-only."""

    factors: NDArray[np.void]  # (n,) FACTOR
    numbers: Array  # (n,) of all factors


def read_only(charts: Charts) -> Charts:
    """The same charts, which nobody may write to any more."""
    for array in charts:
        array.setflags(write=False)
    return charts


NO_CHARTS = read_only(Charts(np.zeros(0, dtype=FACTOR), np.zeros(0)))
