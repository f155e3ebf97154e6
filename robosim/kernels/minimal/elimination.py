"""Linear systems over a tree, link by link: see `robosim.compiled.minimal.Elimination`.

A link's motion z = z_parent + B^T dx is answered by f = N z + l, and its rows are

    r + A f + C z + L dx = 0,

so that dx = X z_parent + y, and its parent has N + H^T X and l + H^T y more. With one coordinate
for each link and m = 6 this is the articulated-body algorithm [Featherstone1983], where A and B
differ for a matrix that is not symmetric; otherwise [Fan2018, Algorithm B.2].
"""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.rows import (
    add_products,
    add_scaled,
    read_row,
    scaled,
    sum_rows,
    total_of,
    write_row,
)

EIGHT = 8  # numbers of a row in one register
BITS = 5  # of the number of a row
MOST = 2**BITS - 1
HALF = 12  # numbers in one word


@kernel
def clear_answers(on):
    """No answers of any link yet."""
    for i in range(on.N.shape[0]):
        N = on.N[i]
        for j in range(N.shape[0]):
            for k in range(N.shape[1]):
                N[j, k] = 0.0


@kernel
def invert(L):
    """L = L^-1 (s, s), by Gauss and Jordan with pivots of rows; False if it has none."""
    s = L.shape[0]
    low, high = 0, 0  # which row each column took, five bits each
    if s == 1:
        pivot = L[0, 0]
        L[0, 0] = 1.0 / pivot
        return pivot != 0.0 and pivot == pivot
    for k in range(s):
        best = k
        for i in range(k + 1, s):
            if abs(L[i, k]) > abs(L[best, k]):
                best = i
        pivot = L[best, k]
        if not abs(pivot) > 0.0:
            return False
        if k < HALF:
            low += best << (BITS * k)
        else:
            high += best << (BITS * (k - HALF))
        if best != k:
            for j in range(s):
                L[k, j], L[best, j] = L[best, j], L[k, j]
        per = 1.0 / pivot
        L[k, k] = 1.0
        for j in range(s):
            L[k, j] *= per
        for i in range(s):
            if i != k:
                part = L[i, k]
                L[i, k] = 0.0
                for j in range(s):
                    L[i, j] -= part * L[k, j]
    for k in range(s - 1, -1, -1):
        best = low >> (BITS * k) if k < HALF else high >> (BITS * (k - HALF))
        best &= MOST
        if best != k:
            for i in range(s):
                L[i, k], L[i, best] = L[i, best], L[i, k]
    return True


@kernel
def eliminate_link(on, i, N, above):
    """Take link i out, whose N is complete, and add to that of its parent; False where L is none.

    That is where L, with what is beyond the link, has no inverse.
    """
    A, B, C, H, L, X = on.A[i], on.B[i], on.C[i], on.H[i], on.L[i], on.X[i]
    s, m, wide = A.shape[0], N.shape[0], A.shape[1]
    for a in range(s):
        for k in range(0, wide, EIGHT):
            row = read_row(C[a, k : k + EIGHT])
            for j in range(m):
                row = add_scaled(row, A[a, j], read_row(N[j, k : k + EIGHT]))
            write_row(row, X[a, k : k + EIGHT])
        for j in range(m):
            H[a, j] += product_of(N[j], B[a])
    for a in range(s):
        for g in range(s):
            L[a, g] += product_of(X[a], B[g])
    if not invert(L):
        return False
    for k in range(0, wide, EIGHT):
        # The rows' answers are replaced by the unknowns', some columns at a time.
        for g in range(s):
            row = scaled(-L[g, 0], read_row(X[0, k : k + EIGHT]))
            for a in range(1, s):
                row = add_scaled(row, -L[g, a], read_row(X[a, k : k + EIGHT]))
            write_row(row, C[g, k : k + EIGHT])
        for g in range(s):
            write_row(read_row(C[g, k : k + EIGHT]), X[g, k : k + EIGHT])
    for j in range(m):
        for k in range(0, wide, EIGHT):
            row = sum_rows(read_row(above[j, k : k + EIGHT]), read_row(N[j, k : k + EIGHT]))
            for g in range(s):
                row = add_scaled(row, H[g, j], read_row(X[g, k : k + EIGHT]))
            write_row(row, above[j, k : k + EIGHT])
    return True


@kernel
def product_of(a, b):
    """a . b, of rows whose length is a multiple of eight."""
    row = scaled(0.0, read_row(a[0:EIGHT]))
    for k in range(0, a.shape[0], EIGHT):
        row = add_products(row, read_row(a[k : k + EIGHT]), read_row(b[k : k + EIGHT]))
    return total_of(row)


@kernel
def pass_answer(on, i, parent):
    """The same for a link that does not move."""
    N, above = on.N[i], on.N[parent]
    for j in range(N.shape[0]):
        for k in range(0, N.shape[1], EIGHT):
            row = sum_rows(read_row(above[j, k : k + EIGHT]), read_row(N[j, k : k + EIGHT]))
            write_row(row, above[j, k : k + EIGHT])


@kernel
def factor_tree(segments, on, rotations):
    """Take all links out; 0, or 1 + the link that has no answer.

    The three hinges of a free rotation together, where there are `rotations`.
    """
    n = segments.shape[0]
    for up in range(1, n + 1):
        i = n - up
        link = segments[i]
        if link.v < 0:
            pass_answer(on, i, link.parent)
        elif rotations is not None and link.turn != 0:
            if link.turn == 3:
                above = on.N[segments[i - 2].parent]
                if not eliminate_link(rotations, link.rotation, on.N[i], above):
                    return 1 + i
        elif not eliminate_link(on, i, on.N[i], on.N[link.parent]):
            return 1 + i
    return 0


@kernel
def solve_tree(segments, on, rotations):
    """dx from r, after `factor_tree`."""
    n, m = segments.shape[0], on.N.shape[1]
    for i in range(n + 1):
        for k in range(m):
            on.l[i, k] = 0.0
    for up in range(1, n + 1):
        i = n - up
        link = segments[i]
        own, above = on.l[i], on.l[link.parent]
        if rotations is not None and link.turn != 0:
            if link.turn < 3:
                continue
            above, t = on.l[segments[i - 2].parent], link.rotation
            gather(on.r, i, rotations.r[t])
            leave_unknowns(rotations.A[t], rotations.L[t], rotations.r[t], own, rotations.dx[t])
            add_unknowns(rotations.H[t], rotations.dx[t], above)
        elif link.v >= 0:
            leave_unknowns(on.A[i], on.L[i], on.r[i], own, on.dx[i])
            add_unknowns(on.H[i], on.dx[i], above)
        for k in range(m):
            above[k] += own[k]
    for k in range(m):
        on.z[n, k] = 0.0
    for i in range(n):
        link = segments[i]
        own, above = on.z[i], on.z[link.parent]
        if rotations is not None and link.turn == 3:
            above = on.z[segments[i - 2].parent]
        for k in range(m):
            own[k] = above[k]
        if rotations is not None and link.turn != 0:
            if link.turn == 3:
                t = link.rotation
                take_motion(rotations.X[t], above, rotations.dx[t])
                add_unknowns(rotations.B[t], rotations.dx[t], own)
                scatter(rotations.dx[t], i, on.dx)
        elif link.v >= 0:
            take_motion(on.X[i], above, on.dx[i])
            add_unknowns(on.B[i], on.dx[i], own)


@kernel
def gather(rows, i, out):
    """out (3 s,) = rows of three links up to i, one link after the other."""
    s = rows.shape[1]
    for h in range(3):
        for a in range(s):
            out[h * s + a] = rows[i - 2 + h, a]


@kernel
def scatter(dx, i, out):
    """The unknowns (3 s,) of three links up to i, to each link its own."""
    s = out.shape[1]
    for h in range(3):
        for a in range(s):
            out[i - 2 + h, a] = dx[h * s + a]


@kernel
def leave_unknowns(A, L, r, f, y):
    """y = -L (r + A f)."""
    s, m = A.shape
    for g in range(s):
        y[g] = 0.0
    for a in range(s):
        total = r[a]
        for k in range(m):
            total += A[a, k] * f[k]
        for g in range(s):
            y[g] -= L[g, a] * total


@kernel
def add_unknowns(H, y, out):
    """out += H^T y."""
    for g in range(H.shape[0]):
        for k in range(H.shape[1]):
            out[k] += H[g, k] * y[g]


@kernel
def take_motion(X, z, dx):
    """dx += X z."""
    for g in range(X.shape[0]):
        for k in range(X.shape[1]):
            dx[g] += X[g, k] * z[k]
