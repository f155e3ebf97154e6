"""A double pendulum swings for 60 s, in robosim: drift of its energy, over its range."""

import json
import time

import robosim

SCENE = """<mujoco><default><geom type="capsule" size="0.02" mass="1" contype="0" conaffinity="0"/>
<joint axis="0 1 0"/></default><worldbody><body><joint/><geom fromto="0 0 0 0 0 -1"/><body
pos="0 0 -1"><joint/><geom fromto="0 0 0 0 0 -1"/></body></body></worldbody></mujoco>"""
RANGE = 2 * 9.81 * (0.5 + 1.5)  # [J], between both rods down and up
robot = robosim.load(SCENE)
for order in (2, 4):
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        sim = robosim.Simulation(robot, h, order=order)
        sim.set_state((1.5, 0.5))
        sim.copy().run(h)
        first = sim.energy()
        begin = time.process_time()
        sim.run(60)
        cpu = time.process_time() - begin
        error = abs(sim.energy() - first) / RANGE
        print(json.dumps({"setting": f"order {order}", "timestep": h, "error": error, "cpu": cpu}))
