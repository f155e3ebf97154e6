"""The scheme that solves the equations of any mechanism, with all multipliers, along its graph.

What a scheme has to offer is told in `robosim.kernels.solve`.
"""

from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import pick, somewhere
from robosim.kernels.contact.answers import subtract_answer
from robosim.kernels.equations.algebra import assign, clear_rows, rotate, similarity
from robosim.kernels.equations.body import (
    angular_momentum_tangent,
    end_pose,
    turn_by,
    turn_from_rate,
)
from robosim.kernels.equations.constraints import (
    constraint_wrench,
    place_directions,
    rows_ahead,
)
from robosim.kernels.equations.coordinates import add_joint_forces, measure_ahead, read_joints
from robosim.kernels.equations.drag import add_drag_blocks
from robosim.kernels.equations.joint import joint_motion_map, turned_on
from robosim.kernels.equations.soft import (
    add_element_blocks,
    add_element_impulses,
    push_elements,
    take_element_answers,
)
from robosim.kernels.equations.tendon import (
    add_span_impulses,
    follow_tendon,
    is_tendon,
    place_tendon_blocks,
)
from robosim.kernels.solve.graph.assemble import (
    close_blocks,
    coordinate_rates,
    place_coupling_blocks,
    place_inertias,
    place_joint_blocks,
    place_masses,
)
from robosim.kernels.solve.graph.ldu import ldu_factor, ldu_solve
from robosim.kernels.solve.graph.residual import (
    add_constraint_momenta,
    constraint_equations,
    dynamics_residual,
    law_residual,
)
from robosim.kernels.status import STALLED


@kernel
def first_multiplier(model):
    """The first joint whose multipliers are unknowns: all are."""
    return 0


@kernel
def start(model, state, system, loads, work, dt):
    """Inertias at the first knot; half of what generalized forces give there, into work.known."""
    for i in range(model.bodies.shape[0]):
        similarity(system.pose1[i].R, model.bodies[i].inertia, system.inertias[i].J)
    for j in range(model.bodies.shape[0], model.joints.shape[0]):
        joint = model.joints[j]
        if is_tendon(joint):
            follow_tendon(model, joint, system.pose1, state.q, work.span1, work.scratch[0])
    scale, known = 0.5 * dt, work.known
    add_joint_forces(model, system.pose1, work.span1, loads.tau, scale, work, known)


@kernel
def place_joints(model, state, system, work):
    """Joints where poses have been loaded anew: nothing is kept for them beside directions."""


@kernel
def add_directions(model, system, work, j):
    """Directions of the coordinates of joint j at the first knot, if they are not there yet."""
    joint, way, rows = model.joints[j], system.directions[j], work.joints[j].rows
    if way.rows < rows:
        a, b = system.pose1[joint.parent], system.pose1[joint.child]
        n = joint.n_T + joint.n_R
        joint_motion_map(joint, a, b, work.q2, work.scratch[0], n, way.G_a, way.G_b)
        way.rows = rows


@kernel
def velocity_to_guess(body, v, omega):
    """The velocities of a body that the next interval is guessed from, axes as in its state."""
    assign(body.v, v)
    assign(body.omega, omega)
    if somewhere(body.apart != 0.0):
        for k in range(3):
            v[k] = pick(body.apart != 0.0, body.v_guess[k], v[k])
            omega[k] = pick(body.apart != 0.0, body.omega_guess[k], omega[k])


@kernel
def guess(model, state, memory, work, dt, ahead, learns):
    """Unknowns of bodies and joints: velocities `ahead` of the knot [s], as they have changed."""
    t, since = work.scratch[0], 0.5 * state.last_dt[0]
    # After a start there is no change yet.
    extrapolate = pick(since != 0.0, ahead / since, 0.0)
    for i in range(model.bodies.shape[0]):
        body, w = state.bodies[i], work.bodies[i]
        velocity_to_guess(body, w.v, t.y)
        rotate(memory.system.pose1[i].R, t.y, t.w)
        for k in range(3):
            w.v[k] += extrapolate * (w.v[k] - body.v_mid[k])
            t.w[k] += extrapolate * (t.w[k] - body.v_mid[3 + k])
        turn_from_rate(t.w, dt, w.P)
    for j in range(model.joints.shape[0]):
        assign(state.joints[j].impulse, work.joints[j].impulse)
    for n in range(model.couplings.shape[0]):
        work.couplings[n].impulse = state.couplings[n].impulse


@kernel
def foretells_contacts():
    """Whether contacts are guessed from how they have changed."""
    return False


@kernel
def look_ahead(model, state, system, work, j, dt):
    """Coordinates of joint j at the second knot into work.q2."""
    measure_ahead(model, j, state.q, work)


@kernel
def coordinate_rate(model, state, system, work, j, row, dt):
    """Rate of one joint's slide or single turn over the interval."""
    joint = model.joints[j]
    at, a, b = joint.q_begin + row, work.pose2[joint.parent], work.pose2[joint.child]
    if row < joint.m_T:
        return (work.q2[at] - state.q[at]) / dt
    return turned_on(joint, a, b, state.q[at], work.scratch[0]) / dt


@kernel
def limits_far(model, system, open_by):
    """Whether no joint can have come to a limit that was left out; here that is not known."""
    return False


@kernel
def solve_untouched(model, state, memory, loads, work, options, dt, info):
    """There is no shorter way for what nothing touches."""
    return STALLED


@kernel
def place(model, state, system, loads, work, dt):
    """Bodies at the second knot, and the rows of all joints; what is left of constraints [m/s]."""
    for i in range(model.bodies.shape[0]):
        end_pose(system.pose1[i], work.bodies[i].v, work.bodies[i].P, dt, work.pose2[i])
    impulses, knot = work.impulse, system.pose1
    if model.elements.shape[0] > 0:
        add_element_impulses(model.elements, work.elements, knot, work.pose2, dt, impulses)
    return constraint_equations(model, state, system, loads, work, dt)


@kernel
def residual(model, system, work, dt, info):
    """Rows of all bodies; what is left of laws and of dynamics, as velocities."""
    laws = 0.0
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if w.rows > joint.n_T + joint.n_R:
            laws = max(laws, law_residual(joint, w, work.residual[joint.node].w))
    return laws, dynamics_residual(model, system, work, dt, info)


@kernel
def finish_poses(model, system, work, dt):
    """Poses at the second knot: `place` has found them."""


@kernel
def open_blocks(model, system, work):
    """Blocks of the bodies at the unknowns, before contacts, and no others."""
    place_masses(model, system.blocks)
    for i in range(model.bodies.shape[0]):
        turned, block = work.bodies[i].P, system.blocks[i].F
        angular_momentum_tangent(system.inertias[i].J, turned, block[3:, 3:])
    if model.drags.shape[0] > 0:
        add_drag_blocks(work.drags, work.bodies, work.scratch[0].S_a, system.blocks)
    if model.elements.shape[0] > 0:
        add_element_blocks(model.elements, work.elements, model.bodies.shape[0], system.blocks)


@kernel
def condense(model, contact, w, R, R_o, held, system, work):
    """A contact's answer to motion, -L^T A R, into the blocks of its bodies."""
    nb, blocks = model.bodies.shape[0], system.blocks
    if contact.body < nb:
        subtract_answer(w.L, w.A, R, 1.0, blocks[contact.body].F)
    if contact.other < nb:
        subtract_answer(w.L_o, w.A, R_o, 1.0, blocks[contact.other].F)
        if contact.body < nb:
            subtract_answer(w.L, w.A, R_o, 1.0, blocks[contact.body_other].F)
            subtract_answer(w.L_o, w.A, R, 1.0, blocks[contact.other_body].F)


@kernel
def eliminate(model, system, work):
    """Factors, from the blocks of the bodies; 0 if the system is regular."""
    close_blocks(model, system, work)
    return ldu_factor(model.graph, system.blocks)


@kernel
def solve(model, system, work, x):
    """x = motions and impulses for the right-hand side x."""
    for j in range(model.joints.shape[0]):
        if work.joints[j].rows > model.joints[j].n_T + model.joints[j].n_R:
            assign(x[model.joints[j].node].w, work.joints[j].asked)
    ldu_solve(model.graph, system.blocks, x)


@kernel
def joint_rates(model, system, work, j, x, out):
    """Rates (6,) of the coordinates of joint j in the direction x."""
    coordinate_rates(model, model.joints[j], system, work, j, x, out)


@kernel
def add_unbalanced(model, system, work, out):
    """out += what the direction's multipliers do to bodies."""
    add_constraint_momenta(model, system, work, out)
    nb = model.bodies.shape[0]
    if model.elements.shape[0] > 0:
        take_element_answers(model.elements, work.elements, nb, work.rhs, out)


@kernel
def keep_direction(system):
    """Nothing of a direction lies outside of its vector."""


@kernel
def add_direction(system):
    """Nothing of a direction lies outside of its vector."""


@kernel
def remember(model, system, work):
    """Keep the motions, to step from them by different lengths."""
    for i in range(model.bodies.shape[0]):
        assign(work.bodies[i].v, work.bodies[i].v_old)
        assign(work.bodies[i].P, work.bodies[i].P_old)


@kernel
def step(model, system, work, dt, length):
    """Motions = remembered motions + length * direction."""
    for i in range(model.bodies.shape[0]):
        w, direction = work.bodies[i], work.rhs[i].w
        for k in range(3):
            w.v[k] = w.v_old[k] + length * direction[k]
        turn_by(w.P_old, direction[3:], dt * length, w.P)


@kernel
def end_joints(model, system, work):
    """Directions of all joints at the second knot; what kept coordinates on their motions."""
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            rows_ahead(model, work, j)
            n = joint.n_T + joint.n_R
            for row in range(w.rows - n):
                w.drive[row] = w.impulse[n + row]


@kernel
def reaction(model, system, work, j, out):
    """out (6,) = impulse of a joint's constraints on its child at the joint's point; world."""
    joint, arm = model.joints[j], work.scratch[0].arm
    pose, G_b = system.pose1[joint.child], system.directions[j].G_b
    constraint_wrench(joint, G_b, work.joints[j].impulse, pose, arm, out)


@kernel
def find_carried(model, system, work):
    """What joints do at the second knot is known by their multipliers there."""


@kernel
def carried(model, system, work, j, out):
    """out (6,) = `reaction` that the velocities at the second knot have."""
    joint, w, arm = model.joints[j], work.joints[j], work.scratch[0].arm
    constraint_wrench(joint, w.G_b, w.ahead, work.pose2[joint.child], arm, out)


@kernel
def push_joints(model, system, loads, work, dt):
    """work.known += half of what laws and generalized forces give at the second knot."""
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        n = joint.n_T + joint.n_R
        for row in range(w.rows - n):
            if w.held[row] == 0:
                for k in range(6):
                    work.known[joint.parent].w[k] += w.G_a[n + row, k] * w.half[row]
                    work.known[joint.child].w[k] += w.G_b[n + row, k] * w.half[row]
                add_span_impulses(model, joint, work.span2, w.half[row], work.known)
    if model.elements.shape[0] > 0:
        push_elements(model.elements, work.elements, work.known)
    scale, known = 0.5 * dt, work.known
    add_joint_forces(model, work.pose2, work.span2, loads.tau, scale, work, known)


@kernel
def needs_velocities():
    """Whether the next interval cannot do without velocities at the knot."""
    return True


@kernel
def hold_bodies(model, system, work):
    """Blocks of the projection at the second knot before contacts; work.rhs = momenta."""
    place_inertias(model, system, work)
    clear_rows(work.rhs)
    for i in range(model.bodies.shape[0]):
        assign(work.known[i].w, work.rhs[i].w)


@kernel
def solve_held(model, system, work):
    """work.rhs = velocities at the second knot; 0 if they are determined."""
    nb = model.bodies.shape[0]
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            n = joint.n_T + joint.n_R
            if is_tendon(joint):
                place_tendon_blocks(model, joint, work.span2, work.span2, w, system.blocks)
            else:
                place_joint_blocks(nb, joint, w.G_a, w.G_b, w, system.blocks)
            for row in range(w.rows - n):
                rate = w.goal_rate[row] if w.held[row] != 0 else w.law[row]
                work.rhs[joint.node].w[n + row] = rate
    for n in range(model.couplings.shape[0]):
        place_coupling_blocks(model, model.couplings[n], work.joints, work.joints, system.blocks)
    status = ldu_factor(model.graph, system.blocks)
    if status == 0:
        ldu_solve(model.graph, system.blocks, work.rhs)
    return status


@kernel
def solve_changes(model, system, work):
    """work.rhs = changes of the velocities at the second knot, with the factors of these."""
    ldu_solve(model.graph, system.blocks, work.rhs)


@kernel
def find_rest(model, state, system, work, dt):
    """The interval of no motion that ends where the state is."""
    for i in range(model.bodies.shape[0]):
        copy_record(system.pose1[i], work.pose2[i])
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        assign(state.joints[j].rotor, w.rotor)
        if joint.node >= 0 and w.rows > joint.n_T + joint.n_R:
            measure_ahead(model, j, state.q, work)
    end_joints(model, system, work)


@kernel
def read_rates(model, state, system, work):
    """Rates at the second knot: `read` finds them with the coordinates."""


@kernel
def read(model, state, system, work, dt):
    """Coordinates and velocities of all joints at the second knot."""
    read_joints(model, state, work, work.pose2, work.twists, 0)
    for j in range(model.joints.shape[0]):
        joint = model.joints[j]
        for row in range(joint.m_T + joint.m_R):
            state.joints[j].mid[row] = state.v[joint.v_begin + row]


@kernel
def learn_rates(model, state, guesses, work, dt, last_dt, shows, push, misses):
    """Guesses follow the velocities at the knot, which are part of the state."""


@kernel
def place_next(model, state, system, work, info):
    """Directions of joints where the next interval begins."""
    for j in range(model.joints.shape[0]):
        if model.joints[j].node >= 0:
            place_directions(system.directions[j], work.joints[j])
