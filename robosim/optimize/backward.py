"""The backward pass of iLQR: quadratic value functions, computed from the end to the beginning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.optimize.box import least_in_box
from robosim.optimize.costs import Expansion
from robosim.validation import Array


class Pass(NamedTuple):
    """The result of a backward pass.

    Attributes
    ----------
    push : (n, nu), changes of the torques in a full step
    K : (n, nu, nx), feedback ``-K dx``
    slope, curvature : float
        A step of length a changes the cost by ``a slope + a^2 curvature``, to second order.
    """

    push: Array
    K: Array
    slope: float
    curvature: float

    def expected(self, length: Array | float) -> Array | float:
        """Predicted decrease of the cost (positive) for some step lengths."""
        return -(length * self.slope + length**2 * self.curvature)


def backward(
    A: Array, B: Array, cost: Expansion, lower: Array, upper: Array, regularisation: float
) -> Pass | None:
    """The backward pass, or None if more regularisation is needed [Tassa2014].

    Parameters
    ----------
    A, B : (n, nx, nx), (n, nx, nu)
    cost : Expansion
        Derivatives by the same nx coordinates.
    lower, upper : (n, nu)
        Limits of the changes of torques.
    regularisation : float
        Value that is added to the second derivatives by torques.
    """
    n, _, nu = B.shape
    push, K = np.zeros((n, nu)), np.zeros((n, nu, A.shape[1]))
    slope = curvature = 0.0
    more = regularisation * np.eye(nu)
    Vx, Vxx = cost.x[-1], cost.xx[-1]
    for k in reversed(range(n)):
        VA, VB = Vxx @ A[k], Vxx @ B[k]
        Qx, Qu = cost.x[k] + A[k].T @ Vx, cost.u[k] + B[k].T @ Vx
        Qxx, Quu = cost.xx[k] + A[k].T @ VA, cost.uu[k] + B[k].T @ VB
        Qux = cost.ux[k] + B[k].T @ VA
        try:
            du, free = least_in_box(Quu + more, Qu, lower[k], upper[k])
        except np.linalg.LinAlgError:
            return None
        if free.any():
            K[k, free] = np.linalg.solve((Quu + more)[np.ix_(free, free)], Qux[free])
        push[k] = du
        slope += float(du @ Qu)
        curvature += 0.5 * float(du @ Quu @ du)
        KQ = K[k].T @ Quu
        Vx = Qx - KQ @ du - K[k].T @ Qu + Qux.T @ du
        Vxx = Qxx + KQ @ K[k] - K[k].T @ Qux - Qux.T @ K[k]
        Vxx = 0.5 * (Vxx + Vxx.T)
    if not (np.all(np.isfinite(K)) and np.all(np.isfinite(push))):
        return None
    return Pass(push, K, slope, curvature)
