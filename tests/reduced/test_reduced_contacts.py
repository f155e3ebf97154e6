"""Contacts of shapes in ReducedSimulation, with planes and with each other: closed forms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robosim import (
    Anisotropy,
    Body,
    Geometry,
    HalfSpace,
    Joint,
    Mechanism,
    ModelError,
    ReducedSimulation,
)
from robosim.simulation import Simulation

G, MU, H = 9.81, 0.3, 1e-2
BOTH = ("single", "staggered")
COORDINATES = ("reduced", "maximal")
SIZE = (0.4, 0.3, 0.2)


def free(name: str, shape: Geometry, mass: float = 2.0) -> tuple[Body, Joint]:
    """A body with a shape that moves freely."""
    body = Body(name, mass, np.diag([0.02, 0.05, 0.06]), collisions=(shape,))
    return body, Joint(f"{name}_joint", "floating", None, name, actuated=False)


def world(parts: Iterable[tuple[Body, Joint]], *obstacles: Any, **options: Any) -> Mechanism:
    bodies, joints = zip(*parts, strict=True)
    return Mechanism("world", bodies, joints, obstacles=obstacles, **options)


def box(name: str = "box", friction: float = MU, mass: float = 2.0) -> tuple[Body, Joint]:
    return free(name, Geometry("box", SIZE, friction=friction), mass)


def ball(name: str = "ball", friction: float = MU, mass: float = 2.0) -> tuple[Body, Joint]:
    body, joint = free(name, Geometry("sphere", (0.1,), friction=friction), mass)
    return replace(body, inertia=0.4 * mass * 0.01 * np.eye(3)), joint


def slope(angle: float, friction: float = MU) -> HalfSpace:
    """A plane that descends along x."""
    normal = np.sin(angle), 0.0, np.cos(angle)
    return HalfSpace(normal, friction=friction, name="slope")


def on_slope(angle: float, height: float = 0.1) -> list[float]:
    """Coordinates of a body on the slope, turned with it."""
    turn = [np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0]
    return [height * np.sin(angle), 0.0, height * np.cos(angle), *turn]


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("share", [0.99, 1.5])
def test_a_box_on_a_slope_stays_or_slides(share: float, coordinates: str) -> None:
    """With g (sin - mu cos), and on four corners that carry its weight together."""
    angle = np.arctan(share * MU)
    options = {"contacts": "staggered", "coordinates": coordinates, "tolerance": 1e-10}
    sim = ReducedSimulation(world([box()], slope(angle)), H, **options)
    sim.set_state(on_slope(angle))
    sim.run(0.2)
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    expected = max(0.0, G * (np.sin(angle) - MU * np.cos(angle)))
    np.testing.assert_allclose(sim.v[:3], 0.2 * expected * down, rtol=0, atol=1e-8)
    np.testing.assert_allclose(sim.v[3:], 0.0, atol=1e-7)
    found = sim.contacts()
    assert [(one.body, one.other, one.is_point) for one in found] == [("box", "slope", False)] * 4
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    for one in found:
        np.testing.assert_allclose(one.normal, normal, rtol=0, atol=1e-12)
        np.testing.assert_allclose(one.velocity, sim.v[:3], rtol=0, atol=1e-7)
        assert abs(one.position @ normal) < 1e-8
        assert abs(one.gap) < 1e-8
    force = 2.0 * (expected * down + [0.0, 0.0, G])
    np.testing.assert_allclose(sum(one.force for one in found), force, rtol=0, atol=1e-6)
    assert len(sim.contacts(ground=False)) == 4


@pytest.mark.parametrize("contacts", BOTH)
def test_a_ball_rolls_down_a_slope(contacts: str) -> None:
    """With 5/7 g sin, where friction suffices; the contact is not that of a point of the body."""
    angle = 0.3
    robot = world([ball(friction=1.0)], slope(angle, 1.0))
    sim = ReducedSimulation(robot, H, contacts=contacts, tolerance=1e-10)
    sim.set_state(on_slope(angle))
    sim.run(0.49)
    info = sim.step()
    assert np.linalg.norm(sim.v[:3]) == pytest.approx(0.5 * 5 / 7 * G * np.sin(angle), rel=1e-6)
    assert np.linalg.norm(sim.v[3:]) == pytest.approx(np.linalg.norm(sim.v[:3]) / 0.1, rel=1e-6)
    assert abs(info.gap) < 1e-6
    (found,) = sim.contacts()
    assert found.gap == pytest.approx(info.gap, abs=1e-12)


def test_a_wall_holds_what_is_pressed_against_it() -> None:
    """Up to a weight of mu times the force. Its normal is along x, so tangents begin with y."""
    robot = world([box()], HalfSpace((-1.0, 0.0, 0.0), friction=MU, name="wall"))
    for share, falls in ((1.01, 0.0), (0.5, 0.5)):
        sim = ReducedSimulation(robot, H, contacts="staggered", tolerance=1e-10)
        sim.set_state([-0.2, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        sim.apply_wrench("box", (share * 2.0 * G / MU, 0.0, 0.0))
        sim.run(0.1)
        assert sim.v[2] == pytest.approx(-0.1 * falls * G, abs=1e-7)
        np.testing.assert_allclose(sim.v[[0, 1, 3, 4, 5]], 0.0, atol=1e-7)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("contacts", BOTH)
def test_balls_collide(contacts: str, coordinates: str) -> None:
    """Without restitution and friction: the common velocity along the normal; momenta stay."""
    masses = 2.0, 3.0
    pair = [ball(name, 0.0, mass) for name, mass in zip("ab", masses, strict=True)]
    robot = world(pair, self_collision=True)
    sim = ReducedSimulation(robot, H, (0, 0, 0), contacts=contacts, coordinates=coordinates)
    normal = np.array([0.6, 0.8, 0.0])
    q = [*np.zeros(3), 1.0, 0.0, 0.0, 0.0, *(0.2 * normal), 1.0, 0.0, 0.0, 0.0]
    u = np.array([1.0, 0.5, -0.3])
    sim.set_state(q, [*u, 0.0, 0.0, 0.0, *np.zeros(6)])
    before = sim.momentum()
    sim.step()
    for one, other in zip(sim.momentum(), before, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    together = masses[0] / sum(masses) * (u @ normal)
    np.testing.assert_allclose(sim.v[6:9], together * normal, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sim.v[:3], u + (together - u @ normal) * normal, rtol=0, atol=1e-12)
    (found,) = sim.contacts()
    assert {found.body, found.other} == {"a", "b"}
    impulse = masses[1] * together
    sign = 1.0 if found.body == "b" else -1.0
    np.testing.assert_allclose(H * found.force, sign * impulse * normal, rtol=0, atol=1e-12)


@pytest.mark.parametrize("contacts", BOTH)
def test_what_collides_with_friction_keeps_its_momenta(contacts: str) -> None:
    """Of a spinning ball and a box in flight; in a short step, as Euler turns its bodies freely."""
    robot = world([ball("ball", 0.5), box("box", 0.5, 1.0)], self_collision=True)
    sim = ReducedSimulation(robot, 1e-7, (0, 0, 0), contacts=contacts, tolerance=1e-10)
    q = [0.05, 0.02, 0.2, 1.0, 0.0, 0.0, 0.0, *np.zeros(3), 1.0, 0.0, 0.0, 0.0]
    sim.set_state(q, [0.3, 0.1, -1.0, 5.0, -7.0, 3.0, *np.zeros(6)])
    before, energy = sim.momentum(), sim.energy()
    sim.step()
    (found,) = sim.contacts()
    slipped = found.force - (found.force @ found.normal) * found.normal
    assert np.linalg.norm(slipped) > 0.1 * found.force @ found.normal
    for one, other in zip(sim.momentum(), before, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7)
    assert sim.energy() < energy


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("contacts", BOTH)
def test_boxes_rest_on_each_other(contacts: str, coordinates: str) -> None:
    """The lower one bears the weight of the upper one, and the plane that of both."""
    pair = [box("lower", mass=2.0), box("upper", mass=3.0)]
    robot = world(pair, HalfSpace(name="floor"), self_collision=True)
    options = {"contacts": contacts, "coordinates": coordinates, "tolerance": 1e-10}
    sim = ReducedSimulation(robot, H, **options)
    turn = [1.0, 0.0, 0.0, 0.0]
    q = [0.0, 0.0, 0.1, *turn, 0.05, 0.02, 0.3, *turn]
    sim.set_state(q)
    sim.run(0.05)
    np.testing.assert_allclose(sim.q, q, rtol=0, atol=1e-8)
    borne = {"floor": np.zeros(3), "upper": np.zeros(3)}
    for one in sim.contacts():
        names = {one.body, one.other}
        if "floor" in names:
            borne["floor"] += one.force
        else:
            borne["upper"] += one.force if one.body == "upper" else -one.force
    np.testing.assert_allclose(borne["upper"], (0, 0, 3 * G), rtol=0, atol=1e-6)
    np.testing.assert_allclose(borne["floor"], (0, 0, 5 * G), rtol=0, atol=1e-6)


@pytest.mark.parametrize("degrees", [0.0, 30.0, 45.0])
def test_friction_depends_on_the_direction(degrees: float) -> None:
    """The box and the pyramid, against the cone of Simulation, for a box that does not turn.

    Staggered: mu on each axis, so sqrt(2) mu on a diagonal. In one problem: mu on the axis with the
    greater slip, and 1 / sqrt(2) mu on a diagonal.
    """
    body, _ = box()
    joint = Joint("slide", "fixed_orientation", None, "box", actuated=False)
    robot = world([(body, joint)], HalfSpace(name="floor", friction=MU))
    way = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    u, fall = 2.0 * way, G * H
    lost = {}
    for name in BOTH:
        sim = ReducedSimulation(robot, H, contacts=name, tolerance=1e-12)
        sim.set_state([0.0, 0.0, 0.1], [*u, 0.0])
        sim.step()
        lost[name] = u - sim.v[:2]
    other = Simulation(robot, H)
    other.set_state([0.0, 0.0, 0.1], [*u, 0.0])
    other.step()
    np.testing.assert_allclose(u - other.v[:2], MU * fall * way, rtol=0, atol=1e-6)
    on_axes = MU * fall * (way > 0.0)
    np.testing.assert_allclose(lost["staggered"], on_axes, rtol=0, atol=1e-10)
    # The nearest velocity with (n - mu t) v >= 0 for all t that slip.
    if degrees == 45.0:
        along = (np.linalg.norm(u) - MU / np.sqrt(2) * fall) / (1 + MU**2 / 2)
        expected = u - along * way
    else:
        expected = np.array([u[0] - (u[0] - MU * fall) / (1 + MU**2), 0.0])
    np.testing.assert_allclose(lost["single"], expected, rtol=0, atol=1e-10)


def test_an_arm_leans_on_an_obstacle() -> None:
    """A hinge's torque over its arm is the force on a fixed ball, with none from the rod."""
    body = Body(
        "rod", 1.0, np.diag([0.1, 0.1, 0.01]), collisions=(Geometry("capsule", (0.05, 1.0)),)
    )
    joint = Joint("hinge", "revolute", None, "rod", axis=(0, 1, 0), child_position=(0, 0, -0.5))
    stop = Geometry("sphere", (0.1,), (0.15, 0.0, 0.75), name="stop")
    robot = Mechanism("arm", (body,), (joint,), obstacles=(stop,))
    sim = ReducedSimulation(robot, H, (0, 0, 0), contacts="staggered")
    sim.step([3.0])
    assert abs(sim.v[0]) < 1e-12
    (found,) = sim.contacts()
    np.testing.assert_allclose(found.force, (-3.0 / 0.75, 0, 0), rtol=0, atol=1e-9)
    assert found.other == "stop"


def test_copies_go_on_alike() -> None:
    """To the last bit, with the contacts of the last step."""
    robot = world([box("lower"), ball("upper")], slope(0.2), self_collision=True)
    sim = ReducedSimulation(robot, H, contacts="staggered")
    turned = on_slope(0.2, 0.3)
    sim.set_state([*on_slope(0.2), *turned])
    sim.run(0.05)
    other = sim.copy()
    assert [one.force.tolist() for one in sim.contacts()] == [
        one.force.tolist() for one in other.contacts()
    ]
    for one in (sim, other):
        one.run(0.05)
    assert len(sim.contacts()) == 5
    assert sim.q.tolist() == other.q.tolist()
    sim.set_state(sim.q)
    assert sim.contacts() == []


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({"restitution": 0.5}, "has restitution"),
        ({"stiffness": 1e4}, "is compliant"),
        ({"rolling_friction": 0.1}, "has rolling friction"),
        ({"anisotropy": Anisotropy((1, 0, 0), 0.5)}, "has friction by direction"),
        ({"surface_velocity": (1, 0, 0)}, "has a surface that moves by itself"),
    ],
)
def test_other_surfaces_are_refused_by_name(own: dict[str, Any], told: str) -> None:
    smooth, rough = Geometry("box", SIZE), Geometry("box", SIZE, **own)
    with pytest.raises(ModelError, match=f"body 'box': {told}"):
        ReducedSimulation(world([free("box", rough)], HalfSpace()), contacts="staggered")
    robot = world([free("box", smooth)], HalfSpace(name="floor", **own))
    with pytest.raises(ModelError, match=f"obstacle 'floor': {told}"):
        ReducedSimulation(robot, contacts="single")
