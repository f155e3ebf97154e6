"""Gaps that joints, walls or loops hold at exactly zero carry nothing, and hold nothing up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import (
    Body,
    ContactPoint,
    ConvergenceError,
    Geometry,
    HalfSpace,
    Joint,
    Mechanism,
    Simulation,
)

DT, STEPS = 5e-3, 60
TIME = STEPS * DT
SOLVERS = "articulated", "ldu"
MU = 0.5


def box(name: str, size: tuple[float, float, float], mass: float = 1.0) -> Body:
    a, b, c = size
    inertia = mass / 12 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    return Body(name, mass, inertia, collisions=(Geometry("box", size, friction=MU),))


def cart(room: float) -> Mechanism:
    rail = Joint("rail", "prismatic", None, "cart", (1, 0, 0), (0, 0, 0.1 + room))
    return Mechanism(
        "cart", (box("cart", (0.4, 0.2, 0.2)),), (rail,), obstacles=[HalfSpace(friction=MU)]
    )


@pytest.mark.parametrize("room", [0.0, 1e-12, -1e-12])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_rail_holds_what_touches_the_floor(solver, room):
    sim = Simulation(cart(room), DT, solver=solver)
    for _ in range(STEPS):
        sim.step([1.0])
    # Held forces act half at a start: the position lags by the first half step's share.
    assert sim.q[0] == pytest.approx(0.5 * TIME**2, abs=1e-9)
    assert sim.contacts() == []


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_rail_that_holds_something_inside_the_floor_is_told(solver):
    sim = Simulation(cart(-1e-3), DT, solver=solver)
    with pytest.raises(ConvergenceError, match=r"0.001 m inside of what it cannot pass"):
        sim.step()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_whole_step_is_given_up_sooner_than_its_parts(solver):
    """It may be divided. The same for parts that may not: they have more attempts."""
    iterations = []
    for most in (1, 2):
        sim = Simulation(cart(-1e-3), DT, solver=solver, max_substeps=most)
        with pytest.raises(ConvergenceError) as caught:
            sim.step()
        iterations.append(caught.value.iterations)
    assert 0 < iterations[0] < 0.9 * (iterations[1] - iterations[0])


@pytest.mark.parametrize("solver", SOLVERS)
def test_wheels_of_a_planar_base_roll_without_resistance(solver):
    """Two slides and a hinge carry it; the wheels are balls on axles whose lowest points touch."""
    frame = Body("frame", 2.0, 0.1 * np.eye(3))
    wheel = Body("wheel", 0.5, 2e-3 * np.eye(3), collisions=(Geometry("sphere", (0.1,)),))
    slider = Body("slider", 1.0, 0.1 * np.eye(3))
    turner = Body("turner", 1.0, 0.1 * np.eye(3))
    joints = (
        Joint("x", "prismatic", None, "slider", (1, 0, 0), (0, 0, 0.1)),
        Joint("y", "prismatic", "slider", "turner", (0, 1, 0)),
        Joint("yaw", "revolute", "turner", "frame", (0, 0, 1)),
        Joint("axle", "revolute", "frame", "wheel", (0, 1, 0), (0.3, 0, 0)),
    )
    robot = Mechanism(
        "base", (slider, turner, frame, wheel), joints, obstacles=[HalfSpace(friction=MU)]
    )
    sim = Simulation(robot, DT, solver=solver)
    sim.set_state([0, 0, 0.3, 0], [0.4, -0.2, 0.0, 5.0])
    energy = sim.energy()
    for _ in range(STEPS):
        sim.step()
    np.testing.assert_allclose(sim.v, [0.4, -0.2, 0.0, 5.0], atol=1e-9)
    assert sim.energy() == pytest.approx(energy, abs=1e-9)


def test_what_a_joint_can_lift_stays_a_contact():
    """The same floor under a vertical slide beside the rail's carries the weight."""
    hand = box("hand", (0.1, 0.1, 0.1))
    robot = Mechanism(
        "gantry",
        (Body("beam", 1.0, np.eye(3)), hand),
        (
            Joint("along", "prismatic", None, "beam", (1, 0, 0), (0, 0, 1)),
            Joint("down", "prismatic", "beam", "hand", (0, 0, 1), (0, 0, -0.95)),
        ),
        obstacles=[HalfSpace(friction=MU)],
    )
    sim = Simulation(robot, DT)
    for _ in range(STEPS):
        sim.step()
    carried = sum(contact.force[2] for contact in sim.contacts())
    assert carried == pytest.approx(9.81, rel=1e-6)


def walls(inside: float) -> list[Geometry]:
    """Two boxes face to face along x."""
    return [
        Geometry("box", (1, 4, 1), position=(side * (0.5 + 0.5 * inside), 0, 0), friction=MU)
        for side in (-1, 1)
    ]


@pytest.mark.parametrize("room", [0.0, 1e-12, -1e-12])
@pytest.mark.parametrize("solver", SOLVERS)
def test_what_fits_exactly_between_walls_falls(solver, room):
    block = box("block", (0.2, 0.2, 0.2))
    robot = Mechanism(
        "slot",
        (block,),
        (Joint("free", "floating", None, "block"),),
        obstacles=walls(0.2 + room),
    )
    sim = Simulation(robot, DT, solver=solver)
    gap = min(sim.step().gap for _ in range(20))
    assert gap > -2e-8
    assert sim.q[2] == pytest.approx(-0.5 * 9.81 * (20 * DT) ** 2, rel=1e-3)
    assert abs(sim.q[0]) < 2e-8


def test_walls_that_press_nothing_stop_what_is_pushed_into_one():
    """Friction at the wall that it is pushed into holds it; the other one does nothing."""
    block = box("block", (0.2, 0.2, 0.2))
    robot = Mechanism(
        "slot", (block,), (Joint("free", "floating", None, "block"),), obstacles=walls(0.2)
    )
    sim = Simulation(robot, DT)
    sim.apply_wrench("block", force=(30.0, 0.0, 0.0))
    for _ in range(20):
        sim.step()
    assert abs(sim.q[2]) < 1e-6
    assert sum(contact.force[0] for contact in sim.contacts()) == pytest.approx(-30.0, rel=1e-4)


def test_points_on_the_ground_carry_nothing_either():
    """Contact points of a body on a rail at z = 0."""
    body = Body("sled", 1.0, 0.1 * np.eye(3))
    rail = Joint("rail", "prismatic", None, "sled", (1, 0, 0))
    point = ContactPoint("runner", "sled", (0.1, 0.0, 0.0), friction=MU)
    sim = Simulation(Mechanism("sled", (body,), (rail,), (point,)), DT)
    for _ in range(STEPS):
        sim.step([1.0])
    assert sim.q[0] == pytest.approx(0.5 * TIME**2, abs=1e-9)


def chute(room: float, friction: float) -> Mechanism:
    """A ball between three upright walls, each of which it touches."""
    steel = Geometry("sphere", (0.1,), friction=friction)
    ball = Body("ball", 1.0, 4e-3 * np.eye(3), collisions=(steel,))
    around = []
    for angle in (0.0, 2 * np.pi / 3, 4 * np.pi / 3):
        turn = (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))
        center = -(0.6 + room) * np.array([np.cos(angle), np.sin(angle), 0.0])
        wall = Geometry(
            "box", (1, 4, 4), position=tuple(center), quaternion=turn, friction=friction
        )
        around.append(wall)
    joint = Joint("free", "floating", None, "ball")
    return Mechanism("chute", (ball,), (joint,), obstacles=around)


@pytest.mark.parametrize("room", [0.0, 1e-12, -1e-12])
@pytest.mark.parametrize("solver", SOLVERS)
def test_what_fits_exactly_between_three_walls_falls(solver, room):
    sim = Simulation(chute(room, 0.0), DT, solver=solver)
    gap = min(sim.step().gap for _ in range(20))
    assert gap > -2e-8
    assert sim.q[2] == pytest.approx(-0.5 * 9.81 * (20 * DT) ** 2, rel=1e-9)


@pytest.mark.parametrize("room", [0.0, -1e-12])
def test_three_walls_with_friction_are_no_failed_step(room):
    """How much they press is not determined, so that it may fall more slowly, and no faster."""
    sim = Simulation(chute(room, MU), DT)
    gap = min(sim.step().gap for _ in range(20))
    assert gap > -2e-8
    assert -0.5 * 9.81 * (20 * DT) ** 2 <= sim.q[2] <= 0.0


@pytest.mark.parametrize("friction", [0.0, MU])
def test_a_loop_holds_what_touches_the_floor(friction):
    """A floating cart on a rail that closes a loop; the floor below it just touches."""
    body = box("cart", (0.4, 0.2, 0.2))
    body = replace(body, collisions=(replace(body.collisions[0], friction=friction),))
    joints = (
        Joint("free", "floating", None, "cart"),
        Joint("rail", "prismatic", None, "cart", (1, 0, 0), (0, 0, 0.1)),
    )
    robot = Mechanism("cart", (body,), joints, obstacles=[HalfSpace(friction=friction)])
    sim = Simulation(robot, DT)
    start = np.array(sim.q)
    start[2] = 0.1
    sim.set_state(start)
    sim.apply_wrench("cart", force=(1.0, 0.0, 0.0))
    for _ in range(STEPS):
        sim.step()
    # How hard the rail presses the cart onto the floor is not determined.
    free = 0.5 * TIME**2
    assert (free if friction == 0.0 else 0.0) - 1e-9 < sim.q[0] < free + 1e-9
    assert sim.q[2] == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize("pair", [("table", "hand"), ("hand", "table")])
@pytest.mark.parametrize("way", [1, -1])
def test_either_body_of_a_contact_may_be_what_moves(pair, way):
    """A hand on a vertical slide lies on a table that only slides across: it carries the weight."""
    hand, table = box("hand", (0.1, 0.1, 0.1)), box("table", (1.0, 1.0, 0.2))
    joints = (
        Joint("across", "prismatic", None, "table", (1, 0, 0), (0, 0, -0.1)),
        Joint("down", "prismatic", None, "hand", (0, 0, 1), (0, 0, 0.05)),
    )
    robot = Mechanism("press", (table, hand)[::way], joints[::way], contact_pairs=[pair])
    sim = Simulation(robot, DT)
    for _ in range(20):
        sim.step()
    np.testing.assert_allclose(sim.q, 0, rtol=0, atol=1e-6)
    assert sum(abs(contact.force[2]) for contact in sim.contacts()) == pytest.approx(9.81, rel=1e-5)


def test_a_rail_in_a_frame_that_is_turned_holds_as_well():
    """Its axis is z of the joint's frame, which is x of the world; the cart is turned with it."""
    turn = (np.sqrt(0.5), 0, np.sqrt(0.5), 0)
    rail = Joint("rail", "prismatic", None, "cart", (0, 0, 1), (0, 0, 0.1), offset=turn)
    cart = box("cart", (0.2, 0.2, 0.2))
    robot = Mechanism("cart", (cart,), (rail,), obstacles=[HalfSpace(friction=MU)])
    sim = Simulation(robot, DT)
    for _ in range(STEPS):
        sim.step([1.0])
    assert sim.state.x[0, 0] == pytest.approx(0.5 * TIME**2, abs=1e-9)


@pytest.mark.parametrize("pair", [("lift", "cart"), ("cart", "lift")])
def test_what_carries_both_bodies_of_a_contact_does_not_part_them(pair):
    """A cart on a rail of a lift just touches it, and rolls there as if it did not."""
    cart, lift = box("cart", (0.1, 0.1, 0.1)), box("lift", (1.0, 1.0, 0.2))
    joints = (
        Joint("up", "prismatic", None, "lift", (0, 0, 1)),
        Joint("rail", "prismatic", "lift", "cart", (1, 0, 0), (0, 0, 0.15)),
    )
    robot = Mechanism("lift", (lift, cart), joints, contact_pairs=[pair])
    sim = Simulation(robot, DT)
    for _ in range(STEPS):
        sim.step([30.0, 1.0])
    assert sim.contacts() == []
    np.testing.assert_allclose(sim.v, [(15 - 9.81) * TIME, TIME], rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_wheel_on_a_hinge_that_is_not_at_its_centre_of_mass_swings(solver):
    """Its rim is round about the hinge, so it touches the floor and never presses on it."""
    rim = Geometry("sphere", (0.1,), position=(0.03, 0, 0.02), friction=MU)
    wheel = Body("wheel", 1.0, 0.01 * np.eye(3), collisions=(rim,))
    axle = Joint("axle", "revolute", None, "wheel", (0, 1, 0), (0, 0, 0.1), (0.03, 0, 0.02))
    ends = []
    for obstacles in ([HalfSpace(friction=MU)], []):
        sim = Simulation(
            Mechanism("wheel", (wheel,), (axle,), obstacles=obstacles), DT, solver=solver
        )
        for _ in range(STEPS):
            sim.step()
        ends.append(np.append(sim.q, sim.v))
    assert abs(ends[0][1]) > 0.1
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)
