"""Records of implicit actuators: laws of a length in the equations of a step."""

from __future__ import annotations

import numpy as np

ACTUATOR = np.dtype(
    [
        ("kind", "i8"),  # AFFINE, BUMPS or HILL
        ("gear", "f8"),
        ("lower", "f8"),  # of its force
        ("upper", "f8"),
        ("gain", "f8", (3,)),  # AFFINE: over 1, length and velocity
        ("bias", "f8", (3,)),
        ("force", "f8"),  # of a muscle
        ("optimal", "f8"),  # length [m]
        ("slack", "f8"),  # length [m] at which a muscle's own, in optimal ones, is `begin`
        ("begin", "f8"),
        ("fastest", "f8"),  # [m/s]
        ("shortest", "f8"),  # BUMPS: see `robosim.description.muscle.Muscle`
        ("longest", "f8"),
        ("passive", "f8"),
        ("lengthening", "f8"),
        ("curve", "i8", (4,)),  # HILL: where pieces of its curves active, rate, passive begin, end
    ]
)
