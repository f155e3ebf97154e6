"""Contacts between bodies of a tree: a change of low rank of its factors.

A contact whose motion is u = R x answers with the impulses A u, which act on both of its bodies. In
the elimination of a tree D x = f, that would fill in between the two. So the contacts stay out of
it, and their motions are unknowns of their own,

    (1 - C D^-1 B) u = C D^-1 f,    x = D^-1 (f + B u),    B = L^T A,  C = R,

three for each contact. Only joints that either body hangs on have to do with them. Past each such
joint, leaves first, B goes on as a wrench does and C as what asks for a motion, as those of loops
do (loops.py), and C D^-1 B is the sum of V Y over these joints. Y is the rate of the joint by the
contact's motion while its parent stands still, V the contact's motion by that rate. So a contact
costs as much as the way from one body to the other and on to the root.
"""

from robosim.compiled.kinds import BALL, COUPLED_FACTORS, COUPLED_RATES, FREE, HINGE
from robosim.kernels.compiler.features import WHOLE, feature
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.compiler.rows import (
    add_scaled,
    linear_part,
    read_row,
    scaled,
    shifted,
    sum_rows,
    write_row,
)
from robosim.kernels.equations.algebra import (
    dot,
    fill,
    lu6_solve_vector,
    lu_pivoted,
    lu_pivoted_solve,
    lu_solve_vector,
)
from robosim.kernels.equations.joint import is_driven
from robosim.kernels.solve.tree.loops import forces_of_turn


@aside
def add_column(contact, w, R, R_o, held, system):
    """Take a contact between two bodies into what is solved for beside the tree."""
    coupled = system.coupled
    column = coupled.columns[coupled.number[0]]
    coupled.number[0] += 1
    column.body, column.other = contact.body, contact.other
    put_side(w.L, w.A, R, system.tree[contact.body], held, column.B, column.C)
    put_side(w.L_o, w.A, R_o, system.tree[contact.other], held, column.B_o, column.C_o)


@kernel
def put_side(L, A, R, w, held, B, C):
    """B and C of a contact for one of its bodies, about the body's reference."""
    r = w.rho2 if held else w.rho1
    x, y, z = (
        shifted(read_row(L[0]), r[0], r[1], r[2]),
        shifted(read_row(L[1]), r[0], r[1], r[2]),
        shifted(read_row(L[2]), r[0], r[1], r[2]),
    )
    r = w.rho2
    for i in range(3):
        row = add_scaled(scaled(A[0, i], x), A[1, i], y)
        write_row(add_scaled(row, A[2, i], z), B[i])
        write_row(shifted(read_row(R[i]), r[0], r[1], r[2]), C[i])


@feature(COUPLED_FACTORS, held=WHOLE)
def factor_coupled(model, system, held):
    """Factors of the contacts' motions, beside those of the tree; not 0 if they are singular."""
    coupled, nb = system.coupled, model.bodies.shape[0]
    size = 3 * coupled.number[0]
    for b in range(nb):
        coupled.last[b] = -1
    for i in range(size):
        for k in range(size):
            coupled.matrix[i, k] = 0.0
        coupled.matrix[i, i] = 1.0
    end = 0
    for n in range(coupled.number[0]):
        column = coupled.columns[n]
        column.begin = end
        b, other = column.body, column.other
        while b < nb or other < nb:
            if b == other:
                for i in range(3):
                    write_row(sum_rows(read_row(column.B[i]), read_row(column.B_o[i])), column.B[i])
                    write_row(sum_rows(read_row(column.C[i]), read_row(column.C_o[i])), column.C[i])
                other = nb
            elif other == nb or (b < nb and b > other):
                b = pass_column(b, n, end, column.B, column.C, model.joints, system, held != 0)
                end += 1
            else:
                B, C = column.B_o, column.C_o
                other = pass_column(other, n, end, B, C, model.joints, system, held != 0)
                end += 1
        column.end = end
    return lu_pivoted(coupled.matrix, coupled.rows, size)


@kernel
def pass_column(b, n, at, B, C, joints, system, held):
    """B and C of contact n past the joint of body b; the body that this hangs on.

    What the joint has to do with them is entry `at`, and is subtracted from the matrix.
    """
    joint, w, coupled = joints[b], system.tree[b], system.coupled
    entry = coupled.entries[at]
    entry.column, entry.body, entry.before = n, b, coupled.last[b]
    coupled.last[b] = at
    for i in range(3):
        fill(0.0, entry.V[i])
        fill(0.0, entry.Y[i])
        see_joint(joint, w, B[i], C[i], entry.V[i], entry.Y[i], held)
        if joint.kind != FREE:
            carry_row(joint, w, B[i], C[i], entry.V[i], entry.Y[i], held)
    m = joint.m_T + joint.m_R
    subtract_product(coupled, n, n, entry, entry, m)
    other = entry.before
    while other >= 0:
        one = coupled.entries[other]
        subtract_product(coupled, n, one.column, entry, one, m)
        subtract_product(coupled, one.column, n, one, entry, m)
        other = one.before
    return joint.parent


@kernel
def subtract_product(coupled, n, k, one, other, m):
    """What contact k does to the motion of contact n by a joint, m coordinates, from the matrix."""
    for i in range(3):
        row, V = coupled.matrix[3 * n + i], one.V[i]
        for j in range(3):
            along = V[0] * other.Y[j, 0]
            for a in range(1, m):
                along += V[a] * other.Y[j, a]
            row[3 * k + j] -= along


@kernel
def see_joint(joint, w, B, C, V, Y, held):
    """V and Y of a joint that has been eliminated, for a row of B and of C."""
    m = joint.m_T + joint.m_R
    if joint.kind == HINGE:
        V[0], Y[0] = dot(w.a2, C[3:]), w.inverse * dot(w.a2 if held else w.a1, B[3:])
    elif joint.kind == BALL:
        for k in range(3):
            V[k], Y[k] = C[3 + k], dot(w.S[k], B[3:])
    elif joint.kind == FREE:
        write_row(read_row(C), V)
        write_row(read_row(B), Y)
        lu6_solve_vector(w.D, Y)
    else:
        Z1, Z2 = w.Z2 if held else w.Z1, w.Z2
        for k in range(m):
            V[k] = dot(Z2[k, :3], C[:3]) + dot(Z2[k, 3:], C[3:])
            if not is_driven(joint):
                Y[k] = dot(Z1[k, :3], B[:3]) + dot(Z1[k, 3:], B[3:])
        if not is_driven(joint):
            lu_solve_vector(w.S, Y, m)


@kernel
def carry_row(joint, w, B, C, V, Y, held):
    """A row of B and of C past a joint: as the parent has them."""
    r1, r2 = w.r2 if held else w.r1, w.r2
    wrench, motion = read_row(B), read_row(C)
    if joint.kind == BALL:
        wrench, motion = linear_part(wrench), linear_part(motion)
        for k in range(3):
            wrench = add_scaled(wrench, -Y[k], forces_of_turn(w.D, k))
    wrench = shifted(wrench, r1[0], r1[1], r1[2])
    motion = shifted(motion, r2[0], r2[1], r2[2])
    if joint.kind == HINGE:
        wrench = add_scaled(wrench, -dot(w.a2 if held else w.a1, B[3:]), read_row(w.U[0]))
    elif joint.kind != BALL:
        for k in range(joint.m_T + joint.m_R):
            wrench = add_scaled(wrench, -Y[k], read_row(w.U[k]))
    for k in range(joint.m_T + joint.m_R):
        motion = add_scaled(motion, -V[k], read_row(w.W[k]))
    write_row(wrench, B)
    write_row(motion, C)


@feature(COUPLED_RATES)
def answer_coupled(model, system):
    """Add to the rates of joints, their parents at rest, what the contacts' motions give; 0."""
    coupled, joints = system.coupled, model.joints
    for n in range(coupled.number[0]):
        column = coupled.columns[n]
        for i in range(3):
            total = 0.0
            for at in range(column.begin, column.end):
                entry = coupled.entries[at]
                b = entry.body
                w = system.tree[b]
                rates = w.x if joints[b].kind == FREE else w.s
                for k in range(joints[b].m_T + joints[b].m_R):
                    total += entry.V[i, k] * rates[k]
            coupled.known[3 * n + i] = total
    size = 3 * coupled.number[0]
    lu_pivoted_solve(coupled.matrix, coupled.rows, coupled.known, coupled.motion, size)
    for n in range(coupled.number[0]):
        column, u = coupled.columns[n], coupled.motion[3 * n : 3 * n + 3]
        for at in range(column.begin, column.end):
            entry = coupled.entries[at]
            b = entry.body
            w = system.tree[b]
            rates = w.x if joints[b].kind == FREE else w.s
            for k in range(joints[b].m_T + joints[b].m_R):
                rates[k] += entry.Y[0, k] * u[0] + entry.Y[1, k] * u[1] + entry.Y[2, k] * u[2]
    return 0
