"""Motors and servos on ball joints, as MuJoCo has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import Body, Joint, Mechanism, ModelError, Simulation, quaternions
from robosim.actuators import Actuator, Drive, torques

INERTIA = np.diag((0.02, 0.03, 0.025))
ARM = """<mujoco><worldbody>
<body name="upper" pos="0 0 1" euler="10 20 30"><joint name="shoulder" type="ball" damping=".2"/>
  <geom type="capsule" fromto="0 0 0 .3 .02 0" size=".04"/>
  <body name="lower" pos=".3 0 0" euler="0 -20 5"><joint name="elbow" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .25 0 .05" size=".03"/></body></body></worldbody>
<actuator><motor name="twist" joint="shoulder" gear="1 0 0"/>
  <motor name="tilt" joint="shoulder" gear=".2 -1.5 .7" ctrlrange="-1 1"/>
  <motor name="swing" jointinparent="shoulder" gear="0 0 2"/>
  <position name="hold" joint="shoulder" gear="0 1 0" kp="20" kv="3" forcerange="-9 9"/>
  <position name="aim" jointinparent="shoulder" gear=".3 .4 1" kp="10" kv="1"/>
  <position name="lag" joint="shoulder" gear="0 1 .5" kp="20" timeconst=".1" ctrlrange="-3 3"/>
  <general name="odd" joint="shoulder" gear="0 1 .5" gainprm="20" biastype="affine"
           biasprm="1 -10 -1"/>
  <motor name="bend" joint="elbow" gear="3"/>
</actuator></mujoco>"""


@pytest.mark.peer
def test_torques_are_mujocos(tmp_path: Path):
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "m.xml").write_text(ARM)
    robot = robosim.load(tmp_path / "m.xml", strict=True)
    lost = robosim.save(robot, tmp_path / "again.xml")
    again = robosim.load(tmp_path / "again.xml", strict=True)
    assert again.actuators[2].in_parent
    np.testing.assert_array_equal(again.effort_limits, robot.effort_limits)
    model = mujoco.MjModel.from_xml_string(ARM)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    assert (robot.nu, robot.nv) == (4, 4)
    for _ in range(60):
        # Far from where servos are to go, which they do the shorter way round.
        q, v, controls = rng.normal(size=5), rng.normal(size=4), 2 * rng.normal(size=8)
        q[:4] = quaternions.normalized(q[:4])
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, controls
        data.act[:] = controls[5]
        mujoco.mj_forward(model, data)
        for ours in (robot, again):
            found = torques(ours, controls, q, v, controls)
            np.testing.assert_allclose(found, data.qfrc_actuator, rtol=0, atol=1e-10)
    assert not any("actuator" in text or "effort" in text for text in lost)


@pytest.mark.peer
def test_the_motion_is_mujocos(tmp_path: Path):
    """Held controls over half a second; both converge to the same end with the time step."""
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "m.xml").write_text(ARM)
    robot = robosim.load(tmp_path / "m.xml", ground=False)
    controls = np.array((0.3, -0.4, 0.2, 0.5, -0.3, 0.2, -0.1, 0.1))
    model = mujoco.MjModel.from_xml_string(ARM)
    model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    data.ctrl[:] = controls
    for _ in range(500):
        mujoco.mj_step(model, data)
    errors = []
    for dt in (2e-3, 1e-3):
        sim = Simulation(robot, dt)
        sim.run(0.5, Drive(robot, lambda _: controls))
        errors.append(np.abs(sim.q - data.qpos).max())
    assert errors[1] < 2e-3
    assert errors[0] / errors[1] > 1.8


def test_a_spin_about_each_axis_of_a_body_without_weight():
    """Torque over inertia: of a principal axis of the child, and of the joint frame at a pose."""
    frame = quaternions.from_rpy((0.4, -0.3, 0.8))
    for axis in np.eye(3):
        for in_parent in (False, True):
            motor = Actuator("motor", {"ball": 2.0 * axis}, in_parent=in_parent)
            ball = Joint("ball", "spherical", None, "body", offset=frame)
            robot = Mechanism("m", (Body("body", 1.0, INERTIA),), (ball,), actuators=(motor,))
            turn = quaternions.from_axis_angle((1, 2, 3), 0.7)
            R = quaternions.rotation_matrix(turn)
            along = R.T @ axis if in_parent else axis
            tau = torques(robot, (0.1,), turn, np.zeros(3))
            np.testing.assert_allclose(tau, 0.2 * along, atol=1e-15)
            sim = Simulation(robot, 1e-4)
            sim.set_state(turn)
            sim.step(tau)
            np.testing.assert_allclose(sim.v, 0.2e-4 * np.linalg.solve(INERTIA, along), atol=1e-9)


def test_what_is_refused(tmp_path: Path):
    bodies = (Body("a", 1.0, INERTIA), Body("b", 1.0, INERTIA))
    joints = (Joint("ball", "spherical", None, "a"), Joint("hinge", "revolute", "a", "b"))
    for gears, told in (
        ({"hinge": (1, 0, 0)}, "no joint with a free rotation"),
        ({"ball": 1.0}, "no coordinate"),
        ({"ball": (1.0, 2.0)}, "gear of 'ball'"),
    ):
        with pytest.raises(ModelError, match=told):
            Mechanism("m", bodies, joints, actuators=(Actuator("motor", gears),))
    with pytest.raises(ModelError, match=r"implicit.*free rotation"):
        Actuator("motor", {"ball": (1, 0, 0)}, implicit=True)
    base = (Joint("base", "floating", None, "a"), joints[1])
    spun = Mechanism("m", bodies, base, actuators=(Actuator("spin", {"base": (0, 0, 1)}),))
    tau = torques(spun, (2.0,), spun.home, np.zeros(7))
    np.testing.assert_array_equal(tau, (0, 0, 0, 0, 0, 2, 0))
    two = Actuator("both", {"ball": (1, 0, 0), "hinge": 1.0})
    robot = Mechanism("m", bodies, joints, actuators=(two,))
    lost = robosim.save(robot, tmp_path / "m.xml")
    assert any("free rotation and more" in text for text in lost)
