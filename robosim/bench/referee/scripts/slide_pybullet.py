"""A cube slides to rest from 1 m/s with friction 0.5, in PyBullet: error of the distance [m]."""

import json
import time

import pybullet

for h in (1e-2, 5e-3, 2e-3, 1e-3, 5e-4):
    pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0, 0, -9.81)
    pybullet.setTimeStep(h)
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE)
    ground = pybullet.createMultiBody(0, plane)
    box = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.05] * 3)
    cube = pybullet.createMultiBody(1.0, box, basePosition=[0, 0, 0.05])
    pybullet.changeDynamics(ground, -1, lateralFriction=1.0)  # coefficients are multiplied
    pybullet.changeDynamics(cube, -1, lateralFriction=0.5, linearDamping=0, angularDamping=0)
    pybullet.resetBaseVelocity(cube, [1, 0, 0])
    begin = time.process_time()
    for _ in range(round(0.5 / h)):
        pybullet.stepSimulation()
    cpu = time.process_time() - begin
    error = abs(pybullet.getBasePositionAndOrientation(cube)[0][0] - 1 / (2 * 0.5 * 9.81))
    print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
    pybullet.disconnect()
