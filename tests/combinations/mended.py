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
    # What landed counted as open at the knot, where a stiff spring pressed it into the ground.
    (
        "velocities_belong_to_the_motion",
        (
            "caster", "sphere", "ellipsoid", "on_capsule",
            "surface_velocity", "slope", "joint_spring", "rotor",
            "tendon_friction",
        ),
        {
            "caster": [37, 25, -14, 17, 56, -60, -4, 79, 71, -18, 90, 5,
                -66, 22, 24, 58, -60, -29, 72, 48, 73, -25, -28, -100, 26,
                -75, -8, -65, 72, -46, 21, -14, 64, 8, 82, 85, -89, -77, 14,
                -93, -95, -30, 43, -41, -63, 83, -25, 9, 9, 68, 44, 99, 59,
                21, 100, -24, 21, 5, 6, 42, 5, -46, -12, -56, -65, 56, -59,
                -45, 93, -100, 12, 86, -9, -13, -5, 8, 15, 35, 28],
            "sphere": [2, -9, 1, 31, 53, 23],
            "ellipsoid": [1, -44, -18, -16, 1, 96, 43, -100],
            "on_capsule": [2, -42, 78, -48, 100, -30, 92],
            "surface_velocity": [5, 93, -88, 49, 44, -84],
            "slope": [27, 2, 53, -88],
            "joint_spring": [0, -36, 16, -43],
            "rotor": [3, 94],
            "tendon_friction": [-55, -13, 66, 91, -35, 26, 66],
            "": [2, 37, -21, 100, -71, 56, 2, 56, -100, -46, 40],
        },
    ),
    # A ball came back within a step, for which the bound of the check was too narrow.
    (
        "velocities_belong_to_the_motion",
        (
            "restitution", "limits", "tendon_limit", "muscle",
        ),
        {
            "restitution": [1],
            "": [2, -46, 27, 33, 53, -100, 11, 1, 0, 1, -100, -24, -39, -6, -29, -49, 42],
            "limits": [41, 79, -60, 4, -100, 2, -67, -100, 6, -74, 2, -49, -56, 64, -73, 66,
                -47, 3, -83, 100, -35, 0, -40, -89, -18, 0, -23],
            "tendon_limit": [-3, 61, 99, 74, 96, -25, -100],
            "muscle": [-30, 43, -41, -63, 83, -25, 9, 9],
        },
    ),
    # Friction of a bearing under the impulse of a stop acted once more in the velocity at the knot.
    (
        "velocities_belong_to_the_motion",
        ("floating", "prismatic", "bearing", "velocity_limit"),
        {
            "": [0, 0, 90, 0, 0, 0, 0, 46],
            "floating": [0] * 24 + [-50],
            "prismatic": [0] * 14 + [-24, 69, -28, 0, -37, 0, -56, -8, 0, 34, 34],
            "velocity_limit": [0, 0, -48],
        },
    ),
    # As above: parts of a step began with velocities that had the friction of impulses twice.
    (
        "an_accuracy_is_kept",
        (
            "planar", "universal", "spline", "legs", "on_ellipsoid", "restitution", "mesh",
            "bearing", "implicit_pd",
        ),
        {
            "planar": [37, 25, -14, 17, 56, -60, -4, 79, 71, -18, 90, 5, -66, 22, 24, 58,
                -60, -29, 72, 48, 73, -25, -28, -100, 26, -75, -8],
            "universal": [-65, 72, -46, 21, -14, 64, 8, 82, 85, -89, -77, 14, -93, -95, -30,
                43, -41, -63, 83, -25, 9, 9, 68, 44, 99, 59],
            "spline": [21, 100, -24, 21, 5, 6, 42, 5, -46, -12, -56, -65, 56, -59, -45, 93,
                -100, 12, 86, -9, -13, -5, 8, 15, 35],
            "legs": [28, 61, 83],
            "on_ellipsoid": [-62, 3, 25, -44, -18, -16, -21, 58],
            "restitution": [1],
            "mesh": [-100, 1, 57],
            "bearing": [2, 78],
            "implicit_pd": [-48, 100, 0],
            "": [0, 92, 5, 93, -88, 49, 44, -84, 27, -2, -56, -34, 30, 60, 84, 94, -55, -13,
                66, 91, -35, 26],
        },
    ),
    # Beside a light body, a rotor had the rounding of angles over the timestep.
    (
        "an_accuracy_is_kept",
        ("floating", "massless", "rotor", "strand"),
        {
            "": [0, 0, 0, 37, -90, 0, 1, -78],
            "floating": [-13, 93, -74, -30, 35, -46, 15, -35, -20, -100, -100, -23, -6, -32, -19,
                65, -67, 80, 40, -32, -99, -38, -42, -57, 79, -61, -85, -55, 56, -19, -65],
            "massless": [-28, 69, -100, -68, -4, -92, 100, 87, 74, 18, -75, 15, -20, -99, 86, 35,
                -99, 20, -88, 27, -71, 66, -52, -83, 89, 61, -43, -10, 93, -81, -81, 74,
                41, -62, 51, 29, 72, -99, -56, 34, -5, -100, 34, 46, -88, -4, -62, 84, 0,
                -55],
            "rotor": [2],
        },
    ),
    # The slip of soft shapes that overlap was that of two points, and friction held one of them.
    (
        "velocities_belong_to_the_motion",
        ("prismatic", "legs", "capsule", "on_sphere", "compliant", "mesh"),
        {
            "": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -43, 0, -88],
            "prismatic": [46, 18, -53, 83, -69, -100, 0, -38, 100, 5, 86, 18, 92, -58, -68, 0, 0,
                0, 0, 0, 0, 0, 0, -99],
            "capsule": [0, 0, 0, 0, 0, 100, 57],
            "compliant": [1],
        },
    ),
    # Rounding shortened the last step towards a solution, and its derivatives with it.
    (
        "derivatives_are_those_of_the_step",
        (
            "fixed_orientation", "spline", "massless", "on_capsule", "block", "damping", "rotor",
        ),
        {
            "": [1, -23, -80, -100, 8, 0, 61],
            "fixed_orientation": [100, -46, 37, 100, 3, 25, -55, -85, -33, -60, -34, -58, -25,
                -82, -30, -95, -46, -99, 55, -4, -80, -48, -100, -39, 79, -28, -64],
            "spline": [-100, 63, -2, 88, 92, -100, 21, -18, 100, -41, 59, -86, 62, 1, 100, -20,
                64, 46, -60, 99, 100, -49, -73, 99, 57],
            "massless": [100, -42, 100, -52, 46, -100, 17, 32, -29, 61, 60, 71, -45, 36, 2, -35,
                17, 69, 89, -21, 86, -100, -26, 8, 4, -40, 93, -37, 52, 79, 96, -10, 49, -83,
                -53, -19, 52, -94, 60, 74, 68, 100, 7, 44, 16, -17, 99, -11, -100, 92],
            "on_capsule": [-73, -76, -96, 49, -63, -34, -90],
            "block": [0, -82, 1, -86, 100, 40, 18],
            "damping": [0, -54, 0, 14, 60],
            "rotor": [4, 11],
        },
    ),
    # Bounds of a bearing's friction went to and fro between ones too small and ones too large.
    (
        "halves_agree",
        (
            "prismatic", "spherical", "cylindrical", "several_hinges", "joint_spring", "bearing",
            "loop",
        ),
        {
            "": [0, 52],
            "prismatic": [97, -99, -100, 84, 100, 13, 54, -22, 58, 100, -62, -33, 45, 41, 69, 29,
                -60, -71, 80, 88, 46, 64, -92, -100, -100],
            "spherical": [-79, -12, -23, 17, 30, -89, 100, 34, -39, -83, 78, 61, -83, 47, -97, 100,
                -73, -92, -23, 73, 69, 85, -37, 84, -75, 69, -68, 29],
            "cylindrical": [-25, -88, -39, 7, -100, -17, -34, -36, 7, 63, 92, 6, -97, -67, -100,
                -21, -2, -42, -37, 10, -95, 59, -7, 89, -95, -34],
            "several_hinges": [41, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -33, 0, 48, 0, 0, -66,
                37, 46, 97, 59, 57, 68, -24],
            "joint_spring": [1],
            "bearing": [1, 35],
            "loop": [0, 1, 78, 21, 100],
        },
    ),
    # Friction of a bearing that answers to itself in full was not followed until the joint stuck.
    (
        "an_accuracy_is_kept",
        ("prismatic", "cylindrical", "universal", "bearing"),
        {
            "": [0, 48],
            "prismatic": [46, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 39, 74, 100, 0, 0, 0, 0, 0, -100],
            "universal": [0, 0, 0, 0, 0, 0, 0, 0, 0, 58, 59, -63, 78, -100],
        },
    ),
    # Derivatives were put onto a loop only as far as constraints that are redundant do not yield.
    (
        "derivatives_are_those_of_the_step",
        ("massless", "loop", "coupling"),
        {
            "massless": [-10, -18, -80, -97, 32, -7, 100, -71, 13, 75, 30, -37, 42, -64, -85, -91,
                57, 69, 51, 100, 40, 11, -34, -7, -71, -70, -93, 100, 38, 94, -17, 35, 34, 39, -29,
                13, -74, -8, 66, -50, -52, -46, 72, -77, -3, -49, 59, 60, 23, 20],
            "loop": [-51, -6, 35, 100, -39, -92, 49, 95, -46, 0, 0, 71, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                -100, -47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 43, 15, 51, 83, 0, -69, 0,
                -98, 81, -60, 0, 100, 45],
        },
    ),
    # When a rim is hit was measured in the poses of the second knot, to which the state then moved.
    (
        "constraints_hold",
        ("axis_rotation", "massless", "cylinder", "on_box", "restitution", "height_field"),
        {
            "": [2, 0, 0, 0, -100],
            "axis_rotation": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -55, 38, -93, 0, 0,
                0, 0, 0, 39],
            "massless": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -42, 0, -94,
                88, 0, 0, -100, -94, 88, -100, 19, -46, 84, 0, 0, 0, 0, 0, 0, 0, 0, 0, 47, 0,
                -87, -79, 19, -12, 76, 90],
            "cylinder": [0, 0, 0, 1],
            "on_box": [0, 0, 18],
            "restitution": [1],
            "height_field": [0, 0, 0, 0, 0, 0, 0, 10],
        },
    ),
)  # fmt: skip
