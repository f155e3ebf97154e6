"""What optimisations are made of: Riccati recursions, quadratic programs, costs, feedback."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, solve_discrete_are

from robosim import ControllerError, Mechanism, OptionError, Simulation
from robosim.dynamics.dynamics import Dynamics
from robosim.optimize import Feedback, QuadraticCost
from robosim.optimize.box import least_in_box
from robosim.optimize.checks import weight
from robosim.optimize.riccati import backwards, repeated, steady


def linear_system(rng, n, nx=3, nu=2):
    A = rng.normal(size=(n, nx, nx))
    B = rng.normal(size=(n, nx, nu))
    Q = np.array([M @ M.T for M in rng.normal(size=(n + 1, nx, nx))])
    M = rng.normal(size=(nu, nu))
    return A, B, Q, M @ M.T + np.eye(nu)


def test_gains_are_those_of_the_dense_problem() -> None:
    """All torques at once, by one linear system."""
    rng = np.random.default_rng(1)
    n, nx, nu = 5, 3, 2
    A, B, Q, R = linear_system(rng, n)
    gains, values = backwards(A, B, Q[:-1], R, Q[-1])
    x0 = rng.normal(size=nx)
    # States at all knots, affine in the torques.
    by_u, free = np.zeros((n + 1, nx, n * nu)), np.zeros((n + 1, nx))
    free[0] = x0
    for k in range(n):
        by_u[k + 1], free[k + 1] = A[k] @ by_u[k], A[k] @ free[k]
        by_u[k + 1][:, k * nu : (k + 1) * nu] += B[k]
    H = sum(G.T @ W @ G for G, W in zip(by_u, Q, strict=True)) + block_diag(*[R] * n)
    g = sum(G.T @ W @ x for G, W, x in zip(by_u, Q, free, strict=True))
    u = -np.linalg.solve(H, g)
    np.testing.assert_allclose(u[:nu], -gains[0] @ x0, rtol=1e-9)
    total = sum(x @ W @ x for x, W in zip(free, Q, strict=True)) + g @ u
    np.testing.assert_allclose(x0 @ values[0] @ x0, total, rtol=1e-9)


def test_a_period_is_that_of_its_product() -> None:
    """Two steps as one, with the torques of both, are a system that does not change."""
    rng = np.random.default_rng(2)
    A, B, Q, R = linear_system(rng, 2)
    Q = Q[:-1]
    gains, values = repeated(A, B, Q, R)
    both, by = A[1] @ A[0], np.hstack((A[1] @ B[0], B[1]))
    # x1 = A0 x0 + B0 u0 is weighed in the middle.
    weights = Q[0] + A[0].T @ Q[1] @ A[0]
    across = np.hstack((A[0].T @ Q[1] @ B[0], np.zeros((3, 2))))
    efforts = block_diag(R + B[0].T @ Q[1] @ B[0], R)
    P = solve_discrete_are(both, by, weights, efforts, s=across)
    np.testing.assert_allclose(values[0], P, rtol=1e-8)
    first = np.linalg.solve(efforts + by.T @ P @ by, by.T @ P @ both + across.T)[:2]
    np.testing.assert_allclose(gains[0], first, rtol=1e-8)


def test_what_torques_do_not_reach_is_refused() -> None:
    A, B = np.diag((1.1, 0.5)), np.array(((0.0,), (1.0,)))
    with pytest.raises(OptionError, match=r"do not reach 1 modes.*1\.1"):
        steady(A, B, np.eye(2), np.eye(1))
    with pytest.raises(OptionError, match="still grows"):
        repeated(A[None], B[None], np.eye(2)[None], np.eye(1))


def test_the_least_between_bounds_leaves_no_way_down() -> None:
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = 6
        M = rng.normal(size=(n, n))
        H, g = M @ M.T + 0.1 * np.eye(n), rng.normal(size=n)
        lower, upper = -rng.uniform(0.1, 1.0, n), rng.uniform(0.1, 1.0, n)
        x, free = least_in_box(H, g, lower, upper)
        slope = H @ x + g
        assert np.all((x >= lower) & (x <= upper))
        assert np.abs(slope[free]).max(initial=0.0) < 1e-8
        assert np.all(slope[x == lower] >= -1e-8)
        assert np.all(slope[x == upper] <= 1e-8)
        held.append(n - free.sum())
    assert len(set(held)) > 3  # from few bounds to many


def test_a_cost_has_the_slopes_of_its_values(a1: Mechanism) -> None:
    """Central differences along the tangent, rotations of the base included."""
    rng, nv, n = np.random.default_rng(3), a1.nv, 2
    on = Dynamics(a1)
    weights = rng.uniform(0.5, 2.0, 2 * nv)
    cost = QuadraticCost(
        a1, Q=weights, R=rng.uniform(0.5, 2.0, a1.nu), final=3 * weights, tau=np.ones(a1.nu)
    )
    q = on.integrate(np.tile(a1.home, (n + 1, 1)), 0.4 * rng.normal(size=(n + 1, nv)))
    v, tau = rng.normal(size=(n + 1, nv)), rng.normal(size=(n, a1.nu))
    found, step = cost.expand(q, v, tau), 1e-6
    ways = rng.normal(size=(n + 1, 2 * nv)), rng.normal(size=tau.shape)
    moved = [
        cost.values(
            on.integrate(q, s * step * ways[0][:, :nv])[None],
            (v + s * step * ways[0][:, nv:])[None],
            (tau + s * step * ways[1])[None],
        )[0]
        for s in (1, -1)
    ]
    slopes = (moved[0] - moved[1]) / (2 * step)
    told = np.sum(found.x * ways[0], axis=1)
    told[:-1] += np.sum(found.u * ways[1], axis=1)
    np.testing.assert_allclose(told, slopes, rtol=1e-7, atol=1e-6)


def test_feedback_compiled_equals_feedback_in_python(a1: Mechanism) -> None:
    rng, n, on = np.random.default_rng(4), 3, Dynamics(a1)
    q = on.integrate(np.tile(a1.home, (n, 1)), 0.3 * rng.normal(size=(n, a1.nv)))
    law = Feedback(
        a1, q, rng.normal(size=(n, a1.nv)), rng.normal(size=(n, a1.nu)),
        rng.normal(size=(n, a1.nu, 2 * a1.nv)), 0.01, 0.05, lower=-4.0, upper=5.0,
    )  # fmt: skip
    sim = Simulation(a1, 0.01)
    clipped = 0
    for time in (0.0, 0.05, 0.0699999, 0.07, 3.0):
        sim.set_state(a1.home, 0.1 * rng.normal(size=a1.nv), time)
        torques = law(sim)
        np.testing.assert_allclose(law._compiled(sim), torques, rtol=1e-12)
        clipped += np.sum((torques == -4.0) | (torques == 5.0))
    assert 0 < clipped < 5 * a1.nu
    assert [law.row(t) for t in (0.0, 0.05, 0.06, 0.0699999, 0.07, 3.0)] == [0, 0, 1, 1, 2, 2]


def test_feedback_repeats_or_goes_over(a1: Mechanism) -> None:
    def rows(n, value):
        zeros = np.zeros((n, a1.nv)), np.full((n, a1.nu), value), np.zeros((n, a1.nu, 2 * a1.nv))
        return np.tile(a1.home, (n, 1)), *zeros, 0.01

    turn = Feedback(a1, *rows(4, 1.0), periodic=True)
    assert [turn.row(t) for t in (0.0, 0.035, 0.04, 0.11)] == [0, 3, 0, 3]
    both = Feedback(a1, *rows(2, 1.0)).followed_by(Feedback(a1, *rows(1, 2.0)))
    assert [both.tau[both.row(t), 0] for t in (0.0, 0.01, 0.02, 9.0)] == [1.0, 1.0, 2.0, 2.0]
    with pytest.raises(ControllerError, match="neither periodic"):
        turn.followed_by(both)
    with pytest.raises(ControllerError, match="K must be finite"):
        Feedback(a1, *rows(2, 1.0)[:3], np.zeros((2, 3, 3)), 0.01)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.ones(3), r"\(2,\) of them"),
        (np.nan, "finite"),
        ("much", "numbers"),
        (np.array(((1.0, 2.0), (0.0, 1.0))), "symmetric"),
        ((1.0, -1.0), "positive along all directions"),
        ((1.0, 0.0), "positive along all directions"),
    ],
)
def test_weights_that_are_none_are_refused(value, said) -> None:
    with pytest.raises(OptionError, match=said):
        weight("R", value, 2, positive=True)
