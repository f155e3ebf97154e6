"""Task files: formats, presets, metadata, and errors that name file, key and what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from policy_networks import DEFAULT

from robosim.errors import LoadError, ModelError, OptionError
from robosim.policies import PRESETS, PolicyTask, Term, task_of
from robosim.policies.layout import Layout
from robosim.policies.metadata import told

YAML = """
preset: legged_gym
observations:
  - base_ang_vel: 0.25
  - {joint_vel: {scale: 5e-2, clip: [-10, 20], history: 3}}
  - actions
stiffness: {".*": 20}
damping: 0.5
action_clip: 10
effort_limits: false
implicit: true
history: {length: 2, by: frame, newest_first: true}
"""
TOML = """
preset = "legged_gym"
observations = [{base_ang_vel = 0.25}, {joint_vel = {scale = 5e-2, clip = [-10, 20], history = 3}}, "actions"]
stiffness = {".*" = 20}
damping = 0.5
action_clip = 10
effort_limits = false
implicit = true
history = {length = 2, by = "frame", newest_first = true}
"""  # noqa: E501


def test_yaml_toml_and_json_say_the_same(tmp_path):
    files = [tmp_path / name for name in ("a.yaml", "b.toml", "c.json")]
    files[0].write_text(YAML)
    files[1].write_text(TOML)
    tasks = [task_of(file) for file in files[:2]]
    files[2].write_text(json.dumps(tasks[0].to_dict()))
    tasks.append(task_of(files[2]))
    assert len({json.dumps(task.to_dict()) for task in tasks}) == 1
    assert tasks[0].observations == (
        Term("base_ang_vel", (0.25,)),
        Term("joint_vel", (0.05,), clip=(-10.0, 20.0), history=3),
        Term("actions"),
    )
    assert tasks[0].action_clip == (-10.0, 10.0)
    assert tasks[0].effort_limits is False
    assert (tasks[0].history, tasks[0].history_by, tasks[0].newest_first) == (2, "frame", True)
    assert tasks[0].action_scale == 0.25
    assert tasks[0].joints == "depth_first"
    assert tasks[0].name == "a.yaml"


def test_a_file_wins_over_metadata_and_these_over_a_preset(a1):
    metadata = {"action_scale": "0.3", "joint_stiffness": "25.0"}
    task = task_of({"preset": "isaaclab", "stiffness": 30}, metadata)
    assert (task.stiffness, task.action_scale, task.joints) == (30.0, 0.3, "breadth_first")


def test_metadata_of_mjlab_describe_a_task(a1):
    names = list(a1.actuated_names)[::-1]
    metadata = {
        "run_path": "local",
        "joint_names": ",".join(names),
        "joint_stiffness": ",".join(["20.000"] * 12),
        "joint_damping": ",".join(["1.000"] * 12),
        "default_joint_pos": ",".join(["0.100"] * 12),
        "command_names": "twist",
        "observation_names": "base_ang_vel,joint_pos,command,actions",
        "observation_terms_scale": "1.000,0.500,2.000;2.000;0.250,1.000",
        "observation_terms_flatten_history_dim": "True,True,True,True",
        "observation_terms_history_length": "0,3,0,0",
        "observation_terms_clip": "-inf;inf,-5.000;5.000,-inf;inf,-inf;inf",
        "action_scale": ",".join(["0.250"] * 12),
    }
    task = task_of(None, metadata, "policy.onnx")
    assert task.observations == (
        Term("base_ang_vel"),
        Term("joint_pos", (0.5,), clip=(-5.0, 5.0), history=3),
        Term("velocity_commands", (2.0, 2.0, 0.25)),
        Term("actions"),
    )
    layout = Layout(a1, task)
    assert layout.names == tuple(names)
    assert task.period == pytest.approx(0.02)
    assert layout.default == pytest.approx(0.1)
    assert layout.scale == pytest.approx(0.25)
    wrong = {**metadata, "observation_terms_scale": "1.0,2.0"}
    with pytest.raises(LoadError, match=r"observation_terms_scale: .*not for 4 observations"):
        task_of(None, wrong, "policy.onnx")
    with pytest.raises(LoadError, match=r"policy.onnx: joint_stiffness: .*malformed: 'stiff'"):
        task_of(None, {**metadata, "joint_stiffness": "stiff"}, "policy.onnx")
    names_of_others = "motion_anchor,joint_pos,command,actions"
    with pytest.raises(LoadError, match=r"no quantity 'motion_anchor' .*known: base_lin_vel"):
        task_of(None, {**metadata, "observation_names": names_of_others}, "policy.onnx")


def test_a_task_survives_its_own_metadata(a1):
    task = task_of({"preset": "legged_gym", "default_joint_pos": DEFAULT, "stiffness": 20.0,
                    "damping": 0.5, "history": 2, "command": [1, 0, 0]})  # fmt: skip
    again = task_of(None, told(task, Layout(a1, task)))
    assert again == task
    with pytest.raises(LoadError, match="robosim_task: its metadata are malformed"):
        task_of(None, {"robosim_task": "{"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("preset: gym", r"t\.yaml: preset: there is no preset 'gym' \(known: legged_gym, isaac"),
        ("stifness: 3", r"t\.yaml: there is no key 'stifness' .*stiffness"),
        ("preset: mjlab\nobservations: []", "has no observations"),
        ("observations: [lin_velocity]", r"observations\[0\]: there is no quantity 'lin_velocity'"),
        ("observations: [{actions: {scal: 2}}]", r"\[0\] actions: there is no key 'scal' .*scale"),
        ("observations: [{actions: {at: com}}]", r"there is no key 'at' .*history\)"),
        ("observations: [{actions: .nan}]", "must be a finite number"),
        ("observations: [actions]\ndamping: {a: x}", r"damping\.a: must be a finite number"),
        ("observations: [actions]\ndecimation: 1.5", "decimation: must be a whole number"),
        ("observations: [actions]\ntimestep: 0", "timestep: must be positive"),
        ("observations: [actions]\nimplicit: 1", "implicit: must be true or false"),
        ("observations: [actions]\njoints: sorted", r"joints: .*model, depth_first, breadth_first"),
        ("observations: [actions]\njoints: [a, a]", "names a twice"),
        ("observations: [actions]\naction_clip: [1, -1]", r"\[least, most\]"),
        ("observations: [actions]\nhistory: {len: 2}", r"history: there is no key 'len'"),
        ("observations: [actions]\nobservations: [clock]", "key 'observations' is used twice"),
        ("- actions", "must be a mapping"),
        ("a: [", "line 1: malformed YAML"),
        ("a: &b 1", "anchors and aliases"),
    ],
)
def test_errors_name_the_file_the_key_and_what_there_is(tmp_path: Path, text, words):
    file = tmp_path / "t.yaml"
    file.write_text(text)
    with pytest.raises(LoadError, match=words) as caught:
        task_of(file)
    assert caught.value.file == file


def test_files_that_cannot_be_read(tmp_path):
    for name, text in (("t.json", "{"), ("t.toml", "=")):
        (tmp_path / name).write_text(text)
        with pytest.raises(LoadError, match="malformed"):
            task_of(tmp_path / name)
    with pytest.raises(LoadError, match="does not exist"):
        task_of(tmp_path / "none.yaml")
    with pytest.raises(OptionError, match=r"a file that ends in .yaml.*isaaclab"):
        task_of("isaac_lab")
    with pytest.raises(OptionError, match=f"one of the presets {', '.join(PRESETS)}"):
        task_of(None, {})


def test_joints_that_a_robot_does_not_have_are_named_with_those_that_it_has(a1):
    task = PolicyTask.of({"observations": ["actions"], "joints": ["FL_hip_joint", "FL_ankle"]})
    words = "no actuated joint FL_ankle; it has FR_hip_joint, .*does not name FR_hip_joint"
    with pytest.raises(ModelError, match=words):
        Layout(a1, task)


def test_patterns_have_to_match_and_cover_the_joints(a1):
    said = {"observations": ["actions"], "default_joint_pos": {".*_knee": 1.0}}
    with pytest.raises(ModelError, match=re.escape("'.*_knee' matches no joint (known: FR_hip")):
        Layout(a1, PolicyTask.of(said))
    task = PolicyTask.of(
        {"observations": ["actions"], "stiffness": {".*_hip_joint": 1.0}, "damping": 1}
    )
    with pytest.raises(ModelError, match="no pattern matches FR_thigh_joint, FR_calf_joint"):
        Layout(a1, task).pd(5e-3)
    with pytest.raises(LoadError, match="action_scale: '\\[' is no pattern"):
        Layout(a1, PolicyTask.of({"observations": ["actions"], "action_scale": {"[": 1}}))
    with pytest.raises(LoadError, match=r"one for each of 12 joints .*not 2 numbers"):
        Layout(a1, PolicyTask.of({"observations": ["actions"], "action_scale": [1, 2]}))
    with pytest.raises(LoadError, match="the task has no 'stiffness'"):
        Layout(a1, PolicyTask.of({"observations": ["actions"]})).pd(5e-3)
    # Joints that no pattern of a pose matches stay at home.
    pose = Layout(a1, PolicyTask.of({"observations": ["actions"],
                                     "default_joint_pos": {"FR_hip_joint": 0.3}}))  # fmt: skip
    assert pose.default[0] == 0.3
    assert pose.default[1:] == pytest.approx(a1.home[8:])
