"""Riccati recursions of linear systems ``x' = A x + B u`` in discrete time."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, solve_discrete_are

from robosim.errors import OptionError
from robosim.validation import Array

SWEEPS = 10_000  # largest number of passes over a period
STEADY = 1e-11  # change of the value over a period, relative to its size
GROWN = 1e100  # value from which on the recursion is taken to diverge
MARGIN = 1e-9  # distance of modes from the unit circle


def gain(A: Array, B: Array, P: Array, R: Array) -> Array:
    """Gain (nu, nx) of ``u = -K x``, with the value ``x^T P x`` after the step."""
    return np.asarray(np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A))


def steady(A: Array, B: Array, Q: Array, R: Array) -> tuple[Array, Array]:
    """Gain (nu, nx) and value (nx, nx) of an infinite horizon.

    Raises
    ------
    OptionError
        If a mode that does not decay is not controllable, or has no weight.
    """
    try:
        P = solve_discrete_are(A, B, Q, R)
        K = gain(A, B, P, R)
        radius = float(np.abs(np.linalg.eigvals(A - B @ K)).max())
    except (LinAlgError, np.linalg.LinAlgError):
        radius = np.inf
    if not radius < 1.0 - MARGIN:
        raise OptionError(
            "LQR finds no stabilizing feedback: "
            f"{_stays(A, B)}; take Q that weighs it, let torques reach it, or give rows of q, v "
            "and tau for a feedback over a horizon"
        )
    return K, P


def _stays(A: Array, B: Array) -> str:
    """A description of the modes that torques do not reach."""
    values, left = np.linalg.eig(A.T)
    stay = [
        abs(value)
        for value, mode in zip(values, left.T, strict=True)
        if abs(value) > 1.0 - 1e-6 and np.abs(mode @ B).max() < 1e-9 * np.abs(B).max()
    ]
    if stay:
        return f"torques do not reach {len(stay)} modes that do not decay, as {stay[0]:.6g}"
    return "a mode that does not decay is not weighed, or next to not"


def backwards(A: Array, B: Array, Q: Array, R: Array, P: Array) -> tuple[Array, Array]:
    """Gains (n, nu, nx) and values (n + 1, nx, nx) of n steps, from the value at the end.

    Parameters
    ----------
    A, B : (n, nx, nx), (n, nx, nu)
    Q : (n, nx, nx), weights at the beginnings of the steps
    R : (nu, nu)
    P : (nx, nx)
    """
    gains, values = np.empty((*B.shape[::2], A.shape[1])), np.empty((len(A) + 1, *P.shape))
    values[-1] = P
    for k in reversed(range(len(A))):
        K = gains[k] = gain(A[k], B[k], P, R)
        closed = A[k] - B[k] @ K
        P = Q[k] + K.T @ R @ K + closed.T @ P @ closed
        values[k] = P = 0.5 * (P + P.T)
    return gains, values


def repeated(A: Array, B: Array, Q: Array, R: Array) -> tuple[Array, Array]:
    """As `backwards`, for steps that are repeated periodically.

    Raises
    ------
    OptionError
        If the value does not converge.
    """
    P = Q[0]
    for _ in range(SWEEPS):
        gains, values = backwards(A, B, Q, R, P)
        change, size = np.abs(values[0] - P).max(), np.abs(P).max()
        P = values[0]
        if change <= STEADY * size:
            return gains, values
        if not size < GROWN:
            break
    raise OptionError(
        f"no feedback makes everything decay that Q weighs along this period: after {SWEEPS} "
        "periods at most, the value still grows; let torques reach it, or use periodic=False"
    )
