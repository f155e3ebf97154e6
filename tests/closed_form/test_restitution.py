"""Contacts that bounce: heights, times and velocities after an impact in closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from touching import G, about_y, ball, box, free, poses, roller

from robosim import (
    Body,
    ContactPoint,
    Geometry,
    HalfSpace,
    Joint,
    Mechanism,
    Simulation,
    TriangleMesh,
)
from robosim.dynamics import mass_matrix
from robosim.errors import ModelError, OptionError
from robosim.models.builders import sphere

RADIUS = 0.1


def alone(value: str):
    """A case for which kernels are compiled that no other test uses: a minute or two."""
    return pytest.param(value, marks=pytest.mark.slow)


# That solver's impacts are tried with shapes below.
SOLVERS = "articulated", alone("ldu")


def elastic(body: Body, e: float) -> Body:
    """A body whose shapes bounce."""
    return replace(body, collisions=tuple(replace(s, restitution=e) for s in body.collisions))


def bouncing(e: float) -> Mechanism:
    """A ball above the ground z = 0."""
    robot = sphere(RADIUS)
    return replace(robot, contacts=tuple(replace(c, restitution=e) for c in robot.contacts))


def height_of(time: float, e: float, h: float) -> float:
    """Height at a time of a ball that was dropped from h."""
    speed = np.sqrt(2 * G * h)
    time -= speed / G
    if time < 0:
        return h - G * (time + speed / G) ** 2 / 2
    while True:
        speed *= e
        if time < 2 * speed / G:
            return speed * time - G * time**2 / 2
        time -= 2 * speed / G


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("e", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("dt", [1e-3, 4e-3, 1e-2])
def test_a_ball_bounces_to_heights_and_at_times_in_closed_form(e, dt, solver):
    """Heights are exact; an impact is early by 3 % of a step, and so is the way back over e."""
    sim = Simulation(bouncing(e), dt, solver=solver)
    sim.set_state(poses((0, 0, RADIUS + 1.0)))
    bounces, error, before = 0, 0.0, 0.0
    while bounces < 4 and sim.time < 2.0:
        sim.step()
        assert sim.min_gap() >= 0
        bounces += sim.v[2] > 0 > before
        before = sim.v[2]
        energy = sim.energy() - G * RADIUS
        assert energy == pytest.approx(G * e ** (2 * bounces), rel=1e-6)
        error = abs(sim.q[2] - RADIUS - height_of(sim.time, e, 1.0))
        late = 0.03 * dt * (1 + 1 / e) * (bounces + 1)
        assert error <= late * np.sqrt(2 * G), (sim.time, bounces)
    assert bounces >= 2


def test_a_ball_that_loses_nothing_bounces_for_ever():
    sim = Simulation(bouncing(1.0), 5e-3)
    sim.set_state(poses((0, 0, RADIUS + 0.1)))
    energy = sim.energy()
    for _ in range(6000):
        sim.step()
    assert sim.energy() == pytest.approx(energy, rel=1e-8)


def test_what_rests_does_not_rattle():
    """Neither what was put down, nor what falls more slowly than the threshold."""
    for drop, dt in ((0.0, 2e-3), (4e-6, 2e-3), (4e-6, 1e-3), (0.0, 2e-2)):
        sim = Simulation(bouncing(1.0), dt)
        sim.set_state(poses((0, 0, RADIUS + drop)))
        for _ in range(50):
            sim.step()
        for _ in range(50):
            sim.step()
            assert abs(sim.v[2]) < 1e-6
            assert sim.q[2] == pytest.approx(RADIUS, abs=1e-9)


def test_a_higher_threshold_stops_faster_impacts():
    sim = Simulation(bouncing(1.0), 1e-3, restitution_threshold=2.0)
    sim.set_state(poses((0, 0, RADIUS + 0.1)))
    for _ in range(300):
        sim.step()
    assert sim.energy() == pytest.approx(G * RADIUS, rel=1e-6)


def test_a_spinning_ball_takes_friction_from_the_impulse_of_the_impact():
    """It slides all the while: mu (1 + e) times the speed of the impact along the ground."""
    mu, e, speed = 0.1, 0.5, 2.0
    robot = bouncing(e)
    robot = replace(robot, contacts=tuple(replace(c, friction=mu) for c in robot.contacts))
    sim = Simulation(robot, 1e-3, gravity=(0, 0, 0))
    sim.set_state(poses((0, 0, RADIUS + 0.005)), [5.0, 0, -speed, 0, 0, 0])
    for _ in range(10):
        sim.step()
    change = mu * (1 + e) * speed
    expected = [5.0 - change, 0, e * speed, 0, change * 5 / (2 * RADIUS), 0]
    # To (omega dt)^2 / 6, as the momentum is that of a chord.
    np.testing.assert_allclose(sim.v, expected, rtol=2e-5, atol=1e-9)


def test_a_rod_that_hits_with_one_end_turns():
    """P = (1 + e) u / (1/m + arm^2/J) for the speed u of its lowest end."""
    mass, length, tilt, e, speed = 2.0, 0.6, 0.4, 0.6, 1.5
    J = mass * length**2 / 12
    ends = [
        ContactPoint(f"end{k}", "rod", (x, 0, 0), friction=0.0, restitution=e)
        for k, x in enumerate((-length / 2, length / 2))
    ]
    rod = Body("rod", mass, np.diag([J / 100, J, J]))
    joint = Joint("base", "floating", None, "rod")
    sim = Simulation(Mechanism("rod", (rod,), (joint,), tuple(ends)), 1e-4, gravity=(0, 0, 0))
    z = length / 2 * np.sin(tilt) + 0.0003
    sim.set_state([0, 0, z, *about_y(tilt)], [0, 0, -speed, 0, 0, 0])
    for _ in range(6):
        sim.step()
    arm = length / 2 * np.cos(tilt)
    impulse = (1 + e) * speed / (1 / mass + arm**2 / J)
    # The end that is down, that of positive x, is pushed up: against a turn about y.
    np.testing.assert_allclose(sim.v[2], impulse / mass - speed, rtol=1e-3)
    np.testing.assert_allclose(sim.v[4], -impulse * arm / J, rtol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_leg_lands_as_its_mass_matrix_tells(solver):
    """v+ = v- + M^-1 J^T P with J v+ = -e J v-; its joint holds."""
    e = 0.5
    trunk = Body("trunk", 3.0, 0.02 * np.eye(3))
    leg = Body("leg", 1.0, np.diag([0.008, 0.008, 0.001]))
    joints = (
        Joint("base", "floating", None, "trunk"),
        Joint(
            "hip", "revolute", "trunk", "leg", axis=(0, 1, 0),
            parent_position=(0.1, 0, 0), child_position=(0, 0, 0.15), armature=0.01,
        ),
    )  # fmt: skip
    foot = ContactPoint("foot", "leg", (0, 0, -0.15), friction=0.0, restitution=e)
    robot = Mechanism("hopper", (trunk, leg), joints, (foot,))
    sim = Simulation(robot, 1e-4, gravity=(0, 0, 0), solver=solver)
    q, v = np.array(robot.home), np.array([0, 0, -1.0, 0, 0, 0, 0.0])
    q[7] = 0.5
    q[2] = 0.3 * np.cos(0.5) + 3e-4
    sim.set_state(q, v)
    M = mass_matrix(robot, q)
    J = np.array([0, 0, 1.0, 0, -0.1 + 0.3 * np.sin(0.5), 0, 0.3 * np.sin(0.5)])
    inverse = np.linalg.inv(M)
    impulse = -(1 + e) * (J @ v) / (J @ inverse @ J)
    for _ in range(6):
        assert sim.step().violation < 1e-8
    np.testing.assert_allclose(sim.v, v + inverse @ J * impulse, atol=5e-3)


SURFACES = {
    "half-space": (HalfSpace(), 0.0),
    "box": (Geometry("box", (1, 1, 0.2), position=(0, 0, -0.1)), 0.0),
    "sphere": (Geometry("sphere", (0.3,), position=(0, 0, -0.3)), 0.0),
}


@pytest.mark.parametrize("of_ball", [True, False])
@pytest.mark.parametrize("surface", SURFACES)
def test_a_ball_bounces_off_shapes(surface, of_ball):
    """The higher coefficient of the two counts, whichever has it."""
    shape, _ = SURFACES[surface]
    e, other = 0.8, 0.2
    shape = replace(shape, restitution=other if of_ball else e)
    body = elastic(ball("a"), e if of_ball else other)
    sim = Simulation(free(body, obstacles=[shape]), 2e-3, solver="ldu")
    sim.set_state(poses((0, 0, RADIUS + 0.5)))
    while sim.v[2] <= 0:
        sim.step()
    assert sim.energy() - G * RADIUS == pytest.approx(G * 0.5 * e**2, rel=1e-6)


@pytest.mark.parametrize("cone", ["second_order", alone("linearized")])
def test_two_balls_part_as_newton_has_it(cone):
    """Without friction, along the line of their centres, which is oblique."""
    e, masses, d = 0.6, (1.0, 3.0), np.array([0.8, 0.6, 0.0])
    bodies = [elastic(ball(f"b{k}", mass=m, friction=0.0), e) for k, m in enumerate(masses)]
    robot = free(*bodies, contact_pairs=[("b0", "b1")])
    sim = Simulation(robot, 1e-3, gravity=(0, 0, 0), friction_cone=cone)
    v = np.zeros((2, 6))
    v[0, :3] = 2.0 * d + 0.3 * np.array([-0.6, 0.8, 0.0])
    centre = (2 * RADIUS + 0.0053) * d + 0.0053 / 2.0 * 0.3 * np.array([-0.6, 0.8, 0.0])
    sim.set_state(poses((0, 0, 0), tuple(centre)), v.ravel())
    momentum = sim.momentum()
    for _ in range(8):
        sim.step()
    impulse = (1 + e) * 2.0 / (1 / masses[0] + 1 / masses[1])
    v[0, :3] -= impulse / masses[0] * d
    v[1, :3] += impulse / masses[1] * d
    np.testing.assert_allclose(sim.v.reshape(2, 6)[:, :3], v[:, :3], atol=2e-3)
    for before, after in zip(momentum, sim.momentum(), strict=True):
        np.testing.assert_allclose(after, before, atol=1e-12)


def test_balls_that_fall_together_part_as_without_gravity():
    """They come together at 1 m/s, and part at e times that.

    Gravity moves both alike, so it changes nothing of how fast they come near to each other.
    """
    e = 0.5
    bodies = [elastic(ball(f"b{k}", friction=0.0), e) for k in range(2)]
    robot = free(*bodies, contact_pairs=[("b0", "b1")])
    sim = Simulation(robot, 2e-3, (0, 0, -100.0))
    apart = 2 * RADIUS + 0.0113
    sim.set_state(poses((0, 0, 0), (0, 0, apart)), [0] * 8 + [-1.0, 0, 0, 0])
    for _ in range(12):
        sim.step()
    assert sim.v[8] - sim.v[2] == pytest.approx(e, rel=1e-9)
    assert sim.v[2] + sim.v[8] == pytest.approx(-1.0 - 200.0 * sim.time, rel=1e-9)


@pytest.mark.parametrize("gap", [0.0, 1e-5, 1e-3])
def test_in_a_row_of_five_balls_the_last_one_leaves(gap):
    bodies = [elastic(ball(f"b{k}"), 1.0) for k in range(5)]
    robot = free(*bodies, contact_pairs=[(f"b{k}", f"b{k + 1}") for k in range(4)])
    sim = Simulation(robot, 2e-3, gravity=(0, 0, 0))
    x = np.arange(5) * (2 * RADIUS + gap)
    x[0] -= 0.0137
    v = np.zeros((5, 6))
    v[0, 0] = 1.0
    sim.set_state(poses(*((x[k], 0, 0) for k in range(5))), v.ravel())
    for _ in range(20):
        sim.step()
    np.testing.assert_allclose(sim.v.reshape(5, 6)[:, 0], [0, 0, 0, 0, 1], atol=1e-4)
    assert sim.energy() == pytest.approx(0.5, rel=1e-6)


def test_newtons_cradle_of_five():
    """Hung on hinges: the last ball rises as high as the first one was, the others stay."""
    n, length, angle = 5, 0.5, 0.4
    bodies = [elastic(ball(f"b{k}", friction=0.0), 1.0) for k in range(n)]
    joints = [
        Joint(
            f"j{k}", "revolute", None, f"b{k}", axis=(0, 1, 0),
            parent_position=(2 * RADIUS * k, 0, length), child_position=(0, 0, length),
        )
        for k in range(n)
    ]  # fmt: skip
    pairs = [(f"b{k}", f"b{k + 1}") for k in range(n - 1)]
    robot = Mechanism("cradle", tuple(bodies), tuple(joints), contact_pairs=tuple(pairs))
    sim = Simulation(robot, 2e-3)
    q = np.zeros(n)
    q[0] = angle
    sim.set_state(q)
    energy, highest = sim.energy(), np.zeros(n)
    period = 2 * np.pi * np.sqrt((length + 0.4 * RADIUS**2 / length) / G)
    for _ in range(round(0.6 * period / sim.timestep)):
        sim.step()
        highest = np.maximum(highest, -sim.q)
        assert sim.energy() <= energy + 1e-5
    assert highest[-1] == pytest.approx(angle, rel=0.01)
    assert np.all(highest[:-1] < 0.01 * angle)


@pytest.mark.parametrize("friction", [0.0, 0.3, 1.0])
def test_energy_of_a_box_that_tumbles_never_rises(friction):
    body = elastic(box("a", (0.3, 0.2, 0.1), friction=friction), 0.8)
    sim = Simulation(free(body, obstacles=[HalfSpace(friction=friction)]), 1e-3, solver="ldu")
    turn = np.array([0.8, 0.3, -0.4, 0.2])
    sim.set_state([0, 0, 0.5, *turn / np.linalg.norm(turn)], [1.0, 0.5, 0, 3.0, -2.0, 4.0])
    energy = start = sim.energy()
    for _ in range(1200):
        sim.step()
        assert sim.energy() <= energy + 2e-4 * start
        energy = min(energy, sim.energy())
    assert energy < 0.9 * start


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_a_double_pendulum_that_strikes_the_ground_gains_nothing(e):
    """Where friction and restitution by themselves would give it energy, as Kane noted."""
    angles, rates, half = np.radians([20.0, 30.0]), np.array([-0.1, -0.2]), np.array([0, 0, 0.5])
    rods = tuple(Body(name, 1.0, np.diag((1 / 12, 1 / 12, 1e-3))) for name in ("upper", "lower"))
    above = (0, 0, np.cos(angles).sum() + 1e-6)
    hinges = (
        Joint("first", "revolute", None, "upper", (0, 1, 0), above, half),
        Joint("second", "revolute", "upper", "lower", (0, 1, 0), -half, half),
    )
    places = ("tip", "lower", -half), ("knee", "upper", -half), ("top", "upper", half)
    points = tuple(ContactPoint(*place, 0.0, 0.3, restitution=e) for place in places)
    sim = Simulation(Mechanism("pendulum", rods, hinges, points), 1e-3, (0, 0, 0))
    relative = np.array([[1, 0], [-1, 1]])
    sim.set_state(relative @ angles, relative @ rates)
    energy, before = sim.energy(), sim.v
    sim.step()
    assert sim.energy() == pytest.approx(energy, rel=1e-6)
    assert np.abs(sim.v - before).max() > 0.1
    assert sim.min_gap() > 0.0


SQUARE = np.array([[-5, -5, 0], [5, -5, 0], [5, 5, 0], [-5, 5, 0]], float)
FLOORS = {
    "half-space": HalfSpace(friction=0.0),
    "box": Geometry("box", (50, 50, 1), position=(0, 0, -0.5), friction=0.0, name="floor"),
    "mesh": TriangleMesh(
        Geometry("mesh", vertices=SQUARE, faces=np.array([[0, 1, 2], [0, 2, 3]])), friction=0.0
    ),
}


@pytest.mark.parametrize("dt", [0.001, 0.002])
@pytest.mark.parametrize(
    ("size", "floor", "drops"),
    [
        *(
            (size, "half-space", 30)
            for size in ((0.08, 0.1), (0.1, 0.01), (0.1, 0.002), (0.05, 0.4))
        ),
        ((0.08, 0.1), "box", 4),
        ((0.08, 0.1), "mesh", 4),
        ((0.1, 0.01), "mesh", 4),
    ],
)
def test_a_cylinder_without_friction_loses_no_energy(size, floor, drops, dt):
    """Its lowest point goes round its rims on the way down: gaps close along curves."""
    (radius, length), rng = size, np.random.default_rng(5)
    across, along = (3 * radius**2 + length**2) / 12, radius**2 / 2
    shape = Geometry("cylinder", size, restitution=1.0, friction=0.0)
    body = Body("b", 1.0, np.diag([across, across, along]), collisions=(shape,))
    robot = free(body, obstacles=[FLOORS[floor]])
    for _ in range(drops):
        turn = rng.normal(size=4)
        sim = Simulation(robot, dt)
        sim.set_state([0, 0, 0.6, *turn / np.linalg.norm(turn)], [0.1, 0, 0, 3, 2, 1])
        before = sim.energy()
        for _ in range(round(2.0 / dt)):
            sim.step()
        # Velocities are read along arcs, whose energy is by so much that of the momenta.
        assert sim.energy() == pytest.approx(before, rel=5e-3)


@pytest.mark.parametrize("dt", [0.0005, 0.001])
@pytest.mark.parametrize("floor", FLOORS)
def test_a_box_without_friction_loses_no_energy(floor, dt):
    """Also where two corners are hit in one step: an impact lets features be looked for again."""
    rng = np.random.default_rng(5)
    shape = Geometry("box", (0.16, 0.16, 0.1), restitution=1.0, friction=0.0)
    body = Body("b", 1.0, np.diag([0.004, 0.004, 0.007]), collisions=(shape,))
    robot = free(body, obstacles=[FLOORS[floor]])
    for _ in range(4):
        turn = rng.normal(size=4)
        sim = Simulation(robot, dt)
        sim.set_state([0, 0, 0.6, *turn / np.linalg.norm(turn)], [0.1, 0, 0, 3, 2, 1])
        before = sim.energy()
        sim.run(3.0)
        assert sim.energy() == pytest.approx(before, rel=5e-3)


def test_a_box_that_falls_flat_rises_flat():
    """All four corners are hit together."""
    e = 0.5
    body = elastic(box("a"), e)
    sim = Simulation(free(body, obstacles=[HalfSpace()]), 1e-3, solver="ldu")
    sim.set_state(poses((0, 0, 0.1 + 0.2)))
    while sim.v[2] <= 0:
        sim.step()
    assert sim.energy() - G * 0.1 == pytest.approx(G * 0.2 * e**2, rel=1e-6)
    np.testing.assert_allclose(sim.v[3:], 0, atol=1e-8)


@pytest.mark.parametrize("dt", [1e-2, 5e-3])
def test_a_ball_on_a_plate_that_lies_on_the_ground(dt):
    """The plate is not approached by the ground before the ball has hit it: one after the other."""
    e, fall, m, M = 0.7, 0.1, 1.0, 2.0
    bodies = box("plate", (0.4, 0.4, 0.1), M), ball("ball", 0.1, m)
    bodies = [
        replace(b, collisions=tuple(replace(s, restitution=e) for s in b.collisions))
        for b in bodies
    ]
    robot = free(*bodies, contact_pairs=[("plate", "ball")], obstacles=(HalfSpace(),))
    sim = Simulation(robot, dt, islands=False, tolerance=1e-12)
    sim.set_state(poses((0, 0, 0.05), (0, 0, 0.2 + fall)))
    hit = np.sqrt(2 * fall / G)
    sim.run(dt * np.ceil(hit / dt))
    below, above = 0.0, -np.sqrt(2 * G * fall)
    for _ in range(100):
        if below - above > 0.01:
            push = (1 + e) * (below - above) * m * M / (m + M)
            below, above = below - push / M, above + push / m
        elif below < -0.01:
            below *= -e
    fallen = G * (sim.time - hit)
    np.testing.assert_allclose(sim.v[[2, 8]], (below - fallen, above - fallen), rtol=0, atol=2e-3)


def test_what_is_near_is_not_hit_along_with_what_is_reached():
    """Balls that land one after the other within a step bounce as each does alone."""
    heights, ends = (0.4, 0.41, 0.405), []
    shape = replace(ball("b").collisions[0], restitution=0.8)
    balls = [replace(ball(f"b{k}"), collisions=(shape,)) for k in range(3)]
    for which in ((0, 1, 2), (0,), (1,), (2,)):
        robot = free(*(balls[k] for k in which), obstacles=(HalfSpace(),))
        sim = Simulation(robot, 1e-2, islands=False)
        sim.set_state(poses(*((float(k), 0, heights[k]) for k in which)))
        sim.run(0.4)
        ends.append(sim.q[2::7])
    np.testing.assert_allclose(ends[0], np.concatenate(ends[1:]), rtol=0, atol=5e-4)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_a_rim_that_lands_too_slowly_to_bounce_moves_as_without_restitution(solver):
    """Whether it is hit is measured along a free fall, which must not be where the step ends."""
    ends = []
    for e in (0.0, 0.5):
        coin = roller("coin", "cylinder", 0.1, 0.02)
        shape = replace(coin.collisions[0], restitution=e)
        robot = free(replace(coin, collisions=(shape,)), obstacles=(HalfSpace(),))
        sim = Simulation(robot, 1e-3, (0, 0, 0), solver=solver)
        height = 0.1 * np.sin(0.7) + 0.01 * np.cos(0.7) + 1e-6
        sim.set_state([0, 0, height, np.cos(0.35), np.sin(0.35), 0, 0], [0, 0, -0.009, 0, 0, 0])
        sim.step()
        ends.append(sim.q)
        assert sim.min_gap() >= -1e-8
    np.testing.assert_array_equal(*ends)


def test_a_coin_that_rolls_is_not_hit_by_what_it_rolls_on():
    """Its lowest point comes down from above, but the rim touches all the time."""
    lean, ends = 0.5, []
    for e in (0.0, 0.5):
        coin = roller("coin", "cylinder", 0.1, 0.02)
        shape = replace(coin.collisions[0], restitution=e)
        sim = Simulation(free(replace(coin, collisions=(shape,)), obstacles=(HalfSpace(),)), 1e-3)
        half = (np.pi / 2 - lean) / 2
        height = 0.1 * np.cos(lean) + 0.01 * np.sin(lean)
        sim.set_state([0, 0, height, np.cos(half), np.sin(half), 0, 0], [0.2, 0, 0, 0, 0, -4.0])
        sim.run(0.3)
        ends.append(sim.q[:3])
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-3)


def test_copies_go_on_with_every_bit():
    sim = Simulation(bouncing(0.7), 4e-3)
    sim.set_state(poses((0, 0, RADIUS + 1.0)), [0.3, 0, 0, 0, 5.0, 0])
    for _ in range(100):
        sim.step()
    other, before = sim.copy(), sim.copy()
    for _ in range(150):
        sim.step()
        other.step()
    np.testing.assert_array_equal(sim.q, other.q)
    other.restore(before)
    for _ in range(150):
        other.step()
    np.testing.assert_array_equal(sim.q, other.q)


@pytest.mark.parametrize("value", [-0.1, 1.5, np.nan])
def test_coefficients_are_from_0_to_1(value):
    with pytest.raises(ModelError, match="restitution"):
        HalfSpace(restitution=value)
    with pytest.raises(ModelError, match="restitution"):
        Geometry("sphere", (0.1,), restitution=value)
    with pytest.raises(ModelError, match="restitution"):
        ContactPoint("a", "b", (0, 0, 0), restitution=value)


def test_the_threshold_is_not_negative():
    with pytest.raises(OptionError, match="restitution_threshold"):
        Simulation(bouncing(0.5), restitution_threshold=-1.0)
