"""A loop of three rods swings for 10 s, in robosim: largest distance of its closing pin [m]."""

import json
import time

import robosim

SCENE = """<mujoco><default><geom type="capsule" size="0.02" mass="1" contype="0" conaffinity="0"/>
<joint axis="0 1 0"/></default><worldbody><site name="end" pos="0.8 0 0"/><body><joint/><geom
fromto="0 0 0 0 0 -0.5"/><body pos="0 0 -0.5"><joint/><geom fromto="0 0 0 0.8 0 0"/><body
pos="0.8 0 0"><joint/><geom fromto="0 0 0 0 0 0.5"/><site name="tip" pos="0 0 0.5"/></body></body>
</body></worldbody><equality><connect site1="tip" site2="end"/></equality></mujoco>"""
robot = robosim.load(SCENE)
for h in (1e-2, 5e-3, 2e-3, 1e-3):
    sim = robosim.Simulation(robot, h)
    sim.set_state(sim.q, (2.0, -2.0, 2.0))
    sim.copy().run(h)
    begin = time.process_time()
    log = sim.run(10)
    cpu = time.process_time() - begin
    error = log.violation.max()
    print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
