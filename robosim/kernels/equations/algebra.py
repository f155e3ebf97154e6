"""Small vector, quaternion and 6x6 block algebra for the kernels.

Quaternions are scalar first, Hamilton, local to world. `out` comes last and must not alias an
input unless a function says that it may.
"""

from math import cos, inf, sin, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import everywhere, least_of_states, pick
from robosim.kernels.compiler.rows import add_scaled, read_row, scaled, write_row


@kernel
def cross(a, b, out):
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@kernel
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def perpendiculars(n, first, second):
    """Unit vectors across a unit vector and each other, always the same ones.

    The first is x, or y if n is near to x, without its part along n.
    """
    across = abs(n[0]) < 0.9
    along = pick(across, n[0], n[1])
    size = 1.0 / sqrt(1.0 - along * along)
    for i in range(3):
        first[i] = -size * along * n[i]
    first[0] = pick(across, first[0] + size, first[0])
    first[1] = pick(across, first[1], first[1] + size)
    cross(n, first, second)


@kernel
def rotate(R, v, out):
    """out = R v."""
    for i in range(3):
        out[i] = R[i, 0] * v[0] + R[i, 1] * v[1] + R[i, 2] * v[2]


@kernel
def rotate_back(R, v, out):
    """out = R^T v."""
    for i in range(3):
        out[i] = R[0, i] * v[0] + R[1, i] * v[1] + R[2, i] * v[2]


@kernel
def quaternion_product(a, b, out):
    """out = a b [Bruedigam2023, Eq. A.2c]."""
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    out[1] = a[0] * b[1] + b[0] * a[1] + a[2] * b[3] - a[3] * b[2]
    out[2] = a[0] * b[2] + b[0] * a[2] + a[3] * b[1] - a[1] * b[3]
    out[3] = a[0] * b[3] + b[0] * a[3] + a[1] * b[2] - a[2] * b[1]


@kernel
def exponential(turn, out):
    """out = unit quaternion (4,) of a rotation vector (3,)."""
    square = turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]
    angle = sqrt(square)
    # sin(x / 2) / x, by its series where x is small.
    scale = 0.5 - square / 48.0
    if angle > 1e-4:
        scale = sin(0.5 * angle) / angle
    out[0] = cos(0.5 * angle)
    for i in range(3):
        out[1 + i] = scale * turn[i]


@kernel
def quaternion_back(a, b, out):
    """out = a^-1 b for a unit quaternion a."""
    out[0] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    out[1] = a[0] * b[1] - b[0] * a[1] - a[2] * b[3] + a[3] * b[2]
    out[2] = a[0] * b[2] - b[0] * a[2] - a[3] * b[1] + a[1] * b[3]
    out[3] = a[0] * b[3] - b[0] * a[3] - a[1] * b[2] + a[2] * b[1]


@kernel
def normalize_quaternion(q):
    n = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    for i in range(4):
        q[i] *= n


@kernel
def keep_unit(q):
    """Take rounding out of the length of a unit quaternion."""
    n = 1.5 - 0.5 * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    for i in range(4):
        q[i] *= n


@kernel
def rotation_matrix(q, out):
    """Rotation matrix of a unit quaternion [Bruedigam2023, Eq. A.6]."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0, 0] = 1.0 - 2.0 * (y * y + z * z)
    out[0, 1] = 2.0 * (x * y - w * z)
    out[0, 2] = 2.0 * (x * z + w * y)
    out[1, 0] = 2.0 * (x * y + w * z)
    out[1, 1] = 1.0 - 2.0 * (x * x + z * z)
    out[1, 2] = 2.0 * (y * z - w * x)
    out[2, 0] = 2.0 * (x * z - w * y)
    out[2, 1] = 2.0 * (y * z + w * x)
    out[2, 2] = 1.0 - 2.0 * (x * x + y * y)


@kernel
def similarity(R, J, out):
    """out = R J R^T, for symmetric J."""
    for i in range(3):
        a0 = R[i, 0] * J[0, 0] + R[i, 1] * J[1, 0] + R[i, 2] * J[2, 0]
        a1 = R[i, 0] * J[0, 1] + R[i, 1] * J[1, 1] + R[i, 2] * J[2, 1]
        a2 = R[i, 0] * J[0, 2] + R[i, 1] * J[1, 2] + R[i, 2] * J[2, 2]
        for j in range(i + 1):
            out[i, j] = a0 * R[j, 0] + a1 * R[j, 1] + a2 * R[j, 2]
            out[j, i] = out[i, j]


@kernel
def lu6(A):
    """LU of a 6x6 block in place, unit lower, reciprocal pivots; 1 if a pivot vanished.

    Not pivoted: the blocks that it meets are inertias and their Schur complements, which are
    definite. A pivot that cancels to nothing is reported rather than divided by.
    """
    for k in range(6):
        pivot = A[k, k]
        if not everywhere(abs(pivot) > 1e-300):
            return 1
        inverse = 1.0 / pivot
        A[k, k] = inverse
        for i in range(k + 1, 6):
            factor = A[i, k] * inverse
            A[i, k] = factor
            for j in range(k + 1, 6):
                A[i, j] -= factor * A[k, j]
    return 0


@kernel
def lu6_solve_vector(A, b):
    """b = A^-1 b in place, for A from `lu6`."""
    for i in range(1, 6):
        s = b[i]
        for k in range(i):
            s -= A[i, k] * b[k]
        b[i] = s
    for i in range(5, -1, -1):
        s = b[i]
        for k in range(i + 1, 6):
            s -= A[i, k] * b[k]
        b[i] = s * A[i, i]


@kernel
def lu(A, m):
    """`lu6` of the first m rows and columns."""
    for k in range(m):
        pivot = A[k, k]
        if not everywhere(abs(pivot) > 1e-300):
            return 1
        inverse = 1.0 / pivot
        A[k, k] = inverse
        for i in range(k + 1, m):
            factor = A[i, k] * inverse
            A[i, k] = factor
            for j in range(k + 1, m):
                A[i, j] -= factor * A[k, j]
    return 0


@kernel
def lu_solve_vector(A, b, m):
    """The first m of b = A^-1 b in place, for A from `lu`."""
    for i in range(1, m):
        s = b[i]
        for k in range(i):
            s -= A[i, k] * b[k]
        b[i] = s
    for back in range(1, m + 1):
        i = m - back
        s = b[i]
        for k in range(i + 1, m):
            s -= A[i, k] * b[k]
        b[i] = s * A[i, i]


@kernel
def lu_solve_transposed(A, b, m):
    """The first m of b = A^-T b in place, for A from `lu`."""
    for i in range(m):
        s = b[i]
        for k in range(i):
            s -= A[k, i] * b[k]
        b[i] = s * A[i, i]
    for back in range(2, m + 1):
        i = m - back
        s = b[i]
        for k in range(i + 1, m):
            s -= A[k, i] * b[k]
        b[i] = s


@kernel
def lu_pivoted(A, rows, m):
    """`lu` of the first m rows and columns, with exchanges of rows, that are noted in `rows`."""
    for k in range(m):
        # All lanes take the rows in one order.
        best, size = k, least_of_states(abs(A[k, k]))
        for i in range(k + 1, m):
            found = least_of_states(abs(A[i, k]))
            if found > size:
                best, size = i, found
        rows[k] = best
        if not size > 1e-300:
            return 1
        for j in range(m if best != k else 0):
            A[k, j], A[best, j] = A[best, j], A[k, j]
        inverse = 1.0 / A[k, k]
        A[k, k] = inverse
        for i in range(k + 1, m):
            factor = A[i, k] * inverse
            A[i, k] = factor
            for j in range(k + 1, m):
                A[i, j] -= factor * A[k, j]
    return 0


@kernel
def lu_pivoted_solve(A, rows, b, x, m):
    """The first m of x = A^-1 b, for A and rows from `lu_pivoted`."""
    for i in range(m):
        x[i] = b[i]
    for k in range(m):
        x[k], x[rows[k]] = x[rows[k]], x[k]
    lu_solve_vector(A, x, m)


@kernel
def lu_solve_matrix(A, B, m):
    """The first m rows of B = A^-1 B in place, (m, 6), for A from `lu`."""
    for i in range(1, m):
        write_row(subtract_rows(A, i, 0, i, B, read_row(B[i])), B[i])
    for back in range(1, m + 1):
        i = m - back
        write_row(scaled(A[i, i], subtract_rows(A, i, i + 1, m, B, read_row(B[i]))), B[i])


@kernel
def subtract_rows(A, i, first, last, B, row):
    """A row minus the sum of A[i, k] B[k] for k in first..last - 1."""
    for k in range(first, last):
        row = add_scaled(row, -A[i, k], read_row(B[k]))
    return row


@kernel
def lu6_solve_matrix(A, B):
    """B = A^-1 B in place, 6x6, for A from `lu6`."""
    for i in range(1, 6):
        write_row(subtract_rows(A, i, 0, i, B, read_row(B[i])), B[i])
    for i in range(5, -1, -1):
        write_row(scaled(A[i, i], subtract_rows(A, i, i + 1, 6, B, read_row(B[i]))), B[i])


@kernel
def subtract_product6(A, B, C):
    """C -= A B, 6x6."""
    for i in range(6):
        write_row(subtract_rows(A, i, 0, 6, B, read_row(C[i])), C[i])


@kernel
def subtract_product6_vector(A, b, c):
    """c -= A b, 6x6 and 6."""
    for i in range(6):
        s = 0.0
        for k in range(6):
            s += A[i, k] * b[k]
        c[i] -= s


@kernel
def assign(source, out):
    """out = source, for vectors; a loop, as slices of records are slow to compile."""
    for i in range(out.shape[0]):
        out[i] = source[i]


@kernel
def fill(value, out):
    """Every entry of a vector = value."""
    for i in range(out.shape[0]):
        out[i] = value


@kernel
def clear_rows(rows):
    """All rows of 6 = 0."""
    for n in range(rows.shape[0]):
        fill(0.0, rows[n].w)


@kernel
def split_pair(difference, product):
    """(a, b) positive with a - b = difference and a b = product, without cancellation."""
    large = 0.5 * (abs(difference) + sqrt(difference * difference + 4.0 * product))
    small = product / large
    return pick(difference > 0.0, large, small), pick(difference > 0.0, small, large)


@kernel
def step_to_zero(value, direction):
    """The step along `direction` at which a positive value comes to zero; inf if there is none."""
    return pick(direction < 0.0, -value / direction, inf)
