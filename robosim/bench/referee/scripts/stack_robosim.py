"""Five cubes stand on each other for 2 s, in robosim: how far the top sinks or wanders [m]."""

import json
import time

import numpy as np

import robosim

BODY = """<body pos="0 0 {z}"><freejoint/><geom type="box" size="0.05 0.05 0.05"
mass="1"/></body>"""
SCENE = '<mujoco><worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>'
heights = [0.05 + 0.1 * k for k in range(5)]
text = SCENE.format(bodies="".join(BODY.format(z=z) for z in heights))
robot = robosim.load(text, self_collision=True)
for h in (1e-2, 5e-3, 2e-3, 1e-3):
    sim = robosim.Simulation(robot, h)
    sim.copy().run(h)
    begin = time.process_time()
    sim.run(2)
    cpu = time.process_time() - begin
    error = float(np.linalg.norm(sim.q[28:31] - (0, 0, heights[-1])))
    print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
