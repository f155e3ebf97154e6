"""Contacts between shapes: features that are found at the first knot and followed to the second.

A pair of shapes has room for its features among the workspace's slots. A feature that was there
at the last step keeps its slot, and with it the impulse that the solver starts from.
"""

from math import sqrt

from robosim.kernels.algebra import assign, dot
from robosim.kernels.jit import kernel
from robosim.kernels.shapes import find_features
from robosim.model import EDGE, PLANE, ROUND


@kernel
def reach_of(model, state, body, reach, dt):
    """How far a shape may come within dt by its body's present motion, twice for safety."""
    if body == model.bodies.shape[0]:
        return 0.0
    motion = state.bodies[body]
    spin = sqrt(dot(motion.omega, motion.omega))
    return 2.0 * abs(dt) * (sqrt(dot(motion.v, motion.v)) + spin * reach)


@kernel
def find_pair(model, state, work, p, dt, fall):
    """Features of pair p that may be reached within dt, into work.collision; their count."""
    pair = model.collision.pairs[p]
    shapes = model.collision.shapes
    a, b = work.pose1[pair.body_a], work.pose1[pair.body_b]
    reach_a = shapes[pair.shape_a].reach
    reach_b = shapes[pair.shape_b].reach
    margin = fall + 1e-6 * min(reach_a, reach_b)
    # A half-space reaches without end, but it does not move.
    if pair.body_a < model.bodies.shape[0]:
        margin += reach_of(model, state, pair.body_a, pair.reach_a, dt)
    if pair.body_b < model.bodies.shape[0]:
        margin += reach_of(model, state, pair.body_b, pair.reach_b, dt)
    distance = 0.0
    for i in range(3):
        distance += (b.x[i] - a.x[i]) ** 2
    if distance > (pair.reach_a + pair.reach_b + margin) ** 2:
        return 0
    work_of = work.collision
    return find_features(
        shapes,
        model.collision.data,
        a,
        b,
        pair.shape_a,
        pair.shape_b,
        margin,
        work_of.scratch,
        work_of.features,
    )


@kernel
def assign_slots(model, work, p, count):
    """Put the features of pair p into its slots: where they were, or else where there is room."""
    pair, ids, features = model.collision.pairs[p], work.collision.ids, work.collision.features
    count = min(count, pair.slot_end - pair.slot_begin)
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
        describe(model, pair, features[n], work.slots[chosen])


@kernel
def describe(model, pair, feature, contact):
    """The contact that a feature is."""
    contact.mu, contact.joint, contact.sign = pair.mu, -1, feature.sign
    # A plane belongs to the other of the two.
    if feature.kind == PLANE and feature.flip != 0:
        contact.body, contact.other = pair.body_a, pair.body_b
        contact.body_other, contact.other_body = pair.block_ab, pair.block_ba
        assign(feature.a0, contact.p)
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
    contact.radius, contact.radius_o = 0.0, 0.0
    if feature.kind == PLANE:
        contact.radius = feature.radius
    elif feature.kind == ROUND:
        contact.radius, contact.radius_o = feature.radius - feature.radius_a, feature.radius_a
    elif feature.kind == EDGE:
        contact.sign = feature.sign
    mass = 0.0
    for body in (contact.body, contact.other):
        if body < model.bodies.shape[0]:
            mass = max(mass, model.bodies[body].mass)
    contact.mass = mass
