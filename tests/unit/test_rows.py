"""Rows of blocks: what is done to them in registers, and where they are in memory."""

from __future__ import annotations

import numpy as np
from numba import typeof

import robosim
from robosim.compiled.arrays import LINE, WORD, aligned, with_rows
from robosim.kernels.compiler.jit import entry
from robosim.kernels.compiler.rows import (
    add_scaled,
    linear_part,
    read_row,
    row_of,
    scaled,
    shifted,
    sum_rows,
    write_row,
)

RECORD = with_rows([("number", "f8"), ("vector", "f8", (3,))], A=2, out=6)


@entry
def combine(w, factor):  # type: ignore[no-untyped-def]
    a, b, r = read_row(w.A[0]), read_row(w.A[1]), w.vector
    write_row(scaled(factor, a), w.out[0])
    write_row(add_scaled(a, factor, b), w.out[1])
    write_row(sum_rows(a, b), w.out[2])
    write_row(shifted(a, r[0], r[1], r[2]), w.out[3])
    write_row(linear_part(a), w.out[4])
    write_row(row_of(r[0], factor, r[1], w.number, r[2], -factor), w.out[5])


def test_rows_are_added_scaled_and_shifted():
    rng = np.random.default_rng(3)
    memory = aligned(1, RECORD)
    w = memory[0]
    w["number"], w["vector"] = 0.7, rng.normal(size=3)
    w["A"][:, :6] = rng.normal(size=(2, 6))
    combine(w, 0.3)
    a, b, r = w["A"][0, :6], w["A"][1, :6], w["vector"]
    expected = [
        0.3 * a,
        a + 0.3 * b,
        a + b,
        a + np.concatenate((np.zeros(3), np.cross(r, a[:3]))),
        np.concatenate((a[:3], np.zeros(3))),
        [r[0], 0.3, r[1], 0.7, r[2], -0.3],
    ]
    np.testing.assert_allclose(w["out"][:, :6], expected, rtol=1e-15, atol=1e-15)
    assert not w["out"][:, 6:].any()
    assert typeof(w).fields["out"].type.shape == (6, LINE)


def test_no_row_is_split_between_cache_lines():
    """Those of all records that kernels read rows of, with loops and contacts."""
    found = 0
    for robot in ("a1", "minitaur"):
        sim = robosim.Simulation(robosim.load(robot), 1e-3)
        for array in (*sim.parts.work, *sim.parts.memory.system):
            if not isinstance(array, np.ndarray) or not array.dtype.names:
                continue
            fields = [array.dtype.fields[name] for name in array.dtype.names]
            places = [field[1] for field in fields if field[0].shape[1:] == (LINE,)]
            if places and len(array):
                found += 1
                begins = array.ctypes.data + np.array(places)
                assert not (begins % (WORD * LINE)).any()
                assert array.dtype.itemsize % (WORD * LINE) == 0
    assert found >= 10
