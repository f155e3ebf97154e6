"""Five cubes stand on each other for 2 s, in Genesis: how far the top sinks or wanders [m]."""

import json
import time

import genesis as gs
import numpy as np

gs.init(backend=gs.cpu, precision="64", logging_level="error")
ELLIPTIC = {"friction_cone": gs.friction_cone.elliptic}
SETTINGS = {
    "default": {},
    "elliptic": ELLIPTIC,
    "elliptic, shortest time constant": ELLIPTIC | {"constraint_timeconst": None},
}
heights = [0.05 + 0.1 * k for k in range(5)]
for setting, options in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        scene = gs.Scene(
            sim_options=gs.options.SimOptions(dt=h),
            rigid_options=gs.options.RigidOptions(**options),
            show_viewer=False,
        )
        scene.add_entity(gs.morphs.Plane())
        for z in heights:
            box = gs.morphs.Box(size=(0.1, 0.1, 0.1), pos=(0.0, 0.0, z))
            top = scene.add_entity(box, material=gs.materials.Rigid(rho=1000.0))
        scene.build()
        scene.step()  # compiles
        scene.reset()
        begin = time.process_time()
        for _ in range(round(2 / h)):
            scene.step()
        cpu = time.process_time() - begin
        error = float(np.linalg.norm(np.array(top.get_pos().tolist()) - (0, 0, heights[-1])))
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
