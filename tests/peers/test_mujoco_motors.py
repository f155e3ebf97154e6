"""Direct-current motors and delays of controls: forces and motions are MuJoCo's."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import Simulation
from robosim.actuators import ControlDelay, Drive, torques
from robosim.errors import ControllerError, LoadError, ModelError

mujoco = pytest.importorskip("mujoco")

WORLD = """<worldbody><body><joint name="j" axis="0 1 0" damping="0.2" armature="0.05"/>
  <geom size=".1" pos="0 0 -.3"/></body></worldbody>"""


def loaded(tmp_path, actuator, default="", option=""):
    text = f"<mujoco><option timestep='0.001' {option}/>{default}{WORLD}"
    text += f"<actuator>{actuator}</actuator></mujoco>"
    (tmp_path / "m.xml").write_text(text)
    return mujoco.MjModel.from_xml_string(text), robosim.load(tmp_path / "m.xml")


MOTORS = [
    'motorconst="0.05" resistance="2"',
    'motorconst="0.05 0.07" resistance="2" gear="12"',
    'motorconst="0 0.07" resistance="2"',
    'nominal="24 10 300"',
    'motorconst="0.05" nominal="24 10 300"',
    'motorconst="0 0.07" nominal="24 10 300"',
    'motorconst="0.05 0.07" nominal="24 10"',
    'nominal="24 10 300" resistance="0.5" ctrlrange="-3 3"',
    'motorconst="0.05" resistance="2" saturation="0.1" gear="3"',
    'motorconst="0.05" resistance="2" saturation="0 2"',
    'motorconst="0.05" resistance="2" saturation="9 2"',
    'motorconst="0.05" resistance="2" input="pos" controller="10 0 1"',
    'motorconst="0.05" resistance="2" input="vel" controller="10 0 1" gear="2"',
    'motorconst="0.05" resistance="2" input="ff" controller="1 0 2" saturation="4"',
]


@pytest.mark.parametrize("motor", MOTORS)
def test_forces_are_mujocos(tmp_path, motor):
    model, robot = loaded(tmp_path, f'<dcmotor joint="j" {motor}/>')
    assert robot.warnings == loaded(tmp_path, '<motor joint="j"/>')[1].warnings
    data = mujoco.MjData(model)
    for q, v, u in np.random.default_rng(0).normal(0, (1, 20, 10), (30, 3)):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
        mujoco.mj_forward(model, data)
        found = torques(robot, [u], [q], [v])
        assert found == pytest.approx(data.qfrc_actuator, rel=1e-12, abs=1e-12)


DEFAULTS = [
    '<dcmotor nominal="24 10 300" saturation="1" ctrlrange="-2 2"/>',
    '<dcmotor motorconst="0.1" resistance="3"/>',
    '<motor ctrlrange="-1 1" gear="3"/>',
    '<general gainprm="7" biastype="affine" biasprm="1 2 3" forcelimited="true" '
    'forcerange="-.1 .1"/>',
    '<position kp="7" kv="3"/>',
    '<dcmotor nominal="24 10 300"/><default class="c"><dcmotor motorconst=".1"/></default>',
    '<dcmotor motorconst="0.1" resistance="3"/><default class="c"><dcmotor gear="4"/></default>',
]
OWN = ["", 'motorconst="0.05"', 'motorconst="0.05 0.07"', 'resistance="5"', 'saturation="0 3"',
       'motorconst="0.05" resistance="5"', 'saturation="0 0 0"']  # fmt: skip


def inheriting(tmp_path, kind, default, own):
    """An actuator with the attributes of a class in both; None if neither takes it."""
    chosen = 'class="c"' if "class" in default else ""
    actuator, classes = f'<{kind} {chosen} joint="j" {own}/>', f"<default>{default}</default>"
    try:
        return loaded(tmp_path, actuator, classes)
    except ValueError:
        with pytest.raises(LoadError):
            robosim.load(tmp_path / "m.xml")
        return None


@pytest.mark.parametrize("own", ["", 'kp="4"', 'kv="2"', 'ki="0" dampratio="1"', 'input="pos"'])
@pytest.mark.parametrize(
    "default",
    ['<pid kp="7" kv="3"/>', '<pid kp="7" input="vel"/>', '<position kp="7" kv="3"/>',
     '<general gainprm="7" biastype="affine" biasprm="0 -7 -2"/>', '<motor gear="3"/>',
     '<pid kp="7"/><default class="c"><pid kv="1" velrange="-1 1"/></default>'],
)  # fmt: skip
def test_controllers_inherit_as_in_mujoco(tmp_path, default, own):
    found = inheriting(tmp_path, "pid", default, own)
    if found is None:
        return
    model, robot = found
    assert len(robot.control_names) == model.nu
    data = mujoco.MjData(model)
    for q, v, *u in np.random.default_rng(1).normal(0, (1, 20, 2, 2), (10, 4)):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u[: model.nu]
        mujoco.mj_forward(model, data)
        found = torques(robot, u[: model.nu], [q], [v])
        assert found == pytest.approx(data.qfrc_actuator, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("default", DEFAULTS)
def test_motors_inherit_as_in_mujoco(tmp_path, default, own):
    found = inheriting(tmp_path, "dcmotor", default, own)
    if found is None:
        return
    model, robot = found
    data = mujoco.MjData(model)
    for q, v, u in np.random.default_rng(1).normal(0, (1, 20, 10), (10, 3)):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
        mujoco.mj_forward(model, data)
        assert torques(robot, [u], [q], [v]) == pytest.approx(data.qfrc_actuator, rel=1e-12)


def stepped(model, robot, controls, activations=None):
    """Torques of MuJoCo's steps, and those of a `Drive` in the same states."""
    data, theirs, ours = mujoco.MjData(model), [], []
    data.qvel[:] = 2.0
    if activations is not None:
        data.act[:] = activations
    sim = Simulation(robot, 1e-3)
    now = [np.zeros(model.nu)]
    start = None if activations is None else activations
    drive = Drive(robot, lambda sim: now[0], start)
    for k, control in enumerate(controls):
        q, v = data.qpos.copy(), data.qvel.copy()
        data.ctrl[:] = control
        mujoco.mj_step(model, data)
        theirs.append(data.qfrc_actuator.copy())
        now[0] = np.broadcast_to(control, (model.nu,))
        sim.set_state(q, v, time=k * 1e-3)
        ours.append(drive(sim))
        if len(data.act):
            assert drive.activations == pytest.approx(data.act, rel=1e-9, abs=1e-12)
    return np.array(theirs), np.array(ours)


HOT = 'thermal="3 0.02 0 0.004 25 40"'
BRISTLES = 'lugre="100 0.5 0.3 0.5 0.1"'
# Attributes of a motor -> its states.
RICH = {
    'inductance="0.004" gear="4"': ["current"],
    'inductance="0 0.02" saturation="0.3" gear="4"': ["current"],
    'inductance="0.004 0.5" input="pos" controller="30 0 1"': ["current"],
    'inductance="0.004" delay="0.003" nsample="5" ctrlrange="-8 8"': ["current"],
    'inductance="0.004" saturation="0 0.8 300"': ["current"],
    f'{HOT} gear="2"': ["heat"],
    'thermal="3 0 0.06 0.004 25 40" saturation="0.2"': ["heat"],
    'thermal="0 0.02 0.06 0 0 0"': ["heat"],
    'thermal="3 7 0.06 -0.001 0 0"': ["heat"],
    f'{HOT} inductance="0.01" gear="3"': ["heat", "current"],
    'cogging="0.1 6 0.2" gear="3" saturation="0.2"': [],
    'cogging="0 6 0.2" input="ff"': [],
    f'{BRISTLES} gear="2"': ["bristles"],
    f'{BRISTLES} saturation="0.1" input="none"': ["bristles"],
    'lugre="100 0 0.3 0.3 0.1"': ["bristles"],
    'input="none"': [],
    'input="none" motorconst="0" cogging="0.1 6 0"': [],
    'input="pos vel" controller="30 0 1" gear="2"': [],
    'input="pos vel ff voltage" controller="30 0 1 0 0 9" ctrlrange="-3 3"': [],
    'input="vel voltage" controller="3 0 1 0 0 2"': [],
    'input="ff voltage" controller="0 0 0 50"': ["setpoint"],
    'input="pos" controller="30 0 1 0 0 4"': [],
    'input="pos" controller="30 20 1"': ["integral"],
    'input="pos vel" controller="30 20 1 0 0.02"': ["integral"],
    'input="pos" controller="30 0 1 5"': ["setpoint"],
    'input="vel ff" controller="0 0 1 5 0 3"': ["setpoint"],
    f'input="pos voltage" controller="30 20 1 5 0.02 7" inductance="0.01" {HOT} {BRISTLES} '
    'cogging="0.1 6 0.2" saturation="0.9 0 400" gear="2" ctrlrange="-3 3" delay="0.0025" '
    'nsample="5" interp="cubic"': ["setpoint", "integral", "heat", "bristles", "current"],
}


# Attributes of a <pid> -> its states.
PIDS = {
    'kp="30"': [],
    'kp="30" kv="1" gear="2" forcerange="-3 3"': [],
    'kp="30" kv="1" input="pos"': [],
    'kp="30" kv="1" input="pos" ctrlrange="-1 2"': [],
    'kv="3" input="vel"': [],
    'kv="3" input="vel ff" ctrlrange="-1 2" ffrange="-.5 .5"': [],
    'kp="30" dampratio="0.7"': [],
    'kp="30" dampratio="0.7" input="pos"': [],
    'kp="30" ki="20" kv="1" posrange="-1 1" velrange="-2 3"': ["integral"],
    'kp="30" ki="20" dampratio="0.5" imax="0.02" input="pos ff"': ["integral"],
    'kp="30" kv="1" slewmax="5"': ["setpoint"],
    'kp="30" ki="20" kv="1" slewmax="5" imax="0.01" gear="3" input="pos vel ff" '
    'delay="0.0025" nsample="5"': ["setpoint", "integral"],
}
KINDS = [*(("dcmotor", motor) for motor in RICH), *(("pid", motor) for motor in PIDS)]
STATES = RICH | PIDS


def rich(tmp_path, motor, kind="dcmotor"):
    plain = ""
    if kind == "dcmotor":
        plain = ("" if "motorconst" in motor else 'motorconst="0.2"') + ' resistance="2"'
    return loaded(tmp_path, f'<{kind} name="m" joint="j" {plain} {motor}/>')


@pytest.mark.parametrize(("kind", "motor"), KINDS)
def test_motors_with_states_are_mujocos(tmp_path, kind, motor):
    model, robot = rich(tmp_path, motor, kind)
    assert robot.warnings == loaded(tmp_path, '<motor joint="j"/>')[1].warnings
    (actuator,), states = robot.actuators, STATES[motor]
    assert actuator.has_activations == bool(states)
    if len(states) > 1:
        assert robot.activation_names == tuple(f"m:{state}" for state in states)
    assert len(robot.control_names) == model.nu
    controls = np.random.default_rng(4).normal(0, 6, (400, model.nu))
    controls[100:] = 8 * np.sin(0.05 * np.arange(300))[:, None]
    start = np.full(len(states), 0.004) if states else None
    theirs, ours = stepped(model, robot, controls, start)
    assert np.ptp(theirs) > 0.05
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("kind", "motor"), KINDS)
def test_written_motors_have_the_same_law(tmp_path, kind, motor):
    _, robot = rich(tmp_path, motor, kind)
    robosim.save(robot, tmp_path / "written.xml")
    again = robosim.load(tmp_path / "written.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "written.xml"))
    model.opt.timestep = 1e-3
    assert again.control_names == robot.control_names
    start = np.full(len(STATES[motor]), 0.004) if STATES[motor] else None
    controls = np.random.default_rng(5).normal(0, 6, (60, model.nu))
    theirs, ours = stepped(model, robot, controls, start)
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    assert stepped(model, again, controls, start)[1] == pytest.approx(theirs, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("attributes", "told"),
    [('input="vel" ki="1"', "'ki' and 'slewmax' need the input pos"),
     ('input="ff" slewmax="1"', "'ki' and 'slewmax' need the input pos"),
     ('slewmax="-1"', "'slewmax' must not be negative, not -1"),
     ('ki="1" imax="-2"', "'imax' must not be negative, not -2"),
     ('input="pos force"', "'input' must be among these, or none, not 'force'"),
     ('kv="1" dampratio="1"', "'dampratio' must not be negative, nor beside 'kv'; not 1"),
     ('velrange="2 1"', "'velrange' must be from a lower to a higher number")],
)  # fmt: skip
def test_controllers_that_neither_takes(tmp_path, attributes, told):
    with pytest.raises(ValueError, match=r"."):
        loaded(tmp_path, f'<pid joint="j" {attributes}/>')
    with pytest.raises(LoadError, match=told):
        robosim.load(tmp_path / "m.xml")


def test_a_motor_settles_at_its_controls(tmp_path):
    motor = f'input="pos voltage" controller="30 0 1 5" inductance="0.01" {BRISTLES}'
    _, robot = rich(tmp_path, motor)
    assert robot.control_names == ("m:pos", "m:voltage")
    settled = torques(robot, [0.1, 2.0], [0.2], [0.4])
    drive = Drive(robot, lambda sim: (0.1, 2.0))
    sim = Simulation(robot, 1e-3)
    for k in range(2000):
        sim.set_state([0.2], [0.4], time=k * 1e-3)
        tau = drive(sim)
    assert tau == pytest.approx(settled, rel=1e-9)
    friction = 0.3 + 0.2 * np.exp(-16.0)
    assert settled == pytest.approx(30 * (0.1 - 0.2) - 0.4 + 0.2 / 2 * 2 - friction, rel=1e-9)


def test_a_drive_continues_from_a_checkpoint(tmp_path):
    """With all that motors and delays remember, bit for bit."""
    _, robot = rich(tmp_path, list(RICH)[-1])
    voltages = lambda sim: (np.sin(9 * sim.time), 3.0 * np.cos(40 * sim.time))  # noqa: E731
    drive, sim = Drive(robot, voltages), Simulation(robot, 1e-3)
    sim.run(0.02, drive)
    sim.save(tmp_path / "sim.npz", drive)
    expected = sim.run(0.05, drive).tau
    again, other = Simulation(robot, 1e-3), Drive(robot, voltages)
    again.load(tmp_path / "sim.npz", other)
    assert np.array_equal(again.run(0.05, other).tau, expected)
    anew = Simulation(robot, 1e-3)
    anew.load(tmp_path / "sim.npz")
    assert not np.array_equal(anew.run(0.05, Drive(robot, voltages)).tau, expected)
    plain = Drive(rich(tmp_path, "")[1], voltages)
    with pytest.raises(ControllerError, match="is not of these actuators: 'activations' differs"):
        plain.recall(again, other.memory())


def test_motors_of_ball_joints_do_not_go_round(tmp_path):
    text = """<mujoco><worldbody><body><joint name="b" type="ball"/><geom size=".1"
      pos="0 0 -.3"/></body></worldbody><actuator><dcmotor joint="b" gear="0 0 1.5"
      motorconst="0.2" resistance="2" controller="10 0 0" input="pos"/></actuator></mujoco>"""
    (tmp_path / "m.xml").write_text(text)
    model, robot = mujoco.MjModel.from_xml_string(text), robosim.load(tmp_path / "m.xml")
    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:] = [np.cos(1.4), 0, 0, np.sin(1.4)], -2.0
    mujoco.mj_forward(model, data)
    found = torques(robot, [-2.0], data.qpos, data.qvel)
    assert found == pytest.approx(data.qfrc_actuator, rel=1e-12)


@pytest.mark.parametrize("delay", ["0.003", "0.0025", "0.0015", "0.0038", "0.001", "0.0004", "0.1"])
@pytest.mark.parametrize(
    "more", ["", 'interp="linear"', 'interp="zoh" gear="2" ', 'interp="cubic"']
)
@pytest.mark.parametrize("kind", ["motor", "position"])
def test_delays_are_mujocos(tmp_path, delay, more, kind):
    actuator = f'<{kind} joint="j" delay="{delay}" nsample="4" {more} ctrlrange="-1 1"/>'
    model, robot = loaded(tmp_path, actuator)
    controls = np.random.default_rng(2).uniform(-2, 2, 40)
    theirs, ours = stepped(model, robot, controls)
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)


def test_a_delay_begins_anew_with_another_run(tmp_path):
    _, robot = loaded(tmp_path, '<motor joint="j" delay="0.002" nsample="2"/>')
    drive = Drive(robot, lambda sim: [1.0])
    for _ in range(2):
        tau = Simulation(robot, 1e-3).run(0.004, drive).tau[:, 0]
        assert tau[:4].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_motors_that_are_none_are_refused(tmp_path):
    for attributes, told in (
        ('motorconst="-1" resistance="2"', "must not be negative"),
        ('motorconst="0.1" resistance="-2"', "must not be negative"),
        ('motorconst="0.1"', "needs a resistance"),
        ('nominal="24 10"', "needs a motorconst"),
        ('motorconst="0.1" resistance="2" input="torque"', "'input' must be among"),
        ('motorconst="0.1" resistance="2" inductance="-1"', "'inductance' must not be negative"),
        ('motorconst="0.1" resistance="2" input="vel pos"', "in this order"),
        ('motorconst="0.1" resistance="2" input=""', "names no control"),
        ('motorconst="0.1" resistance="2" controller="1 0 0"', "need an input pos, vel or ff"),
        ('motorconst="0.1" resistance="2" input="vel" controller="1 1 0"', "needs the input pos"),
        ('motorconst="0" resistance="2"', "needs a motorconst"),
        ('motorconst="0.1" resistance="2" thermal="1 0 0"', "'thermal' needs two"),
        ('motorconst="0.1" resistance="2" thermal="1 -2 0"', "'thermal' needs two"),
        ('motorconst="0.1" resistance="2" lugre="9 1 0 0 0"', "friction of a motor"),
        ('motorconst="0.1" resistance="2" delay="0.1"', "an 'nsample' of one or more"),
        ('motorconst="0.1" resistance="2" delay="-0.1" nsample="3"', "must not be negative"),
    ):
        text = f'<mujoco>{WORLD}<actuator><dcmotor joint="j" {attributes}/></actuator></mujoco>'
        (tmp_path / "bad.xml").write_text(text)
        with pytest.raises(LoadError, match=told):
            robosim.load(tmp_path / "bad.xml")
    for seconds, samples, kind, told in (
        (0.0, 1, "zoh", "above zero"),
        (np.nan, 1, "zoh", "above zero"),
        (1.0, 0, "zoh", "a sample or more"),
        (1.0, 1, "quintic", "interpolation cannot be 'quintic'"),
    ):
        with pytest.raises(ModelError, match=told):
            ControlDelay(seconds, samples, kind)


@pytest.mark.parametrize(
    "motor",
    [
        '<dcmotor joint="j" nominal="24 10 300" saturation="2" ctrlrange="-9 9"/>',
        '<dcmotor joint="j" motorconst="0.2" resistance="2" inductance="0.01" saturation="3"/>',
        '<motor joint="j" delay="0.003" nsample="4" interp="linear"/>',
    ],
)
def test_files_that_are_written_have_the_same_forces(tmp_path, motor):
    _, robot = loaded(tmp_path, motor)
    robosim.save(robot, tmp_path / "written.xml")
    again = robosim.load(tmp_path / "written.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "written.xml"))
    model.opt.timestep = 1e-3
    controls = 10 * np.sin(0.1 * np.arange(60))
    activations = [0.5] if robot.actuators[0].has_activations else None
    theirs, ours = stepped(model, again, controls, activations)
    assert np.ptp(theirs) > 0.1
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    assert ours == pytest.approx(stepped(model, robot, controls, activations)[1], rel=1e-12)
