"""A cube lies on an incline 1 degree below its angle of friction, in PyBullet: creep in 5 s [m]."""

import json
import math
import time

import pybullet

ANGLE = math.atan(0.5) - math.radians(1)
for h in (1e-2, 5e-3, 2e-3, 1e-3):
    pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(9.81 * math.sin(ANGLE), 0, -9.81 * math.cos(ANGLE))
    pybullet.setTimeStep(h)
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE)
    ground = pybullet.createMultiBody(0, plane)
    box = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.05] * 3)
    cube = pybullet.createMultiBody(1.0, box, basePosition=[0, 0, 0.05])
    pybullet.changeDynamics(ground, -1, lateralFriction=1.0)  # coefficients are multiplied
    pybullet.changeDynamics(cube, -1, lateralFriction=0.5, linearDamping=0, angularDamping=0)
    begin = time.process_time()
    for _ in range(round(5 / h)):
        pybullet.stepSimulation()
    cpu = time.process_time() - begin
    x, y, _ = pybullet.getBasePositionAndOrientation(cube)[0]
    error = math.hypot(x, y)
    print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
    pybullet.disconnect()
