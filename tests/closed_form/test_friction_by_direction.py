"""Friction by direction by hand: blocks on an ellipse of friction, skates, and mecanum wheels.

With coefficients mu_x and mu_y along two tangents, friction is on the ellipse
(F_x / mu_x)^2 + (F_y / mu_y)^2 = N^2, and its outward normal there is against the slip v. So
F_i = -mu_i^2 v_i N / sqrt(mu_x^2 v_x^2 + mu_y^2 v_y^2).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from touching_ground import WAYS, on_something

from robosim import (
    Anisotropy,
    BatchSimulation,
    Body,
    ContactPoint,
    Frame,
    Geometry,
    HalfSpace,
    Joint,
    Mechanism,
    ModelError,
    Simulation,
)
from robosim.description.contact_points import contacts_of
from robosim.optimize.problem import refuse_contact
from robosim.quaternions import from_axis_angle, rotation_matrix

G, DT, MASS, EDGE = 9.81, 1e-3, 2.0, 0.2
MU = np.array([0.5, 0.1])
ALONG_X = Anisotropy((1, 0, 0), across=0.2)


def on_ellipse(slip: np.ndarray, normal: float, mu: np.ndarray = MU) -> np.ndarray:
    return -(mu**2) * slip * normal / np.linalg.norm(mu * slip)


def box(way: str = "half-space", one: Anisotropy | None = ALONG_X, mu: float = 0.5) -> Mechanism:
    shape = Geometry("box", (EDGE, EDGE, EDGE), friction=mu, anisotropy=one)
    inertia = MASS * EDGE**2 / 6 * np.eye(3)
    robot = on_something(shape, MASS, inertia, EDGE / 2, way, friction=mu)
    return replace(robot, contacts=tuple(replace(c, anisotropy=one) for c in robot.contacts))


def force_on(sim: Simulation) -> np.ndarray:
    """The sum over all contacts, on whichever side of them it is."""
    signs = {"it": 1.0}
    return np.sum(
        [
            (signs.get(contact.body, 0.0) - signs.get(contact.other, 0.0)) * contact.force
            for contact in sim.contacts()
        ],
        axis=0,
    )


@pytest.mark.parametrize(("way", "solver"), WAYS)
def test_sliding_friction_is_where_the_ellipse_is_normal_to_the_slip(way, solver):
    sim = Simulation(box(way), DT, solver=solver)
    v = np.zeros(sim.robot.nv)
    v[:2] = 0.6, 0.8
    sim.set_state(sim.q, v)
    sim.run(0.01)
    for _ in range(20):
        before = sim.q
        sim.step()
        slip = (sim.q - before)[:2] / DT
        if way == "body":
            slip[1] -= (sim.q - before)[7] / DT  # the other gives way along its rail
        force = force_on(sim)
        assert force[2] == pytest.approx(MASS * G, rel=1e-6)
        np.testing.assert_allclose(force[:2], on_ellipse(slip, force[2]), rtol=0, atol=1e-5)


@pytest.mark.parametrize("degrees", [0.0, 10.0, 45.0, 80.0, 90.0])
def test_a_slope_holds_a_block_up_to_the_ellipse(degrees):
    """tan(a) = 1 / sqrt(cos^2 / mu_x^2 + sin^2 / mu_y^2) for a slope that falls that way."""
    fall = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    steepest = np.arctan(1.0 / np.linalg.norm(fall / MU))
    for part, slips in ((0.99, False), (1.01, True)):
        a = part * steepest
        gravity = G * np.array([*(np.sin(a) * fall), -np.cos(a)])
        sim = Simulation(box("point"), DT, gravity=gravity)
        sim.run(0.2)
        speed = np.linalg.norm(sim.v[:2])
        # What creeps does so faster along the weaker tangent.
        assert speed > 1e-3 if slips else speed < 2e-7


def test_a_block_that_starts_to_slip_goes_its_own_way():
    """From rest it moves straight, where the weight's part and friction on the ellipse leave it."""
    fall, a = np.array([np.cos(0.7), np.sin(0.7)]), np.arctan(0.4)
    sim = Simulation(box("point"), DT, gravity=G * np.array([*(np.sin(a) * fall), -np.cos(a)]))
    sim.run(0.3)
    way = sim.q[:2] / np.linalg.norm(sim.q[:2])
    pull = MASS * G * (np.sin(a) * fall) + on_ellipse(way, MASS * G * np.cos(a))
    np.testing.assert_allclose(way, pull / np.linalg.norm(pull), rtol=0, atol=1e-6)
    np.testing.assert_allclose(sim.v[:2], pull / MASS * 0.3, rtol=1e-3)
    assert abs(way @ fall) < 0.95  # far from straight down


def turned_box(angle: float, direction: tuple[float, float, float], axes: str | None) -> Simulation:
    sim = Simulation(box("half-space", Anisotropy(direction, across=0.2, axes=axes)), DT)
    q = [0, 0, EDGE / 2, *from_axis_angle((0, 0, 1), angle)]
    sim.set_state(q, [0.6, 0.8, 0, 0, 0, 0])
    sim.run(0.1)
    return sim


def test_directions_are_those_of_the_body_or_the_world():
    of_body, of_world = turned_box(0.5, (1, 0, 0), None), turned_box(0.5, (1, 0, 0), "world")
    straight = turned_box(0.0, (np.cos(0.5), np.sin(0.5), 0), None)
    np.testing.assert_allclose(of_body.v[:2], straight.v[:2], rtol=0, atol=1e-8)
    np.testing.assert_allclose(of_world.v[:2], turned_box(0, (1, 0, 0), None).v[:2], atol=1e-8)
    assert np.linalg.norm(of_body.v[:2] - of_world.v[:2]) > 0.05


def test_the_sides_of_a_plane_have_directions_too():
    """That of the slipperier one of two; its other coefficient is the lower friction of both."""
    ice = HalfSpace(friction=0.5, anisotropy=Anisotropy((2, 0, 0), along=0.1))
    sim = Simulation(replace(box("half-space", ALONG_X, mu=0.4), obstacles=(ice,)), DT)
    sim.set_state(sim.q, [1.0, 1.0, 0, 0, 0, 0])
    sim.step()
    expected = on_ellipse(sim.q[:2] / DT, MASS * G, np.array([0.04, 0.4]))
    np.testing.assert_allclose(force_on(sim)[:2], expected, rtol=0, atol=1e-4)


def test_what_is_normal_to_the_plane_is_no_direction():
    sim = Simulation(box("half-space", Anisotropy((0, 0, 1), across=0.2)), DT)
    sim.set_state(sim.q, [0.6, 0.0, 0, 0, 0, 0])
    sim.run(0.1)
    assert np.isfinite(sim.v).all()
    assert 0 < np.linalg.norm(sim.v[:2]) < 0.6


@pytest.mark.parametrize("way", ["point", "half-space"])
def test_forces_are_those_that_change_the_momentum(way):
    """Of a block that spins, and with it the direction, by 0.02 in each step."""
    sim = Simulation(box(way), DT)
    sim.set_state(sim.q, [0.5, 0.2, 0, 0, 0, 20.0])
    sim.run(0.02)
    for _ in range(5):
        a = sim.q
        sim.step()
        b, force = sim.q, force_on(sim)
        sim.step()
        # Impulses of a step act where it begins.
        a, b = (b - a)[:2] / DT, (sim.q - b)[:2] / DT
        np.testing.assert_allclose(force_on(sim)[:2], MASS * (b - a) / DT, rtol=0, atol=1e-6)
        assert np.linalg.norm(force) > 1
    if way == "point":
        np.testing.assert_allclose(sim.contact_forces().sum(axis=0), force_on(sim), atol=1e-12)


@pytest.mark.parametrize("across", [0.2, 0.0, 3.0])
def test_friction_by_direction_never_gives_energy(across):
    rng = np.random.default_rng(1)
    for _ in range(4):
        sim = Simulation(box("half-space", Anisotropy(rng.normal(size=3), across=across)), DT)
        turn = from_axis_angle(rng.normal(size=3), 1.0)
        sim.set_state([0, 0, 0.4, *turn], [*rng.normal(size=3), *(5 * rng.normal(size=3))])
        energies = [sim.energy()]
        for _ in range(1000):
            sim.step()
            energies.append(sim.energy())
        # Where it has landed, velocities at the knot are of first order for one step.
        assert np.diff(energies).max() < 2e-4 * energies[0]
        assert energies[-1] < 0.6 * energies[0]


def test_a_skate_goes_where_it_points():
    """Two points of a blade without friction along it: it turns in place, and glides straight."""
    blade = Anisotropy((1, 0, 0), along=0.0)
    points = tuple(
        ContactPoint(f"p{k}", "skate", (x, 0, -0.1), friction=1.0, anisotropy=blade)
        for k, x in enumerate((-0.1, 0.1))
    )
    body = Body("skate", 1.0, 0.01 * np.eye(3))
    planar = Joint("j", "planar", None, "skate", (0, 0, 1), (0, 0, 0.1))
    height = Joint("h", "prismatic", None, "lift", (0, 0, 1))
    lift = Body("lift", 0.1, 0.01 * np.eye(3))
    robot = Mechanism("ice", (lift, body), (height, replace(planar, parent="lift")), points)
    sim = Simulation(robot, DT)
    turn = np.array([np.cos(0.3), np.sin(0.3)])
    sim.set_state([0, 0, 0, 0.3], [0, *(1.5 * turn), 0])
    sim.run(0.5)
    np.testing.assert_allclose(sim.q[1:], [*(0.75 * turn), 0.3], rtol=0, atol=1e-5)


WHEELS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
RADIUS, SPEED = 0.05, 0.4


def mecanum(motion: tuple[int, int, int, int], axes: str | None = "base") -> Mechanism:
    """Four wheels with rollers at 45 degrees, driven at rates of this sign."""
    base = Body.box("base", (0.4, 0.2, 0.05), mass=4.0)
    bodies, joints, contacts = [base], [Joint("root", "floating", None, "base")], []
    for k, ((x, y), sign) in enumerate(zip(WHEELS, motion, strict=True)):
        name, rate = f"wheel{k}", sign * SPEED / RADIUS
        # Rollers grip along their axes, as seen from above on the ground.
        grip = Anisotropy((1, -x * y, 0), across=0.0, axes=axes)
        bodies.append(Body(name, 0.2, 2e-4 * np.eye(3)))
        joints.append(Joint(f"axle{k}", "revolute", "base", name, (0, 1, 0), (0.15 * x, 0.1 * y, 0),
                            motion=lambda t, rate=rate: rate * t))  # fmt: skip
        contacts.append(ContactPoint(name, name, (0, 0, 0), RADIUS, 0.8, (0, 1, 0),
                                     anisotropy=grip))  # fmt: skip
    home = (0, 0, RADIUS, 1, 0, 0, 0, 0, 0, 0, 0)
    return Mechanism("mecanum", tuple(bodies), tuple(joints), tuple(contacts), home=home)


@pytest.mark.parametrize(
    ("motion", "expected"),
    [((1, 1, 1, 1), (1, 0)), ((-1, 1, 1, -1), (0, 1)), ((0, 1, 1, 0), (0.5, 0.5))],
)
def test_mecanum_wheels_drive_sideways(motion, expected):
    sim = Simulation(mecanum(motion), DT)
    sim.run(1.0)
    np.testing.assert_allclose(sim.v[:2], SPEED * np.array(expected), rtol=0, atol=1e-6)
    np.testing.assert_allclose(sim.v[2:6], 0, atol=1e-6)


def test_a_direction_that_turns_with_the_wheel_drives_nowhere_sideways():
    sim = Simulation(mecanum((-1, 1, 1, -1), None), DT)
    sim.run(0.5)
    assert abs(sim.v[1] - SPEED) > 0.1


def test_rolling_friction_is_alike_in_all_directions():
    """A ball decelerates by 5/7 mu g / r, as without a direction."""
    radius, rolling = 0.1, 2e-3
    found = []
    for one in (None, Anisotropy((1, 0.3, 0), across=0.3, axes="world")):
        shape = Geometry("sphere", (radius,), friction=0.8, rolling_friction=rolling,
                         anisotropy=one)  # fmt: skip
        body = Body("it", 1.0, 0.4 * radius**2 * np.eye(3), collisions=(shape,))
        robot = Mechanism("ball", (body,), (Joint("j", "floating", None, "it"),),
                          obstacles=(HalfSpace(),), home=(0, 0, radius, 1, 0, 0, 0))  # fmt: skip
        sim = Simulation(robot, DT)
        sim.set_state(sim.q, [0.3, 0.4, 0, -0.4 / radius, 0.3 / radius, 0])
        sim.run(0.5)
        found.append((*sim.v, *sim.contacts()[0].moment))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-6)
    speed = 0.5 - 5 / 7 * rolling * G / radius * 0.5
    assert np.linalg.norm(found[1][:2]) == pytest.approx(speed, abs=1e-5)


def test_an_impact_follows_the_ellipse():
    """A ball that slides throughout: its friction impulse is where the ellipse is normal to it."""
    shape = Geometry("sphere", (0.1,), friction=0.5, restitution=0.5,
                     anisotropy=replace(ALONG_X, axes="world"))  # fmt: skip
    body = Body("it", 1.0, 1e3 * np.eye(3), collisions=(shape,))  # does not turn
    robot = Mechanism("ball", (body,), (Joint("j", "floating", None, "it"),),
                      obstacles=(HalfSpace(),), home=(0, 0, 0.2, 1, 0, 0, 0))  # fmt: skip
    sim = Simulation(robot, DT)
    sim.set_state(sim.q, [3.0, 4.0, -2.0, 0, 0, 0])
    fast = 0.0
    while sim.v[2] <= 0:
        fast = sim.v[2]
        sim.step()
    change = sim.v[:2] - (3.0, 4.0)
    expected = on_ellipse(sim.v[:2], 1.5 * abs(fast))
    np.testing.assert_allclose(change, expected, rtol=0.01)


def test_linearized_cones_are_polygons_in_the_ellipse():
    options = {"friction_cone": "linearized", "friction_facets": 16}
    sim = Simulation(box("point"), DT, **options)
    sim.set_state(sim.q, [0.6, 0.8, 0, 0, 0, 0])
    sim.step()
    force = force_on(sim)
    assert 0.98 < np.linalg.norm(force[:2] / MU) / force[2] < 1 + 1e-6
    np.testing.assert_allclose(sim.contact_forces().sum(axis=0), force, rtol=0, atol=1e-12)


def test_states_of_a_batch_take_the_steps_that_each_takes_alone():
    """In lanes, with the forces of contacts."""
    robot, rng = box("point"), np.random.default_rng(2)
    points = tuple(replace(point, name=f"it/{point.name}") for point in robot.contacts)
    robot = replace(robot, contacts=points)
    starts = [np.array([*rng.normal(size=2), 0, 0, 0, rng.normal()]) for _ in range(9)]
    batch = BatchSimulation(robot, 9, DT)
    assert batch.lanes
    batch.set_state(np.tile(robot.home, (9, 1)), np.array(starts))
    bound = batch.bind(50, also="contact:it")
    bound.step()
    for i, v in enumerate(starts):
        sim = Simulation(robot, DT)
        sim.set_state(sim.q, v)
        sim.run(0.05)
        np.testing.assert_allclose(batch.v[i], sim.v, rtol=0, atol=1e-8)
        found = bound.readings["contact:it"][i]
        np.testing.assert_allclose(found, sim.contact_forces().sum(axis=0), rtol=0, atol=1e-5)
        assert np.linalg.norm(found[:2]) > 0.1


def test_a_link_can_have_the_axes():
    """Also one that was merged into another body, or fixed to the world."""
    one = Anisotropy((1, 0, 0), across=0.2, axes="rail")
    turn = from_axis_angle((0, 0, 1), 0.5)
    robot = box("half-space", None)
    body = robot.bodies[0]
    merged = replace(
        robot,
        bodies=(replace(body, frames=(Frame("it"), Frame("rail", quaternion=turn)),
                        collisions=(replace(body.collisions[0], anisotropy=one),)),),
    )  # fmt: skip
    found = merged.bodies[0].collisions[0].anisotropy
    assert found.axes == "it"
    np.testing.assert_allclose(found.direction, rotation_matrix(turn)[:, 0])
    points = contacts_of(merged.bodies)
    assert all(point.anisotropy is found for point in points)
    again = replace(merged, world_frames=(Frame("ship", quaternion=turn),), contacts=tuple(
        replace(point, anisotropy=replace(one, axes="ship")) for point in points))  # fmt: skip
    assert {point.anisotropy.axes for point in again.contacts} == {"world"}
    np.testing.assert_allclose(again.contacts[0].anisotropy.direction, found.direction)


def test_wrong_anisotropies_are_refused():
    with pytest.raises(ModelError, match="direction must not be zero"):
        Anisotropy((0, 0, 0))
    with pytest.raises(ModelError, match="across must not be negative"):
        Anisotropy((1, 0, 0), across=-1.0)
    with pytest.raises(ModelError, match=r"geometry.*Anisotropy or None"):
        Geometry("sphere", (0.1,), anisotropy=0.5)
    with pytest.raises(ModelError, match=r"body 'it'.*'wheel', which does not exist"):
        box("half-space", replace(ALONG_X, axes="wheel"))
    with pytest.raises(ModelError, match="has anisotropy, which trajectory optimisation"):
        refuse_contact(box("point").contacts[0])
