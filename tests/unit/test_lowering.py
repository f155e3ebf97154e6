"""Sums of products in kernels are rounded once, whatever the compiler would make of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numba.core.registry import cpu_target

from robosim.kernels.compiler.jit import entry
from robosim.kernels.compiler.private_lowering import has_fma

HAS_FMA = has_fma(cpu_target.target_context.codegen())


@entry
def sums(a, b, c, d, out):
    out[0] = a * b + c
    out[1] = c + a * b
    out[2] = a * b - c
    out[3] = c - a * b
    out[4] = a * b + c * d
    out[5] = c * d - a * b
    out[6] = c
    out[6] += a * b
    out[7] = c
    out[7] -= a * b
    product = a * b
    out[8] = product + c
    out[9] = product


def rounded(value: Fraction) -> float:
    """To the nearest float: a quotient of whole numbers is, in Python."""
    return value.numerator / value.denominator


@pytest.mark.skipif(not HAS_FMA, reason="the processor has no such operation")
def test_the_first_product_of_a_sum_is_not_rounded() -> None:
    rng = np.random.default_rng(0)
    differ = 0
    for a, b, c, d in rng.normal(size=(200, 4)).tolist():
        out = np.zeros(10)
        sums(a, b, c, d, out)
        A, B, C = Fraction(a), Fraction(b), Fraction(c)
        expected = [
            rounded(A * B + C),
            rounded(C + A * B),
            rounded(A * B - C),
            rounded(C - A * B),
            rounded(A * B + Fraction(c * d)),
            rounded(C * Fraction(d) - Fraction(a * b)),
            rounded(C + A * B),
            rounded(C - A * B),
            a * b + c,  # what is used for something else as well stays a product
            a * b,
        ]
        np.testing.assert_array_equal(out, expected)
        differ += out[0] != out[8]
    assert differ > 20
