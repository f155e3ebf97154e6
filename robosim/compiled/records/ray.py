"""Records of what rays are cast against, and of rays.

A BRANCH is a node of a tree of bounds, with the bounds of both of its children, so that a ray looks
at one record for two boxes. It takes two cache lines.
"""

from __future__ import annotations

import numpy as np

TARGET = np.dtype(
    [
        ("kind", "i8"),
        ("body", "i8"),  # nb for the world
        ("x", "f8", (3,)),  # origin in body axes from the centre of mass
        ("R", "f8", (3, 3)),  # shape to body axes
        # Half edges of a box; radius and half length, for a cone of its
        # base, and the radius of its top; semi-axes.
        ("size", "f8", (3,)),
        ("center", "f8", (3,)),  # of the bounds, in the shape's axes
        ("half", "f8", (3,)),  # half edges of the bounds
        ("root", "i8"),  # of a mesh's tree
        ("grid", "i8", (2,)),  # points of a height field along x and y
        ("spacing", "f8", (2,)),
        ("density", "f8", (2,)),  # 1 / spacing
        ("height_begin", "i8"),
    ]
)

BRANCH = np.dtype(
    [
        ("box", "f8", (2, 2, 3)),  # of each child its lower and its upper corner
        # Of each child: another branch, or the first of its items; -1 if there is no child.
        ("child", "i8", (2,)),
        ("count", "i8", (2,)),  # number of items, 0 for a branch
    ]
)

FRAME = np.dtype([("x", "f8", (3,)), ("R", "f8", (3, 3))])  # of a body, or of a shape; to world

BOUNDS = np.dtype([("box", "f8", (2, 3))])  # lower and upper corner; the lower is inf for nothing

RAY = np.dtype(
    [
        ("o", "f8", (3,)),
        ("d", "f8", (3,)),  # unit vector
        ("inverse", "f8", (3,)),  # 1 / d, finite
        ("near", "i8", (3,)),  # which corner of a box the ray meets first, along each axis
        # For triangles: the axis that the ray is nearest to, and both others; how the ray is
        # sheared onto that axis.
        ("axes", "i8", (3,)),
        ("shear", "f8", (3,)),
        ("corners", "f8", (1, 3, 3)),  # of a triangle of a height field
        ("found", "i8"),  # triangle of a mesh, or of a height field
    ]
)

WAITING = np.dtype([("branch", "i8"), ("t", "f8")])  # to be looked at later, and where it begins

BIN = np.dtype([("count", "i8"), ("cost", "f8"), ("box", "f8", (2, 3))])  # of items, to be cut

SPAN = np.dtype(  # items that a branch is to be made of
    [("branch", "i8"), ("begin", "i8"), ("end", "i8"), ("depth", "i8")]
)
