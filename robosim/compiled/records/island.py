"""Records of islands: what bodies sweep, for finding islands that come near each other."""

from __future__ import annotations

import numpy as np

BOX = np.dtype(
    [
        ("radius", "f8"),  # of the ball around the centre of mass; negative if it touches no other
        ("x", "f8", (3,)),  # centre of mass at the last knot, world
        ("lower", "f8", (3,)),  # ends of what the ball has swept since, along the world's axes
        ("upper", "f8", (3,)),
    ]
)
