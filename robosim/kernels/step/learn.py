"""What a step leaves for the next one: the only writer of Memory when a step has been taken."""

from robosim.compiled.kinds import HINGE
from robosim.compiled.memory import PLACED
from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import least_of_limbs, most_of_limbs, pick
from robosim.kernels.contact.law import contact_keeps
from robosim.kernels.equations.algebra import assign, fill
from robosim.kernels.equations.joint import joint_residual
from robosim.kernels.solve.tree.unknowns import (
    axes_apart,
    choose_trend,
    has_directions,
    learn_rate,
    meet_velocities,
    points_apart,
    start_joint,
)

SLIGHT = 1e-8  # [m/s], changes of contacts that are not worth a guess


@kernel
def learn(model, tree, state, memory, work, dt, last_dt, shows, push, info):
    """What the next interval begins with; on the way, how far a tree's joints are violated.

    The interval before was `last_dt` long. Guesses learn from intervals that are alike.
    """
    regular, misses = pick(last_dt == dt, 1.0, 0.0), work.scratch[0].misses
    learn_contacts(model, tree, memory, work, regular, misses, info)
    if tree is None:
        place_graph(model, memory.system, work)
    else:
        since = 0.5 * (dt + last_dt)
        learn_rates(model, state, memory.guesses, work, dt, since, regular, shows, push, misses)
        place_tree(model, memory.system, work, info)
    memory.system.valid[PLACED] = 1
    info.gap, info.violation = least_of_limbs(info.gap), most_of_limbs(info.violation)


@kernel
def learn_contacts(model, tree, memory, work, regular, misses, info):
    """Keep the contacts of the equations, with their variables and how these have changed."""
    guesses, first = memory.guesses, model.contacts.shape[0]
    assign(work.entered, guesses.active)
    assign(work.ids, guesses.ids)
    fill(0.0, misses)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        if k >= first:
            info.gap = min(info.gap, memory.system.contacts[k].gap)
            copy_record(work.slots[k], guesses.features[k - first])
        if tree is not None and model.facets is None:
            contact_keeps(work.slots[k], work.contacts[k], regular, misses)
        copy_record(work.contacts[k], guesses.contacts[k])
    choose_trend(misses, SLIGHT * SLIGHT, guesses.contact_trend)


@kernel
def learn_rates(model, state, guesses, work, dt, since, regular, shows, push, misses):
    """How the rates of a tree's coordinates have changed, and by how much guesses missed them."""
    fill(0.0, misses)
    for b in range(model.bodies.shape[0]):
        joint, knot, guess = model.joints[b], state.joints[b], guesses.joints[b]
        for row in range(joint.m_T + joint.m_R):
            rate, before = knot.mid[row], work.joints[b].before[row]
            learn_rate(rate, before, row, guess, since, regular, misses)
        if shows:
            meet_velocities(joint, state.v, state.bodies, knot, guess, push > 0.0, dt)
    choose_trend(misses, 0.0, guesses.trend)


@kernel
def place_graph(model, system, work):
    """Poses and directions of joints where the next interval begins."""
    for i in range(model.bodies.shape[0]):
        copy_record(work.pose2[i], system.pose1[i])
    for j in range(model.joints.shape[0]):
        if model.joints[j].node >= 0:
            place_directions(system.directions[j], work.joints[j])


@kernel
def place_directions(way, w):
    """Directions of a joint at the second knot, for the interval that begins there."""
    way.rows = w.rows
    for k in range(6):
        assign(w.G_a[k], way.G_a[k])
        assign(w.G_b[k], way.G_b[k])


@kernel
def place_tree(model, system, work, info):
    """A tree where the next interval begins; notes how far its joints are violated there."""
    t, nb = work.scratch[0], model.bodies.shape[0]
    for b in range(nb):
        copy_record(work.pose2[b], system.pose1[b])
    for b in range(nb):
        joint, w = model.joints[b], system.tree[b]
        a, child = system.pose1[joint.parent], system.pose1[b]
        start_joint(joint, system.pose1, system.tree[joint.parent].rho1, w, t)
        if has_directions(joint):
            joint_residual(joint, a, child, t, w.u)
            for k in range(6):
                info.violation = max(info.violation, abs(w.u[k]))
        else:
            info.violation = max(info.violation, points_apart(w))
        if joint.kind == HINGE:
            info.violation = max(info.violation, axes_apart(joint, a, w))
    for j in range(nb, model.joints.shape[0]):
        place_directions(system.directions[j], work.joints[j])
