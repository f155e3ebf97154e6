"""Two fingers press a cube of 1 kg with 20 N each for 5 s, in Genesis: how far it sinks [m]."""

import json
import time

import genesis as gs

gs.init(backend=gs.cpu, precision="64", logging_level="error")
FINGER = """<mujoco><worldbody><body pos="{x} 0 0"><joint type="slide" axis="1 0 0" damping="10"/>
<geom type="box" size="0.02 0.05 0.05" mass="0.2" friction="0.8"/></body></worldbody></mujoco>"""
SETTINGS = {
    "default": {},
    "noslip 5": {"noslip_iterations": 5},
    "elliptic": {"friction_cone": gs.friction_cone.elliptic},
}
for setting, options in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        scene = gs.Scene(
            sim_options=gs.options.SimOptions(dt=h),
            rigid_options=gs.options.RigidOptions(**options),
            show_viewer=False,
        )
        texts = [FINGER.format(x=x) for x in (-0.07, 0.07)]
        # Joints would have an armature of 0.1 kg m^2 otherwise.
        files = [gs.morphs.MJCF(file=text, default_armature=None) for text in texts]
        fingers = [scene.add_entity(file) for file in files]
        material = gs.materials.Rigid(rho=1000.0, friction=0.8)
        cube = scene.add_entity(gs.morphs.Box(size=(0.1, 0.1, 0.1)), material=material)
        scene.build()
        scene.step()  # compiles
        scene.reset()
        begin = time.process_time()
        for _ in range(round(5 / h)):
            fingers[0].control_dofs_force([20.0])
            fingers[1].control_dofs_force([-20.0])
            scene.step()
        cpu = time.process_time() - begin
        error = abs(float(cube.get_pos()[2]))
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
