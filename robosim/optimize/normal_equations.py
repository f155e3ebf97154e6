"""The gradient and the banded matrix of Gauss and Newton of a sequence of configurations.

The cost of a step depends on three configurations: its end, and the two before, by which velocities
and accelerations follow. So blocks are nonzero up to two places from the diagonal.
"""

from __future__ import annotations

import numpy as np

from robosim.kernels.compiler.content import row
from robosim.validation import Array


@row
def assemble(  # type: ignore[no-untyped-def]
    Iq, Iv, M, ahead, behind, lean, Sq, Sv, tau, slower, away, slips, R, V, Q, h, g, bands
):
    """Gradient and curvature of each step by three configurations: two steps, one, and none before.

    g (n + 2, nv) has rows of zero for the configurations before the first unknown one.
    """
    n, nv, ns = tau.shape[0], tau.shape[1], slips.shape[1]
    D, e, w = np.zeros((nv + ns, 3 * nv)), np.zeros(nv + ns), np.zeros(nv + ns)
    by_v, last = np.zeros((nv, nv)), np.zeros((nv, nv))
    for k in range(n):
        D[:] = 0.0
        # Forces: by the velocities of this step and, by its acceleration, of the one before.
        by_v[:] = Iv[k] + M[k] / h
        last[:] = M[k] / h
        D[:nv, 2 * nv :] = Iq[k] + by_v @ ahead[k]
        if k > 0:
            D[:nv, nv : 2 * nv] = by_v @ behind[k] - last @ ahead[k - 1]
        if k > 1:
            D[:nv, :nv] = -(last @ behind[k - 1])
        if ns > 0:
            D[nv:, 2 * nv :] = Sq[k] + Sv[k] @ ahead[k]
            if k > 0:
                D[nv:, nv : 2 * nv] = Sv[k] @ behind[k]
        e[:nv], w[:nv] = tau[k], R[k]
        e[nv:], w[nv:] = slips[k], 1.0
        wD = w.reshape(-1, 1) * D
        bands[k] = D.T @ wD
        slope = wD.T @ e
        for i in range(3):
            g[k + i] += slope[i * nv : (i + 1) * nv]
        VA, VB = V[k].reshape(-1, 1) * ahead[k], V[k].reshape(-1, 1) * behind[k]
        QL = Q[k].reshape(-1, 1) * lean[k]
        bands[k, 2 * nv :, 2 * nv :] += ahead[k].T @ VA + lean[k].T @ QL
        g[k + 2] += VA.T @ slower[k] + QL.T @ away[k]
        if k > 0:
            both = behind[k].T @ VA
            bands[k, nv : 2 * nv, 2 * nv :] += both
            bands[k, nv : 2 * nv, nv : 2 * nv] += behind[k].T @ VB
            g[k + 1] += VB.T @ slower[k]


@row
def fill_bands(bands, banded):  # type: ignore[no-untyped-def]
    """Sum the curvatures of all steps in the upper banded form of a symmetric matrix."""
    n, width, last = bands.shape[0], bands.shape[1], banded.shape[0] - 1
    nv = width // 3
    for k in range(n):
        base = (k - 2) * nv
        for i in range(width):
            if base + i < 0:
                continue
            for j in range(i, width):
                banded[last + i - j, base + j] += bands[k, i, j]


def solved(H: Array, g: Array) -> Array:
    """x with H x = g, for a matrix in the upper banded form.

    LAPACK's threads would wait for each other longer than so small a system takes.

    Raises
    ------
    numpy.linalg.LinAlgError
        For an H that is not positive definite.
    """
    factor, x = H.T.copy(), g.copy()
    if not _solve_bands(factor, x):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return x


@row
def _solve_bands(factor, x):  # type: ignore[no-untyped-def]
    """Factorize a banded matrix, U^T U, whose columns are the rows of `factor`; solve for x."""
    N, last = factor.shape[0], factor.shape[1] - 1
    for j in range(N):
        first = max(0, j - last)
        for i in range(first, j + 1):
            # Entry (i, j): both columns from the first row that they share.
            low = max(first, i - last)
            total = factor[j, last + i - j]
            m = i - low
            a, b = factor[i, last - m : last], factor[j, last - j + low : last - j + i]
            one = two = three = four = 0.0
            r = 0
            while r + 4 <= m:
                one += a[r] * b[r]
                two += a[r + 1] * b[r + 1]
                three += a[r + 2] * b[r + 2]
                four += a[r + 3] * b[r + 3]
                r += 4
            while r < m:
                one += a[r] * b[r]
                r += 1
            total -= one + two + three + four
            if i < j:
                factor[j, last + i - j] = total / factor[i, last]
            else:
                if not total > 0.0:
                    return False
                factor[j, last] = np.sqrt(total)
    for j in range(N):
        for i in range(max(0, j - last), j):
            x[j] -= factor[j, last + i - j] * x[i]
        x[j] /= factor[j, last]
    for j in range(N - 1, -1, -1):
        x[j] /= factor[j, last]
        for i in range(max(0, j - last), j):
            x[i] -= factor[j, last + i - j] * x[j]
    return True


def slopes_of_turns(turns: Array) -> Array:
    """(n, 3, 3): map angular velocities in the child's axes to rates of rotation vectors (n, 3)."""
    angle = np.sqrt(np.sum(turns**2, axis=1))
    across = np.zeros((len(turns), 3, 3))
    across[:, 2, 1], across[:, 0, 2], across[:, 1, 0] = turns.T
    across -= np.swapaxes(across, 1, 2).copy()
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    second = np.where(small, 1 / 12, (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    return np.asarray(np.eye(3) + 0.5 * across + second[:, None, None] * (across @ across))
