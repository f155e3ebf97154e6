"""Five cubes stand on each other for 2 s, in PyBullet: how far the top sinks or wanders [m]."""

import json
import math
import time

import pybullet

heights = [0.05 + 0.1 * k for k in range(5)]
for h in (1e-2, 5e-3, 2e-3, 1e-3):
    pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0, 0, -9.81)
    pybullet.setTimeStep(h)
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE)
    pybullet.createMultiBody(0, plane)
    box = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.05] * 3)
    cubes = [pybullet.createMultiBody(1.0, box, basePosition=[0, 0, z]) for z in heights]
    for cube in cubes:
        pybullet.changeDynamics(cube, -1, lateralFriction=1, linearDamping=0, angularDamping=0)
    begin = time.process_time()
    for _ in range(round(2 / h)):
        pybullet.stepSimulation()
    cpu = time.process_time() - begin
    top = pybullet.getBasePositionAndOrientation(cubes[-1])[0]
    error = math.dist(top, (0, 0, heights[-1]))
    print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
    pybullet.disconnect()
