"""Solutions of the equations that are no motions.

Bodies turn too far, shapes go through each other, or impacts give energy.
"""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import few, least_of_limbs, over_limbs, pick, somewhere, staying
from robosim.kernels.contact.kinematics import RECOVERY_SPEED, on_joint
from robosim.kernels.contact.slots import goes_through
from robosim.kernels.equations.algebra import dot, rotate
from robosim.kernels.equations.body import angular_momentum
from robosim.kernels.equations.drag import work_of_drags
from robosim.kernels.status import CONVERGED, GIVES_ENERGY, GOES_THROUGH, TURNS_FAR

HALF_RADIAN = 0.8775825618903728  # its cosine
CURVED = 0.01  # part of the kinetic energy that impulses may give where things are curved
GROSS = 0.9  # the same in fine parts, and the speed [m/s] from which on they may not give as much
THROWN = 1.0


@kernel
def turns_far(work, info):
    """Whether a body turns by more than a radian; notes the largest turn.

    The momentum of a turn grows as its sine: beyond a quarter turn a faster one has less of it,
    and an impact that is solved there gives energy.
    """
    least, turner = 1.0, 0.0
    for i in range(work.bodies.shape[0]):
        cosine = work.bodies[i].P[0]
        turner = pick(cosine < least, 1.0 * i, turner)
        least = min(least, cosine)
    info.turn, info.turner = least_of_limbs(least), turner
    return leaves_some(work, least < HALF_RADIAN)


@kernel
def leaves_some(work, condition):
    """Whether a condition holds for a state; in lanes few states leave, for which it does."""
    t = work.scratch[0]
    left = pick(condition, 1.0, t.left)
    if few(left > 0.0):
        t.left = left
        return False
    return somewhere(staying(condition, t.left))


@kernel
def constraints_give(model, state, system, loads, work, options, dt, fine):
    """Whether contacts, limits and joints do more work than recovery and curvature explain.

    An impulse works along the mean of the motions before and after it. Where bodies turn far within
    the step, an impact has solutions in which that is a lot, and which a shorter step has not. What
    joints are driven along works as it likes, and so do surfaces that move by themselves.

    Along the motion before, curvature is that of the last interval, which no division makes less.
    So that counts as if the last interval had been no longer than this one.
    """
    t, work_done, energy, mass = work.scratch[0], 0.0, 0.0, 0.0
    for i in range(model.bodies.shape[0]):
        body, motion, known = model.bodies[i], work.bodies[i], work.known[i].w
        v, before, spin = motion.v, state.bodies[i].v_mid, t.y
        angular_momentum(system.inertias[i].J, motion.P, dt, t.w)
        given, turning = 0.0, 0.0
        for k in range(3):
            spin[k] = 2.0 / dt * motion.P[1 + k]
            given += (body.mass * v[k] - known[k]) * (v[k] + before[k])
            given += (t.w[k] - known[3 + k]) * (spin[k] + before[3 + k])
            turning += t.w[k] * spin[k]
        work_done += body.share * 0.5 * given
        energy += body.share * 0.5 * (body.mass * dot(v, v) + turning)
        mass += body.share * body.mass
    if model.drags.shape[0] > 0:
        work_done -= 0.5 * work_of_drags(work.drags, model.bodies, work.bodies, state.bodies, dt)
    part, fall = CURVED, RECOVERY_SPEED * RECOVERY_SPEED
    fall += dt * dt * dot(options.gravity, options.gravity)
    if fine:
        part, fall = GROSS, 0.5 * THROWN * THROWN
    explained = over_limbs(part * energy + mass * fall)
    if not somewhere(staying(over_limbs(work_done) > explained, t.left)):
        return False
    before, along = motion_before(model, state, system, work, dt)
    explained = max(explained, over_limbs(part * before + mass * fall))
    laws = 0.0
    for j in range(model.joints.shape[0]):
        joint, w, mid = model.joints[j], work.joints[j], state.joints[j].mid
        if w.rows == joint.n_T + joint.n_R:
            continue
        # A tendon may lead from the world to the world by way of bodies.
        child = joint.child
        share = model.bodies[child].share if child < model.bodies.shape[0] else 1.0
        for row in range(joint.m_T + joint.m_R):
            if w.held[row] != 0:
                return False
            single = row < joint.m_T or joint.m_R == 1
            rates = mid[row] + (w.rate[row] if single else mid[row])
            laws += share * 0.5 * w.law[row] * rates
            along -= share * 0.5 * w.law[row] * mid[row]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        if not on_joint(contact):
            laws -= contact.share * (w.f[0] * w.drift[0] + w.f[1] * w.drift[1])
        if contact.compliant != 0:
            laws += contact.share * work_of_spring(model, state, work, contact, w, dt)
    along = over_limbs(along) * (1.0 - dt / max(state.last_dt[0], dt))
    return leaves_some(work, over_limbs(work_done - laws) - max(along, 0.0) > explained)


@kernel
def motion_before(model, state, system, work, dt):
    """Kinetic energy of the motion over the last interval, and what constraints give along it [J].

    With the inertias at its end.
    """
    t, energy, along = work.scratch[0], 0.0, 0.0
    for i in range(model.bodies.shape[0]):
        body, motion, known, momentum = model.bodies[i], work.bodies[i], work.known[i].w, t.w
        v_mid = state.bodies[i].v_mid
        rotate(system.inertias[i].J, v_mid[3:], momentum)
        turning = dot(momentum, v_mid[3:])
        energy += body.share * 0.5 * (body.mass * dot(v_mid[:3], v_mid[:3]) + turning)
        angular_momentum(system.inertias[i].J, motion.P, dt, momentum)
        given = 0.0
        for k in range(3):
            given += (body.mass * motion.v[k] - known[k]) * v_mid[k]
            given += (momentum[k] - known[3 + k]) * v_mid[3 + k]
        along += body.share * 0.5 * given
    return energy, along


@kernel
def work_of_spring(model, state, work, contact, w, dt):
    """Work of a compliant contact's normal impulse along the mean motion at the first knot [J]."""
    along = 0.0
    if on_joint(contact):
        joint, mid = model.joints[contact.joint], state.joints[contact.joint].mid
        single = joint.m_T + (joint.m_R if joint.m_R == 1 else 0)
        for row in range(joint.m_T + joint.m_R):
            after = work.joints[contact.joint].rate[row] if row < single else mid[row]
            along += w.L[2, row] * (mid[row] + after)
        return 0.5 * w.f[2] * along
    if contact.body < model.bodies.shape[0]:
        motion, before = work.bodies[contact.body], state.bodies[contact.body].v_mid
        along += motions_along(w.L[2], motion, before, dt)
    if contact.other < model.bodies.shape[0]:
        motion, before = work.bodies[contact.other], state.bodies[contact.other].v_mid
        along += motions_along(w.L_o[2], motion, before, dt)
    return 0.5 * w.f[2] * along


@kernel
def motions_along(row, motion, before, dt):
    """What a row (6,) has of the motion of a body over the interval and of that before it."""
    along = 0.0
    for i in range(3):
        along += row[i] * (motion.v[i] + before[i])
        along += row[3 + i] * (2.0 / dt * motion.P[1 + i] + before[3 + i])
    return along


@kernel
def passes_through(system, work):
    """Whether round shapes are apart at both knots, but for a way that leads through each other."""
    for n in range(1, work.active[0] + 1):
        contact = work.slots[work.active[n]]
        if goes_through(contact, system.pose1, work.pose2, work.scratch[0]):
            return True
    return False


@kernel
def check(model, state, system, loads, work, options, dt, info):
    """Whether a solution is a motion; a status.

    In the finest parts of a step, impulses may give energy unless that is nearly all there is.
    """
    if turns_far(work, info):
        return TURNS_FAR
    if (info.substeps == 1 or 2 * info.substeps <= options.max_substeps) and passes_through(
        system, work
    ):
        return GOES_THROUGH
    fine = info.substeps > options.max_substeps or options.max_substeps == 1
    touches = work.active[0] > 0
    if touches and constraints_give(model, state, system, loads, work, options, dt, fine):
        return GIVES_ENERGY
    return CONVERGED
