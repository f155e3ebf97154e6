"""Cones by hand: they stand, roll about their apex, tip over an edge and spin on their tip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import (
    Body,
    Geometry,
    HalfSpace,
    HeightField,
    Joint,
    Mechanism,
    ModelError,
    Simulation,
    quaternions,
)
from robosim.description.contact_points import contacts_of
from robosim.description.solids import cone, solid
from robosim.rays import Scene

G = 9.81
RADIUS, LENGTH, MASS = 0.2, 0.3, 2.0
HALF_ANGLE = np.arctan2(RADIUS, LENGTH)
GROUNDS = {
    "plane": HalfSpace(),
    "field": HeightField(np.zeros((21, 21)), (4.0, 4.0)),
    "box": Geometry("box", (4.0, 4.0, 1.0), position=(0, 0, -0.5)),
}


def body_of(size, **more) -> Body:
    name = more.pop("name", "cone")
    return Body.of_shape(Geometry("cone", size, name=name, **more), mass=MASS, collides=True)


def on(ground: str, body: Body, friction: float = 0.8) -> Mechanism:
    """A body that floats over a ground, "points" for z = 0."""
    joints = (Joint("base", "floating", None, body.name),)
    if ground == "points":
        return Mechanism("scene", (body,), joints, contacts_of((body,), default_friction=friction))
    below = replace(GROUNDS[ground], friction=friction)
    return Mechanism("scene", (body,), joints, obstacles=(below,))


def tipped(lean: float) -> tuple[np.ndarray, np.ndarray]:
    """Centre of mass and axes of the cone whose apex is at the origin and axis rises by `lean`."""
    z = -np.array([np.cos(lean), 0.0, np.sin(lean)])
    R = np.column_stack((np.cross([0.0, 1.0, 0.0], z), [0.0, 1.0, 0.0], z))
    return -0.75 * LENGTH * z, R


def turned(R: np.ndarray) -> np.ndarray:
    return np.asarray(quaternions.from_matrix(R))


@pytest.mark.parametrize("ground", ["points", *GROUNDS])
def test_a_cone_rolls_about_its_apex(ground):
    """At one rate for ever, as nothing does work; its centre stays at one height."""
    place, R = tipped(HALF_ANGLE)
    sim = Simulation(on(ground, body_of((RADIUS, LENGTH))), 1e-3)
    rate = 2.0  # at which the line of contact turns; the cone turns about that line
    spin = np.array([-rate / np.tan(HALF_ANGLE), 0.0, 0.0])
    sim.set_state([*place, *turned(R)], [*np.cross(spin, place), *(R.T @ spin)])
    energy, heights, angles = sim.energy(), [], []
    for _ in range(round(2 * np.pi / rate / 1e-3)):
        sim.step()
        heights.append(sim.q[2])
        angles.append(np.arctan2(sim.q[1], sim.q[0]))
    np.testing.assert_allclose(heights, place[2], rtol=0, atol=1e-9)
    assert np.unwrap(angles)[-1] == pytest.approx(2 * np.pi, rel=5e-4)
    assert sim.energy() == pytest.approx(energy, rel=1e-7)
    assert np.hypot(*sim.q[:2]) == pytest.approx(place[0], rel=1e-9)


@pytest.mark.parametrize("top", [0.0, 0.1])
@pytest.mark.parametrize("ground", ["points", *GROUNDS])
def test_a_cone_stands_on_its_base(ground, top):
    body = body_of((RADIUS, LENGTH, top))
    sim = Simulation(on(ground, body), 1e-3)
    sim.set_state([0.03, 0.01, LENGTH / 2 - body.frames[0].position[2], 1, 0, 0, 0])
    start = sim.q
    sim.run(0.3)
    np.testing.assert_allclose(sim.q, start, rtol=0, atol=1e-9)
    weight = sum(contact.force[2] for contact in sim.contacts())
    assert weight == pytest.approx(MASS * G, rel=1e-6)


@pytest.mark.parametrize(("push", "falls"), [(0.97, False), (1.03, True)])
@pytest.mark.parametrize("ground", ["points", "plane", "field"])
def test_a_cone_tips_over_its_rim_as_statics_say(ground, push, falls):
    """A slope tips it where its centre, a quarter of its length high, passes over the rim."""
    steep = push * RADIUS / (LENGTH / 4)
    tilt = np.arctan(steep)
    gravity = (G * np.sin(tilt), 0.0, -G * np.cos(tilt))
    robot = on(ground, body_of((RADIUS, LENGTH), friction=9.0), friction=9.0)
    sim = Simulation(robot, 1e-3, gravity=gravity)
    sim.set_state([0.03, 0.01, LENGTH / 4, 1, 0, 0, 0])
    sim.run(0.5)
    turn = np.linalg.norm(sim.q[4:])
    assert turn > 0.01 if falls else turn < 1e-8


@pytest.mark.parametrize("ground", ["points", "plane", "field", "box"])
def test_a_top_on_its_tip_precesses_as_a_top_does(ground):
    """A steady precession about the vertical, at the slower rate of Lagrange's top."""
    lean, spin = 0.3, 150.0
    found = cone(RADIUS, LENGTH / 2)
    scale = MASS / found.volume
    along, arm = scale * found.inertia[2, 2], 0.75 * LENGTH
    about_tip = scale * found.inertia[0, 0] + MASS * arm**2
    c = np.cos(lean)
    # A rate about the vertical at which the lean stays: about_tip c x^2 - along spin x + m g l = 0.
    rate = (along * spin - np.sqrt((along * spin) ** 2 - 4 * about_tip * c * MASS * G * arm)) / (
        2 * about_tip * c
    )
    up = np.array([np.sin(lean), 0.0, c])
    z = -up  # from the base to the tip
    R = np.column_stack((np.cross([0.0, 1.0, 0.0], z), [0.0, 1.0, 0.0], z))
    turn = np.array([0.0, 0.0, rate]) + (spin - rate * c) * up
    place = arm * up
    robot = on(ground, body_of((RADIUS, LENGTH), friction=5.0), friction=5.0)
    sim = Simulation(robot, 2e-4)
    sim.set_state([*place, *turned(R)], [*np.cross(turn, place), *(R.T @ turn)])
    energy = sim.energy()
    sim.run(0.2)
    angle = np.arctan2(sim.q[1], sim.q[0])
    assert angle == pytest.approx(rate * 0.2, rel=5e-3)
    assert sim.q[2] == pytest.approx(place[2], rel=2e-3)
    assert sim.energy() == pytest.approx(energy, rel=1e-3)
    assert sim.min_gap() > -1e-7


def test_two_cones_lie_beside_each_other_upside_down():
    """Side on side, along a line; half way up both have half of the radius."""
    one, other = (body_of((RADIUS, LENGTH), name=name) for name in ("one", "other"))
    up = np.array([0.0, 0.0, LENGTH / 4])
    joints = (
        Joint("hold", "fixed", None, "one", parent_position=-up),
        Joint("slide", "prismatic", None, "other", (1.0, 0, 0), up, offset=(0, 1.0, 0, 0)),
    )
    robot = Mechanism("pair", (one, other), joints, contact_pairs=(("one", "other"),))
    sim = Simulation(robot, 1e-3, gravity=(-G, 0, 0))
    sim.set_state([RADIUS + 0.05])
    sim.run(0.5)
    assert sim.q[0] == pytest.approx(RADIUS, abs=1e-9)
    force = sum(contact.force for contact in sim.contacts())
    assert abs(force[0]) == pytest.approx(MASS * G, rel=1e-6)


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box", "cylinder", "ellipsoid", "cone"])
def test_what_rests_on_the_side_of_a_cone(kind):
    """A cone that lies with its top generator level, and what lies on that, in equilibrium."""
    sizes = {
        "sphere": (0.1,),
        "capsule": (0.05, 0.1),
        "box": (0.1, 0.1, 0.1),
        "cylinder": (0.08, 0.1),
        "ellipsoid": (0.1, 0.06, 0.05),
        "cone": (0.06, 0.1),
    }
    below = body_of((0.5, 1.0), name="below", friction=0.9)
    lean = np.arctan2(0.5, 1.0)
    shape = Geometry(kind, sizes[kind], name="top", friction=0.9)
    top = Body.of_shape(shape, mass=1.0, collides=True)
    # About y by a quarter turn less the half angle: the generator at -x of the cone looks up.
    angle = np.pi / 2 - lean
    R = quaternions.rotation_matrix(quaternions.from_axis_angle((0, 1, 0), angle))
    generator = R @ (np.array([-0.25, 0.0, 0.0]) + np.asarray(below.frames[0].position))
    joints = (
        Joint("hold", "fixed", None, "below", parent_position=-generator, offset=turned(R)),
        Joint("free", "floating", None, "top"),
    )
    robot = Mechanism("pile", (below, top), joints, contact_pairs=(("below", "top"),))
    sim = Simulation(robot, 1e-3)
    lowest = {"sphere": 0.1, "capsule": 0.05, "box": 0.05, "cylinder": 0.05, "ellipsoid": 0.05,
              "cone": 0.025}[kind]  # fmt: skip
    turn = {"capsule": (0.5**0.5, 0, 0.5**0.5, 0)}.get(kind, (1, 0, 0, 0))
    sim.set_state([0, 0, lowest, *turn])
    start = sim.q
    sim.run(0.2)
    np.testing.assert_allclose(sim.q[:3], start[:3], rtol=0, atol=1e-6)
    signs = [1.0 if contact.body == "top" else -1.0 for contact in sim.contacts()]
    weight = sum(a * contact.force[2] for a, contact in zip(signs, sim.contacts(), strict=True))
    assert weight == pytest.approx(G, rel=1e-4)


@pytest.mark.parametrize("size", [(0.2, 0.3), (0.2, 0.3, 0.05), (0.5, 0.1), (0.1, 1.0, 0.1)])
def test_rays_meet_a_cone_where_it_is(size):
    """Where a ray crosses a disc, or the surface of a double cone between both ends."""
    body = Body.of_shape(Geometry("cone", size, name="cone"), mass=1.0, collides=True)
    robot = Mechanism("cone", (body,), (Joint("base", "fixed", None, "cone"),))
    scene, rng = Scene(robot), np.random.default_rng(3)
    middle = np.asarray(body.frames[0].position)
    half, top = size[1] / 2, (*size, 0.0)[2]
    starts = rng.normal(size=(400, 3)) + middle
    aims = middle + rng.uniform(-1, 1, size=(400, 3)) * (size[0], size[0], half)
    d = aims - starts
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    found = scene.cast(starts, d)
    slope, hits = (top - size[0]) / size[1], 0
    for o, ray, distance, normal in zip(
        starts - middle, d, found.distance, found.normal, strict=True
    ):
        candidates = []
        for z, radius in ((-half, size[0]), (half, top)):
            t = (z - o[2]) / ray[2]
            if t > 0 and np.hypot(*(o + t * ray)[:2]) <= radius:
                candidates.append(t)
        at = size[0] + slope * (o[2] + half)
        rate = slope * ray[2]
        roots = np.roots([ray[0]**2 + ray[1]**2 - rate**2,
                          2 * (o[0] * ray[0] + o[1] * ray[1] - at * rate),
                          o[0]**2 + o[1]**2 - at**2])  # fmt: skip
        candidates += [
            t
            for t in roots[np.isreal(roots)].real
            if t > 0 and abs(o[2] + t * ray[2]) <= half and at + t * rate >= 0
        ]
        expected = min(candidates, default=np.inf)
        if np.isfinite(expected):
            assert distance == pytest.approx(expected, abs=1e-12)
            # From outside, or from within.
            assert (normal @ ray < 0) == (len(candidates) % 2 == 0)
            hits += 1
        else:
            assert not np.isfinite(distance)
    assert hits > 50


def test_what_a_cone_weighs():
    """By hand: 3/10 m r^2 about its axis, 3/20 m r^2 + 3/80 m h^2 across, a quarter up."""
    found = cone(0.2, 0.15)
    assert found.volume == pytest.approx(np.pi * 0.2**2 * 0.3 / 3)
    assert found.center == pytest.approx([0, 0, -0.15 + 0.3 / 4])
    mass = found.volume
    across = mass * (3 / 20 * 0.2**2 + 3 / 80 * 0.3**2)
    np.testing.assert_allclose(found.inertia, np.diag((across, across, 0.3 * mass * 0.2**2)))
    straight = solid(Geometry("cone", (0.2, 0.3, 0.2)))
    same = solid(Geometry("cylinder", (0.2, 0.3)))
    np.testing.assert_allclose(straight.inertia, same.inertia, rtol=1e-13)


def test_sizes_that_are_no_cone_are_refused():
    with pytest.raises(ModelError, match="no wider than its base"):
        Geometry("cone", (0.1, 0.2, 0.3))
    with pytest.raises(ModelError, match="must be positive"):
        Geometry("cone", (0.1, 0.0))
