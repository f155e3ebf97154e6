"""What sensors read of a robot that tumbles, held to what they read just before and just after.

Positions and orientations are written down from the bodies; velocities are the rates of positions,
accelerations those of velocities, and what a joint carries is what the momenta above it ask for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import (
    multiply,
    random_coordinates,
    random_quaternion,
    random_tree,
)

from robosim import Body, ContactPoint, Joint, Mechanism, Simulation
from robosim.quaternions import conjugate, rotation_matrix, rotation_vector
from robosim.sensors import Place, Sensor, Zone
from robosim.simulation import sensors

DT = 1e-4
GRAVITY = np.array([0.5, -1.0, -9.0])
# Of three knots, which are 1e-4 s apart; differences are of second order, accelerations of first.
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
ROUGH = {"rtol": 5e-3, "atol": 5e-3}


@pytest.fixture(scope="module")
def read():
    """Readings (3, ...) of each sensor at three knots, and the simulation at the middle one."""
    rng = np.random.default_rng(1)
    robot = random_tree(rng, 4, kinds=("revolute", "spherical"))
    place, other, fixed = (
        Place(body, rng.normal(scale=0.2, size=3), random_quaternion(rng))
        for body in ("b3", "b1", None)
    )
    names = tuple(body.name for body in robot.bodies)
    about = {"place": place}
    sensors = [
        *(Sensor(kind, kind, **about) for kind in ("velocimeter", "gyro", "accelerometer")),
        *(Sensor(kind, kind, **about) for kind in ("framelinacc", "frameangacc")),
        *(Sensor(kind, kind, bodies=names[1:]) for kind in MOMENTA),
        *(Sensor(f"all {kind}", kind, bodies=names) for kind in MOMENTA),
        *(Sensor(kind, kind, place=place, bodies=names) for kind in ("force", "torque")),
    ]
    for to, reference in (("world", Place()), ("fixed", fixed), ("b1", other)):
        about = {"place": place, "reference": reference}
        sensors += [Sensor(f"{kind} {to}", kind, **about) for kind in FRAMES]
    sim = Simulation(replace(robot, sensors=tuple(sensors)), DT, GRAVITY)
    q, v = random_coordinates(rng, robot), rng.normal(size=robot.nv)
    sim.set_state(q, v)
    sim.apply_wrench("b2", *rng.normal(size=(2, 3)))
    knots = []
    for _ in range(4):
        sim.step()
        knots.append({sensor.name: sim.sensor(sensor.name) for sensor in sensors})
        if len(knots) == 3:
            middle = sim.copy()
    found = {name: np.array([knot[name] for knot in knots[1:]]) for name in knots[0]}
    return found, middle, (place, {"world": Place(), "fixed": fixed, "b1": other})


MOMENTA = ("subtreecom", "subtreelinvel", "subtreeangmom")
FRAMES = (
    "framepos",
    "framequat",
    "framexaxis",
    "frameyaxis",
    "framezaxis",
    "framelinvel",
    "frameangvel",
)


def rate(values):
    """Of the middle one of three knots."""
    return (values[2] - values[0]) / (2 * DT)


def pose(sim, place):
    """Position (3,) and rotation (3, 3) of a place."""
    R = rotation_matrix(place.quaternion)
    if place.body is None:
        return np.asarray(place.position), R
    index = sim.robot.body_index(place.body)
    own = rotation_matrix(sim.state.q[index])
    return sim.state.x[index] + own @ place.position, own @ R


@pytest.mark.parametrize("to", ["world", "fixed", "b1"])
def test_a_frame_is_seen_from_another(read, to):
    found, sim, (place, references) = read
    (p, R), (p_r, R_r) = pose(sim, place), pose(sim, references[to])
    np.testing.assert_allclose(found[f"framepos {to}"][1], R_r.T @ (p - p_r), rtol=0, atol=1e-13)
    axes = np.column_stack([found[f"frame{axis}axis {to}"][1] for axis in "xyz"])
    np.testing.assert_allclose(axes, R_r.T @ R, rtol=0, atol=1e-13)
    turn = rotation_matrix(found[f"framequat {to}"][1])
    np.testing.assert_allclose(turn, R_r.T @ R, rtol=0, atol=1e-13)


@pytest.mark.parametrize("to", ["world", "fixed", "b1"])
def test_velocities_are_rates_of_what_is_seen(read, to):
    """By somebody who moves and turns with the reference, as `framelinvel` is; turns likewise."""
    found, _, _ = read
    np.testing.assert_allclose(
        found[f"framelinvel {to}"][1], rate(found[f"framepos {to}"]), **CLOSE
    )
    first, _, last = found[f"framequat {to}"]
    turn = rotation_vector(multiply(last, conjugate(first)))
    np.testing.assert_allclose(found[f"frameangvel {to}"][1], turn / (2 * DT), **CLOSE)


def test_what_is_felt_on_board_is_in_its_own_axes(read):
    found, sim, (place, _) = read
    R = pose(sim, place)[1]
    for own, world in (("velocimeter", "framelinvel"), ("gyro", "frameangvel")):
        expected = R.T @ found[f"{world} world"][1]
        np.testing.assert_allclose(found[own][1], expected, rtol=0, atol=1e-13)
    fall = rate(found["framelinvel world"]) - GRAVITY
    np.testing.assert_allclose(found["framelinacc"][1], fall, **ROUGH)
    np.testing.assert_allclose(found["accelerometer"][1], R.T @ fall, **ROUGH)
    np.testing.assert_allclose(found["frameangacc"][1], rate(found["frameangvel world"]), **ROUGH)


def test_momenta_of_a_subtree(read):
    """Of all bodies they are the simulation's; of some, their centre moves as its velocity says."""
    found, sim, _ = read
    for all_of in ("", "all "):
        velocity = found[f"{all_of}subtreelinvel"][1]
        np.testing.assert_allclose(rate(found[f"{all_of}subtreecom"]), velocity, **CLOSE)
    linear, angular = sim.momentum()
    mass, centre = sim.robot.total_mass, found["all subtreecom"][1]
    np.testing.assert_allclose(mass * found["all subtreelinvel"][1], linear, **CLOSE)
    expected = angular - np.cross(centre, linear)
    np.testing.assert_allclose(found["all subtreeangmom"][1], expected, **CLOSE)
    chosen = range(1, len(sim.robot.bodies))
    masses = np.array([sim.robot.bodies[i].mass for i in chosen])
    centre = masses @ sim.state.x[1:] / masses.sum()
    np.testing.assert_allclose(found["subtreecom"][1], centre, rtol=0, atol=1e-13)
    spin = np.zeros(3)
    for i, mass in zip(chosen, masses, strict=True):
        R = rotation_matrix(sim.state.q[i])
        spin += R @ sim.robot.bodies[i].inertia @ sim.state.omega[i]
        spin += np.cross(sim.state.x[i] - centre, mass * sim.state.v[i])
    np.testing.assert_allclose(found["subtreeangmom"][1], spin, rtol=0, atol=1e-13)


def test_a_joint_carries_what_the_momenta_above_it_ask_for(read):
    """Newton's and Euler's equations of all bodies, less the wrench that pushes one of them."""
    found, sim, (place, _) = read
    at, R = pose(sim, place)
    mass, centre = sim.robot.total_mass, found["all subtreecom"][1]
    push = sim.wrench("b2")
    point = sim.state.x[sim.robot.body_index("b2")]
    force = mass * (rate(found["all subtreelinvel"]) - GRAVITY) - push[:3]
    torque = rate(found["all subtreeangmom"]) - push[3:] - np.cross(point - at, push[:3])
    torque += np.cross(centre - at, force + push[:3])
    np.testing.assert_allclose(R @ found["force"][1], force, rtol=0, atol=0.02)
    np.testing.assert_allclose(R @ found["torque"][1], torque, rtol=0, atol=0.02)


def test_readings_are_cut_off_on_both_sides(read):
    _, sim, (place, _) = read
    value = sensors.read(sim, Sensor("g", "gyro", place=place))
    limit = float(np.sort(np.abs(value))[1])
    cut = sensors.read(sim, Sensor("g", "gyro", place=place, cutoff=limit))
    np.testing.assert_array_equal(cut, np.clip(value, -limit, limit))
    assert (cut != value).any()
    turn = sensors.read(sim, Sensor("q", "framequat", place=place, cutoff=0.1))
    assert np.linalg.norm(turn) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("kind", ["sphere", "ellipsoid", "box", "capsule", "cylinder"])
def test_a_zone_has_its_size(kind, sign):
    """A ray across it, just inside of its highest point and just above."""
    size = (0.3, 0.2, 0.1)
    top = {"sphere": 0.3, "ellipsoid": 0.1, "box": 0.1, "capsule": 0.5, "cylinder": 0.2}[kind]
    side = {"sphere": 0.3, "ellipsoid": 0.2, "box": 0.2, "capsule": 0.3, "cylinder": 0.3}[kind]
    zone = Zone(kind, size)
    for part, meets in ((0.99, True), (1.01, False)):
        x, y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
        start = np.array([-2.0, 0.0, sign * part * top])
        assert zone.meets(start, x) is meets
        assert zone.meets(np.array([0.0, sign * part * side, -2.0]), np.eye(3)[2]) is meets
        assert not zone.meets(start, -x)
        assert not zone.meets(start, y)


def test_a_torque_has_the_arms_of_the_middle_of_the_step():
    """A bead slides evenly along a rail: its weight acts where it is in the middle of the step."""
    rail, bead = Body("rail", 2.0, np.eye(3)), Body("bead", 1.0, 0.1 * np.eye(3))
    joints = (
        Joint("wall", "fixed", None, "rail"),
        Joint("slide", "prismatic", "rail", "bead", (1, 0, 0)),
    )
    held = Sensor("held", "torque", place=Place("rail"), bodies=("rail", "bead"))
    dt, speed = 0.02, 3.0
    sim = Simulation(Mechanism("m", (rail, bead), joints, sensors=(held,)), dt)
    sim.set_state([0.5], [speed])
    for n in range(5):
        sim.step()
        x = 0.5 + speed * (n + 0.5) * dt
        np.testing.assert_allclose(sim.sensor("held"), [0, -9.81 * x, 0], rtol=0, atol=1e-8)


@pytest.mark.parametrize("end", ["child", "parent"])
def test_what_a_joint_carries_is_less_what_a_loop_gives(end):
    """A beam on two supports: each of them has half of the weight."""
    beam = Body("beam", 4.0, np.eye(3))
    first = Joint("left", "revolute", None, "beam", (0, 1, 0), child_position=(-0.5, 0, 0))
    if end == "child":
        second = Joint("right", "revolute", None, "beam", (0, 1, 0), parent_position=(1, 0, 0),
                       child_position=(0.5, 0, 0))  # fmt: skip
        bodies, joints = (beam,), (first, second)
    else:
        post = Body("post", 1.0, np.eye(3))
        stands = Joint("stands", "fixed", None, "post", parent_position=(1, 0, 0))
        second = Joint("right", "revolute", "beam", "post", (0, 1, 0), parent_position=(0.5, 0, 0))
        bodies, joints = (beam, post), (first, stands, second)
    held = Sensor("held", "force", place=Place("beam"), bodies=("beam",))
    sim = Simulation(Mechanism("m", bodies, joints, sensors=(held,)), 1e-3)
    sim.run(0.01)
    assert sim.robot.loop_joints
    assert sim.sensor("held")[2] == pytest.approx(0.5 * 4.0 * 9.81, rel=1e-6)


def test_a_bearing_has_no_torque_where_the_ground_slows_what_turns():
    """A foot that turns under a carriage, and stops by torsional friction alone."""
    carriage, foot = Body("carriage", 1.0, np.eye(3)), Body("foot", 1.0, 0.01 * np.eye(3))
    joints = (
        Joint("lift", "prismatic", None, "carriage", (0, 0, 1)),
        Joint("bearing", "revolute", "carriage", "foot", (0, 0, 1)),
    )
    point = ContactPoint("p", "foot", (0, 0, 0), 0.1, 0.5, torsional_friction=0.02)
    held = Sensor("held", "torque", place=Place("foot"), bodies=("foot",))
    robot = Mechanism("m", (carriage, foot), joints, (point,), sensors=(held,))
    sim = Simulation(robot, 1e-3)
    sim.set_state([0.1, 0.0], [0.0, 30.0])
    sim.run(0.02)
    assert sim.v[1] < 29.5
    # The ground gives 0.02 x 2 kg x 9.81 m/s^2 = 0.39 N m.
    np.testing.assert_allclose(sim.sensor("held"), 0.0, atol=1e-3)
