"""A double pendulum swings for 60 s, in MuJoCo: drift of its energy, over its range."""

import json
import time

import mujoco

SCENE = """<mujoco><option timestep="{h}" integrator="{integrator}"><flag energy="enable"/></option>
<default><geom type="capsule" size="0.02" mass="1" contype="0" conaffinity="0"/><joint
axis="0 1 0"/></default><worldbody><body><joint/><geom fromto="0 0 0 0 0 -1"/><body pos="0 0 -1">
<joint/><geom fromto="0 0 0 0 0 -1"/></body></body></worldbody></mujoco>"""
RANGE = 2 * 9.81 * (0.5 + 1.5)  # [J], between both rods down and up
for integrator in ("Euler", "implicit", "RK4", "discrete"):
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        model = mujoco.MjModel.from_xml_string(SCENE.format(h=h, integrator=integrator))
        data = mujoco.MjData(model)
        data.qpos[:] = 1.5, 0.5
        mujoco.mj_forward(model, data)
        first = data.energy.sum()
        begin = time.process_time()
        mujoco.mj_step(model, data, nstep=round(60 / h))
        cpu = time.process_time() - begin
        mujoco.mj_forward(model, data)
        error = abs(data.energy.sum() - first) / RANGE
        print(json.dumps({"setting": integrator, "timestep": h, "error": error, "cpu": cpu}))
