"""A cube lies on an incline 1 degree below its angle of friction, in MuJoCo: creep in 5 s [m]."""

import json
import math
import time

import mujoco

ANGLE = math.atan(0.5) - math.radians(1)
GRAVITY = f"{9.81 * math.sin(ANGLE)} 0 {-9.81 * math.cos(ANGLE)}"
SCENE = """<mujoco><option timestep="{h}" gravity="{g}" {option}/><worldbody><geom type="plane"
size="9 9 1" friction="0.5"/><body pos="0 0 0.05"><freejoint/><geom type="box" mass="1"
size="0.05 0.05 0.05" friction="0.5"/></body></worldbody></mujoco>"""
SETTINGS = {
    "default": "",
    "elliptic, impratio 100": 'cone="elliptic" impratio="100"',
    "elliptic, noslip 10": 'cone="elliptic" noslip_iterations="10"',
    "discrete, elliptic, impratio 100": 'integrator="discrete" cone="elliptic" impratio="100"',
}
for setting, option in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        model = mujoco.MjModel.from_xml_string(SCENE.format(h=h, g=GRAVITY, option=option))
        data = mujoco.MjData(model)
        begin = time.process_time()
        mujoco.mj_step(model, data, nstep=round(5 / h))
        cpu = time.process_time() - begin
        error = math.hypot(data.qpos[0], data.qpos[1])
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
