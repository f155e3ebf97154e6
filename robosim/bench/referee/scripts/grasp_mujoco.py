"""Two fingers press a cube of 1 kg with 20 N each for 5 s, in MuJoCo: how far it sinks [m]."""

import json
import time

import mujoco

FINGER = """<body pos="{x} 0 0"><joint name="{n}" type="slide" axis="1 0 0" damping="10"/><geom
type="box" size="0.02 0.05 0.05" mass="0.2" friction="0.8"/></body>"""
SCENE = """<mujoco><option timestep="{h}" {option}/><worldbody>{fingers}<body><freejoint/><geom
type="box" size="0.05 0.05 0.05" mass="1" friction="0.8"/></body></worldbody><actuator><motor
joint="a"/><motor joint="b"/></actuator></mujoco>"""
SETTINGS = {
    "default": "",
    "elliptic, impratio 100": 'cone="elliptic" impratio="100"',
    "elliptic, noslip 10": 'cone="elliptic" noslip_iterations="10"',
    "discrete, elliptic, impratio 100": 'integrator="discrete" cone="elliptic" impratio="100"',
}
fingers = FINGER.format(x=-0.07, n="a") + FINGER.format(x=0.07, n="b")
for setting, option in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        text = SCENE.format(h=h, option=option, fingers=fingers)
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        data.ctrl[:] = 20.0, -20.0
        begin = time.process_time()
        mujoco.mj_step(model, data, nstep=round(5 / h))
        cpu = time.process_time() - begin
        error = abs(data.qpos[4])
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
