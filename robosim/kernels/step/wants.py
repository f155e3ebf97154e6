"""What is wanted of a step, or of an interval of it: a sum of these numbers."""

VELOCITIES = 1  # at the knot where it ends; the next step may need them all the same
MEANS = 2  # what means over the step are read from
BEGINS = 4  # of an interval whose means are wanted: it is the first of its step
HITS = 8  # of an interval: end it before a contact with restitution is hit
EVENTS = 16  # of an interval: end it before a contact or limit closes
FREE = 32  # of an interval: velocities at its end without contacts that are open there
