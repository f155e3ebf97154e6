"""How attempts at a step end, and which of them there are."""

CONVERGED = 0
SINGULAR = 1
STALLED = 2
OUT_OF_ITERATIONS = 3
NOT_FINITE = 4
NOT_SMOOTH = 5  # a contact or limit is active in a composition of order four
NEEDS_BLOCKS = 6  # bodies have come near each other that the system has no blocks for
# From here on what was solved is no motion, and has to be divided:
TURNS_FAR = 7  # a body turns farther than the discrete momentum can tell
GIVES_ENERGY = 8  # constraints do work, as in solutions of impacts in which bodies turn far
GOES_THROUGH = 9  # shapes may have passed each other where they had to touch
STRIKES = 10  # a contact closes, or one that bounces is hit: the interval has to be divided there
UNSETTLED = 11  # the friction of bearings and what presses on them do not come to agree
NEEDS_ROWS = 12  # a servo acts along a ball joint for which the solver of trees has no rows
NEEDS_GRAPH = 13  # more bodies touch each other than the solver of trees takes
SETTLED = 14  # contacts have found their modes at a raised barrier, which is still to come down
UNRESOLVED = 15  # parts of a step would have to be too short for the accuracy asked for
WARM = 0  # from the last step's variables, by jumps where need be
LOW = 1  # by jumps at the final barrier from velocities that are not extrapolated
HOP = 2  # the same at a raised barrier, which is where WARM may have come to as well
DESCENT = 3  # from where these have settled, by Mehrotra's predictor and corrector
COLD = 4  # the same from far inside the cones
CAREFUL = 5  # that start, staying near the central path
FIRST_PATH = 6  # finished by jumps
LAGGED = 7  # near the central path of a convex problem, in which slip speeds lag behind
WHOLE = 8  # finished by jumps; what that does not solve undivided is divided
LAST = 16  # and of parts of a step: along other paths, each finished by jumps
# Where no division of a step has led anywhere, these are made instead, undivided first:
NESTED = 17  # one convex problem after the other, until slip speeds are near; finished by jumps
FINER = 19  # until they stand
SUREST = 20  # finished by jumps
