"""Which features of two shapes may touch: the narrow phase of contact.

`find_features` looks at a pair of shapes once, at the start of a step, and leaves a few
features, frozen to the bodies, whose gaps the integrator then follows to the end of the step.
The record FEATURE and its kinds are described in robosim.compiled.records.shape.

The shape of the higher kind comes first and gives the frame in which all is done (place.py). A
terrain is taken triangle by triangle (terrain.py). Flat faces are for convex.py, cylinders for
cylinder.py, ellipsoids for ellipsoid.py, and other round shapes for rounds.py. The best candidates
(reduce.py) become features at the end.
"""

from math import inf

from robosim.compiled.kinds import (
    CYLINDER,
    EDGE,
    ELLIPSOID,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    POLYTOPE,
    RIM_EDGE,
    ROUND,
)
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, dot, fill, rotate_back
from robosim.kernels.narrow_phase.apart import SMALL, apart_by, climb
from robosim.kernels.narrow_phase.candidates import add_plane
from robosim.kernels.narrow_phase.convex import add_contacts
from robosim.kernels.narrow_phase.cylinder import add_cylinder, add_over_plane
from robosim.kernels.narrow_phase.ellipsoid import (
    add_ellipsoid,
    add_oval,
    add_round_to_ellipsoid,
)
from robosim.kernels.narrow_phase.gjk import distance
from robosim.kernels.narrow_phase.motion import bound_ways, place_motion
from robosim.kernels.narrow_phase.place import (
    boxes_apart,
    describe_polytope,
    list_all,
    list_near,
    load,
    place_pair,
)
from robosim.kernels.narrow_phase.reduce import choose, reduce
from robosim.kernels.narrow_phase.rims import angle_about_edge
from robosim.kernels.narrow_phase.rounds import add_round_shapes
from robosim.kernels.narrow_phase.terrain import next_of_field, next_of_mesh

FULL = 40  # candidates that are kept before they are reduced


@kernel
def plane_contacts(scratch, topology):
    """A half-space, z > 0 free, and the second shape."""
    pair, second = scratch.pair[0], scratch.poly[1]
    N, o = pair.axis, scratch.poly[0].x
    N[0], N[1], N[2] = 0.0, 0.0, 1.0
    pair.owner = 0
    if second.kind == CYLINDER:
        add_over_plane(scratch, topology, o, N, -1)
        return
    if second.kind == ELLIPSOID:
        add_oval(scratch, o, N, 0)
        return
    for i in range(second.n_vertices):
        add_plane(scratch, o, N, scratch.vertices[1, i].p, second.radius, i)


@kernel
def convex_contacts(scratch, data, second):
    """The piece in the first place and a second shape of any kind."""
    if second.kind != CYLINDER and second.kind != ELLIPSOID:
        add_contacts(scratch, data)
    elif distance(scratch, scratch.pair[0].margin + second.radius) < inf:
        if second.kind == CYLINDER:
            add_cylinder(scratch, data.topology)
        else:
            add_ellipsoid(scratch, data.topology)


@kernel
def next_piece(scratch, data, first):
    """Load the next convex piece of the first shape: all of it, or a triangle near the second.

    pair.cursor is 0 to begin with. False when there is no more.
    """
    pair = scratch.pair[0]
    if first.kind == HEIGHT_FIELD:
        return next_of_field(scratch, data, first)
    if first.kind == MESH:
        return next_of_mesh(scratch, data, first)
    if pair.cursor > 0:
        return False
    pair.cursor = 1  # it has been loaded
    return True


@kernel
def list_whole(scratch, first, second):
    """Let all of the shapes be what may touch."""
    if first.kind == POLYTOPE:
        describe_polytope(scratch, 0, first)
        list_all(scratch, 0)
    if second.kind == POLYTOPE:
        describe_polytope(scratch, 1, second)
        list_all(scratch, 1)


@kernel
def list_in_reach(scratch, data, first, second, look):
    """List what of a polytope and a convex shape may touch; False if they are too far apart.

    That lies near the plane that parts them, or along which they overlap least of what is known.
    """
    pair, back = scratch.pair[0], scratch.pair[0].m
    apart = apart_by(scratch, data, first, second, look, pair.margin)
    if apart > pair.margin:
        return False
    if second.kind == CYLINDER or second.kind == ELLIPSOID:
        list_whole(scratch, first, second)
        return True
    assign(look.normal, pair.plane)
    pair.depth, reach = -apart, pair.margin - apart + 1e-6 * pair.scale
    list_along(scratch, data, 0, first, pair.plane, look.vertex_a, reach)
    if second.kind == POLYTOPE:
        rotate_back(scratch.poly[1].R, pair.plane, back)
        for k in range(3):
            back[k] = -back[k]
        list_along(scratch, data, 1, second, back, look.vertex_b, reach)
    return True


@kernel
def list_along(scratch, data, which, shape, d, start, reach):
    """List what of a polytope is within reach of its end along d (3,); all if that is not much."""
    describe_polytope(scratch, which, shape)
    if shape.n_vertices <= SMALL:
        list_all(scratch, which)
        return
    top = climb(data, shape.vertex_begin, d, start)
    list_near(scratch, data, which, shape, top, d, reach)


@kernel
def to_body(shape, place, p, shift, out):
    """out: a point (shift 1) or a direction (shift 0) of the pair's frame in axes of the body."""
    x0, x1, x2 = p[0] - shift * place.x[0], p[1] - shift * place.x[1], p[2] - shift * place.x[2]
    R = place.R
    y0 = R[0, 0] * x0 + R[1, 0] * x1 + R[2, 0] * x2
    y1 = R[0, 1] * x0 + R[1, 1] * x1 + R[2, 1] * x2
    y2 = R[0, 2] * x0 + R[1, 2] * x1 + R[2, 2] * x2
    for i in range(3):
        turned = shape.R[i, 0] * y0 + shape.R[i, 1] * y1 + shape.R[i, 2] * y2
        out[i] = turned + shift * shape.x[i]


@kernel
def write_feature(scratch, c, first, second, swapped, out):
    """A candidate as a feature of the shapes in the order of the caller."""
    place_1, place_2 = scratch.poly[0], scratch.poly[1]
    out.kind, out.id, out.sign, out.gap, out.flip = c.kind, c.id, c.sign, c.gap, 0
    out.radius = c.radius_1 + c.radius_2
    shift = 1.0 if c.kind == ROUND else 0.0
    if swapped:
        out.radius_a = c.radius_2
        to_body(second, place_2, c.b0, 1.0, out.a0)
        to_body(second, place_2, c.b1, shift, out.a1)
        to_body(first, place_1, c.a0, 1.0, out.b0)
        to_body(first, place_1, c.a1, shift, out.b1)
    else:
        out.radius_a = c.radius_1
        to_body(first, place_1, c.a0, 1.0, out.a0)
        to_body(first, place_1, c.a1, shift, out.a1)
        to_body(second, place_2, c.b0, 1.0, out.b0)
        to_body(second, place_2, c.b1, shift, out.b1)
    if c.kind != ROUND and c.kind != EDGE:
        out.flip = 1 - c.owner if swapped else c.owner
    if c.kind == RIM_EDGE:
        write_angle(scratch, c, second if c.owner == 1 else first, out)


@kernel
def write_angle(scratch, c, owner, out):
    """out.sign: the angle about the edge of a rim's normal, in axes of the body of the edge."""
    pair = scratch.pair[0]
    for k in range(3):
        pair.n[k] = c.normal[k] if c.owner == 0 else -c.normal[k]
    to_body(owner, scratch.poly[c.owner], pair.n, 0.0, pair.m)
    d = out.b1 if out.flip != 0 else out.a1
    if dot(d, d) > 0.0:
        out.sign = angle_about_edge(pair.m, d, pair.e, pair.g)


@kernel
def find_features(
    shapes, data, pose_a, pose_b, shape_a, shape_b, margin, level, look, scratch, out
):
    """The features of two shapes that are nearer than a margin; their count.

    Up to four for each side of a terrain, and four of other shapes. Beside these, those that are
    to be kept (`kept` of scratch.pair).

    Parameters
    ----------
    shapes : (ns,) SHAPE, data : ShapeData, scratch : ShapeScratch
    pose_a, pose_b : POSE records of the bodies; the identity for the world
    shape_a, shape_b : int, which shapes; at most one of them a half-space or terrain
    margin : float [m], > 0
    level : float, part of the shapes by which features are as near as each other
    look : LOOK, of the last time that these shapes were looked at
    out : (12,) FEATURE
    """
    swapped = shapes[shape_a].kind < shapes[shape_b].kind
    first, second = shapes[shape_b if swapped else shape_a], shapes[shape_a if swapped else shape_b]
    pair, place = scratch.pair[0], scratch.poly[1]
    place_pair(scratch, pose_b if swapped else pose_a, first, pose_a if swapped else pose_b, second)
    pair.margin, pair.level, pair.count, pair.cursor = margin, level, 0, 0
    pair.one_sided, pair.triangle, pair.slack, pair.depth = 0, 0, 0.0, inf
    pair.stamp += 1
    fill(0.0, pair.shift)
    pair.scale = second.reach if first.kind >= HALF_SPACE else first.reach + second.reach
    if boxes_apart(first, second, place, margin):
        return 0
    if pair.heeds != 0:
        place_motion(scratch, pose_a if swapped else pose_b)
    if max(first.n_vertices, second.n_vertices) > SMALL and first.kind == POLYTOPE:
        if not list_in_reach(scratch, data, first, second, look):
            return 0
    else:
        list_whole(scratch, first, second)
    load(scratch, data, 0, first)
    load(scratch, data, 1, second)
    if first.kind > HALF_SPACE:
        bound_ways(scratch)
    done = False
    if first.kind == HALF_SPACE:
        plane_contacts(scratch, data.topology)
        done = True
    elif first.kind <= CYLINDER:
        add_round_shapes(scratch)
        done = True
    elif first.kind == ELLIPSOID:
        add_round_to_ellipsoid(scratch)
        done = True
    while not done and next_piece(scratch, data, first):
        convex_contacts(scratch, data, second)
        if pair.count > FULL:
            reduce(scratch)
    count = choose(scratch)
    for k in range(count):
        c = scratch.candidates[scratch.pair[0].picks[k]]
        write_feature(scratch, c, first, second, swapped, out[k])
    return count
