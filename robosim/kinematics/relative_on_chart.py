"""Motion of the child relative to its parent, for a joint that is a chart."""

from __future__ import annotations

import numpy as np

from robosim import se3
from robosim.description.charts import Chart
from robosim.description.joint import Joint
from robosim.errors import StateError
from robosim.kinematics.relative import End, Linear, Relative
from robosim.validation import Array

MOST = 50  # iterations


class RelativeOnChart(Relative):
    """`Relative` for a chart: its coordinates are those nearest to the child's pose.

    Let x = log(Q(q)^-1 E). The component of x along S is zero, and the components orthogonal to S,
    N^T x, are the constraints. Second derivatives are exact if the constraints hold.
    """

    def __init__(self, joint: Joint, a: End, b: End) -> None:
        super().__init__(joint, a, b)
        assert joint.own_chart is not None
        slides = self._slides(np.eye(3))
        self._q, self._x = nearest(joint.own_chart, se3.transformation(self.R, slides.value))
        S = joint.own_chart.columns(self._q)
        self._across = np.linalg.svd(S)[0][:, joint.nv :].T
        self._along = np.linalg.pinv(S)
        # Twist of the child relative to the parent, in the child's axes.
        spin = b.R.T @ self._spin
        alpha = b.R.T @ (b.bias[3:] - a.bias[3:] - se3.cross_matrix(a.twist[3:]) @ self._spin)
        moved = b.twist[:3] - a.twist[:3] - se3.cross_matrix(a.twist[3:]) @ self._span
        self._rows = np.vstack((self.R.T @ slides.jacobian, self.spins()))
        velocity = np.concatenate((b.R.T @ moved, spin))
        rate = self._along @ velocity
        bias = self.R.T @ slides.bias - np.cross(spin, velocity[:3])
        self._bias = np.concatenate((bias, alpha))
        self._bias -= joint.own_chart.slopes(self._q) @ rate @ rate

    def residual(self) -> Linear:
        N = self._across
        return Linear(N @ self._x, N @ self._rows, N @ self._bias)

    def on_child(self) -> Array:
        return np.hstack((self._across[:, :3] @ self._b.R.T, self._across[:, 3:] @ self._b.R.T))

    def coordinates(self) -> Linear:
        return Linear(self._q, self.rates(), self._along @ self._bias)

    def rates(self) -> Array:
        return np.asarray(self._along @ self._rows)


def relative_of(joint: Joint, a: End, b: End) -> Relative:
    """The motion of a joint's child relative to its parent, for any kind of joint."""
    return (Relative if joint.own_chart is None else RelativeOnChart)(joint, a, b)


def nearest(chart: Chart, E: Array) -> tuple[Array, Array]:
    """Coordinates (nv,) of a chart nearest to a pose E (4, 4), and the remaining twist (6,).

    Raises
    ------
    StateError
        If the iteration from the middle of the chart does not converge.
    """
    lower, upper = chart.limits()
    bounded = np.isfinite(lower) & np.isfinite(upper)
    q = 0.5 * np.where(bounded, lower, 0.0) + 0.5 * np.where(bounded, upper, 0.0)
    if np.linalg.svd(chart.columns(q), compute_uv=False)[-1] < 1e-3:
        q = q + 0.5  # away from singular coordinates
    for _ in range(MOST):
        x = se3.log(se3.inverse(chart.pose(q)) @ E)
        change = np.linalg.pinv(chart.columns(q), rcond=1e-6) @ x
        largest = float(np.abs(change).max())
        q = q + change * min(1.0, 1.0 / max(largest, 1e-300))
        if largest < 1e-13 * (1.0 + float(np.abs(q).max())):
            return q, se3.log(se3.inverse(chart.pose(q)) @ E)
    if largest < 1e-8:
        return q, se3.log(se3.inverse(chart.pose(q)) @ E)
    raise StateError(f"no coordinates of {chart!r} lead near to where its child is")
