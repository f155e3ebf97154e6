"""Records of the scratch memory of the narrow phase, which finds where two shapes may touch."""

from __future__ import annotations

import numpy as np

SIDES = 3  # on which a terrain can touch a shape, with up to four features each
FEATURES = 4 * SIDES
MOST_KEPT = 4  # features that are kept beside the best ones

CORNER = np.dtype([("p", "f8", (3,)), ("tag", "i8")])

CANDIDATE = np.dtype(
    [
        ("kind", "i8"),
        ("owner", "i8"),  # of the plane: 0 the first shape, 1 the second
        ("side", "i8"),  # on which it touches, -1 while that is not known
        ("sign", "f8"),
        ("id", "i8"),
        ("gap", "f8"),
        ("radius_1", "f8"),
        ("radius_2", "f8"),
        ("a0", "f8", (3,)),
        ("a1", "f8", (3,)),
        ("b0", "f8", (3,)),
        ("b1", "f8", (3,)),
        ("normal", "f8", (3,)),  # from the first shape to the second
        ("point", "f8", (3,)),  # where they would touch
    ]
)

POLY = np.dtype(
    [
        ("kind", "i8"),
        ("n_vertices", "i8"),
        ("n_faces", "i8"),
        ("n_edges", "i8"),
        ("vertex_begin", "i8"),
        ("lowest", "i8"),  # vertex of a polytope that was found last
        ("face_begin", "i8"),
        ("edge_begin", "i8"),
        ("listed_vertices", "i8"),  # which of them may touch the other shape: so many
        ("listed_faces", "i8"),
        ("listed_edges", "i8"),
        ("radius", "f8"),  # around the vertices
        ("level", "f8"),  # height from which a vertex is in reach of the other shape
        ("x", "f8", (3,)),  # the shape in the frame of the first
        ("R", "f8", (3, 3)),
        ("rim", "f8"),  # radius of a cylinder, or of the base of a cone
        ("top", "f8"),  # and that where the axis points to
        ("cosine", "f8"),  # of the angle by which its side looks there
        ("sine", "f8"),
        ("slant", "f8", (3,)),  # normal of a cone's side where it touches
        ("side", "f8", (2, 3)),  # the axis, or that of the cylinder that stands for a cone's side
        ("origin", "f8", (3,)),  # a point on it, its direction, and the radius about it
        ("along", "f8", (3,)),
        ("around", "f8"),
        ("half_length", "f8"),
        ("semi_axes", "f8", (3, 3)),  # of an ellipsoid, as columns
        ("axis", "f8", (3,)),
        ("lower", "f8", (3,)),
        ("upper", "f8", (3,)),
    ]
)

PAIR_WORK = np.dtype(
    [
        ("R_1", "f8", (3, 3)),  # shapes to world
        ("R_2", "f8", (3, 3)),
        ("stamp", "i8"),  # of this pair
        ("margin", "f8"),
        # 1: of a terrain, only what the second shape's motion leads to counts.
        ("heeds", "i8"),
        ("ahead", "f8"),  # twice the length of the step [s]
        ("fall", "f8"),  # what gravity has of the margin [m]
        ("twist", "f8", (6,)),  # that motion, in world axes
        ("center", "f8", (3,)),  # and in the frame of the first: of this point, and about it
        ("speed", "f8", (3,)),
        ("spin", "f8", (3,)),
        ("down", "f8", (3,)),  # how far the second shape may come along each axis [m]
        ("up", "f8", (3,)),
        ("depth", "f8"),  # how far the shapes overlap along `plane`, inf if that is not known
        ("plane", "f8", (3,)),
        ("scale", "f8"),  # a length of the shapes, for tolerances
        ("count", "i8"),  # of candidates
        ("picks", "i8", (FEATURES,)),  # the best of them
        ("level", "f8"),  # part of the scale by which candidates are as deep as each other
        ("kept", "i8", (MOST_KEPT,)),  # identifiers of those that are picked in any case
        ("keeps", "i8"),  # how many
        ("cursor", "i8"),  # to the next piece of the first shape
        ("owner", "i8"),  # of the plane of the next ones: 0 the first shape, 1 the second
        ("one_sided", "i8"),  # 1: the first shape is a triangle of a terrain
        ("triangle", "i8"),
        ("has_opposite", "i8", (3,)),  # whether there is a neighbour at an edge
        ("ring", "i8", (4,)),  # where the corners around each corner begin and end
        ("cells", "i8", (4,)),  # of a height field: first and last but one along x, along y
        ("W", "f8", (4, 3)),  # simplex of the difference second - first
        ("size", "i8"),  # of that simplex where it came nearest
        ("ia", "i8", (4,)),
        ("ib", "i8", (4,)),
        ("weight", "f8", (4,)),
        ("v", "f8", (3,)),
        ("n", "f8", (3,)),
        ("pa", "f8", (3,)),
        ("pb", "f8", (3,)),
        ("pc", "f8", (3,)),
        ("slack", "f8"),  # how far beyond the sides of a face or cap something still is over it [m]
        ("shift", "f8", (3,)),  # of the second shape, mostly 0
        ("separation", "f8"),  # by the best normal that counts for the first shape
        ("apart", "f8"),  # by the best one of all
        ("across", "f8", (3,)),
        ("lean", "f8", (3,)),
        ("beside", "f8", (3,)),
        ("best_kind", "i8"),
        ("best_1", "i8"),
        ("best_2", "i8"),
        ("axis", "f8", (3,)),
        ("back", "f8", (3,)),
        ("e", "f8", (3,)),
        ("g", "f8", (3,)),
        ("m", "f8", (3,)),
        ("ba", "f8", (3,)),
        ("dc", "f8", (3,)),
    ]
)
