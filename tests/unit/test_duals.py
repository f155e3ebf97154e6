"""Numbers with derivatives: the numbers are those of plain floats, to the last bit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core.registry import cpu_target

from robosim.kernels.compiler.addresses import load
from robosim.kernels.compiler.duals import DIRECTIONS, number_of, slope, with_slope
from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.compiler.lowering import has_fma
from robosim.runtime.duals import kind_of_duals, widened
from robosim.runtime.handles import Handle

HAS_FMA = has_fma(cpu_target.target_context.codegen())
OUT = 8


class Numbers(NamedTuple):
    x: Any
    out: Any
    numbers: Any
    slopes: Any


@kernel
def formulas(x, out):
    a, b, c, d = x[0], x[1], x[2], x[3]
    out[0] = a * b
    out[1] = a * b + c
    out[2] = c - a * b
    out[3] = a * b - c * d
    out[4] = c
    out[4] += a * b
    out[5] = a / b
    out[6] = 2.0 * a + c * 3.0
    # Infinite numbers stay what they are beside derivatives.
    out[7] = min(a, 0.5 * d)


@entry
def of_floats(x, out):
    formulas(x, out)


def of_duals(kind: int) -> Any:
    @entry
    def run(address):
        x, out, numbers, slopes = load(address, kind)
        for k in range(4):
            x[k] = with_slope(x[k], k, 1.0)
        formulas(x, out)
        for n in range(out.shape[0]):
            numbers[n] = number_of(out[n])
            for k in range(4):
                slopes[n, k] = slope(out[n], k)

    return run


def test_products_and_sums() -> None:
    rng, run, fused = np.random.default_rng(0), None, 0
    for row in [*rng.normal(size=(50, 4)), np.array([1.0, -2.0, 3.0, np.inf])]:
        a, b, c, d = row
        expected = np.zeros(OUT)
        of_floats(row, expected)
        numbers, slopes = np.zeros(OUT), np.zeros((OUT, DIRECTIONS))
        handle = Handle(Numbers(widened(row), widened(np.zeros(OUT)), numbers, slopes))
        run = run or of_duals(kind_of_duals(handle)[0])
        run(handle.address)
        np.testing.assert_array_equal(numbers, expected)
        fused += numbers[1] != a * b + c
        by = np.array([[b, a, 0.0, 0.0]] * 3)
        by[1, 2], by[2] = 1.0, (-b, -a, 1.0, 0.0)
        last = [1.0, 0.0, 0.0, 0.0] if a < 0.5 * d else [0.0, 0.0, 0.0, 0.5]
        rows = {0: by[0], 1: by[1], 2: by[2], 4: by[1], 6: [2.0, 0.0, 3.0, 0.0], 7: last}
        rows[5] = [1.0 / b, -a / b**2, 0.0, 0.0]
        if np.isfinite(d):
            rows[3] = [b, a, -d, -c]
        for n, derivative in rows.items():
            np.testing.assert_allclose(slopes[n, :4], derivative, rtol=1e-14, atol=1e-14)
    assert fused > 5 or not HAS_FMA
