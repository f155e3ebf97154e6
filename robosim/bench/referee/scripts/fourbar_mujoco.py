"""A loop of three rods swings for 10 s, in MuJoCo: largest distance of its closing pin [m]."""

import json
import time

import mujoco
import numpy as np

SCENE = """<mujoco><option timestep="{h}" {option}><flag refsafe="{safe}"/></option><default><geom
type="capsule" size="0.02" mass="1" contype="0" conaffinity="0"/><joint axis="0 1 0"/></default>
<worldbody><site name="end" pos="0.8 0 0"/><body><joint/><geom fromto="0 0 0 0 0 -0.5"/><body
pos="0 0 -0.5"><joint/><geom fromto="0 0 0 0.8 0 0"/><body pos="0.8 0 0"><joint/><geom
fromto="0 0 0 0 0 0.5"/><site name="tip" pos="0 0 0.5"/></body></body></body></worldbody>
<equality><connect site1="tip" site2="end" {soft}/></equality></mujoco>"""
STIFF = 'solref="0.005 1" solimp="0.9999 0.9999 0.001"'
SETTINGS = {
    "default": ("", "enable", ""),
    "RK4, solref 0.005": ('integrator="RK4"', "disable", STIFF),
    "discrete, solref 0.005": ('integrator="discrete"', "disable", STIFF),
}
for setting, (option, safe, soft) in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        text = SCENE.format(h=h, option=option, safe=safe, soft=soft)
        model = mujoco.MjModel.from_xml_string(text)
        data, error = mujoco.MjData(model), 0.0
        data.qvel[:] = 2.0, -2.0, 2.0
        begin = time.process_time()
        for _ in range(round(10 / h)):
            mujoco.mj_step(model, data)
            mujoco.mj_kinematics(model, data)
            gap = data.site("tip").xpos - data.site("end").xpos
            error = max(error, float(np.linalg.norm(gap)))
        cpu = time.process_time() - begin
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
