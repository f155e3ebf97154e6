"""A cube of 0.5 m falls 0.4 m, in MuJoCo at its defaults and in robosim: how deep it sinks in."""

from pathlib import Path

import mujoco

import robosim

FILE, HALF = str(Path(__file__).with_suffix(".xml")), 0.25  # [m]


def in_mujoco():
    model = mujoco.MjModel.from_xml_path(FILE)
    data = mujoco.MjData(model)
    while data.time < 1:
        mujoco.mj_step(model, data)
        yield data


def in_robosim():
    sim = robosim.Simulation(robosim.load(FILE), timestep=0.002)
    while sim.time < 1:
        sim.step()
        yield sim


if __name__ == "__main__":
    sunk = max(HALF - data.qpos[2] for data in in_mujoco())
    print(f"MuJoCo: the cube sinks into the ground by {1e3 * sunk:.1f} mm")
    sunk = max(HALF - sim.q[2] for sim in in_robosim())
    print(f"robosim: by {1e3 * max(sunk, 0):.1g} mm")
