"""Solutions of the equations that are no motions: bodies turn too far, or contacts give energy."""

from robosim.compiled.kinds import DRY
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import over_limbs, somewhere
from robosim.kernels.contact.kinematics import RECOVERY_SPEED, on_joint
from robosim.kernels.equations.algebra import dot, fill, rotate
from robosim.kernels.solve.status import CONVERGED, GIVES_ENERGY, TURNS_FAR
from robosim.kernels.step.velocities import add_motion

HALF_RADIAN = 0.8775825618903728  # its cosine
FINE = 8  # parts of a step from which on contacts may do whatever work their equations ask for
CURVED = 0.01  # part of the kinetic energy that contacts may give where surfaces are curved


@kernel
def turns_far(work):
    """Whether a body turns by more than a radian.

    The momentum of a turn grows as its sine: beyond a quarter turn a faster one has less of it,
    and an impact that is solved there gives energy.
    """
    for i in range(work.bodies.shape[0]):
        if somewhere(work.bodies[i].P[0] < HALF_RADIAN):
            return True
    return False


@kernel
def contacts_give(model, state, system, work, options, dt):
    """Whether contacts do more work than recovery, curvature and gravity within a step explain.

    An impulse works along the mean of the motions before and after it. Where bodies turn far within
    the step, an impact has solutions in which that is a lot, and which a shorter step has not.
    Beside limits that are reached it cannot be told: what they take, contacts may seem to give.
    """
    t, nb, work_done = work.scratch[0], model.bodies.shape[0], 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        if on_joint(contact):
            if contact.kind != DRY:
                return False
            continue
        fill(0.0, t.w)
        if contact.body < nb:
            add_motions(w.L, state.bodies[contact.body], work.bodies[contact.body], dt, t.w)
        if contact.other < nb:
            add_motions(w.L_o, state.bodies[contact.other], work.bodies[contact.other], dt, t.w)
        work_done += contact.share * 0.5 * dot(w.f, t.w)
    work_done = over_limbs(work_done)
    if not somewhere(work_done > 0.0):
        return False
    energy, mass = 0.0, 0.0
    for i in range(nb):
        body, motion = model.bodies[i], work.bodies[i]
        for k in range(3):
            t.w[k] = 2.0 / dt * motion.P[1 + k]
        rotate(system.inertias[i].J, t.w, t.y)
        energy += body.share * 0.5 * (body.mass * dot(motion.v, motion.v) + dot(t.w, t.y))
        mass += body.share * body.mass
    fall = RECOVERY_SPEED * RECOVERY_SPEED + dt * dt * dot(options.gravity, options.gravity)
    explained = over_limbs(CURVED * energy + mass * fall)
    return somewhere(work_done > explained)


@kernel
def add_motions(L, before, after, dt, out):
    """out (3,) += L times the sum of a body's velocities before and after a knot."""
    add_motion(L, after, dt, out)
    for i in range(3):
        for k in range(6):
            out[i] += L[i, k] * before.v_mid[k]


@kernel
def check(model, state, system, work, options, dt, info):
    """Whether a solution is a motion; a status. Fine parts of a step may do what they ask for."""
    if turns_far(work):
        return TURNS_FAR
    may_divide = 2 * info.substeps <= min(FINE, options.max_substeps)
    if may_divide and contacts_give(model, state, system, work, options, dt):
        return GIVES_ENERGY
    return CONVERGED
