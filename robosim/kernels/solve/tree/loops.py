"""Closed loops and couplings in the elimination of a tree: a border as wide as one loop.

A joint that closes a loop gives its bodies the wrenches B^T mu at the first knot for its
multipliers mu, and asks for C x = r of their motions at the second one. Both are carried along the
tree with what they act on, as loads and motions are. Past a joint, with its S, U, W and s
(`articulated`),

    Y = S^-1 Z1^T B^T,    B^T <- X1^T (B^T - U Y),    E <- E + V Y,
    V = C Z2,             C <- (C - V S^-1 W) X2,     r <- r - V s,

up to the body at which both sides of the loop come together, its top. What is left there,
E mu + C x = r, tells mu, and its answer B^T mu belongs to the top alone: nothing beyond knows of
the loop. So the work is proportional to the lengths of the loops. Loops that share joints are one,
with the rows of all of them, which are six at most.

A coupling of two joints' coordinates is such a loop as well, up to the body that both hang on. Its
factors are added where the two joints are: to Z1^T B^T, as its multiplier acts along the
coordinate, and to V. A driven joint has the rates that it is given whatever the multipliers are, so
that there Y is zero.

What `articulated` keeps as the parent has it, X1^T U and W X2, is subtracted after the shift.

E begins with the compliance of the joint, which decides between multipliers that are redundant.
"""

from robosim.compiled.kinds import BALL, HINGE
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.rows import (
    add_scaled,
    linear_part,
    read_row,
    row_of,
    scaled,
    shifted,
    sum_rows,
    write_row,
)
from robosim.kernels.equations.algebra import (
    dot,
    fill,
    lu6,
    lu6_solve_matrix,
    lu6_solve_vector,
    lu_solve_vector,
)
from robosim.kernels.equations.joint import is_driven
from robosim.kernels.solve.tree.residual import to_reference


@kernel
def begin_loops(joints, loops, directions, rows, border, arms, tree, held):
    """Borders of all loops, before any joint is eliminated: at the bodies that they close."""
    nb = loops.over.shape[0]
    for b in range(nb):
        if loops.over[b] >= 0:
            clear_border(arms[b])
    for n in range(loops.top.shape[0]):
        e = border[n]
        clear_border(e)
        e.rows = loops.rows[n]
        for i in range(6):
            fill(0.0, e.E[i])
            e.E[i, i] = 1.0
    for n in range(loops.ties.shape[0]):
        tie = loops.ties[n]
        e = border[tie.loop]
        for i in range(tie.rows):
            e.E[tie.begin + i, tie.begin + i] = tie.compliance[i]
        if tie.joint < 0:
            continue
        joint, w, way = joints[tie.joint], rows[tie.joint], directions[tie.joint]
        for i in range(tie.rows):
            at = tie.begin + i
            for body, first, second in (
                (joint.child, way.G_b[i], w.G_b[i]),
                (joint.parent, way.G_a[i], w.G_a[i]),
            ):
                if body == nb:
                    continue
                if body == loops.top[tie.loop]:
                    place_end(tree[body], first, second, held, e.B[at], e.C[at])
                else:
                    place_end(tree[body], first, second, held, arms[body].B[at], arms[body].C[at])


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
def along_axis(axis, rows):
    """What six rows of moments have along an axis, as a row."""
    return row_of(
        dot(axis, rows[0, 3:]),
        dot(axis, rows[1, 3:]),
        dot(axis, rows[2, 3:]),
        dot(axis, rows[3, 3:]),
        dot(axis, rows[4, 3:]),
        dot(axis, rows[5, 3:]),
    )


@kernel
def see_loop(b, joint, loops, w, arm, Z1, Z2, a1, a2, e):
    """What a joint that has been eliminated and the rows of its loop have to do with each other."""
    m, begin, end = joint.m_T + joint.m_R, loops.coupled_begin[b], loops.coupled_begin[b + 1]
    if joint.kind == HINGE:
        write_row(along_axis(a1, arm.B), arm.u[0])
        write_row(along_axis(a2, arm.C), arm.V[0])
        for n in range(begin, end):
            one = loops.coupled[n]
            arm.u[0, one.at] += one.factor
            arm.V[0, one.at] += one.factor
        write_row(scaled(w.inverse, read_row(arm.u[0])), arm.Y[0])
    else:
        for i in range(e.rows):
            B, C, y = arm.B[i], arm.C[i], arm.y
            fill(0.0, y)
            if joint.kind == BALL:
                for k in range(3):
                    arm.V[k, i], y[k] = C[3 + k], dot(w.S[k], B[3:])
            else:
                for k in range(m):
                    y[k] = dot(Z1[k, :3], B[:3]) + dot(Z1[k, 3:], B[3:])
                    arm.V[k, i] = dot(Z2[k, :3], C[:3]) + dot(Z2[k, 3:], C[3:])
                for n in range(begin, end):
                    one = loops.coupled[n]
                    if one.at == i:
                        y[one.row] += one.factor
                        arm.V[one.row, i] += one.factor
                if is_driven(joint):
                    fill(0.0, y)
                else:
                    lu_solve_vector(w.S, y, m)
            for k in range(m):
                arm.u[k, i], arm.Y[k, i] = y[k], y[k]
    for i in range(e.rows):
        row = read_row(e.E[i])
        for k in range(m):
            row = add_scaled(row, arm.V[k, i], read_row(arm.Y[k]))
        write_row(row, e.E[i])


@kernel
def carry_loop(joint, w, arm, r1, r2, rows, target):
    """Past a joint that has been eliminated: its arm as the parent has it."""
    for i in range(rows):
        B, C = read_row(arm.B[i]), read_row(arm.C[i])
        if joint.kind == BALL:
            B, C = linear_part(B), linear_part(C)
            for k in range(3):
                B = add_scaled(B, -arm.u[k, i], forces_of_turn(w.D, k))
        B, C = shifted(B, r1[0], r1[1], r1[2]), shifted(C, r2[0], r2[1], r2[2])
        for k in range(joint.m_T + joint.m_R):
            if joint.kind != BALL:
                B = add_scaled(B, -arm.u[k, i], read_row(w.U[k]))
            C = add_scaled(C, -arm.V[k, i], read_row(w.W[k]))
        write_row(sum_rows(read_row(target.B[i]), B), target.B[i])
        write_row(sum_rows(read_row(target.C[i]), C), target.C[i])


@kernel
def forces_of_turn(D, k):
    """The row of forces that a rate of turn about axis k takes."""
    return row_of(D[0, 3 + k], D[1, 3 + k], D[2, 3 + k], 0.0, 0.0, 0.0)


@kernel
def pass_joint(b, joint, loops, w, arms, border, held):
    """The border of the loop that joint b is part of, if it is, on to the parent."""
    n = loops.over[b]
    if n < 0:
        return
    e, arm = border[n], arms[b]
    if held:
        see_loop(b, joint, loops, w, arm, w.Z2, w.Z2, w.a2, w.a2, e)
    else:
        see_loop(b, joint, loops, w, arm, w.Z1, w.Z2, w.a1, w.a2, e)
    if joint.parent < loops.over.shape[0]:
        r1 = w.r2 if held else w.r1
        if joint.parent == loops.top[n]:
            carry_loop(joint, w, arm, r1, w.r2, e.rows, e)
        else:
            carry_loop(joint, w, arm, r1, w.r2, e.rows, arms[joint.parent])


@kernel
def factor_loops(b, loops, border, D):
    """Eliminate the loops whose top is body b into its block D; 1 if one is singular."""
    for n in range(loops.first[b], loops.first[b + 1]):
        e = border[n]
        if lu6(e.E) != 0:
            return 1
        lu6_solve_matrix(e.E, e.C)
        for row in range(6):
            sum_row = read_row(D[row])
            for i in range(e.rows):
                sum_row = add_scaled(sum_row, e.B[i, row], read_row(e.C[i]))
            write_row(sum_row, D[row])
    return 0


@kernel
def load_loops(loops, border, x):
    """Right-hand sides of all loops, from the rows x of their ties."""
    for n in range(loops.top.shape[0]):
        fill(0.0, border[n].mu)
    for n in range(loops.ties.shape[0]):
        tie = loops.ties[n]
        for i in range(tie.rows):
            border[tie.loop].mu[tie.begin + i] = x[tie.node].w[i]


@kernel
def answer_loops(b, loops, border, f):
    """Multipliers of the loops whose top is body b while it stands still; f += what they do.

    By the factors of E and not its inverse: redundant rows make its entries so large that their
    rounding would move the joints.
    """
    for n in range(loops.first[b], loops.first[b + 1]):
        e, mu = border[n], border[n].mu
        lu6_solve_vector(e.E, mu)
        for i in range(e.rows):
            for k in range(6):
                f[k] += e.B[i, k] * mu[i]


@kernel
def take_rates(b, m, loops, arms, border, s):
    """What rates s (m,) of joint b, its parent at rest, leave of its loop's right-hand side."""
    n = loops.over[b]
    if n >= 0:
        mu, V = border[n].mu, arms[b].V
        for k in range(m):
            for i in range(6):
                mu[i] -= V[k, i] * s[k]


@kernel
def add_rates(b, m, loops, arms, border, s):
    """s (m,) += rates of joint b that its loop's multipliers give."""
    n = loops.over[b]
    if n >= 0:
        mu, Y = border[n].mu, arms[b].Y
        for k in range(m):
            s[k] += dot(Y[k], mu) + dot(Y[k, 3:], mu[3:])


@kernel
def end_loops(b, loops, border, motion):
    """Multipliers of the loops whose top is body b, for its motion."""
    for n in range(loops.first[b], loops.first[b + 1]):
        e = border[n]
        for i in range(e.rows):
            e.mu[i] -= dot(e.C[i], motion) + dot(e.C[i, 3:], motion[3:])


@kernel
def keep_multipliers(loops, border, x):
    """Multipliers of all ties into their rows of x."""
    for n in range(loops.ties.shape[0]):
        tie = loops.ties[n]
        for i in range(tie.rows):
            x[tie.node].w[i] = border[tie.loop].mu[tie.begin + i]
