"""A cube slides to rest from 1 m/s with friction 0.5, in robosim: error of the distance [m]."""

import json
import time

import robosim
from robosim.models.builders import cube

robot = cube(0.1, 1.0, friction=0.5)
for h in (1e-2, 5e-3, 2e-3, 1e-3, 5e-4):
    for setting, accuracy in (("fixed steps", None), ("accuracy=1e-4", 1e-4)):
        sim = robosim.Simulation(robot, h, accuracy=accuracy)
        sim.set_state((0, 0, 0.05, 1, 0, 0, 0), (1, 0, 0, 0, 0, 0))
        sim.copy().run(h)
        begin = time.process_time()
        sim.run(0.5)
        cpu = time.process_time() - begin
        error = abs(sim.q[0] - 1 / (2 * 0.5 * 9.81))
        print(json.dumps({"setting": setting, "timestep": h, "error": error, "cpu": cpu}))
