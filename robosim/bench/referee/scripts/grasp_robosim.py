"""Two fingers press a cube of 1 kg with 20 N each for 5 s, in robosim: how far it sinks [m]."""

import json
import time

import robosim

FINGER = """<body pos="{x} 0 0"><joint name="{n}" type="slide" axis="1 0 0" damping="10"/><geom
type="box" size="0.02 0.05 0.05" mass="0.2" friction="0.8"/></body>"""
SCENE = """<mujoco><worldbody>{fingers}<body><freejoint/><geom type="box" size="0.05 0.05 0.05"
mass="1" friction="0.8"/></body></worldbody><actuator><motor joint="a"/><motor joint="b"/>
</actuator></mujoco>"""
fingers = FINGER.format(x=-0.07, n="a") + FINGER.format(x=0.07, n="b")
robot = robosim.load(SCENE.format(fingers=fingers), ground=False, self_collision=True)


def press(sim: robosim.Simulation) -> tuple[float, float]:
    """Forces of the fingers [N]."""
    return 20.0, -20.0


for h in (1e-2, 5e-3, 2e-3, 1e-3):
    sim = robosim.Simulation(robot, h)
    sim.copy().run(h, press)
    begin = time.process_time()
    sim.run(5, press)
    cpu = time.process_time() - begin
    error = abs(sim.q[4])
    print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
