"""Bounds of the broad phase: how far shapes are apart, and how much nearer they have come."""

from __future__ import annotations

from typing import Any

import numpy as np
from touching import free

from robosim import Body, Geometry, Simulation, quaternions
from robosim.kernels.compiler.jit import entry
from robosim.kernels.contact.reach import are_far, pair_moved, stay_parted

DT = 1e-2
RADII = 0.1, 0.15
Array = Any


@entry
def measure(model, system, work, dt, margin, moved):
    """Whether the first pair is farther apart than a margin; `moved`: how much nearer it came."""
    moved[0] = pair_moved(model, system, work, 0, dt)
    return are_far(model, 0, system.pose1, margin)


@entry
def parted(model, system, work):
    """Whether the plane between the first pair stays between its shapes."""
    return stay_parted(model, system, work, 0)


def balls() -> Simulation:
    """Two bodies with a ball each, beside their centres of mass."""
    bodies = []
    for name, radius in zip("ab", RADII, strict=True):
        ball = Geometry("sphere", (radius,), (0.3, -0.2, 0.1))
        bodies.append(Body(name, 1.0, np.eye(3), collisions=(ball,)))
    return Simulation(free(*bodies, contact_pairs=[("a", "b")]), islands=False)


def random_turn(rng: np.random.Generator) -> Array:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def put(sim: Simulation, x: Array, q: Array, to: Array, turned: Array) -> tuple[Array, Array]:
    """Let bodies move from poses to others over DT; how far the balls are apart at both."""
    work, gaps = sim.parts.work, []
    for poses, places, turns in (
        (sim.parts.memory.system.pose1, x, q), (work.pose2, to, turned),
    ):  # fmt: skip
        centres = []
        for i in range(2):
            rotation = quaternions.rotation_matrix(turns[i])
            poses[i]["x"], poses[i]["q"], poses[i]["R"] = places[i], turns[i], rotation
            centres.append(places[i] + rotation @ sim.robot.bodies[i].collisions[0].position)
        gaps.append(np.linalg.norm(centres[1] - centres[0]) - sum(RADII))
    for i in range(2):
        work.bodies[i]["v"] = (to[i] - x[i]) / DT
        work.bodies[i]["P"] = quaternions.multiply(turned[i], quaternions.conjugate(q[i]))
    return gaps[0], gaps[1]


def measured(sim: Simulation, margin: float) -> tuple[bool, float]:
    moved = np.zeros(1)
    far = measure(sim.parts.model, sim.parts.memory.system, sim.parts.work, DT, margin, moved)
    return far, moved[0]


def test_spheres_around_shapes_are_as_far_apart_as_they_are() -> None:
    sim, rng = balls(), np.random.default_rng(0)
    for _ in range(20):
        x, q = rng.normal(size=(2, 3)), [random_turn(rng) for _ in range(2)]
        gap, _ = put(sim, x, q, x, q)
        assert measured(sim, gap - 1e-9)[0]
        assert not measured(sim, gap + 1e-9)[0]


def test_shapes_come_no_nearer_than_their_motion_tells() -> None:
    sim, rng = balls(), np.random.default_rng(1)
    for _ in range(100):
        x, to = rng.normal(size=(2, 2, 3))
        q, turned = ([random_turn(rng) for _ in range(2)] for _ in range(2))
        before, after = put(sim, x, q, to, turned)
        assert before - after <= measured(sim, 0.0)[1]


def test_shapes_that_move_as_one_come_no_nearer() -> None:
    """Whatever way they fly and turn together, far from where they turn about."""
    sim, rng = balls(), np.random.default_rng(2)
    for _ in range(20):
        x, q = rng.normal(size=(2, 3)), [random_turn(rng) for _ in range(2)]
        turn, way = random_turn(rng), rng.normal(size=3)
        to = x @ quaternions.rotation_matrix(turn).T + way
        put(sim, x, q, to, [quaternions.multiply(turn, one) for one in q])
        assert measured(sim, 0.0)[1] < 1e-12


def test_a_plane_that_stays_between_two_shapes_tells_that_they_are_apart() -> None:
    """It moves on with either body; the first pair lies along x, so that the plane is known."""
    sim, rng, seen = balls(), np.random.default_rng(3), [0, 0]
    found = sim.parts.work.collision.found[0]
    for _ in range(300):
        x, q = rng.normal(scale=0.3, size=(2, 3)), [random_turn(rng) for _ in range(2)]
        turned = [quaternions.multiply(small_turn(rng), one) for one in q]
        to = x + rng.normal(scale=0.2, size=(2, 3))
        before, after = put(sim, x, q, to, turned)
        if before <= 0.0:
            continue
        ball = sim.robot.bodies[0].collisions[0].position
        a, b = (x[i] + quaternions.rotation_matrix(q[i]) @ ball for i in range(2))
        found["apart"], found["normal"] = before, (b - a) / np.linalg.norm(b - a)
        told = parted(sim.parts.model, sim.parts.memory.system, sim.parts.work)
        assert after > 0.0 or not told
        seen[told] += 1
    assert min(seen) > 20


def small_turn(rng: np.random.Generator) -> Array:
    q = np.append(1.0, rng.normal(scale=0.1, size=3))
    return q / np.linalg.norm(q)
