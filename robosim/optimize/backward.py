"""The backward pass of iLQR: quadratic value functions, computed from the end to the beginning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.kernels.compiler.content import row
from robosim.optimize.box import _least, _of_free
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
    arrays = (A, B, *cost, lower, upper)
    try:
        push, K, slope, curvature = _passed(*map(np.ascontiguousarray, arrays), regularisation)
    except np.linalg.LinAlgError:
        return None
    if not (np.all(np.isfinite(K)) and np.all(np.isfinite(push))):
        return None
    return Pass(push, K, slope, curvature)


@row
def _passed(A, B, x, xx, u, uu, ux, lower, upper, regularisation):  # type: ignore[no-untyped-def]
    """See `backward`."""
    n, nx, nu = B.shape
    push, K = np.zeros((n, nu)), np.zeros((n, nu, nx))
    slope = curvature = 0.0
    more = regularisation * np.eye(nu)
    Vx, Vxx = x[n].copy(), xx[n].copy()
    for k in range(n - 1, -1, -1):
        At, Bt = A[k].T, B[k].T
        VA, VB = Vxx @ A[k], Vxx @ B[k]
        Qx, Qu = x[k] + At @ Vx, u[k] + Bt @ Vx
        Qxx, Quu, Qux = xx[k] + At @ VA, uu[k] + Bt @ VB, ux[k] + Bt @ VA
        H = Quu + more
        du, free = _least(H, Qu, lower[k], upper[k])
        if free.any():
            wanted = Qux.copy()
            for i in range(nu):
                if not free[i]:
                    wanted[i] = 0.0
            K[k] = np.linalg.solve(_of_free(H, free), wanted)
        push[k] = du
        slope += du @ Qu
        curvature += 0.5 * (du @ (Quu @ du))
        Kt = K[k].T
        KQ = Kt @ Quu
        Vx = Qx - KQ @ du - Kt @ Qu + Qux.T @ du
        KU = Kt @ Qux
        Vxx = Qxx + KQ @ K[k] - KU - KU.T
        Vxx = 0.5 * (Vxx + Vxx.T)
    return push, K, slope, curvature
