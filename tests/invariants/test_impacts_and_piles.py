"""Bodies that collide: momentum, energy, and no way through each other."""

from __future__ import annotations

import numpy as np
import pytest
from random_mechanisms import random_quaternion
from touching import ball, box, free, hull, poses, roller

from robosim import (
    Body,
    Geometry,
    HalfSpace,
    HeightField,
    Joint,
    Mechanism,
    Simulation,
    TriangleMesh,
)
from robosim.bench.piles import bin_of

KINDS = ("box", "ball", "capsule", "cylinder", "hull")


def some_body(kind: str, name: str, rng: np.random.Generator):
    if kind == "box":
        return box(name, rng.uniform(0.1, 0.3, size=3))
    if kind == "ball":
        return ball(name, rng.uniform(0.05, 0.15))
    if kind == "hull":
        return hull(name, rng)
    return roller(name, kind, rng.uniform(0.05, 0.1), rng.uniform(0.1, 0.3))


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_a_collision_keeps_momentum_and_gains_no_energy(first, second):
    rng = np.random.default_rng(KINDS.index(first) * 5 + KINDS.index(second))
    bodies = (some_body(first, "a", rng), some_body(second, "b", rng))
    robot = free(*bodies, contact_pairs=[("a", "b")])
    sim = Simulation(robot, 0.002, gravity=(0, 0, 0), tolerance=1e-11)
    sim.set_state(
        poses((0, 0, 0, *random_quaternion(rng)), (0.6, 0.04, 0.03, *random_quaternion(rng))),
        [2.0, 0, 0, 0.3, 0.2, -0.4, -0.5, 0, 0, 0.1, -0.2, 0.3],
    )
    linear, angular = sim.momentum()
    start, energy, gap = sim.energy(), sim.energy(), np.inf
    for _ in range(300):
        gap = min(gap, sim.step().gap)
        # Free turning keeps it to second order, (omega dt)^2, resting contact to the barrier.
        assert sim.energy() < energy + 1e-3 * start
        energy = min(energy, sim.energy())
    assert sim.energy() < 0.8 * start, "they missed each other"
    assert gap >= -1e-7
    after = sim.momentum()
    np.testing.assert_allclose(after[0], linear, atol=1e-12)
    np.testing.assert_allclose(after[1], angular, atol=1e-11)


@pytest.mark.parametrize(
    "cone", ["second_order", pytest.param("linearized", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("seed", range(2))
def test_a_pile_falls_without_a_failed_step(cone, seed):
    rng = np.random.default_rng(seed)
    bodies, q = [], []
    for k in range(10):
        bodies.append(some_body(KINDS[k % 5], f"b{k}", rng))
        q.append((*rng.uniform(-0.2, 0.2, size=2), 0.3 + 0.35 * k, *random_quaternion(rng)))
    robot = free(*bodies, obstacles=[HalfSpace()], self_collision=True)
    sim = Simulation(robot, 0.005, friction_cone=cone)
    sim.set_state(poses(*q))
    for _ in range(400):
        sim.step()
        assert np.all(np.isfinite(sim.q))
    # What the features say, and what the narrow phase finds anew.
    assert sim.min_gap() > -1e-6
    assert np.all(sim.state.x[:, 2] > 0)


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_come_to_lie_on_hilly_ground(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    x = np.linspace(-2, 2, 41)
    hills = 0.05 * np.sin(5 * x)[:, None] * np.cos(4 * x)[None, :]
    robot = free(some_body(kind, "a", rng), obstacles=[HeightField(hills, (4.0, 4.0))])
    sim = Simulation(robot, 0.005)
    sim.set_state(poses((0, 0, 0.5, *random_quaternion(rng))), [0.5, 0.2, 0, 1, 2, 0])
    for _ in range(400):
        sim.step()
        # They may end an interval by 5e-9 of their reach beyond what was not seen at its start.
        assert sim.min_gap() > -2e-9
    assert abs(sim.q[2]) < 0.3


@pytest.mark.parametrize("seed", [2, 11])
def test_a_heap_of_boxes_rests(seed):
    """Faces that lie on each other touch in the same places in each step: one iteration is enough.

    Where borders of faces lie on each other, rounding used to tell what touches.
    """
    sim = Simulation(bin_of(20, seed), 2e-3)
    sim.run(3.0)
    before = sim.energy()
    log = sim.run(0.2)
    assert log.iterations.mean() < 1.5
    assert log.gap.min() > -1e-9
    assert np.abs(sim.v).max() < 1e-4
    assert 0.0 < before - sim.energy() < 1e-6  # what the barrier lets creep


def test_a_box_with_an_edge_along_the_grid_is_as_near_as_it_is():
    """Its edge passes a grid line by 1e-11: points within the clipping's tolerance of a side."""
    shape = Geometry("box", (0.2, 0.2, 0.2))
    body = Body("box", 1.0, 0.0067 * np.eye(3), collisions=(shape,))
    field = HeightField(np.zeros((61, 61)), size=(6, 6))
    robot = Mechanism("box", (body,), (Joint("base", "floating", None, "box"),), obstacles=(field,))
    sim = Simulation(robot, 5e-3)
    turn = [0.9867337871014945, 0.16234664576868402, -5.434183692297403e-12, -2.751e-11]
    for shift in (-1e-11, 0.0, 1e-11):
        sim.set_state([0.6000000000105967 + shift, 0.13662, 0.12676729744267984, *turn])
        assert abs(sim.min_gap()) < 1e-9


def test_an_impact_in_which_a_body_turns_far_gives_no_energy():
    """Undivided, a step of this drop has a solution that gives a tenth of the energy."""
    rng = np.random.default_rng([0, 2, 278])
    radius, length = rng.uniform(0.04, 0.12), rng.uniform(0.08, 0.3)
    first = Geometry("cylinder", (radius, length), friction=0.8)
    turn, place = rng.normal(size=4), rng.uniform(-0.05, 0.05, 2)
    q = [*place, 0.35, *turn / np.linalg.norm(turn)]
    points = 0.08 * rng.normal(size=(14, 3))
    points -= points.mean(axis=0)
    faces = np.zeros((0, 3), dtype=int)
    second = Geometry("mesh", vertices=points, faces=faces, friction=0.8)
    turn, place = rng.normal(size=4), rng.uniform(-0.05, 0.05, 2)
    q += [*place, 0.85, *turn / np.linalg.norm(turn)]
    bodies = []
    for name, shape, (a, b, c) in (
        ("lower", first, (1.7 * radius, 1.7 * radius, length)),
        ("upper", second, (0.15, 0.15, 0.15)),
    ):
        inertia = np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) / 12
        bodies.append(Body(name, 1.0, inertia, collisions=(shape,)))
    robot = free(*bodies, obstacles=[HalfSpace()], self_collision=True)
    v, rises, divided = 0.5 * rng.normal(size=12), {}, 0
    for most in (1, 64):
        sim = Simulation(robot, 0.01, max_substeps=most)
        sim.set_state(q, v)
        energies = [sim.energy()]
        for _ in range(40):
            divided += sim.step().substeps > 1
            energies.append(sim.energy())
        rises[most] = np.diff(energies).max() / energies[0]
    assert divided > 0
    assert rises[1] > 0.01, "nothing of the kind happened"
    assert rises[64] < 1e-4


def bridge(planks: int, places: list[tuple[float, float, float]], dt: float) -> Simulation:
    """Planks that hang between two anchors, hinge by hinge, and boxes over them."""
    length = 0.2
    bodies = [box(f"p{k}", (0.19, 0.3, 0.02), 0.5, 0.6) for k in range(planks)]
    bodies += [box(f"b{k}", (0.15,) * 3, 5.0, 0.6) for k in range(len(places))]
    left, right = (-length / 2, 0, 0), (length / 2, 0, 0)
    hinge = {"parent_position": right, "child_position": left, "damping": 0.02, "actuated": False}
    joints = [Joint("j0", "revolute", None, "p0", (0, 1, 0), (0, 0, 1), left, actuated=False)]
    joints += [
        Joint(f"j{k}", "revolute", f"p{k - 1}", f"p{k}", (0, 1, 0), **hinge)
        for k in range(1, planks)
    ]
    joints += [Joint(f"f{k}", "floating", None, f"b{k}") for k in range(len(places))]
    anchor = (planks * length * 0.93, 0, 1)
    last = f"p{planks - 1}"
    joints.append(Joint("end", "revolute", None, last, (0, 1, 0), anchor, right, actuated=False))
    pairs = [(f"p{i}", f"b{k}") for i in range(planks) for k in range(len(places))]
    pairs += [(f"b{i}", f"b{k}") for k in range(len(places)) for i in range(k)]
    sim = Simulation(Mechanism("bridge", tuple(bodies), tuple(joints), contact_pairs=pairs), dt)
    q = sim.robot.neutral().copy()
    names = sim.robot.q_names
    for k in range(planks):
        q[names.index(f"j{k}")] = 0.4 if k == 0 else -0.8 / (planks - 1)
    for k, place in enumerate(places):
        at = names.index(f"f{k}.x")
        q[at : at + 3] = place
    sim.set_state(q)
    return sim


@pytest.mark.parametrize("dt", [2e-3, 5e-3, 0.01])
def test_an_impact_on_a_closed_linkage_gives_no_energy(dt):
    sim = bridge(6, [(0.45, 0, 1.6), (0.78, 0, 1.6)], dt)
    energies = [sim.energy()]
    for _ in range(round(0.8 / dt)):
        sim.step()
        energies.append(sim.energy())
    assert np.diff(energies).max() < 0.01 * energies[0]
    assert energies[-1] < 0.8 * energies[0]


def test_a_cube_rests_in_the_corner_of_a_mesh_as_between_half_spaces():
    """Each of three walls holds it, and a step at rest takes one iteration."""
    corners = [[0, 0, 0], [-3, 0, 0], [0, -3, 0], [-3, -3, 0], [0, 0, 2], [-3, 0, 2], [0, -3, 2]]
    faces = [[0, 1, 2], [1, 3, 2], [0, 2, 4], [2, 6, 4], [0, 4, 1], [1, 4, 5]]
    mesh = Geometry("mesh", vertices=np.array(corners, float), faces=np.array(faces))
    walls = {
        "mesh": [TriangleMesh(mesh, friction=0.3)],
        "half-spaces": [
            HalfSpace(friction=0.3),
            HalfSpace(normal=(-1, 0, 0), friction=0.3),
            HalfSpace(normal=(0, -1, 0), friction=0.3),
        ],
    }
    ends = []
    for obstacles in walls.values():
        sim = Simulation(free(box("c", friction=0.3), obstacles=obstacles), 0.002)
        sim.set_state([-0.6, -0.5, 0.101, 1, 0, 0, 0], [3.0, 2.5, 0, 0, 0, 0])
        for _ in range(400):
            assert sim.step().gap > -1e-9
        assert np.mean([sim.step().iterations for _ in range(100)]) < 2
        normals = {tuple(np.round(contact.normal, 6) + 0.0) for contact in sim.contacts()}
        assert normals == {(0, 0, 1), (-1, 0, 0), (0, -1, 0)}
        ends.append(sim.q)
    np.testing.assert_allclose(ends[0][:3], [-0.1, -0.1, 0.1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-4)
