"""Motors from files: the same as those made in Python, and what is refused by name."""

from __future__ import annotations

import json

import numpy as np
import pytest

import robosim
from robosim import Simulation
from robosim.controllers import PID, DCMotor, Delay, LearnedActuator, Motors, Rate, load_motors
from robosim.errors import ControllerError, LoadError, OptionError

H = 0.001
FILE = """
[law]
target = "home"
kp = { default = 30.0, joint2 = 20.0 }
ki = 5.0
kd = [1.0, 0.5]
[[stages]]
kind = "Rate"
hertz = 500
[[stages]]
kind = "Delay"
seconds = 0.002
[[stages]]
kind = "DCMotor"
resistance = 0.5
torque_constant = 0.1
gear_ratio = { joint1 = 9.0, joint2 = 6.0 }
voltage_limit = 24.0
"""


@pytest.fixture
def robot():
    return robosim.load("double_pendulum")


def written(folder, text, name="motors.toml"):
    (folder / name).write_text(text)
    return folder / name


def test_a_file_gives_the_motors_that_it_describes(tmp_path, robot):
    said = Motors(
        robot,
        PID(np.asarray(robot.home), (30.0, 20.0), 5.0, (1.0, 0.5)),
        Rate(500),
        Delay(0.002),
        DCMotor(0.5, 0.1, gear_ratio=(9.0, 6.0), voltage_limit=24.0),
    )
    read = load_motors(robot, written(tmp_path, FILE))
    assert repr(read) == repr(said)
    logs = []
    for motors in (read, said):
        sim = Simulation(robot, H)
        sim.set_state((0.3, -0.2))
        logs.append(sim.run(0.3, motors))
    assert np.array_equal(logs[0].tau, logs[1].tau)
    assert np.abs(logs[0].tau).max() > 1.0


def test_endings_and_laws_that_are_given(tmp_path, robot):
    stages = {"stages": [{"kind": "Delay", "seconds": 0.004, "initial": [1.0, 2.0]}]}
    for text, name in ((json.dumps(stages), "m.json"), (json.dumps(stages), "m.yaml")):
        motors = load_motors(robot, written(tmp_path, text, name), (3.0, 4.0))
        tau = Simulation(robot, H).run(0.008, motors).tau
        assert tau[3].tolist() == [1.0, 2.0]
        assert tau[4].tolist() == [3.0, 4.0]


def test_networks_are_beside_the_file(tmp_path, robot):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    weights = numpy_helper.from_array(np.array([[8.0, -0.5]], dtype=np.float32), "W")
    node = helper.make_node("Gemm", ["obs", "W"], ["torque"], transB=1)
    info = helper.make_tensor_value_info
    ends = info("obs", TensorProto.FLOAT, ["n", 2]), info("torque", TensorProto.FLOAT, ["n", 1])
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "net.onnx")
    text = '[[stages]]\nkind = "LearnedActuator"\nnetwork = "net.onnx"\nlags = [0.0]\n'
    motors = load_motors(robot, written(tmp_path, text), (1.0, 1.0))
    assert isinstance(motors.stages[0], LearnedActuator)
    sim = Simulation(robot, H)
    sim.set_state((0.25, 0.5), (0.5, 1.0))
    assert motors(sim) == pytest.approx((8 * 0.75 - 0.25, 8 * 0.5 - 0.5), rel=1e-6)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[stages]]\nseconds = 1.0", r"stages\[0\]: kind must be one of the stages, not None"),
        ('[[stages]]\nkind = "Brake"', "not 'Brake' .*Delay, Rate, DCMotor, LearnedActuator"),
        ('[[stages]]\nkind = "Delay"', r"stages\[0\] \(Delay\): lacks 'seconds'"),
        ('[[stages]]\nkind = "Delay"\nsecond = 1', "has no 'second' .*seconds"),
        ('[[stages]]\nkind = "Delay"\nseconds = -1', "must be a number of 0 or more"),
        ('[[stages]]\nkind = "DCMotor"\nresistance = -2\ntorque_constant = 1', "resistance"),
        ('[[stages]]\nkind = "LearnedActuator"\nnetwork = 3', "network .* path or callable, not 3"),
        ("stages = 3", "stages: must be a list, not 3"),
        ("stages = [3]", r"stages\[0\]: must have keys and values, not 3"),
        ("stage = []", "stage: is unknown .*law, stages"),
        ("[law]\ntarget = 'up'\nkp = 1\nki = 0\nkd = 0", "there is no pose 'up' .*home"),
        ("[law]\ntarget = 0.0\nkp = {joint3 = 1}\nki = 0\nkd = 0", "there is no motor 'joint3'"),
        ("[law]\ntarget = 0.0\nkp = {joint1 = 1}\nki = 0\nkd = 0", "no value for joint2"),
        ("[law]\ntarget = {joint1 = 1, joint2 = 'x'}\nkp = 0\nki = 0\nkd = 0", "target"),
        ("law = [1]\n", "law: must have keys and values"),
        ("stages = [", "malformed TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, robot, text, told):
    with pytest.raises((LoadError, ControllerError), match=f"(?s){told}"):
        load_motors(robot, written(tmp_path, text))(Simulation(robot, H))


def test_files_that_are_none(tmp_path, robot):
    with pytest.raises(OptionError, match=r"must end in .yaml, .yml, .json, .toml"):
        load_motors(robot, tmp_path / "motors.txt")
    with pytest.raises(LoadError, match=r"motors\.toml"):
        load_motors(robot, tmp_path / "motors.toml")
    with pytest.raises(OptionError, match="has a law: give no other one"):
        load_motors(robot, written(tmp_path, FILE), 0.0)
