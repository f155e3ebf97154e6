"""What means over a step are read from: the knot where it began, and the impulses of joints.

That is kept of steps after which a call from Python ends, as nothing else reads it.
"""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, fill
from robosim.kernels.equations.constraints import constraint_wrench
from robosim.kernels.equations.joint import is_driven


@kernel
def begin_means(state):
    """Note the knot at which a step begins, whose impulses are still to come."""
    state.kept[0] = 1.0
    for i in range(state.bodies.shape[0]):
        body = state.bodies[i]
        assign(body.x, body.x_before)
        assign(body.q, body.q_before)
        assign(body.v, body.v_before)
        assign(body.omega, body.omega_before)
        assign(body.p, body.p_before)
        assign(body.shown, body.shown_before)
    for j in range(state.joints.shape[0]):
        knot = state.joints[j]
        fill(0.0, knot.total)
        fill(0.0, knot.drive_total)
        assign(knot.ahead, knot.ahead_before)
        assign(knot.drive_ahead, knot.drive_ahead_before)
    for n in range(state.couplings.shape[0]):
        coupling = state.couplings[n]
        coupling.total, coupling.ahead_before = 0.0, coupling.ahead


@kernel
def add_impulses(scheme, model, state, system, work):
    """Add the impulses of an interval to those of its step."""
    t, first = work.scratch[0], scheme.first_multiplier(model)
    for j in range(model.joints.shape[0]):
        joint, w, knot = model.joints[j], work.joints[j], state.joints[j]
        if j < first:
            assign(w.impulse, t.f)
        else:
            pose, G_b = system.pose1[joint.child], system.directions[j].G_b
            constraint_wrench(joint, G_b, w.impulse, pose, t.arm, t.f)
        for k in range(6):
            knot.total[k] += t.f[k]
        if is_driven(joint):
            for row in range(joint.m_T + joint.m_R):
                knot.drive_total[row] += w.drive[row]
    for n in range(model.couplings.shape[0]):
        state.couplings[n].total += work.couplings[n].impulse


@kernel
def show_ahead(scheme, model, state, work):
    """Impulses that the velocities at the second knot have, and the momenta there have not yet."""
    for n in range(model.couplings.shape[0]):
        state.couplings[n].ahead = work.couplings[n].ahead
    for j in range(scheme.first_multiplier(model), model.joints.shape[0]):
        joint, w, knot = model.joints[j], work.joints[j], state.joints[j]
        pose, arm, n = work.pose2[joint.child], work.scratch[0].arm, joint.n_T + joint.n_R
        constraint_wrench(joint, w.G_b, w.ahead, pose, arm, knot.ahead)
        fill(0.0, knot.drive_ahead)
        for row in range(w.rows - n):
            if w.held[row] != 0:
                knot.drive_ahead[row] = w.ahead[n + row]


@kernel
def forget_ahead(state):
    """No impulses ahead, where the momenta are those of the velocities."""
    for j in range(state.joints.shape[0]):
        fill(0.0, state.joints[j].ahead)
        fill(0.0, state.joints[j].drive_ahead)
    for n in range(state.couplings.shape[0]):
        state.couplings[n].ahead = 0.0
