"""Bodies whose weight is balanced: in every formulation, in files, and as in MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import (
    BatchSimulation,
    Body,
    Dynamics,
    HalfSpace,
    Joint,
    Mechanism,
    MinimalSimulation,
    ModelError,
    ReducedSimulation,
    Simulation,
    linearize,
)
from robosim.dynamics import Kinematics
from robosim.errors import PeerError

ARM = """<mujoco><worldbody>
<body name="base" pos="0 0 1" gravcomp="0.3"><freejoint/><geom type="box" size=".1 .1 .05"/>
  <body name="upper" pos=".1 0 0" euler="10 20 30" gravcomp="1"><joint name="a" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 .02 0" size=".04"/>
    <body name="lower" pos=".3 0 0" gravcomp="1.5"><joint name="b" axis="1 0 0" damping=".1"/>
      <joint name="c" axis="0 0 1" stiffness="2"/>
      <geom type="capsule" fromto="0 0 0 .25 0 .05" size=".03"/>
      <body name="hand" pos=".25 0 .05" gravcomp="1.5"><geom size=".05"/></body></body></body>
  <body name="plain" pos="-.1 0 0"><joint name="d" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 -.3 .02 0" size=".04"/></body></body></worldbody>
</mujoco>"""
PARTS = {"base": 0.3, "upper": 1.0, "lower": 1.5, "plain": 0.0}


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(ARM)
    robot = robosim.load(path, ground=False, self_collision=False, strict=True)
    assert {body.name: body.gravity_compensation for body in robot.bodies} == PARTS
    return robot


def states(robot, n=5):
    rng = np.random.default_rng(0)
    for _ in range(n):
        q, v, a = (rng.normal(size=k) for k in (robot.nq, robot.nv, robot.nv))
        q[3:7] /= np.linalg.norm(q[3:7])
        yield q, v, a


def pushed(robot, gravity):
    """The robot without compensation, and the wrenches that stand for it."""
    bare = replace(robot, bodies=[replace(body, gravity_compensation=0.0) for body in robot.bodies])
    lifts = {
        body.name: np.concatenate((-body.gravity_compensation * body.mass * gravity, np.zeros(3)))
        for body in robot.bodies
    }
    return bare, lifts


@pytest.mark.peer
def test_accelerations_and_motion_are_mujocos(arm, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    robosim.save(arm, tmp_path / "again.xml")
    again = robosim.load(tmp_path / "again.xml", ground=False)
    assert {body.name: body.gravity_compensation for body in again.bodies} == pytest.approx(PARTS)
    model = mujoco.MjModel.from_xml_string(ARM)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    on = Dynamics(arm)
    for q, v, _ in states(arm):
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        # MuJoCo's velocities of a free joint are ours: world, and then the body's axes.
        np.testing.assert_allclose(
            on.forward_acceleration(q, v, np.zeros(arm.nv)), data.qacc, rtol=0, atol=1e-8
        )
    errors = []
    for dt in (2e-3, 1e-3):
        q, v, _ = next(states(arm))
        model.opt.timestep, model.opt.integrator = dt / 4, mujoco.mjtIntegrator.mjINT_RK4
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = q, v
        sim = Simulation(arm, dt)
        sim.set_state(q, v)
        sim.run(0.2)
        for _ in range(round(0.8 / dt)):
            mujoco.mj_step(model, data)
        errors.append(np.abs(sim.q - data.qpos).max())
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.peer
def test_sensors_show_the_whole_weight(tmp_path):
    """As in MuJoCo: a hand whose weight is balanced is carried by the wrist all the same."""
    mujoco = pytest.importorskip("mujoco")
    text = ARM.replace(
        'pos=".25 0 .05" gravcomp="1.5">', 'pos=".25 0 .05" gravcomp="1.5"><site name="s"/>'
    )
    text = text.replace(
        "</mujoco>", '<sensor><force site="s"/><torque site="s"/></sensor></mujoco>'
    )
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml", ground=False)
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    q, v, _ = next(states(robot))
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    sim = Simulation(robot, 1e-6)
    sim.set_state(q, v)
    sim.step()
    found = np.concatenate([sim.sensor(sensor.name) for sensor in robot.sensors])
    np.testing.assert_allclose(found, data.sensordata, atol=1e-3 * np.abs(data.sensordata).max())


def test_all_of_dynamics_is_that_of_wrenches(arm):
    gravity = np.array((1.0, -2.0, -9.0))
    on, (bare, lifts) = Dynamics(arm, gravity), pushed(arm, gravity)
    other = Dynamics(bare, gravity)
    near = {"rtol": 0, "atol": 1e-10}
    for q, v, a in states(arm):
        tau = on.inverse_dynamics(q, v, a)
        np.testing.assert_allclose(tau, other.inverse_dynamics(q, v, a, lifts), **near)
        np.testing.assert_allclose(on.forward_acceleration(q, v, tau), a, atol=1e-8)
        np.testing.assert_allclose(on.gravity(q), other.inverse_dynamics(
            q, 0 * v, 0 * a, lifts, passive=False), **near)  # fmt: skip
        np.testing.assert_allclose(
            Kinematics(arm, q).bias_forces(v, gravity), on.bias_forces(q, v), **near
        )
        held = {"a": 0.3}
        wrench = np.arange(6.0)
        for mine, all_of_them in (
            ({}, lifts),
            ({"upper": wrench}, {**lifts, "upper": lifts["upper"] + wrench}),
        ):
            ours = on.hybrid_dynamics(q, v, tau, held, mine)
            theirs = other.hybrid_dynamics(q, v, tau, held, all_of_them)
            for one, expected in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(one, expected, atol=1e-8)
    rows = [np.stack(each) for each in zip(*states(arm), strict=True)]
    np.testing.assert_allclose(on.inverse_dynamics(*rows)[2], on.inverse_dynamics(
        *(each[2] for each in rows)), **near)  # fmt: skip


def test_derivatives_and_energy_of_dynamics(arm):
    on = Dynamics(arm)
    for q, v, a in states(arm, 2):
        tau = on.inverse_dynamics(q, v, a)
        for function, third, found in (
            (on.inverse_dynamics, a, on.inverse_dynamics_derivatives(q, v, a)),
            (on.forward_acceleration, tau, on.forward_derivatives(q, v, tau)),
        ):
            for k, along in enumerate(1e-6 * np.eye(arm.nv)):
                ends = [function(on.integrate(q, way * along), v, third) for way in (1, -1)]
                expected = (ends[0] - ends[1]) / 2e-6
                np.testing.assert_allclose(found[0][:, k], expected, atol=1e-5)
        still = np.zeros(arm.nv)
        for k, along in enumerate(1e-6 * np.eye(arm.nv)):
            ends = [on.energy(on.integrate(q, way * along), still) for way in (1, -1)]
            force = on.inverse_dynamics(q, still, still)[k]
            assert force == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_formulations_agree(arm):
    q, v, _ = next(states(arm))
    sims = [Simulation(arm, 1e-3), Simulation(arm, 1e-3, solver="ldu")]
    sims += [MinimalSimulation(arm, 1e-3, integrator="galerkin", order=order) for order in (2, 4)]
    sims += [MinimalSimulation(arm, 1e-3), ReducedSimulation(arm, 1e-4)]
    other, lifts = pushed(arm, np.array((0, 0, -9.81)))
    wrenched = Simulation(other, 1e-3)
    wrenched.set_state(q, v)
    for name, wrench in lifts.items():
        wrenched.apply_wrench(name, wrench[:3])
    wrenched.run(0.1)
    energy = float(Dynamics(arm).energy(q, v))
    for sim in sims:
        sim.set_state(q, v)
        assert sim.energy() == pytest.approx(energy, rel=1e-9)
        sim.run(0.1)
        near = 1e-9 if sim is sims[0] else 2e-4
        np.testing.assert_allclose(sim.q, wrenched.q, atol=near)
    batch = BatchSimulation(arm, 9, 1e-3)
    for i in range(9):
        batch[i].set_state(q, v)
    batch.rollout(100)
    for i in range(9):
        np.testing.assert_allclose(batch[i].q, sims[0].q, atol=1e-9)


def test_a_body_that_weighs_nothing_stays(tmp_path):
    """Also above the ground, and one that weighs less than nothing rises."""
    body = Body("ball", 2.0, 0.1 * np.eye(3), gravity_compensation=1.0)
    robot = Mechanism("m", (body,), (Joint("free", "floating", None, "ball"),))
    sim = Simulation(robot)
    sim.run(1.0)
    np.testing.assert_array_equal(sim.q, robot.home)
    light = replace(robot, bodies=(replace(body, gravity_compensation=1.5),))
    sim = Simulation(light)
    sim.run(1.0)
    assert sim.q[2] == pytest.approx(9.81 / 4, rel=1e-9)
    assert sim.energy() == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ModelError, match="gravity_compensation"):
        replace(body, gravity_compensation=np.nan)
    lost = robosim.save(light, tmp_path / "m.urdf")
    assert any("gravity compensation" in text for text in lost)


def test_a_ball_that_bounces_by_half_of_gravity():
    """The time of its flights is that of 4.9 m/s^2; without losses it comes back as high."""
    shape = robosim.Geometry("sphere", (0.1,), restitution=1.0)
    body = Body("ball", 2.0, 0.1 * np.eye(3), collisions=(shape,), gravity_compensation=0.5)
    robot = Mechanism("m", (body,), (Joint("free", "floating", None, "ball"),))
    robot = robot.with_contacts([HalfSpace(restitution=1.0)], ground=False)
    sim = Simulation(robot, 1e-3)
    q = np.array(robot.home)
    q[2] = 0.6
    sim.set_state(q)
    fall = np.sqrt(2 * 0.5 / (9.81 / 2))
    log = sim.run(2 * fall)
    assert log.q[:, 2].min() < 0.105
    assert sim.q[2] == pytest.approx(0.6, abs=2e-3)


def test_parts_that_differ_are_told(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(ARM.replace('<body name="hand" pos=".25 0 .05" gravcomp="1.5">',
                                '<body name="hand" pos=".25 0 .05">'))  # fmt: skip
    robot = robosim.load(path, ground=False)
    assert any("common centre of mass" in text for text in robot.warnings)
    hand = 4 / 3 * np.pi * 0.05**3 * 1000
    lower = robot.body("lower")
    assert lower.gravity_compensation == pytest.approx(1.5 * (1 - hand / lower.mass))


@pytest.mark.slow
def test_derivatives_of_steps(arm):
    sim = Simulation(arm, 1e-3, tolerance=1e-11)
    q, v, _ = next(states(arm))
    sim.set_state(q, v)
    bare, _ = pushed(arm, np.zeros(3))
    other = Simulation(bare, 1e-3, tolerance=1e-11)
    other.set_state(q, v)
    found, differs = linearize(sim), linearize(other)
    assert np.abs(found.A - differs.A).max() > 1e-4
    nv = arm.nv
    for k, along in enumerate(1e-6 * np.eye(nv)):
        ends = []
        for way in (1, -1):
            one = sim.copy()
            one.set_state(sim.dynamics.integrate(q, way * along), v)
            one.step()
            ends.append(one.v)
        np.testing.assert_allclose(found.A[nv:, k], (ends[0] - ends[1]) / 2e-6, atol=1e-5)


@pytest.mark.peer
def test_pinocchio_is_refused_by_name(arm):
    pytest.importorskip("pinocchio")
    from robosim.peers.pinocchio_run import model_of

    with pytest.raises(PeerError, match=r"'base'.*gravity compensation"):
        model_of(arm)
