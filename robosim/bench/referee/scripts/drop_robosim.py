"""A cube falls 0.4 m onto its side, in robosim: deepest penetration [m]."""

import json
import time

import robosim
from robosim.models.builders import cube

robot = cube(0.5, 1.0)
for h in (1e-2, 5e-3, 2e-3, 1e-3):
    sim = robosim.Simulation(robot, h)
    sim.set_state((0, 0, 0.65, 1, 0, 0, 0))
    sim.copy().run(h)
    begin = time.process_time()
    log = sim.run(1)
    cpu = time.process_time() - begin
    error = max(0.0, 0.25 - log.q[:, 2].min())
    print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
