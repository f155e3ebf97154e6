"""A cube dropped from 0.4 m at a timestep of 10 ms does not sink into the ground.

Runs the same drop in MuJoCo, at its default settings, if it is installed. (At its best settings
for this drop MuJoCo sinks less; a stiff contact there is a matter of tuning.)

    python examples/04_drop_cube.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

import robosim

matplotlib.use("Agg")
import matplotlib.pyplot as plt

EDGE, MASS, HEIGHT, DT, SECONDS = 0.5, 1.0, 0.4, 0.01, 1.0
MJCF = f"""
<mujoco><option timestep="{DT}"/><worldbody><geom type="plane" size="5 5 1"/>
<body pos="0 0 {HEIGHT + EDGE / 2}"><freejoint/><geom type="box" mass="{MASS}"
 size="{EDGE / 2} {EDGE / 2} {EDGE / 2}"/></body></worldbody></mujoco>"""


def drop_in_mujoco() -> np.ndarray | None:
    try:
        import mujoco
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    heights = []
    for _ in range(round(SECONDS / DT)):
        mujoco.mj_step(model, data)
        heights.append(data.qpos[2] - EDGE / 2)
    return np.array(heights)


def main(out: Path) -> None:
    sim = robosim.Simulation(robosim.load("cube"), timestep=DT)
    sim.set_state(q=[0, 0, HEIGHT + EDGE / 2, 1, 0, 0, 0])
    log = sim.run(SECONDS)
    gaps = {"robosim": log.gap, "MuJoCo, default settings": drop_in_mujoco()}

    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    axes.axhline(0.0, color="black", linewidth=0.8)
    for name, gap in gaps.items():
        if gap is None:
            print(f"{name}: not installed, skipped")
            continue
        axes.plot(log.t + DT, 1e3 * gap, label=name)
        print(f"{name}: lowest gap {1e3 * gap.min():+.3g} mm, at rest {1e3 * gap[-1]:+.3g} mm")
    axes.set(xlabel="time [s]", ylabel="gap [mm]", ylim=(-40, 60))
    axes.legend()
    figure.savefig(out / "drop.png", dpi=150)
    print(f"plot: {out / 'drop.png'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
