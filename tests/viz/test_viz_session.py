"""A simulation steered as from the page's panel, without one: what each command does."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import warnings
from time import monotonic

import numpy as np
import pytest
from test_viz_realtime import FakeViewer

import robosim
from robosim import Simulation, StateError, quaternions
from robosim.controllers import BUILT_IN, trot
from robosim.description.poses import body_poses
from robosim.joints import Composite, Hinge, Slide, SplineCurve
from robosim.log import Chunk
from robosim.viz import Recorder, live
from robosim.viz.commands import FIELDS, parse
from robosim.viz.inspecting import inspect
from robosim.viz.pull import Pull
from robosim.viz.rig import Rig
from robosim.viz.session import LOOKED_EVERY, Session
from robosim.viz.snapshot import JointViolations, Probe
from robosim.viz.torques import ByHand


@pytest.fixture(scope="module")
def arm() -> robosim.Mechanism:
    return robosim.load("double_pendulum")


def steered(sim, *asked, seconds=0.3, **options) -> FakeViewer:
    """The viewer after a run as fast as it can be, in which `asked` was asked for."""
    viewer = FakeViewer(*asked)
    live(sim, viewer=viewer, seconds=seconds, speed=options.pop("speed", math.inf), **options)
    assert not viewer.asked, "something was never asked for"
    return viewer


@pytest.mark.parametrize(
    "message",
    [
        {"do": "play"},
        {"do": "step", "count": 10},
        {"do": "speed", "value": 0.02},
        {"do": "joint", "index": 3, "value": -1.5},
        {"do": "configuration", "name": "home"},
        {"do": "drag", "body": 0, "point": [0, 0.1, 0], "target": [1e3, 0, 0]},
    ],
)
def test_commands_are_taken(message):
    assert parse(json.dumps(message).encode()) == message


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"{", "not JSON"),
        (b"[" * 2000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "unknown command"),
        (b'{"do": ["play"]}', "unknown command"),
        (b'{"do": "eval"}', "unknown command: 'eval'"),
        (b'{"do": "play", "more": 1}', "'play' has the fields"),
        (b'{"do": "speed"}', "'speed' has the fields"),
        (b'{"do": "speed", "value": 1e9}', "cannot have the value"),
        (b'{"do": "speed", "value": NaN}', "cannot have the value nan"),
        (b'{"do": "speed", "value": true}', "cannot have the value"),
        (b'{"do": "speed", "value": "1"}', "cannot have the value"),
        (b'{"do": "step", "count": 1.5}', "cannot have the count"),
        (b'{"do": "step", "count": 100000}', "cannot have the count"),
        (b'{"do": "drag", "body": 0, "point": [0, 0], "target": [0, 0, 0]}', "the point"),
        (b'{"do": "drag", "body": -1, "point": [0, 0, 0], "target": [0, 0, 0]}', "the body"),
        (b'{"do": "drag", "body": 0, "point": [0, 0, 0], "target": [0, 0, Infinity]}', "target"),
        (b'{"do": "controller", "name": 7}', "the name"),
        (b'{"do": "joint", "index": 0, "value": %s}' % (b"9" * 400), "cannot have the value 9999"),
        (b'{"do": "joint", "index": %s, "value": 0}' % (b"9" * 400), "cannot have the index 9999"),
        (b'{"do": %s1%s}' % (b"[" * 900, b"]" * 900), "unknown command"),
        (b'{"do": "\\ud800"}', "unknown command"),
    ],
)
def test_anything_else_is_refused_with_the_reason(message, why):
    with pytest.raises(ValueError, match=why.replace("[", r"\[")):
        parse(message)


ODD = (
    "1" + "0" * 400, "-" + "9" * 400, "9" * 5000, "1e999", "-1e999", "NaN", "-0", "0", "1", "3",
    "0", "0.01", "[0, 1, 0]", "[1, 0, 2]", "[0, 0.1, 0]",
    "true", "null", '""', '"home"', '"zero"', '"\\ud800"', '"' + "x" * 300 + '"', "[]", "{}",
    "[" * 900 + "]" * 900, "[" * 5000 + "]" * 5000, "[0, 0, 1" + "0" * 400 + "]", "[NaN, 0, 0]",
    "[0, 0, 0]", "[1e6, -1e6, 1e6]", "[true, 0, 0]", "1.5", "1e6", "-1e6", "1e-400", '"\\u0000"',
)  # fmt: skip


@pytest.mark.parametrize("name", ["double_pendulum", "slider_crank", "three_link_loop"])
def test_no_message_ends_the_run(name):
    """Of each kind, with odd values: each is refused with a reason, or obeyed."""
    rng = random.Random(0)
    lines = []
    for _ in range(9000):
        do = rng.choice(list(FIELDS))
        fields = {field: rng.choice(ODD) for field in FIELDS[do]}
        if rng.random() < 0.05:
            fields[rng.choice(["do", "value", "other"])] = rng.choice(ODD)
        text = ", ".join([f'"do": "{do}"', *(f'"{k}": {v}' for k, v in fields.items())])
        lines.append(f"{{{text}}}"[: None if rng.random() < 0.95 else 9].encode())
    commands = []
    for line in lines:
        try:
            commands.append(parse(line))
        except ValueError as error:
            assert str(error).isascii()  # noqa: PT017
    assert {command["do"] for command in commands} == set(FIELDS)
    robot = robosim.load(name)
    # What was asked for last is to go on, so that the run comes to its end.
    chosen = [*commands[:500], {"do": "timestep", "value": 0.01}, {"do": "play"}]
    viewer = FakeViewer(*((k // 10, command) for k, command in enumerate(chosen)))
    sim = Simulation(robot, timestep=0.01)
    session = Session(
        sim,
        viewer=viewer,
        controllers=BUILT_IN,
        rebuild=lambda timestep: Simulation(robot, timestep),
        speed=math.inf,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.run(stop=lambda: not viewer.asked)
    assert not viewer.asked


def test_pause_and_play_stop_and_continue_the_run(arm):
    sim = Simulation(arm)
    viewer = steered(sim, (3, {"do": "pause"}), (20, {"do": "play"}))
    assert sim.time == pytest.approx(0.3)
    still = [t for t in viewer.times if viewer.times.count(t) > 5]
    assert len(still) >= 15
    assert len(set(still)) == 1
    assert viewer.documents["status"]["paused"] is False
    assert viewer.documents["status"]["started"] is True


def test_single_steps_while_paused(arm):
    sim = Simulation(arm)
    stop = FakeViewer((0, {"do": "step", "count": 3}), (8, {"do": "step", "count": 1}))
    session = Session(sim, viewer=stop, paused=True)
    session.run(stop=lambda: len(stop.times) > 20)
    assert sim.steps == 4
    assert session.paused


def test_speed_changes_how_much_a_frame_is(arm):
    viewer = steered(Simulation(arm), (4, {"do": "speed", "value": 10.0}), seconds=0.9, speed=1.0)
    steps = np.diff([viewer.times[0], *viewer.times[1:]])
    np.testing.assert_allclose(steps[:3], 0.017, atol=1e-9)
    np.testing.assert_allclose(steps[4:7], 0.167, atol=1e-9)
    assert viewer.documents["status"]["speed"] == 10.0


def test_reset_starts_again_and_the_recording_with_it(arm):
    recorder = Recorder(arm, fps=1000)
    sim = Simulation(arm)
    steered(sim, (5, {"do": "reset"}), recorder=recorder)
    # Seconds are of all runs together: 4 frames of 17 ms before, the rest after.
    assert sim.time == pytest.approx(0.3 - 4 * 0.017)
    assert len(recorder) == 15


def test_a_gait_that_is_chosen_while_the_robot_stands_sets_in_from_there():
    """And again where the robot is put; a gait of one's own begins when it says."""
    robot = robosim.load("a1")
    sim = Simulation(robot)
    rig = Rig(sim, "stand", BUILT_IN)
    sim.run(0.33, rig.control)
    rig.choose("trot")
    stance = np.asarray(robot.stance.target)
    for time in (0.33, 0.0, 0.5):
        if time != 0.33:
            rig.put(None if time == 0.0 else sim.q, time)
        np.testing.assert_array_equal(rig.control.targets([time])[0], stance)
        assert np.abs(rig.control.targets([time + 0.4])[0] - stance).max() > 0.05
    sim.run(3.0, rig.control)
    assert 0.28 < sim.q[2] < 0.32
    late = Rig(Simulation(robot), trot(robot, begin=0.2))
    np.testing.assert_array_equal(late.control.targets([0.2])[0], stance)


def test_reset_goes_back_to_where_it_was_started(arm):
    sim = Simulation(arm)
    sim.set_state((1.0, -0.5), (2.0, 0.0))
    rig = Rig(sim, rebuild=lambda timestep: Simulation(arm, timestep))
    sim.run(0.1)
    rig.put(None, 0.0)
    assert sim.q.tolist() == [1.0, -0.5]
    assert sim.v.tolist() == [2.0, 0.0]
    rig.restart(2e-3)
    rig.put(None, 0.0)
    assert rig.sim.q.tolist() == list(arm.home)


def test_a_joint_is_posed_while_paused_and_time_stays(arm):
    sim = Simulation(arm)
    sim.run(0.1)
    viewer = FakeViewer((0, {"do": "joint", "index": 1, "value": 0.7}))
    Session(sim, viewer=viewer, paused=True).run(stop=lambda: len(viewer.times) > 3)
    assert sim.q[1] == 0.7
    assert sim.time == pytest.approx(0.1)
    assert not sim.v.any()
    assert viewer.documents["status"]["q"][1] == 0.7


def test_posing_a_joint_of_a_loop_keeps_the_loop_closed():
    robot = robosim.load("slider_crank")
    sim = Simulation(robot)
    goal = float(sim.q[0]) + 0.1
    viewer = FakeViewer((0, {"do": "joint", "index": 0, "value": goal}))
    Session(sim, viewer=viewer, paused=True).run(stop=lambda: len(viewer.times) > 3)
    assert sim.q[0] == pytest.approx(goal, abs=1e-9)
    assert sim.constraint_violation() < 1e-9
    assert viewer.documents["status"]["error"] == ""


def test_what_cannot_be_posed_is_told_and_changes_nothing():
    sim = Simulation(robosim.load("slider_crank"))
    before = sim.q
    viewer = FakeViewer((0, {"do": "joint", "index": 2, "value": 100.0}))
    sim.set_state, real = _refusing, sim.set_state
    Session(sim, viewer=viewer, paused=True).run(stop=lambda: len(viewer.times) > 3)
    sim.set_state = real
    assert viewer.documents["status"]["error"] == "links too short"
    np.testing.assert_array_equal(sim.q, before)


def _refusing(*args, **kwargs):
    raise StateError("links too short")


def test_sliders_are_targets_while_a_pd_controller_runs():
    robot = robosim.load("a1")
    sim = Simulation(robot)
    viewer = FakeViewer((2, {"do": "joint", "index": 2, "value": -1.2}))
    live(sim, "stand", 0.6, viewer, speed=math.inf)
    status = viewer.documents["status"]
    assert status["targets"][2] == -1.2
    assert status["targets"][5] == pytest.approx(float(np.asarray(robot.stance.target)[5]))
    offset = sim.q[9] - sim.q[12]
    assert offset > 0.15, "the leg whose target was moved follows it"
    # Another robot's stance is not touched: the controller's own copy was.
    assert float(np.asarray(robot.stance.target)[2]) != -1.2


def test_without_targets_a_slider_says_so(arm):
    viewer = steered(Simulation(arm), (2, {"do": "joint", "index": 0, "value": 1.0}))
    assert viewer.documents["status"]["targets"] == [None, None]
    zero = viewer.documents["status"]["error"]
    assert zero == ""  # a PD without gains takes targets, to no effect
    held = steered(
        Simulation(arm), (2, {"do": "joint", "index": 0, "value": 1.0}), controller=lambda sim: None
    )
    assert "has no targets" in held.documents["status"]["error"]


def test_controllers_configurations_and_timesteps_by_name():
    robot = robosim.load("a1")
    sims = [Simulation(robot)]

    def rebuild(timestep):
        sims.append(Simulation(robot, timestep))
        return sims[-1]

    viewer = FakeViewer(
        (2, {"do": "controller", "name": "zero"}),
        (3, {"do": "configuration", "name": "home"}),
        (4, {"do": "timestep", "value": 2e-3}),
        (5, {"do": "controller", "name": "backflip"}),
        (5, {"do": "configuration", "name": "nowhere"}),
        (5, {"do": "joint", "index": 12, "value": 0.0}),
    )
    controllers = dict(BUILT_IN)
    live(sims[0], "stand", 0.3, viewer, speed=math.inf, controllers=controllers, rebuild=rebuild)
    assert viewer.documents["panel"]["controllers"] == ["stand", "trot", "zero", "torques"]
    assert viewer.documents["panel"]["configurations"][0] == "home"
    assert viewer.documents["status"]["controller"] == "zero"
    assert viewer.documents["status"]["timestep"] == sims[-1].timestep == 2e-3
    assert len(sims) == 2
    assert [reason for reason, _ in viewer.refused] == [
        "there is no such controller",
        "there is no such configuration",
        "there is no such joint",
    ]


def test_a_run_that_is_logged_is_neither_started_again_nor_posed(arm):
    sim, chunks = Simulation(arm), []
    viewer = steered(
        sim,
        (2, {"do": "reset"}),
        (3, {"do": "joint", "index": 0, "value": 3.0}),
        (3, {"do": "pause"}),
        (9, {"do": "joint", "index": 0, "value": 3.0}),
        (12, {"do": "play"}),
        on_frame=chunks.append,
        controller=lambda sim: None,
    )
    times = np.concatenate([chunk.t for chunk in chunks])
    np.testing.assert_allclose(times, 1e-3 * np.arange(300), atol=1e-12)
    assert viewer.documents["panel"]["poses"] is False
    assert len(viewer.refused) == 1


def test_pulling_at_a_body_moves_it_there_and_lets_go():
    robot = robosim.load("cube")
    sim = Simulation(robot, gravity=(0, 0, 0))
    start = sim.state.x[0].copy()
    target = (start + np.array((0.3, 0, 0.5))).tolist()
    drags = [
        (k, {"do": "drag", "body": 0, "point": [0, 0, 0], "target": target}) for k in range(2, 60)
    ]
    viewer = steered(sim, *drags, (60, {"do": "release"}), seconds=1.5)
    pulled = [pull[0] for pull in viewer.pulls if pull is not None]
    np.testing.assert_allclose(pulled[0][6:], target, atol=1e-12)
    assert pulled[0][3] > 0
    assert pulled[0][5] > 0
    moved = sim.state.x[0] - start
    assert 0.2 < moved[0] < 0.4
    assert viewer.pulls[-1] is None
    velocity = sim.state.v[0].copy()
    sim.step()
    np.testing.assert_allclose(sim.state.v[0], velocity, atol=1e-9)  # nothing pulls any more


def test_a_pull_that_nobody_keeps_up_ends(arm, monkeypatch):
    monkeypatch.setattr("robosim.viz.session.LET_GO", 0.0)
    drag = {"do": "drag", "body": 1, "point": [0, 0, 0], "target": [1, 0, 0]}
    viewer = steered(Simulation(arm), (2, drag))
    assert viewer.pulls[-1] is None


def test_the_force_of_a_pull_is_a_spring_at_the_point(arm):
    sim = Simulation(arm)
    pull = Pull(sim, 1, (0.0, 0.0, 0.1))
    np.testing.assert_allclose(pull.apply(sim)[3:6], 0, atol=1e-12)
    pull.target = pull.target + np.array((0.01, 0, 0))
    force = pull.apply(sim)[3:6]
    assert force[0] == pytest.approx(arm.total_mass * (2 * np.pi * 2.5) ** 2 * 0.01)
    pull.target = pull.target + np.array((1e3, 0, 0))
    assert np.linalg.norm(pull.apply(sim)[3:6]) == pytest.approx(6 * arm.total_mass * 9.81)
    pull.release(sim)


def test_a_step_that_fails_is_told_and_waits_for_a_new_start(arm):
    sim = Simulation(arm)

    def failing(sim):
        raise robosim.ControllerError("out of ideas")

    viewer = FakeViewer((30, {"do": "controller", "name": "zero"}), (31, {"do": "play"}))
    session = Session(sim, failing, viewer, controllers=dict(BUILT_IN))
    errors = []
    viewer.document = lambda name, content: errors.append(content.get("error"))
    session.run(stop=lambda: len(viewer.times) > 40)
    assert "out of ideas" in errors
    assert sim.time > 0
    with pytest.raises(robosim.ControllerError, match="out of ideas"):
        live(Simulation(arm), failing, 0.1, FakeViewer())


@pytest.mark.parametrize("name", ["a1", "three_link_loop", "slider_crank", "double_pendulum"])
def test_joint_violations_are_those_of_the_simulation(name):
    robot = robosim.load(name)
    sim = Simulation(robot)
    sim.run(0.05)
    x, q = sim.state.x.copy(), sim.state.q.copy()
    violations = JointViolations(robot)
    off = violations(x, q, sim.q).max()
    assert off == pytest.approx(sim.constraint_violation(), abs=1e-13)
    x[-1] += (0.0, 1e-3, 0.0)
    sim.parts.state.bodies["x"] = x  # as no public function breaks joints
    off = violations(x, q, sim.q).max()
    assert off == pytest.approx(sim.constraint_violation(), rel=1e-9)


def test_violations_of_charts_are_across_them():
    inertia = 0.02 * np.eye(3)
    bodies = [robosim.Body(name, 1.0, inertia) for name in "abc"]
    hips = Composite(Hinge((1, 0, 0)), Slide((0, 0, 1)))
    joints = [robosim.Joint("hip", "composite", None, "a", chart=hips, child_position=(0, 0, 0.3)),
              robosim.Joint("lead", "screw", "a", "b", axis=(1, 0, 0), pitch=0.1),
              robosim.Joint("other", "revolute", None, "c", axis=(1, 0, 0)),
              robosim.Joint("loop", "screw", "b", "c", axis=(1, 0, 0), pitch=0.2)]  # fmt: skip
    robot = robosim.Mechanism("m", bodies, joints)
    q = np.array([0.4, 0.1, 0.5, 0.0])
    poses = body_poses(robot.tree_joints, q)
    x = np.array([poses[name][1] for name in "abc"])
    # Nowhere along the screw that closes the loop is its child where the hinge holds it.
    turns = np.array([quaternions.from_matrix(poses[name][0]) for name in "abc"])
    violations = JointViolations(robot)(x, turns, q)
    np.testing.assert_allclose(violations[:3], 0.0, atol=1e-14)
    assert violations[3] > 0.01
    R = poses["a"][0]
    # Along the slide it is not off, nor is a body that turns about the hinge.
    along, across = R @ (0, 0, 1e-3), R @ (0, 1e-3, 0)
    assert JointViolations(robot)(x + along, turns, q)[0] == pytest.approx(0.0, abs=1e-14)
    assert JointViolations(robot)(x + across, turns, q)[0] > 5e-4


def test_a_robot_on_charts_is_shown_and_posed():
    frames = [(0.1 * k, 0, 0, 1, 0, 0, 0) for k in range(5)]
    ball = robosim.Body("ball", 1.0, 0.01 * np.eye(3))
    rail = robosim.Joint("rail", "spline", None, "ball", chart=SplineCurve(frames))
    sim = Simulation(robosim.Mechanism("m", [ball], [rail]))
    rig = Rig(sim)
    assert [(one["name"], one["unit"], one["upper"]) for one in rig.joints] == [("rail", "1", 2.0)]
    rig.put(np.array([1.5]), 0.0)
    assert sim.state.x[0, 0] == pytest.approx(0.25, abs=1e-12)
    recorder = Recorder(sim.robot)
    steered(sim, seconds=0.02, recorder=recorder)
    assert len(recorder) > 0


def test_samples_have_the_columns_that_the_charts_say():
    robot = robosim.load("a1")
    sim = Simulation(robot)
    probe = Probe(robot)
    chunk: Chunk = list(sim.stream(0.3, "stand", chunk_steps=50))[-1]
    sample = probe(sim, chunk, 0.5)
    assert len(sample) == probe.width
    names = ["time"] + [f"{c['title']} {name}" for c in probe.charts for name in c["names"]]
    found = dict(zip(names, sample, strict=True))
    assert found["time"] == sim.time
    assert found["real-time factor factor"] == 0.5
    assert found["energy total"] == sim.energy()
    assert found["joint position FL_calf_joint"] == sim.q[robot.q_names.index("FL_calf_joint")]
    assert found["joint velocity FL_calf_joint"] == sim.v[robot.v_names.index("FL_calf_joint")]
    k = robot.actuated_names.index("FL_calf_joint")
    assert found["joint torque FL_calf_joint"] == chunk.tau[-1][k]
    total = sum(value for name, value in found.items() if name.startswith("contact force"))
    vertical = sim.contact_forces()[:, 2].sum()
    assert total == pytest.approx(vertical, rel=0.2)
    assert [c["unit"] for c in probe.charts if c["title"].startswith("joint")] == [
        "rad", "rad/s", "N m",
    ]  # fmt: skip


def test_torques_by_hand(arm):
    sim = Simulation(arm)
    sim.set_state([0.0, 0.0])
    viewer = steered(
        sim,
        (1, {"do": "torque", "index": 0, "value": 1.0}),  # no sliders yet
        (2, {"do": "controller", "name": "torques"}),
        (3, {"do": "torque", "index": 1, "value": 0.25}),
        (4, {"do": "torque", "index": 0, "value": 1e6}),
        (5, {"do": "torque", "index": 7, "value": 0.0}),
    )
    sliders = viewer.documents["panel"]["torques"]
    assert [slider["name"] for slider in sliders] == list(arm.q_names)
    assert viewer.documents["status"]["torques"] == [sliders[0]["reach"], 0.25]
    assert [reason for reason, _ in viewer.refused] == [
        "the controller has no sliders for torques",
        "there is no such torque",
    ]
    # The charts' samples have them too: what acts is what the sliders say.
    names = [name for chart in viewer.documents["panel"]["charts"] for name in chart["names"]]
    column = 1 + len(names) - 1 - 2  # Newton iterations are last
    assert viewer.samples[-1][column : column + 2].tolist() == [sliders[0]["reach"], 0.25]
    relaxed = steered(sim, (2, {"do": "relax"}), controller="torques", controllers=BUILT_IN_TOO)
    assert relaxed.documents["status"]["torques"] == [0.0, 0.0]


BUILT_IN_TOO = {"torques": ByHand}


def test_torques_go_as_far_as_the_effort_limits():
    robot = robosim.load("a1")
    by_hand = ByHand(robot)
    assert [s["reach"] for s in by_hand.sliders] == robot.effort_limits.tolist()
    assert all(slider["limited"] and slider["unit"] == "N m" for slider in by_hand.sliders)
    assert by_hand.set(3, -1e9)
    assert by_hand.tau[3] == -robot.effort_limits[3]
    assert not by_hand.set(robot.nu, 0.0)


def test_a_body_that_is_clicked_is_told(arm):
    """The lower link of a pendulum that falls: by its own pose and velocity; none deselected."""
    sim = Simulation(arm)
    sim.set_state([1.0, 0.3], [0.5, 0.0])
    viewer = steered(sim, (2, {"do": "select", "body": 1}), (2, {"do": "select", "body": 9}))
    told = viewer.documents["body"]["shown"]
    assert (told["body"], told["name"], told["mass"]) == (1, arm.bodies[1].name, arm.bodies[1].mass)
    assert told["contacts"] == []
    assert [reason for reason, _ in viewer.refused] == ["there is no such body"]
    found = inspect(sim, 1)
    twist = sim.frame_velocity(arm.bodies[1].frames[0].name)
    np.testing.assert_allclose(found["omega"], twist[3:], atol=1e-12)
    arm_to_centre = sim.state.x[1] - sim.frame(arm.bodies[1].frames[0].name)[0]
    velocity = twist[:3] + np.cross(twist[3:], arm_to_centre)
    np.testing.assert_allclose(found["velocity"], velocity, atol=1e-12)
    np.testing.assert_array_equal(found["position"], sim.state.x[1])
    gone = steered(sim, (1, {"do": "select", "body": 1}), (2, {"do": "deselect"}))
    assert gone.documents["body"] == {"shown": None}


def test_contacts_of_a_body_hold_its_weight():
    robot = robosim.load("cube")
    sim = Simulation(robot)
    sim.run(1.0)
    told = inspect(sim, 0)
    weight = robot.total_mass * 9.81
    assert told["force"][2] == pytest.approx(weight, rel=1e-3)
    assert told["touching"] >= 3
    assert {contact["other"] for contact in told["contacts"]} == {"ground"}
    total = np.sum([contact["force"] for contact in told["contacts"]], axis=0)
    np.testing.assert_allclose(total, told["force"], atol=1e-9)
    sizes = [np.linalg.norm(contact["force"]) for contact in told["contacts"]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("paused", [False, True])
def test_a_run_goes_on_with_another_robot(arm, paused):
    """With the same controller and the pose of a paused one; an error leaves the last robot."""
    first = dataclasses.replace(arm.bodies[0], mass=9.0)
    heavier = dataclasses.replace(arm, bodies=(first, *arm.bodies[1:]))
    offered = iter([robosim.LoadError("no closing tag", file="arm.urdf"), Simulation(heavier)])

    def renew():
        found = next(offered, None)
        if isinstance(found, Exception):
            raise found
        return found

    sim = Simulation(arm)
    sim.set_state([1.0, 0.3])
    viewer = FakeViewer()
    session = Session(sim, "zero", viewer, controllers=BUILT_IN, renew=renew, paused=paused)
    told = []
    begin = monotonic()

    def stop():
        told.append((viewer.documents["status"]["error"], session.robot))
        return monotonic() - begin > 3.2 * LOOKED_EVERY

    session.run(stop=stop)
    said = [error for error, robot in told if robot is arm]
    assert any("no closing tag" in error and "last robot" in error for error in said)
    assert told[-1] == ("", heavier)
    assert viewer.robots == [heavier]
    assert session.rig.name == "zero"
    assert viewer.documents["status"]["started"] is not paused
    if paused:
        assert session.sim.q.tolist() == [1.0, 0.3]
        assert session.sim.time == 0.0
    else:
        assert 0.0 < session.sim.time < 3.2 * LOOKED_EVERY
