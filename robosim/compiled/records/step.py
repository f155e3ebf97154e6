"""Records of a step as a whole: its results, and scratch memory of its kernels."""

from __future__ import annotations

import numpy as np

from robosim.compiled.arrays import with_rows
from robosim.compiled.records.chart import CHART_FIELDS
from robosim.compiled.records.sizes import TRENDS

SCRATCH = with_rows(
    [
        ("R_J", "f8", (3, 3)),  # joint frame on the parent's side to world
        ("w", "f8", (3,)),
        ("y", "f8", (3,)),
        ("z", "f8", (3,)),
        ("arm", "f8", (3,)),
        ("r", "f8", (4,)),  # child to joint frame
        ("s", "f8", (4,)),
        ("S_a", "f8", (6, 6)),
        ("S_b", "f8", (6, 6)),
        ("f", "f8", (6,)),
        (
            "misses",
            "f8",
            (TRENDS + 1,),
        ),  # errors of guesses by no trend in `missed`, by one, ...
        # Of limits of hinges that are not in the equations: the least gap at the first knot, and
        # the longest arc over its angle.
        ("open", "f8", (2,)),
        ("ahead", "f8"),  # when a contact with restitution is hit, after the first knot [s]
        # Of an interval's velocities, and a part of an accuracy, which bound its tolerance [m/s].
        ("rounding", "f8"),
        ("drag", "f8"),  # 1 where friction follows normal impulses at the second knot, else 0
        ("left", "f8"),  # 1 in lanes whose states take this step by themselves, else 0
        ("away", "f8"),  # and 1 in lanes that have left before the step is solved
        ("before", "f8"),  # length of the interval before, over that of this one
        ("arcs", "i8"),  # 1 if work.rhs has the change of the knot's velocities from chords to arcs
        *CHART_FIELDS,
    ],
    L=3,  # of a contact, about the reference of a body in a tree
)

INFO = np.dtype(
    [
        ("status", "i8"),  # 0 converged, else a status of kernels.status
        ("iterations", "i8"),
        ("substeps", "i8"),
        ("divided", "i8"),  # number of substeps at first; 0 for undivided
        ("order", "i8"),
        ("attempt", "i8"),  # attempt that led to the last solution, see kernels.status
        ("residual", "f8"),  # [m/s]
        ("worst_body", "i8"),
        ("violation", "f8"),  # of the joints at the new knot [m or sine of a half angle]
        ("gap", "f8"),  # smallest of all contacts at the new knot [m], inf without contacts
        ("turn", "f8"),  # cosine of half of the largest turn of a body in a part of the step
        ("turner", "f8"),  # that body's index, a float as lanes have one each; -1 if not known
        # Of a step to an accuracy:
        ("shortest", "f8"),  # length of the shortest interval [s]
        ("error", "f8"),  # sum of the errors of its parts [m]
        ("events", "i8"),  # number of parts that end where a contact or limit closes
        # 1 within a step that the usual attempts have not solved, however it was divided; else 0.
        ("surely", "i8"),
    ]
)

PART = np.dtype(  # of a step to an accuracy; times are in time steps, but for lengths
    [
        ("end", "f8"),  # the number of time steps that are taken together
        ("at", "f8"),  # where the part begins
        ("until", "f8"),  # and ends
        ("length", "f8"),  # [s]
        ("order", "i8"),  # the least of all parts of the step so far
        ("event", "i8"),  # 1 if it ends where something closes
        ("known", "i8"),  # 1 if its end as a whole is known already
        ("quiet", "i8"),  # 1 if its motion hardly changes, so that it is taken as a whole alone
        ("error", "f8"),  # that was estimated [m]
        # Of the interval that was solved last, or of all of the part's in the end:
        ("ahead", "f8"),  # when a contact or limit closes, after the first knot [s]
        ("landed", "i8"),  # 1 or more if something closes that was as good as closed
        ("stopped", "f8"),  # speed of the fastest slip or opening that comes to rest [m/s]
        # Of all parts of the step so far, as in INFO:
        ("count", "i8"),  # intervals
        ("gap", "f8"),
        ("violation", "f8"),
        ("turn", "f8"),
        ("turner", "f8"),
    ]
)

PACE = np.dtype(  # of steps to an accuracy, since a start
    [
        ("level", "i8"),  # how often a time step is halved for the last part, or less 0: doubled
        ("intervals", "i8"),
        ("events", "i8"),  # intervals that ended where something closed
        ("shortest", "f8"),  # interval [s], 0 for none
        ("error", "f8"),  # sum of the estimates [m]
    ]
)

LANES_PACE = np.dtype(  # of a group of states in lanes; what steps take is in about microseconds
    [
        ("resides", "i8"),  # 1 where the lanes have the present states, 0 where their own memory
        ("stale", "i8"),  # 1 where the linear system is not that of all states
        ("anew", "i8"),  # a bit for each state that has been set since the last step
        ("apart", "i8"),  # steps that states are still to take by themselves
        ("begun", "i8"),  # number of these at first
        ("tries", "i8"),  # 1 if that is to know what they take
        ("rest", "i8"),  # number of them the next time that it takes less
        ("pause", "i8"),  # number of steps apart after the last one that lanes have not solved
        ("taken", "i8"),  # steps in lanes since the last comparison
        ("known", "i8"),  # steps in lanes since the last steps apart
        ("spent", "f8"),  # by these steps in lanes
        ("own", "f8"),  # iterations of all states in these steps apart
        ("lanes", "f8"),  # what a step in lanes took
        ("alone", "f8"),  # what one of all states apart did, 0 if not known
        # For benchmarks, steps since all states have been set: in lanes; of a state that has left;
        # and that lanes have not solved, as features of shapes found no room, lanes parted, the
        # equations were not solved, or states met something else.
        ("steps", "i8"),
        ("leaves", "i8"),
        ("unseated", "i8"),
        ("parted", "i8"),
        ("unsolved", "i8"),
        ("met", "i8"),
    ]
)
