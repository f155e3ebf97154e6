"""Two fingers hold a cube for 5 s, in MuJoCo at its defaults and in robosim: how far it creeps."""

from pathlib import Path

import mujoco

import robosim

FILE, PRESS = str(Path(__file__).with_suffix(".xml")), (20.0, -20.0)  # [N]


def in_mujoco():
    model = mujoco.MjModel.from_xml_path(FILE)
    data = mujoco.MjData(model)
    data.ctrl[:] = PRESS
    while data.time < 5:
        mujoco.mj_step(model, data)
        yield data


def in_robosim():
    robot = robosim.load(FILE, ground=False, self_collision=True)
    sim = robosim.Simulation(robot, timestep=0.002)
    while sim.time < 5:
        sim.step(PRESS)
        yield sim


if __name__ == "__main__":
    *_, data = in_mujoco()
    print(f"MuJoCo: the cube creeps down by {-1e3 * data.qpos[4]:.1f} mm")
    *_, sim = in_robosim()
    print(f"robosim: by {-1e3 * sim.q[4]:.1g} mm")
