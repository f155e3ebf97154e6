"""Poses and velocities that violate loops, gears and motions, and what cannot be satisfied."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import Array, close_at, random_coordinates, random_tree, turned
from scipy.optimize import minimize_scalar

from robosim import (
    Body,
    Coupling,
    Joint,
    Mechanism,
    ModelError,
    PointSpring,
    Simulation,
    StateError,
)
from robosim.quaternions import conjugate, from_rotation_vector, multiply, rotation_vector

ACROSS = (0.0, 1.0, 0.0)


def four_bar(coupler: float = 1.0, **crank) -> Mechanism:
    """Two bars of 1 m a metre apart, up along z, and a coupler between their ends."""
    lengths = {"left": 1.0, "right": 1.0, "coupler": coupler}
    bodies = tuple(Body(name, 1.0, np.diag([1, 1, 1]) / 12) for name in lengths)
    return Mechanism(
        "four-bar",
        bodies,
        (
            Joint("a", "revolute", None, "left", ACROSS, (0, 0, 0), (0, 0, -0.5), **crank),
            Joint("b", "revolute", None, "right", ACROSS, (1, 0, 0), (0, 0, -0.5)),
            Joint("c", "revolute", "left", "coupler", ACROSS, (0, 0, 0.5), (-coupler / 2, 0, 0)),
            Joint("d", "revolute", "coupler", "right", ACROSS, (coupler / 2, 0, 0), (0, 0, 0.5)),
        ),
    )


def closed_loop(seed: int) -> tuple[Mechanism, Array]:
    """A random mechanism with two loops, and a pose at which they are closed."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 5, "floating", ("spherical", "cylindrical", "revolute", "planar"))
    q = random_coordinates(rng, tree)
    return close_at(rng, tree, q, [("spherical", "b0", "b4"), ("planar", "b1", "b3")]), q


def disturbed(rng: np.random.Generator, sim: Simulation, by: float) -> tuple[Array, Array]:
    """The bodies' poses, each moved and turned by about `by`."""
    x = sim.state.x + by * rng.normal(size=sim.state.x.shape)
    return x, np.array([turned(q, by * rng.normal(size=3)) for q in sim.state.q])


@pytest.mark.parametrize("seed", range(5))
def test_bodies_are_put_onto_all_joints(seed):
    """From poses that violate every joint; and once there they stay."""
    robot, _ = closed_loop(seed)
    sim, rng = Simulation(robot), np.random.default_rng(seed)
    x, q = disturbed(rng, sim, 0.05)
    v, omega = rng.normal(size=(2, 5, 3))
    sim.set_body_state(x, q, v, omega)
    assert sim.constraint_violation() < 1e-12
    once = [getattr(sim.state, name).copy() for name in ("x", "q", "v", "omega")]
    sim.set_body_state(*once)
    for name, before in zip(("x", "q", "v", "omega"), once, strict=True):
        np.testing.assert_allclose(getattr(sim.state, name), before, rtol=0, atol=1e-9)


class Parallelogram:
    """The motions that the four-bar of equal bars allows: one angle, from its tree."""

    def __init__(self) -> None:
        robot = four_bar()
        self.sim = Simulation(replace(robot, joints=robot.tree_joints, home=None))
        assert [joint.name for joint in self.sim.robot.joints] == ["a", "c", "b"]

    def at(self, angle: float, rate: float = 0.0) -> Simulation:
        self.sim.set_state(angle * np.array([1.0, -1, 1]), rate * np.array([1.0, -1, 1]))
        return self.sim


def distance(robot: Mechanism, a: Array, b: Array, turns: Array) -> float:
    """Square in the mass metric of moves from a to b and of turns in body axes, (nb, 3) each."""
    return float(
        sum(
            body.mass * (y - x) @ (y - x) + turn @ body.inertia @ turn
            for body, x, y, turn in zip(robot.bodies, a, b, turns, strict=True)
        )
    )


def test_a_projection_is_the_smallest_motion_of_the_bodies():
    """Among all closed poses, up to the square of the violation."""
    sim, rng, allowed = Simulation(four_bar()), np.random.default_rng(0), Parallelogram()
    sim.set_state([0.4, -0.4, 0.4])
    x, q = disturbed(rng, sim, 0.01)

    def size(at: Simulation) -> float:
        turns = [
            rotation_vector(multiply(conjugate(a), b)) for a, b in zip(q, at.state.q, strict=True)
        ]
        return distance(sim.robot, x, at.state.x, np.array(turns))

    sim.set_body_state(x, q)
    best = minimize_scalar(
        lambda angle: size(allowed.at(angle)), bracket=(0.3, 0.5), options={"xtol": 1e-10}
    )
    assert best.fun > 1e-4
    assert sim.q[0] == pytest.approx(best.x, abs=1e-3)
    assert size(sim) == pytest.approx(best.fun, rel=1e-3)


def test_a_projected_velocity_is_the_nearest_one():
    """It is allowed, and what was taken away is orthogonal to all that is, in the mass metric."""
    sim, allowed = Simulation(four_bar()), Parallelogram().at(0.4, 1.0)
    sim.set_state([0.4, -0.4, 0.4])
    x, q = sim.state.x.copy(), sim.state.q.copy()
    rng = np.random.default_rng(1)
    v, omega = rng.normal(size=(2, 3, 3))
    sim.set_body_state(x, q, v, omega)
    np.testing.assert_allclose(sim.v, sim.v[0] * np.array([1, -1, 1]), rtol=0, atol=1e-9)
    assert abs(sim.v[0]) > 0.01
    masses, inertias = (
        np.array([getattr(body, name) for body in sim.robot.bodies]) for name in ("mass", "inertia")
    )
    taken = np.einsum("b,bi,bi", masses, v - sim.state.v, allowed.state.v)
    taken += np.einsum("bi,bij,bj", omega - sim.state.omega, inertias, allowed.state.omega)
    # The compliance of redundant constraints is 1e-10 of what acts on them.
    assert taken == pytest.approx(0.0, abs=1e-8)


def test_joints_that_are_held_stay_while_a_loop_is_closed():
    sim = Simulation(four_bar())
    sim.set_state([0.5, 0.0, 0.0], hold=["a"])
    np.testing.assert_allclose(sim.q, [0.5, -0.5, 0.5], rtol=0, atol=1e-9)
    assert sim.constraint_violation() < 1e-12


def test_a_driven_joint_starts_where_it_is_driven():
    sim = Simulation(four_bar(motion=lambda t: 0.3 + np.sin(t)))
    sim.set_state([0.0, 0.0, 0.0], time=0.2)
    angle, rate = 0.3 + np.sin(0.2), np.cos(0.2)
    np.testing.assert_allclose(sim.q, angle * np.array([1, -1, 1]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(sim.v, rate * np.array([1, -1, 1]), rtol=0, atol=1e-6)


def test_a_gear_is_satisfied_from_a_rough_state():
    """By as little as can be: equal wheels share what is missing."""
    bodies = tuple(Body(name, 1.0, np.eye(3)) for name in "ab")
    joints = tuple(Joint(f"j{name}", "revolute", None, name) for name in "ab")
    robot = Mechanism("gear", bodies, joints, couplings=(Coupling("g", "jb", "ja", 1.0, 0.5),))
    sim = Simulation(robot)
    sim.set_state([0.1, 0.2], [1.0, 0.0])
    np.testing.assert_allclose(sim.q, [-0.1, 0.4], rtol=0, atol=1e-9)
    np.testing.assert_allclose(sim.v, [0.5, 0.5], rtol=0, atol=1e-9)


def refuse(sim: Simulation, message: str, **state) -> str:
    """The error of set_state, which leaves everything as it was."""
    before = [array.copy() for array in (sim.q, sim.v, sim.state.x, sim.state.q, sim.state.v)]
    time = sim.time
    with pytest.raises(StateError, match=message) as caught:
        sim.set_state(**state)
    after = (sim.q, sim.v, sim.state.x, sim.state.q, sim.state.v)
    for left, right in zip(before, after, strict=True):
        np.testing.assert_array_equal(left, right)
    assert sim.time == time
    return str(caught.value)


def test_links_that_are_too_short_are_refused():
    """With what is left, and the joints where; the gap of half a metre is shared by the bars."""
    with pytest.raises(StateError, match=r"cannot be satisfied .* is left, at joints \[") as caught:
        Simulation(four_bar(coupler=3.5))
    assert "'d'" in str(caught.value)


def test_a_pose_that_cannot_be_reached_leaves_the_state():
    """Held where the coupler is too short to reach."""
    sim = Simulation(four_bar())
    sim.set_state([0.4, -0.4, 0.4], [1.0, -1.0, 1.0], time=2.0)
    text = refuse(sim, "cannot be satisfied", q=[-1.2, 1.2, 1.2], hold=["a", "b"])
    assert "'c'" in text or "'d'" in text


def test_a_motion_against_a_closed_loop_is_refused():
    """A bar that is welded to the world cannot be driven."""
    bodies = (Body("a", 1.0, np.eye(3)),)
    joints = (
        Joint("crank", "revolute", None, "a", motion=lambda t: 0.2 + t),
        Joint("weld", "fixed", None, "a"),
    )
    with pytest.raises(StateError, match="cannot be satisfied from here") as caught:
        Simulation(Mechanism("contradiction", bodies, joints))
    assert "'weld'" in str(caught.value)


def test_a_spring_between_points_needs_a_direction():
    """Of two points that coincide there is none."""
    joint = Joint("slide", "prismatic", None, "b", (1, 0, 0))
    spring = PointSpring("coil", None, "b", stiffness=1.0)
    robot = Mechanism("m", (Body("b", 1.0, np.eye(3)),), (joint,), springs=(spring,), home=[1.0])
    sim = Simulation(robot)
    refuse(sim, "spring 'coil'.*length", q=[0.0])
    sim.set_state([1e-3])


def test_a_free_rotation_that_is_held_and_a_name_that_is_none():
    bodies = (Body("a", 1.0, np.eye(3)), Body("b", 1.0, np.eye(3)))
    joints = (
        Joint("ball", "spherical", None, "a"),
        Joint("hinge", "revolute", "a", "b", (0, 0, 1)),
        Joint("pin", "revolute", None, "b", (0, 0, 1)),
    )
    sim = Simulation(Mechanism("m", bodies, joints))
    turn = from_rotation_vector((0.0, 0.0, 0.7))
    # The pin has no room for a turn about x.
    sim.set_state([*from_rotation_vector((1e-3, 0.0, 0.7)), 0.2])
    assert abs(sim.q[1]) < 1e-12
    sim.set_state([*turn, 0.2], hold=["ball"])
    np.testing.assert_allclose(sim.q[:4], turn, rtol=0, atol=1e-14)
    with pytest.raises(ModelError, match="no joint 'nobody'"):
        sim.set_state(hold=["nobody"])
