"""What contacts add to the linear system of a step: impulses, and answers to motion."""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.rows import add_scaled, read_row, scaled, write_row


@kernel
def add_transposed(L, f, out):
    """out (6,) += L^T f for L (3, 6)."""
    for k in range(6):
        out[k] += L[0, k] * f[0] + L[1, k] * f[1] + L[2, k] * f[2]


@kernel
def add_product(R, motion, out):
    """out (3,) += R motion for R (3, 6)."""
    for i in range(3):
        for k in range(6):
            out[i] += R[i, k] * motion[k]


@kernel
def subtract_answer(L, A, R, sign, out):
    """out (6, 6) -= sign * L^T A R."""
    x, y, z = read_row(R[0]), read_row(R[1]), read_row(R[2])
    x, y, z = scaled(sign, x), scaled(sign, y), scaled(sign, z)
    subtract_rows_answer(L, A, x, y, z, out)


@kernel
def subtract_rows_answer(L, A, x, y, z, out):
    """out (6, 6) -= L^T A R for the rows x, y, z of R."""
    f = add_scaled(add_scaled(scaled(A[0, 0], x), A[0, 1], y), A[0, 2], z)
    g = add_scaled(add_scaled(scaled(A[1, 0], x), A[1, 1], y), A[1, 2], z)
    h = add_scaled(add_scaled(scaled(A[2, 0], x), A[2, 1], y), A[2, 2], z)
    for i in range(6):
        row = add_scaled(add_scaled(read_row(out[i]), -L[0, i], f), -L[1, i], g)
        write_row(add_scaled(row, -L[2, i], h), out[i])
