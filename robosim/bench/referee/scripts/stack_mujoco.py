"""Five cubes stand on each other for 2 s, in MuJoCo: how far the top sinks or wanders [m]."""

import json
import time

import mujoco
import numpy as np

BODY = """<body pos="0 0 {z}"><freejoint/><geom type="box" size="0.05 0.05 0.05"
mass="1"/></body>"""
SCENE = """<mujoco><option timestep="{h}" {option}><flag refsafe="{safe}"/></option><default><geom
{geom}/></default><worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>"""
STIFF = 'solref="{r} 1" solimp="0.99 0.9999 0.001"'
SETTINGS = {
    "default": ("", "enable", ""),
    "elliptic": ('cone="elliptic"', "enable", ""),
    "stiff": ('cone="elliptic"', "disable", STIFF),
    "discrete, stiff": ('integrator="discrete" cone="elliptic"', "disable", STIFF),
}
heights = [0.05 + 0.1 * k for k in range(5)]
bodies = "".join(BODY.format(z=z) for z in heights)
for setting, (option, safe, geom) in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        values = {"h": h, "option": option, "safe": safe, "geom": geom.format(r=2 * h)}
        model = mujoco.MjModel.from_xml_string(SCENE.format(**values, bodies=bodies))
        data = mujoco.MjData(model)
        begin = time.process_time()
        mujoco.mj_step(model, data, nstep=round(2 / h))
        cpu = time.process_time() - begin
        error = float(np.linalg.norm(data.xpos[-1] - (0, 0, heights[-1])))
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
