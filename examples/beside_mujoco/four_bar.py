"""A motor turns a four-bar for 3 s, in MuJoCo at its defaults and in robosim: how far it opens."""

from pathlib import Path

import mujoco
import numpy as np

import robosim

FILE, TORQUE = str(Path(__file__).with_suffix(".xml")), 30.0  # [N m]


def in_mujoco():
    model = mujoco.MjModel.from_xml_path(FILE)
    data = mujoco.MjData(model)
    data.ctrl[:] = TORQUE
    while data.time < 3:
        mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        yield data


def in_robosim():
    sim = robosim.Simulation(robosim.load(FILE, ground=False), timestep=0.002)
    while sim.time < 3:
        sim.step([TORQUE])
        yield sim


if __name__ == "__main__":
    opened = max(np.linalg.norm(np.subtract(*data.site_xpos)) for data in in_mujoco())
    print(f"MuJoCo: the loop opens by {1e3 * opened:.1f} mm")
    opened = max(sim.constraint_violation() for sim in in_robosim())
    print(f"robosim: by {1e3 * opened:.1g} mm")
