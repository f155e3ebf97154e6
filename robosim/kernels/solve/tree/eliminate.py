"""Newton directions of a tree without saddle points: one pass to the root, one back to the leaves.

A joint holds its body b to the parent a, so that to first order, about the references,

    x_b = X2 x_a + Z2 s,    X2 x_a = (w_a + psi_a x r2, psi_a),

with s the rates of its coordinates, while it passes on all of a wrench but for Z1^T. So with
D x_b = f for everything beyond the joint, its coordinates and the body are eliminated together:

    (S - A) s = Z1^T f + law - W X2 x_a,   S = Z1^T D Z2,  U = D Z2,  W = Z1^T D,
    D_a += X1^T (D - U (S - A)^-1 W) X2,   f_a += X1^T (f - U (S - A)^-1 (Z1^T f + law)).

U and W of a hinge are kept as the parent has them, X1^T U (S - A)^-1 and (S - A)^-1 W X2: all that
a sweep waits for from body to body is one product of each with a wrench or a motion. A ball passes
on no moment and reads U from D; others keep X1^T U, and solve with the factors of S - A. Of a joint
that follows a function of time s is given: W is zero, and U its wrench [Sueda, Alg. 9].

That is the articulated-body algorithm [Featherstone1983], but for its two ends: wrenches act at
the first knot (1), motions are those of the second (2). A is the slope of the joint's laws and of
its limits. The projection of velocities at a knot is the same with both ends there.
"""

from robosim.compiled.kinds import BALL, FREE, HINGE
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.compiler.lanes import are_limbs, over_limbs
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
from robosim.kernels.contact.answers import subtract_rows_answer
from robosim.kernels.equations.algebra import fill, lu, lu6, lu_solve_matrix
from robosim.kernels.equations.body import angular_momentum_tangent
from robosim.kernels.equations.drag import add_drags_at_references
from robosim.kernels.equations.joint import is_driven
from robosim.kernels.solve.tree.loops import begin_loops, factor_loops, pass_joint


@kernel
def own_block(mass, K, rho1, rho2, D):
    """D about the reference of a body with the angular tangent K about its centre of mass."""
    x, y, z = mass * rho1[0], mass * rho1[1], mass * rho1[2]
    a, b, c = rho2[0], rho2[1], rho2[2]
    u, v, w = mass * a, mass * b, mass * c
    # [m I, -m rho2^x; m rho1^x, K - m rho1^x rho2^x]
    write_row(row_of(mass, 0.0, 0.0, 0.0, w, -v), D[0])
    write_row(row_of(0.0, mass, 0.0, -w, 0.0, u), D[1])
    write_row(row_of(0.0, 0.0, mass, v, -u, 0.0), D[2])
    yy, zz = K[1, 1] + c * z + a * x, K[2, 2] + a * x + b * y
    write_row(row_of(0.0, -z, y, K[0, 0] + b * y + c * z, K[0, 1] - a * y, K[0, 2] - a * z), D[3])
    write_row(row_of(z, 0.0, -x, K[1, 0] - b * x, yy, K[1, 2] - b * z), D[4])
    write_row(row_of(-y, x, 0.0, K[2, 0] - c * x, K[2, 1] - c * y, zz), D[5])


@kernel
def shifted_row(row, r):
    """A row of a matrix times X2, the arm r (3,) of its motions."""
    return shifted(row, r[0], r[1], r[2])


@kernel
def add_reduced(D, U, W, r1, r2, out):
    """out (6, 6) += X1^T D X2 - U W, for a column U and a row W that are about the parent."""
    a, b, c = (
        shifted_row(read_row(D[0]), r2),
        shifted_row(read_row(D[1]), r2),
        shifted_row(read_row(D[2]), r2),
    )
    x, y, z = (
        add_scaled(add_scaled(shifted_row(read_row(D[3]), r2), r1[1], c), -r1[2], b),
        add_scaled(add_scaled(shifted_row(read_row(D[4]), r2), r1[2], a), -r1[0], c),
        add_scaled(add_scaled(shifted_row(read_row(D[5]), r2), r1[0], b), -r1[1], a),
    )
    add_row(a, U[0], W, out[0])
    add_row(b, U[1], W, out[1])
    add_row(c, U[2], W, out[2])
    add_row(x, U[3], W, out[3])
    add_row(y, U[4], W, out[4])
    add_row(z, U[5], W, out[5])


@kernel
def add_row(row, factor, W, out):
    """out (6,) += row - factor W."""
    write_row(add_scaled(sum_rows(read_row(out), row), -factor, W), out)


@kernel
def lift_rows(a, b, c, r1, out):
    """Moments in out (6, 6) += those of the rows a, b, c of forces at the arm r1 (3,)."""
    write_row(add_scaled(add_scaled(read_row(out[3]), r1[1], c), -r1[2], b), out[3])
    write_row(add_scaled(add_scaled(read_row(out[4]), r1[2], a), -r1[0], c), out[4])
    write_row(add_scaled(add_scaled(read_row(out[5]), r1[0], b), -r1[1], a), out[5])


@kernel
def combined(x, rows):
    """x (3,) times the rows 3, 4, 5 of a block."""
    out = add_scaled(scaled(x[0], read_row(rows[3])), x[1], read_row(rows[4]))
    return add_scaled(out, x[2], read_row(rows[5]))


@kernel
def eliminate_hinge(w, a1, a2, r1, r2, A, parent):
    """A body on one axis; returns 1 if nothing resists it along that.

    S is the last to be known, so all else is brought to the parent before it is asked for.
    """
    D, U = w.D, w.U[0]
    for i in range(6):
        U[i] = D[i, 3] * a2[0] + D[i, 4] * a2[1] + D[i, 5] * a2[2]
    S = a1[0] * U[3] + a1[1] * U[4] + a1[2] * U[5] - A
    if not abs(S) > 1e-300:
        return 1
    w.inverse = 1.0 / S
    to_parent(U, r1)
    W = shifted_row(combined(a1, D), r2)
    for i in range(6):
        U[i] *= w.inverse
    add_reduced(D, U, W, r1, r2, parent)
    write_row(scaled(w.inverse, W), w.W[0])
    return 0


@kernel
def to_parent(wrench, r1):
    """A wrench (6,) about the reference, about the parent's: X1^T f, in place."""
    x, y, z = wrench[0], wrench[1], wrench[2]
    wrench[3] += r1[1] * z - r1[2] * y
    wrench[4] += r1[2] * x - r1[0] * z
    wrench[5] += r1[0] * y - r1[1] * x


@kernel
def eliminate_ball(w, r1, r2, parent):
    """A body that turns freely about its reference: only its linear block is passed on.

    S is the inverse of the angular block by cofactors, which are made use of before the determinant
    is known.
    """
    D, S, G = w.D, w.S, w.W
    for i in range(3):
        j, k = 3 + (i + 1) % 3, 3 + (i + 2) % 3
        for n in range(3):
            p, q = 3 + (n + 1) % 3, 3 + (n + 2) % 3
            S[n, i] = D[j, p] * D[k, q] - D[j, q] * D[k, p]
    size = D[3, 3] * S[0, 0] + D[3, 4] * S[1, 0] + D[3, 5] * S[2, 0]
    if not abs(size) > 1e-300:
        return 1
    size = 1.0 / size
    x, y, z = combined(S[0], D), combined(S[1], D), combined(S[2], D)
    x, y, z = (
        shifted_row(linear_part(x), r2),
        shifted_row(linear_part(y), r2),
        shifted_row(linear_part(z), r2),
    )
    a, b, c = (
        reduced_ball_row(D[0], x, y, z, size, r2),
        reduced_ball_row(D[1], x, y, z, size, r2),
        reduced_ball_row(D[2], x, y, z, size, r2),
    )
    write_row(sum_rows(read_row(parent[0]), a), parent[0])
    write_row(sum_rows(read_row(parent[1]), b), parent[1])
    write_row(sum_rows(read_row(parent[2]), c), parent[2])
    lift_rows(a, b, c, r1, parent)
    write_row(scaled(size, x), G[0])
    write_row(scaled(size, y), G[1])
    write_row(scaled(size, z), G[2])
    for i in range(3):
        for k in range(3):
            S[i, k] *= size
    return 0


@kernel
def reduced_ball_row(row, x, y, z, inverse, r2):
    """What is left of a row of forces where moments do nothing, times X2; x, y and z are that."""
    taken = add_scaled(add_scaled(scaled(row[3], x), row[4], y), row[5], z)
    kept = shifted_row(linear_part(read_row(row)), r2)
    return add_scaled(kept, -inverse, taken)


@kernel
def eliminate_coordinates(w, m, Z1, Z2, r1, r2, A, parent):
    """A body on a joint of any m coordinates."""
    D, U, W, S = w.D, w.U, w.W, w.S
    for n in range(m):
        for i in range(6):
            U[n, i], W[n, i] = 0.0, 0.0
            for k in range(6):
                U[n, i] += D[i, k] * Z2[n, k]
                W[n, i] += Z1[n, k] * D[k, i]
    for n in range(m):
        for i in range(m):
            S[n, i] = -A[n, i]
            for k in range(6):
                S[n, i] += Z1[n, k] * U[i, k]
    if lu(S, m) != 0:
        return 1
    lu_solve_matrix(S, W, m)
    for n in range(m):
        for i in range(6):
            for k in range(6):
                D[i, k] -= U[n, i] * W[n, k]
        to_parent(U[n], r1)
        write_row(shifted_row(read_row(W[n]), r2), W[n])
    fill(0.0, w.x)
    add_reduced(D, w.x, scaled(0.0, read_row(D[0])), r1, r2, parent)
    return 0


@kernel
def pass_whole(w, m, r1, parent):
    """A body whose joint moves as it is told: rates do not answer, and all is passed on."""
    for n in range(m):
        fill(0.0, w.U[n])
        fill(0.0, w.W[n])
        for k in range(6):
            for i in range(6):
                w.U[n, i] += w.D[i, k] * w.Z2[n, k]
        to_parent(w.U[n], r1)
    fill(0.0, w.x)
    add_reduced(w.D, w.x, scaled(0.0, read_row(w.D[0])), r1, w.r2, parent)


@kernel
def factor_tree(joints, loops, directions, rows, tree, border, arms, held):
    """Eliminate all joints, leaves first, from the blocks D; 1 + body if singular.

    With `held` both ends of the system are at the second knot.
    """
    nb = tree.shape[0] - 1
    if loops is not None:
        begin_loops(joints, loops, directions, rows, border, arms, tree, held)
    for b in range(nb - 1, -1, -1):
        joint, w = joints[b], tree[b]
        if loops is not None and factor_loops(b, loops, border, w.D) != 0:
            return 1 + b
        if factor_joint(b, joints, rows, tree, held) != 0:
            return 1 + b
        if loops is not None:
            pass_joint(b, joint, loops, w, arms, border, held)
    if loops is not None and factor_loops(nb, loops, border, tree[nb].D) != 0:
        return 1 + nb
    return 0


@stage
def factor_joint(b, joints, rows, tree, held):
    """Eliminate one joint; not 0 if it is singular."""
    joint, w = joints[b], tree[b]
    parent, A = tree[joint.parent].D, rows[b].A
    r1 = w.r2 if held else w.r1
    status, of_limbs = 0, are_limbs(w.inverse) and joint.limb != 0
    if of_limbs:
        # The world's block is of no other use: each lane's own share is found there.
        parent = tree[tree.shape[0] - 1].D
        for row in range(6):
            fill(0.0, parent[row])
    if joint.kind == HINGE:
        slope = A[0, 0] if rows[b].rows > joint.n_T + joint.n_R else 0.0
        status = eliminate_hinge(w, w.a2 if held else w.a1, w.a2, r1, w.r2, slope, parent)
    elif joint.kind == BALL:
        status = eliminate_ball(w, r1, w.r2, parent)
    elif joint.kind == FREE:
        status = lu6(w.D)
    elif is_driven(joint):
        pass_whole(w, joint.m_T + joint.m_R, r1, parent)
    else:
        if rows[b].rows == joint.n_T + joint.n_R:
            for row in range(6):
                fill(0.0, A[row])
        m = joint.m_T + joint.m_R
        status = eliminate_coordinates(w, m, w.Z2 if held else w.Z1, w.Z2, r1, w.r2, A, parent)
    if of_limbs:
        add_over_limbs(tree[tree.shape[0] - 1].D, tree[joint.parent].D)
    return status


@kernel
def add_over_limbs(block, out):
    """out (6, 6) += the blocks of all limbs."""
    for i in range(6):
        for k in range(6):
            out[i, k] += over_limbs(block[i, k])


@kernel
def own_blocks(model, system, work):
    """Blocks of a tree's bodies at the unknowns, in tree.D."""
    for i in range(model.bodies.shape[0]):
        w, K = system.tree[i], work.scratch[0].R_J
        angular_momentum_tangent(system.inertias[i].J, work.bodies[i].P, K)
        own_block(model.bodies[i].mass, K, w.rho1, w.rho2, w.D)
    if model.drags.shape[0] > 0:
        add_drags_at_references(work.drags, work.bodies, work.scratch[0].S_a, system.tree)


@kernel
def factor_joints(model, loops, system, work, held):
    """`factor_tree` of the model, from the blocks of its bodies, with its `loops` or without."""
    return factor_tree(
        model.joints,
        loops,
        system.directions,
        work.joints,
        system.tree,
        system.border,
        system.arms,
        held,
    )


@kernel
def condense_at_reference(L, A, R, held, equal, t, w):
    """A contact's answer into the block of a body in a tree; L and R may be `equal`."""
    x, y, z = (
        shifted_row(read_row(R[0]), w.rho2),
        shifted_row(read_row(R[1]), w.rho2),
        shifted_row(read_row(R[2]), w.rho2),
    )
    if equal:
        write_row(x, t.L[0])
        write_row(y, t.L[1])
        write_row(z, t.L[2])
    else:
        for i in range(3):
            write_row(shifted_row(read_row(L[i]), w.rho2 if held else w.rho1), t.L[i])
    subtract_rows_answer(t.L, A, x, y, z, w.D)
