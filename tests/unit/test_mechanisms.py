"""The mechanisms that ship: they close their loops, keep them closed, and keep their energy."""

from __future__ import annotations

import dataclasses
import io
import re

import numpy as np
import pytest
from rich.console import Console
from scipy.integrate import solve_ivp

import robosim
from robosim import Coupling, Mechanism, ModelError, PeerError, PointSpring, Simulation
from robosim.cli.tables import robot_dictionary, robot_tables
from robosim.controllers import PD
from robosim.dynamics import Kinematics
from robosim.models import builders

LOOPS = {
    "three_link_loop": builders.three_link_loop,
    "rhombus": builders.rhombus,
    "segments": builders.segments,
    "double_four_bar": builders.double_four_bar,
    "slider_crank": builders.slider_crank,
    "scissor_lift": builders.scissor_lift,
    "minitaur": builders.minitaur,
}


def at_home_by_the_tree(robot: Mechanism) -> float:
    """Violation of the loops where the tree's joints alone put the bodies at home."""
    open_robot = Mechanism(robot.name, robot.bodies, robot.tree_joints, home=robot.home)
    sim = Simulation(open_robot)
    worst = 0.0
    for joint in robot.loop_joints:
        ends = []
        for name, p in ((joint.parent, joint.parent_position), (joint.child, joint.child_position)):
            k = robot.body_index(str(name))
            R = robosim.quaternions.rotation_matrix(sim.state.q[k])
            ends.append(sim.state.x[k] + R @ np.asarray(p))
        worst = max(worst, float(np.abs(ends[1] - ends[0]).max()))
    return worst


@pytest.mark.parametrize("name", LOOPS)
def test_home_closes_all_loops(name: str) -> None:
    robot = LOOPS[name]()
    assert robot.loop_joints
    assert at_home_by_the_tree(robot) < 1e-14
    # So nothing is moved to close them.
    np.testing.assert_allclose(Simulation(robot).q, robot.home, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("robot", "scale"),
    [
        (builders.three_link_loop(), 30.0),
        (builders.rhombus(), 60.0),
        (builders.segments(2), 200.0),
        (builders.double_four_bar(), 60.0),
        (builders.slider_crank(), 5.0),
        (builders.slider_crank(rod_length=0.2), 5.0),
        (builders.spinning_top(), 0.2),
    ],
    ids=lambda value: value.name if isinstance(value, Mechanism) else "",
)
def test_loops_stay_closed_and_energy_has_no_trend(robot: Mechanism, scale: float) -> None:
    """`scale` is what gravity can set free, in J."""
    sim = Simulation(robot, timestep=0.01)
    energies = [sim.energy()]
    violation = 0.0
    for chunk in sim.stream(10.0, chunk_steps=10):
        energies.append(sim.energy())
        violation = max(violation, float(chunk.violation.max()))
    assert violation < 1e-9
    error = (np.array(energies) - energies[0]) / scale
    assert np.abs(error).max() < 0.02
    halves = error[: len(error) // 2].mean(), error[len(error) // 2 :].mean()
    assert abs(halves[1] - halves[0]) < 1e-3
    assert np.ptp(sim.q - np.asarray(robot.home)) > 0.1  # it moved


@pytest.mark.parametrize("name", ["three_link_loop", "rhombus", "segments", "slider_crank"])
def test_loops_stay_closed_from_wherever_they_start(name: str) -> None:
    robot = LOOPS[name]()
    rng = np.random.default_rng(7)
    for _ in range(4):
        sim = Simulation(robot, timestep=0.01)
        q = np.asarray(robot.home) + 0.5 * rng.normal(size=robot.nq)
        sim.set_state(q, 2.0 * rng.normal(size=robot.nv))
        assert sim.constraint_violation() < 1e-9
        assert sim.run(2.0).violation.max() < 1e-9


def test_the_double_four_bar_stays_parallel_through_its_singular_poses() -> None:
    q, v = builders.double_four_bar_start()

    def rates(t: float, y: np.ndarray) -> list[float]:
        return [y[1], 3.5 / 3 * 9.81 * np.sin(y[0])]

    exact = solve_ivp(rates, (0, 10), [0.0, 1.0], rtol=1e-11, atol=1e-11, dense_output=True).sol
    fine = np.linspace(0, 10, 200001)
    crossings = fine[1:][np.diff(np.cos(exact(fine)[0]) > 0)]
    assert (len(crossings), round(float(crossings[0]), 3)) == (10, 0.714)
    sim = Simulation(builders.double_four_bar(), timestep=0.002)
    sim.set_state(q, v)
    log = sim.run(1.5)
    theta = log.q[:, 0] - np.pi
    np.testing.assert_allclose(theta, exact(log.t)[0], atol=1e-3)
    np.testing.assert_allclose(log.q[:, 0] + log.q[:, 1], 1.5 * np.pi, atol=1e-7)


def test_segments_hang_from_each_other_at_the_given_opening_and_tilt() -> None:
    robot = builders.segments(2, opening=0.5, tilt=0.0, length=0.8, mass=2.0)
    x = Simulation(robot).state.x
    assert robot.total_mass == 16.0
    # All four rods of a rhombus are at the same distance from the axis, which is vertical.
    np.testing.assert_allclose(np.abs(x[:, 0]), 0.4 * np.sin(0.5), atol=1e-14)
    depths = 0.4 * np.cos(0.5) * np.array((1, 3, 5, 7))
    order = [robot.body_index(f"link{k}{letter}") for k in (1, 2) for letter in "ab"]
    np.testing.assert_allclose(x[order, 2], -depths, atol=1e-14)


def test_the_slider_is_where_the_law_of_cosines_has_it() -> None:
    robot = builders.slider_crank(crank=0.2, rod_length=0.5)
    sim = Simulation(robot, timestep=0.002)
    v = np.zeros(3)
    v[robot.v_names.index("crank_joint")] = 12.0  # several turns, through both dead centres
    sim.set_state(v=v)
    log = sim.run(2.0)
    angle = log.q[:, robot.q_names.index("crank_joint")]
    assert np.ptp(angle) > 4 * np.pi
    x, z = -0.2 * np.sin(angle), -0.2 * np.cos(angle)
    slide = log.q[:, robot.q_names.index("slide")]
    np.testing.assert_allclose(slide, x + np.sqrt(0.25 - z * z), atol=1e-9)


def test_the_scissor_lift_stands_and_sinks_by_its_weight_over_the_stiffness() -> None:
    robot = builders.scissor_lift(2, angle=0.7)
    assert robot.stance is not None
    sim = Simulation(robot, timestep=0.002)
    sim.run(3.0, controller="stand")
    assert np.abs(sim.v).max() < 1e-6
    drive, deck = sim.q[robot.q_names.index("drive")], robot.body_index("platform")
    angle = np.arccos(drive)
    np.testing.assert_allclose(sim.state.x[deck, 2] - 2 * np.sin(angle), 0.04, atol=1e-9)
    # Virtual work: what the masses rise when the foot is moved by one.
    masses, rises = robot.bodies, []
    for step in (-1e-5, 1e-5):
        q = sim.q.copy()
        q[robot.q_names.index("drive")] = drive + step
        moved = Simulation(robot)
        moved.set_state(q, hold=["drive"])
        rises.append(sum(b.mass * x[2] for b, x in zip(masses, moved.state.x, strict=True)))
    push = 9.81 * (rises[1] - rises[0]) / 2e-5
    kp, target = np.asarray(robot.stance.kp)[0], np.asarray(robot.stance.target)[0]
    assert kp * (target - drive) == pytest.approx(push, rel=1e-5)


def test_the_scissor_lift_falls_onto_its_stop() -> None:
    robot = builders.scissor_lift(3)
    sim = Simulation(robot, timestep=0.005)
    log = sim.run(1.5, controller="zero")
    cross = log.q[:, robot.q_names.index("cross1")]
    assert cross.min() > 0.1 - np.pi - 1e-9
    assert sim.q[robot.q_names.index("cross1")] == pytest.approx(0.1 - np.pi, abs=1e-6)
    assert log.violation.max() < 1e-9


def test_the_top_precesses_steadily() -> None:
    top = builders.spinning_top(tilt=0.4)
    v = builders.steady_precession(top, 400.0)
    sim = Simulation(top, timestep=5e-4)
    sim.set_state(v=v)
    log = sim.run(2.0)
    R = robosim.quaternions.rotation_matrix(log.q)
    np.testing.assert_allclose(R[:, 2, 2], np.cos(0.4), atol=1e-4)
    turned = np.unwrap(np.arctan2(R[:, 1, 2], R[:, 0, 2]))[-1]
    sideways = float(np.hypot(v[0], v[1]))
    # Weight turns the momentum of the spin, which is sin(spin dt) / dt in a step.
    faster = 0.2 / np.sin(0.2)
    assert turned == pytest.approx(faster * sideways / np.sin(0.4) * log.t[-1], rel=2e-4)
    # The other root would be much faster than gravity over the spin.
    body = top.bodies[0]
    height, C = -body.reference_position[2], np.asarray(body.inertia)[2, 2]
    assert sideways / np.sin(0.4) == pytest.approx(
        body.mass * 9.81 * height / (C * 400.0), rel=0.02
    )


def test_a_chain_of_spheres_rises_from_the_ground_at_45_degrees() -> None:
    robot = builders.sphere_chain(3, radius=0.2, spacing=0.5, friction=0.7)
    sim = Simulation(robot)
    np.testing.assert_allclose(sim.state.x[0], (0, 0, 0.2))
    np.testing.assert_allclose(np.diff(sim.state.x, axis=0), [[0.125**0.5, 0, 0.125**0.5]] * 2)
    assert {contact.friction for contact in robot.contacts} == {0.7}


class TestMinitaur:
    def test_is_a_quadruped_of_six_kilograms_with_four_loops(self) -> None:
        robot = builders.minitaur()
        assert robot.total_mass == pytest.approx(5.82)
        assert [joint.name for joint in robot.loop_joints] == [
            f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")
        ]
        assert robot.actuated_names[:2] == ("FL_front_motor", "FL_rear_motor")
        assert robot.nu == 8
        feet = Simulation(robot).contact_positions()[:4]
        np.testing.assert_allclose(feet[:, 2], 0.0, atol=1e-15)
        np.testing.assert_allclose(np.abs(feet[:, :2]), [(0.17, 0.125)] * 4)

    def test_legs_reach_where_they_are_told(self) -> None:
        robot = builders.minitaur()
        q = np.array(robot.home)
        places = {"FL": (0.05, -0.2), "FR": (0.0, -0.12), "RL": (-0.06, -0.15), "RR": (0, -0.25)}
        names = [f"{leg}_{half}_motor" for leg in places for half in ("front", "rear")]
        q[[robot.q_names.index(name) for name in names]] = builders.minitaur_legs(places)
        q[2] = 1.0
        sim = Simulation(robot)
        sim.set_state(q, hold=names)
        feet = {
            contact.name: point
            for contact, point in zip(robot.contacts, sim.contact_positions(), strict=True)
        }
        trunk = sim.state.x[0]
        R = robosim.quaternions.rotation_matrix(sim.state.q[0])
        for leg, (x, z) in places.items():
            hip = np.array(
                (0.17 if leg[0] == "F" else -0.17, 0.125 if leg[1] == "L" else -0.125, 0)
            )
            foot = feet[f"{leg}_foot"] + (0, 0, 0.012)
            np.testing.assert_allclose(R.T @ (foot - trunk) - hip, (x, 0, z), atol=1e-8)

    def test_stands_with_implicit_servos_at_ten_milliseconds(self) -> None:
        robot = builders.minitaur()
        stance = robot.stance
        assert stance is not None
        sim = Simulation(robot, timestep=0.01)
        log = sim.run(3.0, PD(robot, stance.target, stance.kp, stance.kd, implicit=True))
        assert log.gap.min() >= 0
        assert log.violation.max() < 1e-9
        assert np.abs(sim.v).max() < 1e-5
        np.testing.assert_allclose(sim.q[3:7], (1, 0, 0, 0), atol=1e-6)
        forces = sim.contact_forces()
        assert forces[:4, 2].sum() == pytest.approx(9.81 * robot.total_mass, rel=1e-6)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: builders.three_link_loop(0.5 * np.pi), "cannot be closed"),
        (lambda: builders.segments(0), "at least one segment, not 0"),
        (lambda: builders.rhombus(opening=0), "opening must be between 0 and 1.5708, not 0"),
        (lambda: builders.rhombus(tilt=np.nan), "tilt must be between"),
        (lambda: builders.double_four_bar(np.inf), "angle must be between"),
        (lambda: builders.slider_crank(crank=0.6), "0.5 m is too short for a crank of 0.6 m"),
        (lambda: builders.slider_crank(slider_mass=0), "slider_mass must be positive, not 0"),
        (lambda: builders.scissor_lift(angle=0.0), "angle must be between 0.05 and"),
        (lambda: builders.scissor_lift(0), "at least one pair of bars"),
        (lambda: builders.sphere_chain(0), "at least one sphere"),
        (lambda: builders.spinning_top(tilt=4), "tilt must be between"),
        (lambda: builders.steady_precession(builders.spinning_top(), 1.0), "needs 76.78"),
        (lambda: builders.minitaur(length=0.31), "FL.*cannot be closed.*0.31 m apart"),
        (lambda: builders.minitaur(friction=-1), "friction must not be negative"),
        (lambda: builders.minitaur_legs({"FL": (0, -0.2)}), "no place for leg 'FR'"),
    ],
)
def test_sizes_are_checked(build, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        build()


def test_info_tells_loops_springs_and_couplings() -> None:
    robot = builders.scissor_lift(1)
    spring = PointSpring("pull", None, "platform", stiffness=123.0, rest_length=0.5)
    gear = Coupling("gear", "slide", "drive", ratio=0.75)
    robot = dataclasses.replace(robot, springs=(spring,), couplings=(gear,))
    console = Console(width=200, file=io.StringIO())
    for table in robot_tables(robot):
        console.print(table)
    text = console.file.getvalue()
    assert "5, of which 1 actuated; 2 closed loops take some" in text
    for words in (r"loop1 .* foot +right1 .*closes a loop", "pull +the world +platform +123 +0.5 "):
        assert re.search(words, text), text
    assert re.search(r"gear +slide +drive +0\.75 +0", text), text
    told = robot_dictionary(robot)
    closing = [joint["name"] for joint in told["joints"] if joint["closes_loop"]]
    assert closing == ["loop1", "loop2"]
    assert told["springs"][0]["parent"] is None
    assert (told["couplings"][0]["source"], told["couplings"][0]["ratio"]) == ("drive", 0.75)


def test_a_peer_is_told_which_loops_it_cannot_have() -> None:
    with pytest.raises(PeerError, match=r"closed loops.*'loop1', 'loop2'"):
        robosim.compare("double_four_bar")


def test_the_biped_stands_on_flat_feet() -> None:
    """14.2 kg, as published of Spring Flamingo, and soles on the ground in every pose."""
    robot = builders.flamingo()
    assert sum(body.mass for body in robot.bodies) == pytest.approx(14.2248)
    assert (robot.nv, robot.nu) == (9, 4)
    for q in (robot.home, builders.flamingo_pose(0.3, -0.6, 1.1)):
        at = Kinematics(robot, q)
        for contact in robot.contacts:
            b = robot.body_index(contact.body)
            assert (at.x[b] + at.R[b] @ np.asarray(contact.position))[2] == pytest.approx(0.0)
    with pytest.raises(ModelError, match="stiffness"):
        builders.flamingo(stiffness=0.0)


def test_the_humanoid_stands_on_flat_feet() -> None:
    """Published of Atlas: 30 motors, and the sum of the links' masses; both sides are alike."""
    robot = builders.atlas()
    assert (robot.nv, robot.nu) == (36, 30)
    assert robot.total_mass == pytest.approx(174.05, abs=0.01)
    assert not [body.name for body in robot.bodies if body.impossible_inertia()]
    at = Kinematics(robot, np.asarray(robot.home))
    for contact in robot.contacts:
        b = robot.body_index(contact.body)
        assert (at.x[b] + at.R[b] @ np.asarray(contact.position))[2] == pytest.approx(0.0)
    left, right = (at.x[robot.body_index(f"{side}_hand")] for side in "lr")
    np.testing.assert_allclose(left * (1, -1, 1), right, rtol=0, atol=1e-12)
    with pytest.raises(ModelError, match="friction"):
        builders.atlas(friction=0.0)


def test_legs_of_the_small_quadruped_reach_where_they_are_sent() -> None:
    """2.75 kg, as published of LittleDog; angles of legs by Kinematics, and back."""
    robot = builders.littledog()
    assert (robot.nv, robot.nu) == (18, 12)
    assert robot.total_mass == pytest.approx(2.7464)
    rng = np.random.default_rng(5)
    for q in (np.array(robot.home), np.array(robot.home) + 0.1 * rng.normal(size=robot.nq)):
        q[:7] = robot.home[:7]
        at = Kinematics(robot, q)
        for k, leg in enumerate(builders.DOG_LEGS):
            contact = robot.contacts[k]
            assert contact.name == f"{leg}_foot"
            b = robot.body_index(contact.body)
            foot = at.x[b] + at.R[b] @ np.asarray(contact.position) - at.x[0]
            own = q[7 + 3 * k : 10 + 3 * k]
            np.testing.assert_allclose(builders.littledog_leg(leg, foot), own, rtol=0, atol=1e-9)
    with pytest.raises(ModelError, match="cannot have its foot"):
        builders.littledog_leg("back_left", np.array((0.2, 0.1, -0.15)))
