"""Bodies thrown over edges as `benchmarks.edges` draws them: their motion gains no energy."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.edges import DEPTH, GAIN, GROUNDS, OFF, SHAPES, falls, throw  # noqa: E402

# One throw of each shape and ground, and those that gained most of 640.
THROWS = [(*one, k) for k, one in enumerate(product(SHAPES, GROUNDS))]
FAR = [
    ("disc", "field", 4),
    ("cylinder", "blocks", 3),
    ("disc", "kerbs", 13),
    ("capsule", "field", 3),
    ("cylinder", "kerbs", 11),
]


@pytest.mark.parametrize(("shape", "ground", "seed"), [*THROWS, *FAR])
def test_the_motion_gains_no_more_than_the_integrators_error(shape, ground, seed):
    """Which is less than half as much with steps of a quarter."""
    found = throw(shape, ground, seed)
    assert not found.failed
    assert found.depth < DEPTH
    assert found.moved < GAIN or falls(found)


@pytest.mark.parametrize(
    ("shape", "ground", "seed"),
    [
        # Contacts that shapes had left were held at the knot, by as much as before.
        ("disc", "field", 34),
        ("disc", "kerbs", 21),
        ("disc", "blocks", 33),
        ("disc", "kerbs", 13),
        ("cylinder", "blocks", 17),
        ("cylinder", "field", 25),
    ],
)
def test_velocities_are_those_of_the_motion(shape, ground, seed):
    """Between the rates over the steps beside, but for half of a free fall."""
    assert throw(shape, ground, seed).off < OFF


@pytest.mark.parametrize(
    ("shape", "ground", "seed"), [("cylinder", "other", 7), ("disc", "posts", 19)]
)
def test_turns_are_read_alike_before_and_after_a_divided_step(shape, ground, seed):
    """Rates of parts of a step are slower, as momenta are chords: 4 % of m g r were gained."""
    assert throw(shape, ground, seed).shown < GAIN
