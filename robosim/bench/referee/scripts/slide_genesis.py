"""A cube slides to rest from 1 m/s with friction 0.5, in Genesis: error of the way [m]."""

import json
import time

import genesis as gs

gs.init(backend=gs.cpu, precision="64", logging_level="error")
SETTINGS = {"default": {}, "elliptic": {"friction_cone": gs.friction_cone.elliptic}}
for setting, options in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        scene = gs.Scene(
            sim_options=gs.options.SimOptions(dt=h),
            rigid_options=gs.options.RigidOptions(**options),
            show_viewer=False,
        )
        material = gs.materials.Rigid(rho=1000.0, friction=0.5)
        scene.add_entity(gs.morphs.Plane(), material=material)
        box = gs.morphs.Box(size=(0.1, 0.1, 0.1), pos=(0.0, 0.0, 0.05))
        cube = scene.add_entity(box, material=material)
        scene.build()
        scene.step()  # compiles
        scene.reset()
        cube.set_dofs_velocity([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        begin = time.process_time()
        for _ in range(round(0.5 / h)):
            scene.step()
        cpu = time.process_time() - begin
        error = abs(float(cube.get_pos()[0]) - 1 / (2 * 0.5 * 9.81))
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
