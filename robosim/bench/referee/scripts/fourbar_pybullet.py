"""A loop of three rods swings for 10 s, in PyBullet: largest distance of its closing pin [m]."""

import json
import math
import tempfile
import time
from pathlib import Path

import pybullet

ROD = """<link name="rod{k}"><inertial><origin xyz="{x} 0 {z}"/><mass value="1"/><inertia ixx="{i}"
iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="pin{k}"
type="continuous"><parent link="{parent}"/><child link="rod{k}"/><origin xyz="{at}"/>
<axis xyz="0 1 0"/></joint>"""
RODS = (  # iyy is that about the middle; the motion is in one plane
    {"k": 0, "x": 0, "z": -0.25, "i": 0.25 / 12, "parent": "base", "at": "0 0 0"},
    {"k": 1, "x": 0.4, "z": 0, "i": 0.64 / 12, "parent": "rod0", "at": "0 0 -0.5"},
    {"k": 2, "x": 0, "z": 0.25, "i": 0.25 / 12, "parent": "rod1", "at": "0.8 0 0"},
)
text = f'<robot name="loop"><link name="base"/>{"".join(ROD.format(**rod) for rod in RODS)}</robot>'
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "loop.urdf"
    file.write_text(text, encoding="utf-8")
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(0, 0, -9.81)
        pybullet.setPhysicsEngineParameter(fixedTimeStep=h, numSolverIterations=500)
        loop = pybullet.loadURDF(str(file), useFixedBase=True)
        pin, origin = pybullet.JOINT_POINT2POINT, [0, 0, 0]
        ball = pybullet.createConstraint(loop, 2, -1, -1, pin, origin, [0, 0, 0.25], [0.8, 0, 0])
        pybullet.changeConstraint(ball, maxForce=1e9)
        for k, v in enumerate((2.0, -2.0, 2.0)):
            pybullet.changeDynamics(loop, k, linearDamping=0, angularDamping=0, jointDamping=0)
            pybullet.setJointMotorControl2(loop, k, pybullet.VELOCITY_CONTROL, force=0)
            pybullet.resetJointState(loop, k, 0, v)
        error = 0.0
        begin = time.process_time()
        for _ in range(round(10 / h)):
            pybullet.stepSimulation()
            at, turn = pybullet.getLinkState(loop, 2, computeForwardKinematics=True)[:2]
            tip = pybullet.multiplyTransforms(at, turn, [0, 0, 0.25], [0, 0, 0, 1])[0]
            error = max(error, math.dist(tip, (0.8, 0, 0)))
        cpu = time.process_time() - begin
        told = "500 iterations"
        print(json.dumps({"setting": told, "timestep": h, "error": error, "cpu": cpu}))
        pybullet.disconnect()
