"""A policy in robosim and in MuJoCo: measures with a closed form, and where two runs part."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from policy_networks import LEGGED, linear

from robosim import Geometry
from robosim.collision import HalfSpace, HeightField, TriangleMesh
from robosim.errors import OptionError, PeerError
from robosim.peers.mujoco_run import MuJoCoRun, Settings
from robosim.policies import load
from robosim.policies.measures import ground_of, measures_of
from robosim.policies.sim_to_sim import Parting, Schedule, Touch, compare, judged
from robosim.policies.telling import contact_rows
from robosim.policies.track import Track, touching

pytest.importorskip("mujoco")
pytest.importorskip("gymnasium")

from robosim.envs.tasks.a1_stairs import stairs

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def zero(tmp_path_factory) -> str:
    return str(linear(tmp_path_factory.mktemp("policies") / "zero.onnx", np.zeros((12, 48))))


def track_of(robot, t, q, v, tau=None, forces=0.0, command=(0.0, 0.0, 0.0), name="robosim"):
    n, names = len(t), touching(robot)
    return Track(
        name, "", np.asarray(t), q, v,
        np.zeros((n, robot.nu)) if tau is None else tau,
        np.full((n, len(names)), float(forces)), np.tile(command, (n, 1)), np.zeros((n, robot.nu)),
        names,
    )  # fmt: skip


def gliding(robot, velocity, steps=101, height=0.0, **options) -> Track:
    """A robot in its home pose that glides along x, at a height above its home."""
    t = 0.01 * np.arange(steps)
    q, v = np.tile(np.asarray(robot.home, float), (steps, 1)), np.zeros((steps, robot.nv))
    q[:, 0], q[:, 2], v[:, 0] = velocity * t, robot.home[2] + height, velocity
    return track_of(robot, t, q, v, **options)


@pytest.mark.parametrize("implicit", [False, True])
def test_a_policy_of_zeros_stands_in_both(a1, zero, implicit):
    policy = load(zero, a1, {**LEGGED, "implicit": implicit})
    found = compare(policy, 1.5)
    ours, theirs = found.measures
    for one in found.measures:
        assert one.fell is None
        assert one.ended is None
        assert one.seconds == pytest.approx(1.5)
    assert found.parting is None
    assert found.distance.max() < 0.01
    # The same weight on the same legs; MuJoCo's contacts are soft.
    assert ours.torque == pytest.approx(theirs.torque, rel=0.03)
    assert ours.penetration < 1e-9 < 1e-3 < theirs.penetration < 1e-2
    weight = a1.total_mass * 9.81
    for track in found.tracks:
        assert track.forces[-100:].sum(axis=1).mean() == pytest.approx(weight, rel=0.02)
    assert [track.name for track in found.tracks] == ["robosim", "MuJoCo"]


def test_both_have_the_same_torques_at_the_same_state(a1, tmp_path):
    """In the first step, whose state is the same: of explicit PD to rounding, also at limits."""
    b = 4.0 * np.random.default_rng(0).normal(size=12)
    task = {**LEGGED, "effort_limits": 6.0, "no_load_speed": 20.0, "implicit": False}
    policy = load(linear(tmp_path / "p.onnx", np.zeros((12, 48)), b), a1, task)
    ours, theirs = compare(policy, 0.01).tracks
    assert ours.tau[0] == pytest.approx(theirs.tau[0], abs=1e-12)
    assert np.abs(ours.tau[0]).max() == pytest.approx(6.0)
    assert np.array_equal(ours.action[0], theirs.action[0])
    implicit = load(policy.network.file, a1, {**task, "implicit": True, "no_load_speed": 1e9})
    with pytest.raises(PeerError, match="no-load speed"):
        compare(implicit, 0.01)
    limited = load(policy.network.file, a1, {**LEGGED, "effort_limits": 6.0, "implicit": True})
    ours, theirs = compare(limited, 0.02).tracks
    assert np.abs(theirs.tau).max() == pytest.approx(6.0) == np.abs(ours.tau).max()


def test_measures_of_a_robot_that_glides(a1):
    track = gliding(a1, 0.5, forces=2.0, command=(0.8, 0.4, 0.3), height=-2e-3)
    tau = np.zeros((101, 12))
    tau[:, 3] = 11.0
    v = track.v.copy()
    v[:, 9] = -2.0
    found = measures_of(a1, replace(track, tau=tau, v=v))
    assert found.distance == pytest.approx(0.5)
    assert found.path == pytest.approx(0.5)
    assert found.seconds == pytest.approx(1.01)
    assert found.velocity_error == pytest.approx(0.5)  # of 0.3 and 0.4 m/s
    assert found.turning_error == pytest.approx(0.3)
    assert found.torque == pytest.approx(11.0 / np.sqrt(12))
    assert found.largest_effort == pytest.approx(11.0 / 33.5)
    assert found.largest_effort_joint == "FL_hip_joint"
    assert found.energy == pytest.approx(11.0 * 2.0 * 1.01)
    assert found.cost_of_transport == pytest.approx(22.22 / (a1.total_mass * 9.81 * 0.5))
    gap = ground_of(a1, gliding(a1, 0.5)).height.min()
    assert found.penetration == pytest.approx(2e-3 - gap, abs=1e-9)
    still = measures_of(a1, track)
    assert still.slip == pytest.approx(0.5)
    assert measures_of(a1, gliding(a1, 0.5)).slip == 0.0  # nothing touches


def test_measures_end_where_the_robot_falls(a1):
    track = gliding(a1, 1.0)
    q = track.q.copy()
    q[60:, 3:7] = 0.0, 1.0, 0.0, 0.0
    found = measures_of(a1, replace(track, q=q))
    assert (found.fell, found.how) == (pytest.approx(0.6), "upside down")
    assert found.seconds == pytest.approx(0.6)
    assert found.distance == pytest.approx(0.6)


def test_two_runs_part_where_they_are_too_far_apart(a1, zero):
    policy = load(zero, a1, LEGGED)
    one = gliding(a1, 0.5, forces=2.0)
    other = replace(gliding(a1, 0.7, forces=0.0), name="MuJoCo")
    forces = other.forces.copy()
    forces[:, 0] = 3.0
    other = replace(other, forces=forces)
    found = judged(policy, [one, other], apart=0.0999)
    assert found.parting.time == pytest.approx(0.5)  # 0.2 m/s times 0.5 s
    assert found.parting.distance == pytest.approx(0.1)
    assert found.parting.agreement == pytest.approx(1 / len(one.touching))
    assert [touch.body for touch in found.parting.contacts] == list(one.touching)
    first = found.parting.contacts[0]
    assert first.forces == (2.0, 3.0)
    assert first.heights[0] == first.heights[1]
    assert judged(policy, [one, other], apart=0.3).parting is None
    assert judged(policy, [one]).parting is None
    with pytest.raises(OptionError, match="apart must be a positive number"):
        judged(policy, [one, other], apart=0.0)


def test_commands_of_a_schedule_hold_from_their_times_on(a1, tmp_path):
    schedule = Schedule([0.0, 0.1], [(0.5, 0, 0), (0, 0, 1.0)])
    assert schedule(0.05).tolist() == [0.5, 0, 0]
    assert schedule(0.1).tolist() == [0, 0, 1]
    W = np.zeros((12, 48))
    W[0, 9] = 1.0
    policy = load(linear(tmp_path / "p.onnx", W), a1, LEGGED, schedule)
    found = compare(policy, 0.2)
    for track in found.tracks:
        assert np.array_equal(track.command[:20], np.tile((0.5, 0, 0), (20, 1)))
        assert np.array_equal(track.command[20:], np.tile((0, 0, 1.0), (20, 1)))
        assert track.action[:, 0] == pytest.approx(2.0 * track.command[:, 0])


SLOPE = HeightField(
    0.05 * np.add.outer(np.arange(5), np.zeros(4)), (4.0, 3.0), position=(0.0, 0.0, 0.1)
)
PLATFORM = Geometry("box", (2.0, 2.0, 0.2), (0.2, 0.0, 0.1), name="platform")


@pytest.mark.parametrize("obstacle", [SLOPE, PLATFORM], ids=["slope", "platform"])
def test_a_policy_of_zeros_stands_on_obstacles_in_both(a1, zero, obstacle):
    """On four feet, whose other shapes cannot touch; beside a floor that is out of reach."""
    walker = stairs(a1, 1, 0.1)  # with shapes of feet and trunk alone
    robot = replace(walker, obstacles=(obstacle, HalfSpace(point=(0.0, 0.0, -5.0), name="floor")))
    policy = load(zero, robot, {**LEGGED, "implicit": True})
    found = compare(policy, 1.5)
    ours, theirs = found.measures
    weight = robot.total_mass * 9.81
    tilt = np.cos(np.arctan(0.05)) if obstacle is SLOPE else 1.0
    for track, one, ground in zip(found.tracks, found.measures, found.grounds, strict=True):
        assert one.fell is None
        assert track.touching[0] == "base"
        assert track.forces[-50:].sum(axis=1).mean() == pytest.approx(weight * tilt, rel=0.02)
        assert ground.touches[-50:].sum(axis=1).tolist() == [4] * 50
        assert ground.speed[-50:].max() < 0.02
    assert found.distance.max() < 0.01
    assert found.parting is None
    assert ours.penetration < 1e-8
    assert 1e-4 < theirs.penetration < 1e-2
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_body_that_touches_nothing_has_no_height(a1, zero):
    robot = replace(stairs(a1, 1, 0.1), obstacles=(PLATFORM,))
    policy = load(zero, robot, {**LEGGED, "implicit": True})
    found = compare(policy, 0.1, q=np.array(robot.home) + np.eye(19)[2], apart=1e-12)
    assert all(np.isinf(ground.height).all() for ground in found.grounds)
    assert found.measures[0].penetration == 0.0
    touch = Touch("foot", (3.0, 0.0), (0.0, None))
    found = replace(found, parting=Parting(0.1, 0.2, (touch,), 0.5))
    assert contact_rows(found) == [("foot", ("3 N", "open"))]
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("obstacle", "told"),
    [
        (TriangleMesh(Geometry("mesh", vertices=np.eye(3), faces=np.array([(0, 1, 2)]), name="m")),
         "'m' is a mesh, of which MuJoCo would take the convex hull"),
        (replace(PLATFORM, restitution=0.5), "'platform': restitution has no MJCF"),
        (replace(PLATFORM, surface_velocity=(1.0, 0.0, 0.0)), "surface that moves"),
        (replace(PLATFORM, friction=0.5), "'platform': its friction, 0.5, is higher than"),
    ],
)  # fmt: skip
def test_obstacles_that_mujoco_does_not_have_here_are_refused(a1, zero, obstacle, told):
    walker = stairs(a1, 1, 0.1)
    trunk = replace(
        walker.bodies[0],
        collisions=tuple(replace(one, friction=0.3) for one in walker.bodies[0].collisions),
    )
    robot = replace(walker, bodies=(trunk, *walker.bodies[1:]), obstacles=(obstacle,))
    with pytest.raises(PeerError, match=told):
        compare(load(zero, robot, LEGGED), 0.1)


def test_peers_that_are_unknown_are_refused(a1, zero):
    with pytest.raises(OptionError, match="peer must be one of mujoco, not 'bullet'"):
        compare(load(zero, a1, LEGGED), 0.1, "bullet")


def test_contact_points_of_bodies_without_shapes_are_spheres_in_mujoco(tmp_path):
    """The Atlas, which has points for feet, and fixed joints."""
    from robosim.models.builders import atlas

    robot = atlas()
    task = {"observations": ["joint_pos"], "stiffness": 2000.0, "damping": 100.0, "implicit": True,
            "effort_limits": False}  # fmt: skip
    policy = load(linear(tmp_path / "p.onnx", np.zeros((robot.nu, robot.nu))), robot, task)
    found = compare(policy, 0.3)
    for track in found.tracks:
        weight = robot.total_mass * 9.81
        assert track.forces[-20:].sum(axis=1).mean() == pytest.approx(weight, rel=0.25)
    # MuJoCo's contacts are as soft as the light feet that the weight presses down.
    assert 1e-3 < found.measures[1].penetration < 0.1


def test_meshes_are_hulls_in_mujoco_and_semi_axes_are_kept(a1):
    """A cube of mesh rests as the box does, and an ellipsoid on its shortest semi-axis."""
    from robosim.models.builders import cube

    box = cube()
    side = 0.5
    corners = side * (np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1).T - 0.5)
    faces = np.array([[0, 1, 2], [5, 6, 7], [0, 3, 6]])  # MuJoCo takes the hull
    for shape, height in (
        (Geometry("mesh", vertices=corners, faces=faces), side / 2),
        (Geometry("ellipsoid", (0.3, 0.3, 0.2)), 0.2),
    ):
        body = replace(box.bodies[0], collisions=(shape,))
        run = MuJoCoRun(replace(box, bodies=(body,)), 2e-3, Settings())
        q = np.array(box.home, dtype=float)
        q[:7] = 0.0, 0.0, height + 0.01, 1.0, 0.0, 0.0, 0.0
        run.set_state(q)
        run.step(1500)
        assert run.data.qpos[2] == pytest.approx(height, abs=5e-3)
