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
STRIKES = 10  # a contact with restitution is hit, and the interval has to be divided there
UNSETTLED = 11  # the friction of bearings and what presses on them do not come to agree
NEEDS_ROWS = 12  # a servo acts along a ball joint for which the solver of trees has no rows
NEEDS_GRAPH = 13  # more bodies touch each other than the solver of trees takes
WARM = 0  # from the last step's variables, at the final barrier, by jumps where need be
HOP = 1  # by jumps from where that has led, with velocities that are not extrapolated
COLD = 2  # from far inside the cones, by Mehrotra's predictor and corrector
CAREFUL = 3  # the same start, staying near the central path
FIRST_PATH = 4  # finished by jumps; what that does not solve undivided is divided
LAST = 12  # and of parts of a step: along other paths, each finished by jumps
