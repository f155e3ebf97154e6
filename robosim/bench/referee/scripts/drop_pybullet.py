"""A cube falls 0.4 m onto its side, in PyBullet: deepest penetration [m]."""

import json
import time

import pybullet

for h in (1e-2, 5e-3, 2e-3, 1e-3):
    pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0, 0, -9.81)
    pybullet.setTimeStep(h)
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE)
    pybullet.createMultiBody(0, plane)
    box = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.25] * 3)
    cube = pybullet.createMultiBody(1.0, box, basePosition=[0, 0, 0.65])
    pybullet.changeDynamics(cube, -1, linearDamping=0, angularDamping=0)
    lowest = 1.0
    begin = time.process_time()
    for _ in range(round(1 / h)):
        pybullet.stepSimulation()
        lowest = min(lowest, pybullet.getBasePositionAndOrientation(cube)[0][2])
    cpu = time.process_time() - begin
    error = max(0.0, 0.25 - lowest)
    print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
    pybullet.disconnect()
