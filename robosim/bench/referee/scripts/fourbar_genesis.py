"""A loop of three rods swings for 10 s, in Genesis: largest distance of its closing pin [m]."""

import json
import time

import genesis as gs
import numpy as np

gs.init(backend=gs.cpu, precision="64", logging_level="error")
LOOP = """<mujoco><default><geom type="capsule" size="0.02" mass="1" contype="0" conaffinity="0"/>
<joint axis="0 1 0"/></default><worldbody><body
name="post" pos="0.8 0 0"/><body><joint/><geom
fromto="0 0 0 0 0 -0.5"/><body pos="0 0 -0.5"><joint/><geom fromto="0 0 0 0.8 0 0"/><body
name="last" pos="0.8 0 0"><joint/><geom fromto="0 0 0 0 0 0.5"/><body name="tip" pos="0 0 0.5"/>
</body></body></body></worldbody><equality><connect body1="last" body2="post" anchor="0 0 0.5"
{soft}/></equality></mujoco>"""
STIFF = 'solref="{r} 1" solimp="0.9999 0.9999 0.001"'
for setting, soft in {"default": "", "solref of two steps": STIFF}.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        scene = gs.Scene(sim_options=gs.options.SimOptions(dt=h), show_viewer=False)
        text = LOOP.format(soft=soft.format(r=2 * h))
        # Joints would have an armature of 0.1 kg m^2 otherwise.
        loop = scene.add_entity(gs.morphs.MJCF(file=text, default_armature=None))
        scene.build()
        scene.step()  # compiles
        scene.reset()
        loop.set_dofs_velocity([2.0, -2.0, 2.0])
        tip, end, error = loop.get_link("tip"), np.array([0.8, 0.0, 0.0]), 0.0
        begin = time.process_time()
        for _ in range(round(10 / h)):
            scene.step()
            gap = np.array(tip.get_pos().tolist()) - end
            error = max(error, float(np.linalg.norm(gap)))
        cpu = time.process_time() - begin
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
