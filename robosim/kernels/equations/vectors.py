"""Products of vectors in registers, and of symmetric matrices kept as xx, xy, xz, yy, yz, zz."""

from robosim.kernels.compiler.jit import kernel


@kernel
def crossed(a, b, c, x, y, z):
    """(a, b, c) x (x, y, z)."""
    return b * z - c * y, c * x - a * z, a * y - b * x


@kernel
def turned(R, x, y, z):
    """R (x, y, z)."""
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@kernel
def turned_back(R, x, y, z):
    """R^T (x, y, z)."""
    return (
        R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
        R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
        R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
    )


@kernel
def symmetric_times(I, x, y, z):  # noqa: E741
    """I (x, y, z) for a symmetric matrix."""
    return (
        I[0] * x + I[1] * y + I[2] * z,
        I[1] * x + I[3] * y + I[4] * z,
        I[2] * x + I[4] * y + I[5] * z,
    )


@kernel
def dot6(a, b):
    """a . b of six numbers each."""
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@kernel
def bracket(x, y, out):
    """out = ad(x) y, of twists (velocity, angular velocity)."""
    a, b, c = crossed(x[3], x[4], x[5], y[0], y[1], y[2])
    d, e, f = crossed(x[0], x[1], x[2], y[3], y[4], y[5])
    out[0], out[1], out[2] = a + d, b + e, c + f
    out[3], out[4], out[5] = crossed(x[3], x[4], x[5], y[3], y[4], y[5])


@kernel
def not_finite(values):
    """Whether any number of a vector is inf or nan."""
    s = 0.0
    for i in range(values.shape[0]):
        s += 0.0 * values[i]
    return s != 0.0


@kernel
def row_of(values, i):
    """Index of row i of an array, or of the only one."""
    return i if values.shape[0] > 1 else 0
