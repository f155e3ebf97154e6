"""Observations against numpy that is written out by hand, for the preset of each library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from policy_networks import DEFAULT, LEGGED

from robosim import Body, Frame, Mechanism
from robosim.errors import LoadError, ModelError
from robosim.policies import PRESETS, QUANTITIES, PolicyTask, Reading, task_of
from robosim.policies.layout import Layout
from robosim.policies.observing import Observer

LEGS = ("FL", "FR", "RL", "RR")
PARTS = ("hip", "thigh", "calf")
LEG_BY_LEG = [f"{leg}_{part}_joint" for leg in LEGS for part in PARTS]
LEVEL_BY_LEVEL = [f"{leg}_{part}_joint" for part in PARTS for leg in LEGS]
ANGLES = {
    "FL": (0.1, 0.8, -1.5), "FR": (-0.1, 0.8, -1.5), "RL": (0.1, 1.0, -1.5),
    "RR": (-0.1, 1.0, -1.5),
}  # fmt: skip
COMMAND, ACTION = np.array([0.5, -0.2, 0.3]), np.linspace(-1.0, 1.0, 12)


def state_of(robot: Mechanism, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    q, v = random.normal(size=robot.nq), random.normal(size=robot.nv)
    q[3:7] /= np.linalg.norm(q[3:7])
    return q, v


def reading(q, v, forces=None, time=0.0) -> Reading:
    row = None if forces is None else np.asarray(forces, dtype=float)[None]
    return Reading(np.array([time]), q[None], v[None], COMMAND[None], ACTION[None], row)


def observed(robot, task, *readings) -> np.ndarray:
    observer = Observer(Layout(robot, task))
    for one in readings:
        found = observer.observe(one, np.ones(1, dtype=bool))
    assert found.shape == (1, observer.size)
    assert found.dtype == np.float32
    return found[0]


def rotated(quaternion, vector) -> np.ndarray:
    """A world vector in axes of the base, by the formula of quaternions."""
    w, axis = quaternion[0], -quaternion[1:4]
    return vector + 2 * np.cross(axis, np.cross(axis, vector) + w * np.asarray(vector))


def parts_of(robot, q, v, names) -> dict[str, np.ndarray]:
    """What is observed, each written out by itself."""
    base = robot.tree_joints[0]
    centre = -np.asarray(base.child_position)  # from the origin of the base link
    velocity = rotated(q[3:7], v[:3])
    at = {name: k for k, name in enumerate(robot.actuated_names)}
    default = [ANGLES[name[:2]][PARTS.index(name.split("_")[1])] for name in names]
    return {
        "origin": velocity,
        "com": velocity + np.cross(v[3:6], centre),
        "omega": v[3:6],
        "gravity": rotated(q[3:7], np.array([0.0, 0.0, -1.0])),
        "joints": np.array([q[7 + at[name]] for name in names]) - default,
        "rates": np.array([v[6 + at[name]] for name in names]),
    }


def test_legged_gym(a1):
    q, v = state_of(a1)
    p = parts_of(a1, q, v, LEG_BY_LEG)
    expected = np.concatenate((
        2.0 * p["com"], 0.25 * p["omega"], p["gravity"], COMMAND * (2.0, 2.0, 0.25), p["joints"],
        0.05 * p["rates"], ACTION,
    ))  # fmt: skip
    assert observed(a1, task_of(LEGGED), reading(q, v)) == pytest.approx(expected, abs=1e-6)
    fast = observed(a1, task_of(LEGGED), reading(q, 1e4 * v))
    assert np.abs(fast).max() == 100.0


def test_isaaclab(a1):
    q, v = state_of(a1)
    p = parts_of(a1, q, v, LEVEL_BY_LEVEL)
    task = task_of({"preset": "isaaclab", "default_joint_pos": DEFAULT})
    expected = np.concatenate(
        (p["com"], p["omega"], p["gravity"], COMMAND, p["joints"], p["rates"], ACTION)
    )
    assert Layout(a1, task).names == tuple(LEVEL_BY_LEVEL)
    assert observed(a1, task, reading(q, v)) == pytest.approx(expected, abs=1e-6)


def test_mjlab(a1):
    q, v = state_of(a1)
    p = parts_of(a1, q, v, a1.actuated_names)
    task = task_of({"preset": "mjlab", "default_joint_pos": DEFAULT})
    expected = np.concatenate(
        (p["origin"], p["omega"], p["gravity"], p["joints"], p["rates"], ACTION, COMMAND)
    )
    assert observed(a1, task, reading(q, v)) == pytest.approx(expected, abs=1e-6)


def test_histories_of_terms_begin_with_the_oldest_value_and_are_filled_at_first(a1):
    states = [state_of(a1, seed) for seed in range(3)]
    said = {"observations": ["base_ang_vel", "velocity_commands"], "history": 4}
    found = observed(a1, task_of(said), *(reading(*state) for state in states))
    omegas = [states[k][1][3:6] for k in (0, 0, 1, 2)]
    assert found == pytest.approx(np.concatenate((*omegas, *[COMMAND] * 4)), abs=1e-6)
    last = {"length": 2, "newest_first": True}
    found = observed(a1, task_of({**said, "history": last}), *(reading(*one) for one in states))
    omegas = [states[k][1][3:6] for k in (2, 1)]
    assert found == pytest.approx(np.concatenate((*omegas, COMMAND, COMMAND)), abs=1e-6)


def test_histories_by_frames_repeat_whole_observations(a1):
    states = [state_of(a1, seed) for seed in range(3)]
    said = {"observations": ["base_ang_vel", "velocity_commands"]}
    task = task_of({**said, "history": {"length": 2, "by": "frame"}})
    found = observed(a1, task, *(reading(*state) for state in states))
    frames = [np.concatenate((states[k][1][3:6], COMMAND)) for k in (1, 2)]
    assert found == pytest.approx(np.concatenate(frames), abs=1e-6)
    one = {"observations": [{"base_ang_vel": {"history": 3}}]}
    with pytest.raises(LoadError, match="history of its own"):
        observed(a1, task_of({**one, "history": {"length": 2, "by": "frame"}}), reading(*states[0]))
    found = observed(a1, task_of(one), *(reading(*state) for state in states))
    assert len(found) == 9


def test_values_are_shifted_then_clipped_then_scaled(a1):
    q, v = state_of(a1)
    task = task_of({"observations": [{"base_height": {"offset": 0.5, "clip": 1.0, "scale": 3}}]})
    for height, expected in ((0.7, 0.6), (9.0, 3.0), (-9.0, -3.0)):
        q[2] = height
        assert observed(a1, task, reading(q, v)) == pytest.approx([expected], abs=1e-6)


def test_the_other_quantities(a1):
    q, v = state_of(a1)
    roll, pitch, yaw = 0.3, -0.4, 2.0
    q[3:7] = 1.0, 0.0, 0.0, 0.0
    for angle, axis in ((yaw, 3), (pitch, 2), (roll, 1)):
        turn = np.zeros(4)
        turn[0], turn[axis] = np.cos(angle / 2), np.sin(angle / 2)
        w, x = q[3], q[4:7].copy()
        q[3] = w * turn[0] - x @ turn[1:]
        q[4:7] = w * turn[1:] + turn[0] * x + np.cross(x, turn[1:])
    forces = np.zeros(len(a1.contacts))
    forces[[contact.body for contact in a1.contacts].index("FR_calf")] = 5.0
    said = {
        "observations": [
            "base_euler",
            "joint_pos_abs",
            {"phase": {"period": 0.8}},
            {"foot_contacts": {"links": ["FL_calf", "FR_calf"]}},
            {"height_scan": {"points": 4, "offset": 0.5}},
        ]
    }
    expected = np.concatenate((
        (roll, pitch, yaw), q[7:], (np.sin(0.5 * np.pi), np.cos(0.5 * np.pi)), (0.0, 1.0),
        np.full(4, q[2] - 0.5),
    ))  # fmt: skip
    found = observed(a1, task_of(said), reading(q, v, forces, time=0.2))
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_frame_of_the_base_has_its_own_velocity_and_axes(a1):
    q, v = state_of(a1)
    s = np.sqrt(0.5)
    imu = Frame("tilted_imu", position=(0.1, 0.02, -0.03), quaternion=(s, 0.0, 0.0, s))
    base: Body = replace(a1.bodies[0], frames=(*a1.bodies[0].frames, imu))
    robot = replace(a1, bodies=(base, *a1.bodies[1:]))
    at = {"at": "tilted_imu"}
    task = task_of({"observations": [{"base_lin_vel": at}, {"base_ang_vel": at}]})
    centre = -np.asarray(robot.tree_joints[0].child_position)
    p = parts_of(robot, q, v, LEG_BY_LEG)
    velocity = p["origin"] + np.cross(v[3:6], centre + np.array(imu.position))
    turned = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # by 90 degrees
    expected = np.concatenate((turned @ velocity, turned @ v[3:6]))
    assert observed(robot, task, reading(q, v)) == pytest.approx(expected, abs=1e-6)
    with pytest.raises(ModelError, match=r"has no frame 'imu2' .*origin, com, .*tilted_imu"):
        observed(robot, task_of({"observations": [{"base_lin_vel": {"at": "imu2"}}]}))


def test_each_preset_is_a_task_whose_quantities_are_known():
    for name in PRESETS:
        task = task_of(name)
        assert isinstance(task, PolicyTask)
        assert {term.name for term in task.observations} <= set(QUANTITIES)
        assert task.period == pytest.approx(0.02)


def test_quantities_that_a_robot_does_not_have_are_refused():
    from robosim.models.builders import double_pendulum

    robot = double_pendulum()
    with pytest.raises(ModelError, match=r"no floating base .*joint_pos"):
        observed(robot, task_of({"observations": ["projected_gravity"]}))
    links = {"foot_contacts": {"links": ["toe"]}}
    with pytest.raises(ModelError, match="link 'toe' has no contacts"):
        observed(robot, task_of({"observations": [links]}))
    with pytest.raises(LoadError, match="needs the key 'links'"):
        observed(robot, task_of({"observations": ["foot_contacts"]}))
    with pytest.raises(LoadError, match="scale must be one number or 2, not 3"):
        observed(robot, task_of({"observations": [{"joint_vel": [1, 2, 3]}]}))
