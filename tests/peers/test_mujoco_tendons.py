"""Tendons of MJCF files against MuJoCo: lengths, moment arms, forces, accelerations, sensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import Mechanism, Simulation, quaternions
from robosim.actuators import Drive, torques
from robosim.dynamics import Kinematics

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

NOTHING = 'contype="0" conaffinity="0"'
WORLD = f"""<mujoco><compiler angle="radian"/><worldbody>
<site name="wall" pos=".3 .1 .9"/><geom name="post" type="cylinder" pos=".2 .05 1.05" size=".03 .5"
  zaxis="0 1 .3" {NOTHING}/>
<body name="a" pos="0 0 1"><joint name="h1" axis="0 1 0" springref=".2"/><joint name="h2"
  axis="1 0 0"/>
  <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" {NOTHING}/>
  <geom name="ball" type="sphere" pos=".5 0 0" size=".08" {NOTHING}/>
  <geom name="pin" type="cylinder" pos=".05 0 0" euler="1.4 .2 0" size=".07 .2" {NOTHING}/>
  <site name="a1" pos=".2 .02 .08"/>
  <body name="b" pos=".5 0 0"><joint name="h3" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".04" {NOTHING}/>
    <site name="b1" pos=".2 .01 .05"/><site name="outer" pos="0 0 .12"/>
    <site name="inner" pos="0 .01 .02"/>
    <body name="c" pos=".4 0 0"><joint name="b3" type="ball"/>
      <geom type="box" size=".1 .05 .02" {NOTHING}/><site name="c1" pos=".1 .02 .03"/>
</body></body></body></worldbody>"""
TENDONS = """<tendon>
<fixed name="sum" stiffness="30" springlength=".1 .2" damping=".5" armature=".1">
  <joint joint="h1" coef=".7"/><joint joint="h2" coef="-1.2"/><joint joint="h3" coef=".4"/></fixed>
<spatial name="over" stiffness="200" damping="2"><site site="wall"/><site site="a1"/>
  <geom geom="ball"/><site site="b1"/><site site="c1"/></spatial>
<spatial name="h1" stiffness="100" springlength=".2 .9"><site site="wall"/><geom geom="pin"/>
  <site site="a1"/><pulley divisor="2"/><site site="a1"/><geom geom="ball" sidesite="outer"/>
  <site site="b1"/><pulley divisor="3"/><site site="b1"/><site site="c1"/></spatial>
<spatial name="through" stiffness="100" springlength=".2"><site site="a1"/>
  <geom geom="ball" sidesite="inner"/><site site="b1"/></spatial>
<spatial name="bare"><site site="c1"/><geom geom="post" sidesite="a1"/><site site="wall"/></spatial>
<spatial name="idle"><site site="c1"/><site site="wall"/></spatial></tendon>
<actuator><motor tendon="over" gear="2"/><velocity tendon="sum" kv="2" gear="3"/>
<position name="servo" tendon="h1" kp="30" gear="-1.5" kv="2"/><motor joint="h3"/></actuator>
<sensor><tendonpos tendon="h1"/><tendonvel tendon="h1"/><tendonpos tendon="sum"/>
<actuatorpos actuator="servo"/><tendonvel tendon="bare"/></sensor></mujoco>"""


def loaded(folder: Path) -> Mechanism:
    path = folder / "m.xml"
    path.write_text(WORLD + TENDONS)
    return robosim.load(path)


def states(robot: Mechanism, n: int):
    """Random (q, v); the last joint is a ball."""
    rng = np.random.default_rng(0)
    for _ in range(n):
        q = robot.neutral() + 0.9 * rng.normal(size=robot.nq)
        q[-4:] = quaternions.normalized(q[-4:])
        yield q, rng.normal(size=robot.nv), rng


def passive(robot: Mechanism, kinematics: Kinematics, v: np.ndarray) -> np.ndarray:
    """Generalized forces (nv,) of the springs and dampers of tendons."""
    J, tau = kinematics.tendon_jacobian(), np.zeros(robot.nv)
    for tendon, length, row in zip(robot.tendons, kinematics.tendon_lengths(), J, strict=True):
        stretch = length - np.clip(length, *np.asarray(tendon.rest_length))
        tau -= row * (tendon.stiffness * stretch + tendon.damping * (row @ v))
    return tau


def test_lengths_forces_and_accelerations(tmp_path):
    robot = loaded(tmp_path)
    # Of those that do nothing only what is read is kept; names of joints are not taken.
    names = ["sum", "over", "tendon:h1", "through", "bare"]
    assert [tendon.name for tendon in robot.tendons] == names
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    rests = [np.asarray(tendon.rest_length) for tendon in robot.tendons]
    np.testing.assert_allclose(rests[:4], model.tendon_lengthspring[:4], rtol=0, atol=1e-14)
    data, kinematics, nt = mujoco.MjData(model), Kinematics(robot), len(names)
    sim, wrapped = Simulation(robot), np.zeros(model.ntendon)
    for q, v, rng in states(robot, 200):
        controls = rng.normal(size=model.nu)
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, controls
        mujoco.mj_forward(model, data)
        wrapped += data.ten_wrapnum
        kinematics.move_to(q)
        J = np.zeros((model.ntendon, model.nv))
        columns = model.ten_J_colind.ravel()
        mujoco.mju_sparse2dense(J, data.ten_J.ravel(), model.ten_J_rownnz, model.ten_J_rowadr,
                                columns)  # fmt: skip
        ours = kinematics.tendon_jacobian()
        np.testing.assert_allclose(kinematics.tendon_lengths(), data.ten_length[:nt], atol=1e-12)
        # MuJoCo looks for the point where a path touches from inside to 1e-6 only.
        np.testing.assert_allclose(ours, J[:nt], rtol=0, atol=5e-7)
        np.testing.assert_allclose(ours @ v, data.ten_velocity[:nt], rtol=0, atol=2e-6)
        driven = np.zeros(robot.nv)
        driven[robot.actuated] = torques(robot, controls, q, v)
        scale = np.abs(data.qfrc_actuator).max()
        np.testing.assert_allclose(driven, data.qfrc_actuator, rtol=0, atol=1e-12 * scale)
        M = kinematics.mass_matrix()
        tau = passive(robot, kinematics, v) + driven - kinematics.bias_forces(v)
        a = np.linalg.solve(M, tau)
        scale = np.abs(data.qacc).max()
        np.testing.assert_allclose(a, data.qacc, rtol=0, atol=1e-7 * scale)
        sim.set_state(q, v)
        readings = [sim.sensor(sensor.name) for sensor in robot.sensors]
        np.testing.assert_allclose(readings, data.sensordata, rtol=0, atol=1e-9)
    # Points and pulleys alone are so many: they did bend around things.
    assert np.all(wrapped[1:4] > 200 * np.array((4, 8, 2)))


def test_inertia_of_straight_tendons(tmp_path):
    """MuJoCo has no velocity term of those that bend around something, so these have no inertia."""
    text = WORLD + TENDONS.replace('"idle"', '"idle" armature="3"')
    text = text.replace('<spatial name="bare">', '<spatial name="folded" armature="2">'
        '<site site="wall"/><site site="a1"/><site site="c1"/><pulley divisor="2"/>'
        '<site site="b1"/><site site="c1"/></spatial><spatial name="bare">')  # fmt: skip
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml")
    assert [tendon.armature for tendon in robot.tendons if tendon.armature] == [0.1, 2, 3]
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    data, kinematics = mujoco.MjData(model), Kinematics(robot)
    parts = []
    for q, v, rng in states(robot, 50):
        tau = rng.normal(size=robot.nv)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
        mujoco.mj_forward(model, data)
        kinematics.move_to(q)
        bias = kinematics.bias_forces(v)
        scale = np.abs(data.qfrc_bias).max()
        np.testing.assert_allclose(bias, data.qfrc_bias, rtol=0, atol=1e-9 * scale)
        parts.append(np.abs(bias - kinematics.bias_forces(v, rotors=False)).max() / scale)
        tau += passive(robot, kinematics, v)
        a, scale = kinematics.forward_acceleration(v, tau), np.abs(data.qacc).max()
        np.testing.assert_allclose(a, data.qacc, rtol=0, atol=1e-8 * scale)
    assert max(parts) > 0.1


@pytest.mark.parametrize("side", ["1.1 .5 .2", ".5 -.3 .2", ".3 .1 1.5"])
@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
def test_sides(tmp_path, kind, side):
    """The way around, for ends anywhere, even where the straight way is free."""
    slides = "".join(f'<joint name="{{0}}{k}" type="slide" axis="{axis}"/>'
                     for k, axis in enumerate(("1 0 0", "0 1 0", "0 0 1")))  # fmt: skip
    slides += f'<geom size=".1" {NOTHING}/><site name="{{0}}"/>'
    text = f"""<mujoco><worldbody><geom name="g" type="{kind}" size="1 1" {NOTHING}/>
    <body>{slides.format("a")}</body><body>{slides.format("b")}</body>
    <site name="side" pos="{side}"/></worldbody>
    <tendon><spatial name="t" stiffness="1"><site site="a"/><geom geom="g" sidesite="side"/>
      <site site="b"/></spatial></tendon></mujoco>"""
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_string(text)
    data, kinematics = mujoco.MjData(model), Kinematics(robot)
    rng, ways = np.random.default_rng(1), set()
    for _ in range(400):
        q = 2 * rng.normal(size=6)
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        kinematics.move_to(q)
        (length,) = kinematics.tendon_lengths()
        assert length == pytest.approx(data.ten_length[0], abs=1e-11)
        ways.add((int(data.ten_wrapnum[0]), bool(length > np.linalg.norm(q[:3] - q[3:]) + 3)))
    assert len(ways) >= 2


MUSCLES = """<muscle name="plain" tendon="over" lengthrange=".5 1.6" range=".7 1.1" scale="300"/>
<muscle name="strong" joint="h3" gear=".2" force="40" timeconst=".02 .07" tausmooth=".3"
  lengthrange="-.3 .4" lmin=".4" lmax="1.7" vmax="2" fpmax="1.1" fvmax="1.3"/>
<general name="general" tendon="h1" gaintype="muscle" biastype="muscle" dyntype="muscle"
  gainprm=".8 1.2 50 9 .5 1.6 1.5 1.3 1.2" biasprm=".8 1.2 50 9 .5 1.6 1.5 1.3 1.2"
  dynprm=".01 .04" lengthrange=".3 1.5" ctrlrange="0 .7"/>
<general name="filter" joint="h1" dyntype="filter" dynprm=".3" gainprm="5" actearly="true"/>
<position name="exact" joint="h2" kp="4" timeconst=".2"/>
<intvelocity name="sum" joint="h3" kp="3" actrange="-1 1"/>
<cylinder name="air" joint="h1" area="2" timeconst=".4" bias="1 2 3"/>
<motor name="none" joint="h1"/>"""


def test_muscles_and_activations(tmp_path):
    begin, end = TENDONS.index("<actuator>"), TENDONS.index("</actuator>")
    text = WORLD + TENDONS[: begin + 10] + MUSCLES + TENDONS[end:].replace(
        '<actuatorpos actuator="servo"/>', ""
    )  # fmt: skip
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    data, dt = mujoco.MjData(model), model.opt.timestep
    active = [k for k, actuator in enumerate(robot.actuators) if actuator.activation is not None]
    assert len(active) == model.na == 7
    sim = Simulation(robot, dt)
    largest = np.zeros(model.nu)
    for q, v, rng in states(robot, 100):
        controls, activations = rng.normal(size=model.nu), np.zeros(model.nu)
        activations[active] = rng.uniform(0, 1, size=len(active))
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, controls
        data.act[:] = activations[active]
        mujoco.mj_forward(model, data)
        largest = np.maximum(largest, np.abs(data.actuator_force))
        scale = np.abs(data.qfrc_actuator).max()
        sim.set_state(q, v)
        drive = Drive(robot, lambda _, controls=controls: controls, activations)
        driven = np.zeros(robot.nv)
        driven[robot.actuated] = drive(sim)
        np.testing.assert_allclose(driven, data.qfrc_actuator, rtol=0, atol=1e-9 * scale)
        acting = [drive.activations[k] if actuator.activation and actuator.activation.early
                  else activations[k] for k, actuator in enumerate(robot.actuators)]  # fmt: skip
        same = torques(robot, controls, q, v, acting)
        np.testing.assert_allclose(driven[robot.actuated], same, rtol=0, atol=1e-12 * scale)
        mujoco.mj_step(model, data)
        np.testing.assert_allclose(drive.activations[active], data.act, rtol=0, atol=1e-12)
    assert np.all(largest > 1)


def test_lengths_of_muscles_follow_from_limits(tmp_path):
    """Where MuJoCo, which simulates a pull against soft limits, gets them but for a few percent."""
    limited = WORLD.replace('<joint name="h', '<joint limited="true" range="-.5 .7" name="h')
    begin, end = TENDONS.index("<actuator>"), TENDONS.index("</sensor>") + 9
    pulls = '<actuator><muscle tendon="through"/><muscle joint="h3" gear="-2"/></actuator>'
    (tmp_path / "m.xml").write_text(limited + TENDONS[:begin] + pulls + TENDONS[end:])
    robot = robosim.load(tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    through, joint = (actuator.muscle for actuator in robot.actuators)
    assert any("without a lengthrange" in text for text in robot.warnings)
    assert through is not None
    assert joint is not None
    np.testing.assert_allclose(joint.length_range, (-1.4, 1.0), rtol=1e-9)
    for muscle, theirs in zip((through, joint), model.actuator_lengthrange, strict=True):
        spread = theirs[1] - theirs[0]
        np.testing.assert_allclose(muscle.length_range, theirs, rtol=0, atol=0.06 * spread)
    np.testing.assert_allclose(
        [muscle.force for muscle in (through, joint)], 200 / model.actuator_acc0, rtol=1e-9
    )


def test_accelerations_are_those_of_the_last_half_step(tmp_path):
    sites = "".join(f'<{kind} objtype="site" objname="c1"/>' for kind in ("framelinacc",
                    "frameangacc"))  # fmt: skip
    end = TENDONS.index("</sensor>")
    reactions = '<force site="b1"/><torque site="b1"/><force site="a1"/>'
    text = f'{WORLD}<sensor><accelerometer site="c1"/>{sites}{reactions}{TENDONS[end:]}'
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    data, errors = mujoco.MjData(model), []
    for dt in (4e-4, 2e-4, 1e-4):
        sim = Simulation(robot, dt)
        sim.set_state(v=np.array((1.0, -0.5, 2.0, 1.0, 0.5, -1.0)))
        sim.run(0.2)
        data.qpos[:], data.qvel[:] = sim.q, sim.v
        mujoco.mj_forward(model, data)
        relative = []
        for k, sensor in enumerate(robot.sensors):
            theirs = data.sensordata[3 * k : 3 * k + 3]
            relative.append(np.abs(sim.sensor(sensor.name) - theirs).max() / np.abs(theirs).max())
        errors.append(relative)
    assert np.max(errors[2]) < 5e-3
    np.testing.assert_allclose(np.divide(errors[:2], errors[1:]), 2.0, atol=0.3)
