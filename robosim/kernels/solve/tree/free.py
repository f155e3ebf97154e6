"""Newton's method for a tree that nothing touches: one sweep up and one down in each iteration.

There are no cones to stay inside of, so nothing has to be tried at several lengths, and what an
iteration does to one body after the other is done in as few passes as the tree allows: from the
leaves to the root the residual of each body, its elimination and what it passes on; from the root
to the leaves the motion that answers, the step and where it leads. Loops add their borders.
"""

from math import inf, isfinite, sqrt

from robosim.compiled.memory import FACTORED, FORESEEN
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import everywhere, over_limbs, somewhere
from robosim.kernels.equations.algebra import assign, clear_rows
from robosim.kernels.equations.drag import subtract_drags
from robosim.kernels.solve.interior_point import OPEN, keeps_closed
from robosim.kernels.solve.tree.eliminate import factor_joint, own_blocks
from robosim.kernels.solve.tree.loops import (
    add_rates,
    answer_loops,
    begin_loops,
    end_loops,
    factor_loops,
    keep_multipliers,
    load_loops,
    pass_joint,
)
from robosim.kernels.solve.tree.residual import (
    coupling_equations,
    find_loop_rows,
    left_momentum,
    loop_equations,
    tree_laws,
    tree_residual,
)
from robosim.kernels.solve.tree.sweep import answer_wrench, pass_motion
from robosim.kernels.solve.tree.unknowns import move_body, move_tree, remember_joint, step_joint
from robosim.kernels.status import CONVERGED, NOT_FINITE, STALLED

MOST = 8  # iterations; what needs more is for the general method
EXACT = 0.1  # part of the tolerance to which a tree without loops is solved
POLISHED = 1e-6  # part of it below which parts of order four are not solved any further
SLOW = 0.1  # part of the residual that an iteration may leave with factors that are not its own


@kernel
def solve_free(model, loops, state, system, loads, work, options, dt, info):
    """Solve the equations of a tree without contacts, from the guess in its unknowns; a status.

    `loops` are the model's, or None where it has none: then nothing of them is compiled, here and
    in the sweeps.

    The factors are those of the guess for as long as each iteration leaves less than a tenth. The
    residual is measured in their metric, as the velocity of the step that is left.
    """
    mass, laws, fresh, before = 0.0, loops is not None, True, inf
    for b in range(model.bodies.shape[0]):
        joint = model.joints[b]
        mass += model.bodies[b].share * model.bodies[b].mass
        system.tree[b].posed = 0
        laws = laws or work.joints[b].rows > joint.n_T + joint.n_R
    mass = over_limbs(mass)
    # A loop makes an iteration cost more, and gains less by one.
    enough = options.tolerance * (EXACT if loops is None else 1.0)
    enough = max(enough, work.scratch[0].rounding)
    # The tolerance would spoil order four: its parts are solved down to what rounding leaves.
    wanted = enough * (POLISHED if info.order == 4 else 1.0)
    system.valid[FACTORED] = 0
    info.worst_body = 0
    clear_rows(work.impulse)
    move_tree(model.joints, work.bodies, system.tree, work.scratch[0], dt)
    if system.valid[FORESEEN] != 0:
        # What falls freely does as it is guessed to, which can be seen without any factors.
        open_by = follow_joints(model, loops, state, system, loads, work, dt) if laws else 0.0
        info.residual = max(tree_residual(model, system, work, dt, info), open_by)
        if everywhere(info.residual < wanted):
            return CONVERGED
        system.valid[FORESEEN] = 0
    for n in range(min(MOST, options.max_iterations)):
        open_by = follow_joints(model, loops, state, system, loads, work, dt) if laws else 0.0
        if fresh:
            own_blocks(model, system, work)
            if loops is not None:
                find_loop_rows(model, work)
        size = sweep_up(
            model.bodies,
            system.inertias,
            model.joints,
            loops,
            system.directions,
            work.joints,
            work.bodies,
            work.known,
            work.impulse,
            work.drags,
            system.tree,
            system.border,
            system.arms,
            work.residual,
            work.scratch[0],
            dt,
            fresh,
        )
        merit = max(sqrt(abs(size) / mass), open_by)
        info.residual = merit
        if not isfinite(merit):
            return NOT_FINITE
        last = n + 1 == min(MOST, options.max_iterations) or somewhere(merit > before)
        if everywhere(merit < (enough if last else wanted)):
            closed = keeps_closed(
                model.bodies.shape[0], model, work, (options.tolerance + OPEN) * options.dt
            )
            system.valid[FORESEEN] = 1 if n == 0 else 0
            return CONVERGED if closed else STALLED
        if somewhere(merit > before):
            return STALLED
        info.iterations += 1
        sweep_down(
            model.joints,
            loops,
            work.bodies,
            work.joints,
            work.couplings,
            system.tree,
            system.border,
            system.arms,
            work.rhs,
            work.scratch[0],
            dt,
        )
        fresh = before < inf and somewhere(merit > SLOW * before)
        fresh = fresh or (wanted < enough and everywhere(merit < enough))
        before = merit
    return STALLED


@kernel
def follow_joints(model, loops, state, system, loads, work, dt):
    """What laws ask of the joints at the unknowns, and what joints of loops do to their bodies.

    Returns what is left of the loops' equations [m/s].
    """
    left = 0.0
    for b in range(model.bodies.shape[0]):
        system.tree[b].posed = 0
    if loops is not None:
        clear_rows(work.impulse)
        left = loop_equations(model, system, work, dt)
    tree_laws(model, state, system, loads, work, dt)
    if loops is not None:
        left = max(left, coupling_equations(model, work, dt))
    return left


@kernel
def sweep_up(
    bodies,
    inertias,
    joints,
    loops,
    directions,
    rows,
    motions,
    known,
    impulses,
    drags,
    tree,
    border,
    arms,
    residual,
    t,
    dt,
    fresh,
):
    """What is left of the equations, passed on to the root; its size, or inf if it is singular.

    That is twice an energy. With `fresh` joints are eliminated on the way, from the blocks tree.D.
    """
    size, nb = 0.0, bodies.shape[0]
    if loops is not None:
        if fresh:
            begin_loops(joints, loops, directions, rows, border, arms, tree, False)
        load_loops(loops, border, residual)
    resists = drags.shape[0] > 0
    if resists:
        for b in range(nb):
            left_momentum(b, bodies, inertias, motions, known, residual, t, dt)
        subtract_drags(drags, motions, dt, residual)
    for b in range(nb - 1, -1, -1):
        if not resists:
            left_momentum(b, bodies, inertias, motions, known, residual, t, dt)
        if loops is not None:
            for k in range(6):
                residual[b].w[k] += impulses[b].w[k]
            if fresh and factor_loops(b, loops, border, tree[b].D) != 0:
                return inf
        if fresh and factor_joint(b, joints, rows, tree, False) != 0:
            return inf
        if loops is not None and fresh:
            pass_joint(b, joints[b], loops, tree[b], arms, border, False)
        along = answer_wrench(b, joints, loops, rows, tree, border, arms, residual, False)
        size += bodies[b].share * along
    if loops is not None:
        if fresh and factor_loops(nb, loops, border, tree[nb].D) != 0:
            return inf
        answer_loops(nb, loops, border, tree[nb].f)
    return over_limbs(size)


@kernel
def sweep_down(joints, loops, motions, rows, couplings, tree, border, arms, x, t, dt):
    """The Newton step, and where it leads.

    One body after the other is done in three stages, so that each finds what it waits for: what the
    joint of one does, the step of the one before it, and where this puts the one before that.
    """
    nb = tree.shape[0] - 1
    if loops is not None:
        end_loops(nb, loops, border, tree[nb].x)
    for n in range(nb + 2):
        if n < nb:
            if loops is not None:
                add_rates(n, joints[n].m_T + joints[n].m_R, loops, arms, border, tree[n].s)
            pass_motion(n, joints, tree, False)
            if loops is not None:
                end_loops(n, loops, border, tree[n].x)
            remember_joint(n, tree)
            assign(motions[n].P, motions[n].P_old)
        if 0 < n <= nb:
            step_joint(n - 1, joints, motions, tree, t, dt, 1.0)
        if n > 1:
            move_body(n - 2, joints, motions, tree, t, dt)
    if loops is not None:
        keep_multipliers(loops, border, x)
        for n in range(loops.ties.shape[0]):
            tie = loops.ties[n]
            for row in range(tie.rows if tie.joint >= 0 else 0):
                rows[tie.joint].impulse[row] += x[tie.node].w[row]
            if tie.coupling >= 0:
                couplings[tie.coupling].impulse += x[tie.node].w[0]
