"""Rows as tuples of six numbers: by plain numba."""

from robosim.kernels.compiler.jit import kernel


@kernel
def row_of(a, b, c, d, e, f):
    """The row of six numbers."""
    return float(a), float(b), float(c), float(d), float(e), float(f)


@kernel
def read_row(vector):
    """The row that is kept in a vector (8,)."""
    return vector[0], vector[1], vector[2], vector[3], vector[4], vector[5]


@kernel
def write_row(row, vector):
    """vector (8,) = row."""
    for k in range(6):
        vector[k] = row[k]


@kernel
def scaled(factor, row):
    """factor * row."""
    return (
        factor * row[0],
        factor * row[1],
        factor * row[2],
        factor * row[3],
        factor * row[4],
        factor * row[5],
    )


@kernel
def add_scaled(row, factor, other):
    """row + factor * other."""
    return sum_rows(row, scaled(factor, other))


@kernel
def sum_rows(row, other):
    """row + other."""
    return (
        row[0] + other[0],
        row[1] + other[1],
        row[2] + other[2],
        row[3] + other[3],
        row[4] + other[4],
        row[5] + other[5],
    )


@kernel
def shifted(row, x, y, z):
    """row + (0, r x its first three) for r = (x, y, z): a row of a matrix times X2."""
    a, b, c, d, e, f = row
    return a, b, c, d + (y * c - z * b), e + (z * a - x * c), f + (x * b - y * a)


@kernel
def linear_part(row):
    """The first three numbers, and zeros."""
    return row[0], row[1], row[2], 0.0, 0.0, 0.0
