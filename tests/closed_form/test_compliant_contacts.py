"""Compliant contacts and limits: deflections, times of contact and restitution in closed form."""

from __future__ import annotations

from dataclasses import replace
from math import atan2, exp, log, pi, sin, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq
from touching import G, ball, box, flat_mesh, free, poses

from robosim import (
    BatchSimulation,
    Body,
    ContactPoint,
    Geometry,
    HalfSpace,
    HeightField,
    Joint,
    Mechanism,
    Simulation,
    Tendon,
    TriangleMesh,
    linearize,
)
from robosim.description.contact_points import contact_points
from robosim.errors import ModelError, OptionError
from robosim.models.builders import sphere
from robosim.tendons import Point

RADIUS = 0.1


def yielding(body: Body, stiffness: float | None, dissipation: float = 0.0) -> Body:
    """A body whose shapes are springs."""
    own = {"stiffness": stiffness, "dissipation": dissipation}
    return replace(body, collisions=tuple(replace(s, **own) for s in body.collisions))


def resting(way: str, stiffness: float | None, dissipation: float = 0.0) -> Mechanism:
    """A ball of 1 kg, to touch the plane z = 0 as a point or a shape, on either's spring."""
    own = {"stiffness": stiffness, "dissipation": dissipation}
    if way == "point":
        robot = sphere(RADIUS)
        return replace(robot, contacts=tuple(replace(c, **own) for c in robot.contacts))
    one = ball("ball", RADIUS)
    if way == "shape":
        return free(yielding(one, **own), obstacles=(HalfSpace(),))
    return free(one, obstacles=(HalfSpace(**own),))


def outcome(speed: float, dissipation: float) -> float:
    """Speed after an impact by Hunt and Crossley's law, of whatever mass and stiffness.

    With v dv/(1 + d v) = -(k/m) x dx, d v - log(1 + d v) is the same before and after.
    """
    if dissipation == 0:
        return speed
    before = dissipation * speed - log(1 + dissipation * speed)
    found = brentq(lambda x: -x - log(1 - x) - before, 0.0, 1 - 1e-15)
    return found / dissipation


@pytest.mark.parametrize("way", ["point", "shape", "obstacle"])
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e8, 1e12])
def test_a_ball_rests_at_its_weight_over_the_stiffness(way, dt, stiffness):
    """At any step, from much longer than the period of the spring to much shorter."""
    robot = resting(way, stiffness, dissipation=1.0)
    sim = Simulation(robot, dt, tolerance=1e-12)
    weight = robot.total_mass * G
    rest = RADIUS - weight / stiffness
    sim.set_state(poses((0, 0, rest)))
    energy = sim.energy()
    for _ in range(200):
        info = sim.step()
    assert abs(sim.q[2] - rest) < 1e-9
    assert np.abs(sim.v).max() < 2e-6
    assert sim.energy() == pytest.approx(energy, abs=1e-11)
    assert info.gap == pytest.approx(-weight / stiffness, abs=1e-9)
    (contact,) = sim.contacts()
    assert contact.force[2] == pytest.approx(weight, rel=2e-5)
    assert contact.stiffness == pytest.approx(stiffness)


@pytest.mark.parametrize("way", ["point", "shape"])
@pytest.mark.parametrize("dissipation", [0.0, 0.1, 0.5, 3.0])
def test_an_impact_takes_as_long_and_leaves_as_much_as_the_law_says(way, dissipation):
    """With an error of second order: of a quarter in half the step, and no larger."""
    stiffness, speed = 1e4, 1.0
    robot = resting(way, stiffness, dissipation)
    half_period = pi * sqrt(robot.total_mass / stiffness)
    expected = outcome(speed, dissipation)
    errors, times = [], []
    for parts in (20, 80):
        dt = half_period / parts
        sim = Simulation(robot, dt, gravity=(0, 0, 0))
        sim.set_state(poses((0, 0, RADIUS + 0.3 * speed * dt)), [0, 0, -speed, 0, 0, 0])
        while sim.v[2] < 0 or sim.contacts()[0].force[2] > 1e-6:
            sim.step()
        errors.append(abs(sim.v[2] - expected) / speed)
        times.append(sim.time - 0.3 * dt)
        assert abs(sim.energy() - 0.5 * robot.total_mass * sim.v[2] ** 2) < 1e-12
    assert errors[0] < 4e-3
    assert errors[1] < 3e-4
    if dissipation == 0.0:
        assert times == pytest.approx(2 * [half_period], abs=half_period / 20)
        assert times[1] == pytest.approx(half_period, abs=half_period / 80)


def test_a_ball_that_bounces_on_a_spring_keeps_its_energy():
    robot = resting("point", 1e4)
    for parts, most in ((20, 1e-2), (80, 1e-3)):
        sim = Simulation(robot, pi * sqrt(robot.total_mass / 1e4) / parts)
        sim.set_state(poses((0, 0, RADIUS + 0.05)))
        before, worst = sim.energy(), 0.0
        while sim.time < 2.0:
            sim.step()
            worst = max(worst, abs(sim.energy() - before))
        assert worst < most * robot.total_mass * G * 0.05


@pytest.mark.parametrize("dissipation", [0.0, 1.0])
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_in_the_limit_a_spring_is_a_hard_contact(dt, dissipation):
    """Three legs land one after the other, slide, turn and come to rest, in as many iterations."""
    ends, counts = [], []
    for stiffness in (None, 1e13):
        own = {"stiffness": stiffness, "dissipation": dissipation if stiffness else 0.0}
        legs = tuple(
            ContactPoint(f"leg{k}", "stool", (*place, -0.2), friction=0.3, **own)
            for k, place in enumerate(((0.3, 0.0), (-0.2, 0.25), (-0.2, -0.2)))
        )
        stool = Body("stool", 3.0, np.diag([0.1, 0.12, 0.15]))
        sim = Simulation(free(stool, contacts=legs), dt)
        tilted = poses((0, 0, 0.23))
        tilted[3:7] = np.array([1, 0.02, -0.03, 0]) / np.linalg.norm([1, 0.02, -0.03])
        sim.set_state(tilted, [0.8, 0.2, 0, 0, 0, 1.0])
        counts.append(sum(sim.step().iterations for _ in range(int(0.6 / dt))))
        ends.append(np.concatenate((sim.q, sim.v)))
        gap = sim.min_gap()
        assert abs(gap) < 1e-9
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)
    assert counts[1] <= 1.1 * counts[0]


@pytest.mark.parametrize(("one", "other"), [((1e4, 0.0), (3e4, 0.0)), ((1e4, 0.2), (3e4, 0.5)),
                                        ((1e4, 0.2), (None, 0.0))])  # fmt: skip
def test_two_balls_yield_in_series(one, other):
    a, b = yielding(ball("a"), *one), yielding(ball("b", mass=2.0), *other)
    soft = [(k, d) for k, d in (one, other) if k is not None]
    stiffness = 1 / sum(1 / k for k, _ in soft)
    dissipation = sum(d * stiffness / k for k, d in soft)
    dt = pi * sqrt(2 / 3 / stiffness) / 100
    sim = Simulation(free(a, b, self_collision=True), dt, gravity=(0, 0, 0))
    sim.set_state(poses((0, 0, 0), (2 * RADIUS + 0.4 * dt, 0, 0)), [1.0, *np.zeros(11)])
    deepest = 0.0
    for _ in range(160):
        sim.step()
        deepest = min(deepest, sim.min_gap())
        if sim.contacts():
            assert sim.contacts()[0].stiffness == pytest.approx(stiffness)
    assert sim.v[6] - sim.v[0] == pytest.approx(outcome(1.0, dissipation), abs=2e-4)
    assert sim.momentum()[0][0] == pytest.approx(1.0, abs=1e-12)
    if dissipation == 0:
        assert deepest == pytest.approx(-sqrt(2 / 3 / stiffness), rel=1e-3)


def test_forces_of_a_table_on_four_legs_are_unique():
    """With its weight off the middle: of a rigid plane on four springs."""
    stiffness, half, mass = 1e6, np.array([0.5, 0.3]), 8.0
    off = np.array([0.1, -0.06])
    signs = [(x, y) for x in (-1, 1) for y in (-1, 1)]
    legs = tuple(
        ContactPoint(f"leg{k}", "table", (*(half * s - off), -0.4), friction=0.0,
                     stiffness=stiffness, dissipation=5.0)
        for k, s in enumerate(signs)
    )  # fmt: skip
    body = Body("table", mass, np.diag([0.5, 1.0, 1.2]))
    sim = Simulation(free(body, contacts=legs), 1e-3)
    sim.set_state(poses((0, 0, 0.4)))
    sim.run(2.0)
    # Of the deflection z + x s + y t of a rigid plane, with the load at `off`.
    expected = [mass * G / 4 * (1 + np.dot(off / half, s)) for s in signs]
    np.testing.assert_allclose(sim.contact_forces()[:, 2], expected, rtol=1e-4)


def test_a_body_is_squeezed_between_two_walls():
    """As two springs that are both compressed; a hard body would have no unique forces."""
    squeeze, stiffness = 1e-4, 1e5
    walls = tuple(
        HalfSpace((sign, 0, 0), (-sign * (0.1 - squeeze), 0, 0), 0.5, f"wall{sign}",
                  stiffness=stiffness, dissipation=0.2)
        for sign in (-1, 1)
    )  # fmt: skip
    one = ball("ball", 0.1, mass=0.2, friction=0.5)
    sim = Simulation(free(one, obstacles=walls), 1e-3)
    sim.set_state(poses((0, 0, 0)))
    sim.run(0.5)
    forces = {contact.other: contact.force for contact in sim.contacts()}
    for sign in (-1, 1):
        assert forces[f"wall{sign}"][0] == pytest.approx(sign * squeeze * stiffness, rel=1e-6)
        assert forces[f"wall{sign}"][2] == pytest.approx(0.1 * G, rel=1e-4)
    assert np.abs(sim.v).max() < 1e-6


def test_a_stack_of_boxes_settles_at_the_sum_of_its_deflections():
    stiffness, n = 2e5, 4
    boxes = [yielding(box(f"b{i}", (0.3 - 0.02 * i,) * 2 + (0.1,)), stiffness, 2.0)
             for i in range(n)]  # fmt: skip
    robot = free(*boxes, obstacles=(HalfSpace(),), self_collision=True)
    sim = Simulation(robot, 1e-3)
    sim.set_state(poses(*((0, 0, 0.05 + 0.1 * i) for i in range(n))))
    before = sim.energy()
    for _ in range(1500):
        sim.step()
        after = sim.energy()
        assert after < before + 1e-9
        before = after
    above = G * np.arange(n, 0, -1)
    # Four points on the hard ground, and on two springs in series from there on.
    each = above / 4 / np.array([stiffness] + [stiffness / 2] * (n - 1))
    expected = 0.05 + 0.1 * np.arange(n) - np.cumsum(each)
    np.testing.assert_allclose(sim.q[2::7], expected, atol=1e-8)


def shaped(kind: str, stiffness: float, rng: np.random.Generator | None = None) -> Body:
    """A compliant body of a kind of shape, about 0.2 m across and of 1 kg."""
    size = {"box": (0.2, 0.15, 0.1), "cylinder": (0.08, 0.1), "disc": (0.1, 0.02),
            "capsule": (0.05, 0.15), "ellipsoid": (0.1, 0.07, 0.05)}  # fmt: skip
    own = {"friction": 0.3, "stiffness": stiffness}
    if kind == "hull":
        points = rng.normal(size=(14, 3))
        points *= np.array((0.1, 0.08, 0.06)) / np.linalg.norm(points, axis=1)[:, None]
        shape = Geometry("mesh", vertices=points, faces=np.zeros((0, 3), dtype=int), **own)
    else:
        shape = Geometry("cylinder" if kind == "disc" else kind, size[kind], **own)
    return Body("body", 1.0, np.diag([0.004, 0.005, 0.006]), collisions=(shape,))


def on(base: str, body: Body, friction: float = 0.3) -> tuple[Mechanism, float]:
    """A body on a plane, the ground, a terrain, a heavy box or a heavy drum; how high that is."""
    if base == "ground":
        points = contact_points(body, default_friction=friction)
        return free(replace(body, collisions=()), contacts=tuple(points)), 0.0
    if base == "plane":
        return free(body, obstacles=(HalfSpace(friction=friction),)), 0.0
    if base == "terrain":
        return free(body, obstacles=(TriangleMesh(flat_mesh(0.8, 4), friction=friction),)), 0.0
    kind, size = ("box", (0.4, 0.35, 0.2)) if base == "box" else ("cylinder", (0.25, 0.2))
    heavy = Body("heavy", 50.0, np.eye(3), collisions=(Geometry(kind, size),))
    joint = Joint("fixed", "fixed", None, "heavy", parent_position=(0, 0, 0.1))
    robot = free(body, self_collision=True)
    return replace(robot, bodies=(*robot.bodies, heavy), joints=(*robot.joints, joint)), 0.2


def test_boxes_on_shared_springs_take_few_iterations():
    """Four corners of each push one spring, of both bodies: Newton's direction is exact."""
    boxes = [yielding(box(name), 1e4) for name in "ab"]
    robot = free(*boxes, obstacles=(HalfSpace(),), self_collision=True)
    sim = Simulation(robot, 5e-3, islands=False, tolerance=1e-12)
    sim.set_state(poses((0, 0, 0.1), (0.02, 0.01, 0.3)))
    iterations = [sim.step().iterations for _ in range(10)]
    assert len(sim.contacts()) == 8
    assert max(iterations[4:]) <= 4


@pytest.mark.parametrize("base", ["plane", "ground", "terrain", "box", "drum"])
@pytest.mark.parametrize(("kind", "height", "points"), [("box", 0.05, 4), ("cylinder", 0.05, 3)])
def test_a_face_rests_on_as_many_springs_as_it_lies_on_points(kind, height, points, base):
    """However many points it touches with, and the fewer of both shapes'."""
    points = 3 if base == "drum" else points
    robot, top = on(base, shaped(kind, 1e5))
    rest = top + height - G / (points * 1e5)
    extra = 25.0 * top  # of the other body, as heights times masses
    sim = Simulation(robot, 1e-3, tolerance=1e-12)
    sim.set_state(poses((0.01, 0.02, rest)))
    sim.run(0.1)
    assert sim.q[2] == pytest.approx(rest, abs=1e-9)
    assert sim.energy() == pytest.approx(G * (rest + extra) + 0.5 * G**2 / (points * 1e5), abs=1e-9)


@pytest.mark.parametrize("base", ["plane", "ground", "terrain", "box", "drum"])
@pytest.mark.parametrize("kind", ["box", "hull", "cylinder", "disc", "capsule", "ellipsoid"])
def test_energy_does_not_come_with_points_that_come_and_go(kind, base):
    """As shapes tumble over each other; the bound is what a spring takes up within a step."""
    stiffness, dt = 2e4, 2.5e-4
    for seed in range(4):
        rng = np.random.default_rng(seed)
        robot, top = on(base, shaped(kind, stiffness, rng))
        sim = Simulation(robot, dt)
        turn = rng.normal(size=4)
        start = poses((*rng.uniform(-0.2, 0.2, 2), top + 0.15))
        start[3:7] = turn / np.linalg.norm(turn)
        sim.set_state(start, [*rng.normal(size=2), -1.0, *4 * rng.normal(size=3)])
        energy = [sim.energy()]
        for _ in range(1600):
            sim.step()
            energy.append(sim.energy())
        fastest = np.sqrt(2 * (energy[0] - G * top - 0.5 * 50.0 * G * top))
        most = 0.5 * 4 * stiffness * (fastest * dt) ** 2
        gained = [e - max(energy[max(0, k - 5) : k + 1]) for k, e in enumerate(energy[1:])]
        assert max(gained) < most


@pytest.mark.parametrize("stiffness", [1e5, 1e6, 1e9])
def test_a_block_that_slides_has_coulombs_friction(stiffness):
    mu, speed = 0.4, 0.5
    own = {"stiffness": stiffness, "dissipation": 2.0, "friction": mu}
    points = tuple(
        ContactPoint(f"p{k}", "box", (0.2 * x, 0.2 * y, -0.05), **own)
        for k, (x, y) in enumerate(((-1, -1), (-1, 1), (1, -1), (1, 1)))
    )
    body = replace(box("box", (0.4, 0.4, 0.1), mass=2.0), collisions=())
    sim = Simulation(free(body, contacts=points), 1e-3)
    sim.set_state(poses((0, 0, 0.05 - 0.5 * G / stiffness)), [speed, 0, 0, 0, 0, 0])
    before = sim.energy()
    while sim.time < 0.4:
        sim.step()
        assert sim.energy() < before + 1e-9
        before = sim.energy()
    assert sim.q[0] == pytest.approx(speed**2 / (2 * mu * G), rel=2e-3)
    assert np.abs(sim.v).max() < 1e-4


@pytest.mark.parametrize("solver", ["articulated", pytest.param("ldu", marks=pytest.mark.slow)])
@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e8])
def test_an_arm_lies_on_a_limit_of_springs(stiffness, solver):
    inertia = 0.02 + 2.0 * 0.25
    robot = arm(stiffness, 0.6 * sqrt(stiffness * inertia))
    sim = Simulation(robot, 1e-3, solver=solver)
    sim.set_state([0.5], [0.0])
    sim.run(6.0)
    load = 2.0 * G * 0.5 * np.cos(sim.q[0])
    assert sim.q[0] - 0.5 == pytest.approx(load / stiffness, abs=1e-9)
    assert sim.limit_forces()[0] == pytest.approx(-load, rel=1e-5)
    assert abs(sim.v[0]) < 1e-9


def arm(stiffness: float | None, damping: float = 0.0, kind: str = "revolute", **more) -> Mechanism:
    """A link of 2 kg on a joint whose limits are springs."""
    body = Body("arm", 2.0, np.diag([0.01, 0.02, 0.03]))
    ends = {} if kind == "spherical" else {"axis": (0, 1, 0), "lower": -0.3, "upper": 0.5}
    arm_of = (0, 0, 0) if kind == "prismatic" else (-0.5, 0, 0)
    joint = Joint(
        "j", kind, None, "arm", child_position=arm_of, limit_stiffness=stiffness,
        limit_damping=damping, **ends, **more,
    )  # fmt: skip
    return Mechanism("arm", (body,), (joint,))


@pytest.mark.parametrize("ratio", [0.0, 0.2])
def test_an_arm_comes_back_from_a_limit_as_from_a_damped_spring(ratio):
    stiffness, inertia = 1e3, 0.02 + 2.0 * 0.25
    w = sqrt(stiffness / inertia)
    damped = w * sqrt(1 - ratio**2)
    # The damper never pulls: they part where both together are zero.
    time = (pi - atan2(2 * ratio * sqrt(1 - ratio**2), 1 - 2 * ratio**2)) / damped
    expected = exp(-ratio * w * time) * (sin(damped * time) * ratio * w / damped
                                         - np.cos(damped * time))  # fmt: skip
    for parts, most in ((25, 2e-2), (200, 2e-3)):
        dt = pi / w / parts
        sim = Simulation(arm(stiffness, 2 * ratio * sqrt(stiffness * inertia)), dt, (0, 0, 0))
        sim.set_state([0.5 - 0.4 * dt], [1.0])
        energy = sim.energy()
        while sim.v[0] > 0 or sim.q[0] > 0.5:
            sim.step()
        assert -sim.v[0] == pytest.approx(expected, abs=most)
        if ratio == 0:
            assert sim.energy() == pytest.approx(energy, abs=3 * most)


@pytest.mark.parametrize("which", ["cone", "largest_turn"])
def test_limits_of_a_free_rotation_are_springs(which):
    sim = Simulation(arm(1e4, 50.0, "spherical", **{which: 0.4}), 1e-3)
    sim.set_state([1, 0, 0, 0])
    sim.run(8.0)
    angle = 2 * np.arccos(sim.q[0])
    # By arcs, so to first order in what they are beyond their limit by.
    assert 1e4 * (angle - 0.4) == pytest.approx(G * np.cos(angle), rel=5e-3)


def test_a_slide_stops_on_its_spring():
    sim = Simulation(arm(1e4, 50.0, "prismatic"), 1e-3, (0, G, 0))
    sim.set_state([0.5])
    sim.run(4.0)
    assert 1e4 * (sim.q[0] - 0.5) == pytest.approx(2 * G, rel=1e-8)
    assert sim.energy() == pytest.approx(0.5 * (2 * G) ** 2 / 1e4 - 2 * G * sim.q[0], abs=1e-9)


def test_a_rope_yields_at_its_limit():
    """It hangs at the weight over the stiffness, and a fall goes as deep as the energy says."""
    weight = Body("weight", 2.0, 0.01 * np.eye(3))
    lift = Joint("lift", "prismatic", None, "weight", axis=(0, 0, 1))
    path, stiffness = (Point(None, (0, 0, 2.0)), Point("weight", (0, 0, 0))), 2e3
    for damping in (5.0, 0.0):
        rope = Tendon("rope", path, upper=1.0, limit_stiffness=stiffness, limit_damping=damping)
        sim = Simulation(Mechanism("lift", (weight,), (lift,), tendons=(rope,)), 1e-3)
        rest, fall = 2 * G / stiffness, 0.05
        if damping:
            sim.set_state([1.0 - rest])
            sim.run(0.1)
            assert sim.q[0] == pytest.approx(1.0 - rest, abs=1e-9)
            assert sim.limit_forces_of("rope") == pytest.approx([-2 * G], rel=1e-6)
            continue
        sim.set_state([1.0 + fall])
        energy, depth = sim.energy(), 0.0
        for _ in range(300):
            sim.step()
            depth = max(depth, 1.0 - sim.q[0])
            assert sim.energy() == pytest.approx(energy, rel=1e-4)
        assert depth == pytest.approx(rest + sqrt(rest**2 + 2 * rest * fall), rel=1e-4)
    with pytest.raises(ModelError, match=r"equal limits, 1.0, are a constraint"):
        Tendon("rope", path, lower=1.0, upper=1.0, limit_stiffness=stiffness)
    with pytest.raises(ModelError, match=r"limit_damping of 1.0 needs a limit_stiffness"):
        Tendon("rope", path, limit_damping=1.0)


def test_terrain_yields():
    field = HeightField(np.zeros((3, 3)), (2.0, 2.0), stiffness=1e4, dissipation=1.0)
    sim = Simulation(free(ball("ball"), obstacles=(field,)), 1e-3)
    sim.set_state(poses((0.21, 0.33, 0.1)))
    sim.run(3.0)
    assert sim.q[2] == pytest.approx(0.1 - G / 1e4, abs=1e-7)


def test_batches_take_the_same_steps():
    robot = resting("point", 1e5, 0.5)
    starts = np.tile(poses((0, 0, RADIUS + 0.01)), (9, 1))
    speeds = np.random.default_rng(1).normal(size=(9, robot.nv))
    batch = BatchSimulation(robot, 9, 1e-3)
    batch.set_state(starts, speeds)
    batch.rollout(100)
    for i in range(9):
        sim = Simulation(robot, 1e-3)
        sim.set_state(starts[i], speeds[i])
        sim.run(0.1)
        np.testing.assert_allclose(batch[i].q, sim.q, atol=1e-7)
        np.testing.assert_allclose(batch[i].contact_forces(), sim.contact_forces(), atol=1e-3)


@pytest.mark.slow
def test_derivatives_by_stiffness_and_dissipation():
    robot = resting("point", 1e4, 0.5)
    whose = robot.bodies[0].name
    sim = Simulation(robot, 1e-3, tolerance=1e-13)
    sim.set_state(poses((0, 0, RADIUS - 1e-3)), [0, 0, -0.5, 0, 0, 0])
    for name, field in (("contact_stiffness", "stiffness"), ("dissipation", "dissipation")):
        found = linearize(sim, parameters=(f"{name}:{whose}",)).P[:, 0]
        ends = []
        for change in (-1e-4, 1e-4):
            value = getattr(robot.contacts[0], field) * (1 + change)
            point = replace(robot.contacts[0], **{field: value})
            one = Simulation(replace(robot, contacts=(point,)), 1e-3, tolerance=1e-13)
            one.set_state(sim.q, sim.v)
            one.step()
            ends.append(one.v[2] / (2e-4 * getattr(robot.contacts[0], field)))
        assert found[robot.nv + 2] == pytest.approx(ends[1] - ends[0], rel=1e-4)
    with pytest.raises(OptionError, match="hard"):
        linearize(Simulation(sphere(), 1e-3), parameters=(f"dissipation:{whose}",))


@pytest.mark.parametrize(("make", "whose"), [
    (lambda **own: ContactPoint("tip", "b", (0, 0, 0), **own), "contact 'tip'"),
    (lambda **own: Geometry("sphere", (1,), name="g", **own), "geometry of 'g'"),
    (lambda **own: HalfSpace(name="floor", **own), "half-space 'floor'"),
])  # fmt: skip
@pytest.mark.parametrize(("own", "told"), [
    ({"stiffness": 0}, "stiffness must be positive, not 0.0"),
    ({"stiffness": -2.0}, "stiffness must be positive, not -2.0"),
    ({"stiffness": np.nan}, "stiffness must be finite, not nan"),
    ({"stiffness": np.inf}, "stiffness must be finite, not inf"),
    ({"stiffness": 1e3, "dissipation": -1}, "dissipation must not be negative, not -1.0"),
    ({"stiffness": 1e3, "dissipation": np.nan}, "dissipation must be finite, not nan"),
    ({"dissipation": 0.5}, "0.5 s/m needs a stiffness"),
    ({"stiffness": 1e3, "restitution": 0.5}, "exclude each other"),
])  # fmt: skip
def test_what_is_no_spring_is_refused(make, whose, own, told):
    with pytest.raises(ModelError) as error:
        make(**own)
    assert whose in str(error.value)
    assert told in str(error.value)


@pytest.mark.parametrize(("own", "told"), [
    ({"limit_stiffness": 0}, "limit_stiffness must be positive, not 0.0"),
    ({"limit_stiffness": np.nan}, "limit_stiffness must be finite, not nan"),
    ({"limit_damping": 1.0}, "limit_damping of 1.0 needs a limit_stiffness"),
    ({"limit_stiffness": 1.0, "limit_damping": -1.0}, "must not be negative, not -1.0"),
    ({"limit_stiffness": 3.0, "limit_restitution": 0.2}, "exclude each other"),
])  # fmt: skip
def test_what_is_no_spring_of_a_limit_is_refused(own, told):
    with pytest.raises(ModelError) as error:
        Joint("knee", "revolute", None, "b", **own)
    assert "joint 'knee'" in str(error.value)
    assert told in str(error.value)
