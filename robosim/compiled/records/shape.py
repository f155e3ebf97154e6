"""Records of shapes, of where two of them may touch, and of pairs of them.

SHAPE, NODE and POINT are what geometry is compiled to. `robosim.kernels.narrow_phase.find` finds
where two shapes may touch during a step. Each such place is a feature, a FEATURE record:

- PLANE: a point with a radius against a plane, gap = n . (p - o) - radius. The plane belongs to
  shape A if `flip` is 0: o is `a0`, n is `a1` and p is `b0`. If `flip` is 1 it belongs to B:
  o is `b0`, n is `b1` and p is `a0`. n points away from the plane's owner.
- ROUND: segments with radii, gap = distance of (a0, a1) and (b0, b1) - radius. A point is a
  segment whose ends are equal.
- RIM: a circle of `radius` against a plane, where it is nearest to the plane. As PLANE, but that p
  is the centre of the circle, and the fourth vector its axis.
- RIM_EDGE: a circle of `radius` less the other's share against an edge with that share around it.
  As RIM, but that o lies on the edge, and n is its direction, or 0 for a point. The normal across
  the edge is the one that parts the two most, to be found from the angle `sign` about the edge.
- OVAL: an ellipsoid against a plane, where it is nearest to the plane. As PLANE, but that p is the
  centre of the ellipsoid.
- OVAL_EDGE: an ellipsoid against an edge or a point with a radius around it. As RIM_EDGE, but that
  the fourth vector is the normal from the edge to the ellipsoid that parts the two most.
- OVAL_PAIR: an ellipsoid against another one or a rim. As OVAL_EDGE, but that o is a centre, n the
  axis of the rim, and the other's share of the radius that of the rim.
- EDGE: edges of polytopes, through `a0` along the unit vector `a1` and through `b0` along
  `b1`; n = sign a1 x b1 / |a1 x b1| points from A to B, gap = n . (b0 - a0).

Points and directions are in the axes of the bodies that the shapes belong to, from their centres
of mass. `radius` is the sum of both radii and `radius_a` is A's share: the shapes touch at
distance `radius_a` from the point or segment on A. `id` stays the same from step to step while
the same parts of the same pair of shapes are near.
"""

from __future__ import annotations

import numpy as np

from robosim.compiled.records.contact import COMPLIANT, DIRECTED

SHAPE = np.dtype(
    [
        ("kind", "i8"),
        ("x", "f8", (3,)),  # origin in body axes from the centre of mass
        ("R", "f8", (3, 3)),  # shape to body axes
        ("radius", "f8"),  # of a sphere, a capsule or a cylinder, the largest one of an ellipsoid
        ("half_length", "f8"),  # of the axis, along z
        ("top", "f8"),  # radius of a cylinder where its axis points to; a cone is narrower there
        ("slant", "f8", (2,)),  # cosine and sine of the angle by which its side looks there
        ("reach", "f8"),  # farthest point from the origin, inf for a half-space
        ("lower", "f8", (3,)),  # bounds in the shape's axes
        ("upper", "f8", (3,)),
        ("vertex_begin", "i8"),
        ("n_vertices", "i8"),
        ("face_begin", "i8"),
        ("n_faces", "i8"),
        ("edge_begin", "i8"),
        ("n_edges", "i8"),
        ("grid", "i8", (2,)),  # points of a height field along x and y
        ("spacing", "f8", (2,)),
        ("height_begin", "i8"),
        ("node_begin", "i8"),  # of a mesh's tree of bounds
        ("node_end", "i8"),
    ]
)

NODE = np.dtype(
    [
        ("lower", "f8", (3,)),
        ("upper", "f8", (3,)),
        ("skip", "i8"),  # the node after this one and all below it
        ("triangle", "i8"),  # of a leaf, else -1
    ]
)

POINT = np.dtype([("p", "f8", (3,)), ("height", "f8")])  # height: scratch

FEATURE = np.dtype(
    [
        ("kind", "i8"),
        ("flip", "i8"),  # 1: a plane that belongs to B
        ("sign", "f8"),  # of a1 x b1; angle of a normal about an edge
        ("id", "i8"),
        ("radius", "f8"),
        ("radius_a", "f8"),
        ("gap", "f8"),  # when it was found [m]
        ("a0", "f8", (3,)),
        ("a1", "f8", (3,)),
        ("b0", "f8", (3,)),
        ("b1", "f8", (3,)),
    ]
)

PAIR = np.dtype(
    [
        ("shape_a", "i8"),
        ("shape_b", "i8"),
        ("body_a", "i8"),  # nb for the world
        ("body_b", "i8"),
        ("reach_a", "f8"),  # from the body's centre of mass to the farthest point of the shape
        ("reach_b", "f8"),
        ("mu", "f8"),
        ("torsion", "f8"),  # as those of CONTACT
        ("rolling", "f8"),
        ("scale", "f8"),
        ("companion", "i8"),  # of the first slot
        ("companions", "i8"),  # of each slot
        ("first_resists", "i8"),
        ("surface_a", "f8", (6,)),
        ("surface_b", "f8", (6,)),
        ("drifts", "i8"),
        *DIRECTED,
        *COMPLIANT,
        ("slot_begin", "i8"),  # of Workspace.slots, room for its features
        ("slot_end", "i8"),
        ("block_ab", "i8"),  # (row body a, column body b), -1 while there is none
        ("block_ba", "i8"),
    ]
)

FOUND = np.dtype(  # of a pair in a step
    [
        # How much nearer the shapes may come [m], negative if out of reach.
        ("margin", "f8"),
        # How far points may move against what was foretold, if all else was left out, else inf [m].
        ("leeway", "f8"),
        ("near", "i8"),  # 1 for two moving bodies that have features
        ("known", "i8"),  # 1: its features are those of the last step
        # How far the shapes are apart at the second knot though one of its contacts is closed: they
        # have left the features there [m], else 0.
        ("parted", "f8"),
        ("tight", "f8"),  # the same as margin, of what the motion leads to
        # Of a plane between two convex shapes of moving bodies: how far they are apart along its
        # normal [m], from that of body a to that of body b in world axes. -inf if there is none.
        ("apart", "f8"),
        ("normal", "f8", (3,)),
    ]
)

LOOK = np.dtype(  # at a pair, the last one
    [
        ("until", "f8"),  # travel of both bodies up to which the shapes are apart, or -inf
        ("still", "f8"),  # and up to which the features that were found last serve, or -inf
        ("margin", "f8"),  # within which these were found [m]
        ("marks", "i8"),  # of these features in their slots
        ("body_a", "i8"),  # as in PAIR
        ("body_b", "i8"),
        # Of a plane between convex shapes, from the one of the higher kind and in its axes:
        ("normal", "f8", (3,)),
        ("vertex_a", "i8"),  # of that shape next to the plane, if it is a polytope
        ("vertex_b", "i8"),  # of the other
    ]
)
