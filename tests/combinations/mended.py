"""Mechanisms that broke a promise of the library, and keep it since the fault was mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MENDED: tuple[tuple[str, Sequence[str], Mapping[str, Sequence[int]]], ...] = (
    # A limit that was met at a knot entered the next guess, but only where velocities were found.
    (
        "runs_may_be_divided",
        (
            "screw", "sphere", "box", "restitution", "bouncing_limits", "velocity_limit",
            "drag", "articulated", "order_four",
        ),
        {
            "screw": [37, 25, -14, 17, 56, -60, -4, 79, 71, -18, 90, 5, -66, 22, 24, 58,
                -60, -29, 72, 48, 73, -25, -28, -100, 26],
            "sphere": [1, 62, 0, 100, -35, 0, -40, -89],
            "box": [0, -20, -23, -3, 1, 73, 40, 14],
            "restitution": [1],
            "": [2, 1, 1, 100, -76, 37, -92, -91, -94, 59],
            "bouncing_limits": [1, 26, -12],
            "velocity_limit": [1, -41],
            "drag": [-63],
        },
    ),
    # The inverse of redundant rows gave joints of a loop at rest 2e-5 rad/s by its rounding.
    (
        "accelerations_are_those_of_dynamics",
        (
            "cylindrical", "universal", "capsule", "on_hull", "torsional_friction", "plane",
            "loop", "tendon_limit", "linearized_cone",
        ),
        {
            "cylindrical": [67, -30, 40, -39, 7, -65, -16, 32, -48, -81, 69, -39, 100, -27,
                52, 5, -15, -35, -24, 83, -96, 40, -97, -57, 100, -85],
            "universal": [-2, -38, -65, -19, -49, 1, 58, 97, -25, -100, 66, -3, -65, 45, 41,
                3, 42, -34, -100, 100, 100, -82, -7, 100, 100, -100],
            "capsule": [2, -25, -70, 1, -90, -35, -3],
            "on_hull": [85, -89, 100, -87, -87, -62, 88, -52, -49, 100, -88, 56, -56, -53,
                100, 89, 9, 81, 81, 6, -61, 1, -68, -2, -100, -63, 25, 36, -31, 87, -16, 48,
                34, 74, 12],
            "torsional_friction": [-11],
            "plane": [-7, 1],
            "loop": [-16, -37, 19, -62, 51, -1, 69, 50, 65, 81, -89, 54, 65, -46, 84, 91,
                -46, 22, -61, 31, 82, 35, 46, -33, 95, 3, 1, 5, 64, 20, -48, 100, -94],
            "tendon_limit": [48, 33, -45, -90, -66, 51, -96],
            "linearized_cone": [1],
            "": [1, 22, -99, -95, 71, -75, -90, 41, 3, -54, 20, -33],
        },
    ),
)  # fmt: skip
