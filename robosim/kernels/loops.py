"""Closed loops in the elimination of a tree: a border that is as wide as one loop.

A joint that closes a loop gives its bodies the wrenches B^T mu at the first knot for its
multipliers mu, and asks for C x = r of their motions at the second one. Both are carried along the
tree with what they act on, as loads and motions are. Past a joint, with its S, U, W and s
(`articulated`),

    Y = S^-1 Z1^T B^T,    B^T <- X1^T (B^T - U Y),    E <- E + V Y,
    V = C Z2,             C <- (C - V S^-1 W) X2,     r <- r - V s,

up to the body at which both sides of the loop come together, its top. What is left there,
E mu + C x = r, tells mu, and its answer B^T mu belongs to the top alone: nothing beyond knows of
the loop. So the work is proportional to the lengths of the loops, as long as they share no joints.

E begins with the compliance of the joint, which decides between multipliers that are redundant.
"""

from robosim.kernels.algebra import dot, fill, lu6, lu6_solve_matrix, lu6_solve_vector
from robosim.kernels.jit import kernel
from robosim.kernels.tree import add_at_parent, to_reference
from robosim.model import BALL, HINGE


@kernel
def begin_loops(joints, loops, knots, rows, border, arms, tree, held):
    """Borders of all loops, before any joint is eliminated: at the bodies that they close."""
    nb = loops.over.shape[0]
    for b in range(nb):
        if loops.over[b] >= 0:
            clear_border(arms[b])
    for n in range(loops.joint.shape[0]):
        j, e = loops.joint[n], border[n]
        joint, w, knot = joints[j], rows[j], knots[j]
        clear_border(e)
        e.rows = joint.n_T + joint.n_R
        for i in range(6):
            fill(0.0, e.E[i])
            e.E[i, i] = 1.0
        for i in range(e.rows):
            e.E[i, i] = joint.compliance_T if i < joint.n_T else joint.compliance_R
            for body, first, second in (
                (joint.child, knot.G_b[i], w.G_b[i]),
                (joint.parent, knot.G_a[i], w.G_a[i]),
            ):
                if body == nb:
                    continue
                if body == loops.top[n]:
                    place_end(tree[body], first, second, held, e.B[i], e.C[i])
                else:
                    place_end(tree[body], first, second, held, arms[body].B[i], arms[body].C[i])


@kernel
def clear_border(e):
    for i in range(6):
        fill(0.0, e.B[i])
        fill(0.0, e.C[i])


@kernel
def place_end(w, first, second, held, B, C):
    """A row of the loop's joint about a body's reference, at either knot or both at the second."""
    if held:
        to_reference(second, w.rho2, B)
    else:
        to_reference(first, w.rho1, B)
    to_reference(second, w.rho2, C)


@kernel
def carry_loop(joint, w, arm, Z1, Z2, a1, a2, e):
    """Past a joint that has been eliminated: its part of E, and its arm as the parent has it."""
    m = joint.m_T + joint.m_R
    for i in range(e.rows):
        B, C, y, v = arm.B[i], arm.C[i], e.y, arm.V[i]
        if joint.kind == HINGE:
            y[0] = dot(a1, B[3:])
            v[0] = dot(a2, C[3:])
            for k in range(6):
                B[k] -= w.U[0, k] * y[0]
                C[k] -= w.inverse * v[0] * w.W[0, k]
            y[0] *= w.inverse
            arm.Y[i, 0] = y[0]
        elif joint.kind == BALL:
            for k in range(3):
                y[k] = dot(w.S[k], B[3:])
                v[k] = C[3 + k]
            for k in range(3):
                B[k] -= dot(w.U[k], B[3:])
                C[k] -= v[0] * w.W[0, k] + v[1] * w.W[1, k] + v[2] * w.W[2, k]
                arm.Y[i, k] = y[k]
            fill(0.0, B[3:])
            fill(0.0, C[3:])
        else:
            fill(0.0, y)
            for row in range(m):
                for k in range(6):
                    y[row] += Z1[row, k] * B[k]
            lu6_solve_vector(w.S, y)
            for row in range(m):
                v[row] = dot(Z2[row, :3], C[:3]) + dot(Z2[row, 3:], C[3:])
                arm.Y[i, row] = y[row]
            for row in range(m):
                for k in range(6):
                    B[k] -= w.U[row, k] * y[row]
                    C[k] -= v[row] * w.W[row, k]
    for i in range(e.rows):
        for n in range(e.rows):
            for k in range(m):
                e.E[i, n] += arm.V[i, k] * arm.Y[n, k]


@kernel
def lift_loop(arm, r1, r2, rows, target):
    """What has been carried past a joint, about the reference of the parent."""
    for i in range(rows):
        add_at_parent(arm.B[i], r1, target.B[i])
        add_at_parent(arm.C[i], r2, target.C[i])


@kernel
def pass_joint(b, joint, loops, w, arms, border, held):
    """The border of the loop that joint b is part of, if it is, on to the parent."""
    n = loops.over[b]
    if n < 0:
        return
    e, arm = border[n], arms[b]
    if held:
        carry_loop(joint, w, arm, w.Z2, w.Z2, w.a2, w.a2, e)
    else:
        carry_loop(joint, w, arm, w.Z1, w.Z2, w.a1, w.a2, e)
    if joint.parent < loops.over.shape[0]:
        r1 = w.r2 if held else w.r1
        if joint.parent == loops.top[n]:
            lift_loop(arm, r1, w.r2, e.rows, e)
        else:
            lift_loop(arm, r1, w.r2, e.rows, arms[joint.parent])


@kernel
def factor_loops(b, loops, border, D):
    """Eliminate the loops whose top is body b into its block D; 1 if one is singular."""
    for n in range(loops.first[b], loops.first[b + 1]):
        e = border[n]
        if lu6(e.E) != 0:
            return 1
        lu6_solve_matrix(e.E, e.C)
        for row in range(6):
            for i in range(e.rows):
                factor = e.B[i, row]
                for k in range(6):
                    D[row, k] += factor * e.C[i, k]
    return 0


@kernel
def load_loops(joints, loops, border, x):
    """Right-hand sides of all loops, from the rows x of their joints."""
    for n in range(loops.joint.shape[0]):
        e, joint = border[n], joints[loops.joint[n]]
        fill(0.0, e.mu)
        for i in range(e.rows):
            e.mu[i] = x[joint.node].w[i]


@kernel
def answer_loops(b, loops, border, f):
    """Multipliers of the loops whose top is body b while it stands still; f += what they do."""
    for n in range(loops.first[b], loops.first[b + 1]):
        e = border[n]
        lu6_solve_vector(e.E, e.mu)
        for i in range(e.rows):
            for k in range(6):
                f[k] += e.B[i, k] * e.mu[i]


@kernel
def take_rates(b, m, loops, arms, border, s):
    """What rates s (m,) of joint b, its parent at rest, leave of its loop's right-hand side."""
    n = loops.over[b]
    if n >= 0:
        for i in range(border[n].rows):
            for k in range(m):
                border[n].mu[i] -= arms[b].V[i, k] * s[k]


@kernel
def add_rates(b, m, loops, arms, border, s):
    """s (m,) += rates of joint b that its loop's multipliers give."""
    n = loops.over[b]
    if n >= 0:
        for i in range(border[n].rows):
            for k in range(m):
                s[k] += arms[b].Y[i, k] * border[n].mu[i]


@kernel
def end_loops(b, joints, loops, border, motion, x):
    """Multipliers of the loops whose top is body b, for its motion, into the rows of x."""
    for n in range(loops.first[b], loops.first[b + 1]):
        e, joint = border[n], joints[loops.joint[n]]
        for i in range(e.rows):
            e.mu[i] -= dot(e.C[i], motion) + dot(e.C[i, 3:], motion[3:])
            x[joint.node].w[i] = e.mu[i]
