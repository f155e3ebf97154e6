"""The scheme that solves the equations of a tree in the motions of its joints.

Loops that share no joints are a border of it. What a scheme has to offer is told in
`robosim.kernels.solve`.
"""

from math import pi

from robosim.compiled.kinds import HINGE
from robosim.compiled.memory import FACTORED, PLACED
from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.charts import tree_charts_of
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.compiler.lanes import everywhere, pick
from robosim.kernels.contact.turning import is_companion
from robosim.kernels.equations.algebra import assign, fill, similarity
from robosim.kernels.equations.constraints import assign_laws, place_directions
from robosim.kernels.equations.joint import (
    is_chart,
    is_driven,
    joint_motion_map,
    joint_residual,
    read_coordinates,
    read_velocities,
)
from robosim.kernels.solve.tree.charts import apart_on_chart
from robosim.kernels.solve.tree.coupled import add_column, factor_coupled
from robosim.kernels.solve.tree.eliminate import (
    condense_at_reference,
    factor_joints,
    own_block,
    own_blocks,
)
from robosim.kernels.solve.tree.free import solve_free
from robosim.kernels.solve.tree.residual import (
    add_loop_momenta,
    add_loops_at_knot,
    add_tree_forces,
    coupling_equations,
    find_loop_rows,
    given_back,
    is_tied,
    leave_residual,
    left_at_knot,
    loop_equations,
    pass_on,
    push_coordinates,
    tree_laws,
    tree_residual,
)
from robosim.kernels.solve.tree.sweep import solve_joints
from robosim.kernels.solve.tree.tied import factor_tied, solve_tied, sweep_tied
from robosim.kernels.solve.tree.unknowns import (
    add_remembered_rates,
    axes_apart,
    drive_joint,
    guess_tree,
    has_directions,
    interval_rates,
    learn_rate,
    meet_velocities,
    move_tree,
    points_apart,
    pose_contacts,
    remember_rates,
    remember_tree,
    start_joint,
    start_tree,
    step_tree,
    tree_rates,
    turned_angle,
)
from robosim.kernels.solve.tree.unknowns import coordinate_rate as coordinate_rate
from robosim.kernels.solve.tree.unknowns import finish_poses as finish_poses
from robosim.kernels.solve.tree.unknowns import look_ahead as look_ahead
from robosim.kernels.solve.trend import choose_trend
from robosim.kernels.status import CONVERGED


@kernel
def first_multiplier(model):
    """The first joint whose multipliers are unknowns: of those that close loops."""
    return model.bodies.shape[0]


@kernel
def start(model, state, system, loads, work, dt):
    """Inertias at the first knot; half of what generalized forces give there, into work.known."""
    # A projection of the velocities at the knot has found its inertias as well.
    if system.valid[PLACED] == 0 or system.valid[FACTORED] == 0:
        for i in range(model.bodies.shape[0]):
            similarity(system.pose1[i].R, model.bodies[i].inertia, system.inertias[i].J)
    add_tree_forces(
        model.joints,
        system.pose1,
        loads.tau,
        0.5 * dt,
        False,
        system.tree,
        work.scratch[0],
        work.known,
    )


@kernel
def place_joints(model, state, system, work):
    """Joints where poses have been loaded anew."""
    start_tree(model.joints, system.pose1, state.q, system.tree, work.scratch[0])


@kernel
def add_directions(model, system, work, j):
    """A tree's joints have their directions, and those that close loops need no more."""


@kernel
def guess(model, state, memory, work, dt, ahead, learns):
    """Unknowns of joints: their rates `ahead` of the knot [s], as they have changed.

    With `learns` guesses before this one tell by how much it would miss. What is driven is known.
    """
    since = 0.5 * state.last_dt[0]
    guess_tree(
        model.joints,
        state.joints,
        memory.guesses.joints,
        memory.guesses.trend,
        memory.system.pose1,
        memory.system.tree,
        work.scratch[0],
        dt,
        since + ahead,
        pick(state.last_dt[0] == dt, 1.0, 0.0) if learns else 0.0,
    )
    for b in range(model.bodies.shape[0]):
        if is_driven(model.joints[b]):
            drive_joint(b, model.joints, state.q, memory.system, work, dt)
    for j in range(model.bodies.shape[0], model.joints.shape[0]):
        assign(state.joints[j].impulse, work.joints[j].impulse)
    for n in range(model.couplings.shape[0]):
        work.couplings[n].impulse = state.couplings[n].impulse


@kernel
def foretells_contacts():
    """Whether contacts are guessed from how they have changed."""
    return True


@kernel
def limits_far(model, system, open_by):
    """Whether no hinge of a tree has turned as far as to the nearest limit that was left out."""
    sine = 0.0
    for b in range(model.bodies.shape[0]):
        if model.joints[b].kind == HINGE:
            sine = max(sine, abs(system.tree[b].Q[1]))
    # An angle whose half has this sine is no larger than pi times that.
    return everywhere(open_by[0] > pi * open_by[1] * sine)


@kernel
def solve_untouched(model, state, memory, loads, work, options, dt, info):
    """The shorter way for a tree that nothing touches; a status. What fails is guessed anew."""
    system = memory.system
    if is_tied(model):
        status = solve_tied(model, state, system, loads, work, options, dt, info)
    else:
        status = solve_free(model, None, state, system, loads, work, options, dt, info)
    if status != CONVERGED:
        guess(model, state, memory, work, dt, 0.5 * dt, False)
    return status


@kernel
def place(model, state, system, loads, work, dt):
    """Bodies from the motions of joints, rows of laws and loops; what is left of loops [m/s]."""
    move_tree(model.joints, work.bodies, system.tree, work.scratch[0], dt)
    pose_contacts(model, system, work, dt)
    worst = loop_equations(model, system, work, dt) if is_tied(model) else 0.0
    tree_laws(model, state, system, loads, work, dt)
    if is_tied(model):
        worst = max(worst, coupling_equations(model, work, dt))
    return worst


@kernel
def residual(model, system, work, dt, info):
    """Rows of all bodies; what is left of laws, which is part of dynamics, and of these [m/s]."""
    return 0.0, tree_residual(model, system, work, dt, info)


@kernel
def open_blocks(model, system, work):
    """Blocks of the bodies at the unknowns, before contacts."""
    system.coupled.number[0] = 0
    own_blocks(model, system, work)


@kernel
def condense(model, contact, w, R, R_o, held, system, work):
    """A contact's answer to motion, -L^T A R, into the blocks of its bodies."""
    nb, t, tree = model.bodies.shape[0], work.scratch[0], system.tree
    equal = held and not is_companion(contact)
    if max(contact.body, contact.other) < nb:
        add_column(contact, w, R, R_o, held, system)
    elif contact.body < nb:
        condense_at_reference(w.L, w.A, R, held, equal, t, tree[contact.body])
    else:
        condense_at_reference(w.L_o, w.A, R_o, held, equal, t, tree[contact.other])


@kernel
def eliminate(model, system, work):
    """Factors, from the blocks of the bodies; 0 if the system is regular."""
    if is_tied(model):
        find_loop_rows(model, work)
    return factors_of(model, system, work, False)


@kernel
def solve(model, system, work, x):
    """x = motions and impulses for the right-hand side x."""
    sweep(model, system, work, x, False, system.valid[FACTORED] != 0)


@kernel
def factors_of(model, system, work, held):
    """`factor_joints`, of loops too if there are any."""
    if is_tied(model):
        return factor_tied(model, system, work, held)
    status = factor_joints(model, None, system, work, held)
    if status == 0 and system.coupled.number[0] > 0:
        status = factor_coupled(model, system, held)
    return status


@kernel
def sweep(model, system, work, x, held, before):
    """`solve_joints`, with loops if there are any."""
    if is_tied(model):
        sweep_tied(model, system, work, x, held, before)
    else:
        solve_joints(model, None, system, work, x, held, before)


@kernel
def joint_rates(model, system, work, j, x, out):
    """Rates (6,) of the coordinates of joint j in the direction that was found last."""
    assign(system.tree[j].d, out)


@kernel
def add_unbalanced(model, system, work, out):
    """out += what the direction's multipliers do to bodies; rows of joints as their laws have it.

    Impulses of constraints do nothing along a joint; its laws give what they were asked to.
    """
    for j in range(model.bodies.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        n, m = joint.n_T + joint.n_R, joint.m_T + joint.m_R
        if w.rows > n and not is_driven(joint):
            for row in range(m):
                answer = work.rhs[joint.node].w[n + row]
                for k in range(m):
                    answer += w.A[row, k] * system.tree[j].d[k]
                out[joint.node].w[n + row] = answer
    if is_tied(model):
        add_loop_momenta(model, system, work, out)


@kernel
def keep_direction(system):
    """Keep the rates of joints in the direction, to which others will be added."""
    remember_rates(system.tree)


@kernel
def add_direction(system):
    """Add the rates that were kept to those that have been found since."""
    add_remembered_rates(system.tree)


@kernel
def remember(model, system, work):
    """Keep the motions, to step from them by different lengths."""
    for i in range(model.bodies.shape[0]):
        assign(work.bodies[i].P, work.bodies[i].P_old)
    remember_tree(system.tree)


@kernel
def step(model, system, work, dt, length):
    """Motions = remembered motions + length * direction."""
    step_tree(model.joints, work.bodies, system.tree, work.scratch[0], dt, length)


@kernel
def end_joints(model, system, work):
    """What joints pass on of the last residual; directions at the second knot that close loops."""
    if is_tied(model):
        find_loop_rows(model, work)
    tree, impulse = system.tree, work.impulse
    leave_residual(model.joints, tree, work.joints, model.couplings, work.couplings, impulse)


@kernel
def reaction(model, system, work, j, out):
    """out (6,) = impulse of a tree's joint on its child at the joint's point; world.

    Of the last residual, without what acts along the coordinates.
    """
    given_back(system.tree[j].passed, system.tree[j].r1, out)


@kernel
def find_carried(model, system, work):
    """What joints do at the second knot, for `carried`: as the last projection has left it."""
    left_at_knot(model, system, work)
    if is_tied(model):
        add_loops_at_knot(model, work)
    pass_on(model.joints, system.tree, work.residual)


@kernel
def carried(model, system, work, j, out):
    """out (6,) = `reaction` that the velocities at the second knot have; world."""
    given_back(system.tree[j].passed, system.tree[j].r2, out)


@kernel
def push_joints(model, system, loads, work, dt):
    """work.known += half of what laws and generalized forces give at the second knot."""
    for j in range(model.bodies.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if w.rows > joint.n_T + joint.n_R and not is_driven(joint):
            pose, t = work.pose2[j], work.scratch[0]
            push_coordinates(joint, pose, w.half, True, system.tree, t, work.known)
    add_tree_forces(
        model.joints,
        work.pose2,
        loads.tau,
        0.5 * dt,
        True,
        system.tree,
        work.scratch[0],
        work.known,
    )


@kernel
def needs_velocities():
    """Whether the next interval cannot do without velocities at the knot."""
    return False


@kernel
def hold_bodies(model, system, work):
    """Blocks of the projection at the second knot before contacts; work.rhs = momenta."""
    system.coupled.number[0] = 0
    for i in range(model.bodies.shape[0]):
        # The next interval finds its inertias here.
        w, J = system.tree[i], system.inertias[i].J
        similarity(work.pose2[i].R, model.bodies[i].inertia, J)
        own_block(model.bodies[i].mass, J, w.rho2, w.rho2, w.D)
        assign(work.known[i].w, work.rhs[i].w)


@kernel
def solve_held(model, system, work):
    """work.rhs = velocities at the second knot; 0 if they are determined."""
    nb = model.bodies.shape[0]
    for j in range(nb):
        joint, w = model.joints[j], work.joints[j]
        if is_driven(joint):
            assign(w.goal_rate, work.rhs[joint.node].w[joint.n_T + joint.n_R :])
        elif w.rows > joint.n_T + joint.n_R:
            assign_laws(joint, w, work.rhs[joint.node].w)
    for j in range(nb, model.joints.shape[0]):
        fill(0.0, work.rhs[model.joints[j].node].w)
    for n in range(model.couplings.shape[0]):
        fill(0.0, work.rhs[model.couplings[n].node].w)
    status = factors_of(model, system, work, True)
    if status == 0:
        sweep(model, system, work, work.rhs, True, False)
    return status


@kernel
def solve_changes(model, system, work):
    """work.rhs = changes of the velocities at the second knot, with the factors of these."""
    remember_rates(system.tree)
    sweep(model, system, work, work.rhs, True, False)
    add_remembered_rates(system.tree)


@kernel
def find_rest(model, state, system, work, dt):
    """The interval of no motion that ends where the state is, after one of length dt."""
    for b in range(model.bodies.shape[0]):
        joint, w, knot = model.joints[b], system.tree[b], state.joints[b]
        fill(0.0, w.Q)
        fill(0.0, w.slide)
        w.Q[0] = 1.0
        assign(knot.rotor, work.joints[b].rotor)
        assign(knot.mid, work.joints[b].rate)
        for k in range(joint.m_T + joint.m_R + (1 if joint.m_R == 3 else 0)):
            work.q2[joint.q_begin + k] = state.q[joint.q_begin + k]
    move_tree(model.joints, work.bodies, system.tree, work.scratch[0], dt)
    for b in range(model.bodies.shape[0]):
        copy_record(system.pose1[b], work.pose2[b])
    if is_tied(model):
        find_loop_rows(model, work)


@kernel
def read_rates(model, state, system, work):
    """Rates of all joints at the second knot."""
    t = work.scratch[0]
    for b in range(model.bodies.shape[0]):
        joint = model.joints[b]
        a, child = work.pose2[joint.parent], work.pose2[b]
        tree_rates(joint, system.tree[b], a, child, work.twists, t, state.v)
    if is_tied(model):
        read_loop_rates(model, state, work)


@aside
def read_loop_rates(model, state, work):
    """Rates at the second knot of the joints that close loops."""
    t = work.scratch[0]
    for n in range(model.loops.joint.shape[0]):
        joint = model.joints[model.loops.joint[n]]
        over, on = work.twists[joint.parent].w, work.twists[joint.child].w
        a, child = work.pose2[joint.parent], work.pose2[joint.child]
        joint_motion_map(joint, a, child, state.q, t, 0, t.S_a, t.S_b)
        read_velocities(t.S_a, t.S_b, over, on, joint, state.v)


@kernel
def read(model, state, system, work, dt):
    """Coordinates of all joints at the second knot, and their rates over the interval."""
    read_tree(model, state, system, work, dt)
    if is_tied(model):
        read_loops(model, state, work, dt)


@kernel
def read_tree(model, state, system, work, dt):
    """Coordinates of a tree's joints at the second knot, and their rates over the interval."""
    t = work.scratch[0]
    for b in range(model.bodies.shape[0]):
        joint, w, knot = model.joints[b], system.tree[b], state.joints[b]
        assign(knot.mid, work.joints[b].before)
        interval_rates(joint, system.pose1[b], w, dt, knot.mid)
        if joint.kind == HINGE:
            state.q[joint.q_begin] += turned_angle(w.Q)
        elif is_chart(joint):
            for row in range(joint.m_T):
                state.q[joint.q_begin + row] += dt * w.slide[row]
        else:
            read_coordinates(joint, work.pose2[joint.parent], work.pose2[b], t, state.q)


@aside
def read_loops(model, state, work, dt):
    """Coordinates at the second knot of the joints that close loops, and their rates before it."""
    t = work.scratch[0]
    for n in range(model.loops.joint.shape[0]):
        j = model.loops.joint[n]
        joint, mid = model.joints[j], state.joints[j].mid
        a, b = work.pose2[joint.parent], work.pose2[joint.child]
        for row in range(joint.m_T + joint.m_R):
            mid[row] = state.q[joint.q_begin + row]
        read_coordinates(joint, a, b, t, state.q)
        for row in range(joint.m_T + joint.m_R):
            mid[row] = (state.q[joint.q_begin + row] - mid[row]) / dt


@kernel
def learn_rates(model, state, guesses, work, dt, last_dt, shows, push, misses):
    """How the rates of a tree's coordinates have changed, and by how much guesses missed them."""
    since, regular = 0.5 * (dt + last_dt), pick(last_dt == dt, 1.0, 0.0)
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
def place_next(model, state, system, work, info):
    """A tree where the next interval begins; notes how far its joints are violated there."""
    t, nb = work.scratch[0], model.bodies.shape[0]
    for b in range(nb):
        joint, w = model.joints[b], system.tree[b]
        a, child = system.pose1[joint.parent], system.pose1[b]
        start_joint(joint, system.pose1, state.q, system.tree[joint.parent].rho1, w, t)
        if is_chart(joint):
            apart = apart_on_chart(tree_charts_of(joint, w), w, child, t)
            info.violation = max(info.violation, apart)
        elif has_directions(joint):
            joint_residual(joint, a, child, state.q, t, w.u)
            for k in range(6):
                info.violation = max(info.violation, abs(w.u[k]))
        else:
            info.violation = max(info.violation, points_apart(w))
        if joint.kind == HINGE:
            info.violation = max(info.violation, axes_apart(joint, a, w))
    for j in range(nb, model.joints.shape[0]):
        place_directions(system.directions[j], work.joints[j])
