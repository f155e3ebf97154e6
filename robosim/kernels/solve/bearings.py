"""Bearings: bounds of their friction by what their joints carry in the same interval.

With bounds given, friction in bearings is dry friction as any other. The reactions of the joints
that come out tell new bounds, and so on until they stand [Sueda, Alg. 8]. Where bounds answer to
themselves, as in what nearly locks itself, each time the change is scaled by how the last one was
answered.

At the end of an interval friction is known by the impulses at its first knot. Some are over, as of
a stop: where the second knot carries less, its friction is that of what is carried there.
"""

from math import inf, sqrt

from robosim.compiled.kinds import FIT_FRICTION, SETTLE_BOUNDS
from robosim.kernels.compiler.features import NUMBER, WHOLE, feature
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import everywhere, pick, somewhere
from robosim.kernels.contact.active_set import rescale_friction
from robosim.kernels.contact.pads import bounds_of
from robosim.kernels.equations.algebra import assign, dot, rotate_back

PASSES = 40
NARROW = 1e-3  # part of a bound between ones too small and too large, so near that they are stale
ENOUGH = 0.1  # part of the bound found; what is less is so weak that it slips within itself
STICKS = 0.999  # part of the bound in the equations below which friction is what it is asked for
SETTLED = 1e-8  # part of the largest bound by which bounds may be off
INNER = 30  # times that what pads press with is found anew for one reaction, at most
STANDING = 1e-11  # part of it by which that may change
SHYEST = 0.1  # times what bounds are off, by which they are changed at least
BOLDEST = 16.0  # and at most, times the factor before if that was more than one
JAMS = 4.0  # the same where they are as much off or more, the more they are changed
OVER = 0.5  # part of the friction at a knot below which what is carried there tells another one
FITS = 8  # times that friction at a knot is found anew at most
FITTED = 0.05  # part of it by which it may be off where an impulse is over


@feature(SETTLE_BOUNDS, least=NUMBER, passed=WHOLE)
def settle_bounds(scheme, model, state, system, work, least, passed, info):
    """1 if bounds of friction in the equations fit what bearings carry; else 0, and they move.

    That is looked at after each pass, of which `passed` were before this one.
    """
    bearings, own = model.bearings, work.bearings
    most = find_bounds(scheme, model, bearings, system, work)
    left = misses(model, bearings, system, work, work.scratch[0].rounding, info)
    if everywhere(left <= SETTLED * most + least):
        return 1
    if passed < PASSES:
        # From the second on, the change before has been answered.
        own.bold[0] = boldness(bearings, work, own.bold[0]) if passed > 0 else 1.0
        move_bounds(bearings, work, own.bold[0], least, passed == 0)
    return 0


@kernel
def find_bounds(scheme, model, bearings, system, work):
    """work.bearings.pressed and .bounds by the joints' reactions; the largest bound."""
    t, most = work.scratch[0], 0.0
    for n in range(bearings.joint.shape[0]):
        j = bearings.joint[n]
        scheme.reaction(model, system, work, j, t.f)
        R = system.pose1[model.joints[j].child].R
        press_by(bearings, n, R, work.bearings.pressed, system, work, t)
    bounds_of(bearings, model.contacts, work.bearings.pressed, work.bearings.bounds)
    for n in range(bearings.friction.shape[0]):
        most = max(most, work.bearings.bounds[bearings.friction[n]])
    return most


@kernel
def press_by(bearings, n, R, pressed, system, work, t):
    """`press` of bearing n until it stays, by the impulse and moment t.f (6,) in world axes.

    R turns the axes of the joint's child to the world's.
    """
    rotate_back(R, t.f[:3], t.y)
    rotate_back(R, t.f[3:], t.z)
    for _ in range(INNER):
        if press(bearings, n, pressed, system, work, t):
            break


@kernel
def press(bearings, n, pressed, system, work, t):
    """What pads of bearing n press with for its joint's wrench in t.y, t.z; whether that stands.

    The reaction of a joint is what its pads press with and their friction, which is known by what
    they were found to press with before.
    """
    force, moment = t.w, t.arm
    assign(t.y, force)
    assign(t.z, moment)
    for i in range(bearings.begin[n], bearings.begin[n + 1]):
        k = bearings.contact[i]
        size, w = abs(pressed[i]) / work.contacts[k].gamma, system.contacts[k]
        for tangent in range(2):
            part, slip = size * w.f[tangent], bearings.slips[i, tangent]
            for axis in range(3):
                force[axis] -= part * slip[axis]
                moment[axis] -= part * slip[3 + axis]
    change, total = 0.0, 0.0
    for i in range(bearings.begin[n], bearings.begin[n + 1]):
        share = bearings.shares[i]
        found = dot(share[:3], force) + dot(share[3:], moment)
        change += abs(found - pressed[i])
        total += abs(found)
        pressed[i] = found
    return everywhere(change <= STANDING * total)


@kernel
def misses(model, bearings, system, work, rounding, info):
    """The most that a bound in the equations is off the one found; notes whose it is.

    No bound is known better than its body's mass times what an accuracy leaves of the equations,
    `rounding` [m/s]. Where a joint sticks within both, its friction is what it has to be, whatever
    they are. There the reactions of several joints may share a load in many ways, and bounds would
    not stand.
    """
    worst, found = -1.0, work.bearings
    for n in range(bearings.friction.shape[0]):
        k = bearings.friction[n]
        f, gamma, bound = system.contacts[k].f, work.contacts[k].gamma, found.bounds[k]
        holds = pick(gamma > ENOUGH * bound, min(STICKS * gamma, (1.0 + SETTLED) * bound), 0.0)
        sticks = sqrt(f[0] * f[0] + f[1] * f[1]) < holds
        missed = pick(sticks, 0.0, bound - gamma)
        found.missed[k, 1], found.missed[k, 0] = found.missed[k, 0], missed
        left = abs(missed) - rounding * model.contacts[k].mass
        if everywhere(left > worst):
            worst = left
            info.worst_body = model.joints[model.contacts[k].joint].child
    return worst


@kernel
def boldness(bearings, work, bold):
    """What the next change of bounds is scaled by, after one that was scaled by `bold`.

    Aitken's method for vectors: exact where all are off in proportion to their change. Bounds that
    run away from those in the equations are followed until the joint sticks, ever faster.
    """
    along, square = 0.0, 0.0
    for n in range(bearings.friction.shape[0]):
        k = bearings.friction[n]
        now, before = work.bearings.missed[k, 0], work.bearings.missed[k, 1]
        along += before * (now - before)
        square += (now - before) * (now - before)
    found, more = pick(square > 0.0, -bold * along / square, -1.0), max(bold, 1.0)
    return pick(found < 0.0, JAMS * more, min(max(found, SHYEST), BOLDEST * more))


@kernel
def move_bounds(bearings, work, bold, least, begins):
    """Bounds in the equations nearer to those found; friction in proportion.

    Each between one that was too small and one that was too large, as if it were the only one.
    """
    for n in range(bearings.friction.shape[0]):
        k = bearings.friction[n]
        c, within, missed = work.contacts[k], work.bearings.within[k], work.bearings.missed[k, 0]
        if begins:
            within[0], within[1] = 0.0, inf
        within[0] = pick(missed > 0.0, c.gamma, within[0])
        within[1] = pick(missed < 0.0, c.gamma, within[1])
        stale = within[1] - within[0] < NARROW * c.gamma
        within[0], within[1] = pick(stale, 0.0, within[0]), pick(stale, inf, within[1])
        bound = c.gamma + bold * missed
        beyond = (bound <= within[0]) & (missed < 0.0) | (bound >= within[1])
        bound = pick(beyond, 0.5 * (within[0] + min(within[1], 2.0 * c.gamma)), bound)
        rescale_friction(c, max(bound, least))


@feature(FIT_FRICTION, passed=WHOLE)
def fit_friction(scheme, model, system, work, passed):
    """1 if friction of bearings at the second knot has been changed to what they carry, else 0.

    Without impulses that are over, it is the part that belongs to the interval of what the first
    knot has had, to second order. So only where it is much less it is found by what is carried.
    """
    bearings, own, t, changed = model.bearings, work.bearings, work.scratch[0], 0
    if passed == 0:
        assign(own.pressed, own.carried)
    scheme.find_carried(model, system, work)
    for n in range(bearings.joint.shape[0]):
        j = bearings.joint[n]
        scheme.carried(model, system, work, j, t.f)
        R = work.pose2[model.joints[j].child].R
        press_by(bearings, n, R, own.carried, system, work, t)
    bounds_of(bearings, model.contacts, own.carried, own.bounds)
    for n in range(bearings.friction.shape[0]):
        k = bearings.friction[n]
        gamma, most = work.contacts[k].gamma, own.fraction[0]
        fitted = min(own.bounds[k] / gamma, most)
        room = pick(own.own[k] < most, FITTED, OVER) * own.own[k]
        off = abs(fitted - own.own[k]) > room
        if somewhere(off):
            own.own[k], changed = pick(off, fitted, own.own[k]), 1
    return changed
