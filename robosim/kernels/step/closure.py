"""Bodies put onto their constraints: where they are, and how they move [mass metric]."""

from robosim.compiled.memory import FACTORED
from robosim.compiled.records.joint import COMPLIANCE
from robosim.kernels.compiler.duals import are_duals
from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.compiler.lanes import everywhere
from robosim.kernels.equations.algebra import (
    assign,
    clear_rows,
    dot,
    exponential,
    fill,
    normalize_quaternion,
    rotate,
    rotate_back,
)
from robosim.kernels.equations.arcs import find_changes
from robosim.kernels.equations.body import turn_by
from robosim.kernels.equations.constraints import off_goal, rows_ahead
from robosim.kernels.equations.coordinates import begin_charts, load_poses, read_joints
from robosim.kernels.equations.joint import joint_residual
from robosim.kernels.equations.tendon import is_tendon, place_tendon_blocks
from robosim.kernels.solve.graph import scheme as graph
from robosim.kernels.solve.graph.assemble import (
    place_coupling_blocks,
    place_inertias,
    place_joint_blocks,
)
from robosim.kernels.solve.graph.ldu import ldu_factor, ldu_solve
from robosim.kernels.status import CONVERGED
from robosim.kernels.step.knot import (
    CLOSE,
    MOST_REPETITIONS,
    forget_unless_given,
    start_knot,
)
from robosim.kernels.step.means import begin_means
from robosim.kernels.step.velocities import project, project_changes

OF_DUALS = 3  # iterations by which derivatives of what is closed follow


@kernel
def constraint_residual(model, state, work, held, goal):
    """Rows of all constraints at pose2 into work.residual, negative; the largest of them.

    Coordinates that are held get rows too; the goals of a free rotation are a rotation vector.
    Sets which rows are in use.
    """
    clear_rows(work.residual)
    read_joints(model, state, work, work.pose2, work.twists, 0)
    begin_charts(model.joints, state.q, work.q2)
    worst, t = 0.0, work.scratch[0]
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        n, m = joint.n_T + joint.n_R, joint.m_T + joint.m_R
        w.rows = n
        if joint.node < 0:
            continue
        a, b = work.pose2[joint.parent], work.pose2[joint.child]
        joint_residual(joint, a, b, state.q, t, w.g)
        for row in range(n):
            work.residual[joint.node].w[row] = -w.g[row]
            worst = max(worst, abs(w.g[row]))
        if joint.m_R == 3 and held[joint.v_begin + joint.m_T] != 0:
            at = joint.v_begin + joint.m_T
            exponential(goal[at : at + 3], w.turn)
        for row in range(m):
            w.held[row], w.goal[row] = held[joint.v_begin + row], goal[joint.v_begin + row]
            fill(0.0, w.A[row])
            if joint.law != 0 or w.held[row] != 0:
                w.rows = n + m
            if w.held[row] != 0:
                value = off_goal(joint, w, row, state.q, t)
                work.residual[joint.node].w[n + row] = -value
                worst = max(worst, abs(value))
    for n in range(model.couplings.shape[0]):
        coupling = model.couplings[n]
        value = -coupling.offset
        for i in range(2):
            value += coupling.factor[i] * state.q[model.joints[coupling.joint[i]].q_begin]
        work.couplings[n].g = value
        work.residual[coupling.node].w[0] = -value
        worst = max(worst, abs(value))
    return worst


@kernel
def constraint_matrix(model, system, work, yielding):
    """Blocks of the projection in the mass metric at pose2.

    What redundant constraints yield to is multiplied by `yielding`.
    """
    place_inertias(model, system, work)
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            rows_ahead(model, work, j)
            if is_tendon(joint):
                place_tendon_blocks(model, joint, work.span2, work.span2, w, system.blocks)
            else:
                place_joint_blocks(model.bodies.shape[0], joint, w.G_a, w.G_b, w, system.blocks)
            n = joint.n_T + joint.n_R
            for row in range(w.rows):
                if row < n or w.held[row - n] != 0:
                    system.blocks[joint.node].F[row, row] *= yielding
    for n in range(model.couplings.shape[0]):
        place_coupling_blocks(model, model.couplings[n], work.joints, work.joints, system.blocks)
        system.blocks[model.couplings[n].node].F[0, 0] *= yielding


@entry
def close_loops(model, state, system, work, held, goal, max_iterations):
    """`move_onto_loops`, called from Python."""
    return move_onto_loops(model, state, system, work, held, goal, max_iterations)


@kernel
def move_onto_loops(model, state, system, work, held, goal, max_iterations):
    """Move the bodies onto all constraints, by as little as can be; returns what is left of them.

    Gauss-Newton: every iteration is the smallest motion in the mass metric that satisfies the
    linearized constraints. Those that are redundant contradict each other a little as long as they
    are violated, which would be met by a large motion: so all yield, the less the nearer they are
    to being satisfied. `held` and `goal` (one for each velocity of a joint) fix coordinates.
    The result, in m or sines of half angles or held coordinates, is for the caller to judge.
    """
    load_poses(model, state, work.pose2)
    worst = constraint_residual(model, state, work, held, goal)
    for iteration in range(max_iterations):
        # Derivatives follow by iterations of their own, each to the part that redundant ones yield.
        follow = are_duals(worst) and iteration < OF_DUALS
        if worst < 1e-14 and not follow:
            break
        # From far away that may lead nowhere; then what is large is allowed.
        yields = iteration < max_iterations // 2
        constraint_matrix(model, system, work, 1.0 + worst / COMPLIANCE if yields else 1.0)
        for n in range(work.rhs.shape[0]):
            for k in range(6):
                work.rhs[n].w[k] = work.residual[n].w[k]
        system.valid[FACTORED] = 0
        if ldu_factor(model.graph, system.blocks) != 0:
            break
        ldu_solve(model.graph, system.blocks, work.rhs)
        length, farthest = 1.0, 0.0
        for i in range(model.bodies.shape[0]):
            farthest = max(farthest, dot(work.rhs[i].w[3:], work.rhs[i].w[3:]))
        if farthest > 0.25:
            length = 0.5 / farthest**0.5
        for i in range(model.bodies.shape[0]):
            body, direction = state.bodies[i], work.rhs[i].w
            for k in range(3):
                body.x[k] += length * direction[k]
            for k in range(4):
                work.bodies[i].P_old[k] = body.q[k]
            turn_by(work.bodies[i].P_old, direction[3:], length, body.q)
            normalize_quaternion(body.q)
        load_poses(model, state, work.pose2)
        before = worst
        worst = constraint_residual(model, state, work, held, goal)
        # At rounding it goes no further.
        if worst >= before and worst < 1e-9 and not follow:
            break
    return worst


@entry
def start_projected(model, state, memory, loads, work, held, goal_rate, dt):
    """`start_near`, called from Python."""
    return start_near(model, state, memory, loads, work, held, goal_rate, dt)


@kernel
def start_near(model, state, memory, loads, work, held, goal_rate, dt):
    """Start from the bodies' poses with the velocities nearest to theirs that the joints allow.

    Nearest in the mass metric; returns a status.
    """
    load_poses(model, state, memory.system.pose1)
    load_poses(model, state, work.pose2)
    work.active[0] = 0
    for i in range(model.bodies.shape[0]):
        body, known = state.bodies[i], work.known[i].w
        for k in range(3):
            known[k] = model.bodies[i].mass * body.v[k]
            work.twists[i].w[k] = body.v[k]
        rotate(model.bodies[i].inertia, body.omega, work.scratch[0].w)
        rotate(work.pose2[i].R, work.scratch[0].w, known[3:])
        rotate(work.pose2[i].R, body.omega, work.twists[i].w[3:])
    read_joints(model, state, work, work.pose2, work.twists, 0)
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        n, m = joint.n_T + joint.n_R, joint.m_T + joint.m_R
        w.rows = n
        for row in range(m):
            v = joint.v_begin + row
            w.held[row], w.goal_rate[row] = held[v], goal_rate[v]
            w.rotor[row] = model.coordinates[v].armature * state.v[v]
            if joint.law != 0 or held[v] != 0:
                w.rows = n + m
    graph.end_joints(model, memory.system, work)
    work.scratch[0].drag = 0.0
    status = project(graph, model, memory.system, loads, work, 1.0)
    memory.system.valid[FACTORED] = 0
    if status != CONVERGED:
        return status
    for i in range(model.bodies.shape[0]):
        for k in range(3):
            state.bodies[i].v[k] = work.twists[i].w[k]
        rotate_back(work.pose2[i].R, work.twists[i].w[3:], state.bodies[i].omega)
    read_joints(model, state, work, work.pose2, work.twists, 0)
    find_projected_chords(model, state, memory.system, work, dt)
    start_knot(model, state, memory, work)
    if not are_duals(state.last_dt[0]):
        begin_means(state)
    forget_unless_given(state, memory)
    return CONVERGED


@kernel
def find_projected_chords(model, state, system, work, dt):
    """work.twists = chords of an interval dt from which the bodies' velocities are read.

    As `find_chords`, where what leads to arcs is projected, with the factors that are there.
    """
    given = work.scratch[0].f
    for _ in range(MOST_REPETITIONS):
        if not find_changes(model, work.pose2, work.twists, dt, work):
            break
        project_changes(graph, model, work.pose2, system, work)
        left, largest = 0.0, 0.0
        for i in range(model.bodies.shape[0]):
            body, twist, change = state.bodies[i], work.twists[i].w, work.rhs[i].w
            assign(body.v, given[:3])
            rotate(work.pose2[i].R, body.omega, given[3:])
            for k in range(6):
                chord = given[k] - change[k]
                left, largest = max(left, abs(chord - twist[k])), max(largest, abs(chord))
                twist[k] = chord
        if everywhere(left <= CLOSE * largest):
            break
