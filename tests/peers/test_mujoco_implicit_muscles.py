"""An antagonist pair about a hinge, in the equations of a step, beside MuJoCo with its curves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import Simulation
from robosim.actuators import Drive

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

PAIR = """<mujoco><option timestep="1e-4" integrator="RK4"/>
<worldbody><site name="f0" pos="-.3 .03 0"/><site name="e0" pos="-.3 -.03 0"/>
<body><joint name="elbow" axis="0 0 1"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
<site name="f1" pos=".04 .03 0"/><site name="e1" pos=".04 -.03 0"/></body></worldbody>
<tendon><spatial name="flexor"><site site="f0"/><site site="f1"/></spatial>
<spatial name="extensor"><site site="e0"/><site site="e1"/></spatial></tendon>
<actuator><muscle name="bends" tendon="flexor" force="300" lengthrange=".3 .38"/>
<muscle name="stretches" tendon="extensor" force="200" lengthrange=".3 .38"/></actuator></mujoco>"""


def test_an_antagonist_pair_moves_alike(tmp_path: Path) -> None:
    """Activations follow the same excitations; ours come nearer with order two, at long steps."""
    path = tmp_path / "pair.xml"
    path.write_text(PAIR)
    loaded = robosim.load(path)
    actuators = tuple(replace(one, implicit=True) for one in loaded.actuators)
    robot = replace(loaded, actuators=actuators)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:], data.act[:] = 0.2, (0.3, 0.1), (0.3, 0.1)
    seconds = 0.3
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    errors = []
    for dt in (0.01, 0.005, 0.0025):
        sim = Simulation(robot, dt, gravity=model.opt.gravity)
        sim.set_state([0.2])
        sim.run(seconds, Drive(robot, lambda _: (0.3, 0.1), (0.3, 0.1)))
        errors.append(abs(sim.q[0] - data.qpos[0]))
    assert abs(data.qpos[0] - 0.2) > 0.05
    assert errors[2] < 1e-4
    assert np.log2(errors[0] / errors[2]) / 2 == pytest.approx(2.0, abs=0.5)
