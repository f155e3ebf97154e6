"""Derivatives of steps on random states, as `robosim reproduce linearize` has them."""

from __future__ import annotations

import pytest

from robosim.experiments.derivatives import WITHIN, compared, groups

pytestmark = pytest.mark.slow

GROUPS = groups()
# Columns that may be left out: of positions that end an overlap or begin one, where feet at rest
# have gaps below any difference.
CROSSING = {"A1 standing, hard contacts": 0.45}


@pytest.mark.parametrize("name", GROUPS)
def test_derivatives_are_those_of_differences(name):
    group = compared(name, GROUPS[name], 3, seed=5)
    assert group.states == 3
    assert group.compared + group.crossing == group.columns
    assert group.crossing <= CROSSING.get(name, 0.02) * group.columns
    assert group.unsolved == 0
    assert group.worst < WITHIN, group.where
