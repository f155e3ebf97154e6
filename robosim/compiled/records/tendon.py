"""Records of the paths of tendons."""

from __future__ import annotations

import numpy as np

PATH = np.dtype(
    [
        ("kind", "i8"),
        ("joint", "i8"),  # of a coordinate
        ("row", "i8"),
        ("factor", "f8"),  # of a coordinate; one over the divisor of a pulley
        ("body", "i8"),  # nb for the world
        # Point or centre, in body axes from the centre of mass; factors of a coordinate's powers.
        ("p", "f8", (3,)),
        ("axes", "f8", (3, 3)),  # of a cylinder, as rows, in body axes; the last one is along it
        ("radius", "f8"),
        ("has_side", "i8"),
        ("side_body", "i8"),
        ("side", "f8", (3,)),
        ("span", "i8"),  # of its body, or of the child of its joint; -1 for the world
        ("span_parent", "i8"),
    ]
)

SPAN = np.dtype([("body", "i8"), ("body_node", "i8"), ("node_body", "i8")])  # of a tendon
