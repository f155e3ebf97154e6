"""Records of the sparse linear system and of its elimination."""

from __future__ import annotations

import numpy as np

from robosim.compiled.arrays import LINE

BLOCK = np.dtype([("F", "f8", (6, LINE))])

ROW = np.dtype([("w", "f8", (6,))])

PIVOT = np.dtype(
    [
        ("node", "i8"),
        ("diagonal", "i8"),
        ("neighbour_begin", "i8"),
        ("neighbour_end", "i8"),
        ("update_begin", "i8"),
        ("update_end", "i8"),
        ("rows", "i8"),  # of the node
        ("whole", "i8"),  # 1 if the node and all its neighbours have six rows
    ]
)

NEIGHBOUR = np.dtype([("node", "i8"), ("upper", "i8"), ("lower", "i8"), ("rows", "i8")])

UPDATE = np.dtype([("lower", "i8"), ("upper", "i8"), ("target", "i8"), ("rows", "i8")])

FRONT = np.dtype(
    [
        ("begin", "i8"),  # block of its first tile; they follow row by row
        ("tiles", "i8"),  # in a row
        ("pivots", "i8"),  # of which are pivots
        ("used", "i8"),  # rows of the last of these that nodes have
        ("place_begin", "i8"),
        ("border_begin", "i8"),  # where the places of its border begin
        ("place_end", "i8"),
        ("entry_begin", "i8"),
        ("entry_end", "i8"),
        ("first_below", "i8"),  # front whose border it takes, -1 for none
        ("next_below", "i8"),  # and the next one whose border goes where that of this one goes
    ]
)

PLACE = np.dtype(  # of a node in a front
    [
        ("node", "i8"),
        ("tile", "i8"),  # in the row of tiles
        ("row", "i8"),  # the node's first, in that tile
        ("rows", "i8"),
        ("up_tile", "i8"),  # of the border: where the node is in the front that takes it
        ("up_row", "i8"),
    ]
)

ENTRY = np.dtype(  # a block of a pivot, and where it is in the front
    [
        ("block", "i8"),
        ("tile", "i8"),  # number of the block
        ("row", "i8"),
        ("column", "i8"),
        ("rows", "i8"),
        ("columns", "i8"),
    ]
)

TURN = np.dtype(  # a body of three rows, as a joint holds its rotation and no other body meets it
    [("body", "i8"), ("joint", "i8"), ("body_joint", "i8"), ("joint_body", "i8")]
)
