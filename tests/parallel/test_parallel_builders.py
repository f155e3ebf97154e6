"""The parallel mechanisms that ship: closed forms of their maps, and what their sizes are."""

from __future__ import annotations

import numpy as np
import pytest
from parallel_mechanisms import CASES, FLOATING, built, random_motors

import robosim
from robosim import ModelError, Simulation
from robosim.models import builders
from robosim.parallel import Transmission
from robosim.quaternions import from_axis_angle, multiply, rotation_matrix

X, Y, Z = np.eye(3)


@pytest.mark.parametrize("name", CASES)
def test_home_is_zero_with_closed_loops_and_stays_so(name):
    robot = robosim.load(name)
    assert robot.loop_joints
    np.testing.assert_array_equal(robot.home, 0.0)
    sim = Simulation(robot, timestep=0.005)
    np.testing.assert_allclose(sim.q, 0.0, atol=1e-14)
    assert sim.run(0.5).violation.max() < 1e-9
    assert np.abs(sim.q).max() > 1e-3
    of = Transmission(robot, **CASES[name][0])
    assert set(of.motors) <= set(robot.actuated_names)
    assert np.all(np.isfinite(of.torque_limits(of.home).inner))


@pytest.mark.parametrize("name", FLOATING)
def test_a_base_may_float(name):
    robot = getattr(builders, name)(base="floating")
    assert robot.floating_base
    assert robot.nv == getattr(builders, name)().nv + 6


def test_legs_of_a_stewart_platform_are_as_long_as_the_way():
    sizes = {"base_radius": 0.4, "platform_radius": 0.25, "height": 0.5,
             "base_gap": 0.4, "platform_gap": 0.2}  # fmt: skip
    robot = builders.stewart(**sizes)
    of = Transmission(robot, "platform")
    place = np.array((0.03, -0.02, 0.05, 0.2, -0.1, 0.3))
    turn = multiply(multiply(from_axis_angle(X, place[3]), from_axis_angle(Y, place[4])),
                    from_axis_angle(Z, place[5]))  # fmt: skip
    lengths = []
    for k in range(6):
        pair, side = divmod(k, 2)
        middle, sign = 2 * np.pi / 3 * pair, 2 * side - 1
        foot = middle + sign * 0.2
        top = middle + sign * (np.pi / 3 - 0.1)
        a = 0.4 * (np.cos(foot) * X + np.sin(foot) * Y)
        b = 0.25 * (np.cos(top) * X + np.sin(top) * Y)
        moved = 0.5 * Z + place[:3] + rotation_matrix(turn) @ b
        lengths.append(np.linalg.norm(moved - a) - np.linalg.norm(0.5 * Z + b - a))
    np.testing.assert_allclose(of.motors_at(place), lengths, atol=1e-12)


def test_forearms_of_a_delta_robot_keep_their_length():
    of = built("delta")[1]
    for seed in range(4):
        angles = random_motors("delta", of, seed)
        place = of.joints_at(angles)
        low = -np.sqrt(0.5**2 - 0.35**2) * Z
        for k, angle in enumerate(angles):
            way = np.cos(2 * np.pi / 3 * k) * X + np.sin(2 * np.pi / 3 * k) * Y
            # Positive angles lower the arm, about z cross its direction.
            elbow = 0.2 * way + 0.2 * (np.cos(angle) * way - np.sin(angle) * Z)
            assert np.linalg.norm(low + place + 0.05 * way - elbow) == pytest.approx(0.5, abs=1e-12)


def test_a_parallelogram_turns_a_knee_as_far_as_its_motor():
    of = Transmission(builders.four_bar_knee(crank=0.06, horn=0.06), "knee")
    angles = np.linspace(-1.3, 1.3, 5)[:, None]
    np.testing.assert_allclose(of.joints_at(angles), angles, atol=1e-12)


def test_both_motors_pitch_an_ankle_and_one_against_the_other_rolls_it():
    of = Transmission(builders.two_rod_ankle(lever=0.04, crank=0.04, width=0.05), "ankle")
    np.testing.assert_allclose(of.joints_at((0.3, 0.3)), (0.3, 0.0), atol=1e-12)
    pitch, roll = of.joints_at((0.1, -0.1))
    assert roll == pytest.approx(0.1 * 0.04 / 0.05, rel=1e-2)
    assert abs(pitch) < 0.01
    np.testing.assert_allclose(of.jacobian(of.home), [[0.5, 0.5], [0.4, -0.4]], atol=1e-12)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: builders.four_bar_knee(crank=0.0), "crank must be positive, not 0"),
        (lambda: builders.two_rod_ankle(heights=(0.1, -0.1)), "right_height must be positive"),
        (lambda: builders.spring_leg(stiffness=np.nan), "stiffness must be positive"),
        (lambda: builders.linear_leg(lever=np.inf), "lever must be positive"),
        (lambda: builders.delta(forearm=0.3), "forearm must be longer than 0.35, not 0.3"),
        (lambda: builders.stewart(base_gap=2.1), "base_gap must be less than 2 pi / 3"),
        (lambda: builders.stewart(height=-1.0), "height must be positive"),
    ],
)
def test_wrong_sizes_are_told(build, said):
    with pytest.raises(ModelError, match=said):
        build()
