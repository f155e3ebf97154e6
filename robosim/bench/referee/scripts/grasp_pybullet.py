"""Two fingers press a cube of 1 kg with 20 N each for 5 s, in PyBullet: how far it sinks [m]."""

import json
import tempfile
import time
from pathlib import Path

import pybullet

FINGER = """<robot name="finger"><link name="base"/><link name="finger"><inertial><mass
value="0.2"/><inertia ixx="3e-4" iyy="2e-4" izz="2e-4" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.04 0.1 0.1"/></geometry></collision></link><joint name="slide"
type="prismatic"><parent link="base"/><child link="finger"/><axis xyz="1 0 0"/><dynamics
damping="10"/><limit lower="-1" upper="1" effort="99" velocity="9"/></joint></robot>"""
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "finger.urdf"
    file.write_text(FINGER, encoding="utf-8")
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(0, 0, -9.81)
        pybullet.setTimeStep(h)
        places = [-0.07, 0, 0], [0.07, 0, 0]
        fingers = [pybullet.loadURDF(str(file), at, useFixedBase=True) for at in places]
        box = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.05] * 3)
        cube = pybullet.createMultiBody(1.0, box)
        pybullet.changeDynamics(cube, -1, lateralFriction=0.8, linearDamping=0, angularDamping=0)
        for finger in fingers:
            pybullet.changeDynamics(finger, 0, lateralFriction=1.0)  # they are multiplied
            pybullet.setJointMotorControl2(finger, 0, pybullet.VELOCITY_CONTROL, force=0)
        begin = time.process_time()
        for _ in range(round(5 / h)):
            for finger, force in zip(fingers, (20, -20), strict=True):
                pybullet.setJointMotorControl2(finger, 0, pybullet.TORQUE_CONTROL, force=force)
            pybullet.stepSimulation()
        cpu = time.process_time() - begin
        error = abs(pybullet.getBasePositionAndOrientation(cube)[0][2])
        print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
        pybullet.disconnect()
