"""Bearings in a simulation: what they take, what they hold, and how they jam, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import (
    BatchSimulation,
    Bearing,
    Body,
    ConvergenceError,
    Joint,
    Mechanism,
    ModelError,
    Simulation,
    quaternions,
)
from robosim.derivatives import linearize
from robosim.description.bearing import pads_of
from robosim.experiments import redmax_scenes as scenes
from robosim.kernels.status import UNSETTLED
from robosim.models import builders
from robosim.simulation.diagnosis import failure

G = 9.81
NOTHING = (0.0, 0.0, 0.0)
MU = 0.3
BOTH = ("articulated", "ldu")


def lost(sim: Simulation, turns: int) -> np.ndarray:
    """What a flywheel has lost at the end of each turn [J]."""
    inertia, angle, energy = sim.robot.bodies[0].inertia[1, 1], [0.0], [0.5 * sim.v[0] ** 2]
    while angle[-1] < 2 * np.pi * turns:
        sim.step()
        angle.append(sim.q[0])
        energy.append(0.5 * sim.v[0] ** 2)
    at = 2 * np.pi * np.arange(1, turns + 1)
    return inertia * (energy[0] - np.interp(at, angle, energy))


@pytest.mark.parametrize("solver", BOTH)
def test_a_flywheel_loses_8_mu_r_W_a_turn(solver):
    robot = builders.flywheel(10.0, 0.2, MU, shaft=0.02, length=0.1)
    sim = Simulation(robot, 2e-3, solver=solver)
    sim.set_state(v=[15.0])
    per_turn = 8 * MU * 0.02 * 10.0 * G
    np.testing.assert_allclose(lost(sim, 3), per_turn * np.arange(1, 4), rtol=1e-3)


@pytest.mark.parametrize("solver", BOTH)
def test_friction_under_an_impulse_is_over_at_the_next_knot(solver):
    """A pin on a wheel is stopped: the velocities at knots are means of the rates beside them."""
    bodies = (Body("wheel", 1.0, 0.01 * np.eye(3)), Body("pin", 0.2, 1e-3 * np.eye(3)))
    axle = Joint("axle", "revolute", None, "wheel", axis=(0, 0, 1), bearing=Bearing(0.1, 0.02, 0.1))
    guide = {"axis": (0, 0, 1), "parent_position": (0.2, 0, 0), "lower": [-0.01]}
    robot = Mechanism("m", bodies, (axle, Joint("guide", "prismatic", "wheel", "pin", **guide)))
    sim = Simulation(robot, 1e-3, gravity=NOTHING, solver=solver)
    sim.set_state(v=[10.0, -1.0])
    turned, rate = [0.0], [10.0]
    for _ in range(30):
        sim.step()
        turned.append(sim.q[0])
        rate.append(sim.v[0])
    change = np.diff(turned) / sim.timestep
    off = np.array(rate[1:-1]) - (change[:-1] + change[1:]) / 2
    hit = int(np.argmin(np.diff(change)))
    assert change[hit + 1] - change[hit] < -0.1
    np.testing.assert_allclose(np.delete(off, hit), 0.0, atol=1e-5)


@pytest.mark.parametrize("solver", BOTH)
@pytest.mark.parametrize("nearly", [-1e-2, -1e-3, -1e-4, 0.0, 1e-4, 1e-3, 1e-2])
def test_a_slider_that_nearly_jams_itself_slows_down_or_stops(nearly, solver):
    """Friction whose moment presses as hard as what it comes from: load and arm decide."""
    length, arm = 0.1, 0.4
    mu = 0.5 * length / arm * (1.0 + nearly)  # pads press with 2 F arm / length, and rub with F
    bearing = Bearing(mu, 0.02, length)
    guide = {"axis": (1, 0, 0), "child_position": (0, 0, -arm), "bearing": bearing}
    slide = Joint("slide", "prismatic", None, "body", **guide)
    sim = Simulation(Mechanism("slider", (Body("body", 1.0, np.eye(3)),), (slide,)), 1e-3)
    for accuracy in (None, 1e-3):
        sim = Simulation(sim.robot, 1e-3, solver=solver, accuracy=accuracy)
        sim.set_state(v=[0.5])
        log = sim.run(0.02)
        ways = np.diff(np.append(log.q[:, 0], sim.q[0]))
        assert np.all(ways > -1e-9)
        assert np.all(np.diff(ways) < 1e-9)
        assert ways[0] < 5e-4
        # Nearer to jamming, what the equations are solved to decides.
        assert ways[-1] < 1e-9 or nearly < 1e-3


def test_with_many_pads_it_is_4_over_pi_mu_r_W_all_the_time():
    sim = Simulation(builders.flywheel(10.0, 0.2, MU, 0.02, 0.1, pads=64), 2e-3)
    sim.set_state(v=[15.0])
    moment = 4 / np.pi * MU * 0.02 * 10.0 * G
    for angle in (0.3, 1.0, 2.5):
        while sim.q[0] < angle:
            sim.step()
        taken = 0.5 * 0.2 * (15.0**2 - sim.v[0] ** 2)
        assert taken == pytest.approx(moment * sim.q[0], rel=1e-3)
    assert sim.bearing_forces("axle").friction == pytest.approx(-moment, rel=1e-3)


def test_it_comes_to_rest_and_is_held_there():
    sim = Simulation(builders.flywheel(10.0, 0.2, MU), 1e-2)
    sim.set_state(v=[0.5])
    sim.run(2.0)
    assert abs(sim.v[0]) < 1e-8
    rest = sim.q[0]
    # Friction holds what is below it, and no more.
    most = MU * 0.02 * sim.bearing_forces("axle").pressed.sum()
    sim.run(1.0, lambda sim: [0.99 * most])
    # Near to what it can hold it creeps: by the barrier over what is left of the bound.
    assert abs(sim.q[0] - rest) < 2e-6
    assert sim.bearing_forces("axle").friction == pytest.approx(-0.99 * most, rel=1e-6)
    sim.step([1.01 * most])
    sim.step([1.01 * most])
    assert sim.v[0] > 0.5 * 0.01 * most / 0.2 * 1e-2


def pulled(offset: float, v: float = 0.0, pull: float = 5.0) -> Simulation:
    """A drawer without weight, 0.5 s after its handle, so far off the middle, has been pulled."""
    robot = builders.drawer(0.4, 0.6, 2.0, MU, handle=offset)
    sim = Simulation(robot, 1e-2, NOTHING)
    sim.set_state(v=[v])
    sim.apply_wrench("drawer", (pull, 0, 0), (0, 0, -offset * pull))
    for _ in range(50):
        sim.step()
    return sim


@pytest.mark.parametrize("part", [0.0, 0.5, 0.99, -0.8])
def test_a_drawer_goes_the_slower_the_farther_off_it_is_pulled(part):
    """By F / m (1 - 2 mu e / L), to 1e-6 F / m."""
    sim = pulled(part * 0.4 / (2 * MU))
    acceleration = 5.0 / 2.0 * (1 - abs(part))
    assert sim.v[0] / 0.5 == pytest.approx(acceleration, abs=1e-6 * 2.5)


@pytest.mark.parametrize("pull", [5.0, 5000.0])
def test_a_drawer_jams_however_strong_the_pull(pull):
    sim = pulled(1.01 * 0.4 / (2 * MU), pull=pull)
    assert abs(sim.v[0]) / 0.5 < 1e-6 * pull / 2
    # What moves is stopped.
    moving = pulled(2.0 * 0.4 / (2 * MU), v=0.2)
    assert abs(moving.v[0]) < 1e-7


def test_what_pads_press_with_at_rest():
    """A wheel that overhangs its bearing, turned on its axle: the wrench of its weight, shared."""
    bearing = Bearing(MU, 0.02, 0.1)
    wheel = Body("wheel", 3.0, 0.01 * np.eye(3))
    axle = Joint("axle", "revolute", None, "wheel", (0, 1, 0), child_position=(0, -0.07, 0),
                 bearing=bearing)  # fmt: skip
    sim = Simulation(Mechanism("overhang", (wheel,), (axle,)), 1e-2)
    np.testing.assert_array_equal(sim.bearing_forces("axle").pressed, 0.0)
    sim.set_state([0.7])
    sim.run(0.05)
    force = 3.0 * G * np.array((-np.sin(0.7), 0.0, np.cos(0.7)))  # up, in axes of the wheel
    wrench = np.concatenate((force, np.cross((0, 0.07, 0), force)))
    pads = pads_of(bearing, "revolute", (0, 1, 0))
    expected = np.bincount(pads.pad_of, np.abs(pads.shares @ wrench))
    found = sim.bearing_forces("axle")
    np.testing.assert_allclose(found.pressed, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.points, pads.points)
    np.testing.assert_allclose(found.friction, 0.0, atol=1e-8)
    with pytest.raises(ModelError, match="no joint 'axis'"):
        sim.bearing_forces("axis")


def ball(mu: float = MU) -> Simulation:
    bodies = (Body("ball", 2.0, 0.01 * np.eye(3)),)
    joint = Joint("socket", "spherical", None, "ball", bearing=Bearing(mu, 0.05))
    return Simulation(Mechanism("ball", bodies, (joint,)), 1e-2)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0.6, 0.8, 0)])
def test_a_socket_starts_to_tilt_at_mu_r_W(axis):
    most = MU * 0.05 * 2.0 * G
    for part, moves in ((0.99, False), (1.01, True)):
        sim = ball()
        sim.apply_wrench("ball", torque=part * most * np.asarray(axis))
        sim.step()
        sim.step()
        spin = float(sim.v @ axis)
        assert abs(spin) < 1e-6 or moves
        assert not moves or spin == pytest.approx(0.01 * most / 0.01 * 2e-2, rel=1e-3)


def test_a_socket_resists_no_turn_about_its_load():
    sim = ball()
    sim.set_state(v=[0, 0, 3.0])
    sim.run(0.2)
    np.testing.assert_allclose(sim.v, (0, 0, 3.0), rtol=1e-5, atol=1e-7)


def test_friction_of_a_socket_is_against_its_turn():
    """The two pads that carry the load slip by omega x p: one moment, against the turn."""
    sim, most = ball(), MU * 0.05 * 2.0 * G
    sim.set_state(v=[1.2, 1.6, 0])
    sim.step()
    sim.step()
    friction = sim.bearing_forces("socket").friction
    np.testing.assert_allclose(friction, (-0.6 * most, -0.8 * most, 0), rtol=0, atol=0.03 * most)


@pytest.mark.parametrize("part", [0.99, 1.01, 2.0])
def test_a_slider_on_a_slope_holds_up_to_tan_mu(part):
    slope = np.arctan(part * MU)
    tilt = quaternions.from_axis_angle((0, 1, 0), slope)
    joint = Joint("rail", "prismatic", None, "block", (1, 0, 0), offset=tilt,
                  bearing=Bearing(MU, 0.05, 0.2))  # fmt: skip
    sim = Simulation(Mechanism("slope", (Body("block", 2.0, np.eye(3)),), (joint,)), 1e-2)
    sim.run(0.5)
    expected = G * max(np.sin(slope) - MU * np.cos(slope), 0.0)
    assert sim.v[0] / 0.5 == pytest.approx(expected, abs=1e-6 * G)


@pytest.mark.parametrize(
    ("made", "steps", "energy"),
    [(scenes.hinges_that_rub, 200, -137797.0), (scenes.slides_that_rub, 50, -253646.0),
     (scenes.balls_that_rub, 100, -186520.0)],
)  # fmt: skip
def test_the_public_scenes_come_to_their_limits(made, steps, energy):
    """What Algorithm 8 comes to, iterated to the end and with ever shorter steps, +- 10.

    That is with h Jdot qdot in the constrained velocity of (2.117), which the notes leave out. It
    takes scene 27, whose links swing about each other, from -137753 to -137797.
    """
    scene = made()
    sim = Simulation(scene.robot(), scene.seconds / steps, scene.gravity)
    sim.set_state(scene.q, scene.v)
    before = [sim.energy()]
    for _ in range(steps):
        sim.step()
        before.append(sim.energy())
    assert before[-1] - before[0] == pytest.approx(energy, abs=10.0)
    # No step has given any.
    assert np.diff(before).max() < 1e-9 * abs(energy)


def test_a_bearing_that_closes_a_loop():
    """A flywheel whose axle closes a loop, as what leads to it is free: it runs as any other."""
    flywheel = builders.flywheel(10.0, 0.2, MU)
    (axle,) = flywheel.joints
    free = Joint("free", "floating", None, "disc")
    loop = Mechanism("loop", flywheel.bodies, (free, replace(axle, actuated=False)))
    assert loop.loop_joints[0].bearing is not None
    one, other = Simulation(flywheel, 2e-3), Simulation(loop, 2e-3)
    one.set_state(v=[15.0])
    other.set_state(v=[0, 0, 0, 0, 15.0, 0])
    for sim in (one, other):
        sim.run(0.3)
    assert other.v[4] == pytest.approx(one.v[0], rel=1e-8)
    assert other.bearing_forces("axle").pressed == pytest.approx(
        one.bearing_forces("axle").pressed, rel=1e-6
    )


def ladder(mu: float) -> Mechanism:
    """A rod of 1 m and 3 kg between a slide up a wall and one along the floor, both with bearings.

    The foot closes a loop. Home leans by 45 degrees.
    """
    small, rod = 1e-3 * np.eye(3), np.diag((0.25, 0.25, 1e-4))
    bodies = Body("high", 0.5, small), Body("rod", 3.0, rod), Body("low", 0.5, small)
    guide = Bearing(mu, 0.02, 0.1)
    joints = (
        Joint("wall", "prismatic", None, "high", (0, 0, 1), bearing=guide),
        Joint("top", "revolute", "high", "rod", (0, 1, 0), child_position=(0, 0, 0.5)),
        Joint("foot", "revolute", "rod", "low", (0, 1, 0), parent_position=(0, 0, -0.5)),
        Joint("floor", "prismatic", None, "low", (1, 0, 0), bearing=guide, actuated=False),
    )
    return Mechanism("ladder", bodies, joints, home=(np.sqrt(0.5), -np.pi / 4, np.pi / 4))


def slips(mu: float) -> np.ndarray:
    """What wall and floor press with [N], and how the angle changes [rad/s^2], from rest."""
    c, m, end, inertia = np.sqrt(0.5), 3.0, 0.5, 0.25
    balance = np.array((
        (1.0, -mu, (m / 2 + end) * c),  # along the floor
        (mu, 1.0, -(m / 2 + end) * c),  # up the wall
        (-(1 + mu) * c / 2, (1 - mu) * c / 2, end * c * c + inertia),  # moments about the middle
    ))  # fmt: skip
    return np.linalg.solve(balance, (0.0, (m + 2 * end) * G, 0.0))


def test_a_ladder_slips_between_wall_and_floor():
    """What presses at one end follows from the friction at the other one."""
    sim = Simulation(ladder(MU), 1e-3)
    sim.step()
    sim.step()
    wall, floor, rate = slips(MU)
    assert sim.v[1] == pytest.approx(rate * sim.time, rel=1e-3)
    assert sim.bearing_forces("wall").pressed.sum() == pytest.approx(wall, rel=1e-3)
    assert sim.bearing_forces("floor").pressed.sum() == pytest.approx(floor, rel=1e-3)


def test_a_ladder_that_moves_jams():
    """Beyond (1 - mu^2) / (2 mu) < tan 45 degrees it holds itself, whatever its weight is."""
    sim = Simulation(ladder(0.6), 5e-3)
    sim.set_state(v=[-1.0, 0, 0])
    energy = [sim.energy()]
    for _ in range(100):
        sim.step()
        energy.append(sim.energy())
    assert abs(sim.v).max() < 1e-6
    assert np.diff(energy).max() < 1e-6
    assert sim.q[0] < np.sqrt(0.5) - 1e-3


@pytest.mark.parametrize("mu", [1.0, 1.2, 1.5, 2.0, 5.0])
def test_ends_of_a_ladder_that_load_each_other_jam(mu):
    """With mu > 1 each end makes more load at the other one than it has itself."""
    sim = Simulation(ladder(mu), 5e-3)
    sim.set_state(v=[-1.0, 0, 0])
    heights, energy = [sim.q[0]], [sim.energy()]
    for _ in range(100):
        sim.step()
        heights.append(sim.q[0])
        energy.append(sim.energy())
    assert np.diff(heights).max() < 1e-9
    assert np.diff(energy).max() < 1e-6
    assert abs(sim.v).max() < 1e-6
    np.testing.assert_allclose(heights[60:], heights[60], rtol=0, atol=1e-9)


def test_bearings_that_do_not_settle_are_named():
    sim = Simulation(ladder(1.2), 5e-3)
    info = sim.engine.single.values.infos[0]
    info["status"], info["worst_body"] = UNSETTLED, sim.robot.body_index("low")
    error = failure(sim.robot, sim.engine.parts, 0.0, True, info)
    assert isinstance(error, ConvergenceError)
    assert "The bearing of joint 'floor' does not settle" in str(error)


def test_copies_and_restored_states_go_on_to_the_last_bit():
    scene = scenes.hinges_that_rub()
    sim = Simulation(scene.robot(), 1e-2, scene.gravity)
    sim.run(0.1)
    copy = sim.copy()
    np.testing.assert_array_equal(
        copy.bearing_forces("joint1").pressed, sim.bearing_forces("joint1").pressed
    )
    again, ends = sim.copy(), []
    for one in (sim, copy, again):
        if one is again:
            sim.restore(again)
            one = sim
        one.run(0.1)
        ends.append((*one.q, *one.v, *one.bearing_forces("joint1").pressed))
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])


def test_a_batch_takes_the_same_steps():
    robot = builders.flywheel()
    batch = BatchSimulation(robot, 3, 1e-2)
    sim = Simulation(robot, 1e-2)
    for one in (sim, *batch):
        one.set_state(v=[5.0])
    found = batch.rollout(10)
    sim.run(0.1)
    np.testing.assert_array_equal(found.v[:, -1, 0], sim.v[0])


def test_derivatives_refuse_them_by_name():
    with pytest.raises(ModelError, match="joint 'axle': has a bearing"):
        linearize(Simulation(builders.flywheel(), 1e-2))
