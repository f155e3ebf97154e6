"""Quaternions: Hamilton, scalar first, local to world."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robosim import quaternions as Q

unit = (
    arrays(float, 4, elements=st.floats(-1, 1))
    .filter(lambda q: np.linalg.norm(q) > 0.1)
    .map(Q.normalized)
)
vectors = arrays(float, 3, elements=st.floats(-10, 10))


def test_hamilton():
    i, j, k = np.eye(4)[1:]
    np.testing.assert_array_equal(Q.multiply(i, j), k)
    np.testing.assert_array_equal(Q.multiply(j, i), -k)
    np.testing.assert_array_equal(Q.multiply(i, i), [-1, 0, 0, 0])


@given(unit, unit, vectors)
def test_products_compose_rotations(a, b, v):
    """R(a b) = R(a) R(b), a rotation, which turns v as a v a^-1 does."""
    R = Q.rotation_matrix(Q.multiply(a, b))
    np.testing.assert_allclose(R, Q.rotation_matrix(a) @ Q.rotation_matrix(b), rtol=0, atol=1e-13)
    np.testing.assert_allclose(R.T @ R, np.eye(3), rtol=0, atol=1e-13)
    turned = Q.multiply(Q.multiply(a, np.append(0, v)), Q.conjugate(a))
    np.testing.assert_allclose(turned[1:], Q.rotation_matrix(a) @ v, rtol=0, atol=1e-12)


@given(unit)
def test_from_matrix_inverts(q):
    back = Q.from_matrix(Q.rotation_matrix(q))
    assert back[0] >= 0
    np.testing.assert_allclose(abs(back @ q), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("axis", np.eye(3))
def test_from_matrix_of_half_turns(axis):
    R = 2 * np.outer(axis, axis) - np.eye(3)
    np.testing.assert_allclose(Q.from_matrix(R), [0, *axis], atol=1e-15)


def test_axis_angle_and_rpy():
    quarter = Q.from_axis_angle((0, 0, 3), np.pi / 2)
    np.testing.assert_allclose(Q.rotation_matrix(quarter) @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    # Roll first, about fixed axes: z stays where roll takes it until pitch and yaw follow.
    roll, pitch, yaw = 0.3, -0.4, 0.5
    angles = zip(np.eye(3), (roll, pitch, yaw), strict=True)
    parts = [Q.from_axis_angle(axis, angle) for axis, angle in angles]
    R = np.linalg.multi_dot([Q.rotation_matrix(q) for q in reversed(parts)])
    np.testing.assert_allclose(Q.rotation_matrix(Q.from_rpy((roll, pitch, yaw))), R, atol=1e-15)


@given(vectors, st.sampled_from([1, -1]))
def test_a_rotation_vector_is_the_short_way(v, sign):
    """Of both signs of a quaternion, and of turns by more than pi."""
    angle = np.linalg.norm(v)
    axis = v / angle if angle > 1e-6 else np.array([1.0, 0.0, 0.0])
    q = sign * Q.from_axis_angle(axis, angle)
    short = (angle + np.pi) % (2 * np.pi) - np.pi
    if abs(short) > np.pi - 1e-6:  # a half turn: both ways are as short
        return
    np.testing.assert_allclose(Q.rotation_vector(q), short * axis, rtol=0, atol=1e-10)


def test_a_turn_back_is_a_turn_backwards():
    """Of 270 degrees, whose quaternion has a negative scalar."""
    q = Q.from_axis_angle((0, 0, 1), 1.5 * np.pi)
    assert q[0] < 0
    np.testing.assert_allclose(Q.rotation_vector(q), [0, 0, -np.pi / 2], atol=1e-15)
    np.testing.assert_allclose(Q.rotation_vector([-1, 0, 0, 0]), 0.0, atol=0)
