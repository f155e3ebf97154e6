"""A cube falls 0.4 m onto its side, in MuJoCo: deepest penetration [m]."""

import json
import time

import mujoco

SCENE = """<mujoco><option timestep="{h}" {option}><flag refsafe="{safe}"
speculative="{speculative}"/></option><default><geom {geom}/></default><worldbody><geom
type="plane" size="9 9 1"/><body pos="0 0 0.65"><freejoint/><geom type="box" size="0.25 0.25 0.25"
mass="1"/></body></worldbody></mujoco>"""
STIFF = 'solref="{r} 1" solimp="0.99 0.9999 0.001"'
SETTINGS = {
    "default": ("", "enable", "disable", ""),
    "speculative": ("", "enable", "enable", ""),
    "RK4, solref of one step": ('integrator="RK4"', "disable", "disable", STIFF),
    "discrete, solref of one step": ('integrator="discrete"', "disable", "disable", STIFF),
}
for setting, (option, safe, speculative, geom) in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        values = {"h": h, "option": option, "safe": safe, "speculative": speculative}
        text = SCENE.format(**values, geom=geom.format(r=h))
        model = mujoco.MjModel.from_xml_string(text)
        data, lowest = mujoco.MjData(model), 1.0
        begin = time.process_time()
        for _ in range(round(1 / h)):
            mujoco.mj_step(model, data)
            lowest = min(lowest, data.qpos[2])
        cpu = time.process_time() - begin
        error = max(0.0, 0.25 - lowest)
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
