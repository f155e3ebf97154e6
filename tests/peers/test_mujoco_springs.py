"""Springs of free joints, as MuJoCo has them: towards where the file has the body."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robosim

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

FREE = """<mujoco><option><flag contact="disable"/></option><worldbody><body pos=".1 .2 1" {turn}>
<joint type="free" stiffness="{k}" damping=".5"/><geom type="box" size=".1 .2 .3" mass="3"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize(("turn", "told"), [("", 0), ('euler="10 20 30"', 1)])
def test_the_spring_of_a_free_joint(tmp_path: Path, turn, told):
    text, dt = FREE.format(turn=turn, k=20), 1e-3
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml")
    assert len(robot.warnings) == told
    sim = robosim.Simulation(robot, dt)
    v = np.random.default_rng(0).normal(size=6) * ((1, 1, 1, 0, 0, 0) if told else 1)
    q = np.array(robot.home)
    sim.set_state(q, v)
    sim.run(0.3)
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep, model.opt.integrator = dt / 4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    for _ in range(1200):
        mujoco.mj_step(model, data)
    # Springs make a difference of a decimetre; the scheme is of second order.
    np.testing.assert_allclose(sim.q, data.qpos, rtol=0, atol=2e-6)
    np.testing.assert_allclose(sim.v, data.qvel, rtol=0, atol=2e-5)
