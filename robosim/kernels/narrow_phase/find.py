"""Which features of two shapes may touch: the narrow phase of contact.

`find_features` looks at a pair of shapes once, at the start of a step, and leaves a few
features, frozen to the bodies, whose gaps the integrator then follows to the end of the step.
The record FEATURE and its four kinds are described in robosim.compiled.records.shape.

The shape of the higher kind comes first and gives the frame in which all is done (placing.py). A
terrain is taken triangle by triangle (terrain.py). Flat faces are for convex.py, half-spaces and
round shapes are done here. The best candidates (choosing.py) become features at the end.
"""

from math import inf, sqrt

from robosim.compiled.kinds import (
    CYLINDER,
    HALF_SPACE,
    HEIGHT_FIELD,
    MESH,
    PLANE,
    POLYTOPE,
    RIM,
    ROUND,
)
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import dot
from robosim.kernels.narrow_phase.candidates import add_plane, add_round, add_rounds
from robosim.kernels.narrow_phase.clip import (
    add_leaning_rim,
    cylinder_outline,
    drop_stand_ins,
)
from robosim.kernels.narrow_phase.convex import add_contacts
from robosim.kernels.narrow_phase.gjk import distance
from robosim.kernels.narrow_phase.place import (
    boxes_apart,
    load,
    load_axis,
    load_polytope,
    place_pair,
)
from robosim.kernels.narrow_phase.points import normalize, offset_dot, segment_parameters
from robosim.kernels.narrow_phase.reduce import choose, reduce
from robosim.kernels.narrow_phase.terrain import next_of_field, next_of_mesh

LYING = 1e-7  # cosine of axis and normal below which a cylinder is touched at its round side
FULL = 40  # candidates that are kept before they are reduced


@kernel
def plane_contacts(scratch):
    """A half-space, z > 0 free, and the second shape."""
    pair, second = scratch.pair[0], scratch.poly[1]
    N, o = pair.axis, scratch.poly[0].x
    N[0], N[1], N[2] = 0.0, 0.0, 1.0
    pair.owner = 0
    if second.kind == POLYTOPE:
        for i in range(second.n_vertices):
            add_plane(scratch, o, N, scratch.vertices[1, i].p, 0.0, i)
        return
    second.touch = second.radius
    size, first = second.n_vertices, 0
    if second.kind == CYLINDER:
        size = cylinder_outline(scratch, second, N)
        first = add_leaning_rim(scratch, 1, N, o, 0)
    for i in range(first, size):
        point = scratch.vertices[1, i].p
        if second.kind == CYLINDER:
            point = scratch.polygon[0, i].p
        add_plane(scratch, o, N, point, second.touch, i)


@kernel
def sphere_on_cylinder(scratch):
    """A cylinder and a sphere: its side, its cap or its rim is nearest."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    center, n, o, rim = second.x, pair.n, pair.pa, first.rim
    across = sqrt(center[0] * center[0] + center[1] * center[1])
    above = abs(center[2]) - first.half_length
    up = 1.0 if center[2] > 0.0 else -1.0
    n[0], n[1], n[2] = 0.0, 0.0, up
    o[0], o[1], o[2] = 0.0, 0.0, up * first.half_length
    if above > across - rim and across <= rim:
        pair.owner = 0
        add_plane(scratch, o, n, center, second.radius, first.kind)
    elif above <= 0.0:
        axis = scratch.vertices[0]
        add_round(scratch, axis[0].p, axis[1].p, center, center, rim, second.radius, first.kind)
    else:
        o[0], o[1] = center[0] * rim / across, center[1] * rim / across
        no_radius = 0.0
        add_round(scratch, o, o, center, center, no_radius, second.radius, second.kind)


@kernel
def lies_across(pair, poly, point, gap):
    """Whether a shape is as near as the capsule around its axis: a cylinder met at its side.

    So it is where the nearest point of its axis is between the ends, and farther from them than the
    capsule is entered: else the cap, or what is over it, is nearer. Of an axis along a face the
    nearest point may well be an end; then the last normal is across it.
    """
    if poly.kind != CYLINDER:
        return True
    inside = poly.half_length - abs(offset_dot(poly.axis, point, poly.x))
    if inside > 1e-9 * poly.half_length and inside >= -gap:
        return True
    return gap >= -1e-8 * poly.rim and abs(dot(pair.n, poly.axis)) < LYING


@kernel
def round_contacts(scratch):
    """Two of sphere, capsule and cylinder, of which the axes are loaded; whether they are done."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    if first.kind == CYLINDER and second.n_vertices == 1:
        sphere_on_cylinder(scratch)
        return True
    a0, a1 = scratch.vertices[0, 0].p, scratch.vertices[0, first.n_vertices - 1].p
    b0, b1 = scratch.vertices[1, 0].p, scratch.vertices[1, second.n_vertices - 1].p
    s, t = segment_parameters(a0, a1, b0, b1)
    for c in range(3):
        pair.pa[c] = (1.0 - s) * a0[c] + s * a1[c]
        pair.pb[c] = (1.0 - t) * b0[c] + t * b1[c]
        pair.n[c] = pair.pb[c] - pair.pa[c]
    length = normalize(pair.n)
    if first.kind == CYLINDER and length == 0.0:
        return False
    gap = length - first.radius - second.radius
    if lies_across(pair, first, pair.pa, gap) and lies_across(pair, second, pair.pb, gap):
        add_rounds(scratch, a0, a1, b0, b1, first.radius, second.radius, first.kind)
        return True
    return False


@kernel
def convex_contacts(scratch, data, second):
    """The piece in the first place and a second shape of any kind."""
    pair = scratch.pair[0]
    if second.kind == CYLINDER:
        load_axis(scratch, 1, second)
        gap = distance(scratch, pair.margin + second.radius)
        if gap == inf:
            return
        if gap == 0.0 or not lies_across(pair, scratch.poly[1], pair.pb, gap - second.radius):
            load_polytope(scratch, data, 1, second)
    add_contacts(scratch, data.topology)


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
    pair.cursor = 1
    load_polytope(scratch, data, 0, first)
    return True


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
    if c.kind == PLANE or c.kind == RIM:
        out.flip = 1 - c.owner if swapped else c.owner


@kernel
def find_features(shapes, data, pose_a, pose_b, shape_a, shape_b, margin, scratch, out):
    """The features of two shapes that are nearer than a margin; their count.

    Up to four for each side of a terrain, and four of other shapes.

    Parameters
    ----------
    shapes : (ns,) SHAPE, data : ShapeData, scratch : ShapeScratch
    pose_a, pose_b : POSE records of the bodies; the identity for the world
    shape_a, shape_b : int, which shapes; at most one of them a half-space or terrain
    margin : float [m], > 0
    out : (12,) FEATURE
    """
    swapped = shapes[shape_a].kind < shapes[shape_b].kind
    first, second = shapes[shape_b if swapped else shape_a], shapes[shape_a if swapped else shape_b]
    pair, place = scratch.pair[0], scratch.poly[1]
    place_pair(scratch, pose_b if swapped else pose_a, first, pose_a if swapped else pose_b, second)
    pair.margin, pair.count, pair.cursor = margin, 0, 0
    pair.one_sided, pair.triangle = 0, 0
    pair.scale = second.reach if first.kind >= HALF_SPACE else first.reach + second.reach
    if boxes_apart(first, second, place, margin):
        return 0
    load(scratch, data, 0, first)
    load(scratch, data, 1, second)
    done = False
    if first.kind == HALF_SPACE:
        plane_contacts(scratch)
        done = True
    elif first.kind <= CYLINDER:
        done = round_contacts(scratch)
    while not done and next_piece(scratch, data, first):
        convex_contacts(scratch, data, second)
        if pair.count > FULL:
            reduce(scratch)
    drop_stand_ins(scratch)
    count = choose(scratch)
    for k in range(count):
        c = scratch.candidates[scratch.pair[0].picks[k]]
        write_feature(scratch, c, first, second, swapped, out[k])
    return count
