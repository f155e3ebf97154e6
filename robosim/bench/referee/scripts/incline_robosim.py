"""A cube lies on an incline 1 degree below its angle of friction, in robosim: creep in 5 s [m]."""

import json
import math
import time

import robosim
from robosim.models.builders import cube

ANGLE = math.atan(0.5) - math.radians(1)
robot = cube(0.1, 1.0, friction=0.5)
for h in (1e-2, 5e-3, 2e-3, 1e-3):
    sim = robosim.Simulation(robot, h, (9.81 * math.sin(ANGLE), 0, -9.81 * math.cos(ANGLE)))
    sim.set_state((0, 0, 0.05, 1, 0, 0, 0))
    sim.copy().run(h)
    begin = time.process_time()
    sim.run(5)
    cpu = time.process_time() - begin
    error = math.hypot(sim.q[0], sim.q[1])
    print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
