"""All kinds that records tell by a number, each family written down once.

Kernels compare with these constants, so that the numbers are part of their machine code.
"""

# Shapes, in the order in which the narrow phase takes two of them: the higher kind comes first.
SPHERE, CAPSULE, CYLINDER, POLYTOPE, HALF_SPACE, HEIGHT_FIELD, MESH = range(7)

# What the best axis that separates two polytopes is made of.
NOTHING, FACE_1, FACE_2, CROSSING = range(4)

# What an inequality holds apart: a point and a plane, two segments, two edges, a coordinate and its
# limit, the axes of a free rotation, its angle and the largest one, or nothing: dry friction of a
# coordinate. Features of shapes are of the first four kinds.
PLANE, ROUND, EDGE, RIM, LIMIT, CONE, TURN, DRY = range(8)

# And a coordinate's rate and the largest one.
RATE = 8
# What a contact resists: slip, or as a companion of a contact turning about its normal, rolling.
SLIP, TORSION, ROLLING = range(3)

# What the path of a tendon is made of: coordinates, or points, things to wrap around and pulleys.
TERM, VIA, SPHERE_WRAP, CYLINDER_WRAP, PULLEY = range(5)

# How the force of an implicit actuator follows from its length: affinely, or by the curves of
# MuJoCo's muscles or of [Sueda].
AFFINE, BUMPS, HILL = range(3)

# How the elimination of a tree takes a joint: one axis, a ball, free of the world, any other, one
# that follows a function of time, or along the columns of its chart, which may follow one too.
HINGE, BALL, FREE, GENERAL, DRIVEN, CHART, DRIVEN_CHART = range(7)

# What is compiled by itself, for mechanisms that have use for it: places of `Model.calls`.
CHOOSE_FEATURES, ADMIT_FEATURES, STRIKES, BOUNCE, SETTLE_BOUNDS = range(5)
TIED_MOTION, TIED_FACTORS, TIED_SWEEPS = range(5, 8)
N_CALLS = 8

# How recursions over a tree take a joint: one hinge, one slide, by a loop over its columns, or over
# those of its chart.
ONE_HINGE, ONE_SLIDE, ANY_JOINT, ANY_CHART = range(4)

# Factors of a chart, by the names that robosim.description.charts gives them.
FACTORS = ("along", "stays", "turn", "curve", "surface")
ALONG, STAYS, FREE_TURN, CURVE, SURFACE = range(5)
