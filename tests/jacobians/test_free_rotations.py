"""What limits read of a free rotation: how far it has turned in an interval, how far it leans."""

from __future__ import annotations

import numpy as np
import pytest
from random_mechanisms import multiply, random_quaternion

from robosim.kernels.compiler.jit import entry
from robosim.kernels.contact.limits import relative_vector


@entry
def turn_between(q1, q2, at, out):
    """The vector (3,) of r1^-1 r2, for quaternions that begin at `at`."""
    for axis in range(3):
        out[axis] = relative_vector(q1, q2, at, axis)


@pytest.mark.parametrize("seed", range(5))
def test_the_turn_between_two_knots_is_that_of_the_child(seed):
    rng = np.random.default_rng(seed)
    first, second = random_quaternion(rng), random_quaternion(rng)
    out, before = np.zeros(3), rng.normal(size=(2, 2))
    ends = [np.concatenate((more, q)) for more, q in zip(before, (first, second), strict=True)]
    turn_between(*ends, 2, out)
    expected = multiply(first * [1, -1, -1, -1], second)[1:]
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-15)
