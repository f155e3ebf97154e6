"""A double pendulum swings for 60 s, in PyBullet: drift of its energy, over its range."""

import json
import math
import tempfile
import time
from pathlib import Path

import pybullet

ROD = """<link name="rod{k}"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/><inertia
ixx="0.0833333" iyy="0.0833333" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link><joint
name="pin{k}" type="continuous"><parent link="{parent}"/><child link="rod{k}"/><origin
xyz="0 0 {z}"/><axis xyz="0 1 0"/></joint>"""
RODS = ROD.format(k=0, parent="base", z=0) + ROD.format(k=1, parent="rod0", z=-1)
RANGE = 2 * 9.81 * (0.5 + 1.5)  # [J], between both rods down and up


def energy(a: float, b: float, va: float, vb: float) -> float:
    """Energy [J] at joint angles and rates."""
    both = va * (va + vb) * math.cos(b) / 2
    motion = (va**2 / 3 + va**2 + (va + vb) ** 2 / 3) / 2 + both
    return motion - 9.81 * (1.5 * math.cos(a) + 0.5 * math.cos(a + b))


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "pendulum.urdf"
    file.write_text(f'<robot name="p"><link name="base"/>{RODS}</robot>', encoding="utf-8")
    for h in (1e-2, 5e-3, 2e-3, 1e-3):
        pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(0, 0, -9.81)
        pybullet.setTimeStep(h)
        robot = pybullet.loadURDF(str(file), useFixedBase=True, flags=2)  # inertia of the file
        for k, q in enumerate((1.5, 0.5)):
            pybullet.changeDynamics(robot, k, linearDamping=0, angularDamping=0, jointDamping=0)
            pybullet.setJointMotorControl2(robot, k, pybullet.VELOCITY_CONTROL, force=0)
            pybullet.resetJointState(robot, k, q, 0)
        begin = time.process_time()
        for _ in range(round(60 / h)):
            pybullet.stepSimulation()
        cpu = time.process_time() - begin
        (a, va), (b, vb) = (pybullet.getJointState(robot, k)[:2] for k in range(2))
        error = abs(energy(a, b, va, vb) - energy(1.5, 0.5, 0, 0)) / RANGE
        print(json.dumps({"setting": "default", "timestep": h, "error": error, "cpu": cpu}))
        pybullet.disconnect()
