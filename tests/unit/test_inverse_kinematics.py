"""Targets are reached within limits and with loops closed, or what is left of them is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import Body, Coupling, Frame, Joint, Mechanism, ModelError, StateError
from robosim.dynamics import CenterOfMassTarget, Dynamics, FrameTarget, PostureTarget
from robosim.inverse_kinematics.least_squares import descend
from robosim.inverse_kinematics.pose_constraints import PoseConstraints
from robosim.inverse_kinematics.search_space import (
    rate_of_rotation_vector,
    rate_of_turn,
    whole_turns,
)
from robosim.joints import Composite, Euler
from robosim.loaders.packages import example_robot_data
from robosim.models import builders
from robosim.models.builders.legged import HIP_X, HIP_Y, LOWER, UPPER
from robosim.quaternions import from_axis_angle, normalized, rotation_matrix
from robosim.tendons import Tendon, Term

Y = (0, 1, 0)
FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
BASE = ("floating_base",)


def planar(lower: float = -np.inf, upper: float = np.inf, **more) -> Mechanism:
    """Two rods of 0.6 m and 0.4 m that turn about y, along x at zero, with a tip."""
    bodies = (
        Body("upper", 1.0, 0.01 * np.eye(3)),
        Body("lower", 3.0, 0.01 * np.eye(3), frames=(Frame("tip", (0.2, 0, 0)),)),
    )
    joints = (
        Joint("shoulder", "revolute", None, "upper", Y, (0, 0, 0), (-0.3, 0, 0)),
        Joint("elbow", "revolute", "upper", "lower", Y, (0.3, 0, 0), (-0.2, 0, 0),
              lower=lower, upper=upper),
    )  # fmt: skip
    return Mechanism("planar", bodies, joints, home=(0.3, 0.5), **more)


def slider() -> Mechanism:
    """A body that slides along x, with a frame on either side."""
    frames = Frame("back", (-1, 0, 0)), Frame("front", (1, 0, 0))
    body = Body("cart", 1.0, np.eye(3), frames=frames)
    return Mechanism("slider", (body,), (Joint("rail", "prismatic", None, "cart", (1, 0, 0)),))


def screwed() -> Mechanism:
    """A universal joint, a hinge, a slide and a screw, all askew, with a tool."""
    joints = (
        Joint("u", "universal", None, "a", child_position=(0, 0, -0.3)),
        Joint("elbow", "revolute", "a", "b", Y, (0, 0, 0.3), (0, 0, -0.3)),
        Joint("slide", "prismatic", "b", "c", (1, 0, 1), (0, 0, 0.3), lower=-0.2, upper=0.4),
        Joint("s", "screw", "c", "d", (1, 1, 0), (0.1, 0, 0.2), (0, 0.1, -0.1), pitch=0.1),
    )
    bodies = [Body(name, 1.0, np.eye(3)) for name in "abc"]
    tool = Body("d", 1.0, np.eye(3), frames=(Frame("tool", (0.1, 0.2, 0.3)),))
    return Mechanism("screwed", (*bodies, tool), joints)


def balls() -> Mechanism:
    """A floating body, an arm on a ball, a slide and a hinge, all askew."""
    rng = np.random.default_rng(5)

    def place() -> dict:
        return {
            "axis": rng.normal(size=3),
            "parent_position": 0.3 * rng.normal(size=3),
            "child_position": 0.3 * rng.normal(size=3),
            "offset": normalized(rng.normal(size=4)),
        }

    joints = (
        Joint("base", "floating", None, "a"),
        Joint("ball", "spherical", "a", "b", **place()),
        Joint("slide", "prismatic", "b", "c", **place()),
        Joint("hinge", "revolute", "c", "d", **place()),
    )
    tool = Frame("tool", (0.1, 0.2, 0.3), normalized(rng.normal(size=4)))
    bodies = [Body(name, 1.0, np.eye(3)) for name in "abc"]
    return Mechanism(
        "balls", (*bodies, Body("d", 2.0, np.eye(3), frames=(Frame("d"), tool))), joints
    )


def all_limits_hold(robot: Mechanism, q: np.ndarray) -> bool:
    return all(
        np.all((q[k : k + joint.nv] >= joint.lower) & (q[k : k + joint.nv] <= joint.upper))
        for k, joint in zip(robot.q_offsets, robot.tree_joints, strict=False)
        if not joint.has_quaternion
    )


# -- derivatives ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda q: FrameTarget("tool", (0.3, -0.2, 0.5), normalized((1, 2, -1, 3))),
        lambda q: FrameTarget("tool", None, normalized((1, 2, -1, 3)), 1.0, (1, 0, 2)),
        lambda q: CenterOfMassTarget((0.3, -0.2, 0.5), (1, 0, 3)),
        lambda q: PostureTarget(q, np.arange(11.0)),
        lambda q: PostureTarget({"hinge": 0.4, "base.x": 1.0}),
    ],
)
def test_derivatives_of_all_errors_are_those_of_finite_differences(make):
    robot = balls()
    dynamics = Dynamics(robot)
    for seed in range(3):
        q = dynamics.random(seed)
        task = make(dynamics.random(7)).task(dynamics)
        values, rows = task.errors(q)
        assert rows.shape == (len(task.weights), robot.nv) == (len(values), robot.nv)
        h = 1e-6
        for column, direction in zip(rows.T, np.eye(robot.nv), strict=True):
            ahead, behind = (
                task.errors(dynamics.integrate(q, s * h * direction))[0] for s in (1, -1)
            )
            np.testing.assert_allclose((ahead - behind) / (2 * h), column, atol=2e-8)


@pytest.mark.parametrize("angle", [1e-9, 0.9e-3, 1.1e-3, 1.0, 3.1])
def test_the_rate_of_a_rotation_vector_is_the_inverse_of_the_rate_of_its_turn(angle):
    turn = angle * np.array((2, -1, 2)) / 3
    product = rate_of_rotation_vector(turn) @ rate_of_turn(turn)
    np.testing.assert_allclose(product, np.eye(3), atol=1e-9)


def test_least_squares_within_bounds_meet_the_conditions_of_a_minimum():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, b = rng.normal(size=(8, 5)), rng.normal(size=8)
        low, high = -0.2 * rng.random(5), 0.2 * rng.random(5)
        found = descend(lambda x, A=A, b=b: (A @ x - b, A), np.zeros(5), low, high,
                        damping=1e-2, least_damping=1e-12)  # fmt: skip
        gradient = A.T @ (A @ found.x - b)
        assert np.all((found.x >= low) & (found.x <= high))
        assert found.settled
        assert np.all((gradient >= -1e-6) | (found.x == high))
        assert np.all((gradient <= 1e-6) | (found.x == low))


# -- what is reached ------------------------------------------------------------------------------


@pytest.mark.peer
@pytest.mark.skipif(example_robot_data() is None, reason="needs example-robot-data")
@pytest.mark.parametrize("name", ["panda_description/panda", "ur_description/ur5_robot"])
def test_arms_reach_whole_poses_within_limits(name):
    robot = robosim.load(name, floating_base=False)
    dynamics = Dynamics(robot)
    frame = "panda_hand_tcp" if robot.name == "panda" else "tool0"
    for seed in range(5):
        position, R = dynamics.frame(dynamics.random(seed), frame)
        start = dynamics.random(100 + seed)
        result = dynamics.inverse_kinematics(FrameTarget(frame, position, R), start)
        assert result.reached, result
        assert all_limits_hold(robot, result.q)
        there, R_there = dynamics.frame(result.q, frame)
        np.testing.assert_allclose(there, position, atol=1e-6)
        np.testing.assert_allclose(R_there, R, atol=2e-6)
        for gear in robot.couplings:
            led, source = (result.q[robot.q_names.index(one)] for one in (gear.joint, gear.source))
            assert led == pytest.approx(gear.ratio * source + gear.offset, abs=1e-9)


@pytest.mark.parametrize("fixed", [BASE, ()])
def test_feet_of_a_quadruped_with_its_base_fixed_or_free(fixed):
    robot = robosim.load("a1", ground=False)
    dynamics = Dynamics(robot)
    for seed in range(3):
        q, start = dynamics.random(seed), dynamics.random(50 + seed)
        q[:7] = start[:7] = robot.home[:7]
        feet = [FrameTarget(foot, dynamics.frame(q, foot)[0]) for foot in FEET]
        result = dynamics.inverse_kinematics(feet, start, fixed=fixed)
        assert result, result
        assert all_limits_hold(robot, result.q)
        for foot in feet:
            np.testing.assert_allclose(
                dynamics.frame(result.q, foot.frame)[0], foot.position, atol=1e-6
            )
        assert np.array_equal(result.q[:7], start[:7]) == bool(fixed)


def minitaur_feet(robot: Mechanism, reach: dict[str, tuple[float, float]]) -> list[FrameTarget]:
    """Feet at a distance and an angle from their hips."""
    targets = []
    for leg, (distance, angle) in reach.items():
        hip = np.array((HIP_X * (1 if leg[0] == "F" else -1), HIP_Y * (1 if leg[1] == "L" else -1),
                        robot.home[2]))  # fmt: skip
        way = np.array((np.sin(angle), 0, -np.cos(angle)))
        targets.append(FrameTarget(f"{leg}_front_lower_end", hip + distance * way))
    return targets


def test_legs_with_loops_reach_and_stay_closed_and_say_what_is_out_of_reach():
    robot = builders.minitaur()
    dynamics = Dynamics(robot)
    near = {"FL": (0.12, 0.5), "FR": (0.25, -0.4), "RL": (0.2, 0.0), "RR": (0.29, 1.0)}
    result = dynamics.inverse_kinematics(minitaur_feet(robot, near), fixed=BASE)
    assert result, result
    assert np.abs(PoseConstraints(robot, {}).at(result.q)[0]).max() < 1e-9
    far = near | {"RL": (UPPER + LOWER + 0.05, 0.3)}
    result = dynamics.inverse_kinematics(minitaur_feet(robot, far), fixed=BASE, restarts=2)
    assert (result.status, [one.reached for one in result.residuals]) == (
        "minimum",
        [True, True, False, True],
    )
    assert result.residuals[2].distance == pytest.approx(0.05, abs=1e-8)
    assert np.abs(PoseConstraints(robot, {}).at(result.q)[0]).max() < 1e-9
    # With the base free, the trunk comes along.
    assert dynamics.inverse_kinematics(minitaur_feet(robot, far), restarts=2)


def test_centre_of_mass_over_feet_that_stay():
    robot = robosim.load("a1", ground=False)
    dynamics = Dynamics(robot)
    feet = [FrameTarget(foot, dynamics.frame(robot.home, foot)[0]) for foot in FEET]
    goal = dynamics.center_of_mass(robot.home) + np.array((0.03, -0.02, -0.04))
    level = FrameTarget("trunk", orientation=(1, 0, 0, 0))
    result = dynamics.inverse_kinematics([*feet, CenterOfMassTarget(goal), level])
    assert result, result
    np.testing.assert_allclose(dynamics.center_of_mass(result.q), goal, atol=1e-6)
    np.testing.assert_allclose(dynamics.frame(result.q, "trunk")[1], np.eye(3), atol=2e-6)
    assert result.restarts == 0


def test_directions_without_weight_are_free():
    """A frame points along an axis that is given, and turns about it as it likes."""
    robot = balls()
    dynamics = Dynamics(robot)
    q0, goal = dynamics.random(1), dynamics.random(2)
    position, R = dynamics.frame(goal, "tool")
    target = FrameTarget("tool", position, R, (1, 0, 1), (1, 1, 0))
    result = dynamics.inverse_kinematics(target, q0, fixed=("base",))
    assert result, result
    there, R_there = dynamics.frame(result.q, "tool")
    np.testing.assert_allclose(there[[0, 2]], position[[0, 2]], atol=1e-6)
    np.testing.assert_allclose(R_there[:, 2], R[:, 2], atol=1e-6)
    assert abs(there[1] - position[1]) > 1e-3
    assert np.abs(R_there - R).max() > 1e-3


def test_a_turn_by_nearly_half_is_found_and_quaternions_keep_their_length():
    robot = balls()
    dynamics = Dynamics(robot)
    q0 = robot.neutral()
    position, R = dynamics.frame(q0, "tool")
    goal = rotation_matrix(from_axis_angle((1, 2, 3), 3.1)) @ R
    result = dynamics.inverse_kinematics(FrameTarget("tool", position, goal), q0)
    assert result, result
    for k in (3, 7):
        assert np.linalg.norm(result.q[k : k + 4]) == pytest.approx(1, abs=1e-14)


def test_universal_joints_and_screws_reach_whole_poses():
    robot = screwed()
    dynamics = Dynamics(robot)
    for seed in range(3):
        q = dynamics.random(seed)
        position, R = dynamics.frame(q, "tool")
        target = FrameTarget("tool", position, R, tolerance=1e-8)
        for start in (dynamics.random(10 + seed), q + 0.1 * np.array((1, -1, 1, 0.1, 2))):
            result = dynamics.inverse_kinematics(target, start)
            assert result, result
            assert all_limits_hold(robot, result.q)
            there, R_there = dynamics.frame(result.q, "tool")
            np.testing.assert_allclose(there, position, atol=1e-8)
            np.testing.assert_allclose(R_there, R, atol=2e-8)


def test_a_screw_is_not_turned_back_by_whole_turns_as_angles_are():
    body = Body("nut", 1.0, np.eye(3), frames=(Frame("nut", (0, 0, 0)),))
    robot = Mechanism("screw", (body,), (Joint("s", "screw", None, "nut", pitch=0.1),))
    result = Dynamics(robot).inverse_kinematics(FrameTarget("nut", (0, 0, 2.0)))
    assert result, result
    assert result.q[0] == pytest.approx(20.0, abs=1e-5)
    turns = [whole_turns(joint) for joint in screwed().joints]
    assert turns == [(True, True), (True,), (False,), (False,)]


def test_a_posture_of_a_screw_is_counted_in_radians():
    dynamics = Dynamics(screwed())
    result = dynamics.inverse_kinematics(PostureTarget({"s": 9.0, "slide": 0.7}, 1.0, 1e-6))
    assert result.q[4] == pytest.approx(9.0, abs=1e-6)
    assert result.residuals[0].distance == pytest.approx(0.3, abs=1e-9)
    assert result.residuals[0].angle == pytest.approx(0.0, abs=1e-6)


def test_either_form_of_an_orientation_is_the_same_target():
    q = normalized((1, 2, -1, 3))
    by_matrix = FrameTarget("tool", orientation=rotation_matrix(q)).orientation
    np.testing.assert_allclose(by_matrix, q, atol=1e-15)


# -- what is not ----------------------------------------------------------------------------------


def test_what_is_out_of_reach_says_so_with_the_distance_left():
    dynamics = Dynamics(planar())
    way = np.array((0.6, 0, 0.8))
    result = dynamics.inverse_kinematics(FrameTarget("tip", 1.25 * way))
    assert not result
    assert result.status == "minimum"
    assert result.residuals[0].distance == pytest.approx(0.25, abs=1e-8)
    np.testing.assert_allclose(dynamics.frame(result.q, "tip")[0], way, atol=1e-4)
    assert "frame 'tip' 0.25 m" in str(result)
    inside = dynamics.inverse_kinematics(FrameTarget("tip", 0.15 * way))
    assert inside.residuals[0].distance == pytest.approx(0.05, abs=1e-8)
    across = dynamics.inverse_kinematics(FrameTarget("tip", 0.8 * way + (0, 0.3, 0)))
    assert across.residuals[0].distance == pytest.approx(0.3, abs=1e-12)


def test_limits_hold_and_are_named_where_they_are_in_the_way():
    """The elbow cannot bend below a right angle: tip and shoulder stay that far apart."""
    robot = planar(lower=-np.pi / 2, upper=1.0)
    dynamics = Dynamics(robot)
    result = dynamics.inverse_kinematics(FrameTarget("tip", (0.5, 0, 0)))
    assert not result
    assert result.at_limits == ("elbow",)
    assert "at limits: elbow" in str(result)
    assert result.q[1] == -np.pi / 2
    assert result.residuals[0].distance == pytest.approx(np.hypot(0.6, 0.4) - 0.5, abs=1e-9)
    # Only one side of two is within limits, and another start finds the same.
    for start in ((0.0, 0.9), (2.0, 0.5), (-2.0, -1.0)):
        reached = dynamics.inverse_kinematics(FrameTarget("tip", (0.75, 0, 0)), start)
        assert reached
        assert all_limits_hold(robot, reached.q)


def test_a_start_beyond_limits_is_brought_within_but_what_is_fixed_stays():
    dynamics = Dynamics(planar(upper=1.0))
    target = FrameTarget("tip", dynamics.frame((0.2, 1.0), "tip")[0])
    assert dynamics.inverse_kinematics(target, (0.2, 2.0)).q[1] <= 1.0
    kept = dynamics.inverse_kinematics(target, (0.2, 2.0), fixed=("elbow",))
    assert kept.q[1] == 2.0
    assert not kept


def test_angles_stay_within_half_a_turn_of_the_start():
    dynamics = Dynamics(planar())
    target = FrameTarget("tip", dynamics.frame((0.3, 0.7), "tip")[0])
    start = np.array((3.1 + 4 * np.pi, 0.9))
    for elbow in (0.9, -0.9):
        start[1] = elbow
        far = dynamics.inverse_kinematics(target, start)
        assert far
        assert np.abs(far.q - start).max() <= np.pi


# -- weights and wishes ---------------------------------------------------------------------------


def test_targets_that_exclude_each_other_are_weighed_by_the_squares_of_their_weights():
    dynamics = Dynamics(slider())
    targets = [
        FrameTarget("front", (2, 0, 0), position_weight=2.0),
        FrameTarget("back", (-3, 0, 0), position_weight=1.0),
    ]
    result = dynamics.inverse_kinematics(targets)
    assert not result
    assert result.q[0] == pytest.approx((4 * 1 + 1 * -2) / 5, abs=1e-6)


def test_a_wish_chooses_among_the_poses_that_reach_and_gives_way():
    dynamics = Dynamics(planar())
    position = dynamics.frame((0.3, 0.7), "tip")[0]
    for bend in (1, -1):
        wish = PostureTarget({"elbow": bend * 2.0})
        result = dynamics.inverse_kinematics([FrameTarget("tip", position), wish], (0, bend * 1.0))
        assert result, result
        assert result.q[1] == pytest.approx(bend * 0.7, abs=1e-5)
        assert not np.isfinite(wish.tolerance)
        assert result.residuals[1].angle == pytest.approx(1.3, abs=1e-5)
    # Where there is room, the wish is met.
    robot = robosim.load("a1", ground=False)
    dynamics, q = Dynamics(robot), np.array(robot.home)
    foot = FrameTarget("FL_foot", dynamics.frame(q, "FL_foot")[0] + (0.02, 0, 0.03))
    result = dynamics.inverse_kinematics([foot, PostureTarget(q)], fixed=BASE)
    assert result
    others = [k for k, name in enumerate(robot.q_names) if not name.startswith("FL")]
    np.testing.assert_allclose(result.q[others], q[others], atol=1e-9)


def test_of_all_poses_that_reach_the_one_nearest_to_a_wish_is_chosen():
    """Two slides share a way of 1 m: what they miss of their wishes goes by their weights."""
    bodies = Body("a", 1.0, np.eye(3)), Body("b", 1.0, np.eye(3))
    joints = tuple(
        Joint(name, "prismatic", parent, name, (1, 0, 0))
        for name, parent in (("a", None), ("b", "a"))
    )
    dynamics = Dynamics(Mechanism("slides", bodies, joints))
    wish = PostureTarget((0.3, 0.2), (0.01, 0.02))
    result = dynamics.inverse_kinematics([FrameTarget("b", (1.0, 0, 0)), wish], (5.0, -3.0))
    assert result, result
    np.testing.assert_allclose(result.q, (0.7, 0.3), atol=1e-4)
    assert result.q.sum() == pytest.approx(1.0, abs=1e-9)


def test_a_posture_with_a_tolerance_is_a_target():
    dynamics = Dynamics(planar(upper=1.0))
    assert dynamics.inverse_kinematics(PostureTarget((0.1, 0.2), 1.0, 1e-6))
    beyond = dynamics.inverse_kinematics(PostureTarget((7.0, 1.5), 1.0, 1e-6))
    assert not beyond
    np.testing.assert_allclose(beyond.q, (7.0, 1.0), atol=1e-9)
    assert beyond.residuals[0].angle == pytest.approx(0.5, abs=1e-9)


# -- what joints do together ----------------------------------------------------------------------


def test_couplings_and_lengths_that_are_held_are_kept():
    gear = Coupling("gear", "elbow", "shoulder", -0.5, 0.2)
    dynamics = Dynamics(planar(couplings=(gear,)))
    q = np.array((0.8, -0.2))
    result = dynamics.inverse_kinematics(FrameTarget("tip", dynamics.frame(q, "tip")[0]))
    assert result, result
    np.testing.assert_allclose(result.q, q, atol=1e-6)
    assert result.q[1] == pytest.approx(-0.5 * result.q[0] + 0.2, abs=1e-9)
    rope = Tendon("rope", (Term("shoulder", 0.1), Term("elbow", 0.2)), lower=0.06, upper=0.06)
    dynamics = Dynamics(planar(tendons=(rope,)))
    q = np.array((0.8, -0.1))
    result = dynamics.inverse_kinematics(FrameTarget("tip", dynamics.frame(q, "tip")[0]))
    assert result, result
    assert 0.1 * result.q[0] + 0.2 * result.q[1] == pytest.approx(0.06, abs=1e-9)


def test_motions_are_taken_at_a_time():
    robot = planar()
    driven = replace(robot.joints[1], motion=lambda t: 0.1 + 2.0 * t)
    dynamics = Dynamics(replace(robot, joints=(robot.joints[0], driven)))
    target = FrameTarget("tip", dynamics.frame((0.3, 0.6), "tip")[0])
    result = dynamics.inverse_kinematics(target, time=0.25)
    assert result, result
    assert result.q[1] == 0.6
    assert not dynamics.inverse_kinematics(target, restarts=3)


def test_loops_that_cannot_close_are_told():
    bodies = tuple(Body(name, 1.0, np.eye(3), frames=(Frame(name, (0, 0, 0)),)) for name in "ab")
    joints = (
        Joint("left", "revolute", None, "a", Y, (-1, 0, 0), (-0.2, 0, 0)),
        Joint("right", "revolute", None, "b", Y, (1, 0, 0), (0.2, 0, 0)),
        Joint("pin", "revolute", "a", "b", Y, (0.2, 0, 0), (-0.2, 0, 0)),
    )
    dynamics = Dynamics(Mechanism("gap", bodies, joints))
    result = dynamics.inverse_kinematics(FrameTarget("a", (-0.8, 0, 0)), restarts=1)
    assert result.status == "open"
    assert "not satisfied" in str(result)
    assert result.open_by == pytest.approx(1.2, rel=0.1)


@pytest.mark.parametrize(
    "last",
    [
        {"kind": "spherical"},
        {"kind": "universal", "lower": (-2, -2), "upper": (2, 2)},
        {"kind": "composite", "chart": Composite(Euler("yxz"))},
    ],
)
def test_a_loop_that_a_chart_closes_is_kept(last):
    """A bridge of two legs of 0.5 m and a beam of 0.8 m."""
    foot, top, end = (0, 0, -0.25), (0, 0, 0.25), (0.4, 0, 0)
    bodies = tuple(
        Body(name, 1.0, np.eye(3), frames=(Frame(f"end of {name}", place),))
        for name, place in (("a", top), ("b", end), ("c", top))
    )
    joints = (
        Joint("left", "revolute", None, "a", Y, (0, 0, 0), foot),
        Joint("beam", "revolute", "a", "b", Y, top, (-0.4, 0, 0)),
        Joint("right", "revolute", None, "c", Y, (0.8, 0, 0), foot),
        Joint("last", parent="b", child="c", parent_position=end, child_position=top, **last),
    )
    dynamics = Dynamics(Mechanism("bridge", bodies, joints))
    goal = (0.5 * np.sin(0.4), 0, 0.5 * np.cos(0.4))
    result = dynamics.inverse_kinematics(FrameTarget("end of a", goal), (0.1, 0.2, -0.3))
    assert result, result
    ends = [dynamics.frame(result.q, f"end of {name}")[0] for name in "bc"]
    np.testing.assert_allclose(*ends, atol=2e-9)


def test_cones_of_balls_are_kept():
    frames = (Frame("tip", (0, 0, 0.5)),)
    joint = Joint("ball", "spherical", None, "a", child_position=(0, 0, -0.5), cone=0.5)
    dynamics = Dynamics(Mechanism("cone", (Body("a", 1.0, np.eye(3), frames=frames),), (joint,)))
    for angle in (0.4, 0.7):
        goal = np.array((np.sin(angle), 0, np.cos(angle)))
        result = dynamics.inverse_kinematics(FrameTarget("tip", goal), restarts=2)
        tilt = np.arccos(dynamics.frame(result.q, "tip")[1][2, 2])
        assert result.reached == (angle < 0.5)
        assert tilt == pytest.approx(min(angle, 0.5), abs=1e-6)
        assert tilt < 0.5 + 1e-9


# -- promises -------------------------------------------------------------------------------------


def test_equal_calls_give_equal_results_and_other_seeds_other_tries():
    robot = robosim.load("a1", ground=False)
    dynamics = Dynamics(robot)
    q = dynamics.random(3)
    q[:7] = robot.home[:7]
    feet = [FrameTarget(foot, dynamics.frame(q, foot)[0]) for foot in FEET]
    start = np.clip(dynamics.random(4), -3, 3)
    start[:7] = robot.home[:7]
    kept = start.copy()
    results = [dynamics.inverse_kinematics(feet, start, fixed=BASE) for _ in range(2)]
    np.testing.assert_array_equal(results[0].q, results[1].q)
    np.testing.assert_array_equal(start, kept)
    assert str(results[0]) == "reached"
    out = FrameTarget("FL_foot", (5.0, 0, 0))
    tries = [dynamics.inverse_kinematics(out, start, fixed=BASE, restarts=n) for n in (0, 3)]
    assert [one.restarts for one in tries] == [0, 3]
    assert tries[1].residuals[0].distance <= tries[0].residuals[0].distance + 1e-9


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: FrameTarget("tip"), StateError, "needs a position, an orientation"),
        (lambda: FrameTarget("tip", (1, 2)), StateError, "'tip': position must be finite .*shape"),
        (lambda: FrameTarget("tip", (1, 2, np.nan)), StateError, "position must be finite"),
        (lambda: FrameTarget("tip", "abc"), StateError, "position must be finite"),
        (lambda: FrameTarget("tip", None, (1, 1, 0, 0)), StateError, "norm 1, not 1.41421"),
        (lambda: FrameTarget("tip", None, (1, 0, 0)), StateError, r"\(4,\) or \(3, 3\)"),
        (lambda: FrameTarget("tip", None, -np.eye(3)), StateError, "a rotation matrix"),
        (lambda: FrameTarget("tip", None, 2 * np.eye(3)), StateError, "a rotation matrix"),
        (lambda: FrameTarget("tip", (0, 0, 0), None, -1.0), StateError, "position_weight must"),
        (lambda: FrameTarget("tip", (0, 0, 0), None, (0, 0, 0)), StateError, "not all zero"),
        (lambda: FrameTarget("tip", (0, 0, 0), tolerance=0.0), StateError, "tolerance must be"),
        (lambda: FrameTarget("tip", (0, 0, 0), tolerance=np.nan), StateError, "tolerance must be"),
        (lambda: CenterOfMassTarget((0, 0)), StateError, "centre of mass: position"),
        (lambda: PostureTarget({}), StateError, "names no coordinates"),
        (lambda: PostureTarget({"elbow": np.inf}), StateError, "'elbow' must be a finite number"),
    ],
)
def test_wrong_targets_are_refused(make, error, said):
    with pytest.raises(error, match=said):
        make()


TIP = FrameTarget("tip", (0.8, 0, 0))


@pytest.mark.parametrize(
    ("targets", "options", "error", "said"),
    [
        (FrameTarget("top", (0, 0, 0)), {}, ModelError, r"no frame 'top' \(known: upper, tip"),
        ([], {}, StateError, "must be each a FrameTarget or"),
        ([TIP, 3], {}, StateError, "must be each a FrameTarget or"),
        (3, {}, StateError, "must be each a FrameTarget or"),
        (PostureTarget((0, 0)), {}, StateError, "no target has a finite tolerance"),
        ([TIP, PostureTarget((0, 0, 0))], {}, StateError, r"posture: q must have shape \(2,\)"),
        ([TIP, PostureTarget((0, 0), (1, 2, 3))], {}, StateError, "weight must be a number or 2"),
        ([TIP, PostureTarget({"knee": 0})], {}, ModelError, "no coordinate 'knee' .*shoulder"),
        ([TIP, PostureTarget({"elbow": 0}, (1, 0))], {}, StateError, "no coordinate has a weight"),
        (FrameTarget("tip", (1e200, 0, 0)), {}, StateError, "too large to be squared"),
        (FrameTarget("tip", (1, 0, 0), None, 1e200), {}, StateError, "too large to be squared"),
        (TIP, {"q0": (0, 0, 0)}, StateError, r"q0 must have shape \(2,\)"),
        (TIP, {"q0": (0, np.nan)}, StateError, "q0 must be finite, but 'elbow' is nan"),
        (TIP, {"fixed": "elbow"}, StateError, r"names of joints, \('elbow',\)"),
        (TIP, {"fixed": ("knee",)}, ModelError, "no joint 'knee' .*shoulder, elbow"),
        (TIP, {"restarts": -1}, StateError, "restarts must be a whole number"),
        (TIP, {"restarts": 1.5}, StateError, "restarts must be a whole number"),
        (TIP, {"seed": -1}, StateError, "seed must be a whole number"),
        (TIP, {"time": np.nan}, StateError, "time must be a finite number"),
    ],
)
def test_wrong_calls_are_refused(targets, options, error, said):
    with pytest.raises(error, match=said):
        Dynamics(planar()).inverse_kinematics(targets, **options)


def test_quaternions_of_a_start_and_of_a_posture_have_length_one():
    robot = balls()
    dynamics = Dynamics(robot)
    q = robot.neutral()
    q[3] = 1.2
    tool = FrameTarget("tool", (0, 0, 0))
    with pytest.raises(StateError, match="of joint 'base' must be 1, not 1"):
        dynamics.inverse_kinematics(tool, q)
    with pytest.raises(StateError, match="of joint 'base' must be 1, not 1"):
        dynamics.inverse_kinematics([tool, PostureTarget(q)])


def test_what_has_no_mass_has_no_centre_and_all_fixed_just_tells_the_distance():
    dynamics = Dynamics(planar())
    kept = dynamics.inverse_kinematics(
        FrameTarget("tip", (0, 0, 0)), (0, 0), fixed=("shoulder", "elbow")
    )
    assert kept.residuals[0].distance == pytest.approx(1.0, abs=1e-15)
    assert not kept
    np.testing.assert_array_equal(kept.q, (0, 0))
