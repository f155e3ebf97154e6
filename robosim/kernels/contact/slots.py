"""Contacts between shapes: features that are found at the first knot and followed to the second.

A pair of shapes has room for its features among the workspace's slots. A feature that was there
at the last step keeps its slot, and with it the impulse that the solver starts from.
"""

from math import inf, sqrt

from robosim.compiled.kinds import (
    CYLINDER,
    EDGE,
    ELLIPSOID,
    GOES_ROUND,
    HALF_SPACE,
    OVAL,
    OVAL_EDGE,
    OVAL_PAIR,
    PLANE,
    POLYTOPE,
    RIM,
    RIM_EDGE,
    ROLLS,
    ROUND,
    SLIP,
)
from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.contact.hits import is_closed
from robosim.kernels.contact.kinematics import depth_left, place_contact
from robosim.kernels.contact.reach import hulls_apart
from robosim.kernels.equations.algebra import assign, dot, fill, rotate_back
from robosim.kernels.equations.body import end_pose
from robosim.kernels.narrow_phase.clip import is_crossing
from robosim.kernels.narrow_phase.find import find_features
from robosim.kernels.narrow_phase.motion import forget_motion, note_motion

THIS_STEP = 2**62  # id of a feature that no feature of the next step takes over
TURNS_OVER = 0.866  # cosine of the angle by which the lowest point of a rim may go round
EXACT = 1e-10  # part of two shapes by which features are as near as each other but for rounding
LEANS = 1e-6  # of the smaller shape, that points of faces which lie on each other may be apart
STILL = 5e-8  # of the smaller shape, that bodies may travel until features are looked for again
ROOMY = 1.01  # times the margin within which features were found that serves a wider one as well
FLAT = 1e-7  # and but for how faces that lie on each other turn at rest
OVERLAP = 5e-9  # of the smaller shape, that an interval may end beyond a feature without notice


@kernel
def find_pair(model, state, guesses, system, work, p, dt, fall):
    """Features of pair p that may be reached within dt, into work.collision; their count.

    Which of them hold two faces that lie on each other must not depend on rounding.
    """
    pair, into = model.collision.pairs[p], work.collision.scratch.pair[0]
    keep_met(model, guesses, pair, into)
    forget_motion(into)
    if work.collision.found[p].leeway < inf:
        # The other body is the world, which is last.
        note_motion(into, state.bodies[min(pair.body_a, pair.body_b)].v_mid, dt, fall)
    return find_within(model, system, work, system.pose1, p, work.collision.found[p].tight, FLAT)


@kernel
def are_flat(model, pair):
    """Whether both shapes of a pair have flat faces only."""
    shapes = model.collision.shapes
    return min(shapes[pair.shape_a].kind, shapes[pair.shape_b].kind) >= POLYTOPE


@kernel
def note_found(model, system, work, p, margin, count):
    """Note up to where the features of pair p that have just been found are taken again.

    Also that there are none. But where borders of two faces cross there is another gap as soon as
    they slide, unless the faces lie on each other.
    """
    pair, look = model.collision.pairs[p], system.looks[p]
    look.still = -inf
    if are_flat(model, pair) and serve_again(model, work, pair, count):
        travelled = system.travel[pair.body_a] + system.travel[pair.body_b]
        look.still = travelled + STILL * smaller_reach(model, pair)
        look.margin = ROOMY * margin


@kernel
def serve_again(model, work, pair, count):
    """Whether features that have just been found serve where shapes have moved a little."""
    features, least, most, crosses, edges = work.collision.features, inf, -inf, False, False
    for n in range(count):
        least, most = min(least, features[n].gap), max(most, features[n].gap)
        edges = edges or features[n].kind != PLANE
        crosses = crosses or (features[n].kind == PLANE and is_crossing(features[n].id))
    lie = count > 2 and not edges and most - least < LEANS * smaller_reach(model, pair)
    return lie or not crosses


@kernel
def marks_of(ids, pair):
    """A number that tells features of a pair in its slots from others."""
    marks = 0
    for slot in range(pair.slot_begin, pair.slot_end):
        marks += (ids[slot] + 1) * (slot + 1)
    return marks


@kernel
def take_again(model, guesses, work, p, marks):
    """Put the features of the last step into the slots of pair p; whether all are known.

    These have to be the features with the `marks` of those that were found last.
    """
    pair, ids, first = model.collision.pairs[p], work.ids, model.contacts.shape[0]
    # After an impact, or a step that was not taken, there are others.
    if marks_of(ids, pair) != marks:
        return False
    for slot in range(pair.slot_begin, pair.slot_end):
        if ids[slot] == THIS_STEP or (ids[slot] >= 0 and guesses.active[slot] == 0):
            return False
    for slot in range(pair.slot_begin, pair.slot_end):
        if ids[slot] >= 0:
            contact = work.slots[slot]
            copy_record(guesses.features[slot - first], contact)
            contact.apart, contact.deeper = 0, 0.0
    return True


@kernel
def keep_met(model, guesses, pair, into):
    """List the features of a pair to be found whatever others there are.

    They have once been reached unexpectedly, and push: without them, the motion would reach them
    again.
    """
    first = model.contacts.shape[0]
    into.keeps = 0
    if not are_flat(model, pair):
        return
    for slot in range(pair.slot_begin, pair.slot_end):
        if guesses.active[slot] != 0 and into.keeps < into.kept.shape[0]:
            before, c = guesses.features[slot - first], guesses.contacts[slot]
            if before.met != 0 and c.gamma > before.mass * c.s:
                into.kept[into.keeps] = guesses.ids[slot]
                into.keeps += 1


@kernel
def find_near(model, system, work, poses, p, margin):
    """Features of pair p that are nearer than a margin, into work.collision; their count.

    The nearest one is among them.
    """
    work.collision.scratch.pair[0].keeps = 0
    forget_motion(work.collision.scratch.pair[0])
    return find_within(model, system, work, poses, p, margin, EXACT)


@kernel
def find_within(model, system, work, poses, p, margin, level):
    """Features of pair p that are nearer than a margin, those that hold the shapes best."""
    pair, into = model.collision.pairs[p], work.collision
    return find_features(
        model.collision.shapes,
        model.collision.data,
        poses[pair.body_a],
        poses[pair.body_b],
        pair.shape_a,
        pair.shape_b,
        margin,
        level,
        system.looks[p],
        into.scratch,
        into.features,
    )


@kernel
def in_use(ids, pair):
    """Whether any of a pair's slots has a feature."""
    for slot in range(pair.slot_begin, pair.slot_end):
        if ids[slot] >= 0:
            return True
    return False


@kernel
def smaller_reach(model, pair):
    """A length of the smaller one of two shapes, for tolerances [m]."""
    shapes = model.collision.shapes
    return min(shapes[pair.shape_a].reach, shapes[pair.shape_b].reach)


@kernel
def free_slot(ids, pair, slot):
    """The first of a pair's slots from `slot` on that has no feature; its end if all have one."""
    while slot < pair.slot_end and ids[slot] >= 0:
        slot += 1
    return slot


@kernel
def find_met(model, system, work, p, moved, may_divide):
    """Put features of pair p into free slots that a motion over `moved` has gone beyond.

    They are those of the first knot, so nothing is gone through, whatever it ends up in. Returns
    their number, or -1 where the shapes are apart again at the end, as far as through each other: a
    shorter interval tells whether they have missed each other, if it `may_divide`.
    """
    pair, ids, features = model.collision.pairs[p], work.ids, work.collision.features
    allowed, found, t = OVERLAP * smaller_reach(model, pair), 0, work.scratch[0]
    overlap = find_near(model, system, work, work.pose2, p, allowed) > 0
    shapes = model.collision.shapes
    thick = thickness(shapes[pair.shape_a]) + thickness(shapes[pair.shape_b])
    divides = may_divide and moved > thick
    if not (overlap or divides):
        return 0
    count = find_near(model, system, work, system.pose1, p, moved + allowed)
    slot = free_slot(ids, pair, pair.slot_begin)
    for n in range(count):
        if slot == pair.slot_end or holds(ids, pair, features[n].id, -1):
            continue
        contact = work.slots[slot]
        describe(model, pair, features[n], contact, slot)
        through = goes_through(contact, system.pose1, work.pose2, t)
        gap = place_contact(contact, system.pose1, t)
        contact.apart = 1 if gap >= -allowed else 0
        if through or place_contact(contact, work.pose2, t) < min(gap, 0.0) - allowed:
            if not overlap and divides:
                return -1
            if not overlap:
                continue
            ids[slot] = features[n].id
            found += 1
            slot = free_slot(ids, pair, slot)
    return found


@kernel
def thickness(shape):
    """What a motion has to be longer than to lead through a shape [m]."""
    if shape.kind == HALF_SPACE:
        return inf
    least = inf
    for k in range(3):
        least = min(least, shape.upper[k] - shape.lower[k])
    return least if shape.kind < HALF_SPACE else 0.0


@kernel
def goes_through(contact, before, after, t):
    """Whether round shapes have gone through each other from one knot to the other.

    Then their normals are more than a right angle apart, and they come too near on the way. Of
    ellipsoids only the normals tell.
    """
    if contact.kind == OVAL_EDGE or contact.kind == OVAL_PAIR:
        place_contact(contact, before, t)
        for i in range(3):
            t.S_b[0, i] = t.w[i]
        place_contact(contact, after, t)
        return dot(t.S_b[0], t.w) < 0.0
    if contact.kind != ROUND:
        return False
    near, before_it = contact.radius + contact.radius_o, t.R_J[0]
    length1 = place_contact(contact, before, t) + near
    for i in range(3):
        before_it[i] = length1 * t.w[i]
    length2 = place_contact(contact, after, t) + near
    if dot(before_it, t.w) > 0.0:
        return False
    along, square = 0.0, 0.0
    for i in range(3):
        d = length2 * t.w[i] - before_it[i]
        along -= d * before_it[i]
        square += d * d
    if along <= 0.0 or along >= square:
        return False
    return length1 * length1 - along * along / square < near * near


@kernel
def find_entered(model, system, work, p, moved, may_divide, gravity, dt, room):
    """Put features of pair p that the interval ends beyond into free slots; their number.

    It is -1 where only a shorter interval tells, if it `may_divide`, what the shapes meet with.
    Features of the first knot are all that is touched unless the bodies turn by much: then
    another corner comes down, or the lowest point of a rim is another one. Or they pass an edge of
    a terrain: the plane beyond it, which goes on through what is before it, has been behind them
    all the time, but must not be so at the end. With `room` [m] they are beyond what touches.
    """
    pair, ids, features = model.collision.pairs[p], work.ids, work.collision.features
    follows = pair.compliant != 0 and in_use(ids, pair)
    # A spring that all share is as deep as the deepest of them.
    deepest, depth = spring_depths(system, work, pair) if follows else (0.0, inf)
    slot = free_slot(ids, pair, pair.slot_begin)
    allowed = max(OVERLAP * smaller_reach(model, pair), room)
    if moved < allowed:
        return 0
    if hulls_apart(model, system, work, work.pose2, p, allowed) > allowed:
        work.collision.found[p].parted = how_far_parted(model, system, work, p, gravity, dt)
        return 0
    found, t = 0, work.scratch[0]
    count = find_near(model, system, work, work.pose2, p, allowed)
    if count == 0:
        work.collision.found[p].parted = how_far_parted(model, system, work, p, gravity, dt)
    if not overlaps(features, count, allowed - deepest):
        return 0
    overlap = overlap_of(model, system, work, p, allowed)
    apart = overlap >= -allowed
    count = find_near(model, system, work, work.pose2, p, allowed)
    for n in range(count):
        if not features[n].gap < deepest - allowed:
            continue
        if slot == pair.slot_end:
            # A shorter interval has room for all that is met in it. Of a feature that is held, it
            # is another point where such points have taken the room, as those of a rim do.
            new = not holds(ids, pair, features[n].id, -1)
            if apart and may_divide and (new or holds(ids, pair, THIS_STEP, -1)):
                return -1
            continue
        contact = work.slots[slot]
        describe(model, pair, features[n], contact, slot)
        contact.apart, contact.met = 1 if apart else 0, 1
        if contact.kind == RIM and turns_over(contact, system.pose1, work.pose2, t):
            pin_rim(contact, work.pose2, t)
        before = place_contact(contact, system.pose1, t)
        if apart and before < -2.0 * moved - allowed:
            # Of shapes that were apart, nothing comes as far through the right plane.
            if may_divide:
                return -1
            continue
        if before < -depth - allowed:
            # Deeper than all that is there at the first knot, so beside the shapes there.
            continue
        left = deepest
        if not (apart or follows):
            contact.deeper = max(overlap - before, 0.0)
            left = depth_left(before + contact.deeper, dt)
        if place_contact(contact, work.pose2, t) < left - allowed:
            # One that is there already, but elsewhere, as on a rim: for this step only.
            ids[slot] = features[n].id
            if holds(ids, pair, ids[slot], slot):
                ids[slot] = THIS_STEP
            found += 1
            slot = free_slot(ids, pair, slot)
    return found


@kernel
def how_far_parted(model, system, work, p, gravity, dt):
    """How far the shapes of pair p are apart at the second knot, if a contact is closed [m].

    It is inf if they would stay apart over another such interval, falling. If no contact is closed,
    it is 0. What was looked at last stays as it was, as the next interval begins with it.
    """
    pair, margin = model.collision.pairs[p], abs(work.collision.found[p].margin)
    closed, free = False, pair.slot_end
    for slot in range(pair.slot_begin, pair.slot_end):
        if work.ids[slot] < 0:
            free = slot
        elif work.entered[slot] != 0 and is_closed(work.slots[slot], work.contacts[slot]):
            closed = True
    if not closed or pair.compliant != 0:
        return 0.0
    look, features, left = system.looks[p], work.collision.features, inf
    x, y, z = look.normal[0], look.normal[1], look.normal[2]
    vertex_a, vertex_b = look.vertex_a, look.vertex_b
    count = find_near(model, system, work, work.pose2, p, margin)
    look.normal[0], look.normal[1], look.normal[2] = x, y, z
    look.vertex_a, look.vertex_b = vertex_a, vertex_b
    for n in range(count):
        gap = max(features[n].gap, 0.0)
        if free < pair.slot_end:
            contact = work.slots[free]
            describe(model, pair, features[n], contact, free)
            if gap_ahead(model, contact, work, gravity, dt) > 0.0:
                continue
        left = min(left, gap)
    return left


@kernel
def gap_ahead(model, contact, work, gravity, dt):
    """The gap of a contact after another interval such as the one that was solved, and a fall."""
    kept = work.collision.kept
    copy_record(work.pose2[contact.body], kept[0])
    copy_record(work.pose2[contact.other], kept[1])
    go_on(model, contact.body, kept[0], work, gravity, dt)
    go_on(model, contact.other, kept[1], work, gravity, dt)
    gap = place_contact(contact, work.pose2, work.scratch[0])
    copy_record(kept[0], work.pose2[contact.body])
    copy_record(kept[1], work.pose2[contact.other])
    return gap


@kernel
def go_on(model, b, pose, work, gravity, dt):
    """Move body b on from a pose as in the interval that was solved, but falling."""
    if b == model.bodies.shape[0]:
        return
    body, motion, v = model.bodies[b], work.bodies[b], work.scratch[0].w
    for i in range(3):
        v[i] = motion.v[i] + dt * body.gravitational_mass / body.mass * gravity[i]
    end_pose(pose, v, motion.P, dt, work.pose2[b])


@kernel
def spring_depths(system, work, pair):
    """How deep the spring of a pair is: the smallest gap at the second knot, and the depth before.

    The gap is 0 at most.
    """
    gap, depth = 0.0, inf
    for slot in range(pair.slot_begin, pair.slot_end):
        if work.entered[slot] != 0:
            w = system.contacts[slot]
            gap, depth = min(gap, w.gap), w.depth
    return gap, depth


@kernel
def has_turned_rim(model, system, work, p):
    """Whether a rim of pair p turns over while it pushes.

    As a disc falls flat, its lowest point goes from one side to the other within the interval. An
    impulse at the one does not hold the gap at the other.
    """
    pair = model.collision.pairs[p]
    for slot in range(pair.slot_begin, pair.slot_end):
        contact, c = work.slots[slot], work.contacts[slot]
        if work.ids[slot] >= 0 and work.entered[slot] != 0:
            pushes = c.gamma > contact.mass * c.s
            if pushes and turns_over(contact, system.pose1, work.pose2, work.scratch[0]):
                return True
    return False


@kernel
def turns_over(contact, before, after, t):
    """Whether the lowest point of a rim or an ellipsoid goes round by more than 30 degrees."""
    if contact.kind != RIM and contact.kind != RIM_EDGE and contact.kind != OVAL:
        return False
    place_contact(contact, before, t)
    assign(t.arm, t.R_J[0])
    place_contact(contact, after, t)
    return dot(t.R_J[0], t.arm) < TURNS_OVER * dot(t.R_J[0], t.R_J[0])


@kernel
def pin_rim(contact, poses, t):
    """Let a rim touch with the point that is the lowest one at some poses, wherever that goes."""
    place_contact(contact, poses, t)
    rotate_back(poses[contact.body].R, t.y, contact.p)
    contact.kind, contact.radius = PLANE, 0.0


@kernel
def overlap_of(model, system, work, p, allowed):
    """The gap of pair p at the first knot where its shapes overlap [m]; 0 if they are apart."""
    gap = 0.0
    for n in range(find_near(model, system, work, system.pose1, p, allowed)):
        gap = min(gap, work.collision.features[n].gap)
    return gap


@kernel
def overlaps(features, count, allowed):
    """Whether any of the features overlaps by more than is allowed."""
    for n in range(count):
        if features[n].gap < -allowed:
            return True
    return False


@kernel
def holds(ids, pair, feature_id, but):
    """Whether one of a pair's slots, `but` one, has a feature."""
    for slot in range(pair.slot_begin, pair.slot_end):
        if slot != but and ids[slot] == feature_id:
            return True
    return False


@kernel
def assign_slots(model, guesses, work, p, count):
    """Put the features of pair p into its slots: where they were, or else where there is room."""
    pair, ids, features = model.collision.pairs[p], work.ids, work.collision.features
    count = min(count, pair.slot_end - pair.slot_begin)
    first = model.contacts.shape[0]
    # Slots whose features are gone become free.
    for slot in range(pair.slot_begin, pair.slot_end):
        still = False
        for n in range(count):
            still = still or features[n].id == ids[slot]
        if not still:
            ids[slot] = -1
    for n in range(count):
        chosen = -1
        for slot in range(pair.slot_begin, pair.slot_end):
            if ids[slot] == features[n].id:
                chosen = slot
        if chosen < 0:
            for slot in range(pair.slot_end - 1, pair.slot_begin - 1, -1):
                if ids[slot] == -1:
                    chosen = slot
            ids[chosen] = features[n].id
        describe(model, pair, features[n], work.slots[chosen], chosen)
        if guesses.active[chosen] != 0 and guesses.ids[chosen] == ids[chosen]:
            work.slots[chosen].met = guesses.features[chosen - first].met


@kernel
def describe(model, pair, feature, contact, slot):
    """The contact that a feature is, in a slot."""
    contact.mu, contact.joint, contact.sign, contact.apart = pair.mu, -1, feature.sign, 0
    contact.met, contact.deeper = 0, 0.0
    contact.share = 1.0
    # A plane belongs to the other of the two.
    if feature.flip != 0:
        contact.body, contact.other = pair.body_a, pair.body_b
        contact.body_other, contact.other_body = pair.block_ab, pair.block_ba
        assign(feature.a0, contact.p)
        assign(feature.a1, contact.p_end)
        assign(feature.b0, contact.o)
        assign(feature.b1, contact.o_end)
    else:
        contact.body, contact.other = pair.body_b, pair.body_a
        contact.body_other, contact.other_body = pair.block_ba, pair.block_ab
        assign(feature.b0, contact.p)
        assign(feature.b1, contact.p_end)
        assign(feature.a0, contact.o)
        assign(feature.a1, contact.o_end)
    contact.kind = feature.kind
    contact.rolls = ROLLS
    for shape in (pair.shape_a, pair.shape_b):
        if model.collision.shapes[shape].kind == CYLINDER:
            contact.rolls = GOES_ROUND
    contact.radius, contact.radius_o = 0.0, 0.0
    if feature.kind == PLANE or feature.kind == RIM:
        contact.radius = feature.radius
    elif feature.kind != ROUND and feature.flip != 0:
        contact.radius, contact.radius_o = feature.radius_a, feature.radius - feature.radius_a
    elif feature.kind != EDGE:
        contact.radius, contact.radius_o = feature.radius - feature.radius_a, feature.radius_a
    if feature.kind >= RIM:
        describe_axes(model.collision.shapes, pair, feature, contact)
    mass = 0.0
    for body in (contact.body, contact.other):
        if body < model.bodies.shape[0]:
            mass = max(mass, model.bodies[body].mass)
    contact.mass = mass
    contact.compliant, contact.stiffness = pair.compliant, pair.stiffness
    contact.dissipation, contact.damping, contact.moved = pair.dissipation, 0.0, pair.moved
    contact.spring_begin, contact.spring_end = 0, 0
    if pair.compliant != 0:
        contact.spring_begin, contact.spring_end = pair.slot_begin, pair.slot_end
    contact.resists, contact.drifts, contact.companions = SLIP, pair.drifts, pair.companions
    contact.directed, contact.axes = pair.directed, pair.axes
    contact.along, contact.across = pair.along, pair.across
    assign(pair.direction, contact.direction)
    if pair.drifts != 0:
        flipped = feature.flip != 0
        for i in range(6):
            contact.surface[i] = pair.surface_a[i] if flipped else pair.surface_b[i]
            contact.surface_o[i] = pair.surface_b[i] if flipped else pair.surface_a[i]
    if pair.companions != 0:
        contact.scale, contact.torsion, contact.rolling = pair.scale, pair.torsion, pair.rolling
        contact.companion = pair.companion + (slot - pair.slot_begin) * pair.companions
        contact.first_resists = pair.first_resists


@aside
def describe_axes(shapes, pair, feature, contact):
    """The semi-axes of a contact's rim or ellipsoid, and of what that touches."""
    if feature.kind == RIM:
        put_disc(contact.p_end, contact.radius, contact.semi_axes)
        return
    flipped = feature.flip != 0
    put_axes(shapes[pair.shape_a if flipped else pair.shape_b], contact.semi_axes)
    fill(0.0, contact.semi_axes_o)
    if feature.kind != OVAL_PAIR:
        return
    other = shapes[pair.shape_b if flipped else pair.shape_a]
    if other.kind == ELLIPSOID:
        put_axes(other, contact.semi_axes_o)
    else:
        put_disc(contact.o_end, contact.radius_o, contact.semi_axes_o)
        contact.radius_o = 0.0
        fill(0.0, contact.o_end)


@kernel
def put_axes(shape, out):
    """out (3, 3): the semi-axes of an ellipsoid in axes of its body, as columns."""
    for i in range(3):
        for k in range(3):
            out[i, k] = shape.R[i, k] * shape.upper[k]


@kernel
def put_disc(axis, radius, out):
    """out (3, 3): the semi-axes of a disc around a unit vector, as columns; the third one is 0."""
    k = 0 if abs(axis[0]) < 0.9 else 1
    size = radius / sqrt(1.0 - axis[k] * axis[k])
    for i in range(3):
        out[i, 0], out[i, 2] = -size * axis[k] * axis[i], 0.0
    out[k, 0] += size
    for i in range(3):
        j, m = (i + 1) % 3, (i + 2) % 3
        out[i, 1] = axis[j] * out[m, 0] - axis[m] * out[j, 0]
