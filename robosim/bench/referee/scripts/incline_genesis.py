"""A cube lies on an incline 1 degree below its angle of friction, in Genesis: creep in 5 s [m]."""

import json
import math
import time

import genesis as gs

gs.init(backend=gs.cpu, precision="64", logging_level="error")
ANGLE = math.atan(0.5) - math.radians(1)
GRAVITY = (9.81 * math.sin(ANGLE), 0.0, -9.81 * math.cos(ANGLE))
SETTINGS = {
    "default": {},
    "noslip 5": {"noslip_iterations": 5},
    "elliptic": {"friction_cone": gs.friction_cone.elliptic},
}
for setting, options in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        scene = gs.Scene(
            sim_options=gs.options.SimOptions(dt=h, gravity=GRAVITY),
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
        begin = time.process_time()
        for _ in range(round(5 / h)):
            scene.step()
        cpu = time.process_time() - begin
        error = math.hypot(*cube.get_pos()[:2].tolist())
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
