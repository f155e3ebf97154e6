"""How a step answers to torques, from how it answers to velocities.

Velocities enter a step by the momenta at its first knot alone, and these linearly. A torque enters
there by an impulse along its coordinate, and once more by the same impulse at the second knot,
when all equations have been solved. So with Y the answers to velocities, P the derivatives of the
momenta along the coordinates by velocities, K the matrix of the projection at the second knot, and
S for the coordinates that have a motor,

    B = dt / 2 (Y P^-1 + (0, K^-1)) S.

That holds for trees in undivided steps of order two, whose velocities nothing ties after the
projection (`may_follow` of `robosim.runtime.known`), and torques that do not follow velocities.
"""

from robosim.compiled.kinds import HINGE
from robosim.kernels.compiler.duals import DIRECTIONS, number_of, slope, with_slope
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import (
    assign,
    clear_rows,
    dot,
    fill,
    lu,
    lu_solve_vector,
)
from robosim.kernels.equations.arcs import arc_excess, follow_turns
from robosim.kernels.solve.tree.residual import (
    add_tree_forces,
    along_joint,
    gather_wrench,
    to_reference,
)
from robosim.kernels.solve.tree.sweep import solve_joints


@kernel
def keep_momenta(state, saved):
    """Keep the momenta of bodies and rotors that a step begins with."""
    for i in range(state.bodies.shape[0]):
        assign(state.bodies[i].p, saved.bodies[i].p)
    for j in range(state.joints.shape[0]):
        assign(state.joints[j].rotor, saved.joints[j].rotor)


@kernel
def note_momenta(motors, on, begin, count):
    """Derivatives of the momenta along the coordinates, by the velocities among some directions."""
    if motors.shape[0] > 0:
        model, saved, rhs, pushed = on.model, on.work.saved, on.work.rhs, on.pushed
        for i in range(model.bodies.shape[0]):
            assign(saved.bodies[i].p, rhs[i].w)
        along_coordinates(model.joints, on.memory.system.tree, rhs, pushed)
        for j in range(model.bodies.shape[0]):
            joint = model.joints[j]
            for row in range(joint.m_T + joint.m_R):
                pushed[joint.v_begin + row] += saved.joints[j].rotor[row]
        for k in range(count):
            d = on.order[begin + k] - on.nv
            if 0 <= d < on.nv:
                for i in range(on.nv):
                    on.momenta[i, d] = slope(pushed[i], k)


@kernel
def along_coordinates(joints, tree, wrenches, out):
    """out = what world wrenches about the bodies' centres of mass do along all coordinates."""
    for b in range(tree.shape[0] - 2, -1, -1):
        joint, w = joints[b], tree[b]
        gather_wrench(b, joints, tree, wrenches[b].w, w.rho1)
        if joint.kind == HINGE:
            out[joint.v_begin] = dot(w.a1, w.f[3:])
        else:
            along_joint(joint, w, w.f, w.u)
            for row in range(joint.m_T + joint.m_R):
                out[joint.v_begin + row] = w.u[row]
        to_reference(w.f, w.r1, w.passed)


@kernel
def follow_torques(scheme, motors, on):
    """Leave the answers to torques in on.slopes; False where those to velocities do not tell."""
    if motors.shape[0] == 0:
        return False
    model, state, system, work = on.model, on.state, on.memory.system, on.work
    dt, nq, nv = on.options.dt, on.nq, on.nv
    if lu(on.momenta, nv) != 0:
        return False
    for begin in range(0, motors.shape[0], DIRECTIONS):
        count = min(DIRECTIONS, motors.shape[0] - begin)
        fill(0.0, on.impulse)
        for k in range(count):
            v = motors[begin + k]
            on.impulse[v] = with_slope(on.impulse[v], k, 0.5 * dt)
        # Numbers are zero, so that derivatives of what these are multiplied by do not matter.
        push(model, system.pose1, on.impulse, False, system.tree, work)
        along_coordinates(model.joints, system.tree, work.known, on.pushed)
        for k in range(count):
            row = on.at[2 * nv + begin + k]
            for i in range(nv):
                on.weights[i] = slope(on.pushed[i], k)
            lu_solve_vector(on.momenta, on.weights, nv)
            fill(0.0, on.slopes[row])
            for i in range(nv):
                weight, answer = on.weights[i], on.slopes[on.at[nv + i]]
                for n in range(nq + nv):
                    on.slopes[row, n] += weight * answer[n]
        push(model, work.pose2, on.impulse, True, system.tree, work)
        answer_at_end(scheme, model, state, system, work, dt)
        for k in range(count):
            row = on.at[2 * nv + begin + k]
            for i in range(nv):
                on.slopes[row, nq + i] += slope(state.v[i], k)
    return True


@kernel
def push(model, poses, impulses, second, tree, work):
    """work.known = world wrenches of generalized impulses at either knot."""
    clear_rows(work.known)
    add_tree_forces(model.joints, poses, impulses, 1.0, second, tree, work.scratch[0], work.known)


@kernel
def answer_at_end(scheme, model, state, system, work, dt):
    """state.v = how the velocities at the second knot answer to the wrenches in work.known.

    With the factors that found these velocities.
    """
    nb = model.bodies.shape[0]
    clear_rows(work.rhs)
    for i in range(nb):
        assign(work.known[i].w, work.rhs[i].w)
    solve_joints(model, None, system, work, work.rhs, True, False)
    for i in range(nb):
        assign(work.rhs[i].w, work.twists[i].w)
    if work.scratch[0].arcs != 0:
        find_answers(model, work.pose2, state.bodies, work.twists, dt, work)
        for i in range(nb):
            for k in range(6):
                work.twists[i].w[k] += work.rhs[i].w[k]
    fill(0.0, work.twists[nb].w)
    scheme.read_rates(model, state, system, work)


@kernel
def find_answers(model, poses, bodies, answers, dt, work):
    """work.rhs = derivatives of what leads the twists that were shown from chords to arcs.

    `answers` are those of the twists; their numbers are zero, and so are those of the result.
    """
    turn = work.scratch[0].w
    for b in range(model.bodies.shape[0]):
        change = work.rhs[b].w
        for k in range(3):
            turn[k] = number_of(bodies[b].shown[3 + k]) + answers[b].w[3 + k]
        excess = arc_excess(dt * dt * dot(turn, turn))
        fill(0.0, change)
        for k in range(3):
            arc = excess * turn[k]
            change[3 + k] = arc - number_of(arc)
    follow_turns(model, poses, work)
