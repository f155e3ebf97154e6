"""A cube slides to rest from 1 m/s with friction 0.5, in MuJoCo: error of the distance [m]."""

import json
import time

import mujoco

SCENE = """<mujoco><option timestep="{h}" {option}/><worldbody><geom type="plane" size="9 9 1"
friction="0.5"/><body pos="0 0 0.05"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1"
friction="0.5"/></body></worldbody></mujoco>"""
SETTINGS = {
    "default": "",
    "elliptic, impratio 100": 'cone="elliptic" impratio="100"',
    "discrete, elliptic, impratio 100": 'integrator="discrete" cone="elliptic" impratio="100"',
    "RK4, elliptic, impratio 100": 'integrator="RK4" cone="elliptic" impratio="100"',
}
for setting, option in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3, 5e-4):
        model = mujoco.MjModel.from_xml_string(SCENE.format(h=h, option=option))
        data = mujoco.MjData(model)
        data.qvel[0] = 1.0
        begin = time.process_time()
        mujoco.mj_step(model, data, nstep=round(0.5 / h))
        cpu = time.process_time() - begin
        error = abs(data.qpos[0] - 1 / (2 * 0.5 * 9.81))
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
