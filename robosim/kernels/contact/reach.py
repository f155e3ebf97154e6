"""Which pairs of shapes may come to touch within an interval: the broad phase of contact.

A pair that has been looked at is known to be apart by some distance. The bodies have to travel as
far before it needs another look, so that most pairs of a robot cost one comparison in a step:
``look.until`` is that distance with what both had travelled when it was measured, ``travel`` what
they have travelled since the looks are VALID. What is nearer is listed in ``work.collision.near``.

Bounds are of all points of a body's shapes, so that a turn counts with the farthest of them.
"""

from math import inf, sqrt

from robosim.compiled.kinds import CAPSULE, HALF_SPACE, HEIGHT_FIELD, POLYTOPE
from robosim.compiled.memory import LOOKED
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.contact.hits import is_closed
from robosim.kernels.equations.algebra import dot, fill
from robosim.kernels.narrow_phase.apart import apart_by
from robosim.kernels.narrow_phase.motion import leeway
from robosim.kernels.narrow_phase.place import place_pair
from robosim.kernels.narrow_phase.terrain import over_field

ROUNDING = 1e-9  # part of a distance, for the rounding of all that is compared here
SLACK = 1e-6  # part of the size of a shape that counts as in reach without any motion


@kernel
def largest_speed(twist, reach):
    """The largest speed of points no farther than `reach` from the centre of mass [m/s]."""
    v, spin = twist[:3], twist[3:]
    return sqrt(dot(v, v)) + reach * sqrt(dot(spin, spin))


@kernel
def moved_by(work, body, reach, dt):
    """How far a shape may have moved over the interval [m]."""
    if reach == inf:
        return 0.0
    motion = work.bodies[body]
    turn = 2.0 * sqrt(motion.P[1] ** 2 + motion.P[2] ** 2 + motion.P[3] ** 2)
    return abs(dt) * sqrt(dot(motion.v, motion.v)) + turn * reach


@kernel
def pair_moved(model, system, work, p, dt):
    """How far the shapes of pair p may have come nearer to each other over the interval [m]."""
    pair, before, after = model.collision.pairs[p], system.pose1, work.pose2
    a, b, shapes = pair.body_a, pair.body_b, model.collision.shapes
    moved = moved_by(work, a, pair.reach_a, dt) + moved_by(work, b, pair.reach_b, dt)
    if max(a, b) == model.bodies.shape[0]:
        return moved
    P, Q = work.bodies[a].P, work.bodies[b].P
    turn = 0.0
    for i in range(3):
        j, k = 1 + (i + 1) % 3, 1 + (i + 2) % 3
        turned = P[0] * Q[1 + i] - Q[0] * P[1 + i] - (P[j] * Q[k] - P[k] * Q[j])
        turn += turned * turned
    turn = 2.0 * sqrt(turn)
    over_a = moved_over(shapes[pair.shape_b], before[a], before[b], after[a], after[b])
    over_b = moved_over(shapes[pair.shape_a], before[b], before[a], after[b], after[a])
    over_a += turn * shapes[pair.shape_b].reach
    return min(moved, min(over_a, over_b + turn * shapes[pair.shape_a].reach))


@kernel
def moved_over(shape, a1, b1, a2, b2):
    """How far the origin of a shape of a body b has come in the axes of a body a [m]."""
    square = 0.0
    for i in range(3):
        there = 0.0
        for k in range(3):
            x1, x2 = b1.x[k] - a1.x[k], b2.x[k] - a2.x[k]
            for n in range(3):
                x1 += b1.R[k, n] * shape.x[n]
                x2 += b2.R[k, n] * shape.x[n]
            there += a2.R[k, i] * x2 - a1.R[k, i] * x1
        square += there * there
    return sqrt(square)


@kernel
def pair_speed(model, state, poses, p):
    """How fast the shapes of pair p may come nearer to each other by their last motion [m/s]."""
    pair, motions = model.collision.pairs[p], state.bodies
    a, b, shapes = pair.body_a, pair.body_b, model.collision.shapes
    speed = speed_of(motions, a, pair.reach_a) + speed_of(motions, b, pair.reach_b)
    if max(a, b) == motions.shape[0]:
        return speed
    spin = 0.0
    for k in range(3, 6):
        spin += (motions[b].v_mid[k] - motions[a].v_mid[k]) ** 2
    spin = sqrt(spin)
    over_a = speed_over(shapes[pair.shape_b], motions[a], motions[b], poses[a], poses[b])
    over_b = speed_over(shapes[pair.shape_a], motions[b], motions[a], poses[b], poses[a])
    over_a += spin * shapes[pair.shape_b].reach
    return min(speed, min(over_a, over_b + spin * shapes[pair.shape_a].reach))


@kernel
def speed_of(motions, body, reach):
    """How fast a shape is at most by its body's last motion [m/s]; the world stands still."""
    return 0.0 if body == motions.shape[0] else largest_speed(motions[body].v_mid, reach)


@kernel
def speed_over(shape, motion_a, motion_b, a, b):
    """How fast the origin of a shape of a body b is in the axes of a body a [m/s]."""
    square, v, w = 0.0, motion_b.v_mid, motion_a.v_mid
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        rj = dot(b.R[j], shape.x)
        rk = dot(b.R[k], shape.x)
        along = v[i] - w[i] + v[3 + j] * rk - v[3 + k] * rj
        rj, rk = rj + b.x[j] - a.x[j], rk + b.x[k] - a.x[k]
        along -= w[3 + j] * rk - w[3 + k] * rj
        square += along * along
    return sqrt(square)


@kernel
def is_on_terrain(shapes, pair):
    """Whether one of the two shapes of a pair is a height field or a mesh."""
    return max(shapes[pair.shape_a].kind, shapes[pair.shape_b].kind) > HALF_SPACE


@kernel
def strays(model, state, work, p, moved, dt):
    """Whether a shape may have come through what of a terrain its motion did not lead to.

    So where it has moved as far as it is thick, and elsewhere than the last interval foretold. If
    it is still partly before the terrain, they overlap at the second knot, which is seen there.
    """
    found, pair, collision = work.collision.found[p], model.collision.pairs[p], model.collision
    if not (found.margin > 0.0 and found.leeway < moved):
        return False
    shapes = collision.shapes
    on_a = shapes[pair.shape_a].kind > HALF_SPACE
    body, reach, shape = pair.body_a, pair.reach_a, shapes[pair.shape_a]
    if on_a:
        body, reach, shape = pair.body_b, pair.reach_b, shapes[pair.shape_b]
    if moved < breadth(collision.data, shape):
        return False
    motion, before = work.bodies[body], state.bodies[body].v_mid
    away, turn, half = 0.0, 0.0, 0.0
    for i in range(3):
        a = motion.v[i] - before[i]
        b = 2.0 * motion.P[0] * motion.P[1 + i] - dt * before[3 + i]
        away, turn, half = away + a * a, turn + b * b, half + motion.P[1 + i] ** 2
    # Points move across the axis by the sine of the turn, and towards it by 1 less its cosine.
    return abs(dt) * sqrt(away) + reach * (sqrt(turn) + 2.0 * half) > found.leeway


@kernel
def breadth(data, shape):
    """How far a convex shape moves at least from before a plane until its core lies behind [m]."""
    least = inf
    if shape.kind < POLYTOPE:
        for k in range(3):
            least = min(least, 0.5 * (shape.upper[k] - shape.lower[k]))
        return least
    # Twice the radius of the largest ball about the origin that has room within.
    topology = data.topology
    for f in range(shape.face_begin, shape.face_begin + shape.n_faces):
        corner = shape.vertex_begin + topology.loops[topology.faces[f, 0]]
        least = min(least, 2.0 * dot(data.normals[f].p, data.vertices[corner].p))
    return least


@kernel
def list_in_reach(model, state, guesses, system, work, dt, fall, heeds):
    """List the pairs that may touch within dt in work.collision.near.

    work.collision.found[p].margin is what such a pair may come nearer [m], the negative of that if
    it is too far, and -inf for all other pairs. A body's present motion counts twice for safety.
    Bodies that have hardly moved since features were found have those still: found[p].known is 1.
    What is hit within dt may move farther than that: `has_passed` tells. Where `heeds`, shapes that
    do not push each other only come as near as their motion leads them towards each other.
    """
    collision, near, found = model.collision, work.collision.near, work.collision.found
    pairs, looks, ahead = collision.pairs, system.looks, work.collision.ahead
    foresee(collision.reach, state, system, dt, fall, ahead)
    near[0] = 0
    for p in range(pairs.shape[0]):
        look = looks[p]
        if look.until > ahead[look.body_a] + ahead[look.body_b]:
            found[p].margin, found[p].near, found[p].known = -inf, 0, 0
            found[p].tight, found[p].apart = inf, -inf
            continue
        pair = pairs[p]
        margin = fall + SLACK * min(
            collision.shapes[pair.shape_a].reach, collision.shapes[pair.shape_b].reach
        )
        margin += 2.0 * abs(dt) * pair_speed(model, state, system.pose1, p)
        travelled = system.travel[look.body_a] + system.travel[look.body_b]
        found[p].known = 1 if travelled <= look.still and margin <= look.margin else 0
        far = found[p].known == 0 and look_at(model, system, work, p, margin)
        found[p].margin, found[p].tight, found[p].apart = -margin if far else margin, margin, -inf
        looked = heeds and not far and found[p].known == 0
        looked = looked and max(pair.body_a, pair.body_b) < state.bodies.shape[0]
        if looked and not pushes(model, guesses, pair):
            tighten(model, state, system, work, p, fall, dt)
        near[0] += 1
        near[near[0]] = p


@kernel
def pushes(model, guesses, pair):
    """Whether a contact of a pair pushed in the last interval."""
    first = model.contacts.shape[0]
    for slot in range(pair.slot_begin, pair.slot_end):
        before, c = guesses.features[slot - first], guesses.contacts[slot]
        if guesses.active[slot] != 0 and is_closed(before, c):
            return True
    return False


@kernel
def tighten(model, state, system, work, p, fall, dt):
    """Bound how far the shapes of pair p, which `look_at` has just seen, may come nearer.

    Along the normal of the plane between them they come twice as near as the points next to the
    plane do by their last motion, and a part of the bound in all directions. Shapes that are
    farther apart are out of reach.
    """
    found, scratch = work.collision.found[p], work.collision.scratch
    into, pair, look = scratch.pair[0], model.collision.pairs[p], system.looks[p]
    apart = -into.depth
    if not apart > 0.0:
        return
    shapes = model.collision.shapes
    swapped = shapes[pair.shape_a].kind < shapes[pair.shape_b].kind
    a, b, sign = pair.body_a, pair.body_b, 1.0
    if swapped:
        a, b, sign = b, a, -1.0
    for i in range(3):
        into.m[i], into.pc[i] = dot(into.R_1[i], look.normal), into.ba[i]
    for i in range(3):
        found.normal[i] = sign * into.m[i]
        for k in range(3):
            into.pc[i] += 0.5 * into.R_1[i, k] * (into.pa[k] + into.pb[k] + scratch.poly[1].x[k])
    found.apart = apart * (1.0 - ROUNDING)
    rate = speed_along(state.bodies[b].v_mid, system.pose1[b], into.pc, into.m)
    rate -= speed_along(state.bodies[a].v_mid, system.pose1[a], into.pc, into.m)
    way = leeway(found.margin, fall) + max(-2.0 * dt * rate, 0.0)
    found.tight = min(found.margin, way)
    if found.apart > found.tight:
        found.margin = -found.apart


@kernel
def speed_along(twist, pose, point, n):
    """How fast a point of a body moves along n (3,), all in world axes [m/s]."""
    speed = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        turn = twist[3 + j] * (point[k] - pose.x[k]) - twist[3 + k] * (point[j] - pose.x[j])
        speed += n[i] * (twist[i] + turn)
    return speed


@kernel
def stay_parted(model, system, work, p):
    """Whether a plane that parts the shapes of pair p at the first knot does so at the second.

    It moves on with one of the two bodies. If it stays between them, they have not touched.
    """
    found, pair, shapes = work.collision.found[p], model.collision.pairs[p], model.collision.shapes
    if not found.apart > 0.0:
        return False
    a, b, n, before, after = pair.body_a, pair.body_b, found.normal, system.pose1, work.pose2
    P, Q, t = work.bodies[a].P, work.bodies[b].P, work.scratch[0].w
    for i in range(3):
        j, k = 1 + (i + 1) % 3, 1 + (i + 2) % 3
        t[i] = P[0] * Q[1 + i] - Q[0] * P[1 + i] - (P[j] * Q[k] - P[k] * Q[j])
    turn = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        turn += (t[j] * n[k] - t[k] * n[j]) ** 2
    turn = 2.0 * sqrt(turn)
    first, second = shapes[pair.shape_a], shapes[pair.shape_b]
    left_a = moved_along(second, before[a], before[b], after[a], after[b], n)
    left_b = -moved_along(first, before[b], before[a], after[b], after[a], n)
    nearer = min(turn * second.reach - left_a, turn * first.reach - left_b)
    return found.apart > nearer


@kernel
def moved_along(shape, a1, b1, a2, b2, n):
    """How far the origin of a shape of a body b has come along n in the axes of a body a [m].

    n (3,) is in world axes at the first knot.
    """
    way = 0.0
    for i in range(3):
        along, there = 0.0, 0.0
        for k in range(3):
            x1 = b1.x[k] - a1.x[k] + dot(b1.R[k], shape.x)
            x2 = b2.x[k] - a2.x[k] + dot(b2.R[k], shape.x)
            along += a1.R[k, i] * n[k]
            there += a2.R[k, i] * x2 - a1.R[k, i] * x1
        way += along * there
    return way


@kernel
def foresee(reach, state, system, dt, fall, ahead):
    """How far all bodies have travelled, and in `ahead` what they will have within dt [m].

    The last interval counts anew after one that was not taken, which is on the safe side.
    """
    travel, nb = system.travel, state.bodies.shape[0]
    if system.valid[LOOKED] == 0:
        fill(0.0, travel)
        for p in range(system.looks.shape[0]):
            look = system.looks[p]
            look.until, look.still, look.vertex_a, look.vertex_b = -inf, -inf, 0, 0
            fill(0.0, look.normal)
        system.valid[LOOKED] = 1
    else:
        for b in range(nb):
            travel[b] += abs(state.last_dt[0]) * largest_speed(state.bodies[b].v_mid, reach[b])
    for b in range(nb):
        travelled = 2.0 * abs(dt) * largest_speed(state.bodies[b].v_mid, reach[b])
        ahead[b] = travel[b] + travelled + fall + SLACK * reach[b]
    ahead[nb] = 0.0


@kernel
def look_at(model, system, work, p, margin):
    """Whether the shapes of pair p are farther apart than a margin at the first knot.

    By spheres around both, or, where these meet, by a plane between two convex shapes.
    """
    collision, look = model.collision, system.looks[p]
    pair = collision.pairs[p]
    first, second = collision.shapes[pair.shape_a], collision.shapes[pair.shape_b]
    apart = spheres_apart(pair, first, second, system.pose1)
    work.collision.scratch.pair[0].depth = inf
    if not apart > margin:
        apart = hulls_apart(model, system, work, system.pose1, p, margin)
        work.collision.scratch.pair[0].depth = -apart
    travelled = system.travel[pair.body_a] + system.travel[pair.body_b]
    look.until = apart * (1.0 - ROUNDING) + travelled if apart > margin else -inf
    return apart > margin


@kernel
def hulls_apart(model, system, work, poses, p, margin):
    """How far the shapes of pair p are at least apart, as precisely as a margin asks for [m].

    Of a height field the highest point below the other one tells. Where one is another terrain, or
    both are so simple that a close look costs as little, that is not known, and -inf.
    """
    collision, scratch = model.collision, work.collision.scratch
    pair = collision.pairs[p]
    a, b = pair.body_a, pair.body_b
    first, second = collision.shapes[pair.shape_a], collision.shapes[pair.shape_b]
    if first.kind < second.kind:
        first, second, a, b = second, first, b, a
    if first.kind == HEIGHT_FIELD:
        place_pair(scratch, poses[a], first, poses[b], second)
        return over_field(scratch, collision.data, first, second, margin)
    if first.kind > POLYTOPE or first.kind <= CAPSULE:
        return -inf
    place_pair(scratch, poses[a], first, poses[b], second)
    return apart_by(scratch, collision.data, first, second, system.looks[p], margin)


@kernel
def spheres_apart(pair, first, second, poses):
    """How far spheres around two shapes are apart [m], negative if they overlap.

    A half-space comes first in its pairs.
    """
    a, b, square, height = poses[pair.body_a], poses[pair.body_b], 0.0, 0.0
    for i in range(3):
        d, n = b.x[i] - a.x[i], 0.0
        for k in range(3):
            d += b.R[i, k] * second.x[k] - a.R[i, k] * first.x[k]
            n += a.R[i, k] * first.R[k, 2]
        square += d * d
        height += d * n
    if first.reach == inf:
        return height - second.reach
    return sqrt(square) - (first.reach + second.reach)


@kernel
def are_far(model, p, poses, margin):
    """Whether spheres around the two shapes of pair p are farther apart than a margin."""
    pair, shapes = model.collision.pairs[p], model.collision.shapes
    return spheres_apart(pair, shapes[pair.shape_a], shapes[pair.shape_b], poses) > margin


@kernel
def has_passed(model, system, work, dt):
    """Whether a motion leads farther than was foreseen, as that of what is hit or driven may."""
    ahead, reach, travel = work.collision.ahead, model.collision.reach, system.travel
    for b in range(model.bodies.shape[0]):
        if travel[b] + moved_by(work, b, reach[b], dt) > ahead[b]:
            return True
    return False


@kernel
def distance_left(system, p):
    """How far the shapes of a pair that has not been listed are at least apart [m]."""
    look = system.looks[p]
    return look.until - system.travel[look.body_a] - system.travel[look.body_b]
