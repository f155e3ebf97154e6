"""The discrete angular momentum of a turn, and its derivative."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_for_tests import momentum_at
from random_mechanisms import random_body, random_quaternion, turned

from robosim.quaternions import rotation_matrix

STEP = 1e-6


def evaluate(J: np.ndarray, P: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    out, tangent = np.zeros(3), np.zeros((3, 3))
    momentum_at(J, P, dt, out, tangent)
    return out, tangent


def random_turn(rng: np.random.Generator, angle: float) -> np.ndarray:
    return turned(np.array([1.0, 0, 0, 0]), angle * random_quaternion(rng)[:3])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("angle", [0.0, 1e-3, 1.0, 2.5])
def test_tangent(seed, angle):
    """By psi: the second knot turns by dt/2 psi, as a quaternion d q2 = dt/2 psi q2."""
    rng = np.random.default_rng(seed)
    J, P, dt = random_body(rng, "b").inertia, random_turn(rng, angle), 0.01
    momentum, tangent = evaluate(J, P, dt)
    columns = []
    for axis in np.eye(3):
        ends = [evaluate(J, turned(P, s * STEP * dt * axis), dt)[0] for s in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * STEP))
    numeric = np.column_stack(columns)
    # Differences of the momentum lose its size times 1e-16 / step.
    atol = 1e-9 * max(1.0, float(np.abs(momentum).max())) / 0.1
    np.testing.assert_allclose(tangent, numeric, rtol=0, atol=atol)


def test_it_is_the_inertia_times_the_rate_for_small_turns():
    """2/dt E J p = J omega + dt/2 omega x J omega + O(dt^2)."""
    rng = np.random.default_rng(0)
    J, omega = random_body(rng, "b").inertia, rng.normal(size=3)
    errors = []
    for dt in (1e-2, 1e-3):
        P = turned(np.array([1.0, 0, 0, 0]), dt * omega)
        expected = J @ omega + dt / 2 * np.cross(omega, J @ omega)
        errors.append(np.abs(evaluate(J, P, dt)[0] - expected).max())
    assert errors[1] == pytest.approx(errors[0] / 100, rel=0.05)


def test_the_momentum_at_the_second_knot_is_the_same_seen_backwards():
    """Turned back, the momentum is that of the reversed step: what makes the scheme reversible."""
    rng = np.random.default_rng(1)
    J, dt = random_body(rng, "b").inertia, 0.1
    P = random_turn(rng, 0.7)
    R = rotation_matrix(P)
    forwards = evaluate(J, P, dt)[0]
    backwards = evaluate(R @ J @ R.T, P * [1, -1, -1, -1], dt)[0]
    np.testing.assert_allclose(backwards, -forwards, rtol=0, atol=1e-13)
