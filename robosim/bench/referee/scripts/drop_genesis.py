"""A cube falls 0.4 m onto its side, in Genesis: deepest penetration [m]."""

import json
import time

import genesis as gs

gs.init(backend=gs.cpu, precision="64", logging_level="error")
SETTINGS = {
    "default": {},
    "shortest time constant": {"constraint_timeconst": None},
}
for setting, options in SETTINGS.items():
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        scene = gs.Scene(
            sim_options=gs.options.SimOptions(dt=h),
            rigid_options=gs.options.RigidOptions(**options),
            show_viewer=False,
        )
        scene.add_entity(gs.morphs.Plane())
        box = gs.morphs.Box(size=(0.5, 0.5, 0.5), pos=(0.0, 0.0, 0.65))
        cube = scene.add_entity(box, material=gs.materials.Rigid(rho=8.0))
        scene.build()
        scene.step()  # compiles
        scene.reset()
        lowest = 1.0
        begin = time.process_time()
        for _ in range(round(1 / h)):
            scene.step()
            lowest = min(lowest, float(cube.get_pos()[2]))
        cpu = time.process_time() - begin
        error = max(0.0, 0.25 - lowest)
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
