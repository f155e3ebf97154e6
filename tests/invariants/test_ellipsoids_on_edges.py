"""Ellipsoids that fall on boxes, posts, steps, rough fields and each other: no sinking."""

from __future__ import annotations

import numpy as np
import pytest
from test_cylinders_on_edges import posts_below, rough, stairs, turned_at_random
from touching import G, free

from robosim import Body, Geometry, HalfSpace, Simulation


def solid(kind: str, size: tuple[float, ...], name: str) -> Body:
    """A body of 1 kg."""
    shape = Geometry(kind, size, name=name, friction=0.6)
    volume = Body.of_shape(shape, 1.0).mass
    return Body.of_shape(shape, 1.0 / volume, collides=True)


def egg(rng: np.random.Generator, aspect: float) -> tuple[Body, float]:
    """An ellipsoid of 1 kg, and a length of it."""
    length = rng.uniform(0.03, 0.12)
    half = length * aspect ** rng.uniform(-0.5, 0.5, 3)
    return solid("ellipsoid", tuple(np.minimum(half, 0.3)), "egg"), length


def boxes_below(rng: np.random.Generator) -> list[Geometry]:
    return [
        Geometry(
            "box", (0.2, 0.2, 0.2), (x, y, -0.1 - 0.05 * rng.random()), turned_at_random(rng),
            friction=0.6, name=f"box{x}{y}",
        )
        for x in (-0.15, 0.15)
        for y in (-0.15, 0.15)
    ]  # fmt: skip


def steps_below(rng: np.random.Generator) -> list:
    return [stairs(np.cumsum(rng.uniform(-0.12, 0.04, 10)))]


BELOW = {
    "ground": lambda rng: [HalfSpace(friction=0.6)],
    "boxes": boxes_below,
    "posts": posts_below,
    "stairs": steps_below,
    "field": rough,
}
OTHERS = {
    "box": lambda a, b, c: (2 * a, 2 * b, 2 * c),
    "sphere": lambda a, b, c: (a,),
    "capsule": lambda a, b, c: (a, 2 * b),
    "cylinder": lambda a, b, c: (a, 2 * b),
    "ellipsoid": lambda a, b, c: (a, b, c),
}


def fall(bodies, obstacles, q, v, dt, within, **pairs) -> tuple[float, float]:
    """Step for a second at most; the smallest gap, and the most energy of one step [J]."""
    sim = Simulation(free(*bodies, obstacles=obstacles, **pairs), dt)
    sim.set_state(q, v)
    energy, gap, most = sim.energy(), np.inf, 0.0
    for _ in range(round(1.0 / dt)):
        if not within(sim.q):
            break
        sim.step()
        gap = min(gap, sim.min_gap())
        after = sim.energy()
        energy, most = after, max(most, after - energy)
    return gap, most


@pytest.mark.parametrize("aspect", [4.0, pytest.param(20.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("below", BELOW)
def test_an_ellipsoid_that_falls_sinks_nowhere_and_is_not_thrown(below, seed, aspect):
    """What spins fast while it touches may be read too low by a few hundredths of m g length."""
    rng = np.random.default_rng([78, seed])
    dt = (0.001, 0.002, 0.005, 0.01)[seed % 4]
    body, length = egg(rng, aspect)
    obstacles = BELOW[below](rng)
    middle = 1.2 if below == "stairs" else 0.0
    q = [middle, 0, 0.6, *turned_at_random(rng)]
    v = [*rng.uniform(-1, 1, 2), 0, *rng.uniform(-6, 6, 3)]

    def within(q):
        return q[2] > -0.6 and abs(q[0] - middle) < 0.7 and abs(q[1]) < 0.6

    gap, most = fall([body], obstacles, q, v, dt, within)
    assert gap > -1e-6
    assert most < 0.3 * G * length


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("other", OTHERS)
def test_two_that_fall_on_each_other(other, seed):
    rng = np.random.default_rng([79, seed])
    dt = (0.001, 0.002, 0.005, 0.01)[seed % 4]
    body, length = egg(rng, 4.0)
    second = solid(other, OTHERS[other](*rng.uniform(0.04, 0.12, 3)), "other")
    q = [0, 0, 0.4, *turned_at_random(rng), 0.02, 0.01, 0.8, *turned_at_random(rng)]
    v = [*rng.uniform(-1, 1, 2), 0, *rng.uniform(-6, 6, 3), 0, 0, 0, *rng.uniform(-6, 6, 3)]
    pairs = {"contact_pairs": [("egg", "other")]}
    ground = [HalfSpace(friction=0.6)]
    gap, most = fall([body, second], ground, q, v, dt, lambda q: True, **pairs)
    assert gap > -1e-6
    assert most < 0.3 * G * max(length, 0.12)
