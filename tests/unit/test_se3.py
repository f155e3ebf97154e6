"""Rigid transformations: exponentials, adjoints and Jacobians against differences and series."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import quaternions, se3

H = 1e-6


def random_transformation(rng):
    turn = quaternions.rotation_matrix(quaternions.normalized(rng.normal(size=4)))
    return se3.transformation(turn, rng.normal(size=3))


def series(A):
    """The exponential of a small matrix, by its series."""
    out, term = np.eye(len(A)), np.eye(len(A))
    for n in range(1, 60):
        term = term @ A / n
        out = out + term
    return out


@pytest.fixture(params=range(5))
def case(request):
    """(a transformation, a twist)."""
    rng = np.random.default_rng(request.param)
    return random_transformation(rng), rng.normal(size=6)


def slope(f, E, twist):
    """Of a function of transformations, along a twist."""
    return (f(E @ se3.exp(H * twist)) - f(E @ se3.exp(-H * twist))) / (2 * H)


@pytest.mark.parametrize("scale", [0.0, 1e-9, 0.99e-4, 1.01e-4, 0.3, 1.0, 2.0])
def test_the_exponential_is_its_series(case, scale):
    _, twist = case
    E = se3.exp(scale * twist)
    np.testing.assert_allclose(E, series(se3.bracket(scale * twist)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-9, 0.99e-4, 1.01e-4, 1.0, 3.0, np.pi - 1e-6])
def test_the_logarithm_is_its_inverse(case, angle):
    _, twist = case
    twist = np.concatenate((twist[:3], angle * twist[3:] / np.linalg.norm(twist[3:])))
    np.testing.assert_allclose(se3.log(se3.exp(twist)), twist, rtol=0, atol=1e-9)
    E = se3.exp(twist)
    np.testing.assert_allclose(se3.exp(se3.log(E)), E, rtol=0, atol=1e-14 + 1e-9 * (angle > 3.1))


def test_the_inverse(case):
    E, _ = case
    np.testing.assert_allclose(se3.inverse(E) @ E, np.eye(4), rtol=0, atol=1e-14)


def test_a_twist_is_the_velocity_of_a_transformation(case):
    E, twist = case
    np.testing.assert_allclose(
        slope(lambda E: E, E, twist), E @ se3.bracket(twist), rtol=0, atol=1e-9
    )


def test_the_adjoint_takes_twists_to_the_world(case):
    E, twist = case
    world = E @ se3.bracket(twist) @ se3.inverse(E)
    np.testing.assert_allclose(se3.bracket(se3.adjoint(E) @ twist), world, rtol=0, atol=1e-13)


def test_the_rate_of_the_adjoint(case):
    E, twist = case
    rate = se3.adjoint(E) @ se3.ad(twist)
    np.testing.assert_allclose(slope(se3.adjoint, E, twist), rate, rtol=0, atol=1e-8)


def test_ad_is_the_commutator_of_brackets(case):
    _, twist = case
    other = np.random.default_rng(9).normal(size=6)
    a, b = se3.bracket(twist), se3.bracket(other)
    np.testing.assert_allclose(
        se3.bracket(se3.ad(twist) @ other), a @ b - b @ a, rtol=0, atol=1e-13
    )


def test_velocity_and_force_of_a_point(case):
    E, twist = case
    x = np.array([0.3, -0.2, 0.5])
    J = se3.point_jacobian(E, x)
    speed = slope(lambda E: E[:3, :3] @ x + E[:3, 3], E, twist)
    np.testing.assert_allclose(J @ twist, speed, rtol=0, atol=1e-9)
    # Unlike in the first example of [Sueda, Sect. 1.4], a point moves as its frame without turn.
    still = se3.point_jacobian(np.eye(4), (1, 0, 0))
    np.testing.assert_array_equal(still @ (1, 0, 0, 0, 0, 0), (1, 0, 0))
    np.testing.assert_array_equal(still @ (0, 0, 0, 0, 0, 1), (0, 1, 0))
