"""The Newton direction of a tree from its factors: one sweep to the root, one to the leaves."""

from robosim.compiled.kinds import BALL, FREE, HINGE
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.equations.algebra import (
    assign,
    dot,
    fill,
    lu6_solve_vector,
    lu_solve_vector,
)
from robosim.kernels.equations.joint import is_driven
from robosim.kernels.solve.tree.coupled import answer_coupled
from robosim.kernels.solve.tree.loops import (
    add_rates,
    answer_loops,
    end_loops,
    keep_multipliers,
    load_loops,
    take_rates,
)
from robosim.kernels.solve.tree.residual import add_laws, gather_wrench, to_reference


@kernel
def solve_joints(model, loops, system, work, x, held, before):
    """x (nb + nj,) = motions of the bodies for the right-hand sides x; tree.d those of joints.

    The factors are those of both ends at the second knot (`held`), of both at the first (`before`),
    or of an interval.

    Rows of bodies are wrenches about their centres of mass and become (d v, psi); those of joints,
    after the bodies, are what their laws ask for, or the rates of what is driven, and stay as they
    are; those of joints that close loops become their multipliers. `loops` are the model's or None.
    """
    joints, rows, tree = model.joints, work.joints, system.tree
    sweep_to_root(joints, loops, rows, tree, system.border, system.arms, x, held)
    if loops is None and system.coupled.number[0] > 0:
        answer_coupled(model, system)
    sweep_to_leaves(joints, loops, tree, system.border, system.arms, x, before)


@kernel
def sweep_to_root(joints, loops, rows, tree, border, arms, x, held):
    """tree.s of the joints as if their parents stood still, for the right-hand sides x."""
    nb = tree.shape[0] - 1
    if loops is not None:
        load_loops(loops, border, x)
    for b in range(nb - 1, -1, -1):
        answer_wrench(b, joints, loops, rows, tree, border, arms, x, held)
    if loops is not None:
        answer_loops(nb, loops, border, tree[nb].f)


@stage
def answer_wrench(b, joints, loops, rows, tree, border, arms, x, held):
    """The same of one joint; the square of x along it in the metric of the factors."""
    joint, w = joints[b], tree[b]
    f, u, s, size, r = w.f, w.u, w.s, 0.0, w.r2 if held else w.r1
    gather_wrench(b, joints, tree, x[b].w, w.rho2 if held else w.rho1)
    if loops is not None:
        answer_loops(b, loops, border, f)
    law = rows[b].rows > joint.n_T + joint.n_R
    m = joint.m_T + joint.m_R
    if joint.kind == HINGE:
        a = w.a2 if held else w.a1
        u0 = a[0] * f[3] + a[1] * f[4] + a[2] * f[5]
        if law:
            u0 += x[joint.node].w[joint.n_T + joint.n_R]
        s[0] = w.inverse * u0
        size = s[0] * u0
        pass_on_hinge(f, u0, w.U[0], r, w.passed)
    elif joint.kind == BALL:
        for i in range(3):
            s[i] = dot(w.S[i], f[3:])
            size += s[i] * f[3 + i]
        pass_on_ball(f, s, w.D, r, w.passed)
    elif joint.kind == FREE:
        assign(f, w.x)
        lu6_solve_vector(w.D, w.x)
        fill(0.0, w.passed)
        size = dot(f[:3], w.x[:3]) + dot(f[3:], w.x[3:])
        m = 0
    elif is_driven(joint):
        for row in range(m):
            s[row] = x[joint.node].w[joint.n_T + joint.n_R + row]
        pass_on_others(f, s, m, w.U, r, w.passed)
    else:
        fill(0.0, u)
        for row in range(m):
            for k in range(6):
                u[row] += (w.Z2[row, k] if held else w.Z1[row, k]) * f[k]
        if law:
            add_laws(joint, x[joint.node].w, u)
        assign(u, s)
        lu_solve_vector(w.S, s, m)
        for row in range(m):
            size += s[row] * u[row]
        pass_on_others(f, s, m, w.U, r, w.passed)
    if loops is not None and m > 0:
        take_rates(b, m, loops, arms, border, s)
    return size


@kernel
def pass_on_hinge(f, u, U, r, out):
    """out (6,) = X1^T f - U u, for U that is about the parent."""
    f0, f1, f2 = f[0], f[1], f[2]
    f3 = f[3] + r[1] * f2 - r[2] * f1
    f4 = f[4] + r[2] * f0 - r[0] * f2
    f5 = f[5] + r[0] * f1 - r[1] * f0
    out[0], out[1], out[2] = f0 - U[0] * u, f1 - U[1] * u, f2 - U[2] * u
    out[3], out[4], out[5] = f3 - U[3] * u, f4 - U[4] * u, f5 - U[5] * u


@kernel
def pass_on_ball(f, s, D, r, out):
    """out (6,) = X1^T f past a ball joint, at the rates s (3,): it takes all of the moment."""
    f0 = f[0] - D[0, 3] * s[0] - (D[0, 4] * s[1] + D[0, 5] * s[2])
    f1 = f[1] - D[1, 3] * s[0] - (D[1, 4] * s[1] + D[1, 5] * s[2])
    f2 = f[2] - D[2, 3] * s[0] - (D[2, 4] * s[1] + D[2, 5] * s[2])
    out[0], out[1], out[2] = f0, f1, f2
    out[3], out[4], out[5] = r[1] * f2 - r[2] * f1, r[2] * f0 - r[0] * f2, r[0] * f1 - r[1] * f0


@kernel
def pass_on_others(f, s, m, U, r, out):
    """The same past a joint of any m coordinates, at the rates s (m,)."""
    to_reference(f, r, out)
    for row in range(m):
        for i in range(6):
            out[i] -= U[row, i] * s[row]


@kernel
def sweep_to_leaves(joints, loops, tree, border, arms, x, before):
    """x = motions of the bodies (d v, psi), tree.d those of joints.

    Along the arms that the factors are of, whether those are the best or not: a closed contact
    takes what its point moves for an impulse, times 1e9.
    """
    nb = tree.shape[0] - 1
    if loops is not None:
        end_loops(nb, loops, border, tree[nb].x)
    for b in range(nb):
        w = tree[b]
        motion, out, rho = w.x, x[b].w, w.rho1 if before else w.rho2
        if loops is not None:
            add_rates(b, joints[b].m_T + joints[b].m_R, loops, arms, border, w.s)
        pass_motion(b, joints, tree, before)
        if loops is not None:
            end_loops(b, loops, border, motion)
        p, q, t = motion[3], motion[4], motion[5]
        out[0] = motion[0] + q * rho[2] - t * rho[1]
        out[1] = motion[1] + t * rho[0] - p * rho[2]
        out[2] = motion[2] + p * rho[1] - q * rho[0]
        out[3], out[4], out[5] = p, q, t
    if loops is not None:
        keep_multipliers(loops, border, x)


@stage
def pass_motion(b, joints, tree, before):
    """tree.x, the motion of a body's reference, and tree.d from the motion of its parent's.

    Of a ball that is the body's own rate of turn.
    """
    joint, w = joints[b], tree[b]
    motion, s, d = w.x, w.s, w.d
    y, r = tree[joint.parent].x, w.r1 if before else w.r2
    m = joint.m_T + joint.m_R
    if joint.kind == HINGE:
        rate = s[0] - seen(w.W[0], y)
        d[0] = rate
        a = w.a1 if before else w.a2
        carry_motion(y, r, motion)
        for i in range(3):
            motion[3 + i] = y[3 + i] + rate * a[i]
    elif joint.kind == BALL:
        carry_motion(y, r, motion)
        for i in range(3):
            motion[3 + i] = s[i] - seen(w.W[i], y)
            d[i] = motion[3 + i]
    elif joint.kind == FREE:
        Z = w.Z1 if before else w.Z2
        for row in range(m):
            d[row] = dot(Z[row, :3], motion[:3]) + dot(Z[row, 3:], motion[3:])
    else:
        Z = w.Z1 if before else w.Z2
        carry_motion(y, r, motion)
        for i in range(3):
            motion[3 + i] = y[3 + i]
        for row in range(m):
            d[row] = s[row] - seen(w.W[row], y)
        for row in range(m):
            for i in range(6):
                motion[i] += d[row] * Z[row, i]


@kernel
def seen(W, motion):
    """W times the motion (6,) of a parent's reference."""
    along = W[0] * motion[0] + W[1] * motion[1] + W[2] * motion[2]
    return along + (W[3] * motion[3] + W[4] * motion[4] + W[5] * motion[5])


@kernel
def carry_motion(y, r, out):
    """out (3,) = velocity of the child's reference by the motion y (6,) of the parent's."""
    p, q, t = y[3], y[4], y[5]
    out[0] = y[0] + q * r[2] - t * r[1]
    out[1] = y[1] + t * r[0] - p * r[2]
    out[2] = y[2] + p * r[1] - q * r[0]
