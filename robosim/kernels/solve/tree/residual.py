"""What is left of the equations of a step, for a tree: wrenches, passed along its joints."""

from math import isfinite, sqrt

from robosim.compiled.kinds import BALL, HINGE
from robosim.kernels.compiler.charts import tree_charts_of
from robosim.kernels.compiler.jit import aside, kernel, stage
from robosim.kernels.compiler.lanes import everywhere, over_limbs, somewhere
from robosim.kernels.contact.answers import add_product, add_transposed
from robosim.kernels.contact.kinematics import on_joint
from robosim.kernels.contact.turning import is_companion
from robosim.kernels.equations.algebra import dot, fill, rotate
from robosim.kernels.equations.body import angular_momentum
from robosim.kernels.equations.constraints import (
    add_joint_impulses,
    add_joint_momenta,
    assign_laws,
    joint_equations,
    rows_ahead,
)
from robosim.kernels.equations.drag import subtract_drags
from robosim.kernels.equations.joint import is_chart, is_driven
from robosim.kernels.equations.joint_forces import joint_law, push_somewhere
from robosim.kernels.solve.tree.charts import push_on_chart, share_on_chart
from robosim.kernels.solve.tree.unknowns import look_ahead, pose_body


@kernel
def tree_laws(model, state, system, loads, work, dt):
    """What springs, dampers, servos and rotors ask of a tree's joints, into their rows."""
    for j in range(model.bodies.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if w.rows > joint.n_T + joint.n_R:
            look_ahead(model, state, system, work, j, dt)
            joint_law(model, state, loads, work, j, dt)
            if not is_driven(joint):
                assign_laws(joint, w, work.residual[joint.node].w)


@kernel
def is_tied(model):
    """Whether a tree has joints that close loops, or couplings."""
    return model.loops.ties.shape[0] > 0


@aside
def loop_equations(model, system, work, dt):
    """Rows of joints that close loops of a tree into work.residual; what is left of them [m/s]."""
    worst, nb = 0.0, model.bodies.shape[0]
    for n in range(model.loops.joint.shape[0]):
        j = model.loops.joint[n]
        joint, way, w = model.joints[j], system.directions[j], work.joints[j]
        pose_body(system, work, joint.child, dt)
        if joint.parent < nb:
            pose_body(system, work, joint.parent, dt)
        residual = work.residual[joint.node].w
        left = joint_equations(joint, w, work.pose2, work.q2, work.scratch[0], dt, residual)
        worst = max(worst, left)
        add_joint_impulses(joint, way, w, work.impulse)
    return worst


@aside
def coupling_equations(model, work, dt):
    """Rows of couplings into work.residual, and what they do along coordinates, after the laws.

    Returns what is left of them [m/s]. A driven joint takes what a coupling does to it.
    """
    worst = 0.0
    for n in range(model.couplings.shape[0]):
        coupling, w = model.couplings[n], work.couplings[n]
        w.g = -coupling.offset
        for i in range(2):
            joint = model.joints[coupling.joint[i]]
            w.g += coupling.factor[i] * work.q2[joint.q_begin]
            if not is_driven(joint):
                row, impulse = coupling.row[i], coupling.factor[i] * w.impulse
                work.residual[joint.node].w[row] += impulse
        value = w.g / dt + coupling.compliance * w.impulse
        work.residual[coupling.node].w[0] = -value
        worst = max(worst, abs(value))
    return worst


@aside
def find_loop_rows(model, work):
    """Directions at the second knot of the joints that close loops of a tree."""
    for n in range(model.loops.joint.shape[0]):
        rows_ahead(model, work, model.loops.joint[n])


@kernel
def find_residual(bodies, inertias, motions, known, impulses, drags, residual, t, dt):
    """residual (nb,) of the bodies' equations (29a), but for what joints do; the total mass."""
    mass = 0.0
    for b in range(bodies.shape[0]):
        left_momentum(b, bodies, inertias, motions, known, residual, t, dt)
        r, impulse = residual[b].w, impulses[b].w
        for k in range(6):
            r[k] += impulse[k]
        mass += bodies[b].share * bodies[b].mass
    if drags.shape[0] > 0:
        subtract_drags(drags, motions, dt, residual)
    return over_limbs(mass)


@stage
def left_momentum(b, bodies, inertias, motions, known, residual, t, dt):
    """residual[b] = the momentum that enters the knot but for what the motion of body b has."""
    body, r, m, enters = motions[b], residual[b].w, bodies[b].mass, known[b].w
    angular_momentum(inertias[b].J, body.P, dt, t.w)
    for k in range(3):
        r[k] = enters[k] - m * body.v[k]
        r[3 + k] = enters[3 + k] - t.w[k]


@kernel
def share_residual(bodies, joints, rows, tree, residual, t, info):
    """Twice a kinetic energy: of what is left of the equations, whatever joints may give.

    Leaves in tree.passed what each joint takes from its body to pass it on to the parent. What it
    cannot take, the residual along its coordinates, stays with the body, and is
    measured in the body's own inertia about the joint, as if the parent stood still.
    """
    nb = bodies.shape[0]
    total, largest = 0.0, -1.0
    for b in range(nb - 1, -1, -1):
        joint, w = joints[b], tree[b]
        law = rows[b].rows > joint.n_T + joint.n_R
        gather_wrench(b, joints, tree, residual[b].w, w.rho1)
        if joint.kind == HINGE:
            u = dot(w.a1, w.f[3:])
            if law:
                u += residual[joint.node].w[joint.n_T + joint.n_R]
            size = u * u * joint.per_inertia
            keep_moment(w.f, u, w.a1, w.r1, w.passed)
        elif is_driven(joint):
            to_reference(w.f, w.r1, w.passed)
            size = 0.0
        else:
            along_joint(joint, w, w.f, w.u)
            if law:
                add_laws(joint, residual[joint.node].w, w.u)
            size = 0.0
            if is_chart(joint):
                size = share_on_chart(tree_charts_of(joint, w), joint, w, t, bodies[b].mass)
            else:
                for row in range(joint.m_T):
                    size += w.u[row] * w.u[row] / bodies[b].mass
                for row in range(joint.m_T, joint.m_T + joint.m_R):
                    size += w.u[row] * w.u[row] * joint.per_inertia
            if joint.kind == BALL:
                fill(0.0, w.f[3:])
            elif not is_chart(joint):
                for row in range(joint.m_T + joint.m_R):
                    for i in range(6):
                        w.f[i] -= w.u[row] * w.Z1[row, i]
            to_reference(w.f, w.r1, w.passed)
        if everywhere(size > largest):
            largest = size
            info.worst_body = b
        total += bodies[b].share * size
    return over_limbs(total)


@kernel
def to_reference(wrench, rho, out):
    """out (6,) = a wrench about the centre of mass, about the reference."""
    f0, f1, f2 = wrench[0], wrench[1], wrench[2]
    out[0], out[1], out[2] = f0, f1, f2
    out[3] = wrench[3] + rho[1] * f2 - rho[2] * f1
    out[4] = wrench[4] + rho[2] * f0 - rho[0] * f2
    out[5] = wrench[5] + rho[0] * f1 - rho[1] * f0


@kernel
def keep_moment(f, u, axis, r, out):
    """out (6,) = X1^T f but for a moment u about the axis of a hinge."""
    f0, f1, f2 = f[0], f[1], f[2]
    out[0], out[1], out[2] = f0, f1, f2
    out[3] = f[3] + r[1] * f2 - r[2] * f1 - u * axis[0]
    out[4] = f[4] + r[2] * f0 - r[0] * f2 - u * axis[1]
    out[5] = f[5] + r[0] * f1 - r[1] * f0 - u * axis[2]


@kernel
def gather_wrench(b, joints, tree, wrench, rho):
    """tree.f of body b = what its children pass on and a wrench about its centre of mass."""
    f0, f1, f2 = wrench[0], wrench[1], wrench[2]
    f3 = wrench[3] + rho[1] * f2 - rho[2] * f1
    f4 = wrench[4] + rho[2] * f0 - rho[0] * f2
    f5 = wrench[5] + rho[0] * f1 - rho[1] * f0
    child = joints[b].first_child
    while child >= 0:
        joint, passed = joints[child], tree[child].passed
        f0 += from_child(joint, passed[0])
        f1 += from_child(joint, passed[1])
        f2 += from_child(joint, passed[2])
        f3 += from_child(joint, passed[3])
        f4 += from_child(joint, passed[4])
        f5 += from_child(joint, passed[5])
        child = joint.next_child
    f = tree[b].f
    f[0], f[1], f[2], f[3], f[4], f[5] = f0, f1, f2, f3, f4, f5


@kernel
def from_child(joint, value):
    """What comes to a body over a joint of its child: if that is a limb, from all of them."""
    return over_limbs(value) if joint.limb != 0 else value


@kernel
def along_joint(joint, w, f, out):
    """out = Z1^T f: what a wrench about the reference does along the coordinates of no hinge."""
    if joint.kind == BALL:
        for i in range(3):
            out[i] = f[3 + i]
    else:
        for row in range(joint.m_T + joint.m_R):
            z = w.Z1[row]
            out[row] = dot(z[:3], f[:3]) + dot(z[3:], f[3:])


@kernel
def add_laws(joint, rows, out):
    """out += the rows of a joint's laws and limits, which follow those of its constraints."""
    n = joint.n_T + joint.n_R
    for row in range(joint.m_T + joint.m_R):
        out[row] += rows[n + row]


@kernel
def leave_residual(joints, tree, rows, couplings, gears, impulses):
    """Add what joints pass on of the last residual to the impulses, and note it in `rows`.

    So momenta do not sum up what is left of the equations. What drives a joint is the rest of its
    body's equation along the coordinates.
    """
    for b in range(tree.shape[0] - 1):
        joint, w = joints[b], tree[b]
        if is_driven(joint):
            along_joint(joint, w, w.f, w.u)
            for row in range(joint.m_T + joint.m_R):
                rows[b].drive[row] = -w.u[row]
        r, x = w.r1, rows[b].impulse
        given_back(w.passed, r, x)
        rho_a, parent = tree[joint.parent].rho1, impulses[joint.parent].w
        push_joint(joint, x, r, w.rho1, rho_a, impulses[b].w, parent)
    for n in range(couplings.shape[0]):
        for i in range(2):
            joint = joints[couplings[n].joint[i]]
            if is_driven(joint):
                row = couplings[n].row[i] - joint.n_T - joint.n_R
                taken = couplings[n].factor[i] * gears[n].impulse
                rows[couplings[n].joint[i]].drive[row] -= taken


@kernel
def given_back(f, r, x):
    """x (6,) = impulse of a joint about the child's reference that balances what it passes on."""
    x[0], x[1], x[2] = -f[0], -f[1], -f[2]
    x[3] = r[1] * f[2] - r[2] * f[1] - f[3]
    x[4] = r[2] * f[0] - r[0] * f[2] - f[4]
    x[5] = r[0] * f[1] - r[1] * f[0] - f[5]


@kernel
def push_joint(joint, f, r, rho, rho_a, child, parent):
    """child (6,) += a wrench given about the child's reference, parent (6,) -= the same."""
    f0, f1, f2 = f[0], f[1], f[2]
    x, y, z = rho[0], rho[1], rho[2]
    child[0] += f0
    child[1] += f1
    child[2] += f2
    child[3] += f[3] - y * f2 + z * f1
    child[4] += f[4] - z * f0 + x * f2
    child[5] += f[5] - x * f1 + y * f0
    x, y, z = r[0] - rho_a[0], r[1] - rho_a[1], r[2] - rho_a[2]
    parent[0] -= from_child(joint, f0)
    parent[1] -= from_child(joint, f1)
    parent[2] -= from_child(joint, f2)
    parent[3] -= from_child(joint, f[3] + y * f2 - z * f1)
    parent[4] -= from_child(joint, f[4] + z * f0 - x * f2)
    parent[5] -= from_child(joint, f[5] + x * f1 - y * f0)


@kernel
def add_tree_forces(joints, poses, forces, scale, second, tree, t, impulses):
    """impulses (nb + 1,) += scale * world wrenches of generalized forces, at either knot."""
    if not push_somewhere(forces):
        return
    for b in range(tree.shape[0] - 1):
        joint = joints[b]
        if joint.kind == HINGE:
            force, w = scale * forces[joint.v_begin], tree[b]
            if somewhere(force != 0.0):
                axis, parent = w.a2 if second else w.a1, impulses[joint.parent].w
                push_axis(joint, force, axis, impulses[b].w, parent)
            continue
        size = 0.0
        for row in range(joint.m_T + joint.m_R):
            size += abs(forces[joint.v_begin + row])
        if somewhere(size != 0.0):
            for row in range(joint.m_T + joint.m_R):
                t.f[row] = scale * forces[joint.v_begin + row]
            push_coordinates(joint, poses[b], t.f, second, tree, t, impulses)


@kernel
def push_axis(joint, moment, axis, child, parent):
    """child (6,) += a moment about the axis of a hinge, parent (6,) -= the same."""
    for i in range(3):
        child[3 + i] += moment * axis[i]
        parent[3 + i] -= from_child(joint, moment * axis[i])


@kernel
def push_coordinates(joint, pose, forces, second, tree, t, impulses):
    """impulses += world wrenches of one joint's generalized impulses (m,), at either knot."""
    w, w_a = tree[joint.child], tree[joint.parent]
    child, parent = impulses[joint.child].w, impulses[joint.parent].w
    if joint.kind == HINGE:
        push_axis(joint, forces[0], w.a2 if second else w.a1, child, parent)
        return
    f = w.x
    fill(0.0, f)
    if is_chart(joint):
        push_on_chart(tree_charts_of(joint, w), joint, forces, w.Z2 if second else w.Z1, t, f)
    elif joint.m_R > 0:
        # The rotations of C, in child axes.
        for i in range(3):
            w.y[i] = 0.0
            for row in range(joint.m_R):
                w.y[i] += joint.C_R[row, i] * forces[joint.m_T + row]
        rotate(pose.R, w.y, f[3:])
    for row in range(0 if is_chart(joint) else joint.m_T):
        for i in range(3):
            f[i] += forces[row] * (w.Z2[row, i] if second else w.Z1[row, i])
    if second:
        push_joint(joint, f, w.r2, w.rho2, w_a.rho2, child, parent)
    else:
        push_joint(joint, f, w.r1, w.rho1, w_a.rho1, child, parent)


@kernel
def left_at_knot(model, system, work):
    """work.residual (nb,) = the momenta at the second knot that its velocities do not show.

    With what contacts give there, which the last projection has held.
    """
    nb, t = model.bodies.shape[0], work.scratch[0]
    for b in range(nb):
        left, twist = work.residual[b].w, work.twists[b].w
        rotate(system.inertias[b].J, twist[3:], t.w)
        for k in range(3):
            left[k] = work.known[b].w[k] - model.bodies[b].mass * twist[k]
            left[3 + k] = work.known[b].w[3 + k] - t.w[k]
    for n in range(1, work.active[0] + 1):
        contact, w = work.slots[work.active[n]], system.contacts[work.active[n]]
        if on_joint(contact):
            continue
        # Of companions L has no normal.
        fill(0.0, t.w)
        if contact.body < nb:
            add_product(w.R if is_companion(contact) else w.L, work.twists[contact.body].w, t.w)
        if contact.other < nb:
            R_o = w.R_o if is_companion(contact) else w.L_o
            add_product(R_o, work.twists[contact.other].w, t.w)
        for i in range(3):
            t.y[i] = w.F[i] + dot(w.A[i], t.w)
        if contact.body < nb:
            add_transposed(w.L, t.y, work.residual[contact.body].w)
        if contact.other < nb:
            add_transposed(w.L_o, t.y, work.residual[contact.other].w)


@aside
def add_loops_at_knot(model, work):
    """work.residual += what joints that close loops give in the velocities at the second knot."""
    nb = model.bodies.shape[0]
    for n in range(model.loops.joint.shape[0]):
        j = model.loops.joint[n]
        joint, w = model.joints[j], work.joints[j]
        for row in range(joint.n_T + joint.n_R):
            for k in range(6):
                work.residual[joint.child].w[k] += w.G_b[row, k] * w.ahead[row]
                if joint.parent < nb:
                    work.residual[joint.parent].w[k] += w.G_a[row, k] * w.ahead[row]


@kernel
def pass_on(joints, tree, wrenches):
    """tree.passed = what joints pass on at the second knot: all that is left, to the world.

    That includes what acts along their coordinates, by which pads are not pressed.
    """
    for b in range(tree.shape[0] - 2, -1, -1):
        w = tree[b]
        gather_wrench(b, joints, tree, wrenches[b].w, w.rho2)
        to_reference(w.f, w.r2, w.passed)


@kernel
def tree_residual(model, system, work, dt, info):
    """work.residual of a tree's bodies; its size as a velocity."""
    mass = find_residual(
        model.bodies,
        system.inertias,
        work.bodies,
        work.known,
        work.impulse,
        work.drags,
        work.residual,
        work.scratch[0],
        dt,
    )
    rows, t = work.joints, work.scratch[0]
    size = share_residual(model.bodies, model.joints, rows, system.tree, work.residual, t, info)
    return sqrt(abs(size) / mass) if isfinite(size) else size


@aside
def add_loop_momenta(model, system, work, out):
    """out += what the direction's multipliers of loops do to bodies, and along coordinates."""
    for n in range(model.loops.joint.shape[0]):
        add_joint_momenta(model, system, work, model.loops.joint[n], out)
    for n in range(model.couplings.shape[0]):
        coupling = model.couplings[n]
        for i in range(2):
            joint = model.joints[coupling.joint[i]]
            if not is_driven(joint):
                impulse = coupling.factor[i] * work.rhs[coupling.node].w[0]
                out[joint.node].w[coupling.row[i]] += impulse
