"""The numbers of all kinds in records, each family defined once.

Kernels compare with these constants, so that the numbers are part of their machine code.
"""

# Shapes, in the order in which the narrow phase takes two of them: the higher kind comes first.
SPHERE, CAPSULE, CYLINDER, ELLIPSOID, POLYTOPE, HALF_SPACE, HEIGHT_FIELD, MESH = range(8)
# For rays boxes are boxes, cones are no cylinders, and all meshes are triangles.
BOX, TAPERED = range(8, 10)

# What defines the best normal of two convex shapes: a face of either one, two edges, or a corner.
NOTHING, FACE_1, FACE_2, CROSSING, CORNER = range(5)

# Kinds of inequalities: between a point and a plane, two segments, two edges, a rim and an edge, a
# rim and a plane; an ellipsoid and a plane, an edge, and a rim or another ellipsoid; a coordinate
# and its limit, the axes of a free rotation, its angle and the largest one. Dry friction of a
# coordinate has no gap. Features of shapes are those before the limits.
PLANE, ROUND, EDGE, RIM_EDGE, RIM, OVAL, OVAL_EDGE, OVAL_PAIR, LIMIT, CONE, TURN, DRY = range(12)

# Whether what touches is fixed to the body, or may travel over it, or may come to be on the other
# side of it, as the lowest point of a cylinder.
FIXED, ROLLS, GOES_ROUND = range(3)

# And between a coordinate's rate and the largest one.
RATE = 12
# What a contact resists: slip, or, if it is a companion, turning about the normal, or rolling.
SLIP, TORSION, ROLLING = range(3)

# What the path of a tendon is made of: coordinates, or points, things to wrap around and pulleys.
TERM, VIA, SPHERE_WRAP, CYLINDER_WRAP, PULLEY = range(5)

# How the force of an implicit actuator follows from its length: affinely, or by the curves of
# MuJoCo's muscles or of [Sueda].
AFFINE, BUMPS, HILL = range(3)

# Kinds of joints in the elimination of a tree: one axis, a ball, free of the world, any other,
# driven along a function of time, a chart, a driven chart.
HINGE, BALL, FREE, GENERAL, DRIVEN, CHART, DRIVEN_CHART = range(7)

# Features, which are compiled separately for mechanisms that need them: places in `Model.calls`.
CHOOSE_FEATURES, ADMIT_FEATURES, STRIKES, BOUNCE, SETTLE_BOUNDS = range(5)
TIED_MOTION, TIED_FACTORS, TIED_SWEEPS, COUPLED_FACTORS, COUPLED_RATES = range(5, 10)
CLOSES, FIT_FRICTION = 10, 11
LOOK = 12  # of groups of states in lanes: an entry that looks at shapes, state by state
N_CALLS = 13

# Kinds of joints in recursions over a tree: one hinge, one slide, any other, a chart.
ONE_HINGE, ONE_SLIDE, ANY_JOINT, ANY_CHART = range(4)

# Factors of a chart, by the names that robosim.description.charts gives them.
FACTORS = ("along", "stays", "turn", "curve", "surface")
ALONG, STAYS, FREE_TURN, CURVE, SURFACE = range(5)
