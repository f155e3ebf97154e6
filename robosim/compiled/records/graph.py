"""Records of the sparse linear system and of its elimination."""

from __future__ import annotations

import numpy as np

from robosim.compiled.arrays import LINE

BLOCK = np.dtype([("F", "f8", (6, LINE))])

ROW = np.dtype([("w", "f8", (6,))])

PIVOT = np.dtype(
    [
        ("node", "i8"),
        ("diagonal", "i8"),
        ("neighbour_begin", "i8"),
        ("neighbour_end", "i8"),
        ("update_begin", "i8"),
        ("update_end", "i8"),
    ]
)

NEIGHBOUR = np.dtype([("node", "i8"), ("upper", "i8"), ("lower", "i8")])

UPDATE = np.dtype([("lower", "i8"), ("upper", "i8"), ("target", "i8")])
